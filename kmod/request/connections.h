/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * connections.h - TCP connections within the job, both ends of which end with a checkpoint
 *
 * Processes killed after a checkpoint close their sockets, and the end that closes first occupies
 * its port for a minute (TIME_WAIT), which a restart would have to wait for. Nobody else is at the
 * other end: such connections are aborted, as SO_LINGER with a time of 0 (socket(7)) does, so that
 * their ports are free at once.
 */
#ifndef CRYO_REQUEST_CONNECTIONS_H
#define CRYO_REQUEST_CONNECTIONS_H

struct cryo_request;
struct sock;

/**
 * cryo_connection_add() - note one end of a connection within the job
 * @req: the request, in its worker
 * @sk: a TCP socket that only the job has, as it has the other end; a reference is taken
 *
 * Without memory it is not noted: the restart waits.
 */
void cryo_connection_add(struct cryo_request *req, struct sock *sk);

/**
 * cryo_connections_abort() - have them aborted when they are closed
 * @req: the request; its processes are parked, or about to be killed
 *
 * Does not wait: a socket that is in use is left as it is.
 */
void cryo_connections_abort(struct cryo_request *req);

/**
 * cryo_connections_keep() - take cryo_connections_abort() back
 * @req: the request; its processes are not killed
 */
void cryo_connections_keep(struct cryo_request *req);

/**
 * cryo_connections_forget() - drop the references
 * @req: the request
 */
void cryo_connections_forget(struct cryo_request *req);

#endif /* CRYO_REQUEST_CONNECTIONS_H */
