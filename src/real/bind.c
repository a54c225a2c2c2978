/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bind.c - see bind.h. */
#include "bind.h"

#include <dlfcn.h>
#include <string.h>

#include "entries.h"
#include "real.h"

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

static void bind(struct mw_entries *e, const ElfW(Rela) * r)
{
	unsigned type = ELF64_ST_TYPE(e->symbols[ELF64_R_SYM(r->r_info)].st_info);
	const char *name = mw_entry_name(e, r);
	uintptr_t *entry, to;

	if (ELF64_R_TYPE(r->r_info) != MW_ENTRY_CALL && type != STT_FUNC)
		return;
	if (!mw_entry_at(e, r, &entry) || !*entry || is_hook(name))
		return;
	to = (uintptr_t)mw_real_next(name);
	if (to && to != *entry && mw_entries_open(e, entry))
		__atomic_store_n(entry, to, __ATOMIC_RELEASE);
}

void mw_bind_behind(const void *in)
{
	const ElfW(Ehdr) * head;
	const ElfW(Dyn) * dynamic;
	struct dl_find_object o;
	struct mw_entries e;

	if (_dl_find_object((void *)(uintptr_t)in, &o) != 0)
		return;
	head = o.dlfo_map_start;
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    !mw_entries_find(&e, o.dlfo_link_map->l_addr,
			     (const ElfW(Phdr) *)((const char *)head + head->e_phoff), head->e_phnum,
			     &dynamic) ||
	    !mw_entries_read(&e, dynamic))
		return;
	for (int t = 0; t < 2; t++)
		for (size_t i = 0; i < e.counts[t]; i++)
			bind(&e, &e.tables[t][i]);
	mw_entries_close(&e);
}
