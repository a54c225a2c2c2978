/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "overrun.h"

#include <string.h>

#include "base/clock.h"
#include "base/sys.h"
#include "table/overruns.h"
#include "base/log.h"
#include "track.h"

struct mw_strays mw_strays;

/* --- the search ------------------------------------------------------------------ */

/*
 * Looking at all records takes a nanosecond each, milliseconds where millions
 * live. An app may free many blocks that we never saw (a plugin with an allocator
 * of its own), or overrun many of its own. So that it never pays much:
 *
 *  - first come the few records that it mostly is: those beside the index in
 *    the tail, of which a stray NUL changes the low byte only, and those
 *    beside the one that was found last, since a loop takes the same again;
 *  - AT_WILL records, a tenth of a second's work over the whole life of the
 *    process, may be looked at whenever it helps;
 *  - after that, a search that took so long is followed by a rest of
 *    REST_FOUND times that, and one in vain by REST_VAIN times: they cost
 *    under 12 % and under 1 % of the time. What is freed in a rest counts as
 *    double or unknown, and if it was a live block, it stays one in the table.
 */
enum { AT_WILL = 1 << 26, REST_FOUND = 8, REST_VAIN = 128, NEAR = 256 };

static uint64_t looked_at;     /* records, so far; relaxed */
static uint64_t rest_until;    /* ns; relaxed */
static uint32_t found_last;    /* index; relaxed */

/*
 * As mw_record_search, but only a record of a block that p's room has room
 * for: one that was freed past us leaves its record, and then the address is
 * another block's.
 */
static uint32_t look(const void *p, size_t usable, uint64_t from, uint64_t to)
{
	uint32_t i;

	while ((i = mw_record_search(p, from, to))) {
		uint64_t size = mw_size_decode(mw_get(&mw_record_at(i)->size));

		if (size <= MW_SIZE_PADDED_MAX && mw_padded(size) <= usable)
			break;
		from = (uint64_t)i + 1;
	}
	return i;
}

static uint32_t look_near(const void *p, size_t usable, uint32_t i)
{
	return look(p, usable, i & ~(NEAR - 1u), (uint64_t)(i | (NEAR - 1u)) + 1);
}

/* All records, those of the chunk that the tail names first. */
static uint32_t look_everywhere(const void *p, size_t usable, uint32_t index)
{
	uint64_t end = mw_records_end(), start = mw_now_ns(), now;
	uint32_t from = index < end ? index >> MW_CHUNK_SHIFT << MW_CHUNK_SHIFT : 0;
	uint32_t i;

	if (mw_get(&looked_at) >= AT_WILL && start < mw_get(&rest_until))
		return 0;
	i = look(p, usable, from, end);
	if (!i)
		i = look(p, usable, 0, from);
	if (mw_add(&looked_at, end) + end >= AT_WILL) {
		now = mw_now_ns();
		mw_set(&rest_until, now + (now - start) * (i ? REST_FOUND : REST_VAIN));
	}
	return i;
}

/* The index of p's record, 0: it has none, or may not be looked for now. */
static uint32_t find(const void *p, size_t usable, uint32_t index)
{
	uint32_t i = look_near(p, usable, index);

	if (!i)
		i = look_near(p, usable, mw_get(&found_last));
	if (!i)
		i = look_everywhere(p, usable, index);
	if (i)
		mw_set(&found_last, i);
	return i;
}

/*
 * Is p's tail whole, but elsewhere? A block that was made larger in place by a
 * function of its allocator that we don't know has more room than it had.
 */
static bool tail_elsewhere(const void *p, size_t usable, uint32_t ref, uint64_t size)
{
	enum { FAR = 1 << 20 };
	uint64_t from = (size + 7) & ~(uint64_t)7, to = usable - MW_TAIL;

	if (to > from + FAR)
		to = from + FAR;
	for (uint64_t at = from; at < to; at += 8)
		if (mw_tail_read(p, at + MW_TAIL) == ref && mw_tail_checks(p, at + MW_TAIL))
			return true;
	return false;
}

/* Is there a record, and is it p's? */
static bool leads(uint32_t ref, const void *p, struct mw_record **r)
{
	*r = mw_record_guess(ref);
	return ref && mw_record_is(mw_record_guess_where(*r), p);
}

/* What leads to p's record lies beside the heap: true, and hides it, or it is not counted. */
static bool beside(const void *p, struct mw_dismissed *d)
{
	uint32_t ref = mw_side_index_get(p);

	if (ref < MW_REF_END && !leads(ref, p, &d->record))
		return false;
	d->ref = ref;
	if (ref < MW_REF_END)
		mw_hide_record(d);
	return true;
}

/* Where a tail would be, the last block's may still be: so the record decides, if there is one. */
bool mw_tailless(const void *p, size_t usable)
{
	uint32_t ref = mw_side_index_get(p);
	struct mw_record *r;

	if (leads(mw_tail_read(p, usable), p, &r) || (ref < MW_REF_END && leads(ref, p, &r)))
		return usable - mw_size_decode(mw_get(&r->size)) < MW_TAIL;
	return ref >= MW_REF_END;
}

bool mw_hide_stray(const void *p, size_t usable, struct mw_dismissed *d)
{
	bool checks = mw_tail_checks(p, usable);
	uint32_t i;

	/* first: a tail that says "not counted" may be the last block's */
	if (mw_real_classes && beside(p, d))
		return d->ref < MW_REF_END;
	if (checks && d->ref == MW_TAIL_NONE)
		return false;
	i = find(p, usable, mw_ref_index(d->ref));
	if (!i) {
		/* what a freed block's tail says, unless the allocator has written there */
		if (checks && mw_ref_index(d->ref) >= MW_BATCH && mw_ref_index(d->ref) < mw_records_end())
			mw_add(&mw_strays.double_frees, 1);
		else
			mw_add(&mw_strays.unknown_frees, 1);
		return false;
	}
	d->ref = mw_ref(i);
	d->record = mw_record_at(i);
	mw_hide_record(d);
	d->overrun = !tail_elsewhere(p, usable, d->ref, mw_size_decode(d->size));
	return true;
}

/* --- the line ------------------------------------------------------------------------ */

static void put_place(struct mw_line *l, const struct mw_callsite *c)
{
	const struct mw_path *path = c->path;

	switch (__atomic_load_n(&c->kind, __ATOMIC_ACQUIRE)) {
	case MW_CS_RUBY:
		mw_line_end_of(l, path->text, path->len);
		mw_line_text(l, ":");
		mw_line_u64(l, c->at, 10);
		break;
	case MW_CS_NATIVE: /* without its symbol: finding that takes a lock */
		if (path) {
			mw_line_end_of(l, path->text, path->len);
			mw_line_text(l, "(+0x");
			mw_line_u64(l, c->at, 16);
			mw_line_text(l, ") ");
		}
		mw_line_text(l, "[0x");
		mw_line_u64(l, c->addr, 16);
		mw_line_text(l, "]");
		break;
	case MW_CS_PENDING:
		mw_line_text(l, mw_callsite_special(MW_CS_UNKNOWN));
		break;
	default:
		mw_line_text(l, mw_callsite_special(c->id));
	}
}

static bool tell(uint32_t id, uint64_t size)
{
	struct mw_line l = { .n = 0 };

	mw_line_text(&l, "a block of ");
	mw_line_u64(&l, size, 10);
	mw_line_text(&l, size == 1 ? " byte from " : " bytes from ");
	put_place(&l, mw_callsite(id));
	mw_line_text(&l, " was written past its end");
	return mw_log_try(&l);
}

void mw_overrun_note(uint32_t id, uint64_t size)
{
	struct mw_overruns *o;
	uint64_t count;

	id = mw_callsite_real(id);
	mw_add(&mw_strays.overruns, 1);
	o = mw_overruns_add(id, size);
	if (!o || mw_get(&o->said))
		return;
	/* what can't be written now is tried again at the 2nd, 4th, 8th, ... */
	count = mw_get(&o->count);
	if ((count & (count - 1)) == 0 && !__atomic_exchange_n(&o->said, 1, __ATOMIC_ACQ_REL) &&
	    !tell(id, size))
		mw_set(&o->said, 0);
}
