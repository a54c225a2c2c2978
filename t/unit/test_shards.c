/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shards side by side, with pages of several sizes: what one gives back isn't its neighbour's. Here mmap and madvise do
 * as a kernel with such pages does.
 */
/* uses: src/tracker/table/shards.c src/tracker/base/arena.c */
#include "unit.h"
#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../src/tracker/table/shard.h"

static size_t page = 4096;
static unsigned given_back;

static size_t whole(size_t n)
{
	return (n + page - 1) & -page;
}

unsigned long getauxval(unsigned long type)
{
	return type == AT_PAGESZ ? page : 0;
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	uintptr_t p;

	if (flags & MAP_FIXED)
		return (void *)syscall(SYS_mmap, at, whole(n), prot, flags, fd, off);
	p = (uintptr_t)syscall(SYS_mmap, NULL, whole(n) + page, prot, flags, fd, off);
	return (void *)whole(p); /* what lies around it stays */
}

int madvise(void *p, size_t n, int advice)
{
	if ((uintptr_t)p % page) {
		errno = EINVAL;
		return -1;
	}
	given_back += advice == MADV_DONTNEED;
	return (int)syscall(SYS_madvise, p, whole(n), advice);
}

/* --- in place of the other files ---------------------------------------------------------- */

__thread struct mw_shard *mw_self;
uint32_t mw_no_states[32], mw_permit;

bool mw_shard_flush(struct mw_shard *t, struct mw_shard *u)
{
	(void)t, (void)u;
	return true;
}

void mw_shard_give_records(struct mw_shard *u)
{
	(void)u;
}

void mw_shard_forget_records(struct mw_shard *u)
{
	(void)u;
}

void mw_gate_after_fork(void)
{
}

/* --- the test ------------------------------------------------------------------------------- */

enum { SHARDS = 120, BYTES = MW_SLOTS * MW_ENTRY, ROUNDS = 6 };

static struct mw_shard *shards[SHARDS]; /* NULL: released */

static void mark(struct mw_shard *t, int with)
{
	memset((char *)t - BYTES, with, BYTES);
	memset(t->more_epochs, with, sizeof(t->more_epochs));
}

static bool is_marked(const struct mw_shard *t, int with)
{
	const char *last = (const char *)&t->more_epochs[MW_CALLERS - MW_FEW_CALLERS] - 1;

	for (const char *p = (const char *)t - BYTES; p < (const char *)t; p++)
		if (*p != (char)with)
			return false;
	return *last == (char)with;
}

static void adopt_all(void)
{
	for (int i = 0; i < SHARDS; i++) {
		if (shards[i])
			continue;
		shards[i] = mw_shard_adopt();
		mark(shards[i], i + 1);
	}
}

static void some_end(void)
{
	for (int i = 1; i < SHARDS; i++)
		if (rand() % 2) {
			mw_shard_release(shards[i]);
			shards[i] = NULL;
		}
	mw_shards_trim();
}

static bool keep_their_contents(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		adopt_all();
		mw_self = shards[0];
		some_end();
		for (int i = 0; i < SHARDS; i++)
			if (shards[i] && !is_marked(shards[i], i + 1))
				return false;
	}
	return given_back > SHARDS / 4;
}

/* Each in a process of its own: shards stay where they are. */
TEST(neighbours)
{
	static const size_t sizes[] = { 4096, 16384, 65536 };
	unsigned seed = (unsigned)time(NULL);
	int status;

	printf("# SEED=%u\n", seed);
	srand(seed);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		pid_t pid;

		if (sizes[i] < (size_t)sysconf(_SC_PAGESIZE))
			continue; /* smaller than the kernel's can't be imitated */
		pid = fork();

		if (pid == 0) {
			page = sizes[i];
			_exit(!keep_their_contents());
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status)
			fail_msg("pages of %zu: contents are lost, or all are kept", sizes[i]);
	}
}
