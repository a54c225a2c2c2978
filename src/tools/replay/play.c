/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "shared/sys/sys.h"
#include "commands.h"
#include "read_json.h"
#include "mem.h"
#include "packed.h"
#include "play_calls.h"
#include "play_memory.h"
#include "play_samples.h"
#include "play_threads.h"
#include "play_time.h"

enum { OFTEN = 4096 }; /* events from one reading of the clock to the next */
#define PROGRESS_NS UINT64_C(100000000)

struct player {
	struct mw_packed *packed;
	const struct mw_packed_sums *sums;
	struct mw_packed_event event;
	struct mw_play_calls calls;
	struct mw_play_samples samples;
	uint64_t events;
	bool pace;
	uint64_t start_ns; /* when playing began */
	uint64_t now; /* in the recording's ticks */
	uint64_t told_ns;
	char err[MW_REPLAY_ERROR];
};

/* --- time ------------------------------------------------------------------------------------- */

static void tell_progress(struct player *p)
{
	uint64_t now = mw_now_ns(), at, of;

	if (now - p->told_ns < PROGRESS_NS)
		return;
	p->told_ns = now;
	mw_packed_progress(p->packed, &at, &of);
	mw_play_say("{\"progress\":%.4f}\n", of ? (double)at / (double)of : 1);
}

/* That time of the recording has come; with --pace, after a wait. */
static void wait_until(struct player *p, uint64_t ticks)
{
	uint64_t since, at, now;

	if (ticks <= p->now)
		return;
	p->now = ticks;
	since = (uint64_t)(mw_play_seconds(p->sums, ticks) * 1e9);
	if (!p->pace) {
		mw_play_time_set(since);
		return;
	}
	at = p->start_ns + since;
	while ((now = mw_now_ns()) < at) {
		tell_progress(p);
		mw_sys_sleep_until(at - now < PROGRESS_NS ? at : now + PROGRESS_NS);
	}
	mw_play_clock_mark(&p->calls.clock);
}

/* The samples that come before an event of these ticks. */
static void sample_until(struct player *p, uint64_t ticks)
{
	if (mw_play_samples_due(&p->samples) > ticks)
		return;
	while (mw_play_samples_due(&p->samples) <= ticks &&
	       mw_play_samples_due(&p->samples) != UINT64_MAX) {
		wait_until(p, mw_play_samples_due(&p->samples));
		mw_play_samples_take(&p->samples, p->calls.live);
		tell_progress(p);
	}
	mw_play_clock_mark(&p->calls.clock);
}

/* --- the turns: see play_threads.h -------------------------------------------------------------- */

static enum mw_play_next next(void *ctx, uint32_t *thread)
{
	struct player *p = ctx;

	if (!mw_packed_next(p->packed, &p->event, p->err))
		return MW_PLAY_OVER;
	*thread = p->event.thread;
	return MW_PLAY_EVENT;
}

static void play(void *ctx)
{
	struct player *p = ctx;

	if (++p->events % OFTEN == 0) {
		tell_progress(p);
		mw_play_clock_mark(&p->calls.clock);
	}
	sample_until(p, p->event.is.ticks);
	wait_until(p, p->event.is.ticks);
	mw_play_call(&p->calls, &p->event);
}

static bool ends(void *ctx)
{
	const struct player *p = ctx;

	return p->event.is.op == MW_OP_THREAD_END;
}

static void resume_clock(void *ctx)
{
	struct player *p = ctx;

	mw_play_clock_mark(&p->calls.clock);
}

/* --- the command ---------------------------------------------------------------------------------- */

static uint64_t meta_number_or(const char *meta, const char *key, uint64_t otherwise)
{
	uint64_t v;

	return mw_json_get_u64(meta, key, &v) ? v : otherwise;
}

/* No block had more in memory than all of them. */
static uint64_t heap_most(struct mw_packed *packed)
{
	const uint64_t otherwise = UINT64_C(1) << 30;
	size_t n;
	const struct mw_trace_sample *s = mw_packed_samples(packed, &n);
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++)
		if (s[i].heap > most)
			most = s[i].heap;
	return most ? most : otherwise;
}

static bool open_all(struct player *p, const char *path, bool as_recorded)
{
	const char *meta;

	p->packed = mw_packed_open(path, p->err);
	if (!p->packed)
		return false;
	p->sums = mw_packed_sums(p->packed);
	meta = mw_packed_meta(p->packed);
	p->calls.page = mw_page_size();
	p->calls.recorded_page = meta_number_or(meta, "page_size", p->calls.page);
	if (!p->calls.recorded_page)
		p->calls.recorded_page = p->calls.page;
	p->calls.tail = as_recorded ? meta_number_or(meta, "tail", 0) : 0;
	p->calls.untailed = meta_number_or(meta, "untailed", 0);
	p->calls.untailed_128 = meta_number_or(meta, "untailed_128", 0);
	p->calls.untailed_1024 = meta_number_or(meta, "untailed_1024", 0);
	p->calls.fill_most = heap_most(p->packed);
	p->calls.blocks = mw_mem((p->sums->live_most + 1) * sizeof(*p->calls.blocks));
	if (!p->calls.blocks)
		snprintf(p->err, sizeof(p->err), "out of memory for the table of live blocks");
	else if (!mw_play_memory_begin())
		snprintf(p->err, sizeof(p->err), "/proc/self/maps: can't be read: mount /proc");
	else
		return true;
	return false;
}

static bool play_all(struct player *p)
{
	const struct mw_play_turns turns = {
		.next = next, .play = play, .ends = ends, .resume = resume_clock, .ctx = p
	};
	char name[128];
	uint32_t threads;
	int error;

	mw_play_allocator(name, sizeof(name), &p->calls.trims);
	mw_play_samples_begin(&p->samples, p->packed);
	mw_play_clock_start(&p->calls.clock);
	p->start_ns = p->told_ns = mw_now_ns();
	if (!p->pace)
		mw_play_time_set(0);
	if (!mw_play_threads(&turns, &threads, &error))
		snprintf(p->err, sizeof(p->err), "a thread: can't be created: %s", mw_sys_error(error));
	if (*p->err)
		return false;
	sample_until(p, UINT64_MAX);
	mw_play_say("{\"progress\":1}\n");
	mw_play_say("{\"result\":{\"peak_rss\":%llu,\"mean_rss\":%.0f,\"cpu_seconds\":%.6f,\"events\":%llu,"
		    "\"births\":%llu,\"threads\":%u,\"failed\":%llu,\"malloc\":\"%s\"}}\n",
		    (unsigned long long)p->samples.peak, mw_play_samples_mean(&p->samples),
		    mw_play_clock_seconds(&p->calls.clock), (unsigned long long)p->events,
		    (unsigned long long)p->calls.births, threads, (unsigned long long)p->calls.failed,
		    name);
	return true;
}

/* Addresses are the same each time, as far as the allocator lets them. A container may forbid it. */
static void fix_addresses(int argc, char **argv)
{
	enum { WORDS = 8 };
	char *words[WORDS + 2] = { "mwrap-replay" };
	int now = personality(0xffffffff);

	if (argc > WORDS)
		return;
	memcpy(words + 1, argv, (size_t)argc * sizeof(*argv));

	if (now == -1 || now & ADDR_NO_RANDOMIZE || personality((unsigned)now | ADDR_NO_RANDOMIZE) == -1)
		return;
	execv("/proc/self/exe", words);
}

int mw_play(int argc, char **argv)
{
	static struct player p;
	const char *path = NULL;
	bool as_recorded = false;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--pace"))
			p.pace = true;
		else if (!strcmp(argv[i], "--as-recorded"))
			as_recorded = true;
		else if (!path && argv[i][0] != '-')
			path = argv[i];
		else
			path = "";
	}
	if (!path || !*path)
		return mw_misused();
	fix_addresses(argc, argv);
	if (open_all(&p, path, as_recorded) && play_all(&p))
		return 0;
	return mw_complain(path, p.err);
}
