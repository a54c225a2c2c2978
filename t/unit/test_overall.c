/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sentence about all processes agrees with each one's own. */
/* uses: @server */
#include "unit.h"
#include "../../src/server/family/gather.h"

static struct mw_reply_of replies[3];

/* A process that says so; rate: of what it names, in bytes a minute */
static void says(size_t i, const char *kind, int64_t rate, const char *sentence)
{
	struct mw_self *self = &replies[i].wire.self;

	replies[i] = (struct mw_reply_of){ .pid = 100 + (long)i };
	snprintf(self->kind, sizeof(self->kind), "%s", kind);
	self->rate = rate;
	self->sentence = sentence;
}

static void all_say(const char *expected, bool grows)
{
	const struct mw_gathered g = { .replies = replies, .n = 3, .answered = 3 };
	struct mw_buf b = { 0 };

	assert_true(!mw_overall_say(&b, &g) == !grows);
	mw_buf_add(&b, "", 1);
	assert_string_equal(b.p, expected);
	mw_buf_free(&b);
}

TEST(what_grows_slowly_is_told)
{
	says(0, "flat", 0, "Nothing grows: flat.");
	says(1, "sawtooth", 0, "Nothing grows: up and down.");
	says(2, "step", 5000, "RSS stepped up.");
	all_say("Nothing grows in 3 processes.", false);
	says(1, "sawtooth", 2000, "Nothing large grows; slowly: a.rb:1, +1.95 KB a minute.");
	all_say("Nothing large grows in 3 processes. Process 101: Nothing large grows; slowly: a.rb:1, +1.95 KB a minute.",
		false);
	says(0, "flat", 3000, "Nothing large grows; slowly: b.rb:2, +2.93 KB a minute.");
	all_say("Nothing large grows in 3 processes. Process 100: Nothing large grows; slowly: b.rb:2, +2.93 KB a minute.",
		false);
	says(2, "grows", 100, "Live memory grows.");
	all_say("1 of 3 processes grows. Process 102: Live memory grows.", true);
}
