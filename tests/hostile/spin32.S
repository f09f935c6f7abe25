// SPDX-License-Identifier: GPL-2.0-only
// A 32-bit program that sleeps in pause(2), over and over.
	.code32
	.globl _start
_start:	movl	$29, %eax
	int	$0x80
	jmp	_start
