/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/hugetlb.h: files of hugetlbfs, also those of a kernel without it, where there are none. */
#ifndef CRYO_COMPAT_HUGETLB_H
#define CRYO_COMPAT_HUGETLB_H

#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/version.h>
#include <linux/xarray.h>

/* Bytes of the pages of @inode, which is one of hugetlbfs. */
static inline unsigned long cryo_huge_page_size(struct inode *inode)
{
#ifdef CONFIG_HUGETLBFS
	return huge_page_size(hstate_inode(inode));
#else
	return PAGE_SIZE;
#endif
}

/* F_GET_SEALS */
static inline unsigned int cryo_hugetlb_seals(struct inode *inode)
{
#ifdef CONFIG_HUGETLBFS
	return HUGETLBFS_I(inode)->seals;
#else
	return 0;
#endif
}

/* Pages of all sizes that @mm has mapped. */
static inline unsigned long cryo_hugetlb_usage(struct mm_struct *mm)
{
#ifdef CONFIG_HUGETLB_PAGE
	return atomic_long_read(&mm->hugetlb_usage);
#else
	return 0;
#endif
}

/*
 * The page cache of hugetlbfs is indexed by ordinary pages, as that of others, since v6.7
 * a08c7193e4f1.
 */
#define CRYO_HUGETLB_INDEX_PAGES	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0))

/*
 * Where the first page of @inode's is that is there, from @pos on, which is at the beginning of a
 * page; LLONG_MAX: there is none. May have gone when this returns.
 */
static inline loff_t cryo_hugetlb_next(struct inode *inode, loff_t pos)
{
	unsigned long unit = CRYO_HUGETLB_INDEX_PAGES ? PAGE_SIZE : cryo_huge_page_size(inode);
	unsigned long index = pos >> ilog2(unit);

	if (!xa_find(&inode->i_mapping->i_pages, &index, ULONG_MAX, XA_PRESENT))
		return LLONG_MAX;
	return (loff_t)index << ilog2(unit);
}

#endif
