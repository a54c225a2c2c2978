/* SPDX-License-Identifier: GPL-2.0-or-later */
/* snapshot.c - rows, copied out of the table; see snapshot.h. */
#include "snapshot.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "shared/sys/clock.h"
#include "callers.h"
#include "symbols.h"

/*
 * One block holds the snapshot, its rows and their texts. It is megabytes in a large process, and
 * lives for milliseconds. It has a mapping of its own: malloc would keep that memory, and at its
 * free raise the size from which the app's own blocks get mappings (M_MMAP_THRESHOLD).
 */
struct block {
	size_t bytes;
	bool again; /* the next snapshot may have it */
	struct mw_snapshot s;
};

/*
 * Snapshots that follow each other soon, as while a page is open, use a block again: the kernel takes
 * longer to make fresh pages than they take to fill.
 */
enum { SOON_MS = 3000 };
static struct block *spare; /* the thread that exchanges it owns the old one: acquire, release */
static uint64_t last_ms; /* of the last one; relaxed */

struct building {
	struct mw_snapshot *s;
	char *text, *end;
	bool full;
};

/* Appends; once there is no room, nothing more is appended. */
static void append_text(struct building *b, const char *text, size_t n)
{
	if ((size_t)(b->end - b->text) <= n)
		b->full = true;
	if (b->full)
		return;
	memcpy(b->text, text, n);
	b->text += n;
}

/* Replaces printf("%llu"), which took a third of a page's time. */
static void put_decimal(struct building *b, uint64_t v)
{
	char digits[20], *d = digits + sizeof(digits);

	do
		*--d = (char)('0' + v % 10);
	while (v /= 10);
	append_text(b, d, (size_t)(digits + sizeof(digits) - d));
}

static void put_native(struct building *b, const struct mw_callsite *c)
{
	const char *symbol = mw_symbol(mw_callsite_id(c));
	char where[64];

	if (symbol) {
		append_text(b, symbol, strlen(symbol));
		return;
	}
	if (c->path)
		append_text(b, c->path->text, c->path->len);
	append_text(b, where,
		    (size_t)snprintf(where, sizeof(where), "(+0x%llx) [0x%llx]", (unsigned long long)c->at,
				     (unsigned long long)mw_callsite_addr(c->path, c->at)));
}

static void put_ruby(struct building *b, const struct mw_callsite *c)
{
	const struct mw_path *callers = c->callers;

	append_text(b, c->path->text, c->path->len);
	append_text(b, ":", 1);
	put_decimal(b, c->at);
	if (mw_callers_need_mark(c->path->text, c->path->len))
		append_text(b, MW_CALLERS_MARK, strlen(MW_CALLERS_MARK));
	if (!callers)
		return;
	append_text(b, MW_CALLERS_BETWEEN, strlen(MW_CALLERS_BETWEEN));
	append_text(b, callers->text, callers->len);
}

static const char *put_name(struct building *b, struct mw_row *r, const struct mw_callsite *c)
{
	char *out = b->text;

	switch (mw_get(&c->kind)) {
	case MW_CS_RUBY:
		put_ruby(b, c);
		r->kind = MW_KIND_RUBY;
		r->file_len = c->path->len;
		r->at = c->at;
		break;
	case MW_CS_NATIVE:
		put_native(b, c);
		r->kind = MW_KIND_NATIVE;
		r->file_len = c->path ? c->path->len : 0;
		r->at = c->at;
		break;
	default:
		append_text(b, mw_callsite_special(r->id), strlen(mw_callsite_special(r->id)));
		r->kind = MW_KIND_SPECIAL;
	}
	r->location_len = (uint32_t)(b->text - out);
	append_text(b, "", 1);
	return b->full ? "" : out;
}

static void build(struct building *b, const struct mw_sum *sums, uint32_t end)
{
	struct mw_snapshot *s = b->s;
	uint32_t *row_of = (uint32_t *)(void *)(s->rows + end); /* id -> row + 1 */

	memset(row_of, 0, end * sizeof(*row_of));
	mw_rcu_enter();
	for (int pass = 0; pass < 2; pass++) {
		/* first the locations, then the aliases that add to them */
		for (uint32_t id = 1; id < end && !b->full; id++) {
			const struct mw_callsite *c = mw_callsite(id);
			uint32_t real = mw_callsite_shown(id);
			struct mw_row *r;

			/* a line found since the sums were taken may have an id that they lack */
			if (real >= end)
				real = MW_CS_UNKNOWN;
			/* an alias made between the passes was added in the first one */
			if (__atomic_load_n(&c->kind, __ATOMIC_ACQUIRE) == MW_CS_FREE ||
			    (real != id) != pass || (pass && row_of[id]))
				continue;
			if (row_of[real]) {
				(void)mw_row_count(&s->rows[row_of[real] - 1], id, &sums[id]);
				continue;
			}
			r = &s->rows[s->n];
			memset(r, 0, sizeof(*r));
			r->id = real;
			if (!mw_row_count(r, id, &sums[id]))
				continue;
			r->location = put_name(b, r, mw_callsite(real));
			row_of[real] = (uint32_t)++s->n;
		}
	}
	mw_rcu_leave();
}

static void return_block(struct block *b)
{
	if (b)
		mw_arena_return(b, b->bytes);
}

static struct mw_snapshot *lend(size_t bytes)
{
	struct block *b = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQUIRE);
	uint64_t now = mw_now_ms(), last = __atomic_exchange_n(&last_ms, now, __ATOMIC_RELAXED);

	if (b && b->bytes < bytes) {
		return_block(b);
		b = NULL;
	}
	if (!b) {
		bytes += bytes / 8; /* the table may grow; what isn't used is never touched */
		b = mw_arena_lend(bytes);
		if (!b)
			return NULL;
		b->bytes = bytes;
	}
	b->again = now - last < SOON_MS;
	return &b->s;
}

enum { NAME = 128 }; /* bytes for a location's text; unused ones are never touched */

struct mw_snapshot *mw_snapshot_take(void)
{
	size_t name = NAME, fixed, texts;
	struct building b = { 0 };
	struct mw_sum *sums;
	uint32_t end;

	mw_name_natives();
	for (;;) {
		mw_reading_lock();
		sums = mw_sums(&end);
		fixed = sizeof(struct block) + end * (sizeof(struct mw_row) + sizeof(uint32_t));
		texts = end * name + 4096;
		b.s = sums ? lend(fixed + texts) : NULL;
		if (b.s) {
			b.s->n = 0;
			b.s->family = b.s->kinds = false;
			b.s->rows = (struct mw_row *)(void *)(b.s + 1);
			b.text = (char *)b.s - offsetof(struct block, s) + fixed;
			b.end = b.text + texts;
			b.full = false;
			build(&b, sums, end);
		}
		if (sums)
			mw_sums_free(sums, end);
		mw_reading_unlock();
		if (!b.s || !b.full)
			return b.s;
		mw_snapshot_free(b.s);
		name *= 4;
	}
}

void mw_snapshot_free(struct mw_snapshot *s)
{
	struct block *b = s ? (struct block *)(void *)((char *)s - offsetof(struct block, s)) : NULL;

	if (b && b->again)
		b = __atomic_exchange_n(&spare, b, __ATOMIC_ACQ_REL);
	return_block(b);
}
