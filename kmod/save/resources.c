// SPDX-License-Identifier: GPL-2.0-only
/* resources.c - the lists of resources.h: each one asked in turn */
#include <linux/kernel.h>
#include <linux/xarray.h>

#include "capture/capture.h"
#include "lib/buf.h"
#include "resources.h"
#include "save/process.h"

#define RESOURCE_ENTRY(name)		&cryo_resource_##name,
#define FILE_KIND_ENTRY(name)		&cryo_file_kind_##name,
#define THREAD_RESOURCE_ENTRY(name)	&cryo_thread_resource_##name,

static const struct cryo_resource *const resources[] = { CRYO_RESOURCES(RESOURCE_ENTRY) };

static const struct cryo_thread_resource *const thread_resources[] = {
	CRYO_THREAD_RESOURCES(THREAD_RESOURCE_ENTRY)
};

static const struct cryo_file_kind *const file_kinds[] = { CRYO_KINDS_OF_FILES(FILE_KIND_ENTRY) };

int cryo_collect_process(struct cryo_capture *c, struct cryo_proc *p)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(resources); i++)
		if (resources[i]->collect)
			err = resources[i]->collect(c, p);
	return err;
}

int cryo_collect_memory(struct cryo_capture *c, struct cryo_proc *p)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(resources); i++)
		if (resources[i]->collect_memory)
			err = resources[i]->collect_memory(c, p);
	return err;
}

int cryo_collect_area(struct cryo_proc *p, struct vm_area_struct *vma, const struct cryo_vma *area)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(resources); i++)
		if (resources[i]->collect_area)
			err = resources[i]->collect_area(p, vma, area);
	return err;
}

int cryo_save_resources(struct cryo_capture *c, struct cryo_proc *p)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(resources); i++) {
		if (resources[i]->save)
			err = resources[i]->save(c, p);
		else if (resources[i]->save_memory && !p->mm_saved)
			err = resources[i]->save_memory(c, p);
	}
	return err;
}

void cryo_release_resources(struct cryo_proc *p)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(resources); i++)
		if (resources[i]->release)
			resources[i]->release(p);
	for (i = 0; i < ARRAY_SIZE(p->notes); i++)
		cryo_buf_free(&p->notes[i]);
}

static int save_of_thread(struct cryo_capture *c, struct cryo_proc *p, struct cryo_parked *t)
{
	int err = cryo_capture_interrupted(c);
	size_t i;

	for (i = 0; !err && i < ARRAY_SIZE(thread_resources); i++)
		err = thread_resources[i]->save(c, p, t);
	return err;
}

static int save_threads(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_parked *t;
	int err = cryo_save_exited_leader(c, p);

	xa_init_flags(&c->filters, XA_FLAGS_ACCOUNT);
	for (t = cryo_next_thread(p, NULL); t && !err; t = cryo_next_thread(p, t))
		err = save_of_thread(c, p, t);
	xa_destroy(&c->filters);
	return err;
}

const struct cryo_resource cryo_resource_threads = {
	.save = save_threads,
};

const struct cryo_file_kind *cryo_file_kind(u32 kind)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(file_kinds); i++)
		if (file_kinds[i]->kind == kind)
			return file_kinds[i];
	return NULL;
}

const struct cryo_file_kind *cryo_file_kind_of(struct file *file)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(file_kinds); i++)
		if (file_kinds[i]->is && file_kinds[i]->is(file))
			return file_kinds[i];
	return NULL;
}
