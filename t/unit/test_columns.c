/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events in columns: what is written is read, and whatever else is read is within the format's limits. */
/* uses: src/recording/format/event_columns.c */
#include "unit.h"
#include "../../src/recording/format/event_columns.h"

enum { MANY = MW_FRAME_EVENTS_MOST };
#define REF_MOST ((UINT64_C(1) << MW_REF_BITS) - 1)
#define SIZE_MOST ((UINT64_C(1) << (64 - MW_EVENT_SIZE_SHIFT)) - 1)
#define LOCATION_MOST ((UINT32_C(1) << MW_EVENT_SIZE_SHIFT) - 1)

static struct mw_columns columns;
static uint8_t columns_memory[MW_COLUMNS_BYTES(MANY)];
static uint8_t bytes[MW_FRAME_PACKED_MOST];
static struct mw_trace_event events[MANY];

static uint64_t state = 1;

static uint64_t any(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (state >> 20) % below;
}

/* Small, large, or the most. */
static uint64_t some(uint64_t most)
{
	switch (any(4)) {
	case 0:
		return most;
	case 1:
		return any(3) < most ? any(3) : most;
	default:
		return (any(UINT64_MAX >> 1) << 20 ^ any(UINT64_MAX >> 1)) & most;
	}
}

static struct mw_trace_event random_event(void)
{
	struct mw_trace_event e = { .op = (uint8_t)(1 + any(MW_OPS - 1)), .ticks = some(UINT64_MAX) };

	if (mw_op_has_ref(e.op))
		e.ref = some(REF_MOST);
	if (mw_op_has_size(e.op))
		e.size = some(SIZE_MOST);
	if (mw_op_has_size(e.op) && e.op != MW_OP_OWN)
		e.location = (uint32_t)some(LOCATION_MOST);
	if (mw_op_has_extra(e.op))
		e.extra = some(e.op == MW_OP_REALLOC ? REF_MOST : UINT64_MAX);
	return e;
}

static void same(const struct mw_trace_event *a, const struct mw_trace_event *b)
{
	assert_int_equal(a->op, b->op);
	assert_int_equal(a->ticks, b->ticks);
	assert_int_equal(a->ref, b->ref);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->extra, b->extra);
	assert_int_equal(a->location, b->location);
}

/* A full frame of any numbers fits, and comes back. */
TEST(test_recorded)
{
	struct mw_columns_reader r = { 0 };
	struct mw_trace_event e;
	size_t n;

	mw_columns_use(&columns, MANY, columns_memory);
	mw_columns_begin(&columns, false, 77);
	for (unsigned i = 0; i < MANY; i++) {
		events[i] = random_event();
		assert_true(mw_columns_add(&columns, &events[i]));
	}
	assert_false(mw_columns_add(&columns, &events[0]));
	assert_int_equal(columns.events, MANY);
	n = mw_columns_write(&columns, bytes);
	assert_true(n <= MW_FRAME_PACKED_MOST);
	assert_true(mw_columns_open(&r, false, bytes, n, MANY, 77));
	for (unsigned i = 0; i < MANY; i++) {
		assert_true(mw_columns_next(&r, &e));
		same(&e, &events[i]);
	}
	assert_int_equal(r.left, 0);
	assert_false(mw_columns_next(&r, &e));
}

/* A packed event of a process in which `births` blocks were born so far. */
static struct mw_trace_event packed_event(uint64_t births)
{
	struct mw_trace_event e;

	do {
		e = random_event();
	} while (!births && (e.op == MW_OP_REALLOC || (mw_op_has_ref(e.op) && !mw_op_is_birth(e.op))));
	if (mw_op_is_birth(e.op))
		e.ref = births + 1;
	else if (mw_op_has_ref(e.op))
		e.ref = 1 + any(births);
	if (e.op == MW_OP_REALLOC)
		e.extra = 1 + any(births);
	return e;
}

/* Births go on over frames. */
TEST(test_packed)
{
	struct mw_columns_reader r = { 0 };
	struct mw_trace_event e;
	uint64_t births = 0;

	mw_columns_use(&columns, 1000, columns_memory);
	for (unsigned frame = 0; frame < 3; frame++) {
		mw_columns_begin(&columns, true, frame);
		for (unsigned i = 0; i < 1000; i++) {
			events[i] = packed_event(births);
			births += mw_op_is_birth(events[i].op);
			assert_true(mw_columns_add(&columns, &events[i]));
		}
		assert_true(mw_columns_open(&r, true, bytes, mw_columns_write(&columns, bytes), 1000,
					    frame));
		for (unsigned i = 0; i < 1000; i++) {
			assert_true(mw_columns_next(&r, &e));
			same(&e, &events[i]);
		}
		assert_int_equal(r.births, births);
	}
}

TEST(test_sizes_of_usual_events)
{
	const struct mw_trace_event usual[] = {
		{ .op = MW_OP_MALLOC, .ticks = 1000, .ref = 5, .size = 40, .location = 9 },
		{ .op = MW_OP_FREE, .ticks = 1000, .ref = 5 },
	};

	mw_columns_use(&columns, 2, columns_memory);
	mw_columns_begin(&columns, false, 1000);
	assert_true(mw_columns_add(&columns, &usual[0]));
	assert_true(mw_columns_add(&columns, &usual[1]));
	/* op, time, ref, size, location; op, time, ref */
	assert_int_equal(mw_columns_write(&columns, bytes), MW_COLUMNS * 4 + 5 + 3);
}

/* --- what anybody may write ------------------------------------------------------------- */

static void within_limits(struct mw_columns_reader *r)
{
	struct mw_trace_event e;
	uint32_t before = r->left;

	while (mw_columns_next(r, &e)) {
		assert_int_equal(r->left, --before);
		assert_true(e.op > MW_OP_NONE && e.op < MW_OPS);
		assert_true(e.size <= SIZE_MOST && e.location <= LOCATION_MOST);
		if (r->packed) {
			assert_true(e.ref <= r->births && (!mw_op_has_ref(e.op) || e.ref));
			assert_true(e.op != MW_OP_REALLOC || (e.extra && e.extra < e.ref));
		} else {
			assert_true(e.ref <= REF_MOST && (e.op != MW_OP_REALLOC || e.extra <= REF_MOST));
		}
	}
}

/* Each piece is memory of its own: a checker sees a byte that is read behind it. */
static void read_copy(bool packed, const uint8_t *from, size_t n, uint32_t count)
{
	uint8_t *copy = malloc(n ? n : 1);
	struct mw_columns_reader r = { 0 };

	assert_non_null(copy);
	memcpy(copy, from, n);
	if (mw_columns_open(&r, packed, copy, n, count, 0))
		within_limits(&r);
	free(copy);
}

TEST(test_cut_and_broken)
{
	uint8_t kept[4096];
	size_t n;

	for (unsigned packed = 0; packed < 2; packed++) {
		mw_columns_use(&columns, 50, columns_memory);
		mw_columns_begin(&columns, packed, 0);
		for (unsigned i = 0; i < 50; i++) {
			events[i] = packed ? packed_event(columns.births) : random_event();
			mw_columns_add(&columns, &events[i]);
		}
		n = mw_columns_write(&columns, kept);
		assert_true(n <= sizeof(kept));
		for (size_t i = 0; i <= n; i++)
			read_copy(packed, kept, i, 50);
		for (uint32_t i = 0; i < 100; i++)
			read_copy(packed, kept, n, i);
		for (unsigned i = 0; i < 20000; i++) {
			size_t at = any(n);
			uint8_t was = kept[at];

			kept[at] = (uint8_t)any(256);
			read_copy(packed, kept, n, 50);
			kept[at] = was;
		}
	}
}
