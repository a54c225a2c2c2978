/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "areas.h"

#include <string.h>
#include <unistd.h>

#include "shared/sys/maps.h"
#include "shared/sys/sys.h"

enum { GUARD_MAX = 1 << 20, STACK_MAX = 64 << 20, ROOM = 4096 };

struct maker {
	struct mw_map_areas *to;
	struct mw_map_areas cuts; /* the tracker's pieces and Ruby's heap pages */
	struct mw_map_areas stacks; /* the words that threads' stack pointers point to */
	size_t cut; /* the next one */
	uintptr_t guard_end; /* of the last mapping, if that was a guard */
};

void mw_map_areas_push(struct mw_map_areas *a, struct mw_map_area v)
{
	if (v.start >= v.end)
		return;
	if (a->n == MW_MAP_AREAS_MAX) {
		a->dropped += v.end - v.start;
		return;
	}
	if (a->n == a->room) {
		size_t room = a->room ? a->room * 2 : ROOM;
		struct mw_map_area *more = mw_map_memory(room * sizeof(*more));

		if (!more) {
			a->failed = true;
			return;
		}
		if (a->n)
			memcpy(more, a->v, a->n * sizeof(*more));
		mw_map_memory_free(a->v, a->room * sizeof(*more));
		a->v = more;
		a->room = room;
	}
	if (v.kind == MW_AREA_RUBY && a->n && a->v[a->n - 1].kind == MW_AREA_RUBY &&
	    a->v[a->n - 1].end == v.start)
		a->v[a->n - 1].end = v.end;
	else
		a->v[a->n++] = v;
}

void mw_map_areas_free(struct mw_map_areas *a)
{
	mw_map_memory_free(a->v, a->room * sizeof(*a->v));
	*a = (struct mw_map_areas){ 0 };
}

struct mw_map_area *mw_map_area_from(const struct mw_map_areas *a, uintptr_t at)
{
	size_t low = 0, high = a->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (a->v[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return a->v + low;
}

struct mw_map_area *mw_map_area_at(const struct mw_map_areas *a, uintptr_t at)
{
	struct mw_map_area *v = mw_map_area_from(a, at);

	return v < a->v + a->n && v->start <= at ? v : NULL;
}

/* --- what is cut out --------------------------------------------------------------------- */

static void take_own(uintptr_t start, size_t bytes, void *ctx)
{
	uintptr_t page = mw_page_size();

	mw_map_areas_push(ctx, (struct mw_map_area){ .start = start,
						     .end = (start + bytes + page - 1) & ~(page - 1),
						     .kind = MW_AREA_OWN });
}

static void sift_area(struct mw_map_area *v, size_t at, size_t n)
{
	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		struct mw_map_area t = v[at];

		if (child + 1 < n && v[child].start < v[child + 1].start)
			child++;
		if (t.start >= v[child].start)
			return;
		v[at] = v[child];
		v[child] = t;
	}
}

/* By address, in place: qsort(3) may allocate. */
static void sort(struct mw_map_areas *a)
{
	for (size_t i = a->n / 2; i--;)
		sift_area(a->v, i, a->n);
	for (size_t n = a->n; n > 1;) {
		struct mw_map_area t = a->v[0];

		a->v[0] = a->v[--n];
		a->v[n] = t;
		sift_area(a->v, 0, n);
	}
}

static void find_cuts(struct maker *m, const struct mw_api *api)
{
	struct mw_heap *heap = api->heap();

	for (size_t i = 0; heap && i < heap->n; i++)
		mw_map_areas_push(&m->cuts, (struct mw_map_area){ .start = heap->v[i].addr,
								  .end = heap->v[i].addr + heap->v[i].bytes,
								  .kind = MW_AREA_RUBY });
	if (heap)
		api->heap_free(heap);
	if (api->each_own)
		api->each_own(take_own, &m->cuts);
	sort(&m->cuts);
}

static void find_stack(pid_t task, void *ctx)
{
	uintptr_t sp = mw_task_stack_pointer(task);

	if (sp)
		mw_map_areas_push(ctx, (struct mw_map_area){ .start = sp, .end = sp + 1 });
}

/* --- the areas of a mapping ---------------------------------------------------------------- */

/* Puts [start, end) into the list, but for what is cut out of it. */
static void put_area(struct maker *m, struct mw_map_area v)
{
	while (m->cut < m->cuts.n && m->cuts.v[m->cut].end <= v.start)
		m->cut++;
	while (m->cut < m->cuts.n && m->cuts.v[m->cut].start < v.end) {
		struct mw_map_area c = m->cuts.v[m->cut], before = v;

		c.mapping_end = v.mapping_end;
		if (c.start < v.start)
			c.start = v.start;
		before.end = c.start;
		mw_map_areas_push(m->to, before);
		if (c.end > v.end) { /* it goes on in the next mapping */
			c.end = v.end;
			mw_map_areas_push(m->to, c);
			return;
		}
		mw_map_areas_push(m->to, c);
		v.start = c.end;
		m->cut++;
	}
	mw_map_areas_push(m->to, v);
}

static void take_mapping(const struct mw_maps_line *l, void *ctx)
{
	struct maker *m = ctx;
	struct mw_map_area v = {
		.start = l->start, .end = l->end, .mapping_end = l->end, .kind = MW_AREA_ANON
	};
	const struct mw_map_area *stack = mw_map_area_from(&m->stacks, l->start);
	bool guarded = m->guard_end == l->start;

	m->guard_end = 0;
	if (l->special && strncmp(l->name, "[vd", 3) != 0)
		return;
	if (!strncmp(l->name, "[heap]", 6))
		v.kind = MW_AREA_HEAP;
	else if (!strncmp(l->name, "[stack", 6))
		v.kind = MW_AREA_STACK;
	else if (l->shared || (*l->name && strncmp(l->name, "[anon:", 6) != 0))
		v.kind = MW_AREA_FILE;
	else if (!l->read && !l->write)
		v.kind = MW_AREA_NONE;
	if (v.kind == MW_AREA_NONE && v.end - v.start <= GUARD_MAX)
		m->guard_end = v.end;
	v.guarded = v.kind == MW_AREA_ANON && guarded && l->write && v.end - v.start <= STACK_MAX;
	v.stack = v.kind == MW_AREA_ANON && stack < m->stacks.v + m->stacks.n && stack->start < v.end;
	put_area(m, v);
}

bool mw_map_areas_make(struct mw_map_areas *a, const struct mw_api *api)
{
	struct maker m = { .to = a };
	bool ok;

	*a = (struct mw_map_areas){ 0 };
	find_cuts(&m, api);
	mw_tasks_each(find_stack, &m.stacks);
	sort(&m.stacks);
	ok = mw_maps_each(take_mapping, &m) && !a->failed && !m.cuts.failed && !m.stacks.failed;
	mw_map_areas_free(&m.cuts);
	mw_map_areas_free(&m.stacks);
	if (!ok)
		mw_map_areas_free(a);
	return ok;
}
