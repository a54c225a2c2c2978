/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ended_threads.c - glibc keeps stacks of ended threads for new ones, each with its table of the blocks of
 * thread-local variables. Only a list of its own leads there: the last of three in the dynamic linker's variables.
 */
#include <pthread.h>

#include "native_roots.h"
#include "shared/sys/thread_pointer.h"

enum { THREAD = 4096 }; /* bytes that glibc's struct of a thread doesn't exceed */

struct list {
	const struct list *next, *prev;
};

struct mappings {
	const struct mw_mapping *v;
	size_t n;
};

static bool is_readable(const struct mappings *m, const struct list *l)
{
	uintptr_t at = (uintptr_t)l;
	const struct mw_mapping *in = at % sizeof(at) ? NULL : mw_mapping_of(m->v, m->n, at);

	return in && in->end - at >= sizeof(*l);
}

static bool is_linked(const struct mappings *m, const struct list *l)
{
	return is_readable(m, l) && is_readable(m, l->next) && is_readable(m, l->prev) &&
	       l->next->prev == l && l->prev->next == l;
}

/* How far behind its beginning a thread's struct has its place in the list; 0: the thread isn't in this one. */
static uintptr_t place_of(const struct mappings *m, const struct list *head, uintptr_t thread)
{
	const struct list *l = head->next;

	for (int i = 0; i < MW_AREAS && l != head && is_readable(m, l); i++, l = l->next)
		if ((uintptr_t)l - thread < THREAD)
			return (uintptr_t)l - thread;
	return 0;
}

void mw_areas_of_ended(struct mw_areas *a, const struct mw_mapping *v, size_t n)
{
	const struct mappings m = { v, n };
	uintptr_t at, place = 0;
	const struct list *three = NULL, *l;

	for (at = a->linker; !place && at + 3 * sizeof(*l) <= a->linker_end; at += sizeof(at)) {
		three = (const struct list *)at;
		if (is_linked(&m, three) && is_linked(&m, three + 1) && is_linked(&m, three + 2) &&
		    !(place = place_of(&m, three, a->main_thread)))
			place = place_of(&m, three + 1, a->main_thread);
	}
	if (!place)
		return;
	l = three[2].next;
	for (; a->n < MW_AREAS && l != three + 2 && is_readable(&m, l); l = l->next) {
		/* the table is in the first or the second word */
		at = (uintptr_t)l - place + (mw_thread_pointer() - (uintptr_t)pthread_self());
		mw_area_add_ended(a, at, at + 2 * sizeof(at));
	}
}
