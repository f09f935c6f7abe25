/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * turn.h - numbers that one user at a time chooses
 *
 * A value set for the caller's next fork() or shmget() lasts until then: another caller that sets
 * it in between replaces it, and one that does so in a loop would starve all others.
 */
#ifndef CRYO_TURN_H
#define CRYO_TURN_H

#include <linux/types.h>

/**
 * cryo_turn_begin() - wait until no other user's turn is under way, and begin one
 * @what: what the number is chosen of, e.g. a pid namespace: compared by address only, and
 *	referenced by the caller
 * @used: has the number that was set last been used, by any task? Called with a spinlock held
 *
 * Users have turns in the order of their requests; all processes of a user have one place among
 * those that wait. A turn ends when its number has been used, by cryo_turn_end(), or 20 ms after
 * the number was set, which may take 50 ms: other tasks may hold the locks that setting and using
 * it take. After a second of waiting the caller continues without a turn: it is a hint only.
 *
 * The caller sets its number next, and calls cryo_turn_set(), or else cryo_turn_end().
 *
 * Context: Sleeps, killably.
 *
 * Return: 0, or -EINTR: a signal kills the caller.
 */
int cryo_turn_begin(const void *what, bool (*used)(const void *what));

/**
 * cryo_turn_set() - the number has been set that the turn was begun for
 * @what: as for cryo_turn_begin()
 *
 * Until then, @used is about the number of the turn before, and not of this one.
 */
void cryo_turn_set(const void *what);

/**
 * cryo_turn_end() - end the turn of the caller's user
 * @what: as for cryo_turn_begin()
 * @used: as for cryo_turn_begin()
 *
 * Return: true: no other user's turn is under way.
 */
bool cryo_turn_end(const void *what, bool (*used)(const void *what));

#endif /* CRYO_TURN_H */
