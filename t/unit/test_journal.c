/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal: what a watcher gets after each tick. A model of a client takes
 * the events in and must end with what the table has, whatever came between.
 */
/* uses: src/report/journal.c src/report/event.c src/report/mark.c src/report/buf.c src/report/escape.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../src/report/journal.h"
#include "fake_api.h"

static struct mw_journal j;
static struct mw_mark mark;
static struct mw_cursor c;
static struct mw_buf out;

static int setup(void **state)
{
	fake_clear(state);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mw_cursor_free(&c);
	mw_journal_free(&j, &fake_api);
	mw_mark_clear(&mark);
	mw_buf_free(&out);
	memset(&j, 0, sizeof(j));
	memset(&mark, 0, sizeof(mark));
	return fake_out; /* all snapshots came back */
}

static bool event_of(struct mw_cursor *cursor)
{
	bool any;

	out.n = 0;
	any = mw_journal_event(&j, cursor, &out, 1.5);
	assert_false(out.failed);
	assert_int_equal(any, out.n > 0);
	mw_buf_add(&out, "", 1);
	return any;
}

static void tick(void)
{
	assert_int_equal(mw_journal_tick(&j, &fake_api, &mark), 0);
}

/* The next event is this one. */
static void gets(struct mw_cursor *cursor, const char *want)
{
	assert_true(event_of(cursor));
	assert_string_equal(out.p, want);
}

static void gets_nothing(struct mw_cursor *cursor)
{
	bool any = event_of(cursor);

	if (any)
		print_error("got %s\n", out.p);
	assert_false(any);
}

static struct mw_row *add_row(uint32_t id, int64_t growth, const char *location)
{
	struct mw_row *r = fake_row(MW_KIND_RUBY, 100, location);

	r->id = id;
	r->growth = growth;
	return r;
}

#define EVENT(all, more, rows, gone) \
	"{\"t\":1.500,\"all\":" all ",\"more\":" more ",\"rows\":[" rows "],\"gone\":[" gone "]}"

static void first_tick_then_changes_only(void **state)
{
	struct mw_row *a, *b;

	(void)state;
	gets_nothing(&c); /* no tick yet */
	a = add_row(3, 5, "/a.rb:1");
	b = add_row(1, -7, "/b.rb:22");
	b->frees = 4;
	b->life_sum = 9;
	b->life_max = 6;
	tick();
	gets(&c, EVENT("true", "false",
		       "[3,100,1,0,5,100,1,0,0,0,\"/a.rb:1\",5,\"ruby\"],"
		       "[1,100,1,4,-7,100,1,9,6,0,\"/b.rb:22\",5,\"ruby\"]",
		       ""));
	gets_nothing(&c);
	tick();
	gets_nothing(&c); /* nothing changed */
	a->total = 150;
	tick();
	gets(&c, EVENT("false", "false", "[3,150,1,0,5,100,1,0,0,0]", ""));
	gets_nothing(&c);
	add_row(2, 0, "/c.rb:3");
	tick();
	gets(&c, EVENT("false", "false", "[2,100,1,0,0,100,1,0,0,0,\"/c.rb:3\",5,\"ruby\"]", ""));
	gets_nothing(&c);
}

static void an_empty_table(void **state)
{
	(void)state;
	tick();
	gets(&c, EVENT("true", "false", "", ""));
	gets_nothing(&c);
}

static void every_number_counts(void **state)
{
	struct mw_row *a = add_row(0, 1, "/a.rb:1");
	uint64_t *const numbers[] = {
		&a->total, &a->allocations, &a->frees,    &a->live_bytes,
		&a->live,  &a->life_sum,    &a->life_max, (uint64_t *)(void *)&a->growth
	};

	(void)state;
	tick();
	assert_true(event_of(&c));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		*numbers[i] += 3;
		tick();
		assert_true(event_of(&c));
		gets_nothing(&c);
	}
	a->overruns++; /* doesn't travel */
	tick();
	gets_nothing(&c);
}

static void rows_that_go(void **state)
{
	(void)state;
	add_row(5, 1, "/a.rb:1");
	add_row(6, 2, "/b.rb:1");
	add_row(7, 3, "/c.rb:1");
	tick();
	assert_true(event_of(&c));
	fake_rows[0] = fake_rows[2];
	fake_n = 1;
	tick();
	gets(&c, EVENT("false", "false", "", "5,6"));
	gets_nothing(&c);
	tick();
	gets_nothing(&c);
	fake_n = 0;
	tick();
	gets(&c, EVENT("false", "false", "", "7"));
	/* and comes again, in full */
	add_row(7, 3, "/c.rb:1");
	tick();
	gets(&c, EVENT("false", "false", "[7,100,1,0,3,100,1,0,0,0,\"/c.rb:1\",5,\"ruby\"]", ""));
}

static void an_id_used_again(void **state)
{
	(void)state;
	add_row(5, 1, "/old.rb:1");
	tick();
	assert_true(event_of(&c));
	fake_n = 0;
	add_row(5, 1, "/new.rb:1"); /* the same length and numbers */
	tick();
	gets(&c, EVENT("false", "true", "", "5"));
	gets(&c, EVENT("false", "false", "[5,100,1,0,1,100,1,0,0,0,\"/new.rb:1\",7,\"ruby\"]", ""));
	gets_nothing(&c);
	/* gone for a tick that this watcher didn't see, then another's */
	fake_n = 0;
	tick();
	add_row(5, 1, "/third.rb:1");
	tick();
	gets(&c, EVENT("false", "true", "", "5"));
	gets(&c, EVENT("false", "false", "[5,100,1,0,1,100,1,0,0,0,\"/third.rb:1\",9,\"ruby\"]", ""));
	gets_nothing(&c);
}

static void who_missed_ticks_gets_each_row_once(void **state)
{
	struct mw_row *a = add_row(1, 1, "/a.rb:1");
	struct mw_cursor late = { 0 };

	(void)state;
	add_row(2, 2, "/b.rb:1");
	tick();
	assert_true(event_of(&c));
	for (int i = 0; i < 50; i++) {
		a->total++;
		tick();
	}
	gets(&c, EVENT("false", "false", "[1,150,1,0,1,100,1,0,0,0]", ""));
	gets_nothing(&c);
	/* one who comes late gets all; the other isn't affected */
	assert_true(event_of(&late));
	assert_non_null(strstr(out.p, "\"all\":true"));
	assert_non_null(strstr(out.p, "/b.rb:1"));
	gets_nothing(&late);
	gets_nothing(&c);
	mw_cursor_free(&late);
}

static void the_mark(void **state)
{
	struct mw_row *a = add_row(1, 1, "/a.rb:1");
	struct mw_snapshot *s;

	(void)state;
	tick();
	assert_true(event_of(&c));
	a->live_bytes = 300;
	s = fake_api.snapshot();
	assert_int_equal(mw_mark_set(&mark, s, 12.5), 0);
	fake_api.snapshot_free(s);
	a->live_bytes = 250;
	add_row(9, 0, "/new.rb:1"); /* wasn't there */
	tick();
	gets(&c, EVENT("false", "false",
		       "[1,100,1,0,1,250,1,0,0,-50],[9,100,1,0,0,100,1,0,0,100,\"/new.rb:1\",7,\"ruby\"]",
		       ""));
	/* the same id, another location: all of it is growth */
	fake_rows[1].location = "/NEW.rb:1";
	tick();
	assert_true(event_of(&c));
	gets(&c, EVENT("false", "false", "[9,100,1,0,0,100,1,0,0,100,\"/NEW.rb:1\",7,\"ruby\"]", ""));
	fake_n = 0;
	add_row(1, 1, "/other.rb:1");
	tick();
	assert_true(event_of(&c));
	gets(&c, EVENT("false", "false", "[1,100,1,0,1,100,1,0,0,100,\"/other.rb:1\",9,\"ruby\"]", ""));
	mw_mark_clear(&mark);
	tick();
	gets(&c, EVENT("false", "false", "[1,100,1,0,1,100,1,0,0,0]", ""));
	gets_nothing(&c);
}

static void growth_at_the_edges(void **state)
{
	struct mw_row *a = add_row(0, INT64_MIN, "/a.rb:1");
	struct mw_snapshot *s;

	(void)state;
	a->live_bytes = UINT64_MAX;
	s = fake_api.snapshot();
	assert_int_equal(mw_mark_set(&mark, s, 1), 0);
	fake_api.snapshot_free(s);
	a->live_bytes = 0;
	assert_int_equal(mw_mark_growth(&mark, a, mw_location_hash(a)), INT64_MIN);
	tick();
	assert_true(event_of(&c));
	assert_non_null(strstr(out.p, ",-9223372036854775808,0,"));
	assert_non_null(strstr(out.p, ",-9223372036854775808,\"/a"));
}

static void names_of_any_bytes(void **state)
{
	(void)state;
	fake_row(MW_KIND_RUBY, 1, "/\xff\xc3\xbc\xf0\x9f\x98\x80\"<\n.rb:1")->id = 0;
	fake_row(MW_KIND_NATIVE, 1, "/l.so(f+0x1) [0x7f]")->id = 1;
	fake_row(MW_KIND_SPECIAL, 1, "(other)")->id = 2;
	fake_row(MW_KIND_RUBY, 1, "/huge.rb:1")->id = MW_ID_END; /* left out */
	fake_row(MW_KIND_RUBY, 1, "/none.rb:1")->id = MW_ID_NONE;
	tick();
	assert_true(event_of(&c));
	/* / U+FFFD ü, a surrogate pair, " < newline .rb */
	assert_non_null(strstr(out.p, "\\n.rb:1\",11,\"ruby\"]"));
	assert_non_null(strstr(out.p, "\"/\xef\xbf\xbd\xc3\xbc\xf0\x9f\x98\x80\\\""));
	assert_non_null(strstr(out.p, "\"/l.so(f+0x1) [0x7f]\",5,\"native\"]"));
	assert_non_null(strstr(out.p, "\"(other)\",7,\"special\"]"));
	assert_null(strstr(out.p, "huge"));
	assert_null(strstr(out.p, "none"));
	assert_null(strchr(out.p, '\n'));
}

static void no_memory_leaves_it_as_it_was(void **state)
{
	(void)state;
	add_row(1, 1, "/a.rb:1");
	tick();
	fake_no_memory = true;
	assert_int_equal(mw_journal_tick(&j, &fake_api, &mark), -1);
	fake_no_memory = false;
	assert_true(event_of(&c));
	assert_non_null(strstr(out.p, "/a.rb:1"));
}

static void freed_and_begun_again(void **state)
{
	uint32_t was;

	(void)state;
	add_row(1, 1, "/a.rb:1");
	tick();
	tick();
	was = j.tick;
	mw_journal_free(&j, &fake_api);
	assert_int_equal(fake_out, 0);
	tick();
	assert_true(j.tick > was);
	assert_true(event_of(&c));
	assert_non_null(strstr(out.p, "/a.rb:1"));
}

/* --- many rows, many ticks ------------------------------------------------------------ */

enum { IDS = 9000 };

static struct mw_row many[IDS];
static char names[IDS][16];
static size_t many_n;

static struct mw_snapshot *many_snapshot(void)
{
	struct mw_snapshot *s = malloc(sizeof(*s));

	s->n = many_n;
	/* with the texts behind them, since names[] changes */
	s->rows = malloc(sizeof(many) + sizeof(names));
	memcpy(s->rows, many, sizeof(many));
	memcpy(s->rows + IDS, names, sizeof(names));
	for (size_t i = 0; i < s->n; i++)
		s->rows[i].location = (char *)(s->rows + IDS) + (many[i].location - names[0]);
	fake_out++;
	return s;
}

static struct mw_api many_api(void)
{
	struct mw_api api = fake_api;

	api.snapshot = many_snapshot;
	return api;
}

static struct mw_row many_row(uint32_t id, unsigned version)
{
	snprintf(names[id], sizeof(names[id]), "/f%u.rb:%u", id, version);
	return (struct mw_row){ .id = id,
				.total = 1,
				.growth = (int64_t)(id * 7919u % IDS),
				.location = names[id],
				.location_len = (uint32_t)strlen(names[id]),
				.kind = MW_KIND_RUBY };
}

/* What a client knows: by id, the total and the version in the name; 0: nothing. */
static struct {
	unsigned long total, version;
} known[IDS];

/* Takes out.p in as the page does. */
static size_t apply(void)
{
	const char *p = strstr(out.p, "\"rows\":["), *gone = strstr(out.p, "\"gone\":[");
	size_t n = 0;

	assert_true(p && gone && gone > p);
	if (strstr(out.p, "\"all\":true"))
		memset(known, 0, sizeof(known));
	for (gone += 8; *gone != ']'; gone += *gone == ',')
		known[strtoul(gone, (char **)(uintptr_t)&gone, 10)].total = 0;
	for (p += 8; *p == '['; p += p[0] == ',') {
		unsigned long id, total;
		const char *end = strchr(p, ']'), *name = memchr(p, '"', (size_t)(end - p));

		assert_int_equal(sscanf(p, "[%lu,%lu", &id, &total), 2);
		assert_true(id < IDS);
		if (name)
			known[id].version = strtoul(strchr(name, ':') + 1, NULL, 10);
		else
			assert_true(known[id].total); /* a short row is of one that is known */
		known[id].total = total;
		n++;
		p = end + 1;
	}
	assert_true(n <= MW_EVENT_ROWS);
	return n;
}

static void is_as_the_table(void)
{
	static bool there[IDS];

	memset(there, 0, sizeof(there));
	for (size_t i = 0; i < many_n; i++) {
		uint32_t id = many[i].id;

		there[id] = true;
		assert_int_equal(known[id].total, many[i].total);
		assert_int_equal(known[id].version, strtoul(strchr(names[id], ':') + 1, NULL, 10));
	}
	for (uint32_t id = 0; id < IDS; id++)
		assert_true(there[id] || !known[id].total);
}

static void a_first_tick_in_chunks_most_growth_first(void **state)
{
	struct mw_api api = many_api();
	int64_t least = INT64_MAX, most = INT64_MIN;
	size_t n, sum = 0;
	unsigned events = 0;

	(void)state;
	memset(known, 0, sizeof(known));
	for (many_n = 0; many_n < IDS; many_n++)
		many[many_n] = many_row((uint32_t)many_n, 1);
	assert_int_equal(mw_journal_tick(&j, &api, &mark), 0);
	while (event_of(&c)) {
		assert_int_equal(strstr(out.p, "\"all\":true") != NULL, events == 0);
		n = apply();
		sum += n;
		events++;
		assert_int_equal(strstr(out.p, "\"more\":true") != NULL, sum < IDS);
		if (events > 1)
			continue;
		assert_int_equal(n, MW_EVENT_ROWS);
		for (uint32_t id = 0; id < IDS; id++) {
			if (known[id].total && many[id].growth < least)
				least = many[id].growth;
			if (!known[id].total && many[id].growth > most)
				most = many[id].growth;
		}
		assert_true(least > most);
	}
	assert_int_equal(sum, IDS);
	assert_int_equal(events, (IDS + MW_EVENT_ROWS - 1) / MW_EVENT_ROWS);
	is_as_the_table();
}

/* Ticks come in the middle of what is being sent; rows come, change, go, and are replaced. */
static void ticks_between_events(void **state)
{
	struct mw_api api = many_api();
	unsigned version = 2, seed = 1, promised = 0, last;

	(void)state;
	memset(known, 0, sizeof(known));
	many_n = 0;
	for (int round = 0; round < 400; round++) {
		for (int i = 0; i < 300; i++) {
			uint32_t what = (seed = seed * 1103515245 + 12345) >> 16 & 7;
			size_t at = many_n ? (seed = seed * 1103515245 + 12345) / 65536 % many_n : 0;

			if ((what < 3 || !many_n) && many_n < IDS - 1) {
				static bool used[IDS];
				uint32_t id = 0;

				memset(used, 0, sizeof(used));
				for (size_t k = 0; k < many_n; k++)
					used[many[k].id] = true;
				while (used[id])
					id++;
				many[many_n++] = many_row(id, version++);
				i += 10; /* that was slow */
			} else if (what < 6) {
				many[at].total++;
			} else if (what == 6) {
				many[at] = many[--many_n];
			} else {
				many[at] = many_row(many[at].id, version++);
			}
		}
		if (round == 0)
			for (uint32_t id = 0; many_n < 6000; id++)
				many[many_n] = many_row((uint32_t)many_n, version++), many_n++;
		assert_int_equal(mw_journal_tick(&j, &api, &mark), 0);
		last = 0;
		for (int e = 0; e < round % 3 && event_of(&c); e++) {
			(void)apply();
			last = strstr(out.p, "\"more\":true") != NULL;
			promised += last;
		}
	}
	while (event_of(&c)) {
		(void)apply();
		last = strstr(out.p, "\"more\":true") != NULL;
	}
	assert_false(last); /* what was promised came */
	assert_true(promised > 3);
	is_as_the_table();
	gets_nothing(&c);
}

static void a_promise_is_kept_when_the_rows_go(void **state)
{
	struct mw_api api = many_api();

	(void)state;
	for (many_n = 0; many_n < 3000; many_n++)
		many[many_n] = many_row((uint32_t)many_n, 1);
	assert_int_equal(mw_journal_tick(&j, &api, &mark), 0);
	assert_true(event_of(&c));
	assert_non_null(strstr(out.p, "\"more\":true"));
	many_n = 0;
	assert_int_equal(mw_journal_tick(&j, &api, &mark), 0);
	gets(&c, EVENT("false", "false", "", ""));
	assert_true(event_of(&c)); /* and then that they went */
	assert_non_null(strstr(out.p, "\"gone\":[0,1,2,"));
	gets_nothing(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first_tick_then_changes_only),
		TEST(an_empty_table),
		TEST(every_number_counts),
		TEST(rows_that_go),
		TEST(an_id_used_again),
		TEST(who_missed_ticks_gets_each_row_once),
		TEST(the_mark),
		TEST(growth_at_the_edges),
		TEST(names_of_any_bytes),
		TEST(no_memory_leaves_it_as_it_was),
		TEST(freed_and_begun_again),
		TEST(a_first_tick_in_chunks_most_growth_first),
		TEST(ticks_between_events),
		TEST(a_promise_is_kept_when_the_rows_go),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
