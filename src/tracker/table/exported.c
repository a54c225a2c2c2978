/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exported.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "shared/sys/libc.h"
#include "shared/sys/sys.h"

enum {
	PAGE = 4096, /* or a part of one */
	MOST = 1 << 24 /* symbols of one object; a table that says more is broken */
};

struct tables {
	const struct mw_object *of;
	uintptr_t symbols, names, gnu_hash, hash; /* 0: none */
	size_t names_size;
	uintptr_t page; /* the last one that could be read */
};

/* Can n bytes at p be read? The object's segments may lie apart. */
static bool may_read(struct tables *t, uintptr_t p, size_t n)
{
	if (p % 4 || p > UINTPTR_MAX - n)
		return false;
	for (uintptr_t page = p / PAGE; page <= (p + n - 1) / PAGE; page++) {
		if (page == t->page)
			continue;
		if (!mw_sys_reads(page * PAGE))
			return false;
		t->page = page;
	}
	return true;
}

static bool read_word(struct tables *t, uintptr_t p, uint32_t *to)
{
	if (!may_read(t, p, sizeof(*to)))
		return false;
	*to = *(const uint32_t *)p;
	return true;
}

/* The linker relocates most of these. */
static uintptr_t pointer(const struct tables *t, const ElfW(Dyn) * d)
{
	uintptr_t base = t->of->map->l_addr;

	return d->d_un.d_ptr < base ? base + d->d_un.d_ptr : d->d_un.d_ptr;
}

static bool find_tables(struct tables *t)
{
	for (const ElfW(Dyn) *d = t->of->map->l_ld; may_read(t, (uintptr_t)d, sizeof(*d)); d++) {
		if (d->d_tag == DT_NULL)
			return t->symbols && t->names;
		if (d->d_tag == DT_SYMTAB)
			t->symbols = pointer(t, d);
		else if (d->d_tag == DT_STRTAB)
			t->names = pointer(t, d);
		else if (d->d_tag == DT_STRSZ)
			t->names_size = d->d_un.d_val;
		else if (d->d_tag == DT_GNU_HASH)
			t->gnu_hash = pointer(t, d);
		else if (d->d_tag == DT_HASH)
			t->hash = pointer(t, d);
	}
	return false;
}

/* The last chain of GNU's table of hashes ends where the symbols do. 0: it can't be right. */
static uint32_t count_by_chains(struct tables *t)
{
	uint32_t n[3], last = 0, first; /* n: of buckets, the first symbol's number, of bloom words */
	uintptr_t buckets, chains;

	for (int i = 0; i < 3; i++)
		if (!read_word(t, t->gnu_hash + 4 * (uintptr_t)i, &n[i]))
			return 0;
	buckets = t->gnu_hash + 16 + n[2] * sizeof(ElfW(Addr));
	chains = buckets + 4 * (uintptr_t)n[0];
	for (uint32_t i = 0; i < n[0] && i < MOST; i++) {
		if (!read_word(t, buckets + 4 * (uintptr_t)i, &first))
			return 0;
		last = first > last ? first : last;
	}
	if (last < n[1])
		return n[1];
	do {
		if (!read_word(t, chains + 4 * (uintptr_t)(last - n[1]), &first))
			return 0;
	} while (last++ < MOST && !(first & 1));
	return last;
}

static uint32_t count_symbols(struct tables *t)
{
	uint32_t n;

	if (t->hash)
		return read_word(t, t->hash + 4, &n) && n < MOST ? n : 0;
	return t->gnu_hash ? count_by_chains(t) : 0;
}

static bool has(const ElfW(Sym) * s, uintptr_t at)
{
	return s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) != STT_TLS &&
	       (at == s->st_value || at - s->st_value < s->st_size);
}

void mw_name_fit(struct mw_name *to, const char *s, size_t n)
{
	static const char left_out[] = "...";
	size_t gap = sizeof(left_out) - 1, head = MW_NAME_MOST / 2, tail = MW_NAME_MOST - 1 - gap - head;

	if (n >= MW_NAME_MOST) {
		memcpy(to->text, s, head);
		memcpy(to->text + head, left_out, gap);
		memcpy(to->text + head + gap, s + n - tail, tail);
		n = MW_NAME_MOST - 1;
	} else {
		memcpy(to->text, s, n);
	}
	to->text[n] = '\0';
}

/* Reads a name, which must end within the table. */
static bool read_name(struct tables *t, uint32_t offset, struct mw_name *to)
{
	const char *s = (const char *)t->names + offset;

	for (size_t n = 0; n < t->names_size && offset < t->names_size - n; n++) {
		uintptr_t p = (uintptr_t)s + n;

		if ((!n || p % PAGE == 0) && !may_read(t, p & ~(uintptr_t)3, 4))
			return false;
		if (!s[n]) {
			mw_name_fit(to, s, n);
			return n > 0;
		}
	}
	return false;
}

bool mw_exported(const struct mw_object *o, uintptr_t address, struct mw_name *name, uintptr_t *at)
{
	struct tables t = { .of = o };
	ElfW(Sym) found = { 0 };
	uint32_t n = find_tables(&t) ? count_symbols(&t) : 0;

	for (uint32_t i = 0; i < n; i++) {
		const ElfW(Sym) *s = (const ElfW(Sym) *)t.symbols + i;

		if (!may_read(&t, (uintptr_t)s, sizeof(*s)))
			return false;
		if (has(s, address - o->map->l_addr) && (!found.st_name || s->st_value > found.st_value))
			found = *s;
	}
	*at = o->map->l_addr + found.st_value;
	return found.st_name && read_name(&t, found.st_name, name);
}
