// SPDX-License-Identifier: GPL-2.0-only
/* hold PID: holds PID frozen after a checkpoint (to /dev/null) until it gets a signal or EOF. */
#include <cryo/ioctl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct cryo_checkpoint args = { .size = sizeof(args), .flags = CRYO_CKPT_HOLD };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), handle;
	char byte;

	if (argc != 2 || dev < 0) {
		perror(CRYO_DEVICE_PATH);
		return 2;
	}
	args.target = atoi(argv[1]);
	args.out_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	handle = ioctl(dev, CRYO_IOC_CHECKPOINT, &args);
	if (handle < 0 || ioctl(handle, CRYO_CKPT_RUN, 0) < 0) {
		perror("checkpoint");
		return 1;
	}
	puts("held");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
