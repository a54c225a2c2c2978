/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "overrun.h"

#include <string.h>

#include "tracker/base/quick.h"
#include "tracker/table/adopted.h"
#include "tracker/table/caller_cache.h"
#include "tracker/table/faults.h"
#include "tracker/table/record_of.h"
#include "tracker/stacks/stacks.h"
#include "shared/sys/log.h"
#include "dismiss.h"
#include "sampled.h"
#include "tracker/table/sampled_blocks.h"

struct mw_strays mw_strays;

/* --- the search ------------------------------------------------------------------ */

/*
 * A search of all records takes a nanosecond for each: milliseconds if millions live.
 * An app may free many blocks that we never saw (a plugin with an allocator of its
 * own), or overrun many of its own blocks. Three rules limit the cost:
 *
 *  - The likely records come first. These are near the index in the tail, since a
 *    stray NUL changes its low byte only, and near the last one found, since a loop
 *    takes the same again.
 *  - The first AT_WILL records may be searched at any time. That is a tenth of a
 *    second's work over the whole life of the process.
 *  - After that, searches rest: REST_FOUND times as long as one that found a record,
 *    REST_VAIN times as long as one in vain. So they cost under 12 % and under 1 % of
 *    the time. A block freed in a rest counts as double or unknown. If it was live, the
 *    table keeps it as live.
 */
enum { AT_WILL = 1 << 26, REST_FOUND = 8, REST_VAIN = 128, NEAR = 256 };

static uint64_t looked_at;     /* records, so far; relaxed */
static uint64_t rest_until;    /* ns; relaxed */
static uint32_t found_last;    /* index; relaxed */

/*
 * As mw_record_search, but skips records of blocks too large for p's room. A block
 * that was freed past us leaves a stale record, and its address may now be another
 * block's.
 */
static uint32_t look_between(const void *p, size_t usable, uint64_t from, uint64_t to)
{
	uint32_t i;

	while ((i = mw_record_search(p, from, to))) {
		uint64_t size = mw_size_decode(mw_get(&mw_record_at(i)->size));

		if (size <= MW_SIZE_PADDED_MAX && (mw_padded(size) <= usable || usable == MW_ROOM_UNKNOWN))
			break;
		from = (uint64_t)i + 1;
	}
	return i;
}

static uint32_t look_near(const void *p, size_t usable, uint32_t i)
{
	return look_between(p, usable, i & ~(NEAR - 1u), (uint64_t)(i | (NEAR - 1u)) + 1);
}

/* All records, from the start of the chunk that the tail names, then those before. */
static uint32_t look_everywhere(const void *p, size_t usable, uint32_t index)
{
	uint64_t end = mw_records_end(), start = mw_quick_ns(), took;
	uint32_t from = index < end ? index >> MW_CHUNK_SHIFT << MW_CHUNK_SHIFT : 0;
	uint32_t i;

	if (mw_get(&looked_at) >= AT_WILL && start < mw_get(&rest_until))
		return 0;
	i = look_between(p, usable, from, end);
	if (!i)
		i = look_between(p, usable, 0, from);
	if (mw_add(&looked_at, end) + end >= AT_WILL) {
		took = mw_quick_coarse() ? end : mw_quick_ns() - start; /* a record takes a nanosecond or so */
		mw_set(&rest_until, start + took + took * (i ? REST_FOUND : REST_VAIN));
	}
	return i;
}

/* The index of p's record. 0: it has none, or this is a rest. */
static uint32_t find_record(const void *p, size_t usable, uint32_t index)
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
 * True if p's tail is whole, but elsewhere. An allocator's own function, unknown to us,
 * may have made the block larger in place: then its room has grown. Or the room wasn't known yet:
 * then the tail is right behind the app's bytes.
 */
static bool tail_elsewhere(const void *p, size_t usable, uint32_t ref, uint64_t size)
{
	enum { FAR = 1 << 20 };
	uint64_t from = (size + 7) & ~(uint64_t)7, to = usable - MW_TAIL;

	if (mw_tail_read(p, mw_padded(size)) == ref && mw_tail_checks(p, mw_padded(size)))
		return true;
	if (to > from + FAR)
		to = from + FAR;
	for (uint64_t at = from; at < to; at += 8)
		if (mw_tail_read(p, at + MW_TAIL) == ref && mw_tail_checks(p, at + MW_TAIL))
			return true;
	return false;
}

bool mw_tail_leads(const void *p, size_t usable)
{
	struct mw_record *r;

	return mw_ref_leads(mw_tail_read(p, usable), p, &r) &&
	       mw_size_decode(mw_get(&r->size)) + MW_TAIL <= usable;
}

bool mw_hide_once(const void *p, struct mw_dismissed *d)
{
	d->where = mw_get(&d->record->where);
	d->size = mw_get(&d->record->size);
	d->generation = mw_get(&d->record->generation);
	do {
		if (!mw_record_is(d->where, p))
			return false;
	} while (!__atomic_compare_exchange_n(&d->record->where, &d->where,
					      (uint64_t)d->ref << 32 | MW_FREE, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED)); /* its code bit may be set just now */
	mw_hide_sample(p, d);
	return true;
}

/* The last block here may have left a tail. So the record decides, if there is one. */
bool mw_tailless(const void *p, size_t usable)
{
	struct mw_record *r;

	if (mw_ref_of(p, usable, &r))
		return usable - mw_size_decode(mw_get(&r->size)) < MW_TAIL;
	/* less room than was asked for would be wrong: a block that nothing leads to may have no tail */
	return mw_side_index_get(p, usable) >= MW_REF_END || mw_get(&mw_side_index_full);
}

bool mw_hide_sampled(const void *p, struct mw_dismissed *d)
{
	struct mw_sampled_block b;

	d->overrun = false;
	if (!mw_noticed_has(p) || !mw_sampled_find(p, &b) || !mw_ref_leads(b.ref, p, &d->record))
		return false;
	d->ref = b.ref;
	return mw_hide_once(p, d);
}

/* Do blocks live that nothing leads to? */
static bool some_unknown(void)
{
	return mw_unseen || mw_get(&mw_side_index_full);
}

/* The record of a block whose tail was written over; 0: none was found. */
static uint32_t find_overrun(const void *p, size_t usable, uint32_t ref, bool checks)
{
	uint32_t i = mw_ref_index(ref);

	if (!some_unknown())
		return find_record(p, usable, i);
	/* most are from before the start: only a likely one is looked for, where it is likely */
	if (!checks && (i < MW_BATCH || i >= mw_records_end()))
		return 0;
	return look_near(p, usable, i);
}

/* Blocks from before the start, or of libraries that don't call the hooks, look like any of these. */
static void count_stray(bool checks, uint32_t ref)
{
	if (some_unknown())
		return;
	/* a freed block's tail is still so, unless the allocator has written there */
	if (checks && mw_ref_index(ref) >= MW_BATCH && mw_ref_index(ref) < mw_records_end())
		mw_add(&mw_strays.double_frees, 1);
	else
		mw_add(&mw_strays.unknown_frees, 1);
}

/* Code without a record is freed. */
static void forget_adopted(const void *p, size_t usable)
{
	if (!mw_adopted_remove(p))
		return;
	if (usable == MW_ROOM_UNKNOWN)
		mw_caller_forget_all();
	else
		mw_caller_forget((uintptr_t)p, usable);
	mw_stacks_forget((uintptr_t)p);
}

/*
 * Had a block of `size` bytes this room? Some blocks' frees may have gone past the tracker (mw_unseen): such an address
 * may be another block's by now, which has no tail. glibc gives up to 31 bytes more than was asked for, others a quarter.
 */
static bool is_its_room(size_t usable, uint64_t size)
{
	size_t asked = mw_padded(size);

	if (!some_unknown())
		return usable >= size + MW_TAIL;
	return usable >= asked && usable - asked <= 31 + (mw_real_glibc ? 0 : asked / 4);
}

/*
 * The record of a block whose tail isn't right; 0: it has none, or none was found. By the side index first, since a tail
 * that says "not counted" may be the last block's. But what the index has may be the last one's, too, if p has a tail.
 */
static uint32_t find_stray(const void *p, size_t usable, uint32_t ref, bool checks)
{
	uint32_t beside = mw_real_classes ? mw_side_index_get(p, usable) : 0, i;
	struct mw_record *r;

	if (beside && beside < MW_REF_END && mw_ref_leads(beside, p, &r))
		return mw_ref_index(beside);
	if (checks && ref == MW_TAIL_NONE)
		return 0;
	if (beside >= MW_REF_END)
		return checks ? look_near(p, usable, mw_ref_index(ref)) : 0;
	i = find_overrun(p, usable, ref, checks);
	if (!i)
		count_stray(checks, ref);
	return i;
}

/* Was p's tail written over? A block without one may have got more room by an allocator's own function. */
static bool is_overrun(const void *p, size_t usable, uint32_t ref, uint64_t size)
{
	if (mw_real_classes && mw_goes_beside(size) && mw_side_index_get(p, usable) == ref)
		return false;
	/* with less room than it has, the room isn't known (classes.h) */
	return is_its_room(usable, size) && !tail_elsewhere(p, usable, ref, size);
}

bool mw_hide_stray(const void *p, size_t usable, struct mw_dismissed *d)
{
	uint32_t i;

	if (mw_unseen && mw_noticed_has(p)) {
		forget_adopted(p, usable);
		if (mw_hide_sampled(p, d))
			return true;
	}
	if (mw_get(&mw_sampled))
		return false;
	i = find_stray(p, usable, d->ref, mw_tail_checks(p, usable));
	if (!i)
		return false;
	d->ref = mw_ref(i);
	d->record = mw_record_at(i);
	if (!mw_hide_once(p, d))
		return false;
	d->overrun = is_overrun(p, usable, d->ref, mw_size_decode(d->size));
	return true;
}

bool mw_hide_changing(const void *p, struct mw_dismissed *d)
{
	int life = __atomic_load_n(&mw_life, __ATOMIC_ACQUIRE);
	size_t usable;

	if (life != MW_CHANGING && life != MW_ON) /* it may be over just now */
		return false;
	usable = mw_usable(p);
	d->overrun = false;
	d->ref = mw_tail_read(p, usable);
	d->record = mw_record_guess(d->ref);
	if (mw_tail_checks(p, usable) && mw_record_is(mw_record_guess_where(d->record), p))
		return mw_hide_once(p, d);
	return mw_hide_stray(p, usable, d);
}

/* --- the line ------------------------------------------------------------------------ */

static void put_location(struct mw_line *l, uint32_t id)
{
	const struct mw_callsite *c = mw_callsite(id);
	const struct mw_path *path = c->path;

	switch (__atomic_load_n(&c->kind, __ATOMIC_ACQUIRE)) {
	case MW_CS_RUBY:
		mw_line_end_of(l, path->text, path->len);
		mw_line_text(l, ":");
		mw_line_u64(l, c->at, 10);
		break;
	case MW_CS_NATIVE: /* without its symbol: a look-up takes a lock */
		if (path) {
			mw_line_end_of(l, path->text, path->len);
			mw_line_text(l, "(+0x");
			mw_line_u64(l, c->at, 16);
			mw_line_text(l, ") ");
		}
		mw_line_text(l, "[0x");
		mw_line_u64(l, mw_callsite_addr(path, c->at), 16);
		mw_line_text(l, "]");
		break;
	case MW_CS_PENDING:
		mw_line_text(l, mw_callsite_special(MW_CS_UNKNOWN));
		break;
	default:
		mw_line_text(l, mw_callsite_special(id));
	}
}

static bool log_stray(uint32_t id, uint64_t size, const char *what, const uint64_t *number)
{
	struct mw_line l = { .n = 0 };

	mw_line_text(&l, "a block of ");
	mw_line_u64(&l, size, 10);
	mw_line_text(&l, size == 1 ? " byte from " : " bytes from ");
	put_location(&l, id);
	mw_line_text(&l, " ");
	mw_line_text(&l, what);
	if (number) {
		mw_line_text(&l, " ");
		mw_line_u64(&l, *number, 10);
	}
	return mw_log_try(&l);
}

void mw_stray_say(uint32_t *said, uint64_t count, uint32_t id, uint64_t size, const char *what,
		  const uint64_t *number)
{
	if (!mw_get(said) && (count & (count - 1)) == 0 &&
	    !__atomic_exchange_n(said, 1, __ATOMIC_ACQ_REL) && !log_stray(id, size, what, number))
		mw_set(said, 0);
}

void mw_overrun_note(uint32_t id, uint64_t size)
{
	struct mw_overruns *o;

	id = mw_callsite_real(id);
	mw_add(&mw_strays.overruns, 1);
	o = mw_overruns_add(id, size);
	if (o)
		mw_stray_say(&o->said, mw_get(&o->count), id, size, "was written past its end", NULL);
}
