/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ranks.c - the ranks that each thread has; see ranks.h. Empty in a build without assertions. */
#include "ranks.h"

#ifdef MW_ASSERT

#include "compiler.h"
#include "mw_assert.h"

static const struct {
	const char *name, *what;
} ranks[] = {
#define MW_RANK(name, what) { #name, what },
#include "ranks.def"
#undef MW_RANK
};

/*
 * A bit for each rank. Exported, so that all of our objects in a process have the same. aside: the forks under way,
 * nested by signal handlers, and what the thread had before the first.
 */
struct mw_ranks {
	uint32_t held, before;
	unsigned aside;
};
extern MW_EXPORT __thread struct mw_ranks mw_ranks_mine __attribute__((tls_model("initial-exec")));
__thread struct mw_ranks mw_ranks_mine;

_Static_assert(MW_RANKS <= 32, "a bit for each");

static uint32_t bit(enum mw_rank rank)
{
	return UINT32_C(1) << rank;
}

static struct iovec iovec_of_text(const char *s)
{
	return (struct iovec){ .iov_base = (void *)(uintptr_t)s, .iov_len = strlen(s) };
}

__attribute__((noreturn)) static void out_of_order(enum mw_rank has, enum mw_rank wants)
{
	const struct iovec line[] = {
		iovec_of_text("mwrap: a lock out of order: "),
		iovec_of_text(ranks[has].name),
		iovec_of_text(" ("),
		iovec_of_text(ranks[has].what),
		iovec_of_text(") is held, "),
		iovec_of_text(ranks[wants].name),
		iovec_of_text(" ("),
		iovec_of_text(ranks[wants].what),
		iovec_of_text(") is waited for\n")
	};

	(void)mw_sys_writev(STDERR_FILENO, line, sizeof(line) / sizeof(*line));
	mw_assert_end();
}

__attribute__((noreturn)) static void not_so(enum mw_rank rank, const char *what)
{
	const struct iovec line[] = { iovec_of_text("mwrap: a lock: "), iovec_of_text(ranks[rank].name),
				      iovec_of_text(what) };

	(void)mw_sys_writev(STDERR_FILENO, line, sizeof(line) / sizeof(*line));
	mw_assert_end();
}

void mw_rank_wait(enum mw_rank rank)
{
	uint32_t not_below = mw_ranks_mine.held & ~(bit(rank) - 1);

	if (not_below)
		out_of_order((enum mw_rank)(31 - __builtin_clz(not_below)), rank);
}

void mw_rank_took(enum mw_rank rank)
{
	if (mw_ranks_mine.held & bit(rank))
		not_so(rank, " is taken by a thread that has it\n");
	mw_ranks_mine.held |= bit(rank);
}

void mw_rank_left(enum mw_rank rank)
{
	if (!(mw_ranks_mine.held & bit(rank)))
		not_so(rank, " is left by a thread that doesn't have it\n");
	mw_ranks_mine.held &= ~bit(rank);
}

void mw_rank_lost(enum mw_rank rank)
{
	mw_ranks_mine.held &= ~bit(rank);
	mw_ranks_mine.before &= ~bit(rank);
}

void mw_ranks_aside(void)
{
	if (mw_ranks_mine.aside++)
		return;
	mw_ranks_mine.before = mw_ranks_mine.held;
	mw_ranks_mine.held = 0;
}

void mw_ranks_again(void)
{
	if (!mw_ranks_mine.aside || --mw_ranks_mine.aside)
		return; /* a child that was forked past the handlers has nothing aside */
	mw_ranks_mine.held = mw_ranks_mine.before;
}

#else
typedef int mw_no_ranks; /* C has no empty file */
#endif
