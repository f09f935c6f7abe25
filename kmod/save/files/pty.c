// SPDX-License-Identifier: GPL-2.0-only
/*
 * pty.c - pseudo-terminals whose master is in the scope: settings, and what is on its way in
 * either direction
 *
 * What the master has written waits in the slave's flip buffer until the line discipline has room
 * for it, and then, as lines where they are edited, in the line discipline.  What the slave has
 * written goes the same way to the master.
 */
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/major.h>
#include <linux/pid.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "compat/tty.h"
#include "lib/buf.h"
#include "resources.h"
#include "save/files.h"

#define PTMX_MINOR	2	/* /dev/ptmx, beside /dev/tty (0) */

/* The terminal behind an open file, or NULL. */
static struct tty_struct *tty_of(struct file *file)
{
	dev_t dev = file_inode(file)->i_rdev;
	unsigned int major = MAJOR(dev);

	if (!S_ISCHR(file_inode(file)->i_mode) || file->f_mode & FMODE_PATH)
		return NULL;
	if ((major >= UNIX98_PTY_SLAVE_MAJOR &&
	     major < UNIX98_PTY_SLAVE_MAJOR + UNIX98_PTY_MAJOR_COUNT) ||
	    dev == MKDEV(TTYAUX_MAJOR, 0) || dev == MKDEV(TTYAUX_MAJOR, PTMX_MINOR))
		return cryo_file_tty(file);
	return NULL;
}

static bool is_side(struct tty_struct *tty, short subtype)
{
	return tty && tty->driver->type == TTY_DRIVER_TYPE_PTY && tty->driver->subtype == subtype;
}

/* An open file of a terminal. */
struct tty_file {
	const struct tty_struct *tty;	/* identity only */
	struct cryo_object *o;
};

static int compare_tty_files(const void *a, const void *b)
{
	const struct tty_file *x = a, *y = b;

	if (x->tty != y->tty)
		return x->tty < y->tty ? -1 : 1;
	return x->o->id < y->o->id ? -1 : x->o->id > y->o->id;
}

/*
 * Let the line disciplines have what they have room for, signals for control characters included.
 */
static int settle_pair(struct cryo_capture *c, const struct tty_file *f)
{
	struct tty_struct *tty = tty_of(f->o->file);

	if (!is_side(tty, PTY_TYPE_MASTER))
		return 0;
	return cryo_busy_work(c, f->o, &tty->link->port->buf.work, "pseudo-terminal") ?:
	       cryo_busy_work(c, f->o, &tty->port->buf.work, "pseudo-terminal");
}

/* All of the scope, sorted: before the first is classified. */
int cryo_find_ttys(struct cryo_capture *c)
{
	const struct tty_file *all;
	struct tty_file out;
	size_t i;
	int err = 0;

	list_for_each_entry(out.o, &c->files, node) {
		out.tty = tty_of(out.o->file);
		if (out.tty)
			cryo_buf_put(&c->ttys, &out, sizeof(out));
		err = c->ttys.error ?: cryo_capture_interrupted(c);
		if (err)
			return err;
	}
	sort(c->ttys.data, c->ttys.len / sizeof(out), sizeof(out), compare_tty_files, NULL);
	all = (const struct tty_file *)c->ttys.data;
	for (i = 0; !err && i < c->ttys.len / sizeof(out); i++)
		err = settle_pair(c, &all[i]);
	return err;
}

/* The first open file of @tty, and behind it the others; NULL: none. *@n: how many. */
static const struct tty_file *files_on(struct cryo_capture *c, const struct tty_struct *tty,
				       size_t *n)
{
	const struct tty_file *all = (const struct tty_file *)c->ttys.data;
	size_t low = 0, count = c->ttys.len / sizeof(*all), high = count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (all[middle].tty < tty)
			low = middle + 1;
		else
			high = middle;
	}
	for (high = low; high < count && all[high].tty == tty; high++)
		;
	*n = high - low;
	return *n ? &all[low] : NULL;
}

/*
 * The open file of @slave's master, NULL when it is not among those seen. It is opened once only.
 */
static struct cryo_object *master_of(struct cryo_capture *c, struct tty_struct *slave)
{
	size_t n;
	const struct tty_file *f = files_on(c, slave->link, &n);

	if (f && file_inode(f->o->file)->i_rdev == MKDEV(TTYAUX_MAJOR, PTMX_MINOR))
		return f->o;
	return NULL;
}

/* CRYO_FILE_PTY_* of a pseudo-terminal that is restored as such; 0: no such thing. */
u32 cryo_pty_kind(struct cryo_capture *c, struct cryo_object *o)
{
	struct tty_struct *tty = tty_of(o->file);

	if (is_side(tty, PTY_TYPE_MASTER))
		return CRYO_FILE_PTY_MASTER;
	if (!is_side(tty, PTY_TYPE_SLAVE))
		return 0;
	if (master_of(c, tty) || (tty_hung_up_p(o->file) && o->stdio_fd == U32_MAX))
		return CRYO_FILE_PTY_SLAVE;
	return 0;
}

/* Is @tty the slave of a pseudo-terminal that is restored as such? */
bool cryo_tty_is_saved(struct cryo_capture *c, struct tty_struct *tty)
{
	return is_side(tty, PTY_TYPE_SLAVE) && master_of(c, tty);
}

static int save_pty_slave(struct cryo_capture *c, struct cryo_object *o)
{
	struct tty_struct *tty = tty_of(o->file);
	struct cryo_object *master = master_of(c, tty);
	struct cryo_pty_slave out = {};

	if (tty_hung_up_p(o->file))
		out.flags |= CRYO_PTY_HUNG_UP;
	else
		out.master = master->id;
	if (MAJOR(file_inode(o->file)->i_rdev) == TTYAUX_MAJOR)
		out.flags |= CRYO_PTY_DEV_TTY;
	return cryo_stream_section(&c->stream, CRYO_SEC_PTY_SLAVE, o->id, sizeof(out), &out,
				   sizeof(out));
}

static unsigned int files_of(struct tty_struct *tty)
{
	unsigned int n = 0;
	struct list_head *at;

	spin_lock(&tty->files_lock);
	list_for_each(at, &tty->tty_files)
		n++;
	spin_unlock(&tty->files_lock);
	return n;
}

static unsigned int files_seen(struct cryo_capture *c, struct tty_struct *tty)
{
	unsigned int seen = 0;
	size_t n, i;
	const struct tty_file *f = files_on(c, tty, &n);

	for (i = 0; i < n; i++)
		seen += !tty_hung_up_p(f[i].o->file);
	return seen;
}

/* What stands in the way of saving the pair, or NULL. */
static const char *pty_obstacle(struct cryo_capture *c, struct cryo_object *o,
				struct tty_struct *master, bool are_n_tty)
{
	struct tty_struct *slave = master->link;
	const struct cryo_n_tty *input = master->disc_data;

	if (files_of(slave) > files_seen(c, slave))
		return "its other end is open in a process outside of the checkpoint";
	if (!are_n_tty)
		return "a terminal with a line discipline other than N_TTY";
	if ((o->file->f_mode & (FMODE_READ | FMODE_WRITE)) != (FMODE_READ | FMODE_WRITE))
		return "a pseudo-terminal master that is not open for reading and writing";
	if (memchr_inv(&slave->termios_locked, 0, sizeof(slave->termios_locked)))
		return "a terminal with locked settings (TIOCSLCKTRMIOS)";
	if (!files_of(slave) && !test_bit(TTY_OTHER_CLOSED, &master->flags) &&
	    input->read_head != input->read_tail)
		return "a terminal with echoed output whose slave was never opened";
	return NULL;
}

static u32 pty_flags_of(struct tty_struct *master, struct tty_struct *slave)
{
	u32 flags = 0;

	if (test_bit(TTY_PTY_LOCK, &master->flags))
		flags |= CRYO_PTY_LOCKED;
	if (master->ctrl.packet)
		flags |= CRYO_PTY_PACKET;
	if (test_bit(TTY_EXCLUSIVE, &master->flags))
		flags |= CRYO_PTY_EXCLUSIVE_MASTER;
	if (test_bit(TTY_EXCLUSIVE, &slave->flags))
		flags |= CRYO_PTY_EXCLUSIVE;
	if (slave->flow.tco_stopped)
		flags |= CRYO_PTY_SUSPENDED;
	else if (slave->flow.stopped)
		flags |= CRYO_PTY_STOPPED;
	if (master->flow.tco_stopped)
		flags |= CRYO_PTY_SUSPENDED_MASTER;
	if (test_bit(TTY_OTHER_CLOSED, &master->flags))
		flags |= CRYO_PTY_SLAVE_CLOSED;
	return flags;
}

/* With termios_rwsem of @slave. */
static void describe_pty(struct cryo_pty *out, struct tty_struct *master, struct tty_struct *slave)
{
	const struct ktermios *termios = &slave->termios;

	lockdep_assert_held(&slave->termios_rwsem);
	out->number = slave->index;
	out->flags = pty_flags_of(master, slave);
	spin_lock_irq(&slave->ctrl.lock);
	out->sid = pid_vnr(slave->ctrl.session);
	out->pgid = pid_vnr(slave->ctrl.pgrp);
	spin_unlock_irq(&slave->ctrl.lock);
	out->iflag = termios->c_iflag;
	out->oflag = termios->c_oflag;
	out->cflag = termios->c_cflag;
	out->lflag = termios->c_lflag;
	out->ispeed = termios->c_ispeed;
	out->ospeed = termios->c_ospeed;
	BUILD_BUG_ON(sizeof(termios->c_cc) > sizeof(out->cc));
	memcpy(out->cc, termios->c_cc, sizeof(termios->c_cc));
	out->rows = slave->winsize.ws_row;
	out->columns = slave->winsize.ws_col;
	out->xpixels = slave->winsize.ws_xpixel;
	out->ypixels = slave->winsize.ws_ypixel;
}

/* What the line discipline of @tty has for its reader; @marks: which bytes end a line. */
static u32 put_read(struct cryo_buf *buf, struct tty_struct *tty, bool marks)
{
	const struct cryo_n_tty *data = tty->disc_data;
	size_t from = data->read_tail;
	u32 n = min_t(size_t, data->read_head - from, N_TTY_BUF_SIZE), i;
	u8 *out = cryo_buf_add(buf, n);
	size_t at;

	for (i = 0; out && i < n; i++) {
		at = (from + i) & (N_TTY_BUF_SIZE - 1);
		out[i] = marks ? test_bit(at, data->read_flags) : data->read_buf[at];
	}
	return n;
}

/* What waits for the line discipline of @tty to have room. */
static u32 put_pending(struct cryo_buf *buf, struct tty_struct *tty)
{
	struct tty_buffer *b;
	u32 n = 0;

	for (b = tty->port->buf.head; b; b = b->next) {
		u32 len = b->commit - b->read;

		cryo_buf_put(buf, char_buf_ptr(b, b->read), len);
		n += len;
	}
	return n;
}

/*
 * tty_buffer_lock_exclusive(): whoever takes what is in it out may wait for who reads from the
 * terminal, into memory that somebody is to bring.
 */
static int lock_buffer(struct cryo_capture *c, struct cryo_object *o, struct tty_port *port)
{
	int err;

	atomic_inc(&port->buf.priority);
	err = cryo_busy_mutex_lock(c, o, &port->buf.lock, "pseudo-terminal");
	if (err) {
		atomic_dec(&port->buf.priority);
		/* Who saw that has gone, and will not come back by himself. */
		tty_flip_buffer_push(port);
	}
	return err;
}

static void put_input(struct cryo_buf *buf, struct cryo_pty *out, struct tty_struct *slave)
{
	out->input = put_read(buf, slave, false);
	put_read(buf, slave, true);
	out->pending = put_pending(buf, slave);
}

static void put_output(struct cryo_buf *buf, struct cryo_pty *out, struct tty_struct *master)
{
	out->output = put_read(buf, master, false);
	out->output += put_pending(buf, master);
}

/* All of it, with what keeps it as it is. */
static int put_pair(struct cryo_capture *c, struct cryo_object *o, struct tty_struct *master,
		    struct cryo_buf *buf, struct cryo_pty *out)
{
	struct tty_struct *slave = master->link;
	int err;

	err = cryo_busy_read_lock(c, o, &slave->termios_rwsem, "pseudo-terminal");
	if (err)
		return err;
	describe_pty(out, master, slave);
	up_read(&slave->termios_rwsem);
	cryo_buf_put(buf, out, sizeof(*out));
	err = lock_buffer(c, o, master->port);
	if (err)
		return err;
	put_output(buf, out, master);
	tty_buffer_unlock_exclusive(master->port);
	err = lock_buffer(c, o, slave->port);
	if (err)
		return err;
	put_input(buf, out, slave);
	tty_buffer_unlock_exclusive(slave->port);
	return 0;
}

static void warn_of_losses(struct cryo_capture *c, struct cryo_object *o,
			   struct tty_struct *slave)
{
	const struct cryo_n_tty *data = slave->disc_data;

	if (data->echo_head != data->echo_tail)
		cryo_warn(c, o->proc, "fd %d (pseudo-terminal %d): pending echo is lost",
			  o->fd, slave->index);
	if (slave->ctrl.pktstatus)
		cryo_warn(c, o->proc, "fd %d (pseudo-terminal %d): packet mode status that has not been read is lost",
			  o->fd, slave->index);
}

/* With references to the line disciplines of both, or to what they have instead. */
static int save_pair(struct cryo_capture *c, struct cryo_object *o, struct tty_struct *master,
		     bool are_n_tty)
{
	const char *obstacle = pty_obstacle(c, o, master, are_n_tty);
	struct cryo_buf buf = {};
	struct cryo_pty out = {};
	int err;

	if (obstacle) {
		cryo_refuse(c, o->proc, "fd %d (pseudo-terminal %d): %s is not supported", o->fd,
			    master->link->index, obstacle);
		return 0;
	}
	warn_of_losses(c, o, master->link);
	err = put_pair(c, o, master, &buf, &out);
	if (err) {
		cryo_buf_free(&buf);
		return err;
	}
	if (!buf.error)
		memcpy(buf.data, &out, sizeof(out));
	return cryo_stream_buf(&c->stream, CRYO_SEC_PTY, o->id, sizeof(out), &buf);
}

static bool is_n_tty(const struct tty_ldisc *ld)
{
	return ld && ld->ops->num == N_TTY;
}

/*
 * Whoever else has the terminal may give it another line discipline, or hang it up, which gives it
 * a new one. What is in the old one stays as long as there is a reference to it.
 */
static int save_pty_master(struct cryo_capture *c, struct cryo_object *o)
{
	struct tty_struct *master = tty_of(o->file);
	struct tty_ldisc *master_ld = tty_ldisc_ref(master);
	struct tty_ldisc *slave_ld = tty_ldisc_ref(master->link);
	int err = save_pair(c, o, master, is_n_tty(master_ld) && is_n_tty(slave_ld));

	if (slave_ld)
		tty_ldisc_deref(slave_ld);
	if (master_ld)
		tty_ldisc_deref(master_ld);
	return err;
}

const struct cryo_file_kind cryo_file_kind_pty_master = {
	.kind = CRYO_FILE_PTY_MASTER,
	.needs = CRYO_NEEDS_LAYOUT(N_TTY),
	.save = save_pty_master,
};

const struct cryo_file_kind cryo_file_kind_pty_slave = {
	.kind = CRYO_FILE_PTY_SLAVE,
	.needs = CRYO_NEEDS_LAYOUT(N_TTY),
	.save = save_pty_slave,
};
