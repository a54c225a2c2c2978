/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * absent.c - the tracker that isn't there.
 *
 * Answers every call of `struct mw_api` with nothing: no locations, zeros. Counts quiet depths
 * only, because Mwrap.quiet yields them. The extension uses it without a tracker.
 * Allocates nothing.
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "shared/sys/thread.h"
#include "ext.h"

/*
 * Of each thread, without a thread-local variable (server/http/context.h says why). Made when the extension is loaded;
 * without it Mwrap.quiet yields 1.
 */
static pthread_key_t depth;
static bool counts;

__attribute__((constructor)) static void make(void)
{
	counts = !pthread_key_create(&depth, NULL);
}

static unsigned set_depth(uintptr_t n)
{
	if (counts)
		(void)pthread_setspecific(depth, (void *)n);
	return (unsigned)n;
}

static unsigned now(void)
{
	return counts ? (unsigned)(uintptr_t)pthread_getspecific(depth) : 0;
}

static const struct mw_options *no_options(void)
{
	static const struct mw_options none = { .dump_fd = -1 };

	return &none;
}

static struct mw_snapshot empty_snapshot;
static struct mw_lives empty_lives;

static struct mw_snapshot *no_snapshot(void)
{
	return &empty_snapshot;
}

static void no_snapshot_free(struct mw_snapshot *snapshot)
{
}

static bool no_find(const char *location, size_t n, struct mw_row *row)
{
	return false;
}

static struct mw_lives *no_lives(const uint32_t *ids, size_t n)
{
	return &empty_lives;
}

static void no_lives_free(struct mw_lives *lives)
{
}

static struct mw_stacks no_stacks_at_all;

static struct mw_stacks *no_stacks(uint32_t from, uint32_t to)
{
	return &no_stacks_at_all;
}

static void no_stacks_free(struct mw_stacks *stacks)
{
}

static void no_stats(struct mw_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->life_unit = "gc";
	stats->ruby_lookup = "none";
	stats->ruby_why = "";
	stats->how = stats->mode = stats->gc_count = stats->ruby_jit = "none";
	stats->mode_why = "";
}

static void no_reset(void)
{
}

static bool no_trim(void)
{
	return false;
}

static void no_pause(bool on)
{
}

static void no_set_bt(unsigned callers)
{
}

static void no_set_stacks(uint64_t rate, bool automatic)
{
}

static bool no_count(bool exactly, uint64_t rate)
{
	return false;
}

static bool no_paused(void)
{
	return false;
}

static struct mw_heap empty_heap;

static void no_heap_sums(struct mw_heap_sums *sums)
{
	memset(sums, 0, sizeof(*sums));
}

static struct mw_heap *no_heap(void)
{
	return &empty_heap;
}

static void no_heap_free(struct mw_heap *heap)
{
}

static size_t no_source(const char *name, size_t n, char *to, size_t size)
{
	return 0;
}

static bool no_server(struct mw_family *endpoint)
{
	return false;
}

static enum mw_site_is no_site(struct mw_site **site, unsigned ms)
{
	return MW_SITE_NONE;
}

static unsigned no_quiet_enter(void)
{
	return set_depth((uintptr_t)now() + 1);
}

static unsigned no_quiet_leave(void)
{
	return now() ? set_depth((uintptr_t)now() - 1) : 0;
}

static bool not_leaving(void)
{
	return false;
}

static void no_hush(bool on)
{
}

static uint32_t no_label_of(const char *text, size_t n)
{
	return 0;
}

static uint32_t no_label_set(uint32_t label)
{
	return 0;
}

static bool no_watch_peak(bool on)
{
	(void)on;
	return false;
}

const struct mw_api mw_no_tracker = {
	.version = MW_API_VERSION,
	.options = no_options,
	.snapshot = no_snapshot,
	.snapshot_free = no_snapshot_free,
	.find = no_find,
	.source = no_source,
	.lives = no_lives,
	.lives_free = no_lives_free,
	.stacks = no_stacks,
	.stacks_free = no_stacks_free,
	.stats = no_stats,
	.watch_peak = no_watch_peak,
	.reset = no_reset,
	.trim = no_trim,
	.pause = no_pause,
	.paused = no_paused,
	.count = no_count,
	.set_bt = no_set_bt,
	.set_stacks = no_set_stacks,
	.quiet_enter = no_quiet_enter,
	.quiet_leave = no_quiet_leave,
	.hush = no_hush,
	.label_of = no_label_of,
	.label_set = no_label_set,
	.thread_start = mw_thread_start,
	.thread_run = mw_thread_run,
	.leaving = not_leaving,
	.heap_sums = no_heap_sums,
	.heap = no_heap,
	.heap_free = no_heap_free,
	.server_endpoint = no_server,
	.server_site = no_site,
};
