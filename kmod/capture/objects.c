// SPDX-License-Identifier: GPL-2.0-only
/*
 * objects.c - identity: which descriptors and mappings are one open file, which
 * open files are one inode
 *
 * Each is found by its address, which is stable while the capture holds a
 * reference, and gets a small number, which is what the context shows.
 */
#include <linux/file.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/sock.h>

#include <cryo/format.h>

#include "capture/capture.h"

#define FIRST_BITS	10	/* the table has one place for each object, and grows */

int cryo_objects_init(struct cryo_capture *c)
{
	c->object_bits = FIRST_BITS;
	c->objects = kvcalloc(1UL << FIRST_BITS, sizeof(*c->objects), GFP_KERNEL_ACCOUNT);
	return c->objects ? 0 : -ENOMEM;
}

static void hash_object(struct cryo_capture *c, struct cryo_object *o)
{
	hlist_add_head(&o->hash, &c->objects[hash_ptr((void *)o->key, c->object_bits)]);
}

/* Without room for a larger one, the old table will do. */
static void grow_table(struct cryo_capture *c)
{
	struct hlist_head *more = kvcalloc(2UL << c->object_bits, sizeof(*more),
					   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	struct hlist_head *old = c->objects;
	unsigned long i, places = 1UL << c->object_bits;
	struct cryo_object *o;
	struct hlist_node *next;

	if (!more)
		return;
	c->objects = more;
	c->object_bits++;
	for (i = 0; i < places; i++) {
		hlist_for_each_entry_safe(o, next, &old[i], hash)
			hash_object(c, o);
		cond_resched();
	}
	kvfree(old);
}

struct cryo_object *cryo_object_find(struct cryo_capture *c, const void *key)
{
	struct cryo_object *o;

	hlist_for_each_entry(o, &c->objects[hash_ptr((void *)key, c->object_bits)], hash)
		if (o->key == key)
			return o;
	return NULL;
}

static struct cryo_object *add_object(struct cryo_capture *c, struct cryo_proc *p, const void *key,
				      struct file *file, struct list_head *list)
{
	struct cryo_object *o = kzalloc(sizeof(*o), GFP_KERNEL_ACCOUNT);

	if (!o)
		return NULL;
	o->key = key;
	o->id = ++c->next_id;
	o->proc = p;
	o->file = get_file(file);
	o->fd = -1;
	o->stdio_fd = U32_MAX;
	o->carrier = -1;
	if (c->nr_objects++ >> c->object_bits)
		grow_table(c);
	hash_object(c, o);
	list_add_tail(&o->node, list);
	return o;
}

struct cryo_object *cryo_object_file(struct cryo_capture *c, struct cryo_proc *p, struct file *file)
{
	struct cryo_object *o = cryo_object_find(c, file);
	struct cryo_object *inode;

	if (o) {
		o->several |= o->proc != p;
		return o;
	}
	inode = cryo_object_find(c, file_inode(file));
	if (!inode) {
		inode = add_object(c, p, file_inode(file), file, &c->inodes);
		if (!inode)
			return NULL;
		inode->is_inode = true;
	}
	o = add_object(c, p, file, file, &c->files);
	if (!o)
		return NULL;
	o->inode = inode;
	o->refs = 1 + (inode->file == file);
	if (!inode->opened)
		inode->opened = o;
	inode->writers += !!(file->f_mode & FMODE_WRITER);
	inode->ends += !!(file->f_mode & FMODE_READ) + !!(file->f_mode & FMODE_WRITE);
	inode->written |= !!(file->f_mode & FMODE_WRITE);
	return o;
}

struct cryo_object *cryo_object_waiting(struct cryo_capture *c, struct sock *sk,
					struct cryo_object *listener)
{
	struct cryo_object *o = add_object(c, listener->proc, sk, listener->file, &c->waiting);

	if (!o)
		return NULL;
	sock_hold(sk);
	o->sk = sk;
	o->listener = listener;
	if (!listener->first_waiting)
		listener->first_waiting = o;
	o->fd = listener->fd;
	o->kind = CRYO_FILE_WAITING;
	return o;
}

static void free_list(struct list_head *list)
{
	struct cryo_object *o, *next;

	list_for_each_entry_safe(o, next, list, node) {
		fput(o->file);
		if (o->sk)
			sock_put(o->sk);
		kfree(o->name);
		kfree(o);
	}
}

void cryo_objects_free(struct cryo_capture *c)
{
	free_list(&c->waiting);
	free_list(&c->files);
	free_list(&c->inodes);
	kvfree(c->objects);
	c->objects = NULL;
}
