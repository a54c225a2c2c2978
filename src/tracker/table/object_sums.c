/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "object_sums.h"

#include <stdlib.h>

#include "shared/sys/atomics.h"
#include "callsite.h"

static uint16_t held[MW_CS_MAX]; /* relaxed; memory is there for ids that were ever held */

/*
 * Two lists: readers use one while the other is written. If another was published while a reader looked,
 * its own may be written next. So it looks again.
 */
static struct list {
	uint32_t n;
	struct mw_object_sum v[MW_OBJECT_SUMS];
} lists[2];
static uint32_t published; /* release, acquire; lists[published % 2] counts */

void mw_object_hold(uint32_t id)
{
	mw_add(&held[id], 1);
}

void mw_object_let_go(uint32_t id)
{
	mw_assert(mw_get(&held[id]));
	mw_add(&held[id], (uint16_t)-1);
}

bool mw_objects_held(uint32_t id)
{
	return mw_get(&held[id]) != 0;
}

void mw_objects_publish(const struct mw_object_sum *v, size_t n)
{
	uint32_t next = mw_get(&published) + 1;
	struct list *to = &lists[next % 2];

	to->n = (uint32_t)(n < MW_OBJECT_SUMS ? n : MW_OBJECT_SUMS);
	for (uint32_t i = 0; i < to->n; i++)
		to->v[i] = v[i];
	__atomic_store_n(&published, next, __ATOMIC_RELEASE);
}

static int compare_sum_id(const void *a, const void *b)
{
	const uint32_t *id = a;
	const struct mw_object_sum *s = b;

	return *id < s->id ? -1 : *id > s->id;
}

static const struct mw_object_sum *find_sum(const struct list *l, uint32_t id)
{
	uint32_t n = l->n < MW_OBJECT_SUMS ? l->n : MW_OBJECT_SUMS;

	return bsearch(&id, l->v, n, sizeof(*l->v), compare_sum_id);
}

bool mw_objects_add(struct mw_row *r, uint32_t id)
{
	struct mw_object_sum sum = { 0 };
	const struct mw_object_sum *found;
	uint32_t was;

	do {
		was = __atomic_load_n(&published, __ATOMIC_ACQUIRE);
		found = find_sum(&lists[was % 2], id);
		if (found)
			sum = *found;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (mw_get(&published) != was);
	if (!found)
		return false;
	r->objects += sum.objects;
	r->object_bytes += sum.bytes;
	r->object_samples += sum.samples;
	r->object_variance += sum.variance;
	return true;
}
