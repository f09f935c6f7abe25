/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bound - runs a program whose memory comes from one NUMA node
 *
 *	bound NODE PROGRAM [ARGUMENT...]
 */
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned long node;

	if (argc < 3)
		return 2;
	node = 1UL << atoi(argv[1]);
	if (syscall(SYS_set_mempolicy, MPOL_BIND | MPOL_F_STATIC_NODES, &node, sizeof(node) * 8 + 1)) {
		perror("bound: set_mempolicy");
		return 1;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 1;
}
