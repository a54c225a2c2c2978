/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A location's callers, in a few rows: their frames, branches and sums. */
/* uses: src/server/report/called_by.c src/shared/report/profile.c src/shared/report/location.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c */
#include "unit.h"
#include "made_up_profile.h"
#include "../../src/server/report/called_by.h"

enum { OWN_LINE = 3 };

static struct mw_called_by callers;
static uint32_t own, malloc_frame, times;

/* A profile of the line /srv/own.rb:3. */
static void begin(void)
{
	fake_clear();
	fake_row(MW_KIND_RUBY, 0, "/srv/own.rb:3")->at = OWN_LINE;
	made_begin();
	malloc_frame = made_frame_at(MW_KIND_NATIVE, "rb_str_resize", "/usr/lib/libruby.so", 0, 0x7f00);
	own = made_frame_at(MW_KIND_RUBY, "Store#keep", "/srv/own.rb", OWN_LINE, 0);
	times = made_frame_at(MW_KIND_NATIVE, "Integer#times", "", 0, 0);
}

/* "0 keep<-times 100/1; 1 f 60/1": depth, frames, live bytes and samples of each row */
static void rows_are(const char *want, size_t more)
{
	struct mw_buf b = { 0 };

	assert_true(mw_called_by_make(&callers, &made));
	for (size_t i = 0; i < callers.n; i++) {
		const struct mw_called_row *r = &callers.rows[i];

		mw_buf_fmt(&b, i ? "; %u " : "%u ", r->depth);
		for (uint32_t k = 0; k < r->n; k++)
			mw_buf_fmt(&b, k ? "<-%s" : "%s", made.frames[r->frames[k]].name);
		mw_buf_fmt(&b, r->n ? " %u/%u" : "? %u/%u", (unsigned)r->bytes[callers.by],
			   (unsigned)r->samples[callers.by]);
	}
	assert_string_equal(text_of(&b), want);
	assert_int_equal(callers.more, more);
	mw_buf_free(&b);
}

EACH(begin, made_end);

TEST(what_all_share_is_one_row)
{
	uint32_t one = made_frame("one");
	uint32_t two = made_frame("two");
	uint32_t main_frame = made_frame("<main>");

	MADE_STACK(60, malloc_frame, own, times, one, main_frame);
	rows_are("0 Store#keep<-Integer#times<-one<-<main> 60/1", 0);
	MADE_STACK(30, own, times, two, main_frame); /* not by the same function */
	MADE_STACK(10, malloc_frame, own, main_frame);
	rows_are("0 Store#keep 100/3; 1 Integer#times 90/2; 2 one<-<main> 60/1; 2 two<-<main> 30/1; "
		 "1 <main> 10/1",
		 0);
}

/* Of those that end where others go on, only the sum knows. */
TEST(some_end_where_others_go_on)
{
	uint32_t one = made_frame("one");

	MADE_STACK(5, own);
	MADE_STACK(7, own, one);
	rows_are("0 Store#keep 12/2; 1 one 7/1", 0);
}

/* The innermost of several calls is the location's. */
TEST(a_line_that_calls_itself)
{
	uint32_t other = made_frame_at(MW_KIND_RUBY, "Store#keep", "/srv/own.rb", OWN_LINE + 1, 0);
	uint32_t same = made_frame_at(MW_KIND_RUBY, "Store#keep", "/srv/own.rbx", OWN_LINE, 0);

	MADE_STACK(5, malloc_frame, own, other, own, same);
	rows_are("0 Store#keep<-Store#keep<-Store#keep<-Store#keep 5/1", 0);
}

/* Code at several places of a line: a frame each, which say the same. */
TEST(several_places_of_a_line)
{
	uint32_t one = made_frame("one");
	uint32_t again = made_frame_at(MW_KIND_RUBY, "Store#keep", "/srv/own.rb", OWN_LINE, 0);
	uint32_t two = made_frame("two");
	uint32_t one_again = made_frame("one");

	MADE_STACK(60, malloc_frame, own, one);
	MADE_STACK(20, own, two);
	MADE_STACK(9, again, one_again);
	MADE_STACK(5, malloc_frame, again, two);
	MADE_STACK(3, again);
	rows_are("0 Store#keep 97/5; 1 one 69/2; 1 two 25/2", 0);
}

TEST(stacks_without_a_caller)
{
	uint32_t alone = made_frame_at(MW_KIND_RUBY, "/srv/own.rb:3", "/srv/own.rb", OWN_LINE, 0);
	uint32_t one = made_frame("one");

	MADE_STACK(5, alone);
	rows_are("0 ? 5/1", 0);
	MADE_STACK(9, own, one);
	rows_are("0 Store#keep<-one 9/1; 0 ? 5/1", 0);
	made_end();

	/* a line without its own frame: all of the stack is there */
	begin();
	one = made_frame("one");
	MADE_STACK(5, malloc_frame, one);
	rows_are("0 rb_str_resize<-one 5/1", 0);
}

TEST(a_native_location)
{
	uint32_t inner, outer;

	made_end();
	fake_clear();
	fake_row(MW_KIND_NATIVE, 0, "/l/x.so(f+0x1f) [0x7f12]");
	made_begin();
	inner = made_frame_at(MW_KIND_NATIVE, "f", "/l/x.so", 0, 0x7f12);
	outer = made_frame_at(MW_KIND_NATIVE, "main", "/bin/x", 0, 0x7f13);
	MADE_STACK(5, inner, outer);
	MADE_STACK(3, inner);
	rows_are("0 f<-main 5/1; 0 ? 3/1", 0);
}

TEST(the_largest_of_many)
{
	static char names[40][8];
	uint64_t sum = 0;

	for (unsigned i = 0; i < 40; i++) {
		uint32_t f;

		(void)snprintf(names[i], sizeof(names[i]), "f%u", i);
		f = made_frame(names[i]);
		MADE_STACK(i, malloc_frame, own, f);
		sum += i;
	}
	assert_true(mw_called_by_make(&callers, &made));
	assert_int_equal(callers.n, MW_CALLED_BY_MOST);
	assert_int_equal(callers.more, 39 - (MW_CALLED_BY_MOST - 1)); /* one has nothing live */
	assert_true(callers.rows[0].bytes[MW_BY_LIVE] == sum && callers.rows[0].blocks[MW_BY_LIVE] == 40);
	for (uint32_t i = 1; i < MW_CALLED_BY_MOST; i++)
		assert_string_equal(made.frames[callers.rows[i].frames[0]].name, names[40 - i]);
}

TEST(if_nothing_lives_what_was_allocated)
{
	uint32_t one = made_frame("one");
	uint32_t two = made_frame("two");

	MADE_STACK(0, own, one)->bytes[MW_BY_TOTAL] = 4;
	MADE_STACK(0, own, two)->bytes[MW_BY_TOTAL] = 6;
	rows_are("0 Store#keep 10/4; 1 two 6/2; 1 one 4/2", 0);
	assert_int_equal(callers.by, MW_BY_TOTAL);
	made_end();
	begin();
	rows_are("", 0);
}

/* Any stacks: each row has at least what those below it have, and the first ones all there is. */
TEST(sums_hold)
{
	for (int round = 0; round < 2000; round++) {
		uint64_t all = 0, first = 0, open[64] = { 0 };
		size_t stacks = 1 + below(30);

		made_end();
		begin();
		for (int i = 0; i < 6; i++)
			made_frame("f");
		for (size_t i = 0; i < stacks; i++) {
			uint32_t frames[8], n = 1 + (uint32_t)below(7);
			uint64_t bytes = below(4) ? below(1000) : 0;

			for (uint32_t k = 0; k < n; k++)
				frames[k] = (uint32_t)below(3) + 3;
			frames[0] = own;
			made_stack(bytes, n, frames);
			all += bytes;
		}
		assert_true(mw_called_by_make(&callers, &made));
		for (size_t i = 0; i < callers.n && callers.by == MW_BY_LIVE; i++) {
			const struct mw_called_row *r = &callers.rows[i];

			assert_true(r->depth <= (i ? callers.rows[i - 1].depth + 1 : 0));
			assert_true(r->n > 0);
			if (r->depth)
				assert_true(open[r->depth - 1] >= r->bytes[MW_BY_LIVE]);
			else
				first += r->bytes[MW_BY_LIVE];
			if (r->depth)
				open[r->depth - 1] -= r->bytes[MW_BY_LIVE];
			open[r->depth] = r->bytes[MW_BY_LIVE];
		}
		assert_true(first == all);
	}
}

TEST(as_json)
{
	struct mw_buf b = { 0 };
	uint32_t odd = made_frame_at(MW_KIND_RUBY, "a\"b\xff", "/x\n.rb", 9, 0);

	MADE_STACK(5, own, odd)->blocks[MW_BY_TOTAL] = 8;
	made.samples[MW_BY_LIVE] = 77;
	assert_true(mw_called_by_make(&callers, &made));
	mw_called_by_json(&b, &callers, &made);
	assert_string_equal(
		text_of(&b),
		"{\"by\":\"live\",\"samples\":77,\"rows\":[\n"
		"{\"depth\":0,\"live_bytes\":5,\"live\":1,\"live_samples\":1,\"total\":5,\"allocations\":8,"
		"\"samples\":2,\"frames\":[{\"name\":\"Store#keep\",\"file\":\"/srv/own.rb\",\"line\":3},"
		"{\"name\":\"a\\\"b\xef\xbf\xbd\",\"file\":\"/x\\n.rb\",\"line\":9}]}],\"more\":0}");
	mw_buf_free(&b);
}
