// SPDX-License-Identifier: GPL-2.0-only
/*
 * cgroup_files.c - the settings of a control group, as its files tell them
 *
 * They are read with the requester's rights, while the job stands still, where he has the hierarchy
 * mounted. A mount for the module alone, as of proc, would not do: whoever mounts the hierarchy
 * sets options that hold for all of its mounts. What is mounted on something in it is not looked
 * at, so that nobody but the kernel answers.
 *
 * Which settings there are depends on the kernel and its controllers, so there is no list of them:
 * a setting is what can be read and written, but for files to which commands are written.
 */
#include <linux/cgroup.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/fs.h"
#include "lib/buf.h"
#include "lib/walk_path.h"
#include "paths/mounts.h"
#include "save/process/cgroups.h"

/*
 * What is written to them is done at once, or says something about who has opened them. The last
 * one is another form of cpu.weight.
 */
static const char *const commands[] = {
	"cgroup.procs", "cgroup.threads", "cgroup.kill", "memory.reclaim", "cpu.weight.nice",
};

/* Before its name and its text, in cryo_cgroup_texts.settings. */
struct cgroup_setting {
	u32 name_len, text_len;
};

struct cgroup_reader {
	struct dir_context ctx;
	struct cryo_cgroup_texts *texts;
};

/* Is the hierarchy mounted at @point, from its root? */
static int try_hierarchy(const char *point, struct path *root)
{
	int err = cryo_walk_own_path(point, root);

	if (err)
		return err;
	if (root->dentry->d_sb->s_magic == CGROUP2_SUPER_MAGIC &&
	    root->dentry == root->mnt->mnt_root)
		return 0;
	path_put(root);
	return -ENODEV;
}

/* Where the requester has the hierarchy: counted, in @root. */
int cryo_cgroup_mount(struct cryo_capture *c, struct path *root)
{
	const struct cryo_mount_table *mounts;
	u32 i;

	if (!try_hierarchy("/sys/fs/cgroup", root) ||
	    !try_hierarchy("/sys/fs/cgroup/unified", root))
		return 0;
	mounts = cryo_own_mounts(c);
	if (IS_ERR(mounts))
		return PTR_ERR(mounts);
	for (i = 0; i < mounts->n; i++)
		if (!strcmp(mounts->lines[i].type, "cgroup2") &&
		    !strcmp(mounts->lines[i].root, "/") &&
		    !try_hierarchy(mounts->lines[i].point, root))
			return 0;
	return -ENOENT;
}

static int look_below(const struct path *base, const char *name, struct path *found)
{
	return vfs_path_lookup(base->dentry, base->mnt, name, LOOKUP_NO_XDEV, found);
}

/* For reading; or an ERR_PTR. */
static struct file *open_below(const struct path *base, const char *name)
{
	struct file *file;
	struct path path;
	int err = look_below(base, name, &path);

	if (err)
		return ERR_PTR(err);
	err = path_permission(&path, MAY_READ);
	file = err ? ERR_PTR(err) : dentry_open(&path, O_RDONLY, current_cred());
	path_put(&path);
	return file;
}

/* The directory of @cgrp, whose @path it is; or an ERR_PTR. */
struct file *cryo_cgroup_open(const struct path *root, const struct cgroup *cgrp, const char *path)
{
	struct file *dir = open_below(root, path + 1);

	/* It may have been removed, and another one have its name by now. */
	if (IS_ERR(dir) || file_inode(dir)->i_ino == cgroup_id(cgrp))
		return dir;
	fput(dir);
	return ERR_PTR(-ESTALE);
}

static void take_owner(const struct path *path, u32 *uid, u32 *gid, u32 *mode)
{
	struct kstat stat;

	if (vfs_getattr(path, &stat, STATX_BASIC_STATS, AT_STATX_DONT_SYNC))
		return;
	*uid = from_kuid_munged(current_user_ns(), stat.uid);
	*gid = from_kgid_munged(current_user_ns(), stat.gid);
	*mode = stat.mode & S_IALLUGO;
}

void cryo_cgroup_describe(struct file *dir, struct cryo_cgroup *out)
{
	struct path procs;
	u32 mode;

	take_owner(&dir->f_path, &out->uid, &out->gid, &out->mode);
	out->files_uid = out->uid;
	out->files_gid = out->gid;
	if (look_below(&dir->f_path, "cgroup.procs", &procs))
		return;
	take_owner(&procs, &out->files_uid, &out->files_gid, &mode);
	path_put(&procs);
}

static bool ends_with(const char *name, size_t len, const char *end)
{
	return len > strlen(end) && !strcmp(name + len - strlen(end), end);
}

/* With NUL. */
static bool is_setting(const char *name, size_t len)
{
	size_t i;

	if (len > CRYO_CGROUP_NAME_MAX || !islower(name[0]))
		return false;
	for (i = 0; i < len; i++)
		if (!isalnum(name[i]) && !strchr("._-", name[i]))
			return false;
	if (match_string(commands, ARRAY_SIZE(commands), name) >= 0)
		return false;
	/*
	 * Whoever writes to them is told when there is too much pressure; or has another account of
	 * the peak.
	 */
	if (ends_with(name, len, ".pressure"))
		return !strcmp(name, "cgroup.pressure");
	return !ends_with(name, len, ".peak");
}

static bool take_name(struct dir_context *ctx, const char *name, int len, loff_t offset, u64 ino,
		      unsigned int type)
{
	struct cgroup_reader *r = container_of(ctx, struct cgroup_reader, ctx);
	char copy[CRYO_CGROUP_NAME_MAX + 1];

	if (type != DT_REG || len > CRYO_CGROUP_NAME_MAX)
		return true;
	memcpy(copy, name, len);
	copy[len] = '\0';
	if (strchr(copy, '.') && is_setting(copy, len))
		cryo_buf_put(&r->texts->names, copy, len + 1);
	return !r->texts->names.error;
}

void cryo_cgroup_texts_free(struct cryo_cgroup_texts *texts)
{
	cryo_buf_free(&texts->names);
	cryo_buf_free(&texts->settings);
	kvfree(texts->text);
	texts->text = NULL;
}

/*
 * What the file @name of @dir says; 0: it has no text, or is no setting, or the requester may not
 * read it.
 */
static int read_setting(struct file *dir, const char *name, struct cryo_cgroup_texts *texts)
{
	struct file *file = open_below(&dir->f_path, name);
	umode_t mode;
	ssize_t n = 0;
	size_t len = 0;
	loff_t pos = 0;

	if (IS_ERR(file)) {
		if (PTR_ERR(file) == -ENOMEM)
			return -ENOMEM;
		/* Who may not read it does not have it: the group is not all there. */
		texts->more |= PTR_ERR(file) != -ENOENT && PTR_ERR(file) != -ENODEV;
		return 0;
	}
	mode = file_inode(file)->i_mode;
	if (S_ISREG(mode) && mode & 0444 && mode & 0222) {
		for (; len <= CRYO_CGROUP_VALUE_MAX; len += n) {
			n = kernel_read(file, texts->text + len,
					CRYO_CGROUP_VALUE_MAX + 1 - len, &pos);
			if (n <= 0)
				break;
		}
	}
	fput(file);
	if (n < 0) {
		if (n == -ENOMEM || n == -EINTR)
			return n;
		texts->more |= n != -ENODEV && n != -EOPNOTSUPP;
		return 0;
	}
	if (len > CRYO_CGROUP_VALUE_MAX || memchr(texts->text, '\0', len)) {
		texts->more = true;
		return 0;
	}
	return len && texts->text[len - 1] == '\n' ? len - 1 : len;
}

/*
 * Each setting of @dir once, to be saved later: what there is of it, the head of its section says.
 */
static int read_settings(struct cryo_capture *c, struct file *dir, struct cryo_cgroup_texts *texts)
{
	const char *name = (const char *)texts->names.data;
	const char *end = name + texts->names.len;
	struct cgroup_setting head;
	int len, err = 0;

	for (; !err && name < end; name += strlen(name) + 1) {
		err = cryo_capture_interrupted(c);
		len = err ?: read_setting(dir, name, texts);
		if (len <= 0) {
			err = len;
			continue;
		}
		if (texts->n++ == CRYO_CGROUP_SETTINGS) {
			texts->more = true;
			break;
		}
		head = (struct cgroup_setting){ .name_len = strlen(name), .text_len = len };
		cryo_buf_put(&texts->settings, &head, sizeof(head));
		cryo_buf_put(&texts->settings, name, head.name_len);
		cryo_buf_put(&texts->settings, texts->text, head.text_len);
		err = texts->settings.error;
		cond_resched();
	}
	return err;
}

/* What there is in @dir. To be freed with cryo_cgroup_texts_free(), whatever this returns. */
int cryo_cgroup_look(struct cryo_capture *c, struct file *dir, struct cryo_cgroup_texts *texts)
{
	struct cgroup_reader r = { .ctx.actor = take_name, .texts = texts };
	int err;

	texts->text = kvmalloc(CRYO_CGROUP_VALUE_MAX + 1, GFP_KERNEL_ACCOUNT);
	if (!texts->text)
		return -ENOMEM;
	err = iterate_dir(dir, &r.ctx);
	if (texts->names.error)
		return texts->names.error;
	/* Removed meanwhile, for instance. */
	if (err && err != -ENOMEM && err != -EINTR) {
		texts->more = true;
		return 0;
	}
	return err ?: read_settings(c, dir, texts);
}

int cryo_cgroup_save(struct cryo_capture *c, u32 number, const struct cryo_cgroup_texts *texts)
{
	const u8 *at = texts->settings.data, *end = at + texts->settings.len;
	struct cryo_cgroup_setting out = {};
	struct cgroup_setting head;
	struct cryo_buf buf;
	int err = 0;

	while (!err && at < end) {
		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		out.name_len = head.name_len;
		buf = (struct cryo_buf){};
		cryo_buf_put(&buf, &out, sizeof(out));
		cryo_buf_put(&buf, at, head.name_len + head.text_len);
		at += head.name_len + head.text_len;
		err = cryo_stream_buf(&c->stream, CRYO_SEC_CGROUP_SETTING, number, sizeof(out),
				      &buf);
		cryo_buf_free(&buf);
	}
	return err;
}
