/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live_blocks.c - copies live allocations out of the records; see snapshot.h. */
#include <stdlib.h>
#include <string.h>

#include "snapshot.h"
#include "record.h"
#include "tail.h"

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static bool push(struct mw_lives **l, size_t *cap, const struct mw_live *v)
{
	if ((*l)->n == *cap) {
		size_t more = *cap * 2;
		struct mw_lives *p = realloc(*l, sizeof(*p) + more * sizeof(*v));

		if (!p)
			return false;
		*l = p;
		*cap = more;
	}
	((struct mw_live *)(void *)(*l + 1))[(*l)->n++] = *v;
	return true;
}

/* The rest of a record that was seen live at `where`; false: freed meanwhile. */
static bool complete_live(struct mw_live *v, const struct mw_record *r, uint64_t where)
{
	uint32_t size = mw_get(&r->size), generation = mw_get(&r->generation);

	v->size = mw_size_decode(size);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (mw_get(&r->where) != where)
		return false;
	/* freed and taken again for the same address: size may have been a link */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (mw_get(&r->size) != size || mw_get(&r->generation) != generation)
		return false;
	v->addr = mw_record_block(where) & ~(uintptr_t)15;
	v->generation = generation * mw_life_scale;
	return true;
}

struct mw_lives *mw_lives_take(const uint32_t *ids, size_t n)
{
	uint32_t end = mw_records_end(), *wanted = malloc((n + 1) * sizeof(*wanted));
	size_t cap = 1024;
	struct mw_lives *l = malloc(sizeof(*l) + cap * sizeof(struct mw_live));

	if (!l || !wanted)
		goto fail;
	l->n = 0;
	if (ids)
		memcpy(wanted, ids, n * sizeof(*wanted));
	qsort(wanted, n, sizeof(*wanted), compare_ids);
	for (uint32_t i = MW_BATCH; i < end; i++) {
		const struct mw_record *r = mw_record_at(i);
		uint64_t where = __atomic_load_n(&r->where, __ATOMIC_ACQUIRE);
		struct mw_live v;

		if (!mw_record_live(where))
			continue;
		v.ref = 0;
		v.id = mw_callsite_shown((uint32_t)where & MW_CS_MASK);
		if (ids && !bsearch(&v.id, wanted, n, sizeof(*wanted), compare_ids))
			continue;
		if (complete_live(&v, r, where) && !push(&l, &cap, &v))
			goto fail;
	}
	free(wanted);
	l->v = (struct mw_live *)(void *)(l + 1);
	return l;
fail:
	free(wanted);
	free(l);
	return NULL;
}

void mw_lives_each(void (*f)(const struct mw_live *, void *ctx), void *ctx)
{
	uint32_t end = mw_records_end();

	for (uint32_t i = MW_BATCH; i < end; i++) {
		const struct mw_record *r = mw_record_at(i);
		uint64_t where = __atomic_load_n(&r->where, __ATOMIC_ACQUIRE);
		struct mw_live v;

		if (!mw_record_live(where))
			continue;
		v.ref = i;
		v.id = mw_callsite_shown((uint32_t)where & MW_CS_MASK);
		if (complete_live(&v, r, where))
			f(&v, ctx);
	}
}

/* Its tail is behind its bytes, and behind an allocator's rest of them: a fifth in size classes, less than 64 bytes on glibc. */
bool mw_live_leads(const struct mw_live *l, size_t room)
{
	const void *p = (const void *)l->addr;
	size_t at = (l->size + 7) & ~(size_t)7, end = l->size + l->size / 4 + 64;

	for (; at <= end && at + MW_TAIL <= room; at += MW_TAIL)
		if (mw_tail_checks_at(p, at) && mw_ref_index(mw_tail_read_at(p, at)) == l->ref)
			return true;
	return false;
}

void mw_lives_free(struct mw_lives *l)
{
	free(l);
}
