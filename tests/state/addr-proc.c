// SPDX-License-Identifier: GPL-2.0-only
/* What /proc/self tells of the program: command line, environment, auxv, limits of code and data, exe. */
#define _GNU_SOURCE
#include "crtest.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char *const files[] = { "cmdline", "environ", "auxv", "comm" };

static const struct {
	int field;
	const char *name;
} fields[] = {
	{ 1, "pid" }, { 26, "startcode" }, { 27, "endcode" }, { 28, "startstack" },
	{ 45, "start_data" }, { 46, "end_data" }, { 47, "start_brk" }, { 48, "arg_start" },
	{ 49, "arg_end" }, { 50, "env_start" }, { 51, "env_end" },
};

#define FILES (sizeof(files) / sizeof(files[0]))
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static char text[FILES][8192], exe[PATH_MAX];
static size_t length[FILES];
static unsigned long long value[FIELDS];
static void *break_at;

static size_t slurp(size_t i, char *buf)
{
	char path[64] = "/proc/self/";

	strcat(path, files[i]);
	return crt_slurp(path, buf, 8192);
}

static unsigned long long field(size_t i)
{
	/* the first field is before the name in parentheses */
	return fields[i].field == 1 ? (unsigned long long)getpid() : crt_stat_field(getpid(), fields[i].field);
}

static void setup(void)
{
	CRT_SYS(prctl(PR_SET_NAME, "na me) (x", 0, 0, 0));
	for (size_t i = 0; i < FILES; i++)
		length[i] = slurp(i, text[i]);
	for (size_t i = 0; i < FIELDS; i++)
		value[i] = field(i);
	CRT_SYS(readlink("/proc/self/exe", exe, sizeof(exe) - 1));
	break_at = sbrk(0);
}

static void verify(void)
{
	char buf[8192], link[PATH_MAX] = "";

	for (size_t i = 0; i < FILES; i++)
		crt_ok(slurp(i, buf) == length[i] && !memcmp(buf, text[i], length[i]), "/proc/self/%s", files[i]);
	crt_ok(memmem(text[1], length[1], "CRTEST_DIR=", 11), "the environment is that of the program");
	for (size_t i = 0; i < FIELDS; i++)
		crt_same((long long)field(i), (long long)value[i], "/proc/self/stat: %s", fields[i].name);
	CRT_SYS(readlink("/proc/self/exe", link, sizeof(link) - 1));
	crt_same_str(link, exe, "/proc/self/exe");
	crt_same((intptr_t)sbrk(0), (intptr_t)break_at, "brk");
	crt_ok(!access((const char *)getauxval(AT_EXECFN), X_OK), "AT_EXECFN names the program");
	crt_same_str(getenv("CRTEST_DIR"), crt_dir(), "getenv()");
	crt_same_str(getenv("STRANGE") ? "set" : "unset", "unset", "nothing of cr_restart's environment");
}

const struct crt_test crt_test = {
	.text = "/proc/self tells of the program what it told before",
	.setup = setup,
	.verify = verify,
};
