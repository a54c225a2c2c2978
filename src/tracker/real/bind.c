/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bind.c - see bind.h. Until an object is bound, nothing here calls the C library. */
#include "bind.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "entries.h"
#include "shared/sys/libc.h"

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static struct mw_entries libc; /* written by mw_bind_self, before any other thread is tracked */

static bool is_among(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (mw_entries_same(names[i], name))
			return true;
	return false;
}

static bool is_hook(const char *name)
{
	static const char *const names[] = {
#define MW_HOOK_REAL(name, result, params) #name,
#define MW_HOOK_NEXT(name, result, params) #name,
#define MW_HOOK(name) #name,
#include "api/hooks.def"
	};

	return is_among(names, sizeof(names) / sizeof(*names), name);
}

/*
 * The tracker's calls of these stay as they are: other preloads say where the process's files are, and who
 * it is. The start calls none of them before other preloads' constructors.
 */
static bool is_of_files(const char *name)
{
	static const char *const names[] = {
		"open",        "openat", "read",     "write",   "pread",    "close",
		"close_range", "rename", "renameat", "unlink",  "unlinkat", "faccessat",
		"fcntl",       "fstat",  "readlink", "syscall", "geteuid",  "dlopen"
	};

	return is_among(names, sizeof(names) / sizeof(*names), name);
}

/* calloc_for_it: NULL for the tracker itself. */
static void bind(struct mw_entries *e, const ElfW(Rela) * r, void *(*calloc_for_it)(size_t, size_t))
{
	const char *name = mw_entry_name(e, r);
	bool ours = calloc_for_it && mw_entries_same(name, "calloc");
	uintptr_t *entry, to;

	if (!mw_entry_at(e, r, &entry) || !*entry ||
	    (!ours && (is_hook(name) || (!calloc_for_it && is_of_files(name)))))
		return;
	to = ours ? (uintptr_t)calloc_for_it : mw_entries_wanted(&libc, e, r);
	if (to && to != *entry && mw_entries_open(e, entry))
		__atomic_store_n(entry, to, __ATOMIC_RELEASE);
}

/* The object whose first segment is at `head`. */
static bool read_object(struct mw_entries *e, const ElfW(Ehdr) * head, uintptr_t base)
{
	const ElfW(Dyn) * dynamic;

	return head->e_ident[EI_MAG0] == ELFMAG0 && head->e_ident[EI_MAG1] == ELFMAG1 &&
	       mw_entries_find(e, base, (const ElfW(Phdr) *)((const char *)head + head->e_phoff),
			       head->e_phnum, &dynamic) &&
	       mw_entries_read(e, dynamic);
}

static void bind_object(const ElfW(Ehdr) * head, uintptr_t base, void *(*calloc_for_it)(size_t, size_t))
{
	struct mw_entries e;
	unsigned long (*aux)(unsigned long) =
		(unsigned long (*)(unsigned long))mw_entries_function(&libc, "getauxval");

	if (!aux || !read_object(&e, head, base))
		return;
	e.page_size = aux(AT_PAGESZ);
	for (int t = 0; t < 2; t++)
		for (size_t i = 0; i < e.counts[t]; i++)
			bind(&e, &e.tables[t][i], calloc_for_it);
	mw_entries_close(&e);
}

void mw_bind_self(void)
{
	if (libc.base)
		return;
	for (const struct link_map *m = mw_linker()->r_map; m; m = m->l_next)
		if (mw_is_libc(m) && read_object(&libc, (const ElfW(Ehdr) *)m->l_addr, m->l_addr))
			break;
	bind_object(&__ehdr_start, (uintptr_t)&__ehdr_start, NULL);
}

void mw_bind_to_libc(const void *in, void *(*calloc_for_it)(size_t, size_t))
{
	struct mw_object o;

	/* linked into the tracker, its calls are the tracker's: these keep calloc */
	if (mw_object_of((uintptr_t)in, &o) && o.start != (uintptr_t)&__ehdr_start)
		bind_object((const ElfW(Ehdr) *)o.start, o.map->l_addr, calloc_for_it);
}
