// SPDX-License-Identifier: GPL-2.0-only
/* What cr_request_file() leaves of a file that is there already, and of what else is: when it fails, and when it does not. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static volatile int answer, calls;
static void (*volatile act)(void);

static int callback(void *arg)
{
	(void)arg;
	calls++;
	if (act)
		act();
	cr_checkpoint(answer);
	return 0;
}

static void request(const char *file)
{
	calls = 0;
	cr_request_file(file);
	while (cr_status() != CR_STATE_IDLE)
		pause_ms(10);
}

static void put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ok(write(fd, text, strlen(text)) == (ssize_t)strlen(text), "a file %s", file);
	close(fd);
}

static bool has(const char *file, const char *text)
{
	char start[64] = "";
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, start, sizeof(start) - 1) < 0)
		start[0] = '\0';
	close(fd);
	return !strcmp(start, text);
}

static bool is_context(const char *file)
{
	char command[256];

	snprintf(command, sizeof(command), "cr_info %s >/dev/null 2>&1", file);
	return !system(command);
}

static int names_in(const char *directory)
{
	DIR *entries = opendir(directory);
	int count = 0;

	while (entries && readdir(entries))
		count++;
	if (entries)
		closedir(entries);
	return count - 2;
}

static mode_t type_of(const char *file)
{
	struct stat st;

	return lstat(file, &st) ? 0 : st.st_mode & S_IFMT;
}

static void begin(void)
{
	answer = 0;
	act = NULL;
	cr_init();
	cr_register_callback(callback, NULL, CR_THREAD_CONTEXT);
}

/* ---- a disk that is full */

/* Before there are other threads, which would keep their namespace. */
static void small_disk(const char *options)
{
	mkdir("small", 0700);
	ok(!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	   !mount("none", "small", "tmpfs", 0, options), "a small file system");
}

static void becomes_full(void)
{
	static char memory[32 << 20];
	struct stat before, after;

	small_disk("size=12m");
	begin();
	request("small/context");
	ok(is_context("small/context"), "a context");
	stat("small/context", &before);
	for (size_t i = 0; i < sizeof(memory); i += 8)
		memcpy(memory + i, &i, 8);
	request("small/context");
	ok(memory[8] == 8 && calls == 1, "no room for the next one: the program goes on");
	is(cr_status(), CR_STATE_IDLE, "and cr_status() says that it is over");
	ok(!stat("small/context", &after) && after.st_ino == before.st_ino && after.st_size == before.st_size &&
	   is_context("small/context"), "the old one is there, and whole");
	is(names_in("small"), 1, "and nothing else");
}

static void is_full(void)
{
	small_disk("nr_inodes=2");
	begin();
	put("small/context", "old");
	request("small/context");
	ok(true, "no room for a file at all: the program goes on");
	is(cr_status(), CR_STATE_IDLE, "and cr_status() says that it is over");
	ok(has("small/context", "old"), "the old one is there");
}

/* ---- somebody does something meanwhile */

static void goes_elsewhere(void)
{
	if (chdir("elsewhere"))
		_exit(1);
}

static void replaces(void)
{
	rename("theirs", "named");
}

static void meanwhile(void)
{
	begin();
	mkdir("place", 0700);
	mkdir("place/elsewhere", 0700);
	ok(!chdir("place"), "a directory");
	put("named", "old");
	put("elsewhere/named", "other");
	answer = CR_CHECKPOINT_TEMP_FAILURE;
	act = goes_elsewhere;
	request("named");
	ok(has("named", "other"), "a request fails, and a callback has changed the directory: nothing is removed there");
	ok(has("../named", "old"), "nor in the other");
	is(names_in(".."), 2, "no temporary file is left");
	answer = 0;
	ok(!chdir(".."), "back");
	request("named");
	ok(has("named", "other"), "one that does not fail: nothing is replaced there");
	ok(is_context("../named") && names_in("..") == 2, "but where the file was");
	act = replaces;
	answer = CR_CHECKPOINT_TEMP_FAILURE;
	ok(!chdir(".."), "back");
	put("theirs", "theirs");
	request("named");
	ok(has("named", "theirs"), "what has got the name meanwhile stays");
}

/* ---- what is no file, and what other names it has */

/* Ends with 0 when a context has come. */
static pid_t reader_of(const char *fifo)
{
	static char bytes[65536];
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int fd = open(fifo, O_RDONLY | O_CLOEXEC);
		ssize_t got, size = 0;

		while ((got = read(fd, bytes, sizeof(bytes))) > 0)
			size += got;
		_exit(size < 4096);
	}
	return pid;
}

static void special_files(void)
{
	pid_t reader;
	int fd;

	begin();
	mkdir("special", 0700);
	ok(!chdir("special") && !mkfifo("fifo", 0600) && !mknod("null", S_IFCHR | 0600, makedev(1, 3)), "a FIFO and a device");
	fd = open("fifo", O_RDWR | O_CLOEXEC);
	answer = CR_CHECKPOINT_TEMP_FAILURE;
	request("fifo");
	request("null");
	close(fd);
	ok(type_of("fifo") == S_IFIFO && type_of("null") == S_IFCHR, "requests that fail leave them");
	answer = 0;
	reader = reader_of("fifo");
	request("fifo");
	is(end_of(reader), 0, "who reads from a FIFO gets the context");
	request("null");
	ok(type_of("fifo") == S_IFIFO && type_of("null") == S_IFCHR, "requests that do not fail leave them, too");
	is(names_in("."), 2, "nothing else is there");
}

static void other_names(void)
{
	struct timeval old[2] = { { 1000, 0 }, { 1000, 0 } };
	struct stat st;

	begin();
	mkdir("names", 0700);
	ok(!chdir("names") && !mkdir("real", 0700), "a directory");
	put("real/context", "old");
	ok(!symlink("real/context", "link") && !chmod("real/context", 0644), "with a link to a file");
	request("link");
	ok(type_of("link") == S_IFLNK && type_of("real/context") == S_IFREG && is_context("real/context"), "what it leads to is replaced");
	ok(!stat("real/context", &st) && (st.st_mode & 0777) == 0600, "by what is for its owner alone");
	is(names_in("real"), 1, "and nothing is left beside it");
	ok(!symlink("real/new", "dangling"), "a link that leads nowhere");
	request("dangling");
	ok(is_context("real/new") && type_of("dangling") == S_IFLNK, "a file where it leads");
	put(".file.new.0", "of one that runs");
	put(".file.new.1", "left");
	utimes(".file.new.1", old);
	answer = CR_CHECKPOINT_TEMP_FAILURE;
	request("file");
	ok(has(".file.new.0", "of one that runs") && type_of(".file.new.1") == 0, "what was left long ago is removed, no other");
}

/* The file may be written to, the directory may not. */
static void in_place(void)
{
	char directory[] = "/tmp/libcr-XXXXXX";

	ok(mkdtemp(directory) && !chdir(directory) && !chmod(".", 0755), "a directory");
	put("context", "old");
	ok(!chown("context", 1000, 1000) && !setresgid(1000, 1000, 1000) && !setresuid(1000, 1000, 1000), "an ordinary user");
	prctl(PR_SET_DUMPABLE, 1);
	begin();
	request("context");
	ok(is_context("context"), "where there can be no file beside it, it is written to");
	answer = CR_CHECKPOINT_TEMP_FAILURE;
	request("context");
	ok(has("context", ""), "and emptied when that fails");
}

int main(void)
{
	bool root = geteuid() == 0;
	int bad = job(meanwhile);

	bad |= job(other_names);
	if (root) {
		bad |= job(special_files);
		bad |= job(becomes_full);
		bad |= job(is_full);
		bad |= job(in_place);
	}
	return finish() || bad;
}
