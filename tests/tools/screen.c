/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * screen - a terminal with a shell that has job control, and a full-screen program
 *
 * screen fore|back ROWS KEYS LOG COMMAND...: runs it in the fore- or background of a new terminal of so many rows, and types what
 * comes from the FIFO KEYS. Of what becomes of the command, and how the terminal is set then, there are lines in LOG: "SHELL'S-PID
 * stopped icanon 1 echo 1" (SIGUSR1 brings it to the foreground and continues it), "... ended ...", "... now ..." at SIGUSR2.
 * As some shells do, this one leaves the modes of the terminal to its jobs.
 * screen job LOG: takes keys one by one and does not show them; lines "size ROWS", "key K icanon 0 echo 0".
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static const char *log_name;

static void note(const char *text)
{
	int fd = open(log_name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd))
		exit(3);
}

static void note_modes(const char *what)
{
	struct termios modes;
	char text[128];

	if (tcgetattr(STDIN_FILENO, &modes))
		exit(3);
	snprintf(text, sizeof(text), "%s icanon %d echo %d\n", what, !!(modes.c_lflag & ICANON), !!(modes.c_lflag & ECHO));
	note(text);
}

static void note_size(int signal)
{
	struct winsize size;
	char text[64];

	(void)signal;
	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size))
		exit(3);
	snprintf(text, sizeof(text), "size %d\n", size.ws_row);
	note(text);
}

static int job(void)
{
	struct sigaction action = { .sa_handler = note_size, .sa_flags = SA_RESTART };
	struct termios modes;
	char key, text[16];

	sigaction(SIGWINCH, &action, NULL);
	if (tcgetattr(STDIN_FILENO, &modes))
		return 3;
	modes.c_lflag &= ~(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &modes);
	note_size(0);
	while (read(STDIN_FILENO, &key, 1) == 1) {
		snprintf(text, sizeof(text), "key %c", key);
		note_modes(text);
	}
	return 0;
}

/* The command is in the foreground, or not, until it ends. */
static int shell(int fore, char **command)
{
	siginfo_t info;
	sigset_t wanted;
	char text[64];
	pid_t pid;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGCHLD);
	sigaddset(&wanted, SIGUSR1);
	sigaddset(&wanted, SIGUSR2);
	sigprocmask(SIG_BLOCK, &wanted, NULL);
	signal(SIGTTOU, SIG_IGN);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		if (fore)
			tcsetpgrp(STDIN_FILENO, getpid());
		signal(SIGTTOU, SIG_DFL);
		sigprocmask(SIG_UNBLOCK, &wanted, NULL);
		execvp(command[0], command);
		_exit(127);
	}
	setpgid(pid, pid);
	for (;;) {
		int signal = sigwaitinfo(&wanted, &info), status;

		snprintf(text, sizeof(text), "%d now", getpid());
		if (signal == SIGUSR2) {
			note_modes(text);
		} else if (signal == SIGUSR1) {
			tcsetpgrp(STDIN_FILENO, pid);
			kill(-pid, SIGCONT);
		} else if (waitpid(pid, &status, WUNTRACED | WNOHANG) == pid) {
			tcsetpgrp(STDIN_FILENO, getpid());
			snprintf(text, sizeof(text), "%d %s", getpid(), WIFSTOPPED(status) ? "stopped" : "ended");
			note_modes(text);
			if (!WIFSTOPPED(status))
				return 0;
		}
	}
}

/* The hardware: what it shows is not looked at. */
static int terminal(int rows, const char *keys, int fore, char **command)
{
	struct winsize size = { .ws_row = (unsigned short)rows, .ws_col = 80 };
	struct pollfd from[2] = { { .events = POLLIN }, { .events = POLLIN } };
	char text[4096];
	pid_t pid = forkpty(&from[0].fd, NULL, NULL, &size);
	ssize_t n;

	if (pid < 0)
		return 3;
	if (!pid)
		_exit(shell(fore, command));
	from[1].fd = open(keys, O_RDWR | O_CLOEXEC);
	while (poll(from, 2, -1) > 0) {
		if (from[0].revents && read(from[0].fd, text, sizeof(text)) <= 0)
			break;
		if (!from[1].revents)
			continue;
		n = read(from[1].fd, text, sizeof(text));
		if (n <= 0 || write(from[0].fd, text, (size_t)n) != n)
			return 3;
	}
	return waitpid(pid, NULL, 0) == pid ? 0 : 3;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "job")) {
		log_name = argv[2];
		return job();
	}
	if (argc < 6)
		return 2;
	log_name = argv[4];
	return terminal(atoi(argv[2]), argv[3], !strcmp(argv[1], "fore"), argv + 5);
}
