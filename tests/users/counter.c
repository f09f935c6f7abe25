// SPDX-License-Identifier: GPL-2.0-only
// counter FILE: writes a number to FILE that grows, for as long as it lives.
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	FILE *out = argc == 2 ? fopen(argv[1], "w") : NULL;
	unsigned long n;

	for (n = 1; out; n++) {
		rewind(out);
		fprintf(out, "%lu\n", n);
		fflush(out);
		usleep(20000);
	}
	return 1;
}
