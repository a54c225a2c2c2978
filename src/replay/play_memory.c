/* SPDX-License-Identifier: GPL-2.0-or-later */
/* play_memory.c - see play_memory.h. */
#include "play_memory.h"

#include <string.h>

#include "base/maps.h"
#include "map/residency.h"

enum { LIBRARIES_MOST = 256 };

/* Libraries' data that are zero at first, by address. */
static struct {
	uintptr_t start, end;
} data[LIBRARIES_MOST];
static size_t data_n;
static struct mw_residency residency;

static bool is_anonymous(const struct mw_maps_line *l)
{
	return !l->special && !l->shared && (!*l->name || !strncmp(l->name, "[anon:", 6));
}

/* They lie right behind the data that the library's file has. */
static void note_data(const struct mw_maps_line *l, void *ctx)
{
	uintptr_t *file_end = ctx;

	if (is_anonymous(l) && l->start == *file_end && l->write && data_n < LIBRARIES_MOST) {
		data[data_n].start = l->start;
		data[data_n++].end = l->end;
	}
	*file_end = *l->name == '/' ? l->end : 0;
}

bool mw_play_memory_begin(void)
{
	uintptr_t file_end = 0;

	mw_residency_open(&residency, MW_RESIDENCY_SCAN);
	return mw_maps_each(note_data, &file_end);
}

static void add_run(void *ctx, uintptr_t start, uintptr_t end, unsigned flags)
{
	uint64_t *sum = ctx;

	if (!(flags & MW_PAGE_FILE))
		*sum += end - start;
}

struct walk {
	uint64_t sum;
	size_t data; /* the next one */
};

/* The kernel may have joined a mapping of malloc's with a library's data. */
static void add_mapping(const struct mw_maps_line *l, void *ctx)
{
	struct walk *w = ctx;
	uintptr_t at = l->start;

	if (!(l->read || l->write) || !(is_anonymous(l) || !strncmp(l->name, "[heap]", 6)))
		return;
	for (; w->data < data_n && data[w->data].start < l->end; w->data++) {
		if (data[w->data].start > at)
			mw_residency_each(&residency, at, data[w->data].start, true, add_run, &w->sum);
		if (data[w->data].end > at)
			at = data[w->data].end;
	}
	if (at < l->end)
		mw_residency_each(&residency, at, l->end, true, add_run, &w->sum);
}

uint64_t mw_play_memory_of_malloc(void)
{
	struct walk w = { 0 };

	residency.budget = MW_RESIDENCY_BUDGET;
	mw_maps_each(add_mapping, &w);
	return w.sum;
}
