/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "native_roots.h"

#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "shared/sys/libc.h"
#include "shared/sys/maps.h"
#include "shared/sys/sys.h"

enum {
	RED_ZONE = 128,       /* bytes below the stack pointer that a function may use */
	TLS = 1 << 16,        /* before and behind the C library's struct of a thread */
	DEEPER = 1 << 12,
	LOOKS = 3             /* at a thread that runs */
};

#define THREAD_LOCAL "(thread-local variable)"

static void add_area(struct mw_areas *a, uintptr_t start, uintptr_t end, uintptr_t within, bool stack,
		     const char *name)
{
	struct mw_area *v;

	if (a->n == MW_AREAS)
		return;
	v = &a->v[a->n++];
	v->start = start & ~(sizeof(uintptr_t) - 1);
	v->end = end;
	v->within = within;
	v->stack = stack;
	v->ended = false;
	snprintf(v->name, sizeof(v->name), "%s", name);
}

void mw_area_add_ended(struct mw_areas *a, uintptr_t start, uintptr_t end)
{
	add_area(a, start, end, 0, false, "(ended thread)");
	a->v[a->n - 1].ended = true;
}

static void add_stack_area(struct mw_areas *a, uintptr_t from, uintptr_t sp)
{
	add_area(a, from, UINTPTR_MAX, sp, true, "(thread stack)");
}

/* --- libraries ---------------------------------------------------------------- */

static bool is_ours(const char *base)
{
	return !strncmp(base, "libmwrap", 8) || !strncmp(base, "mwrap_ext.", 10);
}

static void add_variables_of_threads(struct mw_areas *a, uintptr_t library)
{
	struct mw_object o;
	size_t bytes = mw_object_of(library, &o) ? mw_libc_entry_bytes(o.map) : 0;

	if (bytes)
		add_area(a, (uintptr_t)o.map, (uintptr_t)o.map + bytes, 0, false, THREAD_LOCAL);
}

static int add_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct mw_areas *a = ctx;
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *base = slash ? slash + 1 : info->dlpi_name;

	(void)size;
	if (is_ours(base))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_W) && p->p_memsz) {
			add_area(a, at, at + p->p_memsz, 0, false, *base ? base : "(the program)");
			if (info->dlpi_addr == mw_linker()->r_ldbase) {
				a->linker = at & ~(sizeof(at) - 1);
				a->linker_end = at + p->p_memsz;
			}
		}
		if (p->p_type == PT_TLS && p->p_memsz)
			add_variables_of_threads(a, at);
	}
	return 0;
}

/* --- threads ------------------------------------------------------------------ */

static void add_task(pid_t task, void *ctx)
{
	struct mw_areas *a = ctx;
	uintptr_t sp = 0;
	bool ran = false;

	if (task == (pid_t)mw_sys(SYS_gettid, 0, 0, 0, 0, 0)) {
		add_stack_area(a, a->sp, a->sp);
		return;
	}
	for (int i = 0; i < LOOKS && !(sp = mw_task_stack_pointer(task)); i++) {
		ran = true;
		mw_sys(SYS_sched_yield, 0, 0, 0, 0, 0);
	}
	if (!sp)
		a->unread++;
	else /* one that ran may have gone deeper at the fork */
		add_stack_area(a, ran ? sp - DEEPER : sp - RED_ZONE, sp);
}

void mw_areas_find(struct mw_areas *a, uintptr_t main_thread, uintptr_t sp)
{
	a->n = a->unread = 0;
	a->sp = sp;
	a->main_thread = main_thread;
	a->linker = a->linker_end = 0;
	mw_tasks_each(add_task, a);
	if (main_thread)
		add_area(a, main_thread - TLS, main_thread + TLS, main_thread, false, THREAD_LOCAL);
	dl_iterate_phdr(add_library, a);
}

/* --- mappings ------------------------------------------------------------------ */

struct readable {
	struct mw_mapping *to;
	size_t n, room;
};

static void take_readable(const struct mw_maps_line *m, void *ctx)
{
	struct readable *r = ctx;

	if (m->read && !m->special && r->n < r->room)
		r->to[r->n++] = (struct mw_mapping){ m->start, m->end };
}

size_t mw_mappings_read(struct mw_mapping *to, size_t room)
{
	struct readable r = { .to = to, .room = room };

	return mw_maps_each(take_readable, &r) ? r.n : 0;
}

const struct mw_mapping *mw_mapping_of(const struct mw_mapping *m, size_t n, uintptr_t at)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && m[low].start <= at ? &m[low] : NULL;
}

void mw_areas_bound(struct mw_areas *a, const struct mw_mapping *m, size_t n)
{
	for (uint32_t i = 0; i < a->n; i++) {
		struct mw_area *v = &a->v[i];
		const struct mw_mapping *in;

		if (!v->within)
			continue;
		in = mw_mapping_of(m, n, v->within);
		if (!in) {
			v->end = v->start;
			continue;
		}
		if (v->end > in->end)
			v->end = in->end;
		if (v->start < in->start)
			v->start = in->start;
	}
	mw_areas_of_ended(a, m, n);
}
