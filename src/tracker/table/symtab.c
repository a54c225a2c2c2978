/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symtab.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "debug_file.h"
#include "tracker/base/arena.h"
#include "shared/sys/maps.h"
#include "shared/sys/sys.h"

enum {
	SEGMENTS_MOST = 32,
	COMPARED = 256, /* bytes of a function */
	PAGE = 4096,    /* pages are no smaller */
	PATH_MOST = 4096
};

static void take_codes(struct mw_symtab *t, int fd, const ElfW(Ehdr) * e)
{
	ElfW(Phdr) p;
	int n = 0;

	for (int i = 0; i < e->e_phnum && i < SEGMENTS_MOST && n < MW_SYMTAB_CODES; i++) {
		if (!mw_elf_read(fd, &p, sizeof(p), e->e_phoff + (uint64_t)i * sizeof(p)))
			return;
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		t->codes[n].from = p.p_vaddr;
		t->codes[n].end = p.p_vaddr + p.p_filesz;
		t->codes[n++].offset = p.p_offset;
	}
}

static void take_of(struct mw_symtab *t, int fd, const ElfW(Shdr) * s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (s[i].sh_type != SHT_SYMTAB || s[i].sh_link >= n)
			continue;
		t->symbols_size = s[i].sh_size;
		t->names_size = s[s[i].sh_link].sh_size;
		t->symbols = mw_elf_take(fd, s[i].sh_offset, t->symbols_size);
		t->names = t->symbols ? mw_elf_take(fd, s[s[i].sh_link].sh_offset, t->names_size) : NULL;
		if (t->names)
			t->names[t->names_size - 1] = '\0';
		return;
	}
}

static void take_tables(struct mw_symtab *t, int fd, const ElfW(Ehdr) * e)
{
	size_t size;
	const ElfW(Shdr) *sections = mw_elf_sections(fd, e, &size);

	if (!sections)
		return;
	take_of(t, fd, sections, e->e_shnum);
	mw_arena_return((void *)(uintptr_t)sections, size);
}

static void drop_tables(struct mw_symtab *t)
{
	if (t->symbols)
		mw_arena_return(t->symbols, t->symbols_size);
	if (t->names)
		mw_arena_return(t->names, t->names_size);
	t->symbols = t->names = NULL;
}

/* Of the separate file, if the file itself is stripped. */
static void take_separate(struct mw_symtab *t, int fd, const ElfW(Ehdr) * e)
{
	int debug = mw_debug_file_open(fd, e);
	ElfW(Ehdr) head;

	if (debug < 0)
		return;
	drop_tables(t);
	if (mw_elf_head(debug, &head))
		take_tables(t, debug, &head);
	mw_sys_close(debug);
}

static int open_file(const struct link_map *map)
{
	return mw_sys_open(*map->l_name ? map->l_name : "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
}

struct mapped {
	uintptr_t address;
	char *path; /* PATH_MOST bytes */
	bool same;
};

static void compare_path(const struct mw_maps_line *m, void *ctx)
{
	struct mapped *a = ctx;

	if (a->address - m->start < m->end - m->start)
		a->same = !strcmp(m->name, a->path) && !strstr(m->name, " (deleted)");
}

/*
 * Is the open file the one that is mapped? A file that was deleted or renamed has another path in the list of
 * mappings, even if another one has its place.
 */
static bool is_mapped(int fd, const struct link_map *map)
{
	struct mapped a = { .address = (uintptr_t)map->l_ld, .path = mw_arena_lend(PATH_MOST) };
	char link[32];
	ssize_t n;

	if (!a.path)
		return false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = mw_sys_readlink(link, a.path, PATH_MOST - 1);
	if (n > 0) {
		a.path[n] = '\0';
		(void)mw_maps_each(compare_path, &a);
	}
	mw_arena_return(a.path, PATH_MOST);
	return a.same;
}

static void load_symbols(struct mw_symtab *t, const struct link_map *map)
{
	int fd = open_file(map);
	ElfW(Ehdr) e;

	t->of = map;
	t->base = map->l_addr;
	t->dynamic = map->l_ld;
	if (fd < 0)
		return;
	if (mw_elf_head(fd, &e)) {
		take_tables(t, fd, &e);
		if (!t->names)
			take_separate(t, fd, &e);
		take_codes(t, fd, &e);
	}
	if (t->names && *map->l_name && !is_mapped(fd, map))
		drop_tables(t);
	mw_sys_close(fd);
}

static const ElfW(Sym) * symbol_at(const struct mw_symtab *t, uint64_t at)
{
	const ElfW(Sym) *s = (const ElfW(Sym) *)(const void *)t->symbols;

	for (size_t n = t->symbols_size / sizeof(*s); n; n--, s++)
		if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF &&
		    at - s->st_value < s->st_size)
			return s;
	return NULL;
}

/*
 * Is the code around the address the file's? Only the function's bytes in the page of the address are
 * compared: that page is mapped, whatever the file says.
 */
static bool is_same(const struct mw_symtab *t, const struct link_map *map, const ElfW(Sym) * s,
		    uintptr_t address)
{
	uint64_t from = address & ~(uintptr_t)(PAGE - 1), end = from + PAGE,
		 first = map->l_addr + s->st_value;
	char code[COMPARED];
	bool same = false;
	int fd;

	from = first > from ? first : from;
	if (address - from > COMPARED / 2)
		from = address - COMPARED / 2;
	end = end - first > s->st_size ? first + s->st_size : end;
	end = end - from > COMPARED ? from + COMPARED : end;
	for (int i = 0; i < MW_SYMTAB_CODES; i++) {
		uint64_t at = from - map->l_addr;

		if (at < t->codes[i].from || at >= t->codes[i].end)
			continue;
		fd = open_file(map);
		if (fd < 0)
			return false;
		same = mw_sys_reads(from & ~(uintptr_t)3) &&
		       mw_elf_read(fd, code, end - from, t->codes[i].offset + (at - t->codes[i].from)) &&
		       !memcmp(code, (const void *)(uintptr_t)from, end - from);
		mw_sys_close(fd);
		break;
	}
	return same;
}

static void drop_symbols(struct mw_symtab *t)
{
	drop_tables(t);
	*t = (struct mw_symtab){ 0 };
}

static struct mw_symtab *table_of(struct mw_symtabs *all, const struct link_map *map)
{
	struct mw_symtab *t;

	for (unsigned i = 0; i < MW_SYMTABS; i++)
		if (all->v[i].of == map && all->v[i].base == map->l_addr && all->v[i].dynamic == map->l_ld)
			return &all->v[i];
	t = &all->v[all->next++ % MW_SYMTABS];
	drop_symbols(t);
	load_symbols(t, map);
	return t;
}

bool mw_symtab_find(struct mw_symtabs *all, const struct link_map *map, uintptr_t address,
		    struct mw_name *name)
{
	const struct mw_symtab *t = table_of(all, map);
	const ElfW(Sym) *s = t->names ? symbol_at(t, address - map->l_addr) : NULL;

	if (!s || s->st_name >= t->names_size || !t->names[s->st_name] || !is_same(t, map, s, address))
		return false;
	mw_name_fit(name, t->names + s->st_name, strlen(t->names + s->st_name));
	return true;
}

bool mw_symtab_each(struct mw_symtabs *all, const struct link_map *map,
		    void (*f)(const char *name, uintptr_t at, size_t size, void *ctx), void *ctx)
{
	const struct mw_symtab *t = table_of(all, map);
	const ElfW(Sym) *s = (const ElfW(Sym) *)(const void *)t->symbols;

	if (!t->names)
		return false;
	for (size_t n = t->symbols_size / sizeof(*s); n; n--, s++)
		if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF && s->st_size &&
		    s->st_name < t->names_size)
			f(t->names + s->st_name, map->l_addr + s->st_value, s->st_size, ctx);
	return true;
}

void mw_symtab_end(struct mw_symtabs *all)
{
	for (unsigned i = 0; i < MW_SYMTABS; i++)
		drop_symbols(&all->v[i]);
	all->next = 0;
}
