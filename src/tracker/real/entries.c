/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "entries.h"

#include <sys/mman.h>

#include "shared/sys/sys.h"

bool mw_entries_same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

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
	*o = (struct mw_entries){ .base = base, .headers = headers, .n_headers = n };
	*dynamic = NULL;
	for (const ElfW(Phdr) *h = headers; h < headers + n; h++) {
		uintptr_t start = base + h->p_vaddr;

		if (h->p_type == PT_DYNAMIC)
			*dynamic = (const ElfW(Dyn) *)start;
		if (h->p_type == PT_GNU_RELRO) {
			o->sealed = start;
			o->sealed_end = start + h->p_memsz;
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
		case DT_VERNEED:
			o->needs = (const ElfW(Verneed) *)at(o, d->d_un.d_ptr);
			break;
		case DT_VERDEF:
			o->defines = (const ElfW(Verdef) *)at(o, d->d_un.d_ptr);
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

enum { HIDDEN = 0x8000 }; /* an older version, which no new program gets */

static bool is_function(const struct mw_entries *o, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &o->symbols[i];
	int type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF &&
	       !(o->versions && o->versions[i] & HIDDEN) && mw_entries_same(o->names + s->st_name, name);
}

/* The number of the symbol; 0: there is none. */
static uint32_t find_symbol(const struct mw_entries *o, const char *name)
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
	for (uint32_t i = bucket[hash % buckets]; i >= first && i; i++) {
		if ((chain[i - first] | 1) == (hash | 1) && is_function(o, i, name))
			return i;
		if (chain[i - first] & 1)
			break;
	}
	return 0;
}

/* The function chosen at run time, such as the memcpy(3) for these processors, is what another one returns. */
static uintptr_t address(const struct mw_entries *o, uint32_t i)
{
	uintptr_t is = o->base + o->symbols[i].st_value;

	if (!i)
		return 0;
	if (ELF64_ST_TYPE(o->symbols[i].st_info) == STT_FUNC)
		return is;
#ifdef __x86_64__ /* elsewhere it takes arguments */
	return ((uintptr_t (*)(void))is)();
#else
	return 0;
#endif
}

uintptr_t mw_entries_function(const struct mw_entries *o, const char *name)
{
	return address(o, find_symbol(o, name));
}

/* --- versions, by the hash of their names; 0: none ---------------------------------------------- */

static uint32_t needed(const struct mw_entries *o, uint32_t symbol)
{
	const char *need = (const char *)o->needs, *aux;

	while (need && o->versions) {
		const ElfW(Verneed) *n = (const ElfW(Verneed) *)need;

		aux = need + n->vn_aux;
		for (unsigned i = 0; i < n->vn_cnt; i++) {
			const ElfW(Vernaux) *a = (const ElfW(Vernaux) *)aux;

			if (a->vna_other == o->versions[symbol])
				return a->vna_hash;
			aux += a->vna_next;
		}
		need = n->vn_next ? need + n->vn_next : NULL;
	}
	return 0;
}

static uint32_t defined(const struct mw_entries *o, uint32_t symbol)
{
	const char *define = (const char *)o->defines;

	while (define && o->versions) {
		const ElfW(Verdef) *d = (const ElfW(Verdef) *)define;

		if (d->vd_ndx == o->versions[symbol])
			return d->vd_hash;
		define = d->vd_next ? define + d->vd_next : NULL;
	}
	return 0;
}

uintptr_t mw_entries_wanted(const struct mw_entries *o, const struct mw_entries *by, const ElfW(Rela) * r)
{
	uint32_t i = find_symbol(o, mw_entry_name(by, r));

	return i && defined(o, i) == needed(by, (uint32_t)ELF64_R_SYM(r->r_info)) ? address(o, i) : 0;
}

/* --- stores ------------------------------------------------------------------------------------- */

static bool writable(uintptr_t from, uintptr_t bytes, int how)
{
	return mw_sys(SYS_mprotect, (long)from, (long)bytes, how, 0, 0) == 0;
}

/* Whole pages, as the linker rounds them. */
static uintptr_t sealed(const struct mw_entries *o)
{
	return o->sealed & ~(o->page_size - 1);
}

static uintptr_t sealed_bytes(const struct mw_entries *o)
{
	return (o->sealed_end & ~(o->page_size - 1)) - sealed(o);
}

bool mw_entries_open(struct mw_entries *o, const uintptr_t *entry)
{
	uintptr_t at = (uintptr_t)entry, page = at & ~(o->page_size - 1);

	if (at - sealed(o) < sealed_bytes(o)) {
		if (!o->unsealed)
			o->unsealed = writable(sealed(o), sealed_bytes(o), PROT_READ | PROT_WRITE);
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
		(void)writable(sealed(o), sealed_bytes(o), PROT_READ);
}
