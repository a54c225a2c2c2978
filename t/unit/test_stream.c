/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stream of /live: what each watcher gets, when ticks come, and when a stream ends. */
/* uses: @server */
#include "unit.h"
#include "../../src/shared/sys/clock.h"
#include "../../src/shared/sys/times.h"
#include "../../src/server/history/stream.h"
#include "fake_api.h"

static struct mw_stream s;
static struct mw_mark mark;
static struct mw_watcher one, two;
static unsigned endings; /* made so far */
static uint64_t now; /* ms; of this test's clock */

#define NOTHING "nothing"
#define END "end"
#define ROW(id, total, location) "[" id "," total ",1,0,100,100,1,0,0,0" location ",0]"
#define A ROW("0", "100", ",\"/a.rb:1\",5,\"ruby\"")
#define ROWS(all, rows) "rows " all " [" rows "]"

static void ending(struct mw_buf *b, void *ctx, double t)
{
	assert_ptr_equal(ctx, &s);
	assert_true(t >= 0);
	mw_buf_fmt(b, "event: ending\ndata: %u\n\n", ++endings);
}

static struct mw_api api;
static unsigned work; /* ms of CPU time that a snapshot takes */

static struct mw_snapshot *slow_snapshot(void)
{
	uint64_t end = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) + work * UINT64_C(1000000);

	while (work && mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
	return fake_snapshot();
}

static void begin(void)
{
	const struct mw_stream_inputs inputs = {
		.api = &api, .mark = &mark, .origin_ms = mw_now_ms(), .ending = ending, .ctx = &s
	};

	mw_stream_start(&s, &inputs);
}

static void setup(void)
{
	fake_clear();
	memset(&s, 0, sizeof(s));
	endings = work = 0;
	api = fake_api;
	api.snapshot = slow_snapshot;
	now = 1000000;
	begin();
	fake_row(MW_KIND_RUBY, 100, "/a.rb:1");
}

static void teardown(void)
{
	mw_watcher_free(&s, &one);
	mw_watcher_free(&s, &two);
	mw_stream_end(&s);
	assert_int_equal(fake_out, 0);
}

static void joins(struct mw_watcher *w, const char *first)
{
	struct mw_buf b = { 0 };

	mw_buf_str(&b, first);
	assert_true(mw_watcher_join(&s, w, &b, 8, now));
	assert_null(b.p);
}

static bool polls(struct mw_watcher *w, const char *since)
{
	mw_watcher_free(&s, w);
	return mw_watcher_poll(&s, w, since, now);
}

/* w's next bytes, shortened; in static memory. */
static const char *gets(struct mw_watcher *w)
{
	static char text[4096];
	char t[32], all[8], more[8];
	const char *p, *rows;
	size_t n;
	int used = 0;

	switch (mw_watcher_next(&s, w, now, &p, &n)) {
	case MW_NEXT_LATER:
		return NOTHING;
	case MW_NEXT_END:
		return END;
	case MW_NEXT_BYTES:
		break;
	}
	assert_true(n > 0 && n < sizeof(text));
	memcpy(text, p, n);
	text[n] = 0;
	mw_watcher_took(w, n, now);
	if (sscanf(text, "event: rows\ndata: {\"t\":%31[0-9.],\"all\":%7[a-z],\"more\":%7[a-z],%n", t,
		   all, more, &used) == 3 &&
	    used) {
		char *end = strstr(text, "],\"gone\":[]}\n\n");

		rows = text + used + strlen("\"rows\":[");
		assert_non_null(end);
		*end = 0;
		assert_true(asprintf(&end, "rows %s [%s]", all, rows) > 0);
		strcpy(text, end);
		free(end);
	}
	return text;
}

#define GETS(w, want) assert_string_equal(gets(w), want)

/* The next tick, at its time. */
static void tick(void)
{
	uint64_t due = mw_stream_due(&s, now);

	assert_true(due != UINT64_MAX);
	now = due > now ? due : now;
	assert_true(mw_stream_run(&s, now));
}

EACH(setup, teardown);

TEST(first_bytes_rows_and_the_ending)
{
	joins(&one, "hello");
	GETS(&one, "hello");
	GETS(&one, NOTHING); /* no tick yet */
	assert_int_equal(mw_stream_due(&s, now), now);
	tick();
	GETS(&one, ROWS("true", A));
	GETS(&one, "event: ending\ndata: 1\n\n");
	GETS(&one, NOTHING);
	fake_rows[0].total = 7;
	tick();
	GETS(&one, ROWS("false", ROW("0", "7", "")));
	GETS(&one, "event: ending\ndata: 2\n\n");
	GETS(&one, NOTHING);
	tick(); /* no row changed */
	GETS(&one, "event: ending\ndata: 3\n\n");
	GETS(&one, NOTHING);
}

TEST(in_pieces)
{
	const char *p;
	size_t n, m;

	joins(&one, "abc");
	assert_int_equal(mw_watcher_next(&s, &one, now, &p, &n), MW_NEXT_BYTES);
	assert_int_equal(n, 3);
	mw_watcher_took(&one, 1, now);
	tick();
	tick();
	assert_int_equal(mw_watcher_next(&s, &one, now, &p, &n), MW_NEXT_BYTES);
	assert_memory_equal(p, "bc", n);
	mw_watcher_took(&one, 0, now);
	GETS(&one, "bc");
	assert_int_equal(mw_watcher_next(&s, &one, now, &p, &n), MW_NEXT_BYTES);
	mw_watcher_took(&one, n / 2, now);
	assert_int_equal(mw_watcher_next(&s, &one, now, &p, &m), MW_NEXT_BYTES);
	assert_int_equal(m, n - n / 2);
	mw_watcher_took(&one, n + 1000, now); /* as all there are */
	GETS(&one, "event: ending\ndata: 2\n\n"); /* the present tick's only */
	GETS(&one, NOTHING);
}

TEST(ticks_come_while_somebody_watches)
{
	assert_int_equal(mw_stream_due(&s, now), UINT64_MAX);
	assert_false(mw_stream_run(&s, now + 100000));
	assert_true(mw_stream_idle(&s, now));
	joins(&one, "");
	assert_false(mw_stream_idle(&s, now));
	tick();
	assert_false(mw_stream_run(&s, now));
	assert_false(mw_stream_run(&s, now + 999));
	assert_int_equal(mw_stream_due(&s, now), now + 1000); /* the first tick counts for nothing */
	joins(&two, ""); /* changes nothing about that */
	assert_int_equal(mw_stream_due(&s, now), now + 1000);
	mw_watcher_free(&s, &one);
	assert_false(mw_stream_idle(&s, now));
	assert_int_equal(fake_out, 1);
	mw_watcher_free(&s, &two);
	assert_int_equal(mw_stream_due(&s, now), UINT64_MAX);
	assert_true(mw_stream_idle(&s, now));
	assert_int_equal(fake_out, 0);
	assert_false(mw_stream_run(&s, now + 100000));
}

TEST(slow_ticks_come_less_often)
{
	work = 20;
	joins(&one, "");
	tick();
	assert_int_equal(mw_stream_due(&s, now), now + 1000);
	tick();
	assert_true(mw_stream_due(&s, now) >= now + 4000);
	work = 350;
	tick();
	assert_int_equal(mw_stream_due(&s, now), now + 60000);
	work = 0;
	tick();
	assert_true(mw_stream_due(&s, now) < now + 60000);
}

/* Its first rows are the whole table, not an empty one that makes all of them look new afterwards. */
TEST(the_next_one_after_the_last_left)
{
	for (int i = 0; i < 3; i++) {
		joins(&one, "hello");
		GETS(&one, "hello");
		GETS(&one, NOTHING);
		tick();
		GETS(&one, ROWS("true", A));
		assert_non_null(strstr(gets(&one), "ending"));
		GETS(&one, NOTHING);
		tick();
		assert_non_null(strstr(gets(&one), "ending"));
		mw_watcher_free(&s, &one);
		assert_true(mw_stream_idle(&s, now));
	}
}

TEST(one_whose_stream_was_ended)
{
	joins(&one, "bytes that wait");
	tick();
	mw_watcher_end(&s, &one); /* its thread uses it still */
	assert_true(mw_stream_idle(&s, now));
	GETS(&one, END);
	GETS(&one, END);
}

TEST(no_more_than_so_many)
{
	struct mw_watcher w[MW_WATCHERS_MAX] = { 0 };
	struct mw_buf first = { 0 };

	mw_buf_str(&first, "x");
	for (int i = 0; i < 3; i++)
		joins(&w[i], "");
	assert_false(mw_watcher_join(&s, &one, &first, 3, now));
	assert_int_equal(first.n, 1); /* still ours */
	for (int i = 3; i < MW_WATCHERS_MAX; i++)
		joins(&w[i], "");
	assert_false(mw_watcher_join(&s, &one, &first, 100, now));
	mw_watcher_end(&s, &w[5]);
	joins(&one, "");
	assert_false(mw_watcher_join(&s, &two, &first, 100, now));
	mw_watcher_free(&s, &w[5]); /* was counted once */
	assert_false(mw_watcher_join(&s, &two, &first, 100, now));
	for (int i = 0; i < MW_WATCHERS_MAX; i++)
		mw_watcher_free(&s, &w[i]);
	mw_buf_free(&first);
}

TEST(silence_and_stalling)
{
	const char *p;
	size_t n;

	joins(&one, "");
	tick();
	gets(&one);
	gets(&one);
	GETS(&one, NOTHING);
	assert_int_equal(mw_watcher_due(&one), now + MW_SILENCE_MS);
	now += MW_SILENCE_MS - 1;
	GETS(&one, NOTHING);
	now++;
	GETS(&one, ":\n\n");
	GETS(&one, NOTHING);
	now += 10 * MW_STALL_MS;
	assert_false(mw_watcher_stalled(&one, now)); /* nothing waits for it */
	assert_int_equal(mw_watcher_next(&s, &one, now, &p, &n), MW_NEXT_BYTES);
	assert_false(mw_watcher_stalled(&one, now + MW_STALL_MS));
	assert_true(mw_watcher_stalled(&one, now + MW_STALL_MS + 1));
	mw_watcher_took(&one, 1, now + MW_STALL_MS);
	assert_false(mw_watcher_stalled(&one, now + MW_STALL_MS + 1));
	assert_true(mw_watcher_stalled(&one, now + 2 * MW_STALL_MS + 1));
}

/* The "since" of a tick of this stream; in static memory. */
static const char *since(const char *at)
{
	static char text[64];

	snprintf(text, sizeof(text), "%s:%s", s.start, at);
	return text;
}

TEST(polling)
{
	char next[128];

	assert_false(polls(&one, NULL));
	assert_int_equal(fake_out, 1); /* it ticked */
	GETS(&one, ROWS("true", A));
	GETS(&one, "event: ending\ndata: 1\n\n");
	snprintf(next, sizeof(next), "event: next\ndata: {\"since\":\"%s:1\"}\n\n", s.start);
	GETS(&one, next);
	GETS(&one, END);
	GETS(&one, END);
	mw_watcher_free(&s, &one);
	assert_false(mw_stream_idle(&s, now + MW_RESUME_MS - 1)); /* it may come back */
	fake_rows[0].total = 7;
	tick();
	assert_true(polls(&one, since("1")));
	GETS(&one, ROWS("false", ROW("0", "7", "")));
	GETS(&one, "event: ending\ndata: 2\n\n");
	assert_non_null(strstr(gets(&one), ":2\"}"));
	GETS(&one, END);
	/* nothing is new for another one at that place */
	assert_true(polls(&two, since("2")));
	assert_non_null(strstr(gets(&two), ":2\"}"));
	GETS(&two, END);
	now += MW_RESUME_MS;
	assert_true(mw_stream_idle(&s, now));
	assert_int_equal(fake_out, 0);
	/* of an earlier journal: all of it again, never an empty table */
	assert_false(polls(&one, since("2")));
	GETS(&one, ROWS("true", ROW("0", "7", ",\"/a.rb:1\",5,\"ruby\"")));
	GETS(&one, "event: ending\ndata: 3\n\n");
	assert_non_null(strstr(gets(&one), ":3\"}"));
}

TEST(places_that_are_none)
{
	char other[64];
	const char *const bad[] = { "",   "x",  "0",  "3",   "99",
				    "-1", " 1", "+1", "0x1", "00000000000000000000000009" };

	joins(&two, "");
	tick();
	tick();
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(polls(&one, since(bad[i])));
	snprintf(other, sizeof(other), "%s0:1", s.start);
	assert_false(polls(&one, other));
	assert_false(polls(&one, ""));
	assert_false(polls(&one, s.start));
	assert_true(polls(&one, since("1")));
	mw_watcher_free(&s, &one);
	assert_true(polls(&one, since("2")));
}

/* A body that the server sends late: the journal it was to go on with has gone. */
TEST(a_poll_that_is_read_late)
{
	assert_false(polls(&one, NULL));
	now += MW_RESUME_MS;
	assert_true(mw_stream_idle(&s, now));
	assert_non_null(strstr(gets(&one), ":0\"}")); /* begin anew */
	GETS(&one, END);
	assert_false(polls(&one, NULL));
	GETS(&one, ROWS("true", A));
	now += MW_RESUME_MS;
	assert_true(mw_stream_idle(&s, now));
	joins(&two, "");
	tick();
	GETS(&one, ROWS("true", A)); /* in the next journal from its start */
}

TEST(no_memory)
{
	joins(&one, "");
	fake_no_memory = true;
	tick();
	GETS(&one, NOTHING);
	assert_false(polls(&two, NULL));
	assert_non_null(strstr(gets(&two), ":0\"}"));
	GETS(&two, END);
	fake_no_memory = false;
	tick();
	GETS(&one, ROWS("true", A));
	GETS(&one, "event: ending\ndata: 1\n\n");
}

/* As in a child: its parent's watchers count for nothing there, and have nothing to go on with. */
TEST(begun_again)
{
	struct mw_journal journal;
	struct mw_buf point;
	uint32_t journal_n;

	joins(&one, "");
	joins(&two, "");
	tick();
	gets(&one);
	journal_n = s.journal_n;
	begin();
	assert_int_equal(fake_out, 0); /* the copy of the journal was given back */
	assert_true(mw_stream_idle(&s, now));
	GETS(&one, NOTHING);
	joins(&two, "");
	tick();
	assert_true(s.journal_n > journal_n);
	mw_watcher_end(&s, &one);
	mw_watcher_free(&s, &one);
	assert_false(mw_stream_idle(&s, now)); /* two watches */
	GETS(&two, ROWS("true", A));
	/* forked in the middle of a call: what it was changing is left alone */
	s.busy = 1;
	journal = s.journal;
	point = s.ending;
	begin();
	assert_int_equal(fake_out, 1);
	assert_int_equal(s.busy, 0);
	assert_true(mw_stream_idle(&s, now));
	mw_journal_free(&journal, &fake_api);
	mw_buf_free(&point);
}
