/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams of a made-up process, merged. Its threads allocate, hand on, move and free blocks at random, and a ref is
 * used again at once. A birth's size is a number of its own, so that a life can be told from the one before.
 */
/* uses: src/tools/replay/merge.c src/tools/replay/befores.c src/tools/replay/births.c src/tools/replay/streams.c src/tools/replay/refs.c src/tools/replay/names.c src/tools/replay/index.c src/tools/replay/read_json.c src/tools/replay/mem.c src/recording/format/event_columns.c src/recording/format/frame.c */
#include <unistd.h>

#include "unit.h"
#include "../../src/tools/replay/merge.h"

enum { THREADS = 5, CALLS = 20000, BLOCKS = 300, PID = 1000 };

/* One call, as it was. */
struct call {
	struct mw_trace_event e;
	unsigned thread;
	uint64_t begins, ends; /* sizes of blocks, as their names; 0: none */
};

static struct call calls[CALLS];
static size_t n_calls;
enum { EVENTS = 1 << 14 }; /* of a frame */
static struct mw_columns columns;
static uint8_t columns_memory[MW_COLUMNS_BYTES(EVENTS)];
static uint8_t contents[MW_FRAME_MOST], room[MW_FRAME_MOST + 4096];
static char path[] = "/tmp/mwrap-merge-XXXXXX";
static uint64_t state;

static uint64_t any(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (state >> 33) % below;
}

/* --- a process ----------------------------------------------------------------------- */

/* Free refs are used again, the last one first, or never. slice: of so many calls one is another thread's. */
static void live(uint64_t (*ticks_of)(size_t call), unsigned slice, bool again)
{
	uint64_t refs[BLOCKS], sizes[BLOCKS], spare[BLOCKS];
	size_t n = 0, n_spare = 0;
	uint64_t size = 0;
	unsigned thread = 0;

	for (; n_spare < BLOCKS; n_spare++)
		spare[n_spare] = 7 * (BLOCKS - n_spare);
	for (n_calls = 0; n_calls < CALLS; n_calls++) {
		struct call *c = &calls[n_calls];
		size_t i = n ? any(n) : 0;

		/* each thread's first call is a birth, by which it is told from the others */
		if (n_calls < THREADS)
			thread = (unsigned)n_calls;
		else if (!any(slice))
			thread = (unsigned)any(THREADS);
		*c = (struct call){ .thread = thread };
		c->e.ticks = ticks_of(n_calls);
		if (n_calls >= THREADS && (n == BLOCKS || (n && any(20) < 9))) {
			c->e.op = MW_OP_FREE;
			c->e.ref = refs[i];
			c->ends = sizes[i];
			spare[n_spare++] = again ? refs[i] : 7 * BLOCKS + n_calls;
			refs[i] = refs[--n];
			sizes[i] = sizes[n];
			continue;
		}
		c->e.op = MW_OP_MALLOC;
		if (n && n_calls >= THREADS && any(8) == 0) {
			c->e.op = MW_OP_REALLOC;
			c->e.extra = refs[i];
			c->ends = sizes[i];
			if (n_spare && (!again || any(2))) {
				refs[i] = spare[n_spare - 1];
				spare[n_spare - 1] = again ? c->e.extra : 7 * BLOCKS + n_calls;
			}
		} else {
			i = n++;
			refs[i] = spare[--n_spare];
		}
		sizes[i] = ++size;
		c->e.ref = refs[i];
		c->e.size = c->begins = size;
	}
}

static uint64_t fine(size_t call)
{
	return 1000 + call;
}

static uint64_t coarse(size_t call)
{
	return call / 100 * 10000;
}

/* Each thread has a clock of its own; they differ by up to 0.8 microseconds. */
static uint64_t skewed(size_t call)
{
	return 100000 + call * 50 + calls[call].thread * 200;
}

/* --- its file ------------------------------------------------------------------------ */

static void put(FILE *f, struct mw_trace_frame frame, size_t n)
{
	static const struct mw_codec none;
	size_t whole = mw_frame_write(&none, &frame, contents, n, room);

	assert_int_equal(fwrite(room, 1, whole, f), whole);
}

static void put_meta(FILE *f, uint64_t ticks_per_second)
{
	int n = sprintf((char *)contents, "{\"pid\":%d,\"clock\":\"%s\",\"ticks_per_second\":%llu}", PID,
			ticks_per_second > 1000000 ? "fine" : "coarse",
			(unsigned long long)ticks_per_second);

	put(f, (struct mw_trace_frame){ .type = MW_FRAME_META }, (size_t)n);
}

/* Frames of any length; of `missing` in a hundred nothing is left. */
static void put_stream(FILE *f, unsigned thread, unsigned missing)
{
	struct mw_trace_frame frame = { .type = MW_FRAME_EVENTS, .stream = thread };
	struct mw_trace_event id = { .op = MW_OP_THREAD, .extra = PID + thread };
	size_t left = 0;

	mw_columns_use(&columns, EVENTS, columns_memory);
	for (size_t i = 0; i <= n_calls; i++) {
		if (columns.events && (i == n_calls || !left)) {
			frame.events = columns.events;
			if (any(100) >= missing)
				put(f, frame, mw_columns_write(&columns, contents));
			frame.sequence++;
			columns.events = 0;
		}
		if (i == n_calls || calls[i].thread != thread)
			continue;
		if (!columns.events) {
			left = 1 + any(500);
			frame.ticks = id.ticks = calls[i].e.ticks;
			mw_columns_begin(&columns, false, frame.ticks);
			assert_true(mw_columns_add(&columns, &id));
		}
		assert_true(mw_columns_add(&columns, &calls[i].e));
		left--;
	}
}

static void write_file(unsigned missing, uint64_t ticks_per_second)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(MW_TRACE_MAGIC, 1, 8, f), 8);
	put_meta(f, ticks_per_second);
	/* the last thread's is the first stream: the order of streams isn't that of threads */
	for (unsigned t = THREADS; t-- > 0;)
		put_stream(f, t, missing);
	assert_int_equal(fclose(f), 0);
}

/* --- merged -------------------------------------------------------------------------- */

struct merged {
	struct mw_merge_sums sums;
	size_t wrong; /* ends of another life of the same ref than in truth */
	size_t misplaced; /* events that aren't where they were in truth */
};

static size_t next_of(unsigned thread, size_t at)
{
	while (at < n_calls && calls[at].thread != thread)
		at++;
	return at;
}

/* Checks any merge; with all events there, also that each is told once, in its thread's order. */
static struct merged merge(bool whole)
{
	static uint64_t sizes[CALLS * 2 + 1]; /* by birth; 0: it doesn't live */
	size_t at[THREADS], n = 0;
	int numbers[THREADS];
	struct mw_index x;
	struct mw_names *names;
	struct mw_merge *m;
	struct mw_packed_event e;
	struct merged result = { 0 };
	char err[MW_REPLAY_ERROR];
	uint64_t births = 0, ticks = 0;

	memset(sizes, 0, sizeof(sizes));
	for (unsigned t = 0; t < THREADS; t++) {
		at[t] = next_of(t, 0);
		numbers[t] = -1;
	}
	assert_true(mw_index_open(&x, path, err));
	names = mw_names_open(&x);
	assert_non_null(names);
	m = mw_merge_open(&x, names, err);
	assert_non_null(m);
	for (; mw_merge_next(m, &e, err); n++) {
		uint64_t ended = e.is.op == MW_OP_REALLOC ? e.from :
				 e.is.op == MW_OP_FREE    ? e.is.ref :
							    0;
		const struct call *c;
		size_t which;

		assert_true(e.is.ticks >= ticks);
		ticks = e.is.ticks;
		assert_true(!ended || (ended <= births && sizes[ended]));
		if (mw_op_is_birth(e.is.op)) {
			assert_int_equal(e.is.ref, ++births);
			sizes[births] = e.is.size;
		}
		if (whole) {
			unsigned t = 0;

			while (t < THREADS && numbers[t] != (int)e.thread)
				t++;
			if (t == THREADS) {
				t = (unsigned)e.is.size - 1;
				numbers[t] = (int)e.thread;
			}
			assert_true((t == 0) == (e.thread == 0) && at[t] < n_calls);
			which = at[t];
			c = &calls[which];
			at[t] = next_of(t, which + 1);
			assert_int_equal(c->e.op, e.is.op);
			assert_int_equal(c->e.size, e.is.size);
			result.misplaced += which != n;
			result.wrong += ended && c->ends != sizes[ended];
		}
		if (ended)
			sizes[ended] = 0;
	}
	assert_string_equal(err, "");
	result.sums = *mw_merge_sums(m);
	assert_int_equal(result.sums.events, n);
	assert_int_equal(result.sums.births, births);
	mw_merge_close(m);
	mw_names_close(names);
	mw_index_close(&x);
	return result;
}

static void nothing_lost(const struct merged *r)
{
	assert_int_equal(r->sums.events, CALLS);
	assert_int_equal(r->sums.threads, THREADS);
	assert_int_equal(r->sums.lost + r->sums.missing, 0);
}

static struct merged one(uint64_t seed, uint64_t (*ticks_of)(size_t call), unsigned slice, bool again,
			 unsigned missing)
{
	state = seed;
	live(ticks_of, slice, again);
	write_file(missing, ticks_of == skewed ? 1000000000 : 1000000);
	/* with frames missing, or another life for a ref's, a call may be left out or added */
	return merge(!missing && (!again || ticks_of == fine));
}

/* The order is that of ticks, to the letter. */
TEST(test_fine_clock)
{
	for (uint64_t seed = 1; seed < 10; seed++) {
		struct merged r = one(seed, fine, 20, true, 0);

		nothing_lost(&r);
		assert_int_equal(r.misplaced + r.wrong, 0);
		assert_int_equal(r.sums.repaired + r.sums.unknown + r.sums.ended, 0);
	}
}

/* Where ticks say nothing, or are wrong, the lives of blocks do: each call ends the block that it ended. */
TEST(test_lives_repair_the_order)
{
	size_t repaired = 0;

	for (uint64_t seed = 1; seed < 10; seed++)
		for (int clock = 0; clock < 2; clock++) {
			struct merged r = one(seed, clock ? coarse : skewed, 20, false, 0);

			nothing_lost(&r);
			assert_int_equal(r.wrong + r.sums.unknown + r.sums.ended, 0);
			repaired += r.sums.repaired;
		}
	assert_true(repaired > 1000);
}

/*
 * A ref that is used again by a third thread between two ticks can be taken for the life before. The more seldom
 * threads take turns, the more seldom is that: as with Ruby's lock, it's next to never.
 */
TEST(test_coarse_clock)
{
	const unsigned slices[] = { 20, 500, 5000 }, most[] = { CALLS / 20, CALLS / 1000, 1 };

	for (unsigned i = 0; i < 3; i++)
		for (uint64_t seed = 1; seed < 5; seed++) {
			struct merged r = one(seed, coarse, slices[i], true, 0);

			assert_int_equal(r.sums.lost + r.sums.missing, 0);
			assert_in_range(r.sums.unknown + r.sums.ended, 0, most[i]);
		}
}

/* The rest of a damaged recording is played all the same. */
TEST(test_missing_frames)
{
	for (unsigned missing = 10; missing <= 100; missing += 15) {
		struct merged r = one(missing, fine, 100, true, missing);

		assert_true(r.sums.events < CALLS);
		assert_true(r.sums.missing > 0 || r.sums.events == 0);
		assert_true(r.sums.unknown > 0 || r.sums.events == 0);
	}
}

static void begin(void)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
}

static void end(void)
{
	unlink(path);
}

ALL(begin, end);
