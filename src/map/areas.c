/* SPDX-License-Identifier: GPL-2.0-or-later */
/* areas.c - see areas.h. */
#include "areas.h"

#include <string.h>
#include <unistd.h>

#include "base/maps.h"
#include "base/sys.h"

#define HEAP_MAX ((uintptr_t)64 << 20) /* glibc's HEAP_MAX_SIZE: a heap's address is a multiple of it */
enum { GUARD_MAX = 1 << 20, STACK_MAX = 64 << 20, ROOM = 4096 };

struct maker {
	struct mw_map_areas *to;
	struct mw_map_areas cuts; /* the tracker's pieces and Ruby's heap pages */
	uintptr_t *stacks; /* threads' stack pointers */
	size_t stacks_n, stacks_room;
	size_t cut; /* the next one */
	uintptr_t guard_end; /* of the last mapping, if that was a guard */
	bool glibc;
	int memory; /* /proc/self/mem; -1: none */
};

static void push(struct mw_map_areas *a, struct mw_map_area v)
{
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
	if (v.start >= v.end)
		return;
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
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	push(ctx, (struct mw_map_area){ .start = start,
					.end = (start + bytes + page - 1) & ~(page - 1),
					.kind = MW_AREA_OWN });
}

static void sift(struct mw_map_area *v, size_t at, size_t n)
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
		sift(a->v, i, a->n);
	for (size_t n = a->n; n > 1;) {
		struct mw_map_area t = a->v[0];

		a->v[0] = a->v[--n];
		a->v[n] = t;
		sift(a->v, 0, n);
	}
}

static void find_cuts(struct maker *m, const struct mw_api *api)
{
	struct mw_heap *heap = api->heap();

	for (size_t i = 0; heap && i < heap->n; i++)
		push(&m->cuts, (struct mw_map_area){ .start = heap->v[i].addr,
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
	struct maker *m = ctx;
	uintptr_t sp = mw_task_stack_pointer(task);

	if (sp && m->stacks_n < m->stacks_room)
		m->stacks[m->stacks_n++] = sp;
}

static bool has_stack(const struct maker *m, uintptr_t start, uintptr_t end)
{
	for (size_t i = 0; i < m->stacks_n; i++)
		if (m->stacks[i] >= start && m->stacks[i] < end)
			return true;
	return false;
}

/* --- the areas of a mapping ---------------------------------------------------------------- */

/* Puts [start, end) into the list, but for what is cut out of it. */
static void put(struct maker *m, struct mw_map_area v)
{
	while (m->cut < m->cuts.n && m->cuts.v[m->cut].end <= v.start)
		m->cut++;
	while (m->cut < m->cuts.n && m->cuts.v[m->cut].start < v.end) {
		struct mw_map_area c = m->cuts.v[m->cut], before = v;

		if (c.start < v.start)
			c.start = v.start;
		before.end = c.start;
		push(m->to, before);
		if (c.end > v.end) { /* it goes on in the next mapping */
			c.end = v.end;
			push(m->to, c);
			return;
		}
		push(m->to, c);
		v.start = c.end;
		m->cut++;
	}
	push(m->to, v);
}

/* As at the start of glibc's heap_info. */
struct header {
	uintptr_t arena, previous;
	size_t size, accessible;
};

/* A heap's header at `at`, in a mapping that ends at `end`. */
static bool heap_at(const struct maker *m, uintptr_t at, uintptr_t end, struct header *h)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	if (m->memory < 0 ||
	    mw_sys(SYS_pread64, m->memory, mw_sys_ptr(h), sizeof(*h), (long)at, 0) != sizeof(*h))
		return false;
	if (!h->size || h->size > h->accessible || h->accessible > HEAP_MAX || h->size % page ||
	    h->accessible % page || h->accessible > end - at)
		return false;
	if (h->previous) /* the arena's struct lies in its first heap, behind the header */
		return h->previous % HEAP_MAX == 0 && h->arena % HEAP_MAX < page && h->arena - at >= page;
	return h->arena > at && h->arena - at < page;
}

static void put_anonymous(struct maker *m, struct mw_map_area v, bool guarded)
{
	bool any = false;

	for (uintptr_t w = (v.start + HEAP_MAX - 1) & ~(HEAP_MAX - 1); m->glibc && w < v.end;
	     w += HEAP_MAX) {
		struct header h;

		if (!heap_at(m, w, v.end, &h))
			continue;
		any = true;
		put(m, (struct mw_map_area){ .start = v.start, .end = w, .kind = MW_AREA_ANON });
		put(m, (struct mw_map_area){ .start = w,
					     .end = w + h.size,
					     .kind = MW_AREA_ARENA,
					     .arena = h.arena,
					     .previous = h.previous });
		v.start = w + h.size;
	}
	if (!any && has_stack(m, v.start, v.end))
		v.kind = MW_AREA_STACK;
	v.guarded = !any && guarded && v.end - v.start <= STACK_MAX;
	put(m, v);
}

static void take_mapping(const struct mw_maps_line *l, void *ctx)
{
	struct maker *m = ctx;
	struct mw_map_area v = { .start = l->start, .end = l->end, .kind = MW_AREA_ANON };
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
	if (v.kind == MW_AREA_ANON)
		put_anonymous(m, v, guarded && l->write);
	else
		put(m, v);
}

bool mw_map_areas_make(struct mw_map_areas *a, const struct mw_api *api, bool glibc)
{
	struct maker m = { .to = a, .glibc = glibc, .stacks_room = 1 << 16 };
	bool ok;

	*a = (struct mw_map_areas){ 0 };
	m.stacks = mw_map_memory(m.stacks_room * sizeof(*m.stacks));
	if (!m.stacks)
		return false;
	m.memory = mw_sys_open("/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
	find_cuts(&m, api);
	mw_tasks_each(find_stack, &m);
	ok = mw_maps_each(take_mapping, &m) && !a->failed && !m.cuts.failed;
	if (m.memory >= 0)
		mw_sys_close(m.memory);
	mw_map_areas_free(&m.cuts);
	mw_map_memory_free(m.stacks, m.stacks_room * sizeof(*m.stacks));
	if (!ok)
		mw_map_areas_free(a);
	return ok;
}
