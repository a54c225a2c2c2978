/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit_code.h"

#include <string.h>

#include "api.h"
#include "state.h"
#include "shared/sys/libc.h"
#include "tracker/base/arena.h"
#include "tracker/table/symtab.h"

enum {
	PAGE_SHIFT = 12,
	GAP = 1 << 20, /* bytes between two ranges, at least */
	FOREIGN = 4    /* a range has less than one part in so many of other functions */
};

struct mw_jit_code mw_jit_code = { .c = { 0, UINTPTR_MAX } };

struct search {
	uintptr_t from, end; /* Rust's functions, all of them */
	uintptr_t middle;    /* of the gap between the ranges */
	struct {
		uintptr_t from, end, foreign; /* foreign: bytes of other functions */
	} range[MW_JIT_RANGES];
	uint8_t *pages; /* lent, one for each page from `from` on: has it some of Rust's code? */
	size_t n;
	bool is_ruby; /* a function of Ruby's has the address that it should have */
};

/* Rust ends an old name by 17h and 16 digits of a hash. A new one begins with _R. */
static bool is_rust(const char *name)
{
	enum { HASH = 20 };
	size_t n;

	if (name[0] != '_')
		return false;
	if (name[1] == 'R')
		return true;
	n = name[1] == 'Z' && name[2] == 'N' ? strlen(name) : 0;
	return n > HASH && !memcmp(name + n - HASH, "17h", 3) &&
	       strspn(name + n - HASH + 3, "0123456789abcdef") == HASH - 4;
}

static void widen(uintptr_t *from, uintptr_t *end, uintptr_t at, size_t size)
{
	if (at < *from)
		*from = at;
	if (at + size > *end)
		*end = at + size;
}

static void note_hull(const char *name, uintptr_t at, size_t size, void *of)
{
	struct search *s = of;

	if (is_rust(name))
		widen(&s->from, &s->end, at, size);
	else if (at == (uintptr_t)mw_rb.rb_gc_count && !strcmp(name, "rb_gc_count"))
		s->is_ruby = true;
}

static void note_pages(const char *name, uintptr_t at, size_t size, void *of)
{
	struct search *s = of;

	if (is_rust(name))
		for (size_t i = (at - s->from) >> PAGE_SHIFT;
		     i <= (at + size - 1 - s->from) >> PAGE_SHIFT; i++)
			s->pages[i] = 1;
}

/* The middle of the widest row of pages without Rust's code, if that is a gap; else the end. */
static uintptr_t middle_of_gap(const struct search *s)
{
	size_t widest = 0, at = 0, run = 0;

	for (size_t i = 0; i < s->n; i++) {
		run = s->pages[i] ? 0 : run + 1;
		if (run > widest) {
			widest = run;
			at = i;
		}
	}
	return widest << PAGE_SHIFT < GAP ? s->end : s->from + ((at - widest / 2) << PAGE_SHIFT);
}

static void note_ranges(const char *name, uintptr_t at, size_t size, void *of)
{
	struct search *s = of;
	int i = at >= s->middle;

	if (is_rust(name))
		widen(&s->range[i].from, &s->range[i].end, at, size);
}

static void note_foreign(const char *name, uintptr_t at, size_t size, void *of)
{
	struct search *s = of;

	for (int i = 0; i < MW_JIT_RANGES && !is_rust(name); i++)
		if (at - s->range[i].from < s->range[i].end - s->range[i].from)
			s->range[i].foreign += size;
}

/* False: no table, another file's, no Rust in it, or no memory. */
static bool find_ranges(struct search *s, struct mw_symtabs *files, const struct link_map *map)
{
	if (!mw_symtab_each(files, map, note_hull, s) || !s->is_ruby || !s->end)
		return false;
	s->n = ((s->end - s->from) >> PAGE_SHIFT) + 1;
	s->pages = mw_arena_lend(s->n);
	if (!s->pages)
		return false;
	(void)mw_symtab_each(files, map, note_pages, s);
	s->middle = middle_of_gap(s);
	mw_arena_return(s->pages, s->n);
	for (int i = 0; i < MW_JIT_RANGES; i++)
		s->range[i].from = UINTPTR_MAX;
	(void)mw_symtab_each(files, map, note_ranges, s);
	(void)mw_symtab_each(files, map, note_foreign, s);
	for (int i = 0; i < MW_JIT_RANGES; i++)
		if (s->range[i].end && s->range[i].foreign > (s->range[i].end - s->range[i].from) / FOREIGN)
			return false;
	return true;
}

/* The largest part of the object without Rust's functions. */
static struct mw_code_range rest_of(const struct search *s, const struct mw_object *o)
{
	struct mw_code_range most = { 0, 0 };
	uintptr_t at = o->start;

	for (int i = 0; i <= MW_JIT_RANGES; i++) {
		bool last = i == MW_JIT_RANGES || !s->range[i].end;
		uintptr_t end = last ? o->end : s->range[i].from;

		if (end - at > most.bytes)
			most = (struct mw_code_range){ at, end - at };
		if (last)
			break;
		at = s->range[i].end;
	}
	return most;
}

static void set_range(struct mw_code_range *r, uintptr_t from, uintptr_t bytes)
{
	mw_set(&r->from, from);
	__atomic_store_n(&r->bytes, bytes, __ATOMIC_RELEASE);
}

void mw_jit_code_find(void)
{
	struct search s = { .from = UINTPTR_MAX };
	struct mw_symtabs files = { 0 };
	struct mw_code_range rest;
	struct mw_object o;
	static uint32_t begun;

	if (__atomic_exchange_n(&begun, 1, __ATOMIC_RELAXED) ||
	    !mw_object_of((uintptr_t)mw_rb.rb_gc_count, &o))
		return;
	if (find_ranges(&s, &files, o.map)) {
		for (int i = 0; i < MW_JIT_RANGES && s.range[i].end; i++)
			set_range(&mw_jit_code.rust[i], s.range[i].from, s.range[i].end - s.range[i].from);
		rest = rest_of(&s, &o);
		set_range(&mw_jit_code.c, rest.from, rest.bytes);
		mw_ruby_above->changed();
	}
	mw_symtab_end(&files);
}

const char *mw_jit_blocks_name(void)
{
	return mw_jit_is_apart() ? "apart" : mw_jit_may_run() ? "lines" : "none";
}
