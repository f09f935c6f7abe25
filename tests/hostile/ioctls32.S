// SPDX-License-Identifier: GPL-2.0-only
// A 32-bit program without a library that makes the calls of the device: asks for the version, makes a request for its
// parent and runs it, makes a handle of a restart and tries to become a thread of it. Writes to standard output what
// each returned, eight 32-bit numbers:
//   open, CRYO_IOC_VERSION, the version's size field and abi_major | abi_minor << 16, CRYO_IOC_CHECKPOINT, CRYO_CKPT_RUN,
//   CRYO_IOC_RESTART, CRYO_RST_RESUME
	.code32
	.globl _start
	.macro	ioctl fd, command, argument
	movl	\fd, %ebx
	movl	$54, %eax
	movl	$\command, %ecx
	movl	\argument, %edx
	int	$0x80
	.endm

_start:	movl	$5, %eax			// open(2)
	movl	$device, %ebx
	movl	$2, %ecx
	xorl	%edx, %edx
	int	$0x80
	movl	%eax, results
	movl	%eax, %esi
	ioctl	%esi, 0xa140, $version
	movl	%eax, results + 4
	movl	version, %eax
	movl	%eax, results + 8
	movl	version + 4, %eax
	movl	%eax, results + 12

	movl	$5, %eax
	movl	$null, %ebx
	movl	$1, %ecx
	int	$0x80
	movl	%eax, checkpoint + 16
	movl	$64, %eax			// getppid(2)
	int	$0x80
	movl	%eax, checkpoint + 8
	ioctl	%esi, 0xa141, $checkpoint
	movl	%eax, results + 16
	ioctl	%eax, 0xa150, $0
	movl	%eax, results + 20

	ioctl	%esi, 0xa142, $restart
	movl	%eax, results + 24
	ioctl	%eax, 0xa160, $resume
	movl	%eax, results + 28

	movl	$4, %eax			// write(2)
	movl	$1, %ebx
	movl	$results, %ecx
	movl	$32, %edx
	int	$0x80
	movl	$1, %eax			// exit(2)
	xorl	%ebx, %ebx
	int	$0x80

	.data
device:	.asciz	"/dev/cryo"
null:	.asciz	"/dev/null"
	.balign	8
version: .long	312
	.fill	77, 4, 0
	.balign	8
checkpoint: .long 48, 0, 0, 0, -1, 10000, 10000, 0, 0, 0, 0, 0
restart: .long	16, 0, 1, 1
	.balign	8
resume:	.long	144			// no register sets: EINVAL
	.fill	35, 4, 0
results: .fill	8, 4, 0

	.section .note.GNU-stack, "", @progbits
