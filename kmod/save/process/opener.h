/* SPDX-License-Identifier: GPL-2.0-only */
/* opener.h - the credentials with which a process's files were opened */
#ifndef CRYO_OPENER_H
#define CRYO_OPENER_H

struct cryo_capture;
struct cryo_object;

int cryo_save_opener(struct cryo_capture *c, struct cryo_object *o);

#endif /* CRYO_OPENER_H */
