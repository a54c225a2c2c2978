/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "samples.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "server/holders/describe.h"
#include "shared/sys/atomics.h"
#include "shared/sys/ranks.h"
#include "shared/sys/sys.h"

enum { TRIES = 100, NAME = 64 };

static const struct mw_api *api;
static struct mw_samples *samples; /* written once, before the first hook */
static uint32_t changes; /* odd: a writer writes */
static char (*names)[NAME]; /* names[0] is class 1; each is written before n_names says so */
static uint32_t n_names; /* release, acquire */

bool mw_samples_make(const struct mw_api *a)
{
	if (samples)
		return true;
	names = a->keep(MW_CLASSES * sizeof(*names));
	samples = names ? a->keep(sizeof(*samples)) : NULL;
	api = a;
	return samples != NULL;
}

static uint32_t depth; /* the writer's */

struct mw_samples *mw_samples_begin(void)
{
	if (depth++)
		return samples;
	mw_rank_took(MW_RANK_SAMPLES); /* waits for nobody itself */
	mw_set(&changes, mw_get(&changes) + 1);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* pairs with the reader's second look */
	return samples;
}

void mw_samples_end(void)
{
	if (--depth)
		return;
	mw_rank_left(MW_RANK_SAMPLES);
	__atomic_store_n(&changes, mw_get(&changes) + 1, __ATOMIC_RELEASE);
}

void mw_samples_as_of(struct mw_samples *s, size_t collections, size_t majors)
{
	mw_set(&s->count, collections);
	s->majors = majors;
}

void mw_sample_drop(struct mw_samples *s, uint32_t i)
{
	api->object_gone(s->v[i].id, s->v[i].stack);
	s->v[i] = s->v[--s->n];
}

/* Of an address and the page that it may lie in. */
static int within(const void *a, const void *b)
{
	const uintptr_t *p = a;
	const struct mw_heap_page *page = b;

	return *p < page->addr ? -1 : *p >= page->addr + page->bytes;
}

static int compare_heap_pages(const void *a, const void *b)
{
	const struct mw_heap_page *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool can_be_read(uintptr_t p)
{
	uintptr_t word;
	struct iovec here = { &word, sizeof(word) }, there = { (void *)p, sizeof(word) };

	return process_vm_readv(mw_sys_getpid(), &here, 1, &there, 1, 0) == (ssize_t)sizeof(word);
}

/*
 * Heap pages were unmapped: forgets what lay in them. The tracker has a list of pages, unless it was attached. In a thread of
 * the app's, within a collection: nothing here may wait for what the server does, as api->stats would.
 */
void mw_samples_unmapped(struct mw_samples *s)
{
	struct mw_heap *h;
	bool whole;

	api->quiet_enter(); /* qsort may allocate */
	h = api->heap();
	whole = h && h->whole && h->n > 0;
	if (whole)
		qsort(h->v, h->n, sizeof(*h->v), compare_heap_pages);
	for (uint32_t i = s->n; i-- > 0;)
		if (whole ? !bsearch(&s->v[i].object, h->v, h->n, sizeof(*h->v), within) :
			    !can_be_read(s->v[i].object))
			mw_sample_drop(s, i);
	if (h)
		api->heap_free(h);
	api->quiet_leave();
}

static uint16_t at_most(uint32_t v)
{
	return v < UINT16_MAX ? (uint16_t)v : UINT16_MAX;
}

void mw_sample_outlived(struct mw_sample *s, size_t collections, size_t majors)
{
	s->survived = at_most((uint32_t)collections - s->count);
	s->majors = at_most((uint32_t)majors - s->majors_then);
	s->moved = false;
}

static bool is_young(const struct mw_sample *s)
{
	return !s->survived;
}

void mw_samples_thin(struct mw_samples *s, uint64_t (*random)(void))
{
	uint32_t young = 0;
	bool all;

	for (uint32_t i = 0; i < s->n; i++)
		young += is_young(&s->v[i]);
	all = young < s->n / 2;
	for (uint32_t i = s->n; i-- > 0;) {
		if (!all && !is_young(&s->v[i]))
			continue;
		if (random() & 1)
			mw_sample_drop(s, i);
		else
			s->v[i].weight *= 2;
	}
}

/* --- classes ------------------------------------------------------------------------------------ */

static uint16_t class_number_of(uintptr_t object)
{
	char name[MW_LABEL];
	uint32_t n = mw_get(&n_names), i;

	mw_holder_label(object, name);
	name[NAME - 1] = 0;
	for (i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return (uint16_t)(i + 1);
	if (n == MW_CLASSES)
		return MW_CLASSES;
	strcpy(names[n], n == MW_CLASSES - 1 ? "(others)" : name);
	__atomic_store_n(&n_names, n + 1, __ATOMIC_RELEASE);
	return (uint16_t)(n + 1);
}

void mw_samples_name(struct mw_samples *s, bool (*alive)(uintptr_t object))
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!s->v[i].class && s->v[i].survived && (!alive || alive(s->v[i].object)))
			s->v[i].class = class_number_of(s->v[i].object);
}

const char *mw_sample_class(const struct mw_sample *s)
{
	return s->class && s->class <= __atomic_load_n(&n_names, __ATOMIC_ACQUIRE) ?
		       names[s->class - 1] :
		       "";
}

uint32_t mw_samples_n(void)
{
	return samples ? mw_get(&samples->n) : 0;
}

size_t mw_samples_collections(void)
{
	return samples ? mw_get(&samples->count) : 0;
}

uint32_t mw_samples_changes(void)
{
	return mw_get(&changes);
}

/* --- readers --------------------------------------------------------------------------------------- */

static bool copy_samples(struct mw_samples *to)
{
	uint32_t was = __atomic_load_n(&changes, __ATOMIC_ACQUIRE);

	if (was % 2)
		return false;
	to->count = samples->count;
	to->majors = samples->majors;
	to->n = samples->n;
	if (to->n > MW_SAMPLES)
		return false;
	memcpy(to->v, samples->v, to->n * sizeof(*to->v));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return mw_get(&changes) == was;
}

struct mw_samples *mw_samples_copy(void)
{
	struct mw_samples *to = samples ? malloc(sizeof(*to)) : NULL;

	for (int i = 0; to && i < TRIES; i++)
		if (copy_samples(to))
			return to;
	free(to);
	return NULL;
}
