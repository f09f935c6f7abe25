// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - /dev/cryo
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/major.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>

#include <cryo/client.h>
#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "access/consent.h"
#include "access/exceptions.h"
#include "access/switches.h"
#include "checkpoint/checkpoint.h"
#include "client/client.h"
#include "compat/ksym.h"
#include "compat/newest.h"
#include "device.h"
#include "lazy/lazy.h"
#include "lib/coverage.h"
#include "lib/in_use.h"
#include "lib/unload.h"
#include "memory/page_writer.h"
#include "memory/track.h"
#include "request/events.h"
#include "restart/calls.h"
#include "save/ipc.h"
#include "syscalls/syscalls.h"

static long version(void __user *arg)
{
	struct cryo_version v = {
		.abi_major = CRYO_ABI_MAJOR,
		.abi_minor = CRYO_ABI_MINOR,
		.format_major = CRYO_FORMAT_MAJOR,
		.format_minor = CRYO_FORMAT_MINOR,
		.features = (cryo_features() | CRYO_FEATURES_OF_EXCEPTIONS |
			     cryo_consent_feature()) & ~cryo_exceptions_off(),
		.release = CRYO_RELEASE,
	};
	u32 size;

	if (get_user(size, (u32 __user *)arg))
		return -EFAULT;
	if (size < offsetofend(struct cryo_version, features))
		return -EINVAL;
	strscpy(v.missing, cryo_ksym_missing(), sizeof(v.missing));
	v.size = min_t(u32, size, sizeof(v));
	return copy_to_user(arg, &v, v.size) ? -EFAULT : 0;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *p = (void __user *)arg;

	switch (cmd) {
	case CRYO_IOC_VERSION:
		return version(p);
	case CRYO_IOC_CHECKPOINT:
		return cryo_request_create(p);
	case CRYO_IOC_RESTART:
		return cryo_restart_create(p);
	case CRYO_IOC_PID_CURSOR:
		return cryo_pid_cursor(p);
	case CRYO_IOC_IPC_ID:
		return cryo_ipc_id(p);
	case CRYO_IOC_CONSENT:
		return cryo_consent(p);
	case CRYO_IOC_CLIENT:
		return cryo_client_create(p);
	case CRYO_IOC_RESTARTED:
		return cryo_restarted_create();
	}
	return -ENOTTY;
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

/*
 * Each operation asks who may do what to whom, so anybody may open it, unless a site wants it
 * otherwise: with a udev rule for a group, the mode is that of the time before the rule.
 */
static ushort device_mode = 0666;

/* As it is written, and as ls(1) and chmod(1) have it. */
static int show_device_mode(char *buffer, const struct kernel_param *param)
{
	return scnprintf(buffer, PAGE_SIZE, "%#o\n", device_mode);
}

static const struct kernel_param_ops device_mode_ops = {
	.set = param_set_ushort,
	.get = show_device_mode,
};

module_param_cb(device_mode, &device_mode_ops, &device_mode, 0444);
__MODULE_PARM_TYPE(device_mode, "ushort");
MODULE_PARM_DESC(device_mode, "mode of /dev/cryo (default: 0666)");

struct miscdevice cryo_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = CRYO_DEVICE_NAME,
	.fops = &device_fops,
};

static bool untested_kernel;
module_param(untested_kernel, bool, 0444);
MODULE_PARM_DESC(untested_kernel, "load on a kernel that is newer than the newest one tested, too");

/*
 * The kernel that runs: with module versions, one can be newer than the one that the module was
 * built for.
 */
static int __init check_kernel_release(void)
{
	const char *release = init_utsname()->release;
	unsigned int major, minor;

	if (sscanf(release, "%u.%u", &major, &minor) == 2 &&
	    (major < CRYO_NEWEST_KERNEL_MAJOR ||
	     (major == CRYO_NEWEST_KERNEL_MAJOR && minor <= CRYO_NEWEST_KERNEL_MINOR)))
		return 0;
	if (untested_kernel) {
		pr_warn("loaded on Linux %s, which it has not been tested on\n", release);
		return 0;
	}
	pr_err("Linux %s is newer than %u.%u, the newest that this version has been tested on: use a newer version of Cryo, or, if data loss is acceptable, load it with untested_kernel=1\n",
	       release, CRYO_NEWEST_KERNEL_MAJOR, CRYO_NEWEST_KERNEL_MINOR);
	return -EOPNOTSUPP;
}

static int __init cryo_init(void)
{
	int err = check_kernel_release();

	if (err)
		return err;
	if (device_mode & ~0666) {
		pr_err("device_mode=%#o: write it octal, with a leading 0\n", device_mode);
		return -EINVAL;
	}
	cryo_device.mode = device_mode;
	err = cryo_ksym_init();
	if (err)
		return err;
	cryo_consent_init();
	cryo_timed_waits_init();
	err = cryo_map_init();
	if (err)
		goto exit_consent;
	err = cryo_page_writer_init();
	if (err)
		goto exit_map;
	err = cryo_events_init();
	if (err)
		goto exit_page_writer;
	err = misc_register(&cryo_device);
	if (err)
		goto exit_events;
	cryo_coverage_init();
	cryo_in_use_init();
	return 0;

exit_events:
	cryo_events_exit();
exit_page_writer:
	cryo_page_writer_exit();
exit_map:
	cryo_map_exit();
exit_consent:
	cryo_consent_exit();
	return err;
}

static void __exit cryo_exit(void)
{
	misc_deregister(&cryo_device);
	cryo_in_use_exit();
	cryo_coverage_exit();
	cryo_consent_exit();
	cryo_events_exit();
	cryo_page_writer_exit();
	cryo_map_exit();
	cryo_track_exit();
	/*
	 * A thread that a freeze has given up comes late, and may arm a wait; who is in one when it
	 * is disarmed is waited for.
	 */
	cryo_unload_wait();
	cryo_timed_waits_disarm();
	cryo_unload_wait();
}

module_init(cryo_init);
module_exit(cryo_exit);

MODULE_DESCRIPTION("Checkpoint and restart of processes");
MODULE_AUTHOR("The Cryo developers");
MODULE_VERSION(CRYO_RELEASE);
MODULE_LICENSE("GPL");
