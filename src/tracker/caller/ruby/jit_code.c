/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit_code.h"

#include <string.h>

#include "api.h"
#include "state.h"
#include "shared/sys/libc.h"
#include "tracker/base/arena.h"
#include "tracker/table/symtab.h"

enum { UNIT = 16 }; /* bytes: most functions begin at a multiple of that */
enum what { UNKNOWN, RUST, C };

struct mw_jit_code mw_jit_code = { .c = { 0, UINTPTR_MAX } };

bool mw_jit_code_has(uintptr_t at)
{
	if (!mw_code_has(&mw_jit_code.all, at))
		return false;
	for (int i = 0; i < MW_JIT_RANGES; i++)
		if (mw_code_has(&mw_jit_code.rust[i], at))
			return true;
	return false;
}

struct search {
	uintptr_t from, end; /* from Rust's first function to its last */
	uint8_t *units;      /* lent; enum what, of each UNIT from `from` on */
	size_t n;
	bool is_ruby; /* a function of Ruby's has the address that it should have */
	struct mw_code_range rust[MW_JIT_RANGES]; /* the largest */
};

/* Rust ends an old name by 17h, 16 digits of a hash and E; LLVM may add something. A new one begins with _R. */
static bool is_rust(const char *name)
{
	enum { HASH = 3 + 16 + 1 };
	const char *more = strstr(name, ".llvm.");
	size_t n = more ? (size_t)(more - name) : strlen(name);

	if (name[0] == '_' && name[1] == 'R')
		return true;
	return n > HASH && !strncmp(name, "_ZN", 3) && !strncmp(name + n - HASH, "17h", 3) &&
	       strspn(name + n - HASH + 3, "0123456789abcdef") == HASH - 4;
}

/* Rust's functions that C calls have such names, and so have C's that Rust calls. */
static enum what what_is(const char *name)
{
	if (!strncmp(name, "rb_yjit_", 8) || !strncmp(name, "rb_zjit_", 8))
		return UNKNOWN;
	return is_rust(name) ? RUST : C;
}

static void note_hull(const char *name, uintptr_t at, size_t size, void *of)
{
	struct search *s = of;

	if (at == (uintptr_t)mw_rb.rb_gc_count && !strcmp(name, "rb_gc_count"))
		s->is_ruby = true;
	if (!is_rust(name))
		return;
	s->from = at < s->from ? at : s->from;
	s->end = at + size > s->end ? at + size : s->end;
}

/* A unit of both is C's. */
static void note_units(const char *name, uintptr_t at, size_t size, void *of)
{
	struct search *s = of;
	enum what what = what_is(name);

	if (what == UNKNOWN || at < s->from || at + size > s->end)
		return;
	for (size_t i = (at - s->from) / UNIT; i <= (at + size - 1 - s->from) / UNIT; i++)
		if (s->units[i] != C)
			s->units[i] = (uint8_t)what;
}

/* Keeps the largest ones. */
static void keep_range(struct search *s, size_t first, size_t last)
{
	struct mw_code_range r = { s->from + first * UNIT, (last + 1 - first) * UNIT }, *least = s->rust;

	for (int i = 1; i < MW_JIT_RANGES; i++)
		if (s->rust[i].bytes < least->bytes)
			least = &s->rust[i];
	if (r.bytes > least->bytes)
		*least = r;
}

/* A range has nothing of C's, and begins and ends with Rust's. */
static void find_ranges(struct search *s)
{
	size_t first = 0, last = 0;
	bool open = false;

	for (size_t i = 0; i <= s->n; i++) {
		enum what what = i < s->n ? s->units[i] : C;

		if (what == RUST) {
			first = open ? first : i;
			last = i;
			open = true;
		} else if (what == C && open) {
			keep_range(s, first, last);
			open = false;
		}
	}
}

/* False: no table, another file's, no Rust in it, or no memory. */
static bool read_file(struct search *s, const struct link_map *map)
{
	struct mw_symtabs files = { 0 };
	bool found = mw_symtab_each(&files, map, note_hull, s) && s->is_ruby && s->end;

	s->n = found ? (s->end - s->from) / UNIT + 1 : 0;
	s->units = found ? mw_arena_lend(s->n) : NULL;
	if (s->units) {
		(void)mw_symtab_each(&files, map, note_units, s);
		find_ranges(s);
		mw_arena_return(s->units, s->n);
	}
	mw_symtab_end(&files);
	return s->units != NULL;
}

/* The part of the object that has Ruby's malloc and nothing of Rust's. */
static struct mw_code_range around_malloc(const struct search *s, const struct mw_object *o)
{
	uintptr_t at = (uintptr_t)mw_rb.rb_gc_count, from = o->start, end = o->end;

	for (int i = 0; i < MW_JIT_RANGES; i++) {
		const struct mw_code_range *r = &s->rust[i];

		if (r->bytes && r->from <= at && r->from + r->bytes > from)
			from = r->from + r->bytes;
		else if (r->bytes && r->from > at && r->from < end)
			end = r->from;
	}
	return (struct mw_code_range){ from, end - from };
}

static void set_range(struct mw_code_range *r, uintptr_t from, uintptr_t bytes)
{
	mw_set(&r->from, from);
	__atomic_store_n(&r->bytes, bytes, __ATOMIC_RELEASE);
}

void mw_jit_code_find(void)
{
	struct search s = { .from = UINTPTR_MAX };
	struct mw_code_range c;
	struct mw_object o;
	static uint32_t begun;

	if (__atomic_exchange_n(&begun, 1, __ATOMIC_RELAXED) ||
	    !mw_object_of((uintptr_t)mw_rb.rb_gc_count, &o) || !read_file(&s, o.map))
		return;
	for (int i = 0; i < MW_JIT_RANGES; i++)
		set_range(&mw_jit_code.rust[i], s.rust[i].from, s.rust[i].bytes);
	set_range(&mw_jit_code.all, s.from, s.end - s.from);
	c = around_malloc(&s, &o);
	set_range(&mw_jit_code.c, c.from, c.bytes);
	mw_ruby_above->changed();
}

const char *mw_jit_blocks_name(void)
{
	return mw_jit_is_apart() ? "apart" : mw_jit_may_run() ? "lines" : "none";
}
