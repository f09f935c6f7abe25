/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * open.h - contents of small files that are only read
 *
 * Of struct cryo_object: @written, of an inode: it is open for writing in the scope; @omitted, of
 * an inode: it is too large;
 * @cloexec, of a file: a descriptor of it is close-on-exec.
 */
#ifndef CRYO_SAVE_OPEN_H
#define CRYO_SAVE_OPEN_H

struct cryo_capture;

int cryo_choose_open_files(struct cryo_capture *c);

#endif /* CRYO_SAVE_OPEN_H */
