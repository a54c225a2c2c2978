/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "befores.h"
#include "refs.h"

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct mw_before *)a)->address, y = ((const struct mw_before *)b)->address;

	return (x > y) - (x < y);
}

bool mw_befores_take(struct mw_befores *b, struct mw_streams *s, struct mw_stream *t, struct mw_names *names)
{
	for (; !t->ended && t->next.op == MW_OP_LIVE; mw_stream_step(s, t)) {
		struct mw_before is = { t->next.extra, t->next.size, (uint32_t)t->next.ref, 0 };

		is.location = mw_names_number(names, t->next.location, t->frame->offset);
		if (!mw_array_more(&b->all, sizeof(is)))
			return false;
		((struct mw_before *)b->all.p)[b->all.n++] = is;
		if (t->frame->offset > b->last)
			b->last = t->frame->offset;
	}
	return !s->no_memory;
}

/* --- who was born meanwhile ------------------------------------------------------------ */

/*
 * The first event of each ref: 1 + (ticks since the first << 1 | is it a birth); 0: none. Of two streams the
 * earlier one counts; at the same ticks an end comes first, for then the block was from before.
 */
struct firsts {
	struct mw_refs refs, seen; /* seen: the number of the last stream that had the ref, from 1 on */
	uint64_t first;
};

static bool note_first(struct firsts *f, uint64_t ref, uint64_t ticks, bool born, uint32_t stream)
{
	uint32_t *is = mw_refs_at(&f->refs, ref), *seen = mw_refs_at(&f->seen, ref);
	uint64_t since = ticks > f->first ? ticks - f->first : 0;
	uint32_t word;

	if (!is || !seen)
		return false;
	if (*seen == stream)
		return true;
	*seen = stream;
	word = 1 + ((since < UINT32_MAX / 4 ? (uint32_t)since : UINT32_MAX / 4) << 1 | born);
	if (!*is || word < *is)
		*is = word;
	return true;
}

static bool note_event(struct firsts *f, const struct mw_trace_event *e, uint32_t stream)
{
	if (!mw_op_has_ref(e->op) || e->op == MW_OP_LIVE)
		return true;
	if (e->op == MW_OP_REALLOC && !note_first(f, e->extra, e->ticks, false, stream))
		return false;
	return note_first(f, e->ref, e->ticks, mw_op_is_birth(e->op), stream);
}

static bool read_meanwhile(struct firsts *f, const struct mw_index *x, uint64_t until)
{
	struct mw_streams s;
	struct mw_stream *t;
	bool good = true;

	if (!mw_streams_open(&s, x))
		return false;
	t = s.streams.p;
	f->first = UINT64_MAX;
	for (size_t i = 0; i < s.streams.n; i++)
		if (!t[i].ended && t[i].next.ticks < f->first)
			f->first = t[i].next.ticks;
	for (size_t i = 0; i < s.streams.n && good; i++)
		for (; good && !t[i].ended && t[i].next.ticks <= until; mw_stream_step(&s, &t[i]))
			good = note_event(f, &t[i].next, (uint32_t)i + 1);
	good = good && !s.no_memory;
	mw_streams_close(&s);
	return good;
}

/*
 * Ticks at which they were listed, or later. The recorder looks at the clock for each frame of a thread: the next one
 * has them. Much later will do: a block that lived before has an end before its ref has a birth.
 */
static uint64_t listed(const struct mw_befores *b, const struct mw_index *x)
{
	size_t n;
	const struct mw_at *a = mw_index_frames(x, &n);

	for (size_t i = 0; i < n; i++)
		if (a[i].type == MW_FRAME_EVENTS && a[i].stream && a[i].offset > b->last)
			return a[i].ticks;
	return UINT64_MAX;
}

bool mw_befores_settle(struct mw_befores *b, const struct mw_index *x)
{
	struct firsts *f = b->all.n ? mw_mem(sizeof(*f)) : NULL;
	struct mw_before *all = b->all.p;
	size_t kept = 0;
	bool good;

	if (!b->all.n)
		return true;
	good = f && read_meanwhile(f, x, listed(b, x));
	for (size_t i = 0; good && i < b->all.n; i++) {
		uint32_t *is = mw_refs_at(&f->refs, all[i].ref);

		good = is != NULL;
		if (good && !(*is && (*is - 1) & 1))
			all[kept++] = all[i];
	}
	if (f) {
		mw_refs_free(&f->refs);
		mw_refs_free(&f->seen);
		mw_mem_free(f, sizeof(*f));
	}
	if (!good)
		return false;
	b->all.n = kept;
	if (kept)
		qsort(all, kept, sizeof(*all), by_address);
	return true;
}

void mw_befores_free(struct mw_befores *b)
{
	mw_array_free(&b->all, sizeof(struct mw_before));
}
