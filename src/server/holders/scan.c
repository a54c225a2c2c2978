/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scan.c - how each block is held.
 *
 * Blocks are found breadth-first, so each is held by the shortest way: first those that objects
 * point to, then those that these blocks point to, and so on. Only then come libraries and stacks:
 * blocks that Ruby holds, too, are Ruby's. Then objects that aren't reached. Nothing holds the rest.
 * Words that can't be addresses of blocks aren't looked at (shape.h).
 *
 * Pages that aren't resident hold no address of a block, and aren't read: a block or a mapping may be terabytes of
 * reserved address space, in which each page that is read would cost the kernel a page table's entry.
 */
#include <string.h>

#include "shared/sys/residency.h"
#include "shared/sys/sys.h"
#include "child.h"
#include "ruby.h"
#include "shape.h"

struct scan {
	struct mw_walk *w;
	uint32_t *queue; /* blocks found that may lead on */
	uint32_t n, done; /* those before `done` are scanned themselves */
	enum mw_held_by by;
	enum mw_via via;
	enum mw_shape shape;
	uint32_t from;
	bool from_jit; /* from a block of a compiler's */
	struct mw_residency residency;
};

static void found(struct scan *s, uint32_t i, enum mw_shape shape)
{
	s->w->shape[i] = (uint8_t)shape;
	if (shape != MW_SHAPE_DATA)
		s->queue[s->n++] = i;
}

/*
 * A word whose low half is a small number is an int beside a pad that has half of an old address, unless a block begins
 * there. The largest blocks and mappings are where such words point.
 *
 * A block that was data to the one who led to it may be anything to another one, who leads to it, too. A JIT's own
 * blocks are vectors with room that isn't written yet: whatever address is there is an old one.
 */
static void look_at_word(struct scan *s, uintptr_t word)
{
	enum { SMALL = 1 << 16 };
	struct mw_walk *w = s->w;
	int64_t i = mw_ranges_find(&w->blocks_at, word);

	if (i < 0 || (s->from_jit && w->blocks[i].id != MW_ID_JIT) ||
	    ((word & UINT32_MAX) < SMALL && w->blocks[i].addr != word))
		return;
	if (!w->via[i]) {
		w->via[i] = (uint8_t)s->via;
		w->by[i] = (uint8_t)s->by;
		w->from[i] = s->from;
		found(s, (uint32_t)i, s->shape);
	} else if (w->shape[i] == MW_SHAPE_DATA && s->shape != MW_SHAPE_DATA) {
		found(s, (uint32_t)i, MW_SHAPE_WORDS);
	}
}

static void look_at_as(struct scan *s, uintptr_t word, enum mw_shape shape)
{
	s->shape = shape;
	look_at_word(s, word);
}

static void look_in(struct scan *s, uintptr_t from, uintptr_t to)
{
	for (; from + sizeof(uintptr_t) <= to; from += sizeof(uintptr_t))
		look_at_word(s, *(const uintptr_t *)from);
}

struct part {
	struct scan *s;
	uintptr_t from, to;
};

static void look_in_run(void *ctx, uintptr_t start, uintptr_t end, unsigned flags)
{
	const struct part *p = ctx;

	(void)flags;
	look_in(p->s, start > p->from ? start : p->from, end < p->to ? end : p->to);
}

/* As look_in, of any size. */
static void look_in_memory(struct scan *s, uintptr_t from, uintptr_t to)
{
	enum { PAGES = 8 };
	uintptr_t page = s->residency.page;
	struct part p = { s, from, to };

	if (to - from < PAGES * page)
		look_in(s, from, to);
	else
		mw_residency_each(&s->residency, from & -page, (to + page - 1) & -page, true,
				  look_in_run, &p);
}

/* Buffers of an IO begin with an address, and have a size of 20 bytes. */
static void look_in_packed(struct scan *s, uintptr_t from, uintptr_t to)
{
	for (; from + sizeof(uintptr_t) <= to; from += sizeof(uint32_t)) {
		uintptr_t word;

		memcpy(&word, (const void *)from, sizeof(word));
		look_at_word(s, word);
	}
}

/*
 * Ruby keeps the variables of a String, a Proc, and others that have no room for them in a table by object. If that object
 * is reached, the value belongs to it. False: the key is no such object.
 */
static bool look_at_own(struct scan *s, uintptr_t key, uintptr_t value)
{
	int64_t number = mw_object_number(s->w, key);
	struct scan was = *s;

	if (number < 0 || !s->w->parent[number])
		return false;
	s->via = MW_VIA_OBJECT;
	s->by = MW_HELD_RUBY;
	s->from = (uint32_t)number;
	look_at_word(s, value);
	s->via = was.via;
	s->by = was.by;
	s->from = was.from;
	return true;
}

static void look_in_entries(struct scan *s, const struct mw_table *t)
{
	const uintptr_t *e = (const uintptr_t *)t->entries + t->from * t->words;

	for (size_t i = t->from; i < t->to; i++, e += t->words)
		if (*e != MW_TABLE_DELETED && (t->words < 3 || !look_at_own(s, e[1], e[2])))
			look_in(s, (uintptr_t)(e + 1), (uintptr_t)(e + t->words));
}

static void look_in_regexp(struct scan *s, uintptr_t from, uintptr_t to)
{
	static const unsigned data[] = MW_REGEXP_DATA;

	for (size_t i = 0; i < sizeof(data) / sizeof(*data); i++)
		look_at_as(s, *(const uintptr_t *)(from + data[i]), MW_SHAPE_DATA);
	look_at_as(s, *(const uintptr_t *)(from + MW_REGEXP_NAMES), MW_SHAPE_WORDS);
	look_in(s, from + MW_REGEXP_REST, to);
}

static void look_in_block(struct scan *s, const struct mw_block *b, enum mw_shape shape)
{
	uintptr_t end = b->addr + b->size, elements;
	struct mw_table t;

	s->shape = shape == MW_SHAPE_CACHES ? MW_SHAPE_DATA : MW_SHAPE_WORDS;
	if (shape == MW_SHAPE_CACHES) {
		look_in(s, b->addr, end);
	} else if (shape == MW_SHAPE_PACKED) {
		look_in_packed(s, b->addr, end);
	} else if (shape == MW_SHAPE_REGEXP) {
		look_in_regexp(s, b->addr, end);
	} else if (shape == MW_SHAPE_TABLE && mw_shape_table(s->w, &s->w->blocks[s->w->from[s->from]], &t)) {
		look_in_entries(s, &t);
	} else if (mw_shape_table(s->w, b, &t)) {
		look_at_as(s, t.bins, MW_SHAPE_DATA);
		look_at_as(s, t.entries, MW_SHAPE_TABLE);
	} else if (mw_shape_array(s->w, b, &elements)) {
		look_at_as(s, elements, MW_SHAPE_DATA);
	} else if (!mw_shape_young_heap(b)) {
		look_in_memory(s, b->addr, end);
	}
}

/* Follows the blocks found since the last call, and those to which they lead. */
static void follow_blocks(struct scan *s)
{
	s->via = MW_VIA_BLOCK;
	while (s->done < s->n) {
		uint32_t i = s->queue[s->done++];

		s->from = i;
		s->by = (enum mw_held_by)s->w->by[i];
		s->from_jit = s->w->blocks[i].id == MW_ID_JIT;
		look_in_block(s, &s->w->blocks[i], (enum mw_shape)s->w->shape[i]);
	}
	s->from_jit = false;
}

/* known: is it the turn of slots whose shape is known? */
static void scan_object(struct scan *s, uintptr_t object, uint32_t number, size_t size, bool known)
{
	enum { HEAD = 2 * sizeof(uintptr_t) }; /* flags and class */
	struct mw_slot slot;

	if (mw_ruby_role(object) == MW_ROLE_TRANSIENT)
		return;
	slot = mw_shape_of_slot(s->w, object, size);
	if (slot.known != known)
		return;
	s->via = MW_VIA_OBJECT;
	s->from = number;
	s->shape = slot.shape;
	for (unsigned i = 0; i < slot.n; i++)
		look_at_word(s, slot.to[i]);
	if (slot.regexp.from)
		look_in_regexp(s, slot.regexp.from, slot.regexp.to);
	if (!slot.known)
		look_in(s, object + HEAD, object + size);
}

/* The object that holds what `object` leads to: of a part, the one that it is a part of. */
static uint32_t holder_number(const struct mw_walk *w, uintptr_t object)
{
	uint32_t number = (uint32_t)mw_object_number(w, object), parent = w->parent[number];

	return mw_is_part(w, object) && parent < (uint32_t)MW_ROOT ? parent - 1 : number;
}

static void scan_queue(struct scan *s, bool known)
{
	struct mw_walk *w = s->w;

	for (uint32_t i = 0; i < w->n_reached; i++)
		scan_object(s, w->queue[i], holder_number(w, w->queue[i]),
			    mw_object_size(w, w->queue[i]), known);
}

/*
 * A slot of a known shape owns what it leads to. Any other may have words of the object that it had
 * before, so it comes second.
 */
static void scan_reached(struct scan *s)
{
	s->by = MW_HELD_RUBY;
	scan_queue(s, true);
	scan_queue(s, false);
	follow_blocks(s);
}

struct pages {
	struct scan *s;
	int memory; /* /proc/self/mem */
	uintptr_t at, to; /* the rest */
	bool stack, ended;
};

/* Words of [from, to), which is in one page. False: it can't be read. */
static bool look_in_page(const struct pages *p, uintptr_t from, uintptr_t to)
{
	uintptr_t page[4096 / sizeof(uintptr_t)];
	long got = mw_sys(SYS_pread64, p->memory, mw_sys_ptr(page), (long)(to - from), (long)from, 0);

	if (got <= 0)
		return false;
	look_in(p->s, (uintptr_t)page, (uintptr_t)page + (size_t)got);
	return true;
}

static void look_in_run_of_pages(void *ctx, uintptr_t start, uintptr_t end, unsigned flags)
{
	enum { PAGE = 4096 };
	struct pages *p = ctx;

	(void)flags;
	/* is it a guard that lies between? */
	p->ended |= p->stack && p->at < start &&
		    !look_in_page(p, p->at & -(uintptr_t)8, (p->at & -(uintptr_t)8) + 8);
	if (p->at < start)
		p->at = start;
	while (!p->ended && p->at < end && p->at < p->to) {
		uintptr_t next = (p->at | (PAGE - 1)) + 1;

		if (next > p->to)
			next = p->to;
		p->ended = !look_in_page(p, p->at, next) && p->stack;
		p->at = next;
	}
}

/*
 * Of an area that isn't a library's. The kernel doesn't tell in the map of a process where it keeps
 * guard pages (MADV_GUARD_INSTALL, as the C library has them from 2.42 on), but it doesn't read them.
 */
static void look_in_pages(struct scan *s, int memory, const struct mw_area *a, uintptr_t from, uintptr_t to)
{
	struct pages p = { .s = s, .memory = memory, .at = from, .to = to, .stack = a->stack };
	uintptr_t page = s->residency.page;

	if (from < to)
		mw_residency_each(&s->residency, from & -page, (to + page - 1) & -page, true,
				  look_in_run_of_pages, &p);
}

static void scan_areas(struct scan *s)
{
	struct mw_walk *w = s->w;
	int memory = mw_sys_open("/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);

	s->by = MW_HELD_NATIVE;
	s->via = MW_VIA_AREA;
	for (uint32_t i = 0; i < w->areas->n; i++) {
		const struct mw_area *a = &w->areas->v[i];

		s->from = i;
		s->shape = a->ended ? MW_SHAPE_CACHES : MW_SHAPE_WORDS;
		/* a library's data has several mappings */
		for (size_t k = 0; k < w->n_mappings && w->mappings[k].start < a->end; k++) {
			uintptr_t from = w->mappings[k].start, to = w->mappings[k].end;

			from = a->start > from ? a->start : from;
			to = a->end < to ? a->end : to;
			if (a->within)
				look_in_pages(s, memory, a, from, to);
			else if (from < to)
				look_in_memory(s, from, to);
		}
	}
	follow_blocks(s);
}

static void scan_others(struct scan *s, bool known)
{
	struct mw_walk *w = s->w;

	for (uint32_t i = 0; i < w->objects_at.n; i++) {
		struct mw_range page = w->objects_at.at(w->objects_at.of, i);
		uint32_t number = (uint32_t)mw_object_number(w, page.start);
		size_t size = mw_object_size(w, page.start);

		for (; page.start < page.end; page.start += size, number++)
			if (!w->parent[number] && mw_ruby_is_object(page.start))
				scan_object(s, page.start, number, size, known);
	}
}

static void scan_garbage(struct scan *s)
{
	s->by = MW_HELD_GARBAGE;
	scan_others(s, true);
	scan_others(s, false);
	follow_blocks(s);
}

void mw_scan(struct mw_walk *w)
{
	struct scan s = { .w = w };

	mw_residency_open(&s.residency, MW_RESIDENCY_SCAN);
	s.queue = mw_child_map(w, (size_t)w->n_blocks * sizeof(*s.queue) + 1);
	scan_reached(&s);
	scan_areas(&s);
	scan_garbage(&s);
	mw_residency_close(&s.residency);
}
