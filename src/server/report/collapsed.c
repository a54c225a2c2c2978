/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * collapsed.c - a profile as lines of text, which flamegraph.pl and others read, and as a file for
 * speedscope: https://www.speedscope.app/file-format-schema.json.
 */
#include <stdlib.h>
#include <string.h>

#include "shared/text/intern.h"
#include "shared/report/profile.h"
#include "shared/report/sums.h"
#include "api/version.h"
#include "shared/text/json.h"

/* --- lines ---------------------------------------------------------------- */

/* The name as valid UTF-8, without what ends a frame or a line, and without other controls. */
static void frame_name(struct mw_buf *b, const char *name)
{
	size_t from = b->n;

	mw_buf_utf8(b, name, strlen(name));
	if (b->failed)
		return;
	for (size_t i = from; i < b->n; i++) {
		unsigned char c = (unsigned char)b->p[i];

		if (c == ';')
			b->p[i] = ':';
		else if (c < 0x20 || c == 0x7f)
			b->p[i] = ' ';
	}
}

/* "main;run;parse" replaces what is in b. */
static void stack_text(struct mw_buf *b, const struct mw_profile *p, const struct mw_profile_stack *s)
{
	b->n = 0;
	for (uint32_t i = s->depth; i-- > 0;) {
		frame_name(b, p->frames[s->frames[i]].name);
		if (i)
			mw_buf_add(b, ";", 1);
	}
}

/* sums[n_stacks] gets the bytes of each text. */
static void add_up(struct mw_intern *texts, uint64_t *sums, const struct mw_profile *p,
		   enum mw_profile_by by)
{
	struct mw_buf text = { 0 };

	for (size_t i = 0; i < p->n_stacks && !texts->failed; i++) {
		const struct mw_profile_stack *s = &p->stacks[i];
		uint32_t id;

		if (!s->bytes[by])
			continue;
		stack_text(&text, p, s);
		texts->failed |= text.failed;
		id = mw_intern(texts, text.p, text.n);
		if (!texts->failed)
			sums[id] = mw_sum_u64(sums[id], s->bytes[by]);
	}
	mw_buf_free(&text);
}

void mw_profile_collapsed(struct mw_buf *b, const struct mw_profile *p, enum mw_profile_by by)
{
	uint64_t *sums = calloc(p->n_stacks + 1, sizeof(*sums));
	struct mw_intern texts = { .failed = !sums };

	add_up(&texts, sums, p, by);
	for (uint32_t i = 0; i < texts.n; i++) {
		size_t n;
		const char *text = mw_interned(&texts, i, &n);

		mw_buf_add(b, text, n);
		mw_buf_add(b, " ", 1);
		mw_buf_u64(b, sums[i]);
		mw_buf_add(b, "\n", 1);
	}
	b->failed |= texts.failed;
	mw_intern_free(&texts);
	free(sums);
}

/* --- speedscope ----------------------------------------------------------- */

static void frames(struct mw_buf *b, const struct mw_profile *p)
{
	for (size_t i = 0; i < p->n_frames; i++) {
		const struct mw_profile_frame *f = &p->frames[i];

		mw_json_open(b, "\n", '{');
		mw_json_str(b, "name", f->name);
		if (*f->file)
			mw_json_str(b, "file", f->file);
		if (f->line)
			mw_json_u64(b, "line", f->line);
		mw_buf_str(b, "}");
	}
}

static void stack(struct mw_buf *b, const struct mw_profile_stack *s, bool first)
{
	mw_json_open(b, first ? NULL : "\n", '[');
	for (uint32_t i = s->depth; i-- > 0;)
		mw_json_u64(b, NULL, s->frames[i]);
	mw_buf_str(b, "]");
}

/* The samples or the weights, which is the same walk over the stacks. */
static uint64_t list(struct mw_buf *b, const struct mw_profile *p, enum mw_profile_by by, bool weights)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct mw_profile_stack *s = &p->stacks[i];

		if (!s->bytes[by])
			continue;
		if (weights)
			mw_json_u64(b, NULL, s->bytes[by]);
		else
			stack(b, s, !sum);
		sum = mw_sum_u64(sum, s->bytes[by]);
	}
	return sum;
}

static void sampled(struct mw_buf *b, const struct mw_profile *p, enum mw_profile_by by, const char *name)
{
	uint64_t sum;

	mw_json_open(b, "\n", '{');
	mw_json_str(b, "type", "sampled");
	mw_json_str(b, "name", name);
	mw_json_str(b, "unit", "bytes");
	mw_json_u64(b, "startValue", 0);
	mw_json_open(b, "\nsamples", '[');
	list(b, p, by, false);
	mw_buf_str(b, "]");
	mw_json_open(b, "\nweights", '[');
	sum = list(b, p, by, true);
	mw_buf_str(b, "]");
	mw_json_u64(b, "\nendValue", sum);
	mw_buf_str(b, "}");
}

void mw_profile_speedscope(struct mw_buf *b, const struct mw_profile *p, const char *title)
{
	mw_buf_str(b, "{");
	mw_json_str(b, "$schema", "https://www.speedscope.app/file-format-schema.json");
	mw_json_str(b, "\nexporter", "mwrap " MWRAP_VERSION);
	mw_json_str(b, "name", title);
	mw_json_u64(b, "activeProfileIndex", 0);
	mw_json_open(b, "\nshared", '{');
	mw_json_open(b, "frames", '[');
	frames(b, p);
	mw_buf_str(b, "]}");
	mw_json_open(b, "\nprofiles", '[');
	sampled(b, p, MW_BY_LIVE, "live bytes");
	sampled(b, p, MW_BY_TOTAL, "allocated bytes");
	if (p->samples[MW_BY_OBJECTS])
		sampled(b, p, MW_BY_OBJECTS, "bytes of Ruby's objects");
	mw_buf_str(b, "]}\n");
}
