/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watched_journal.h - a journal of a fake tracker, and one who watches it. For the
 * tests of the journal; setup() and teardown() are for EACH().
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "../../src/server/history/journal.h"
#include "fake_api.h"

static struct mw_journal j;
static struct mw_mark mark;
static struct mw_cursor c;
static struct mw_buf out;

static inline void setup(void)
{
	fake_clear();
}

static inline void teardown(void)
{
	mw_cursor_free(&c);
	mw_journal_free(&j, &fake_api);
	mw_mark_clear(&mark);
	mw_buf_free(&out);
	memset(&j, 0, sizeof(j));
	memset(&mark, 0, sizeof(mark));
	assert_int_equal(fake_out, 0); /* all snapshots came back */
}

static inline bool event_of(struct mw_cursor *cursor)
{
	bool any;

	out.n = 0;
	any = mw_journal_event(&j, cursor, &out, 1.5);
	assert_false(out.failed);
	assert_int_equal(any, out.n > 0);
	mw_buf_add(&out, "", 1);
	return any;
}

static inline void tick(void)
{
	assert_int_equal(mw_journal_tick(&j, &fake_api, &mark), 0);
}

/* The next event is this one. */
static inline void gets(struct mw_cursor *cursor, const char *want)
{
	assert_true(event_of(cursor));
	assert_string_equal(out.p, want);
}

static inline void gets_nothing(struct mw_cursor *cursor)
{
	bool any = event_of(cursor);

	if (any)
		print_error("got %s\n", out.p);
	assert_false(any);
}

static inline struct mw_row *add_row(uint32_t id, int64_t growth, const char *location)
{
	struct mw_row *r = fake_row(MW_KIND_RUBY, 100, location);

	r->id = id;
	r->growth = growth;
	return r;
}

#define EVENT(all, more, rows, gone) \
	"{\"t\":1.500,\"all\":" all ",\"more\":" more ",\"rows\":[" rows "],\"gone\":[" gone "]}"
