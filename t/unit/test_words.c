/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of a verdict: the line that is named is one of the file's that is named, and what has no proof says so. */
/* uses: @server */
#include "unit.h"
#include "../../src/server/verdict/verdict.h"

#define UNKNOWN __builtin_nan("")

/* Lines of some files, and the file with most of them, as a growth over several lines has it. */
struct spread {
	struct mw_verdict v;
	char names[MW_VERDICT_LOCATIONS][40];
	char file[40];
};

static void draw(struct spread *s)
{
	s->v = (struct mw_verdict){ .kind = MW_VERDICT_GROWS,
				    .to = 600,
				    .rate = 1000,
				    .kept = UNKNOWN,
				    .at_kept = UNKNOWN,
				    .n = 1 + (unsigned)random() % MW_VERDICT_LOCATIONS };
	snprintf(s->file, sizeof(s->file), "/app/file_%u.rb", (unsigned)random() % 3);
	s->v.file = (struct mw_verdict_spread){
		.name = s->file, .len = (uint32_t)strlen(s->file), .lines = 2, .share = 0.7
	};
	for (size_t i = 0; i < s->v.n; i++) {
		int len = snprintf(s->names[i], sizeof(s->names[i]), "/app/file_%u.rb",
				   (unsigned)random() % 3);

		snprintf(s->names[i] + len, sizeof(s->names[i]) - (size_t)len, ":%zu", i + 1);
		s->v.locations[i] = (struct mw_verdict_location){
			.location = s->names[i],
			.len = (uint32_t)strlen(s->names[i]),
			.file_len = (uint32_t)len,
			.kind = MW_KIND_RUBY,
			.share = 0.4 / (double)(i + 1)
		};
	}
}

static void say(char *to, size_t size, const struct mw_verdict *v)
{
	struct mw_buf b = { 0 };

	mw_verdict_sentence(&b, v);
	snprintf(to, size, "%.*s", (int)b.n, b.p);
	mw_buf_free(&b);
}

TEST(a_line_of_the_file_that_is_named)
{
	char sentence[600];
	size_t named = 0;

	srandom((unsigned)unit_seed());
	for (int i = 0; i < 2000; i++) {
		struct spread s;
		const char *line;

		draw(&s);
		say(sentence, sizeof(sentence), &s.v);
		assert_non_null(strstr(sentence, s.file + strlen("/app/")));
		line = strstr(sentence, ", most at ");
		line = line ? line + strlen(", most at ") : strstr(sentence, ", such as ");
		if (!line)
			continue;
		named++;
		line += *line == ',' ? strlen(", such as ") : 0;
		assert_int_equal(strncmp(line, s.file + strlen("/app/"), strlen(s.file) - strlen("/app/")),
				 0);
	}
	assert_true(named > 500 && named < 2000);
}

TEST(no_proof)
{
	struct spread s;
	char sentence[600];

	draw(&s);
	say(sentence, sizeof(sentence), &s.v);
	assert_null(strstr(sentence, "No proof"));
	s.v.no_proof = "proofs are off";
	say(sentence, sizeof(sentence), &s.v);
	assert_non_null(strstr(sentence, ". No proof says what is kept: proofs are off."));
	s.v.kind = MW_VERDICT_UNCOLLECTED;
	say(sentence, sizeof(sentence), &s.v);
	assert_non_null(strstr(sentence, ". No proof says what is kept: proofs are off."));
}

/* A page and `who` are of lines alone. */
static void says_next(const char *location, enum mw_kind kind, const char *wanted, const char *unwanted)
{
	struct mw_buf b = { 0 };
	struct mw_verdict v = { .kind = MW_VERDICT_GROWS,
				.to = 600,
				.rate = 1000,
				.kept = UNKNOWN,
				.at_kept = UNKNOWN,
				.growing = true,
				.at_location = true,
				.n = 1 };
	char next[600];

	v.locations[0] = (struct mw_verdict_location){
		.location = location,
		.len = (uint32_t)strlen(location),
		.file_len = (uint32_t)strcspn(location, ":"),
		.kind = kind,
		.share = 0.9
	};
	mw_verdict_next(&b, &v);
	snprintf(next, sizeof(next), "%.*s", (int)b.n, b.p ? b.p : "");
	mw_buf_free(&b);
	assert_true(!*wanted || strstr(next, wanted));
	assert_null(strstr(next, unwanted));
}

TEST(the_next_step_at_what_is_no_line)
{
	says_next("/app/a.rb:3", MW_KIND_RUBY, "`mwrapctl who a.rb:3`", "JIT");
	says_next("(ruby, JIT compiler)", MW_KIND_SPECIAL, "--yjit-mem-size", "mwrapctl who");
	says_next("(other)", MW_KIND_SPECIAL, "", "mwrapctl who");
}

/* A label is told if it has most of the bytes for sure, and never by fewer than 30 samples. */
TEST(labels_by_their_error)
{
	static const struct {
		double share;
		uint32_t samples;
		const char *says; /* NULL: nothing */
	} cases[] = {
		{ 0.88, 400, "; the line's memory is for POST /orders, 88 % (\xc2\xb1 3)." },
		{ 0.88, 30, "; the line's memory is for POST /orders, 88 % (\xc2\xb1 13)." },
		{ 1, 30, "; the line's memory is for POST /orders, all (\xc2\xb1 8)." },
		{ 0.88, 29, NULL },
		{ 0.65, 30, NULL }, /* 48 to 82 % */
		{ 0.65, 400, "; the line's memory is for POST /orders, 65 % (\xc2\xb1 5)." },
		{ 0.49, 100000, NULL },
	};
	struct spread s;
	char sentence[600];

	draw(&s);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		mw_verdict_label(&s.v, "POST /orders", cases[i].share, cases[i].samples);
		say(sentence, sizeof(sentence), &s.v);
		if (cases[i].says)
			assert_non_null(strstr(sentence, cases[i].says));
		else
			assert_null(strstr(sentence, "POST"));
	}
}

/* The file or gem whose lines grow together is told as the sentence names it, and only then. */
TEST(what_grows_together)
{
	struct spread s;
	char sentence[600], name[60];
	int told = 0;

	for (int i = 0; i < 2000; i++) {
		const struct mw_verdict_spread *of;

		draw(&s);
		if (i % 2) /* one line has most of it */
			s.v.locations[0].share = 0.6;
		of = mw_verdict_together(&s.v);
		say(sentence, sizeof(sentence), &s.v);
		snprintf(name, sizeof(name), " of that in %s, on 2 lines", strrchr(s.file, '/') + 1);
		assert_true(!of == !strstr(sentence, name));
		told += of != NULL;
	}
	assert_int_equal(told, 1000);
}
