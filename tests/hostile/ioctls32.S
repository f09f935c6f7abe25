// SPDX-License-Identifier: GPL-2.0-only
// A 32-bit program without a library that makes the calls of the device: asks for the version, makes a request for its
// parent, runs it, and lets the parent go; makes a handle of a restart, tries to become a thread of it, and commits it; registers.
// Writes to standard output what each returned, 32-bit numbers:
//   open, CRYO_IOC_VERSION, the version's size field and abi_major | abi_minor << 16, CRYO_IOC_CHECKPOINT, CRYO_CKPT_RUN,
//   CRYO_IOC_RESTART, CRYO_RST_RESUME, CRYO_CKPT_STATUS, its size field and state, CRYO_CKPT_THAW, the same again,
//   CRYO_RST_COMMIT, CRYO_RST_STATUS, CRYO_IOC_CLIENT, CRYO_CLIENT_CLAIM, CRYO_CLIENT_NOTE
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
	movl	%eax, %edi
	ioctl	%edi, 0xa150, $0
	movl	%eax, results + 20
	ioctl	%edi, 0xa153, $status
	movl	%eax, results + 32
	movl	status, %eax
	movl	%eax, results + 36
	movl	status + 4, %eax
	movl	%eax, results + 40
	ioctl	%edi, 0xa151, $0
	movl	%eax, results + 44
	ioctl	%edi, 0xa151, $0
	movl	%eax, results + 48

	ioctl	%esi, 0xa142, $restart
	movl	%eax, results + 24
	movl	%eax, %edi
	ioctl	%edi, 0xa160, $resume
	movl	%eax, results + 28
	ioctl	%edi, 0xa161, $commit
	movl	%eax, results + 52
	ioctl	%edi, 0xa162, $0
	movl	%eax, results + 56

	ioctl	%esi, 0xa17c, $client
	movl	%eax, results + 60
	movl	%eax, %edi
	ioctl	%edi, 0xa186, $0
	movl	%eax, results + 64
	ioctl	%edi, 0xa181, $null
	movl	%eax, results + 68

	movl	$4, %eax			// write(2)
	movl	$1, %ebx
	movl	$results, %ecx
	movl	$72, %edx
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
checkpoint: .long 48, 1, 0, 0, -1		// CRYO_CKPT_HOLD
	.long	10000, 10000, 0, 0, 0, 0, 0
restart: .long	16, 0, 1, 1
	.balign	8
resume:	.long	144			// no register sets: EINVAL
	.fill	35, 4, 0
commit:	.long	16, 0, 1, 0		// nobody comes: ETIMEDOUT
	.balign	8
status:	.long	88
	.fill	21, 4, 0
	.balign	8
client:	.long	40
	.fill	9, 4, 0
results: .fill	18, 4, 0

	.section .note.GNU-stack, "", @progbits
