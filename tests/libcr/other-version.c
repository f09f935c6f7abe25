// SPDX-License-Identifier: GPL-2.0-only
/*
 * other-version.so - preloaded, the module seems to have another interface
 *
 * $OTHER_MAJOR and $OTHER_MINOR are added to its numbers.
 */
#include <cryo/ioctl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int number(const char *name)
{
	const char *text = getenv(name);

	return text ? atoi(text) : 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct cryo_version *version;
	va_list list;
	long result;

	va_start(list, request);
	version = va_arg(list, void *);
	va_end(list);
	result = syscall(SYS_ioctl, fd, request, version);
	if (request == CRYO_IOC_VERSION && result == 0) {
		version->abi_major += number("OTHER_MAJOR");
		version->abi_minor += number("OTHER_MINOR");
	}
	return result;
}
