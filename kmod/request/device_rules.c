// SPDX-License-Identifier: GPL-2.0-only
/*
 * device_rules.c - what the requester wants done with descriptors of devices
 *
 * The state inside a device is not Cryo's: its descriptors are refused unless the
 * requester knows that opening the device again, or leaving the number closed, will do.
 */
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/lockdep.h>
#include <linux/slab.h>

#include <cryo/ioctl.h>

#include "lib/args.h"
#include "request/request.h"

struct device_rule {
	struct list_head node;
	dev_t dev;
	bool block;
	u32 policy;
};

static struct device_rule *find_rule(struct list_head *rules, dev_t dev, bool block)
{
	struct device_rule *r;

	list_for_each_entry(r, rules, node)
		if (r->dev == dev && r->block == block)
			return r;
	return NULL;
}

static int copy_device(struct cryo_ckpt_device *device, void __user *arg)
{
	int err;

	err = cryo_copy_args(device, sizeof(*device), sizeof(*device), arg);
	if (err)
		return err;
	if (device->policy > CRYO_DEVICE_CLOSE || device->block > 1)
		return -EINVAL;
	return 0;
}

int cryo_device_rule_add(struct cryo_request *req, void __user *arg)
{
	struct cryo_ckpt_device device;
	struct device_rule *r;
	int err;

	lockdep_assert_held(&req->lock);
	err = copy_device(&device, arg);
	if (err)
		return err;
	r = find_rule(&req->devices, new_decode_dev(device.rdev), device.block);
	if (!r) {
		if (req->nr_devices == CRYO_MAX_DEVICE_RULES)
			return -ENOSPC;
		r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
		if (!r)
			return -ENOMEM;
		r->dev = new_decode_dev(device.rdev);
		r->block = device.block;
		list_add(&r->node, &req->devices);
		req->nr_devices++;
	}
	r->policy = device.policy;
	return 0;
}

u32 cryo_device_rule(struct cryo_request *req, struct inode *inode)
{
	struct device_rule *r = find_rule(&req->devices, inode->i_rdev, S_ISBLK(inode->i_mode));

	return r ? r->policy : CRYO_DEVICE_FAIL;
}

void cryo_device_rules_free(struct cryo_request *req)
{
	struct device_rule *r, *next;

	list_for_each_entry_safe(r, next, &req->devices, node)
		kfree(r);
}
