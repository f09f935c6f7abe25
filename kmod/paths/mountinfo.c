// SPDX-License-Identifier: GPL-2.0-only
/*
 * mountinfo.c - the mounts of a process, as the kernel tells them
 *
 * Mounts are private to the kernel, but it tells all of them in /proc/PID/mountinfo. There may be a
 * hundred thousand: the text is cut up once, and looked at by device.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/string_helpers.h>

#include "capture/capture.h"
#include "lib/buf.h"
#include "paths/mounts.h"
#include "paths/paths.h"

#define MOUNTINFO_MAX	(64UL * 1024 * 1024)

/*
 * All of @file, to be freed with kvfree(); or an ERR_PTR. Of a large one the kernel gives little at
 * a time.
 */
static char *read_text(struct cryo_capture *c, struct file *file)
{
	size_t size = 64 * 1024, len;
	char *text = NULL;
	ssize_t n = 0;
	loff_t pos;

	for (; n >= 0 && size <= MOUNTINFO_MAX; size *= 2) {
		kvfree(text);
		text = kvmalloc(size, GFP_KERNEL_ACCOUNT);
		if (!text)
			return ERR_PTR(-ENOMEM);
		for (pos = len = 0; len < size; len += n) {
			n = cryo_capture_interrupted(c);
			if (!n)
				n = kernel_read(file, text + len, size - len, &pos);
			if (n <= 0)
				break;
		}
		/* An error of the file is not its end. */
		if (n >= 0 && len < size) {
			text[len] = '\0';
			return text;
		}
	}
	kvfree(text);
	return ERR_PTR(n < 0 ? n : -EFBIG);
}

static bool take_numbers(char **line, struct cryo_mount_line *m)
{
	char *id = strsep(line, " "), *parent = strsep(line, " "), *dev = strsep(line, " ");
	unsigned int major, minor;

	if (!id || !parent || !dev || kstrtou32(id, 10, &m->id) ||
	    kstrtou32(parent, 10, &m->parent) || sscanf(dev, "%u:%u", &major, &minor) != 2)
		return false;
	m->dev = MKDEV(major, minor);
	return true;
}

/* An optional field. */
static void take_group(const char *word, struct cryo_mount_line *m)
{
	u32 group;

	if (sscanf(word, "shared:%u", &group) == 1)
		m->shared = group;
	else if (sscanf(word, "master:%u", &group) == 1)
		m->master = group;
}

/* Cuts @line up. */
static bool take_line(char *line, struct cryo_mount_line *m)
{
	char *word;

	if (!take_numbers(&line, m))
		return false;
	m->root = strsep(&line, " ");
	m->point = strsep(&line, " ");
	while ((word = strsep(&line, " ")) && strcmp(word, "-"))
		take_group(word, m);
	m->type = strsep(&line, " ");
	if (!m->type)
		return false;
	string_unescape_inplace(m->root, UNESCAPE_OCTAL);
	string_unescape_inplace(m->point, UNESCAPE_OCTAL);
	return true;
}

static u32 count_lines(const char *text)
{
	u32 n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n + 1;
}

static int take_lines(struct cryo_mount_table *t)
{
	char *rest = t->cut, *line;

	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		if (!take_line(line, &t->lines[t->n]))
			return -EIO;
		t->by_device[t->n] = (u64)t->lines[t->n].dev << 32 | t->n;
		t->n++;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * The job may have as many namespaces as it likes, and the requester pays for their tables. -E2BIG:
 * no more.
 */
static int count_table(struct cryo_capture *c, size_t size, u32 lines)
{
	size_t line = sizeof(struct cryo_mount_line) + sizeof(u64);

	c->mount_bytes += 2 * size + lines * line;
	return c->mount_bytes > CRYO_META_MAX ? -E2BIG : 0;
}

/* With t->text. */
static int cut_text(struct cryo_capture *c, struct cryo_mount_table *t)
{
	size_t size = strlen(t->text) + 1;
	u32 lines = count_lines(t->text);
	int err = count_table(c, size, lines);

	if (err)
		return err;
	t->cut = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	t->lines = kvcalloc(lines, sizeof(*t->lines), GFP_KERNEL_ACCOUNT);
	t->by_device = kvcalloc(lines, sizeof(*t->by_device), GFP_KERNEL_ACCOUNT);
	if (!t->cut || !t->lines || !t->by_device)
		return -ENOMEM;
	memcpy(t->cut, t->text, size);
	err = take_lines(t);
	if (!err)
		sort(t->by_device, t->n, sizeof(*t->by_device), compare_keys, NULL);
	return err;
}

void cryo_mount_table_free(struct cryo_mount_table *t)
{
	if (!t)
		return;
	kvfree(t->text);
	kvfree(t->cut);
	kvfree(t->lines);
	kvfree(t->by_device);
	kfree(t);
}

static int fill_table(struct cryo_capture *c, struct cryo_mount_table *t, const char *name)
{
	struct file *file = cryo_proc_open(c, name);
	char *text;

	if (IS_ERR(file))
		return PTR_ERR(file);
	text = read_text(c, file);
	fput(file);
	if (IS_ERR(text))
		return PTR_ERR(text);
	t->text = text;
	return cut_text(c, t);
}

static struct cryo_mount_table *read_table(struct cryo_capture *c, const char *name)
{
	struct cryo_mount_table *t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	int err = t ? fill_table(c, t, name) : -ENOMEM;

	if (!err)
		return t;
	cryo_mount_table_free(t);
	return ERR_PTR(err);
}

struct cryo_mount_table *cryo_mount_table_of(struct cryo_capture *c, pid_t pid)
{
	char name[48];

	snprintf(name, sizeof(name), "%d/mountinfo", pid);
	return read_table(c, name);
}

struct cryo_mount_table *cryo_own_mounts(struct cryo_capture *c)
{
	struct cryo_mount_table *t;

	if (c->own_mounts)
		return c->own_mounts;
	t = read_table(c, "thread-self/mountinfo");
	if (!IS_ERR(t))
		c->own_mounts = t;
	return t;
}

/*
 * One mount of @dev after the other, in the order of the text; *@at: CRYO_FIRST_MOUNT before the
 * first. NULL: no more.
 */
struct cryo_mount_line *cryo_next_mount(const struct cryo_mount_table *t, dev_t dev, u32 *at)
{
	u32 low = 0, high = t->n, middle;
	u64 key = (u64)dev << 32;

	if (*at == CRYO_FIRST_MOUNT) {
		while (low < high) {
			middle = low + (high - low) / 2;
			if (t->by_device[middle] < key)
				low = middle + 1;
			else
				high = middle;
		}
		*at = low;
	}
	if (*at >= t->n || t->by_device[*at] >> 32 != dev)
		return NULL;
	return &t->lines[(u32)t->by_device[(*at)++]];
}

struct cryo_mounts *cryo_in_mounts(struct cryo_capture *c, const struct vfsmount *mnt)
{
	return xa_load(&c->seen_mounts, (unsigned long)mnt);
}
