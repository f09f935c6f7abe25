/* SPDX-License-Identifier: GPL-2.0-only */
/* ns_file.h - descriptors of namespaces */
#ifndef CRYO_NS_FILE_H
#define CRYO_NS_FILE_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_object;
struct file;

bool cryo_is_ns_file(struct file *file);
const char *cryo_ns_file_obstacle(struct cryo_capture *c, struct cryo_object *o);

#endif /* CRYO_NS_FILE_H */
