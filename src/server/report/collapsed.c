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

static void json(struct mw_buf *b, const char *before, const char *s)
{
	mw_buf_str(b, before);
	mw_buf_json(b, s, strlen(s));
}

static void frames(struct mw_buf *b, const struct mw_profile *p)
{
	for (size_t i = 0; i < p->n_frames; i++) {
		const struct mw_profile_frame *f = &p->frames[i];

		json(b, i ? ",\n{\"name\":" : "\n{\"name\":", f->name);
		if (*f->file)
			json(b, ",\"file\":", f->file);
		if (f->line) {
			mw_buf_str(b, ",\"line\":");
			mw_buf_u64(b, f->line);
		}
		mw_buf_str(b, "}");
	}
}

static void stack(struct mw_buf *b, const struct mw_profile_stack *s)
{
	mw_buf_str(b, "[");
	for (uint32_t i = s->depth; i-- > 0;) {
		mw_buf_u64(b, s->frames[i]);
		mw_buf_str(b, i ? "," : "]");
	}
}

/* The samples or the weights, which is the same walk over the stacks. */
static uint64_t list(struct mw_buf *b, const struct mw_profile *p, enum mw_profile_by by, bool weights)
{
	const char *between = "";
	uint64_t sum = 0;

	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct mw_profile_stack *s = &p->stacks[i];

		if (!s->bytes[by])
			continue;
		mw_buf_str(b, between);
		if (weights)
			mw_buf_u64(b, s->bytes[by]);
		else
			stack(b, s);
		between = weights ? "," : ",\n";
		sum = mw_sum_u64(sum, s->bytes[by]);
	}
	return sum;
}

static void sampled(struct mw_buf *b, const struct mw_profile *p, enum mw_profile_by by, const char *name)
{
	uint64_t sum;

	json(b, "\n{\"type\":\"sampled\",\"name\":", name);
	mw_buf_str(b, ",\"unit\":\"bytes\",\"startValue\":0,\n\"samples\":[");
	list(b, p, by, false);
	mw_buf_str(b, "],\n\"weights\":[");
	sum = list(b, p, by, true);
	mw_buf_str(b, "],\n\"endValue\":");
	mw_buf_u64(b, sum);
	mw_buf_str(b, "}");
}

void mw_profile_speedscope(struct mw_buf *b, const struct mw_profile *p, const char *title)
{
	mw_buf_str(b, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n");
	json(b, "\"exporter\":", "mwrap " MWRAP_VERSION);
	json(b, ",\"name\":", title);
	mw_buf_str(b, ",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[");
	frames(b, p);
	mw_buf_str(b, "]},\n\"profiles\":[");
	sampled(b, p, MW_BY_LIVE, "live bytes");
	mw_buf_str(b, ",");
	sampled(b, p, MW_BY_TOTAL, "allocated bytes");
	mw_buf_str(b, "]}\n");
}
