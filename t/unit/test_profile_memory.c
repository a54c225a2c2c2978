/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile without memory: each allocation fails once, is told, and leaves nothing behind. */
/* uses: src/shared/report/profile.c src/server/report/profile_tree.c src/server/report/profile_tree_json.c src/server/report/pprof.c src/server/report/collapsed.c src/shared/text/intern.c src/shared/report/group.c src/shared/report/rows.c src/shared/report/columns.c src/shared/report/location.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c src/shared/report/kinds.c src/shared/report/kinded.c src/shared/report/profile_make.c src/shared/report/row_index.c */
#include "unit.h"
#include "made_up_profile.h"

/* This program's malloc stands before the C library's, or before AddressSanitizer's. */
#ifndef __has_feature /* clang's */
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define BENEATH(f) __interceptor_##f
#else
#define BENEATH(f) __libc_##f
#endif
void *BENEATH(malloc)(size_t);
void *BENEATH(calloc)(size_t, size_t);
void *BENEATH(realloc)(void *, size_t);

static size_t until_failure; /* allocations until one fails; 0: none does */
static bool one_failed;

static bool fails(void)
{
	if (!until_failure || --until_failure)
		return false;
	one_failed = true;
	return true;
}

void *malloc(size_t n)
{
	return fails() ? NULL : BENEATH(malloc)(n);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : BENEATH(calloc)(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails() ? NULL : BENEATH(realloc)(p, n);
}

/* Enough for each of the tables to grow: 300 frames, each in a file of its own, and 300 stacks. */
enum { N = 300 };
static char names[N][16];
static struct mw_profile_sampled sampled[N];

static void begin(void)
{
	fake_clear();
	fake_row(MW_KIND_RUBY, 1000000, "/srv/a.rb:1");
	fake_row(MW_KIND_NATIVE, 1000000, "/l/x.so(f+0x1) [0x7f]");
	fake_row(MW_KIND_SPECIAL, 1000000, "(other)");
	made_begin();
	for (uint32_t i = 0; i < N; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "/srv/%u/a", i);
		made_frame_at(i % 2 ? MW_KIND_RUBY : MW_KIND_NATIVE, names[i], names[i], i, i);
	}
	for (uint32_t i = 0; i < N; i++) {
		const uint32_t frames[] = { i, 0 };

		sampled[i] = (struct mw_profile_sampled){
			.frames = made_list(frames, 2), .depth = 2, .bytes = { 1 + i, 2 }, .blocks = { 1, 1 }
		};
	}
}

static bool calibrate(struct mw_buf *b)
{
	(void)b;
	return mw_profile_calibrate(&made, sampled, N);
}

static bool estimate(struct mw_buf *b)
{
	(void)b;
	return mw_profile_estimate(&made, sampled, N);
}

static bool tree(struct mw_buf *b)
{
	const struct mw_profile_view view = { .by = MW_VIEW_GROWTH, .row = MW_ROW_ALL, .most = 250 };

	mw_profile_tree(b, &made, &view);
	return !b->failed;
}

static bool pprof(struct mw_buf *b)
{
	mw_profile_pprof(b, &made, MW_BY_LIVE);
	return !b->failed;
}

static bool collapsed(struct mw_buf *b)
{
	mw_profile_collapsed(b, &made, MW_BY_LIVE);
	return !b->failed;
}

static bool speedscope(struct mw_buf *b)
{
	mw_profile_speedscope(b, &made, "x");
	return !b->failed;
}

/*
 * Runs it with one more allocation that succeeds each time, until none fails any more. qsort does
 * without memory if it gets none: of `harmless` failures nothing need be told.
 */
static void each_failure_is_told(bool (*f)(struct mw_buf *), size_t least, size_t harmless)
{
	size_t told = 0, good = 0;

	for (size_t nth = 1;; nth++) {
		struct mw_buf b = { 0 };
		bool ok;

		begin();
		if (f != calibrate && f != estimate)
			assert_true(mw_profile_calibrate(&made, sampled, N));
		one_failed = false;
		until_failure = nth;
		ok = f(&b);
		until_failure = 0;
		if (!ok && (f == calibrate || f == estimate))
			assert_int_equal(made.n_stacks, 0);
		mw_buf_free(&b);
		made_end();
		if (!one_failed) {
			assert_true(ok);
			break;
		}
		told += !ok;
		good += ok;
	}
	assert_true(told >= least);
	assert_true(good <= harmless);
}

TEST(calibrating)
{
	/* rows, order, stacks, frames, shares and parts; of two locations a list and texts */
	each_failure_is_told(calibrate, 9, 5);
	each_failure_is_told(estimate, 4, 0);
}

TEST(forms)
{
	each_failure_is_told(tree, 20, 1);
	each_failure_is_told(pprof, 20, 0);
	each_failure_is_told(collapsed, 6, 0);
	each_failure_is_told(speedscope, 4, 0);
}
