/* SPDX-License-Identifier: GPL-2.0-or-later */
/* map_words.c - see map.h. */
#include <stdio.h>
#include <string.h>

#include "server/report/missing.h"
#include "map.h"

/* Parts below this share of the resident memory aren't worth a sentence. */
enum { SHARE_LEAST = 50 /* a fiftieth: 2 % */, PINNED_TIMES = 3, LINES_NAMED = 3 };
#define WORTH ((uint64_t)1 << 20) /* bytes */

static void amount(struct mw_buf *b, uint64_t v)
{
	const char *unit = mw_buf_amount(b, v, false);

	mw_buf_fmt(b, " %s", unit);
}

static void amount_in(struct mw_buf *b, const char *before, uint64_t v, const char *after)
{
	mw_buf_str(b, before);
	amount(b, v);
	mw_buf_str(b, after);
}

static void percent(struct mw_buf *b, uint64_t v, uint64_t of)
{
	mw_buf_fmt(b, " (%u %%)", of ? (unsigned)((v * 100 + of / 2) / of) : 0);
}

static const char *allocator(const struct mw_map *m)
{
	return !strcmp(m->allocator, "glibc") ? "malloc" :
	       *m->allocator                  ? m->allocator :
						"the allocator";
}

static bool worth(const struct mw_map *m, uint64_t v)
{
	return v >= WORTH && v >= mw_map_seen(m) / SHARE_LEAST;
}

static bool glibc(const struct mw_map *m)
{
	return !strcmp(m->allocator, "glibc");
}

static void left_out(struct mw_buf *b, const struct mw_map *m)
{
	if (m->left_out) {
		amount_in(b, " This isn\xe2\x80\x99t all: ", m->left_out,
			  " more is in memory than a map has room for.");
	}
	if (m->unsearched) {
		amount_in(b, " ", m->unsearched,
			  " of address space wasn\xe2\x80\x99t searched for memory, as it takes too long.");
	}
	if (m->undrawn) {
		amount_in(b, " ", m->undrawn,
			  " of address space isn\xe2\x80\x99t drawn, for want of room.");
	}
}

void mw_map_sentence(struct mw_buf *b, const struct mw_map *m)
{
	uint64_t seen = mw_map_seen(m);
	const uint64_t *p = m->parts;

	amount(b, m->rss ? m->rss : seen);
	amount_in(b, " is in memory. ", p[MW_MAP_LIVE], " of it is what ");
	mw_buf_commas(b, m->live);
	mw_buf_str(b, m->missing == MW_MISSING_SAMPLED ? " sampled" : " live");
	mw_buf_str(b, m->live == 1 ? " block uses." : " blocks use.");
	if (worth(m, p[MW_MAP_EMPTY])) {
		mw_buf_str(b, " ");
		amount(b, p[MW_MAP_EMPTY]);
		percent(b, p[MW_MAP_EMPTY], seen);
		mw_buf_fmt(b, " is empty pages that %s keeps", allocator(m));
		mw_buf_str(b, glibc(m) ? " and malloc_trim gives back." : ".");
	}
	if (worth(m, p[MW_MAP_ENDS])) {
		amount_in(b, " ", p[MW_MAP_ENDS], " more is empty at the ends of thread arenas.");
	}
	if (worth(m, p[MW_MAP_HOLES])) {
		mw_buf_str(b, " ");
		amount(b, p[MW_MAP_HOLES]);
		percent(b, p[MW_MAP_HOLES], seen);
		mw_buf_str(b, " is holes beside live blocks: fragmentation.");
	}
	if (worth(m, p[MW_MAP_UNKNOWN])) {
		mw_buf_str(b, " ");
		amount(b, p[MW_MAP_UNKNOWN]);
		percent(b, p[MW_MAP_UNKNOWN], seen);
		mw_buf_fmt(b,
			   " is memory of %s in which blocks aren\xe2\x80\x99t known, since %s: part of it may be free.",
			   allocator(m), mw_missing_why(m->missing));
	}
	if (worth(m, p[MW_MAP_RUBY])) {
		amount_in(b, " ", p[MW_MAP_RUBY], " is Ruby\xe2\x80\x99s heap pages");
		if (m->ruby_known && m->ruby_slots)
			mw_buf_fmt(b, ", of which objects use %u %%",
				   (unsigned)(m->ruby_used * 100 / m->ruby_slots));
		mw_buf_str(b, ".");
	}
	if (worth(m, p[MW_MAP_OTHER])) {
		amount_in(b, " ", p[MW_MAP_OTHER], " is other anonymous memory, which no malloc gave");
		mw_buf_str(b, m->missing == MW_MISSING_SAMPLED ? ", or large blocks that are no samples." :
								 ".");
	}
	if (m->swapped >= WORTH) {
		amount_in(b, " ", m->swapped, " more is swapped out.");
	}
	left_out(b, m);
}

void mw_map_panel_title(const struct mw_map_panel *p, const struct mw_map *m, char to[48])
{
	static const char *const titles[] = { [MW_PANEL_MAIN] = "main arena",
					      [MW_PANEL_BLOCKS] = "large blocks",
					      [MW_PANEL_RUBY] = "Ruby\xe2\x80\x99s heap pages",
					      [MW_PANEL_OTHER] = "other memory" };

	if (p->kind == MW_PANEL_ARENA)
		snprintf(to, 48, "thread arena %u", p->number);
	else if (p->kind == MW_PANEL_ALLOCATOR)
		snprintf(to, 48, "memory of %s", allocator(m));
	else
		snprintf(to, 48, "%s", titles[p->kind]);
}

/* --- advice ------------------------------------------------------------------------------- */

struct advice {
	const struct mw_map *m;
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

static void give(const struct advice *a, struct mw_buf *b)
{
	mw_buf_add(b, "", 1);
	if (!b->failed)
		a->say(a->ctx, b->p);
	mw_buf_free(b);
}

static void on_trim(const struct advice *a)
{
	const struct mw_map_trim *t = &a->m->trim;
	struct mw_buf b = { 0 };

	if (!strcmp(a->m->allocator, "mimalloc") && worth(a->m, a->m->parts[MW_MAP_EMPTY])) {
		mw_buf_str(&b,
			   "mimalloc gives the memory of a thread back in that thread only: a trim from outside can\xe2\x80\x99t.");
		give(a, &b);
	}
	if (a->m->missing || !worth(a->m, t->bytes))
		return;
	mw_buf_str(&b, glibc(a->m) ? "malloc_trim gives back " : "Asked to, ");
	if (!glibc(a->m))
		mw_buf_fmt(&b, "%s gives back up to ", allocator(a->m));
	if (t->least && t->least < t->bytes - t->bytes / 20) {
		amount(&b, t->least);
		mw_buf_str(&b, " to ");
	}
	amount(&b, t->bytes);
	mw_buf_str(&b, " now: by Trim on the page of the memory map, or by mwrapctl trim.");
	if (glibc(a->m) && t->ns >= 1000000)
		mw_buf_fmt(&b, " It holds locks of malloc\xe2\x80\x99s for about %llu ms.",
			   (unsigned long long)(t->ns / 1000000));
	give(a, &b);
}

static void on_arenas(const struct advice *a)
{
	uint64_t resident = 0, live = 0;
	uint32_t arenas = 0;
	struct mw_buf b = { 0 };

	for (uint32_t i = 0; i < a->m->n_panels; i++) {
		if (a->m->panels[i].kind != MW_PANEL_ARENA)
			continue;
		arenas++;
		resident += a->m->panels[i].resident;
		live += a->m->panels[i].live;
	}
	if (a->m->missing || arenas < 3 || !worth(a->m, resident - live) || live * PINNED_TIMES > resident)
		return;
	mw_buf_fmt(&b, "%u thread arenas hold ", arenas);
	amount(&b, resident);
	amount_in(&b, " for ", live,
		  " of live blocks: MALLOC_ARENA_MAX=2 in the environment leaves two arenas.");
	give(a, &b);
}

static void on_lines(const struct advice *a)
{
	struct mw_buf b = { 0 };
	int named = 0;

	if (!worth(a->m, a->m->parts[MW_MAP_HOLES]))
		return;
	for (uint32_t i = 0; i < a->m->n_lines && named < LINES_NAMED; i++) {
		const struct mw_map_line *l = &a->m->lines[i];

		if (l->holds < l->bytes * PINNED_TIMES || l->holds < WORTH / 4)
			continue;
		mw_buf_str(&b, named++ ? ", " : "Few blocks keep many pages: ");
		mw_buf_tsv(&b, l->location, l->location_len);
		amount_in(&b, " holds ", l->holds, " with ");
		amount(&b, l->bytes);
	}
	if (named) {
		mw_buf_str(&b, ". Allocated early, or freed, they would leave these pages.");
		give(a, &b);
	}
}

static void on_sharing(const struct advice *a)
{
	struct mw_buf b = { 0 };

	if (!worth(a->m, a->m->shared))
		return;
	amount(&b, a->m->shared);
	mw_buf_str(&b, " is still shared with another process since a fork: each counts it in its RSS.");
	give(a, &b);
}

bool mw_map_explains(enum mw_verdict_kind kind)
{
	return kind == MW_VERDICT_FRAGMENTATION || kind == MW_VERDICT_NATIVE;
}

static void append(void *ctx, const char *text)
{
	struct mw_buf *b = ctx;

	mw_buf_str(b, " ");
	mw_buf_str(b, text);
}

static void say_kept(struct mw_buf *b, const struct mw_map *m)
{
	const struct advice a = { m, append, b };

	if (m->missing)
		return;
	amount_in(b, "Now ", m->parts[MW_MAP_EMPTY], " is empty pages, ");
	if (m->parts[MW_MAP_ENDS]) {
		amount(b, m->parts[MW_MAP_ENDS]);
		mw_buf_str(b, " the ends of thread arenas, ");
	}
	amount(b, m->parts[MW_MAP_HOLES]);
	mw_buf_str(b, " holes beside live blocks.");
	on_trim(&a);
	on_arenas(&a);
	on_lines(&a);
}

static void say_mapped(struct mw_buf *b, const struct mw_map *m)
{
	for (uint32_t i = 0; i < m->n_mappings && i < LINES_NAMED; i++) {
		mw_buf_str(b, i ? ", " : "In memory of what was mapped: ");
		amount(b, m->mappings[i].resident);
		mw_buf_str(b, " at ");
		mw_buf_tsv(b, m->mappings[i].location, m->mappings[i].location_len);
	}
	if (m->n_mappings)
		mw_buf_str(b, ".");
}

void mw_map_on_verdict(struct mw_buf *b, const struct mw_map *m, enum mw_verdict_kind kind)
{
	size_t n = b->n;

	if (kind == MW_VERDICT_FRAGMENTATION)
		say_kept(b, m);
	else if (kind == MW_VERDICT_NATIVE)
		say_mapped(b, m);
	if (b->n > n)
		mw_buf_str(b, "\n");
}

void mw_map_advice(const struct mw_map *m, void (*say)(void *ctx, const char *text), void *ctx)
{
	const struct advice a = { m, say, ctx };

	on_trim(&a);
	on_arenas(&a);
	on_lines(&a);
	on_sharing(&a);
}
