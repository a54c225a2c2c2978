/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.c - a recording from its begin to its end. See record.h. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "shared/sys/clock.h"
#include "shared/sys/sys.h"
#include "memory/areas.h"
#include "writer.h"

enum {
	TICK_US = 4000, /* from look to look; the coarse clock goes on at least so often */
	CALIBRATE_MS = 20, /* of the counter */
	AT_A_TIME = 64 /* pieces, from a look at limits and samples to the next */
};
#define PARTLY_NS UINT64_C(250000000) /* a killed process loses so much at most */
#define NAMES_NS UINT64_C(5000000000)
#define SAMPLE_NS UINT64_C(100000000) /* at least; samples take 3 % of a processor at most */
#define SAMPLE_SHARE 33

static uint64_t measure_counter(const struct mw_record_job *job)
{
	uint64_t ns;

	while (mw_now_ns() - job->begin_ns < CALIBRATE_MS * UINT64_C(1000000))
		mw_sys_nap();
	ns = mw_now_ns() - job->begin_ns;
	return (uint64_t)((double)(job->source->counter() - job->begin_ticks) * 1e9 / (double)ns);
}

static bool fail_because(struct mw_writer *w, const char *problem)
{
	snprintf(w->job->state->why, sizeof(w->job->state->why), "%s", problem);
	return false;
}

static bool begin_recording(struct mw_writer *w)
{
	const struct mw_record_job *job = w->job;

	w->codec_bytes = mw_codec_bytes(MW_RECORD_LEVEL, true, false);
	w->codec_memory = w->codec_bytes ? mw_map_memory(w->codec_bytes) : NULL;
	mw_codec_open(&w->codec, MW_RECORD_LEVEL, true, false, w->codec_memory,
		      w->codec_memory ? w->codec_bytes : 0);
	job->loaded();
	if (!mw_record_file_make(&w->file, job->path, (mode_t)job->api->options()->file_mode,
				 job->own_descriptors)) {
		snprintf(job->state->why, sizeof(job->state->why), "can't be made: %s",
			 mw_sys_error(w->file.error));
		return false;
	}
	if (!mw_record_file_add(&w->file, MW_TRACE_MAGIC, strlen(MW_TRACE_MAGIC))) {
		snprintf(job->state->why, sizeof(job->state->why), "can't be written: %s",
			 mw_sys_error(w->file.error));
		return false;
	}
	memcpy(job->state->path, w->file.path, sizeof(job->state->path));
	w->ticks_per_second = measure_counter(job);
	w->begin_ticks = job->begin_ticks;
	w->unix_begin_us = mw_clock_ns(CLOCK_REALTIME) / 1000 - (mw_now_ns() - job->begin_ns) / 1000;
	if (!job->begun && !job->source->begin(job->fine, job->wait))
		return fail_because(w,
				    "out of memory for its buffers, or an earlier recording has not ended");
	mw_writer_tick(w);
	return true;
}

/* Writes the pieces that wait, `most` at most. *n: how many it wrote. False: the file failed. */
static bool drain(struct mw_writer *w, bool partly, unsigned most, unsigned *n)
{
	struct mw_record_piece piece;
	bool ok = true;

	for (*n = 0; ok && *n < most && w->job->source->take(&piece, partly); ++*n) {
		ok = mw_writer_piece(w, &piece);
		w->job->source->done(&piece);
	}
	return ok;
}

enum { EXIT = 2, LEAVE = 3 }; /* values of *stop */

static bool must_leave(const struct mw_writer *w)
{
	return __atomic_load_n(w->job->stop, __ATOMIC_ACQUIRE) == LEAVE;
}

static bool past(const struct mw_writer *w, enum mw_record_reason *reason)
{
	const struct mw_record_job *job = w->job;
	uint32_t stop = __atomic_load_n(job->stop, __ATOMIC_ACQUIRE);

	if (stop && stop != LEAVE)
		*reason = stop == EXIT ? MW_RECORD_EXIT : MW_RECORD_STOP;
	else if (job->size_max && w->file.bytes >= job->size_max)
		*reason = MW_RECORD_SIZE;
	else if (job->seconds_max && mw_now_ns() - job->begin_ns >= job->seconds_max * UINT64_C(1000000000))
		*reason = MW_RECORD_SECONDS;
	else
		return false;
	return true;
}

static bool write_until_end(struct mw_writer *w, enum mw_record_reason *reason)
{
	uint64_t now = mw_now_ns(), partly = now + PARTLY_NS, names = now + NAMES_NS / 5, sample = now;
	bool ok = true;
	unsigned n;

	while (ok && !past(w, reason) && !must_leave(w)) {
		mw_writer_tick(w);
		now = mw_now_ns();
		/* threads may fill buffers as fast as they are written: it has other things to do, too */
		ok = drain(w, now >= partly, AT_A_TIME, &n);
		if (now >= partly)
			partly = now + PARTLY_NS;
		if (ok && now >= names) {
			ok = mw_writer_names(w);
			names = now + NAMES_NS;
		}
		if (ok && now >= sample) {
			uint64_t cpu = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID);

			ok = mw_writer_sample(w);
			cpu = (mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) * SAMPLE_SHARE;
			sample = now + (cpu > SAMPLE_NS ? cpu : SAMPLE_NS);
		}
		if (n < AT_A_TIME)
			mw_sys_futex_wait(w->job->stop, 0, TICK_US * UINT64_C(1000));
	}
	return ok;
}

static void finish(struct mw_writer *w, bool ok, enum mw_record_reason reason)
{
	struct mw_record_state *state = w->job->state;
	unsigned n;
	bool left;

	if (ok)
		ok = mw_writer_sample(w);
	left = w->job->source->end();
	if (!left)
		(void)fail_because(w, "a thread never left: this process can't be recorded again");
	if (ok)
		ok = drain(w, true, UINT_MAX, &n) && mw_writer_resident(w) && mw_writer_names(w) &&
		     mw_writer_lost(w, w->job->source->dropped());
	if (ok)
		ok = mw_writer_end(w, reason, state->why);
	if (!ok && w->file.error) {
		reason = MW_RECORD_DISK;
		snprintf(state->why, sizeof(state->why), "the file ends here: %s",
			 mw_sys_error(w->file.error));
	}
	__atomic_store_n(&state->lost, w->lost, __ATOMIC_RELAXED);
	__atomic_store_n(&state->reason, reason, __ATOMIC_RELAXED);
}

static void close_writer(struct mw_writer *w)
{
	mw_record_file_close(&w->file);
	mw_map_memory_free(w->codec_memory, w->codec_bytes);
	mw_map_memory_free(w, sizeof(*w));
}

/* The recording is on. True: it left, and the file is closed until it goes on. */
static bool go_on_writing(struct mw_writer *w, bool ok)
{
	enum mw_record_reason reason = MW_RECORD_ERROR;

	ok = ok && write_until_end(w, &reason);
	if (ok && must_leave(w)) {
		mw_record_file_close(&w->file); /* the thread's table of descriptors ends with it */
		return true;
	}
	finish(w, ok, reason);
	return false;
}

/* False: it didn't begin. */
static bool begin_on(struct mw_writer *w, bool *left)
{
	const struct mw_record_job *job = w->job;
	bool ok;

	mw_columns_use(&w->columns, MW_RECORD_EVENTS, w->columns_memory);
	if (!begin_recording(w))
		return false;
	/* else the events begin with the blocks that live: a caller that waits for ON frees none before */
	ok = mw_writer_meta(w) && (job->begun || mw_writer_live(w));
	__atomic_store_n(&job->state->is, MW_RECORD_ON, __ATOMIC_RELEASE);
	*left = go_on_writing(w, ok);
	return true;
}

static bool run_recording(const struct mw_record_job *job, bool on)
{
	static struct mw_writer *kept; /* of a recording that left */
	struct mw_writer *w = on ? kept : mw_map_memory(sizeof(*w));
	bool left = false;

	if (!w)
		snprintf(job->state->why, sizeof(job->state->why), "out of memory");
	else
		w->job = job;
	if (on) {
		job->loaded();
		left = go_on_writing(w, mw_record_file_open(&w->file, job->file, job->own_descriptors));
	} else if (!w || !begin_on(w, &left)) {
		if (!w)
			job->loaded();
		__atomic_store_n(&job->state->reason, MW_RECORD_ERROR, __ATOMIC_RELAXED);
		if (job->begun)
			(void)job->source->end();
	}
	kept = left ? w : NULL;
	if (w && !left)
		close_writer(w);
	if (!left)
		__atomic_store_n(&job->state->end_ns, mw_now_ns(), __ATOMIC_RELAXED);
	return left;
}

const struct mw_record_api mwrap_record = { .version = MW_RECORD_VERSION, .run = run_recording };
