/* SPDX-License-Identifier: GPL-2.0-only */
/* files.h - descriptors, open files and inodes */
#ifndef CRYO_SAVE_FILES_H
#define CRYO_SAVE_FILES_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_file;
struct cryo_inode;
struct cryo_object;
struct cryo_proc;
struct file;
struct path;
struct task_struct;
struct tty_struct;

/* files.c: open files and their inodes */
int cryo_save_inodes(struct cryo_capture *c);
int cryo_save_files(struct cryo_capture *c);
int cryo_classify_files(struct cryo_capture *c);
int cryo_describe_inode(const struct path *path, struct cryo_inode *out);
bool cryo_is_shared_anon(struct file *file);
bool cryo_is_sysv(struct file *file);
void cryo_describe_file(struct file *file, char *buf, size_t size);

/* outside.c: other holders of what the job writes to */
u32 cryo_outside_now(struct cryo_object *o);
void cryo_find_outside(struct cryo_capture *c);
loff_t cryo_saved_position(struct cryo_capture *c, struct cryo_object *o);

/* contents.c: the bytes of files that exist nowhere else */
int cryo_save_contents(struct cryo_capture *c);

/* tty.c */
bool cryo_is_ctty(struct task_struct *task, struct file *file);

/* pipe.c */
bool cryo_is_pipe(struct file *file);
bool cryo_pipe_is_shared(struct cryo_object *o);

/* pty.c: pseudo-terminals whose master is in the scope */
int cryo_find_ttys(struct cryo_capture *c);
u32 cryo_pty_kind(struct cryo_capture *c, struct cryo_object *o);
bool cryo_tty_is_saved(struct cryo_capture *c, struct tty_struct *tty);

/* epoll.c: epoll(7) */
bool cryo_is_epoll(struct file *file);

/* inotify.c: inotify(7) */
bool cryo_is_inotify(struct file *file);

/* fanotify.c: fanotify(7) */
bool cryo_is_fanotify(struct file *file);
bool cryo_fanotify_unread(struct file *file);
bool cryo_fanotify_answers(struct file *file);

/* pidfd.c: pidfd_open(2) */
bool cryo_is_pidfd(struct file *file);
int cryo_classify_pidfd(struct cryo_capture *c, struct cryo_object *o, const char **obstacle);

/* proc_file.c: files of /proc about processes and threads */
const char *cryo_proc_file_obstacle(struct cryo_capture *c, struct cryo_object *o);

/* build_id.c: the build-id of a mapped program or library */
int cryo_save_build_id(struct cryo_capture *c, struct cryo_object *o);

/* end.c: the last bytes of what is written to */
int cryo_save_file_end(struct cryo_capture *c, struct cryo_object *o);

/* owner.c */
void cryo_save_owner(struct file *file, struct cryo_file *out);
bool cryo_has_owner(struct file *file);

#endif /* CRYO_SAVE_FILES_H */
