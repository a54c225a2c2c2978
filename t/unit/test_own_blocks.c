/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of the tracker's own: random lives with a ledger, in several threads, and frees by others. */
/* uses: src/tracker/real/own_blocks.c src/tracker/real/own_left.c src/tracker/base/arena.c src/tracker/base/noticed.c src/tracker/base/wait.c */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/tracker/real/own_blocks.h"
#include "../../src/tracker/real/real.h"

/* The real allocator's. */
static size_t freed;
static void count_free(void *p)
{
	freed++;
	free(p);
}
struct mw_real mw_real = { .free = count_free };
size_t mw_real_mapped = 2;

static uint32_t next(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	return *seed ^= *seed << 5;
}

/* Mostly small, some at a class's edge, a few large. */
static size_t some_size(uint32_t *seed)
{
	uint32_t r = next(seed);

	return r % 50 == 0 ? r % 300000 : r % 7 == 0 ? (size_t)16 << r % 13 : r % (r & 1 ? 100 : 5000);
}

static void check_block(const void *p, size_t n)
{
	assert_non_null(p);
	assert_int_equal((uintptr_t)p % 16, 0);
	assert_true(mw_own_is(p));
	assert_true(mw_own_size(p) >= n + MW_OWN_TAIL);
	assert_true(mw_own_size(p) <= n + MW_OWN_TAIL + 16 + n / 4 + (n > 60000 ? 8192 : 0));
	/* both readings of the word before, where glibc's blocks are told by it */
	assert_true(mw_chunk_usable(p) >= mw_own_size(p));
}

enum { SLOTS = 500, TURNS = UNIT_TIMES(60000), THREADS = 4 };
struct slot {
	unsigned char *p;
	size_t n;
	unsigned char with;
};
static struct slot *handed[THREADS][TURNS / 50]; /* to the next thread, which frees them */

struct life {
	int number;
	uint32_t seed;
	bool bad;
};

static bool is_whole(const struct slot *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->p[i] != s->with)
			return false;
	return true;
}

static void *live(void *arg)
{
	struct life *l = arg;
	struct slot slots[SLOTS] = { 0 };
	struct slot **out = handed[l->number], **in = handed[(l->number + 1) % THREADS];
	size_t given = 0, taken = 0;

	for (int turn = 0; turn < TURNS; turn++) {
		struct slot *s = &slots[next(&l->seed) % SLOTS], *other;

		if (s->p && !is_whole(s))
			l->bad = true;
		mw_own_free(s->p ? s->p : mw_own_alloc(1, 1));
		*s = (struct slot){ NULL, some_size(&l->seed), (unsigned char)turn };
		s->p = mw_own_alloc(1, s->n);
		if (!s->p || !mw_own_is(s->p) || mw_own_size(s->p) < s->n + MW_OWN_TAIL)
			l->bad = true;
		else
			memset(s->p, s->with, s->n);
		if (turn % 50)
			continue;
		other = mw_own_alloc(1, sizeof(*other));
		*other = *s;
		*s = (struct slot){ 0 };
		__atomic_store_n(&out[given++], other, __ATOMIC_RELEASE);
		other = __atomic_load_n(&in[taken], __ATOMIC_ACQUIRE);
		if (other) {
			if (!is_whole(other))
				l->bad = true;
			mw_own_free(other->p);
			mw_own_free(other);
			taken++;
		}
	}
	return NULL;
}

TEST(test_lives)
{
	struct life lives[THREADS];
	pthread_t t[THREADS];
	uint32_t seed = (uint32_t)unit_seed();

	for (int i = 0; i < THREADS; i++) {
		lives[i] = (struct life){ i, (seed + 77 * (uint32_t)i) | 1, false };
		assert_int_equal(pthread_create(&t[i], NULL, live, &lives[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		assert_false(lives[i].bad);
	}
}

TEST(test_each_size)
{
	for (size_t n = 0; n < 200000; n += n < 70000 ? 1 : 997) {
		void *p = mw_own_alloc(1, n);

		check_block(p, n);
		mw_own_free(p);
	}
}

TEST(test_aligned)
{
	for (size_t align = 1; align <= 65536; align *= 2) {
		void *p = mw_own_alloc(align, 100);

		assert_int_equal((uintptr_t)p % align, 0);
		assert_true(mw_own_is(p) && mw_own_size(p) >= 100 + MW_OWN_TAIL);
		memset(p, 1, 100);
		mw_own_free(p);
	}
}

/* What was freed is used again, and a block that isn't one of these is told apart. */
TEST(test_memory_is_used_again)
{
	void *first = mw_own_alloc(1, 1000), *p, *large;
	static char here[64] __attribute__((aligned(4096)));

	mw_own_free(first);
	for (int i = 0; i < UNIT_TIMES(1000000); i++) {
		p = mw_own_alloc(1, 1000);
		assert_ptr_equal(p, first);
		mw_own_free(p);
	}
	large = mw_own_alloc(1, 1 << 20);
	check_block(large, 1 << 20);
	assert_false(mw_own_is(NULL));
	assert_false(mw_own_is(here + MW_OWN_HEAD));
	assert_false(mw_own_is(&first));
	mw_own_free(large);
	assert_false(mw_own_is(large));
}

TEST(test_no_memory)
{
	errno = 0;
	assert_null(mw_own_alloc(1, SIZE_MAX));
	assert_int_equal(errno, ENOMEM);
	assert_null(mw_own_alloc(1, SIZE_MAX / 2 - 4096));
	assert_null(mw_own_alloc(4096, (size_t)1 << 40));
}

TEST(test_left)
{
	freed = 0;
	mw_own_free_left();
	assert_int_equal(freed, 0);
	for (int i = 0; i < 100; i++)
		mw_own_leave(malloc(40));
	mw_own_free_left();
	mw_own_free_left();
	assert_int_equal(freed, 100);
}

static bool stop;

static void *take_and_free(void *unused)
{
	void *p[64];

	(void)unused;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < 64; i++)
			p[i] = mw_own_alloc(1, (size_t)i * 40);
		for (int i = 0; i < 64; i++)
			mw_own_free(p[i]);
	}
	return NULL;
}

/* Children that are forked past fork(3) while the lock is taken: they have memory all the same. */
TEST(test_children)
{
	pthread_t t;
	int status;

	assert_int_equal(pthread_create(&t, NULL, take_and_free, NULL), 0);
	for (int i = 0; i < UNIT_TIMES(500); i++) {
		pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

		if (pid == 0) {
			alarm(20);
			mw_own_after_fork();
			for (size_t n = 0; n < 3000; n += 7)
				mw_own_free(mw_own_alloc(1, n));
			_exit(7);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 7 << 8);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
}
