// SPDX-License-Identifier: GPL-2.0-only
/*
 * device - a program whose device is opened again after a restart
 *
 *   gcc -o device device.c -lcr
 *
 * The callback closes what cannot be saved, and opens it when the checkpoint is over; a critical
 * section keeps the rest of the program from finding it closed.
 */
#include <fcntl.h>
#include <libcr.h>
#include <stdio.h>
#include <unistd.h>

static const char *path = "/dev/urandom";
static int device = -1;

static int around(void *arg)
{
	int result;

	(void)arg;
	close(device);
	result = cr_checkpoint(CR_CHECKPOINT_READY);
	device = open(path, O_RDONLY | O_CLOEXEC);
	printf("%s is open again %s\n", path, result > 0 ? "after a restart" : "");
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int number;
	cr_client_id_t id;

	if (argc > 1)
		path = argv[1];
	device = open(path, O_RDONLY | O_CLOEXEC);
	id = cr_init();
	if (device < 0 || id < 0 || cr_register_callback(around, NULL, CR_THREAD_CONTEXT) < 0) {
		fprintf(stderr, "device: %s\n", cr_strerror(errno));
		return 1;
	}
	for (;;) {
		cr_enter_cs(id);
		if (read(device, &number, sizeof(number)) == sizeof(number))
			printf("%u\n", number);
		cr_leave_cs(id);
		fflush(stdout);
		sleep(1);
	}
}
