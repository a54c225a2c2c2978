/* SPDX-License-Identifier: GPL-2.0-or-later */
/* writer.c - events from the tracker's words to frames. See writer.h. */
#include "writer.h"

uint64_t mw_writer_tick(struct mw_writer *w)
{
	const struct mw_record_source *s = w->job->source;

	w->ticks = s->counter();
	s->clock((uint32_t)w->ticks);
	return w->ticks;
}

bool mw_writer_frame(struct mw_writer *w, struct mw_trace_frame *f, const void *contents, size_t bytes)
{
	size_t n = mw_frame_write(&w->codec, f, contents, bytes, w->frame);

	if (!mw_record_file_add(&w->file, w->frame, n))
		return false;
	__atomic_store_n(&w->job->state->bytes, w->file.bytes, __ATOMIC_RELAXED);
	return true;
}

static void begin_frame(struct mw_writer *w)
{
	w->frame_ticks = w->ticks;
	mw_columns_begin(&w->columns, false, w->ticks);
}

/* The columns so far, as a frame of that stream. */
static bool flush(struct mw_writer *w, uint32_t stream, uint32_t lost)
{
	uint32_t place = stream < MW_RECORD_STREAMS ? stream : MW_RECORD_STREAMS - 1;
	struct mw_trace_frame f = { .type = MW_FRAME_EVENTS,
				    .stream = place,
				    .events = w->columns.events,
				    .lost = lost,
				    .ticks = w->frame_ticks };
	bool ok;

	if (!f.events && !lost)
		return true;
	f.sequence = w->sequences[place]++;
	w->events += f.events;
	w->lost += lost;
	__atomic_store_n(&w->job->state->events, w->events, __ATOMIC_RELAXED);
	ok = mw_writer_frame(w, &f, w->contents, mw_columns_write(&w->columns, w->contents));
	begin_frame(w); /* no byte is written twice */
	return ok;
}

static void see_location(struct mw_writer *w, uint32_t id)
{
	uint8_t bit = (uint8_t)(1u << id % 8);

	if (!(w->seen[id / 8] & bit)) {
		w->seen[id / 8] |= bit;
		w->unnamed = true;
	}
}

/* Reads the event at `words`, of which n are left; returns how many it has. */
static size_t read_event(const struct mw_writer *w, const uint64_t *words, size_t n, uint64_t now,
			 struct mw_trace_event *e)
{
	uint32_t behind = (uint32_t)now - (uint32_t)(words[0] >> 32);
	size_t used = 1;

	*e = (struct mw_trace_event){ .op = words[0] & ((1u << MW_OP_BITS) - 1),
				      .ref = (uint32_t)words[0] >> MW_OP_BITS };
	/* a processor's counter may be a little ahead of this one's */
	e->ticks = behind > UINT32_MAX - UINT32_MAX / 16 || behind > now ? now : now - behind;
	if (e->ticks < w->begin_ticks)
		e->ticks = w->begin_ticks;
	if (mw_op_has_size(e->op) && used < n) {
		e->size = words[used] >> MW_EVENT_SIZE_SHIFT;
		e->location = (uint32_t)words[used++] & ((1u << MW_EVENT_SIZE_SHIFT) - 1);
	}
	if (mw_op_has_extra(e->op) && used < n)
		e->extra = words[used++];
	return used;
}

bool mw_writer_piece(struct mw_writer *w, const struct mw_record_piece *piece)
{
	uint64_t now = mw_writer_tick(w);
	uint32_t lost = piece->lost;
	struct mw_trace_event e;

	begin_frame(w);
	for (size_t i = 0; i < piece->n;) {
		i += read_event(w, piece->words + i, piece->n - i, now, &e);
		if (e.op == MW_OP_NONE)
			continue;
		if (e.location)
			see_location(w, e.location % MW_ID_END);
		if (mw_columns_add(&w->columns, &e))
			continue;
		if (!flush(w, piece->stream, lost))
			return false;
		lost = 0;
		begin_frame(w);
		(void)mw_columns_add(&w->columns, &e);
	}
	return flush(w, piece->stream, lost);
}

bool mw_writer_lost(struct mw_writer *w, uint64_t dropped)
{
	uint64_t rest = dropped > w->lost ? dropped - w->lost : 0;

	begin_frame(w);
	return flush(w, 0, rest < UINT32_MAX ? (uint32_t)rest : UINT32_MAX);
}

bool mw_writer_own(struct mw_writer *w, const struct mw_trace_event *e)
{
	if (e->location)
		see_location(w, e->location % MW_ID_END);
	if (mw_columns_add(&w->columns, e))
		return true;
	if (!mw_writer_own_flush(w))
		return false;
	return mw_columns_add(&w->columns, e);
}

bool mw_writer_own_flush(struct mw_writer *w)
{
	bool ok = flush(w, 0, 0);

	mw_writer_tick(w);
	begin_frame(w);
	return ok;
}
