/* SPDX-License-Identifier: GPL-2.0-or-later */
/* info.c - the facts of a recording, as JSON. See commands.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "read_json.h"
#include "recording/format/event_columns.h"
#include "index.h"

enum { USUAL_TICKS = 1000000 };

struct sums {
	uint64_t frames, events, lost, stored, raw;
	uint64_t first, last; /* ticks */
	uint64_t streams;
	bool packed, any;
};

/* The earliest and the latest event of a frame. */
static void times(struct sums *s, const struct mw_index *x, const struct mw_at *a, uint8_t *room)
{
	/* a packed frame names births of frames before it: as many as there can be */
	struct mw_columns_reader r = { .births = UINT32_MAX };
	struct mw_trace_event e;
	const uint8_t *p = mw_index_read(x, a, room);

	if (!p || !mw_columns_open(&r, s->packed, p, a->raw, a->events, a->ticks))
		return;
	while (mw_columns_next(&r, &e)) {
		if (!s->any || e.ticks < s->first)
			s->first = e.ticks;
		if (!s->any || e.ticks > s->last)
			s->last = e.ticks;
		s->any = true;
	}
}

static void sum_frames(struct sums *s, const struct mw_index *x, uint8_t *room)
{
	size_t n;
	const struct mw_at *frames = mw_index_frames(x, &n);

	for (size_t i = 0; i < n; i++) {
		const struct mw_at *a = &frames[i];

		s->frames++;
		s->raw += a->raw;
		if (a->type != (s->packed ? MW_FRAME_PACKED : MW_FRAME_EVENTS))
			continue;
		s->events += a->events;
		s->lost += a->lost;
		if (a->stream >= s->streams)
			s->streams = (uint64_t)a->stream + 1;
		/* no event is earlier than a stream's first frame, or later than any frame's end */
		if (!a->sequence || s->packed || i + 64 > n || a->ticks >= s->last)
			times(s, x, a, room);
	}
}

static void print_number(const char *key, uint64_t v)
{
	printf(",\"%s\":%" PRIu64, key, v);
}

int mw_info(const char *in)
{
	char err[MW_REPLAY_ERROR];
	struct mw_index x;
	struct sums s = { 0 };
	uint8_t *room = mw_mem(MW_FRAME_PACKED_MOST);
	uint64_t per;
	size_t n;

	if (!room)
		return mw_complain(in, strerror(ENOMEM));
	if (!mw_index_open(&x, in, err)) {
		mw_mem_free(room, MW_FRAME_PACKED_MOST);
		return mw_complain(in, err);
	}
	s.packed = mw_json_get(x.meta.s, "packed", &n) != NULL;
	if (!mw_json_get_u64(x.meta.s, "ticks_per_second", &per) || !per)
		per = USUAL_TICKS;
	sum_frames(&s, &x, room);
	printf("{\"meta\":%s,\"end\":%s", *x.meta.s ? x.meta.s : "null", *x.end.s ? x.end.s : "null");
	printf(",\"packed\":%s,\"cut\":%s", s.packed ? "true" : "false", x.cut ? "true" : "false");
	print_number("bytes", x.bytes);
	print_number("bytes_cut", x.cut);
	print_number("bytes_broken", x.broken);
	print_number("bytes_expanded", s.raw);
	print_number("frames", s.frames);
	print_number("streams", s.streams);
	print_number("samples", x.samples.n);
	print_number("events", s.events);
	print_number("lost", s.lost);
	print_number("first", s.first);
	print_number("last", s.last);
	printf(",\"seconds\":%.6f", s.any ? (double)(s.last - s.first) / (double)per : 0);
	printf(",\"bytes_an_event\":%.3f}\n", s.events ? (double)x.bytes / (double)s.events : 0);
	mw_index_close(&x);
	mw_mem_free(room, MW_FRAME_PACKED_MOST);
	return mw_finish_output();
}
