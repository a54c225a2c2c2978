/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "intern.h"
#include "shared/sys/mw_assert.h"

enum { FIRST_SLOTS = 64 };

const char *mw_interned(const struct mw_intern *t, uint32_t id, size_t *len)
{
	size_t from = id ? t->ends[id - 1] : 0;

	mw_assert(id < t->n && from <= t->ends[id] && t->ends[id] <= t->bytes.n);
	*len = t->ends[id] - from;
	return t->bytes.p + from;
}

/* The slot of this piece, or the free one where it belongs. */
static struct mw_intern_slot *find_slot(const struct mw_intern *t, uint32_t hash, const void *p, size_t n)
{
	for (uint32_t i = hash;; i++) {
		struct mw_intern_slot *s = &t->slots[i & (t->cap - 1)];
		const char *have;
		size_t len;

		if (!s->id)
			return s;
		if (s->hash != hash)
			continue;
		have = mw_interned(t, s->id - 1, &len);
		if (len == n && (!n || !memcmp(have, p, n)))
			return s;
	}
}

/* All slots of t move to new ones, twice as many. Pieces aren't compared: they differ. */
static void move(struct mw_intern *t, struct mw_intern_slot *slots, uint32_t cap)
{
	for (uint32_t i = 0; i < t->cap; i++) {
		uint32_t at = t->slots[i].hash;

		if (!t->slots[i].id)
			continue;
		while (slots[at & (cap - 1)].id)
			at++;
		slots[at & (cap - 1)] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->cap = cap;
}

/* Room for one more piece. */
static bool grow_intern(struct mw_intern *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : FIRST_SLOTS;
	struct mw_intern_slot *slots;
	size_t *ends;

	if (t->n < t->cap / 2)
		return true;
	if (cap < t->cap)
		return false;
	ends = realloc(t->ends, cap / 2 * sizeof(*ends));
	if (!ends)
		return false;
	t->ends = ends;
	slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return false;
	move(t, slots, cap);
	return true;
}

uint32_t mw_intern(struct mw_intern *t, const void *p, size_t n)
{
	uint32_t hash = (uint32_t)XXH3_64bits(p, n);
	struct mw_intern_slot *s;

	if (t->failed)
		return UINT32_MAX;
	if (!grow_intern(t))
		goto fail;
	mw_assert(t->n < t->cap / 2 && (t->cap & (t->cap - 1)) == 0); /* so a search ends */
	s = find_slot(t, hash, p, n);
	if (s->id)
		return s->id - 1;
	mw_buf_add(&t->bytes, p, n);
	if (t->bytes.failed)
		goto fail;
	t->ends[t->n++] = t->bytes.n;
	*s = (struct mw_intern_slot){ t->n, hash };
	return t->n - 1;
fail:
	t->failed = true;
	return UINT32_MAX;
}

uint32_t mw_intern_str(struct mw_intern *t, const char *s)
{
	return mw_intern(t, s, strlen(s));
}

void mw_intern_free(struct mw_intern *t)
{
	mw_buf_free(&t->bytes);
	free(t->ends);
	free(t->slots);
	*t = (struct mw_intern){ 0 };
}
