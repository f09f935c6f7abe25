// SPDX-License-Identifier: GPL-2.0-only
/*
 * path_name.c - what a path is called, now or before it was removed
 */
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/path.h>
#include <linux/string.h>

#include "paths/find.h"

/*
 * The name of @path as the requester sees it, in @buf; or an ERR_PTR. Without the " (deleted)" that
 * d_path() adds;
 * @deleted tells whether it did.  The name may be removed at any time: it counts what stands there.
 */
char *cryo_path_name(const struct path *path, char *buf, size_t size, bool *deleted)
{
	static const char mark[] = " (deleted)";
	char *name = d_path(path, buf, size);
	size_t len;

	*deleted = false;
	if (IS_ERR(name))
		return name;
	len = strlen(name);
	*deleted = d_unlinked(path->dentry) && len > strlen(mark) &&
		   !strcmp(name + len - strlen(mark), mark);
	if (*deleted)
		name[len - strlen(mark)] = '\0';
	return name;
}
