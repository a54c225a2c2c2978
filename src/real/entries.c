/* SPDX-License-Identifier: GPL-2.0-or-later */
/* entries.c - see entries.h. */
#include "entries.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/sys.h"

static uintptr_t at(const struct mw_entries *o, uintptr_t address)
{
	return address < o->base ? o->base + address : address; /* the linker relocates most of these */
}

const ElfW(Phdr) * mw_entries_segment(const struct mw_entries *o, uintptr_t address)
{
	for (const ElfW(Phdr) *h = o->headers; h < o->headers + o->n_headers; h++)
		if (h->p_type == PT_LOAD && address - (o->base + h->p_vaddr) < h->p_memsz)
			return h;
	return NULL;
}

bool mw_entries_find(struct mw_entries *o, uintptr_t base, const ElfW(Phdr) * headers, int n,
		     const ElfW(Dyn) * *dynamic)
{
	*o = (struct mw_entries){
		.base = base, .headers = headers, .n_headers = n, .page_size = getauxval(AT_PAGESZ)
	};
	*dynamic = NULL;
	for (const ElfW(Phdr) *h = headers; h < headers + n; h++) {
		uintptr_t start = base + h->p_vaddr;

		if (h->p_type == PT_DYNAMIC)
			*dynamic = (const ElfW(Dyn) *)start;
		if (h->p_type == PT_GNU_RELRO) { /* as the linker rounds it */
			o->sealed = start & ~(o->page_size - 1);
			o->sealed_end = (start + h->p_memsz) & ~(o->page_size - 1);
		}
	}
	return *dynamic;
}

bool mw_entries_read(struct mw_entries *o, const ElfW(Dyn) * d)
{
	size_t bytes[2] = { 0, 0 };
	bool rela = true;

	for (; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SYMTAB:
			o->symbols = (const ElfW(Sym) *)at(o, d->d_un.d_ptr);
			break;
		case DT_STRTAB:
			o->names = (const char *)at(o, d->d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			o->hashes = (const uint32_t *)at(o, d->d_un.d_ptr);
			break;
		case DT_VERSYM:
			o->versions = (const uint16_t *)at(o, d->d_un.d_ptr);
			break;
		case DT_RELA:
			o->tables[0] = (const ElfW(Rela) *)at(o, d->d_un.d_ptr);
			break;
		case DT_RELASZ:
			bytes[0] = d->d_un.d_val;
			break;
		case DT_JMPREL:
			o->tables[1] = (const ElfW(Rela) *)at(o, d->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			bytes[1] = d->d_un.d_val;
			break;
		case DT_PLTREL:
			rela = d->d_un.d_val == DT_RELA;
			break;
		default:
			break;
		}
	}
	o->counts[0] = o->tables[0] ? bytes[0] / sizeof(ElfW(Rela)) : 0;
	o->counts[1] = o->tables[1] && rela ? bytes[1] / sizeof(ElfW(Rela)) : 0;
	return o->symbols && o->names;
}

bool mw_entry_at(const struct mw_entries *o, const ElfW(Rela) * r, uintptr_t **entry)
{
	int type = (int)ELF64_R_TYPE(r->r_info);
	const ElfW(Phdr) * h;

	*entry = (uintptr_t *)(o->base + r->r_offset);
	if (type != MW_ENTRY_DATA && type != MW_ENTRY_CALL && (type != MW_ENTRY_ADDRESS || r->r_addend))
		return false;
	if (r->r_offset % sizeof(uintptr_t))
		return false;
	h = mw_entries_segment(o, (uintptr_t)*entry);
	return h && h->p_flags & PF_W;
}

const char *mw_entry_name(const struct mw_entries *o, const ElfW(Rela) * r)
{
	return o->names + o->symbols[ELF64_R_SYM(r->r_info)].st_name;
}

/* Is symbol i that function, and not an older version of it? One that is chosen at run time has no address yet. */
static bool is_function(const struct mw_entries *o, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &o->symbols[i];

	return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF &&
	       !(o->versions && o->versions[i] & 0x8000) && strcmp(o->names + s->st_name, name) == 0;
}

uintptr_t mw_entries_function(const struct mw_entries *o, const char *name)
{
	uint32_t hash = 5381, buckets, first, bloom;
	const uint32_t *bucket, *chain;

	if (!o->hashes)
		return 0;
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	buckets = o->hashes[0];
	first = o->hashes[1]; /* symbols before this one are others' */
	bloom = o->hashes[2]; /* words of 64 bits, which only hasten a lookup */
	bucket = o->hashes + 4 + bloom * 2;
	chain = bucket + buckets;
	for (uint32_t i = bucket[hash % buckets]; i >= first; i++) {
		if ((chain[i - first] | 1) == (hash | 1) && is_function(o, i, name))
			return o->base + o->symbols[i].st_value;
		if (chain[i - first] & 1)
			break;
	}
	return 0;
}

static bool writable(uintptr_t from, uintptr_t bytes, int how)
{
	return mw_sys(SYS_mprotect, (long)from, (long)bytes, how, 0, 0) == 0;
}

bool mw_entries_open(struct mw_entries *o, const uintptr_t *entry)
{
	uintptr_t at = (uintptr_t)entry, page = at & ~(o->page_size - 1);

	if (at - o->sealed < o->sealed_end - o->sealed) {
		if (!o->unsealed)
			o->unsealed =
				writable(o->sealed, o->sealed_end - o->sealed, PROT_READ | PROT_WRITE);
		return o->unsealed;
	}
	if (page != o->page && !writable(page, o->page_size, PROT_READ | PROT_WRITE))
		return false;
	o->page = page;
	return true;
}

void mw_entries_close(const struct mw_entries *o)
{
	if (o->unsealed)
		(void)writable(o->sealed, o->sealed_end - o->sealed, PROT_READ);
}
