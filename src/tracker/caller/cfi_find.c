/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cfi_find.c - the bytes of a loaded object that describe its frames; see cfi.h. */
#include "cfi.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "cfi_read.h"
#include "shared/sys/libc.h"

enum { HDR_FIXED = 8 }; /* the header's version, three encodings, and .eh_frame's address */

/* The loaded segment that address is in, as its file has it. */
static bool segment(const ElfW(Phdr) * h, size_t n, uintptr_t bias, uintptr_t address,
		    struct mw_cfi_bytes *found)
{
	for (; n; n--, h++) {
		if (h->p_type != PT_LOAD || address - (bias + h->p_vaddr) >= h->p_filesz)
			continue;
		found->start = bias + h->p_vaddr;
		found->end = found->start + h->p_filesz;
		return true;
	}
	return false;
}

/* The object's program headers, which lie in its first page; NULL: they don't. */
static const ElfW(Phdr) * headers(const struct mw_object *o, size_t *n)
{
	const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)o->start;
	size_t room = o->end - o->start;

	if (room > 4096)
		room = 4096;
	if (room < sizeof(*e))
		return NULL;
	if (memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_phentsize != sizeof(ElfW(Phdr)) ||
	    e->e_phoff > room || e->e_phoff % 8 || e->e_phnum > (room - e->e_phoff) / sizeof(ElfW(Phdr)))
		return NULL;
	*n = e->e_phnum;
	return (const ElfW(Phdr) *)((uintptr_t)e + e->e_phoff);
}

bool mw_cfi_place(uintptr_t pc, struct mw_cfi_place *place)
{
	struct mw_object o;
	const ElfW(Phdr) * h;
	struct mw_cfi_bytes *hdr = &place->hdr;
	struct mw_cfi_reader r;
	uintptr_t bias, frame;
	uint8_t encoding;
	size_t n, i;

	if (!mw_object_of(pc, &o) || !o.eh_frame_hdr || !(h = headers(&o, &n)))
		return false;
	bias = o.map->l_addr;
	hdr->start = o.eh_frame_hdr;
	for (i = 0; i < n; i++)
		if (h[i].p_type == PT_GNU_EH_FRAME && bias + h[i].p_vaddr == hdr->start)
			break;
	/* place->frame: what the header may have at most, until it is read */
	if (i == n || !segment(h, n, bias, hdr->start, &place->frame) ||
	    h[i].p_memsz > place->frame.end - hdr->start || h[i].p_memsz < HDR_FIXED)
		return false;
	hdr->end = hdr->start + h[i].p_memsz;
	r = (struct mw_cfi_reader){ hdr->start + 1, hdr->end, false };
	encoding = mw_cfi_byte(&r);
	mw_cfi_skip(&r, 2);
	frame = mw_cfi_pointer(&r, encoding);
	if (r.bad || !segment(h, n, bias, frame, &place->frame))
		return false;
	place->frame.start = frame;
	return true;
}
