/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pack.c - writes a packed file. See commands.h; the form: recording/format/format.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "large_pages.h"
#include "source.h"
#include "write_file.h"

enum { SUMS_MOST = 512, PROGRESS_STEPS = 200, LEVEL = 16, LEVEL_QUICK = 1 /* of zstd */ };
#define NO_THREAD UINT32_MAX

struct pack {
	struct mw_source source;
	struct mw_writer out;
	struct mw_columns columns;
	uint8_t columns_memory[MW_COLUMNS_BYTES(MW_FRAME_EVENTS_MOST)];
	uint32_t thread;     /* of the event before, in this frame */
	uint64_t ticks;      /* of the event before */
	uint32_t sequence;   /* of the next frame */
	struct mw_array large; /* struct mw_pages: what was known of blocks, in the order of events */
	uint64_t all, steps; /* events of the recording, and lines of progress written */
	bool progress, quick;
};

/* --- events ---------------------------------------------------------------------------- */

static void write_columns(struct pack *p)
{
	struct mw_trace_frame f = {
		.type = MW_FRAME_PACKED, .sequence = p->sequence, .events = p->columns.events, .ticks = p->ticks
	};

	if (!p->columns.events)
		return;
	p->sequence++;
	mw_writer_frame(&p->out, &f, mw_columns_write(&p->columns, p->out.contents));
}

static void begin_columns(struct pack *p, uint64_t ticks)
{
	p->ticks = ticks;
	p->thread = NO_THREAD;
	mw_columns_begin(&p->columns, true, ticks);
}

static void add_event(struct pack *p, const struct mw_packed_event *e)
{
	struct mw_trace_event thread = { .op = MW_OP_THREAD, .ticks = e->is.ticks, .extra = e->thread };

	/* room for both: a frame begins with its thread */
	if (p->columns.events + 2 > MW_FRAME_EVENTS_MOST) {
		write_columns(p);
		begin_columns(p, p->columns.ticks);
	}
	if (e->thread != p->thread)
		mw_columns_add(&p->columns, &thread);
	p->thread = e->thread;
	mw_columns_add(&p->columns, &e->is);
}

static bool note_pages(struct pack *p, const struct mw_trace_event *e)
{
	if (e->op != MW_OP_FREE_LARGE && e->op != MW_OP_RESIDENT)
		return true;
	if (!mw_array_more(&p->large, sizeof(struct mw_pages)))
		return false;
	((struct mw_pages *)p->large.p)[p->large.n++] = (struct mw_pages){ e->ref, e->extra };
	return true;
}

static void tell_progress(struct pack *p)
{
	uint64_t done = mw_merge_sums(p->source.merge)->events;
	uint64_t steps = p->all ? done * PROGRESS_STEPS / p->all : 0;

	if (!p->progress || steps <= p->steps || steps >= PROGRESS_STEPS)
		return;
	p->steps = steps;
	fprintf(stderr, "%.3f\n", (double)p->steps / PROGRESS_STEPS);
}

/* --- what is around them --------------------------------------------------------------- */

/* The recorded META with the sums; without them it's as long. */
static void write_meta(struct pack *p, bool with_sums)
{
	const char *meta = p->source.index->meta.s, *end = strrchr(meta, '}');
	size_t n = end && strlen(meta) < MW_FRAME_MOST - SUMS_MOST ? (size_t)(end - meta) : 0;
	size_t room = n + SUMS_MOST;
	const struct mw_merge_sums *s = mw_merge_sums(p->source.merge);
	struct mw_trace_frame f = { .type = MW_FRAME_META };
	char *text = (char *)p->out.contents;
	bool empty = true;
	int used;

	memset(text, ' ', room);
	memcpy(text, n ? meta : "{", n ? n : 1);
	n = n ? n : 1;
	for (size_t i = n; i-- > 1 && empty;)
		empty = strchr(" \t\r\n{", text[i]) != NULL;
	used = snprintf(text + n, SUMS_MOST,
			"%s\"packed\":{\"ticks_per_second\":%" PRIu64 ",\"first\":%" PRIu64
			",\"last\":%" PRIu64 ",\"events\":%" PRIu64 ",\"births\":%" PRIu64
			",\"threads\":%" PRIu32 ",\"live_most\":%" PRIu64 ",\"lost\":%" PRIu64
			",\"missing\":%" PRIu64 ",\"repaired\":%" PRIu64 ",\"unknown\":%" PRIu64
			",\"ended\":%" PRIu64 "}}",
			empty ? "" : ",", s->ticks_per_second, s->first, s->last, s->events, s->births,
			s->threads, s->live_most, s->lost, s->missing, s->repaired, s->unknown, s->ended);
	text[n + (size_t)used] = ' ';
	if (with_sums)
		mw_writer_again(&p->out, &f, room);
	else
		mw_writer_plain(&p->out, &f, room);
}

static void write_samples(struct pack *p)
{
	const struct mw_array *samples = &p->source.index->samples;
	size_t most = MW_FRAME_MOST / sizeof(struct mw_trace_sample);

	for (size_t at = 0; at < samples->n; at += most) {
		struct mw_trace_frame f = { .type = MW_FRAME_SAMPLES };
		size_t n = samples->n - at < most ? samples->n - at : most;

		memcpy(p->out.contents, (struct mw_trace_sample *)samples->p + at,
		       n * sizeof(struct mw_trace_sample));
		mw_writer_frame(&p->out, &f, n * sizeof(struct mw_trace_sample));
	}
}

static void write_names(struct pack *p)
{
	struct mw_trace_frame f = { .type = MW_FRAME_LOCATIONS };
	uint8_t *to = p->out.contents, *end = to + MW_FRAME_MOST;

	for (uint32_t id = 1; id <= mw_names_last(p->source.names); id++) {
		size_t n;
		const char *text = mw_names_get(p->source.names, id, &n);
		uint32_t head[] = { id, (uint32_t)n };

		if (sizeof(head) + n > (size_t)(end - to)) {
			mw_writer_frame(&p->out, &f, (size_t)(to - p->out.contents));
			to = p->out.contents;
		}
		memcpy(to, head, sizeof(head));
		memcpy(to + sizeof(head), text, n);
		to += sizeof(head) + n;
	}
	mw_writer_frame(&p->out, &f, (size_t)(to - p->out.contents));
}

static int by_birth(const void *a, const void *b)
{
	const struct mw_pages *x = a, *y = b;

	if (x->birth != y->birth)
		return x->birth < y->birth ? -1 : 1;
	return (x->pages > y->pages) - (x->pages < y->pages);
}

static void write_pages(struct pack *p)
{
	struct mw_pages *large = p->large.p;
	struct mw_trace_frame f = { .type = MW_FRAME_PAGES };
	uint8_t *to = p->out.contents, *end = to + MW_FRAME_MOST;
	uint64_t before = 0;

	if (!p->large.n)
		return;
	qsort(large, p->large.n, sizeof(*large), by_birth);
	for (size_t i = 0; i < p->large.n; i++) {
		/* the last of a block's is the most */
		if (i + 1 < p->large.n && large[i + 1].birth == large[i].birth)
			continue;
		if (end - to < MW_PAGES_BYTES) {
			mw_writer_frame(&p->out, &f, (size_t)(to - p->out.contents));
			f.events = 0;
			before = 0;
			to = p->out.contents;
		}
		to += mw_pages_write(&large[i], before, to);
		before = large[i].birth;
		f.events++;
	}
	mw_writer_frame(&p->out, &f, (size_t)(to - p->out.contents));
}

static void write_end(struct pack *p)
{
	const char *end = p->source.index->end.s;
	struct mw_trace_frame f = { .type = MW_FRAME_END };

	if (!*end)
		return;
	memcpy(p->out.contents, end, strlen(end));
	mw_writer_plain(&p->out, &f, strlen(end));
}

/* --- all of it ------------------------------------------------------------------------- */

/* False, with err: the recording is at fault, or memory ran out. A failed write is left in p->out. */
static bool write_recording(struct pack *p, char *err)
{
	struct mw_packed_event e;
	const struct mw_at *frames;
	size_t n;

	frames = mw_index_frames(p->source.index, &n);
	for (size_t i = 0; i < n; i++)
		p->all += frames[i].events;
	write_meta(p, false);
	write_samples(p);
	mw_columns_use(&p->columns, MW_FRAME_EVENTS_MOST, p->columns_memory);
	begin_columns(p, mw_merge_sums(p->source.merge)->first);
	while (!p->out.failed && mw_source_next(&p->source, &e, err)) {
		if (!note_pages(p, &e.is)) {
			snprintf(err, MW_REPLAY_ERROR, "%s", strerror(ENOMEM));
			break;
		}
		add_event(p, &e);
		tell_progress(p);
	}
	if (*err)
		return false;
	write_columns(p);
	write_names(p);
	write_pages(p);
	write_end(p);
	write_meta(p, true);
	return true;
}

static int pack(struct pack *p, const char *in, const char *out)
{
	char err[MW_REPLAY_ERROR] = "";
	const char *wrong;
	int status = 0;

	if (p->source.packed)
		return mw_complain(in, "it is packed already");
	wrong = mw_writer_open(&p->out, out, p->quick ? LEVEL_QUICK : LEVEL);
	if (wrong)
		return mw_complain(out, wrong);
	if (!write_recording(p, err))
		status = mw_complain(in, err);
	wrong = mw_writer_close(&p->out, out, !status);
	if (wrong)
		status = mw_complain(out, wrong);
	if (!status && p->progress)
		fputs("1.000\n", stderr);
	mw_source_report(&p->source, in);
	mw_array_free(&p->large, sizeof(struct mw_pages));
	return status;
}

int mw_pack(const char *in, const char *out, bool quick, bool progress)
{
	char err[MW_REPLAY_ERROR];
	struct pack *p = mw_mem(sizeof(*p));
	int status;

	if (!p)
		return mw_complain(in, strerror(ENOMEM));
	p->quick = quick;
	p->progress = progress;
	if (!mw_source_open(&p->source, in, err)) {
		status = mw_complain(in, err);
	} else {
		status = pack(p, in, out);
		mw_source_close(&p->source);
	}
	mw_mem_free(p, sizeof(*p));
	return status;
}
