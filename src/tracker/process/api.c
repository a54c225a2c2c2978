/* SPDX-License-Identifier: GPL-2.0-or-later */
/* api.c - the exported table of functions (api.h): each makes its thread quiet, then reads. */
#include "api/api.h"

#include <stdlib.h>

#include "shared/report/report.h"
#include "tracker/base/arena.h"
#include "tracker/base/own_thread.h"
#include "tracker/table/mappings.h"
#include "tracker/table/heap_pages.h"
#include "tracker/table/labels.h"
#include "tracker/table/object_sums.h"
#include "tracker/table/peak.h"
#include "tracker/table/snapshot.h"
#include "tracker/table/tail.h"
#include "tracker/stacks/stacks.h"
#include "tracker/stacks/stacks_copy.h"
#include "tracker/hooks/panic.h"
#include "tracker/hooks/got.h"
#include "attach.h"
#include "load_sibling.h"
#include "process.h"
#include "threads.h"
#include "tracker/caller/ruby/chain.h"
#include "tracker/caller/ruby/jit_code.h"
#include "tracker/caller/ruby/majors.h"
#include "tracker/caller/ruby/state.h"
#include "tracker/real/own_blocks.h"
#include "tracker/real/real.h"
#include "tracker/table/generation.h"
#include "tracker/track/clocked.h"
#include "tracker/track/object.h"
#include "tracker/track/overrun.h"
#include "tracker/track/events.h"
#include "tracker/track/sample.h"
#include "tracker/track/sampled.h"
#include "tracker/track/track.h"

static const struct mw_options *api_options(void)
{
	return &mw_options;
}

/* Answers in a process where the tracker isn't on: it has no tables. */
static struct mw_snapshot nothing;
static struct mw_lives none_live;

static struct mw_snapshot *api_snapshot(void)
{
	struct mw_snapshot *s;

	if (mw_life != MW_ON)
		return &nothing;
	mw_got_catch_up();
	mw_quiet_enter();
	s = mw_snapshot_take();
	mw_quiet_leave();
	return s;
}

static void api_snapshot_free(struct mw_snapshot *s)
{
	if (s == &nothing)
		return;
	mw_quiet_enter();
	mw_snapshot_free(s);
	mw_quiet_leave();
}

static size_t api_source(const char *name, size_t n, char *to, size_t size)
{
	size_t len = 0;

	if (mw_life == MW_ON) {
		mw_quiet_enter();
		len = mw_source_find(name, n, to, size);
		mw_quiet_leave();
	}
	return len;
}

static bool api_find(const char *location, size_t n, struct mw_row *row)
{
	bool found;

	if (mw_life != MW_ON) {
		*row = (struct mw_row){ 0 };
		return false;
	}
	mw_quiet_enter();
	found = mw_row_find(location, n, row);
	mw_quiet_leave();
	return found;
}

static struct mw_lives *api_lives(const uint32_t *ids, size_t n)
{
	struct mw_lives *l;

	if (mw_life != MW_ON)
		return &none_live;
	mw_quiet_enter();
	l = mw_lives_take(ids, n);
	mw_quiet_leave();
	return l;
}

static void api_lives_free(struct mw_lives *l)
{
	if (l == &none_live)
		return;
	mw_quiet_enter();
	mw_lives_free(l);
	mw_quiet_leave();
}

static void api_each_live(void (*f)(const struct mw_live *, void *ctx), void *ctx)
{
	if (mw_life == MW_ON)
		mw_lives_each(f, ctx);
}

static uintptr_t api_main_thread(void)
{
	return mw_main_thread;
}

static struct mw_places *api_places(uint64_t least)
{
	struct mw_places *p;

	mw_quiet_enter();
	p = mw_life == MW_ON ? mw_places_take(least) : calloc(1, sizeof(*p));
	mw_quiet_leave();
	return p;
}

static void api_places_free(struct mw_places *p)
{
	mw_quiet_enter();
	mw_places_free(p);
	mw_quiet_leave();
}

static bool api_live_sums(struct mw_live_sums *s)
{
	bool had = true;

	*s = (struct mw_live_sums){ 0 };
	if (mw_life != MW_ON)
		return true;
	mw_quiet_enter();
	had = mw_live_sums_take(s);
	mw_quiet_leave();
	return had;
}

static void api_live_sums_free(struct mw_live_sums *s)
{
	if (s->v)
		mw_live_sums_free(s);
}

static void *api_keep(size_t bytes)
{
	static uint64_t kept; /* relaxed; by the server and MwrapRack; only counted under a ceiling */
	uint64_t max = mw_arena_max();
	void *p = NULL;

	if (mw_life != MW_ON)
		return NULL;
	if (!max)
		return mw_arena_grow(bytes, MW_ARENA_HISTORY);
	if (__atomic_add_fetch(&kept, bytes, __ATOMIC_RELAXED) <= max / 8)
		p = mw_arena_grow(bytes, MW_ARENA_HISTORY);
	if (!p)
		__atomic_sub_fetch(&kept, bytes, __ATOMIC_RELAXED);
	return p;
}

static struct mw_stacks *api_stacks(uint32_t from, uint32_t to)
{
	struct mw_stacks *s;

	mw_quiet_enter();
	s = mw_life == MW_ON ? mw_stacks_copy(from, to) : calloc(1, sizeof(*s));
	if (s)
		s->rate = mw_sampling_rate();
	mw_quiet_leave();
	return s;
}

static void api_stacks_free(struct mw_stacks *s)
{
	mw_quiet_enter();
	mw_stacks_copy_free(s);
	mw_quiet_leave();
}

static bool api_watch_peak(bool on)
{
	if (mw_life != MW_ON || (on && mw_get(&mw_sampled)))
		return false;
	mw_quiet_enter();
	mw_peak_watch(on, mw_uptime());
	mw_quiet_leave();
	return true;
}

static void api_reset(void)
{
	if (mw_life != MW_ON)
		return;
	mw_quiet_enter();
	mw_reset();
	if (mw_stacks_lock()) {
		mw_stacks_reset();
		mw_stacks_unlock();
	}
	mw_add(&mw_resets, 1);
	mw_quiet_leave();
}

static void api_set_bt(unsigned callers)
{
	mw_quiet_enter();
	mw_bt_set(callers);
	mw_quiet_leave();
}

static void api_set_stacks(uint64_t rate, bool automatic)
{
	if (mw_life != MW_ON)
		return;
	mw_quiet_enter();
	mw_sampling_change(rate, automatic);
	mw_quiet_leave();
}

static bool api_paused(void)
{
	return mw_get(&mw_paused);
}

static bool api_count(bool exactly, uint64_t rate)
{
	bool done = true;

	if (mw_life != MW_ON || (!exactly && mw_get(&mw_events_on)))
		return false;
	mw_quiet_enter();
	if (exactly)
		mw_counts_exactly();
	else
		done = mw_counts_sample(rate ? rate : mw_options.sample);
	mw_quiet_leave();
	return done;
}

/* Of Ruby's heap pages those from before a start in a running process aren't known. */
static bool heap_is_whole(void)
{
	return !mw_real_joined;
}

static enum mw_missing missing(const struct mw_stats *s)
{
	return s->sampled             ? MW_MISSING_SAMPLED :
	       mw_real_joined         ? MW_MISSING_BEFORE :
	       mw_get(&mw_unseen)     ? MW_MISSING_ONCE :
	       mw_get(&mw_was_paused) ? MW_MISSING_PAUSED :
	       s->lost                ? MW_MISSING_MEMORY :
					MW_MISSING_NONE;
}

static void own_cost(struct mw_stats *out)
{
	static const enum mw_arena_for uses[MW_HELD_TABLES_N] = {
		[MW_HELD_LOCATIONS] = MW_ARENA_LOCATION, [MW_HELD_RECORDS] = MW_ARENA_RECORD,
		[MW_HELD_THREADS] = MW_ARENA_THREAD,     [MW_HELD_HISTORY] = MW_ARENA_HISTORY,
		[MW_HELD_STACKS] = MW_ARENA_STACK,       [MW_HELD_NAMES] = MW_ARENA_NAME,
	};
	struct mw_clocked clocked;

	_Static_assert(MW_HELD_TABLES_N == (int)MW_ARENA_USES, "each use has its name");
	mw_clocked_read(&clocked);
	out->clocked_allocs = clocked.allocs;
	out->clocked_alloc_ns = clocked.alloc_ns;
	out->clocked_frees = clocked.frees;
	out->clocked_free_ns = clocked.free_ns;
	out->own_threads_ns = mw_own_threads_ns();
	for (int i = 0; i < MW_HELD_TABLES_N; i++)
		out->held[i] = mw_arena_held(uses[i]);
	out->held[MW_HELD_SERVER] = mw_own_held();
	out->held[MW_HELD_TAILS] = mw_get(&mw_sampled) ? 0 : out->live * MW_TAIL;
}

static void api_stats(struct mw_stats *out)
{
	struct mw_row sum = { 0 };
	struct mw_counters before = { 0 };
	struct mw_heap_sums heap;
	struct mw_peak peak;
	bool known = false;

	mw_got_catch_up();
	mw_quiet_enter();
	if (mw_life == MW_ON)
		known = mw_row_total(&sum, &before); /* else zeros */
	if (known)
		mw_peak_look(sum.live_bytes, mw_uptime());
	mw_quiet_leave();
	*out = (struct mw_stats){ .total = sum.total,
				  .allocations = sum.allocations,
				  .freed = sum.freed,
				  .frees = sum.frees,
				  .live_bytes = sum.live_bytes,
				  .live = sum.live };
	out->locations = mw_callsites_used();
	out->locations_max = mw_callsites_max();
	out->retired = mw_get(&mw_retired);
	out->generation = mw_generation(NULL) * mw_life_scale;
	out->life_unit = mw_clock.in_bytes ? "bytes" : "gc";
	out->ruby_lookup = mw_ruby_how_name();
	out->ruby_why = mw_ruby.why ? mw_ruby.why : "";
	out->mode = mw_mode_name(&out->mode_why);
	out->gc_count = mw_ruby_count_name();
	out->ruby_jit = mw_jit_blocks_name();
	own_cost(out);
	out->tracker_bytes = mw_arena_bytes();
	out->memory_max = mw_arena_max();
	out->locations_full = mw_get(&mw_locations_full);
	out->records_full = mw_get(&mw_records_full);
	out->threads_full = mw_get(&mw_shards_full);
	peak = mw_peak_kept();
	out->peak_bytes = peak.bytes;
	out->peak_uptime = peak.uptime;
	out->paused = mw_get(&mw_paused);
	out->sampled = mw_get(&mw_sampled);
	out->sample_rate = out->sampled ? mw_counts_rate() : 0;
	out->live_samples = sum.live_samples;
	out->live_error = mw_row_live_error(&sum);
	out->lost = mw_get(&mw_lost);
	out->missing = missing(out);
	out->stacks_rate = mw_sampling_rate();
	out->stacks_ns = mw_sampling_ns();
	out->stacks = mw_get(&mw_stacks_figures.stacks);
	out->stacks_samples = mw_get(&mw_stacks_figures.samples);
	out->stacks_first = mw_get(&mw_stacks_figures.first);
	out->stacks_dropped = mw_get(&mw_stacks_figures.dropped);
	out->stacks_folded = mw_get(&mw_stacks_figures.folded);
	out->bt = mw_get(&mw_bt);
	out->overruns = mw_get(&mw_strays.overruns);
	out->wrong_sizes = mw_get(&mw_strays.wrong_sizes);
	out->double_frees = mw_get(&mw_strays.double_frees);
	out->unknown_frees = mw_get(&mw_strays.unknown_frees);
	mw_heap_sums(&heap);
	out->heap_bytes = heap.bytes;
	out->heap_known = heap.pages > 0 && heap_is_whole();
	out->ruby = mw_ruby_version;
	out->resets = mw_get(&mw_resets);
	out->forker = mw_forker;
	out->eldest = mw_eldest;
	out->ever_known = known;
	if (known) {
		out->ever_total = before.bytes + sum.total;
		out->ever_allocations = before.allocs + sum.allocations;
		out->ever_freed = before.freed + sum.freed;
		out->ever_frees = before.frees + sum.frees;
	}
	out->uptime = mw_uptime();
	out->how = mw_attached_how();
	out->since = mw_attached_at();
	out->before_known = mw_attached_before(&out->before_bytes);
}

static struct mw_heap *api_heap(void)
{
	struct mw_heap *h;

	mw_quiet_enter();
	h = mw_heap_copy();
	mw_quiet_leave();
	if (h) {
		h->generation = mw_generation(NULL) * mw_life_scale;
		h->whole = heap_is_whole();
	}
	return h;
}

static void api_heap_free(struct mw_heap *h)
{
	mw_quiet_enter();
	free(h);
	mw_quiet_leave();
}

MW_EXPORT const struct mw_api mwrap_api = {
	.version = MW_API_VERSION,
	.options = api_options,
	.snapshot = api_snapshot,
	.snapshot_free = api_snapshot_free,
	.find = api_find,
	.source = api_source,
	.lives = api_lives,
	.lives_free = api_lives_free,
	.places = api_places,
	.places_free = api_places_free,
	.live_sums = api_live_sums,
	.live_sums_free = api_live_sums_free,
	.keep = api_keep,
	.every_second = mw_every_second,
	.stacks = api_stacks,
	.stacks_free = api_stacks_free,
	.stats = api_stats,
	.majors = mw_ruby_majors,
	.watch_peak = api_watch_peak,
	.reset = api_reset,
	.trim = mw_real_trim,
	.attach = mw_attach,
	.detach = mw_detach,
	.learn_code = mw_ruby_learn_code,
	.pause = mw_pause,
	.paused = api_paused,
	.count = api_count,
	.set_bt = api_set_bt,
	.set_stacks = api_set_stacks,
	.quiet_enter = mw_quiet_enter,
	.quiet_leave = mw_quiet_leave,
	.hush = mw_hush,
	.label_of = mw_label_of,
	.label_set = mw_label_set,
	.thread_start = mw_own_thread_start,
	.thread_run = mw_own_thread_run,
	.leaving = mw_own_must_leave,
	.sleep_until = mw_own_sleep_until,
	.ask_ruby = mw_ruby_ask,
	.while_ruby = mw_ruby_while,
	.object_here = mw_object_here,
	.object_gone = mw_object_gone,
	.objects = mw_objects_count,
	.heap_sums = mw_heap_sums,
	.heap = api_heap,
	.heap_free = api_heap_free,
	.server_endpoint = mw_server_endpoint,
	.server_site = mw_server_site,
	.server_site_give = mw_server_site_give,
	.load = mw_server_load,
	.load_here = mw_load_sibling_here,
	.extended = mw_server_extended,
	.panic_take = mw_panic_take,
	.panic_pass = mw_panic_pass,
	.each_live = api_each_live,
	.live_leads = mw_live_leads,
	.main_thread = api_main_thread,
	.asked = mw_asked,
	.allocator = mw_real_allocator,
	.each_own = mw_arena_each,
	.each_mapping = mw_mappings_each,
	.record_start = mw_recorder_begin,
	.record_stop = mw_recorder_stop,
	.record_state = mw_recorder_state,
};
