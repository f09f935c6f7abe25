// SPDX-License-Identifier: GPL-2.0-only
/* Programs for BLCR may have blcr_common.h alone: what they find there. */
#include <blcr_common.h>
#include <stdio.h>

int main(void)
{
	struct cr_rstrt_relocate_pair pair = { "/old", "/new" };

	printf("%sok 1 - CR_SIGNUM\n", CR_SIGNUM == 64 ? "" : "not ");
	printf("%sok 2 - error codes\n", CR_MIN_ERRCODE == 2353 && CR_MAX_ERRCODE == 2366 ? "" : "not ");
	printf("%sok 3 - relocations\n", pair.oldpath[0] == '/' ? "" : "not ");
	printf("1..3\n");
	return 0;
}
