/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "read_json.h"
#include "births.h"
#include "packed.h"
#include "large_pages.h"

enum { THREADS_MOST = 1 << 20 };

struct mw_packed {
	struct mw_index index;
	struct mw_packed_sums sums;
	struct mw_columns_reader columns;
	struct mw_pages_reader pages;
	struct mw_pages page; /* of the next large block whose pages are known; its birth is 0: read one */
	size_t next_events, next_pages; /* frames of the index that weren't looked at yet */
	uint32_t sequence; /* of the next frame of events */
	uint32_t thread;
	uint64_t ticks; /* of the event before */
	uint64_t read; /* events */
	struct mw_lives lives; /* slots */
	struct mw_array free_slots;
	uint32_t slots; /* how many were given out */
	bool failed;
	uint8_t room[MW_FRAME_PACKED_MOST], pages_room[MW_FRAME_MOST];
};

static bool read_sums(struct mw_packed *p, char *err)
{
	const char *meta = p->index.meta.s, *packed;
	size_t n;
	uint64_t threads;
	struct mw_packed_sums *s = &p->sums;

	packed = mw_json_get(meta, "packed", &n);
	if (!packed) {
		snprintf(err, MW_REPLAY_ERROR, "it isn't packed: pack it first");
		return false;
	}
	if (mw_json_get_u64(packed, "ticks_per_second", &s->ticks_per_second) && s->ticks_per_second &&
	    mw_json_get_u64(packed, "first", &s->first) && mw_json_get_u64(packed, "last", &s->last) &&
	    mw_json_get_u64(packed, "events", &s->events) &&
	    mw_json_get_u64(packed, "births", &s->births) &&
	    mw_json_get_u64(packed, "threads", &threads) && threads <= THREADS_MOST &&
	    mw_json_get_u64(packed, "live_most", &s->live_most) && s->births <= UINT32_MAX) {
		s->threads = (uint32_t)threads;
		return true;
	}
	snprintf(err, MW_REPLAY_ERROR, "its first frame lacks a sum");
	return false;
}

struct mw_packed *mw_packed_open(const char *path, char *err)
{
	struct mw_packed *p = mw_mem(sizeof(*p));

	if (!p) {
		snprintf(err, MW_REPLAY_ERROR, "%s", strerror(ENOMEM));
		return NULL;
	}
	if (!mw_index_open(&p->index, path, err)) {
		mw_mem_free(p, sizeof(*p));
		return NULL;
	}
	if (!read_sums(p, err)) {
		mw_packed_close(p);
		return NULL;
	}
	return p;
}

void mw_packed_close(struct mw_packed *p)
{
	mw_lives_free(&p->lives);
	mw_array_free(&p->free_slots, sizeof(uint32_t));
	mw_index_close(&p->index);
	mw_mem_free(p, sizeof(*p));
}

/* --- frames ---------------------------------------------------------------------------- */

/* The next frame of a type, from *at on. NULL: there is none. */
static const struct mw_at *next_frame(struct mw_packed *p, size_t *at, unsigned type)
{
	size_t n;
	const struct mw_at *frames = mw_index_frames(&p->index, &n);

	while (*at < n)
		if (frames[(*at)++].type == type)
			return &frames[*at - 1];
	return NULL;
}

static bool fail_packed(struct mw_packed *p, char *err, const char *problem)
{
	p->failed = true;
	snprintf(err, MW_REPLAY_ERROR, "after %llu events: %s", (unsigned long long)p->read, problem);
	return false;
}

/* Opens the next frame of events. False: none, or an error. */
static bool open_events(struct mw_packed *p, char *err)
{
	const struct mw_at *a = next_frame(p, &p->next_events, MW_FRAME_PACKED);
	const uint8_t *contents;

	if (!a) {
		if (p->read < p->sums.events)
			return fail_packed(p, err, "the rest is missing");
		return false;
	}
	/* births are numbered over all frames */
	if (a->sequence != p->sequence++)
		return fail_packed(p, err, "a frame is missing");
	contents = mw_index_read(&p->index, a, p->room);
	if (!contents || !mw_columns_open(&p->columns, true, contents, a->raw, a->events, a->ticks))
		return fail_packed(p, err, "a frame is broken");
	return true;
}

static uint64_t pages_of(struct mw_packed *p, uint64_t birth)
{
	while (p->page.birth < birth) {
		const struct mw_at *a;
		const uint8_t *contents;

		if (mw_pages_next(&p->pages, &p->page))
			continue;
		a = next_frame(p, &p->next_pages, MW_FRAME_PAGES);
		if (!a) {
			p->page.birth = UINT64_MAX;
			break;
		}
		contents = mw_index_read(&p->index, a, p->pages_room);
		if (contents)
			p->pages = (struct mw_pages_reader){ 0, contents, contents + a->raw };
	}
	return p->page.birth == birth ? p->page.pages : UINT64_MAX;
}

/* --- slots ----------------------------------------------------------------------------- */

static bool give_slot(struct mw_packed *p, struct mw_packed_event *e)
{
	uint32_t *spare = p->free_slots.p;

	e->slot = p->free_slots.n ? spare[--p->free_slots.n] : p->slots;
	if (!mw_lives_add(&p->lives, (uint32_t)e->is.ref, e->slot))
		return false;
	p->slots += e->slot == p->slots;
	return true;
}

static bool take_slot(struct mw_packed *p, uint32_t slot)
{
	if (!mw_array_more(&p->free_slots, sizeof(uint32_t)))
		return false;
	((uint32_t *)p->free_slots.p)[p->free_slots.n++] = slot;
	return true;
}

/* Lives and slots as the event has them. NULL: it's right, else what is wrong. */
static const char *settle(struct mw_packed *p, struct mw_packed_event *e)
{
	static const char unknown[] = "a block that doesn't live is named";
	static const char no_memory[] = "no memory";
	unsigned op = e->is.op;

	if (mw_op_is_birth(op)) {
		if (e->is.ref > p->sums.births)
			return "more blocks than its first frame says";
		if (e->is.size >= MW_TRACE_LARGE)
			e->pages = pages_of(p, e->is.ref);
		if (op != MW_OP_REALLOC)
			return !give_slot(p, e) ? no_memory :
			       p->lives.n > p->sums.live_most ?
						  "more blocks live than its first frame says" :
						  NULL;
		e->from = e->is.extra;
		if (!mw_lives_take(&p->lives, (uint32_t)e->from, &e->slot))
			return unknown;
		return mw_lives_add(&p->lives, (uint32_t)e->is.ref, e->slot) ? NULL : no_memory;
	}
	if (op == MW_OP_RESIDENT)
		return mw_lives_get(&p->lives, (uint32_t)e->is.ref, &e->slot) ? NULL : unknown;
	if (!mw_op_has_ref(op))
		return NULL;
	if (!mw_lives_take(&p->lives, (uint32_t)e->is.ref, &e->slot))
		return unknown;
	return take_slot(p, e->slot) ? NULL : no_memory;
}

bool mw_packed_next(struct mw_packed *p, struct mw_packed_event *e, char *err)
{
	const char *wrong;

	*err = '\0';
	*e = (struct mw_packed_event){ .pages = UINT64_MAX };
	do {
		if (p->failed)
			return false;
		while (!p->columns.left)
			if (!open_events(p, err))
				return false;
		if (!mw_columns_next(&p->columns, &e->is))
			return fail_packed(p, err, "a frame is broken");
		if (e->is.op == MW_OP_THREAD) {
			if (e->is.extra >= p->sums.threads)
				return fail_packed(p, err, "more threads than its first frame says");
			p->thread = (uint32_t)e->is.extra;
		}
	} while (e->is.op == MW_OP_THREAD);
	if (e->is.ticks < p->ticks)
		return fail_packed(p, err, "time goes back");
	p->ticks = e->is.ticks;
	e->thread = p->thread;
	wrong = settle(p, e);
	if (wrong)
		return fail_packed(p, err, wrong);
	p->read++;
	return true;
}

/* --- what else is in it ---------------------------------------------------------------- */

const struct mw_trace_sample *mw_packed_samples(struct mw_packed *p, size_t *n)
{
	*n = p->index.samples.n;
	return p->index.samples.p;
}

const char *mw_packed_meta(struct mw_packed *p)
{
	return p->index.meta.s;
}

const struct mw_packed_sums *mw_packed_sums(struct mw_packed *p)
{
	return &p->sums;
}

void mw_packed_progress(struct mw_packed *p, uint64_t *at, uint64_t *of)
{
	*at = p->read;
	*of = p->sums.events;
}

const struct mw_index *mw_packed_index(struct mw_packed *p)
{
	return &p->index;
}
