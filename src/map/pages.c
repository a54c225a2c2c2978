/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pages.c - see pages.h. */
#include "pages.h"

#include <unistd.h>

static size_t directory_bytes(void)
{
	return sizeof(struct mw_map_entry *) << (MW_MAP_ADDRESS - MW_MAP_WINDOW);
}

static size_t window_bytes(const struct mw_map_pages *p)
{
	return sizeof(struct mw_map_entry) << (MW_MAP_WINDOW - p->shift);
}

bool mw_map_pages_make(struct mw_map_pages *p)
{
	*p = (struct mw_map_pages){
		.windows = mw_map_memory(directory_bytes()),
		.shift = (unsigned)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE))
	};
	return p->windows;
}

struct mw_map_entry *mw_map_pages_add(struct mw_map_pages *p, uintptr_t at)
{
	struct mw_map_entry **w;

	if (at >> MW_MAP_ADDRESS)
		return NULL;
	w = &p->windows[at >> MW_MAP_WINDOW];
	if (!*w) {
		*w = mw_map_memory(window_bytes(p));
		p->n += *w != NULL;
		p->failed |= !*w;
	}
	return mw_map_entry(p, at);
}

uintptr_t mw_map_pages_skip(const struct mw_map_pages *p, uintptr_t at, uintptr_t end)
{
	while (at < end && !(at >> MW_MAP_ADDRESS) && !p->windows[at >> MW_MAP_WINDOW])
		at = ((at >> MW_MAP_WINDOW) + 1) << MW_MAP_WINDOW;
	return at < end ? at : end;
}

void mw_map_pages_free(struct mw_map_pages *p)
{
	size_t each = window_bytes(p);

	if (!p->windows)
		return;
	for (size_t i = 0; p->n && i < directory_bytes() / sizeof(*p->windows); i++)
		if (p->windows[i]) {
			mw_map_memory_free(p->windows[i], each);
			p->n--;
		}
	mw_map_memory_free(p->windows, directory_bytes());
	p->windows = NULL;
}
