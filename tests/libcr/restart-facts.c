// SPDX-License-Identifier: GPL-2.0-only
/* What callbacks learn about a restart: the environment of cr_restart, and moved paths. */
#include <grp.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "check.h"

static volatile bool in_thread_done, in_signal_done;

/* A value of the environment as it is in cr_restart, not as it was. */
static void environment(void)
{
	const char *value = cr_get_restart_env("RESTART_TEST");

	ok(value && !strcmp(value, "of the restart"), "a variable of cr_restart");
	ok(getenv("RESTART_TEST") && !strcmp(getenv("RESTART_TEST"), "of the start"), "and not our own one");
	value = cr_get_restart_env("RESTART_EMPTY");
	ok(value && !*value, "one without a value");
	ok(cr_get_restart_env("RESTART") == NULL, "the beginning of a name is no name");
	is(errno, ENOENT, "ENOENT");
	ok(cr_get_restart_env("RESTART_GONE") == NULL, "one that is not there any more");
	is(errno, ENOENT, "ENOENT");
}

static void path(const char *before, const char *wanted)
{
	char moved[64] = "?";
	int length = cr_get_restart_path(before, moved, sizeof(moved));

	if (!ok(length == (int)strlen(wanted) && !strcmp(moved, wanted), "%s becomes %s", before, wanted))
		printf("# it is %s, %d\n", moved, length);
}

static void paths(void)
{
	char room[9] = "12345678";

	path("/old", "/new/place");
	path("/old/file", "/new/place/file");
	path("/older/file", "/older/file");
	path("/old/sub/x", "/new/place/sub/x");
	path("/later/x", "/x");
	path("/later", "/");
	path("/other/=x", "/a=b/=x");
	path("old/file", "old/file");
	fails(cr_get_restart_path("/later/1234567", room, sizeof(room) - 1), ERANGE);
	is(cr_get_restart_path("/later/1234567", room, sizeof(room)), 8, "just enough room");
}

static void outside(void)
{
	char room[8];

	ok(cr_get_restart_env("PATH") == NULL, "not outside of a callback");
	is(errno, CR_ENOTCB, "CR_ENOTCB");
	fails(cr_get_restart_path("/", room, sizeof(room)), CR_ENOTCB);
}

static int in_thread(void *arg)
{
	(void)arg;
	outside();
	if (cr_checkpoint(0) > 0) {
		environment();
		paths();
	} else {
		outside();
	}
	in_thread_done = true;
	return 0;
}

static int in_signal(void *arg)
{
	const char *value;

	(void)arg;
	if (cr_checkpoint(0) > 0) {
		value = cr_get_restart_env("RESTART_TEST");
		in_signal_done = value && !strcmp(value, "of the restart");
	}
	return 0;
}

static void work(void)
{
	int error;

	setenv("RESTART_TEST", "of the start", 1);
	setenv("RESTART_GONE", "", 1);
	cr_init();
	cr_register_callback(in_thread, NULL, CR_THREAD_CONTEXT);
	cr_register_callback(in_signal, NULL, CR_SIGNAL_CONTEXT);
	error = checkpoint_self("context");
	while (!in_thread_done)
		pause_ms(1);
	outside();
	if (error == CR_ERESTARTED) {
		while (!in_signal_done)
			pause_ms(1);
		ok(in_signal_done, "in signal context");
	} else {
		is(error, 0, "a checkpoint");
	}
}

static int without_environment(void *arg)
{
	char moved[8] = "?";

	(void)arg;
	if (cr_checkpoint(0) > 0) {
		ok(cr_get_restart_env("RESTART_TEST") == NULL, "root's environment is not for others");
		is(errno, ENOENT, "ENOENT");
		ok(cr_get_restart_path("/later/x", moved, sizeof(moved)) == 2 && !strcmp(moved, "/x"), "paths are");
	}
	in_thread_done = true;
	return 0;
}

/* That root restarts. */
static void of_other_user(void)
{
	int error;

	if (setgroups(0, NULL) || setgid(65534) || setuid(65534) || prctl(PR_SET_DUMPABLE, 1))
		return;
	cr_init();
	cr_register_callback(without_environment, NULL, CR_THREAD_CONTEXT);
	error = checkpoint_self("context");
	while (!in_thread_done)
		pause_ms(1);
	if (error != CR_ERESTARTED)
		is(error, 0, "a checkpoint");
}

int main(void)
{
	restart_options[0] = "--relocate=/old=/new/place";
	restart_options[1] = "--relocate=/later=/";
	restart_options[2] = "--relocate=/other=/a\\=b";
	if (chmod(".", 0777) || setenv("RESTART_TEST", "of the restart", 1) || setenv("RESTART_EMPTY", "", 1))
		return 1;
	is(job(work), 0, "a job");
	if (getuid() == 0)
		is(job(of_other_user), 0, "a job of another user");
	return finish();
}
