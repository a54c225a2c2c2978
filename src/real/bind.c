/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bind.c - see bind.h. */
#include "bind.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <string.h>

#include "entries.h"

static bool is_hook(const char *name)
{
	static const char *const names[] = {
#define MW_HOOK_REAL(name, result, params) #name,
#define MW_HOOK_NEXT(name, result, params) #name,
#define MW_HOOK(name) #name,
#include "hooks.def"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void bind(struct mw_entries *e, const ElfW(Rela) * r, const struct mw_entries *libc)
{
	const char *name = mw_entry_name(e, r);
	uintptr_t *entry, to;

	if (!mw_entry_at(e, r, &entry) || !*entry || is_hook(name))
		return;
	to = mw_entries_function(libc, name);
	if (to && to != *entry && mw_entries_open(e, entry))
		__atomic_store_n(entry, to, __ATOMIC_RELEASE);
}

/* The loaded object that has the address. */
static bool read_object(struct mw_entries *e, const void *in)
{
	const ElfW(Dyn) * dynamic;
	const ElfW(Ehdr) * head;
	struct dl_find_object o;

	if (_dl_find_object((void *)(uintptr_t)in, &o) != 0)
		return false;
	head = o.dlfo_map_start;
	return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
	       mw_entries_find(e, o.dlfo_link_map->l_addr,
			       (const ElfW(Phdr) *)((const char *)head + head->e_phoff), head->e_phnum,
			       &dynamic) &&
	       mw_entries_read(e, dynamic);
}

void mw_bind_to_libc(const void *in)
{
	struct mw_entries e, libc;

	if (!read_object(&e, in) || !read_object(&libc, (const void *)(uintptr_t)gnu_get_libc_version))
		return;
	for (int t = 0; t < 2; t++)
		for (size_t i = 0; i < e.counts[t]; i++)
			bind(&e, &e.tables[t][i], &libc);
	mw_entries_close(&e);
}
