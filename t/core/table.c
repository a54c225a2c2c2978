/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.c - modes that fill the tables, and that refuse them memory. */
#include <sys/wait.h>

#include "core.h"

enum { SWEPT = 2000 };

/* --- sweep ------------------------------------------------------------------------- */

static uint64_t next_place;

/* The tracker's steps for a call on a Ruby line that it first sees without the GVL. */
static void on_line(struct mw_shard *t, uint64_t i)
{
	uint32_t id, pending = MW_CS_NONE;
	char path[32];
	int n = snprintf(path, sizeof(path), "/a/%lu.rb", i / 50 % 3000);

	MW_GUARD(t);
	mw_callsites_maintain();
	if (i % 7 == 0) {
		pending = mw_callsite_pending(place(i) + 1);
		mw_shared_alloc(pending, 10, 1);
	}
	id = mw_callsite_ruby(path, (size_t)n, i % 50 + i / 150000 * 50);
	if (pending != MW_CS_NONE)
		mw_callsite_resolve(pending, id);
	else
		mw_shared_alloc(id, 10, 1);
	/* a block's record has the id that it was counted under */
	mw_count_free(t, pending != MW_CS_NONE ? pending : id, 10, (uint32_t)(1 + i % 5));
}

static void *sweep_one(void *arg)
{
	struct mw_shard *t;
	uint64_t i;

	drop(make(0)); /* so that there is a state */
	t = mw_self;
	while ((i = mw_add(&next_place, 1)) < 1500000 && mw_get(&mw_retired) < SWEPT) {
		struct block *b = mw_alloc_at(&(struct mw_alloc_call){ .how = MW_MALLOC, .n = 24 },
					      place(PLACES + i));

		if (!b)
			_exit(1);
		made(b, 24);
		if (i % 1000)
			drop(b);
		else if (i > 1000000) /* a sweep may not get to run on a busy machine */
			nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		if (i % 2) {
			on_line(t, i);
			mw_add(&did.calls, 1);
			mw_add(&did.bytes, 10);
			mw_add(&did.frees, 1);
			mw_add(&did.freed, 10);
		}
	}
	return arg;
}

void sweep(void)
{
	a_while.tv_nsec = 100000000; /* each look copies a hundred thousand places */
	all_threads(sweep_one, true, false);
	check(mw_get(&mw_retired) >= SWEPT, "%lu places were retired", mw_get(&mw_retired));
	check(mw_callsites_used() <= MW_CS_MAX, "the table holds what it can");
	sums("a sweep", false);
}

/* --- refuse ------------------------------------------------------------------------------ */

static void *some(void *arg)
{
	for (unsigned k = 0; k < 50; k++)
		drop(make(k));
	return arg;
}

/* A free looks at the records before its own (dismiss.h), also before a chunk's first. */
static void before_chunks(void)
{
	for (uint32_t i = 0; i < mw_records_end(); i += 1u << MW_CHUNK_SHIFT) {
		const struct mw_record *first = mw_record_at(i + 1) - 1; /* index 0 is none */

		for (uint32_t k = 1; k <= MW_BEFORE; k++)
			if (mw_get(&(first - k)->where) || mw_get(&(first - k)->next))
				say("NOT OK a record before the chunk that begins at %u\n", i);
	}
}

/* Blocks that nothing is known of are lost, and said to be. */
static int starve(unsigned n, bool all)
{
	static struct block *b[70000];
	struct mw_stats s;
	struct mw_lives *l;
	pthread_t t;
	size_t i;

	starving = true;
	beneath_fail_mmap(n, all);
	for (i = 0; i < 70000; i++) { /* more than a chunk of records has */
		b[i] = mw_alloc_at(&(struct mw_alloc_call){ .how = MW_MALLOC, .n = 24 }, place(i % PLACES));
		made(b[i], 24);
	}
	before_chunks();
	if (!pthread_create(&t, NULL, some, NULL))
		pthread_join(t, NULL);
	look(0);
	a->reset();
	for (i = 0; i < 70000; i += 2)
		drop(b[i]);
	l = a->lives(NULL, 0);
	a->lives_free(l);
	n = beneath_mmaps();
	beneath_fail_mmap(0, false);
	for (i = 1; i < 70000; i += 2)
		drop(b[i]);
	a->stats(&s);
	if (s.live || s.live_bytes)
		say("NOT OK %lu blocks, %lu bytes live\n", s.live, s.live_bytes);
	if (s.lost > did.calls)
		say("NOT OK %lu lost\n", s.lost);
	return s.live || s.live_bytes || s.lost > did.calls ? -1 : (int)n;
}

static bool starved(unsigned n, bool all, unsigned *asked)
{
	pid_t pid;
	int status, to[2], r = -1;

	if (pipe(to))
		return false;
	pid = app_fork();
	if (pid == 0) {
		r = starve(n, all);
		_exit(write(to[1], &r, sizeof(r)) != sizeof(r));
	}
	close(to[1]);
	if (read(to[0], &r, sizeof(r)) != sizeof(r))
		r = -1;
	close(to[0]);
	waitpid(pid, &status, 0);
	*asked = r < 0 ? 0 : (unsigned)r;
	return status == 0 && r >= 0;
}

void refuse(void)
{
	unsigned n, of = 0, asked, good = 0;
	bool all_had;

	drop(make(0));
	all_had = starved(0, false, &of);
	check(all_had && of > 10, "with all that it asks for: %u requests", of);
	for (n = 1; n <= of; n++)
		good += starved(n, false, &asked) + starved(n, true, &asked);
	check(good == 2 * of, "%u of %u go on without", good, 2 * of);
}

/* --- sizes --------------------------------------------------------------------------------- */

static void *big_sizes(void *arg)
{
	for (uint64_t k = 0; k < 3000; k++) {
		uint64_t n = MW_SIZE_HUGE + k * 4097 * ((size_t)arg + 1);
		uint32_t f = mw_size_encode(n);

		if (mw_size_decode(f) != n || f < MW_SIZE_HUGE)
			check(false, "a size of %lu", n);
		mw_size_release_huge(f);
	}
	return NULL;
}

void sizes(void)
{
	uint32_t n = 0;

	all_threads(big_sizes, false, false);
	while (mw_size_encode(UINT64_C(1) << 40) != MW_SIZE_NONE)
		n++;
	check(n == 4095, "4095 at a time: %u", n);
	check(mw_size_decode(mw_size_encode(MW_SIZE_HUGE - 1)) == MW_SIZE_HUGE - 1, "just below");
}
