// SPDX-License-Identifier: GPL-2.0-only
/* A program that has set its terminal: reads keys, not lines, and shows none; so it is after the restart on another one. */
#define _GNU_SOURCE
#include "crtest.h"
#include <string.h>
#include <termios.h>
#include <unistd.h>

static struct termios modes;

static void setup(void)
{
	struct termios set;

	if (!isatty(STDIN_FILENO))
		crt_die("stdin is no terminal");
	CRT_SYS(tcgetattr(STDIN_FILENO, &set));
	set.c_lflag &= ~(ICANON | ECHO);
	set.c_iflag &= ~ICRNL;
	set.c_oflag &= ~OPOST;
	set.c_cc[VMIN] = 2;
	set.c_cc[VTIME] = 3;
	set.c_cc[VINTR] = 'q';
	CRT_SYS(tcsetattr(STDIN_FILENO, TCSANOW, &set));
	CRT_SYS(tcgetattr(STDIN_FILENO, &modes));
}

static void verify(void)
{
	struct termios now;
	char keys[8] = "";

	CRT_SYS(tcgetattr(STDIN_FILENO, &now));
	crt_same(now.c_iflag, modes.c_iflag, "input modes");
	crt_same(now.c_oflag, modes.c_oflag, "output modes");
	crt_same(now.c_lflag, modes.c_lflag, "local modes");
	crt_ok(!memcmp(now.c_cc, modes.c_cc, sizeof(now.c_cc)), "special characters");
	CRT_SYS(read(STDIN_FILENO, keys, 5));
	crt_same_str(keys, "first", "keys are read before the line ends");
}

const struct crt_test crt_test = {
	.text = "the modes of the terminal",
	.setup = setup,
	.verify = verify,
	.flags = CRT_PTY,
};
