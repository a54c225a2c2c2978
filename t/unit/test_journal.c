/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal: what a watcher gets after each tick. */
/* uses: @server */
#include "unit.h"
#include "watched_journal.h"

EACH(setup, teardown);

TEST(first_tick_then_changes_only)
{
	struct mw_row *a, *b;

	gets_nothing(&c); /* no tick yet */
	a = add_row(3, 5, "/a.rb:1");
	b = add_row(1, -7, "/b.rb:22");
	b->frees = 4;
	b->life_sum = 9;
	b->life_max = 6;
	tick();
	gets(&c, EVENT("true", "false",
		       "[3,100,1,0,5,100,1,0,0,0,\"/a.rb:1\",5,\"ruby\",0],"
		       "[1,100,1,4,-7,100,1,9,6,0,\"/b.rb:22\",5,\"ruby\",0]",
		       ""));
	gets_nothing(&c);
	tick();
	gets_nothing(&c); /* nothing changed */
	a->total = 150;
	tick();
	gets(&c, EVENT("false", "false", "[3,150,1,0,5,100,1,0,0,0,0]", ""));
	gets_nothing(&c);
	add_row(2, 0, "/c.rb:3");
	tick();
	gets(&c, EVENT("false", "false", "[2,100,1,0,0,100,1,0,0,0,\"/c.rb:3\",5,\"ruby\",0]", ""));
	gets_nothing(&c);
}

TEST(an_empty_table)
{
	tick();
	gets(&c, EVENT("true", "false", "", ""));
	gets_nothing(&c);
}

TEST(every_number_counts)
{
	struct mw_row *a = add_row(0, 1, "/a.rb:1");
	uint64_t *const numbers[] = {
		&a->total, &a->allocations, &a->frees,    &a->live_bytes,
		&a->live,  &a->life_sum,    &a->life_max, (uint64_t *)(void *)&a->growth
	};

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

TEST(rows_that_go)
{
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
	gets(&c, EVENT("false", "false", "[7,100,1,0,3,100,1,0,0,0,\"/c.rb:1\",5,\"ruby\",0]", ""));
}

TEST(an_id_used_again)
{
	add_row(5, 1, "/old.rb:1");
	tick();
	assert_true(event_of(&c));
	fake_n = 0;
	add_row(5, 1, "/new.rb:1"); /* the same length and numbers */
	tick();
	gets(&c, EVENT("false", "true", "", "5"));
	gets(&c, EVENT("false", "false", "[5,100,1,0,1,100,1,0,0,0,\"/new.rb:1\",7,\"ruby\",0]", ""));
	gets_nothing(&c);
	/* gone for a tick that this watcher didn't see, then another's */
	fake_n = 0;
	tick();
	add_row(5, 1, "/third.rb:1");
	tick();
	gets(&c, EVENT("false", "true", "", "5"));
	gets(&c, EVENT("false", "false", "[5,100,1,0,1,100,1,0,0,0,\"/third.rb:1\",9,\"ruby\",0]", ""));
	gets_nothing(&c);
}

TEST(who_missed_ticks_gets_each_row_once)
{
	struct mw_row *a = add_row(1, 1, "/a.rb:1");
	struct mw_cursor late = { 0 };

	add_row(2, 2, "/b.rb:1");
	tick();
	assert_true(event_of(&c));
	for (int i = 0; i < 50; i++) {
		a->total++;
		tick();
	}
	gets(&c, EVENT("false", "false", "[1,150,1,0,1,100,1,0,0,0,0]", ""));
	gets_nothing(&c);
	/* one who comes late gets all; the other isn't affected */
	assert_true(event_of(&late));
	assert_non_null(strstr(out.p, "\"all\":true"));
	assert_non_null(strstr(out.p, "/b.rb:1"));
	gets_nothing(&late);
	gets_nothing(&c);
	mw_cursor_free(&late);
}

TEST(the_mark)
{
	struct mw_row *a = add_row(1, 1, "/a.rb:1");
	struct mw_snapshot *s;

	tick();
	assert_true(event_of(&c));
	a->live_bytes = 300;
	s = fake_api.snapshot();
	assert_int_equal(mw_mark_set(&mark, s, 12.5), 0);
	fake_api.snapshot_free(s);
	a->live_bytes = 250;
	add_row(9, 0, "/new.rb:1"); /* wasn't there */
	tick();
	gets(&c,
	     EVENT("false", "false",
		   "[1,100,1,0,1,250,1,0,0,-50,0],[9,100,1,0,0,100,1,0,0,100,\"/new.rb:1\",7,\"ruby\",0]",
		   ""));
	/* the same id, another location: all of it is growth */
	fake_rows[1].location = "/NEW.rb:1";
	tick();
	assert_true(event_of(&c));
	gets(&c, EVENT("false", "false", "[9,100,1,0,0,100,1,0,0,100,\"/NEW.rb:1\",7,\"ruby\",0]", ""));
	fake_n = 0;
	add_row(1, 1, "/other.rb:1");
	tick();
	assert_true(event_of(&c));
	gets(&c, EVENT("false", "false", "[1,100,1,0,1,100,1,0,0,100,\"/other.rb:1\",9,\"ruby\",0]", ""));
	mw_mark_clear(&mark);
	tick();
	gets(&c, EVENT("false", "false", "[1,100,1,0,1,100,1,0,0,0,0]", ""));
	gets_nothing(&c);
}

TEST(growth_at_the_edges)
{
	struct mw_row *a = add_row(0, INT64_MIN, "/a.rb:1");
	struct mw_snapshot *s;

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

TEST(names_of_any_bytes)
{
	fake_row(MW_KIND_RUBY, 1, "/\xff\xc3\xbc\xf0\x9f\x98\x80\"<\n.rb:1")->id = 0;
	fake_row(MW_KIND_NATIVE, 1, "/l.so(f+0x1) [0x7f]")->id = 1;
	fake_row(MW_KIND_SPECIAL, 1, "(other)")->id = 2;
	fake_row(MW_KIND_RUBY, 1, "/huge.rb:1")->id = MW_ID_END; /* left out */
	fake_row(MW_KIND_RUBY, 1, "/none.rb:1")->id = MW_ID_NONE;
	tick();
	assert_true(event_of(&c));
	/* / U+FFFD ü, a surrogate pair, " < newline .rb */
	assert_non_null(strstr(out.p, "\\n.rb:1\",11,\"ruby\",0]"));
	assert_non_null(strstr(out.p, "\"/\xef\xbf\xbd\xc3\xbc\xf0\x9f\x98\x80\\\""));
	assert_non_null(strstr(out.p, "\"/l.so(f+0x1) [0x7f]\",5,\"native\",0]"));
	assert_non_null(strstr(out.p, "\"(other)\",7,\"special\",0]"));
	assert_null(strstr(out.p, "huge"));
	assert_null(strstr(out.p, "none"));
	assert_null(strchr(out.p, '\n'));
}

TEST(no_memory_leaves_it_as_it_was)
{
	add_row(1, 1, "/a.rb:1");
	tick();
	fake_no_memory = true;
	assert_int_equal(mw_journal_tick(&j, &fake_api, &mark), -1);
	fake_no_memory = false;
	assert_true(event_of(&c));
	assert_non_null(strstr(out.p, "/a.rb:1"));
}

TEST(freed_and_begun_again)
{
	uint32_t was;

	add_row(1, 1, "/a.rb:1");
	tick();
	tick();
	was = j.tick;
	mw_journal_free(&j, &fake_api);
	assert_int_equal(fake_out, 0);
	gets_nothing(&c); /* an empty table would make all rows look new afterwards */
	tick();
	assert_true(j.tick > was);
	gets(&c, EVENT("true", "false", "[1,100,1,0,1,100,1,0,0,0,\"/a.rb:1\",5,\"ruby\",0]", ""));
	gets_nothing(&c);
}
