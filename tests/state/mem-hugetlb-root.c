// SPDX-License-Identifier: GPL-2.0-only
/* Memory in pages of hugetlbfs without a name: private, shared, of a memfd; whole, in parts, reserved and never touched. */
#define _GNU_SOURCE
#include "hugetlb.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PAGES	40

static size_t size;
static unsigned char *parts, *moved, *sparse, *shared, *file_shared, *file_private, *far;
static int fd, sealed;
static pid_t child;
static struct {
	atomic_uint ask, answer;
} *talk;

/* With contents, zeros, contents that may only be read, a hole, and reserved. */
static void make_private(void)
{
	parts = huge_map(6, MAP_PRIVATE);
	crt_fill(parts, size, 1);
	parts[size + size / 2] = 7;
	memset(parts + 2 * size, 0, size);
	crt_fill(parts + 3 * size, size, 3);
	CRT_SYS(mprotect(parts + 3 * size, size, PROT_READ));
	CRT_SYS(munmap(parts + 4 * size, size));
	moved = huge_map(2, MAP_PRIVATE);
	crt_fill(moved, 2 * size, 4);
	far = CRT_MAP(mmap(NULL, 8 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	far = (unsigned char *)(((uintptr_t)far + size - 1) / size * size);
	moved = CRT_MAP(mremap(moved, 2 * size, 2 * size, MREMAP_MAYMOVE | MREMAP_FIXED, far + 2 * size));
	sparse = huge_map(64, MAP_PRIVATE | MAP_NORESERVE);
	crt_fill(sparse + 5 * size, 5000, 5);
}

/* The child has all of it; its parent has given back a part, and what is behind that is not touched. */
static void make_shared(void)
{
	talk = CRT_MAP(mmap(NULL, crt_page(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	shared = huge_map(4, MAP_SHARED);
	crt_fill(shared, size, 6);
	crt_fill(shared + size, size, 7);
	child = (pid_t)CRT_SYS(fork());
	if (!child) {
		while (!atomic_load(&talk->ask))
			usleep(1000);
		shared[5] ^= 0x55;
		shared[size * 3 + 5] = shared[size + 9];
		atomic_store(&talk->answer, crt_bad(shared + size, size, 7) == -1 ? 1 : 2);
		_exit(3);
	}
	CRT_SYS(munmap(shared + size, size));
}

static void make_files(void)
{
	fd = (int)CRT_SYS(memfd_create("huge test", MFD_HUGETLB | MFD_CLOEXEC));
	CRT_SYS(ftruncate(fd, (off_t)(5 * size)));
	file_shared = CRT_MAP(mmap(NULL, 3 * size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)size));
	crt_fill(file_shared, size, 8);
	crt_fill(file_shared + 2 * size, size, 9);
	file_private = CRT_MAP(mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, (off_t)(2 * size)));
	/* The first one is its own then, all zero but for a byte; the second is the file's. */
	file_private[100] = 1;
	CRT_SYS(lseek(fd, 1234, SEEK_SET));
	sealed = (int)CRT_SYS(memfd_create("huge sealed", MFD_HUGETLB | MFD_ALLOW_SEALING));
	CRT_SYS(ftruncate(sealed, (off_t)size));
	CRT_SYS(fcntl(sealed, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK));
}

static void setup(void)
{
	size = huge_size();
	huge_allow(PAGES);
	make_private();
	make_shared();
	make_files();
}

static bool is_zero(const unsigned char *at, size_t n)
{
	return !at[0] && !memcmp(at, at + 1, n - 1);
}

static void verify_private(void)
{
	crt_same(crt_bad(parts, size, 1), -1, "private: contents");
	crt_ok(parts[size + size / 2] == 7 && is_zero(parts + size, size / 2), "one byte in a page of zeros");
	crt_ok(is_zero(parts + 2 * size, size), "a page of zeros");
	crt_same(crt_bad(parts + 3 * size, size, 3), -1, "contents that may only be read");
	crt_same(crt_try_write(parts + 3 * size, NULL), 11, "which may not be written");
	crt_same(crt_try_read(parts + 4 * size, NULL), 11, "the part that was unmapped");
	crt_ok(!parts[5 * size] && !crt_try_write(parts + 5 * size + 5, NULL), "one that was reserved");
	parts[5 * size + 5] = 0;
	crt_same(crt_bad(moved, 2 * size, 4), -1, "what was moved");
	crt_same(crt_bad(sparse + 5 * size, 5000, 5), -1, "what was not reserved");
	huge_same_size(parts, size, "private");
	huge_same_size(moved, size, "moved");
	huge_same_size(sparse, size, "not reserved");
}

static void verify_shared(void)
{
	int status;

	huge_same_size(shared, size, "shared");
	crt_same(crt_bad(shared, size, 6), -1, "shared: contents");
	crt_same(crt_try_read(shared + size, NULL), 11, "the part that was unmapped");
	shared[5] ^= 0xff;
	atomic_store(&talk->ask, 1);
	CRT_SYS(waitpid(child, &status, 0));
	crt_same(WEXITSTATUS(status), 3, "the child has gone on");
	crt_same(atomic_load(&talk->answer), 1, "and has the part that its parent has not");
	shared[5] ^= 0xff ^ 0x55;
	crt_same(crt_bad(shared, size, 6), -1, "and has changed the memory that both have");
	crt_ok(shared[size * 3 + 5], "also where nobody had been");
}

static void verify_files(void)
{
	struct stat st;
	char text[64], link[64] = "";

	CRT_SYS(fstat(fd, &st));
	crt_same(st.st_size, (long long)(5 * size), "memfd: size");
	crt_same(st.st_blksize, (long long)size, "bytes of its pages");
	crt_same(lseek(fd, 0, SEEK_CUR), 1234, "offset");
	crt_same(fcntl(fd, F_GETFD), FD_CLOEXEC, "close-on-exec");
	snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);
	CRT_SYS(readlink(text, link, sizeof(link) - 1));
	crt_same_str(link, "/memfd:huge test (deleted)", "name");
	crt_same(crt_bad(file_shared, size, 8), -1, "contents through the mapping");
	crt_ok(is_zero(file_shared + size, size), "a hole");
	crt_same(crt_bad(file_shared + 2 * size, size, 9), -1, "contents behind it");
	crt_ok(file_private[100] == 1 && is_zero(file_private + 101, size - 101), "mapped privately: its own page");
	crt_same(crt_bad(file_private + size, size, 9), -1, "and the file's");
	file_shared[2 * size] ^= 1;
	crt_ok(file_private[size] == file_shared[2 * size], "which is that of the other mapping");
	file_shared[2 * size] ^= 1;
	huge_same_size(file_private, size, "mapped privately");
	crt_same(fcntl(sealed, F_GET_SEALS), F_SEAL_GROW | F_SEAL_SHRINK, "seals");
	errno = 0;
	crt_ok(ftruncate(sealed, 0) == -1 && errno == EPERM, "which hold");
}

static void verify(void)
{
	verify_private();
	verify_shared();
	verify_files();
}

const struct crt_test crt_test = {
	.text = "memory in huge pages (hugetlb) keeps its bytes, its size of pages and who shares it",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
