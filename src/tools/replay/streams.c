/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "streams.h"

static int by_stream(const void *a, const void *b)
{
	const struct mw_at *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool keep_frames(struct mw_streams *s, const struct mw_index *x)
{
	size_t n;
	const struct mw_at *frames = mw_index_frames(x, &n);

	for (size_t i = 0; i < n; i++) {
		if (frames[i].type != MW_FRAME_EVENTS)
			continue;
		if (!mw_array_more(&s->frames, sizeof(*frames)))
			return false;
		((struct mw_at *)s->frames.p)[s->frames.n++] = frames[i];
	}
	if (s->frames.n)
		qsort(s->frames.p, s->frames.n, sizeof(*frames), by_stream);
	return true;
}

bool mw_streams_open(struct mw_streams *s, const struct mw_index *x)
{
	const struct mw_at *frames;
	struct mw_stream *streams;

	*s = (struct mw_streams){ .index = x };
	if (!keep_frames(s, x))
		goto fail;
	frames = s->frames.p;
	for (size_t i = 0; i < s->frames.n; i++) {
		if (!i || frames[i].stream != frames[i - 1].stream) {
			if (!mw_array_more(&s->streams, sizeof(*streams)))
				goto fail;
			streams = s->streams.p;
			streams[s->streams.n++] =
				(struct mw_stream){ .frames = &frames[i], .thread = MW_NO_THREAD };
		}
		streams = s->streams.p;
		streams[s->streams.n - 1].n++;
	}
	streams = s->streams.p;
	for (size_t i = 0; i < s->streams.n; i++)
		mw_stream_step(s, &streams[i]);
	if (!s->no_memory)
		return true;
fail:
	mw_streams_close(s);
	return false;
}

void mw_streams_close(struct mw_streams *s)
{
	struct mw_stream *streams = s->streams.p;

	for (size_t i = 0; i < s->streams.n; i++)
		mw_mem_free(streams[i].room, streams[i].room_bytes);
	mw_array_free(&s->streams, sizeof(*streams));
	mw_array_free(&s->frames, sizeof(struct mw_at));
}

/* Opens the stream's next frame that can be read. False: there is none. */
static bool open_frame(struct mw_streams *s, struct mw_stream *t)
{
	while (t->at < t->n) {
		const struct mw_at *a = &t->frames[t->at++];
		uint32_t expected = t->frame ? t->frame->sequence + 1 : 0;
		const uint8_t *contents;

		/* a sequence that was there already: somebody put files together */
		if (t->frame && a->sequence < expected)
			continue;
		s->missing += a->sequence - expected;
		s->lost += a->lost;
		t->frame = a;
		if (t->room_bytes < a->raw) {
			mw_mem_free(t->room, t->room_bytes);
			t->room = mw_mem(a->raw);
			t->room_bytes = t->room ? a->raw : 0;
		}
		if (t->room_bytes < a->raw) {
			s->no_memory = true;
			return false;
		}
		contents = mw_index_read(s->index, a, t->room);
		if (contents && mw_columns_open(&t->columns, false, contents, a->raw, a->events, a->ticks))
			return true;
		t->columns.left = 0;
		s->lost += a->events;
		s->missing++;
	}
	return false;
}

void mw_stream_step(struct mw_streams *s, struct mw_stream *t)
{
	/* behind its end a thread has no calls */
	if (t->next.op == MW_OP_THREAD_END && !t->ended) {
		t->thread = MW_NO_THREAD;
		t->tid = 0;
	}
	for (;;) {
		if (!t->columns.left && !open_frame(s, t))
			break;
		if (!t->columns.left)
			continue;
		if (!mw_columns_next(&t->columns, &t->next)) {
			s->lost += t->columns.left;
			s->missing++;
			t->columns.left = 0;
			continue;
		}
		if (t->next.op != MW_OP_THREAD)
			return;
		/* said again of the same thread, it is the same */
		if (t->tid != t->next.extra)
			t->thread = MW_NO_THREAD;
		t->tid = t->next.extra;
	}
	t->ended = true;
	mw_mem_free(t->room, t->room_bytes);
	t->room = NULL;
	t->room_bytes = 0;
}
