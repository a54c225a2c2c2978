/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "play_memory.h"

#include <link.h>
#include <string.h>
#include <unistd.h>

#include "shared/sys/maps.h"
#include "shared/sys/residency.h"
#include "shared/sys/sys.h"

enum { LIBRARIES_MOST = 256 };

/* The parts of libraries' data without a file, which are zero at first. By address. */
static struct range {
	uintptr_t start, end;
} data[LIBRARIES_MOST];
static size_t data_n;
static struct mw_residency residency;

static bool is_anonymous(const struct mw_maps_line *l)
{
	return !l->special && !l->shared && (!*l->name || !strncmp(l->name, "[anon:", 6));
}

static void insert(struct range r)
{
	size_t i = data_n;

	if (r.start >= r.end || data_n == LIBRARIES_MOST)
		return;
	for (; i && data[i - 1].start > r.start; i--)
		data[i] = data[i - 1];
	data[i] = r;
	data_n++;
}

static int note_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uintptr_t page = mw_page_size();

	(void)size;
	(void)ctx;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD)
			insert((struct range){ (at + p->p_filesz + page - 1) & ~(page - 1),
					       (at + p->p_memsz + page - 1) & ~(page - 1) });
	}
	return 0;
}

static void note_line(const struct mw_maps_line *l, void *ctx)
{
	(void)l;
	(void)ctx;
}

bool mw_play_memory_begin(void)
{
	mw_residency_open(&residency, MW_RESIDENCY_SCAN);
	dl_iterate_phdr(note_object, NULL);
	return mw_maps_each(note_line, NULL);
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
