/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entries.h - the words of a loaded object in which the dynamic linker put other objects' addresses.
 *
 * These entries are relocations of three kinds: for calls (JUMP_SLOT), for addresses (GLOB_DAT), and in
 * initialised data. A store into an entry leads the object's calls to another function. Entries that the
 * linker made read-only are writable from mw_entries_open until mw_entries_close.
 *
 * One thread at a time for an object. Nothing here allocates, or calls the linker, or the C library:
 * other preloads may interpose its functions and not work yet.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
enum {
	MW_ENTRY_ADDRESS = R_X86_64_64,
	MW_ENTRY_DATA = R_X86_64_GLOB_DAT,
	MW_ENTRY_CALL = R_X86_64_JUMP_SLOT
};
#elif defined(__aarch64__)
enum {
	MW_ENTRY_ADDRESS = R_AARCH64_ABS64,
	MW_ENTRY_DATA = R_AARCH64_GLOB_DAT,
	MW_ENTRY_CALL = R_AARCH64_JUMP_SLOT
};
#else /* no entry is known: none is changed */
enum { MW_ENTRY_ADDRESS = -1, MW_ENTRY_DATA = -2, MW_ENTRY_CALL = -3 };
#endif

struct mw_entries {
	uintptr_t base;
	const ElfW(Phdr) * headers;
	int n_headers;
	uintptr_t page_size;
	uintptr_t sealed, sealed_end; /* read-only after relocation */
	bool unsealed;
	uintptr_t page; /* of other memory that was made writable last */
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *hashes; /* of the symbols that the object defines, GNU's form; NULL: none */
	const uint16_t *versions; /* by symbol; NULL: none */
	const ElfW(Verneed) * needs; /* versions of other objects' symbols; NULL: none */
	const ElfW(Verdef) * defines; /* and of its own */
	const ElfW(Rela) * tables[2];
	size_t counts[2];
};

/*
 * False: the object has no dynamic section. *dynamic: its address, also if the linker is not done with it.
 * Set page_size before mw_entries_open.
 */
bool mw_entries_find(struct mw_entries *, uintptr_t base, const ElfW(Phdr) *, int n,
		     const ElfW(Dyn) * *dynamic);
/* Reads the dynamic section, once the linker has relocated the object. False: it has no entries. */
bool mw_entries_read(struct mw_entries *, const ElfW(Dyn) * dynamic);

/* The segment that an address is in; NULL: none. */
const ElfW(Phdr) * mw_entries_segment(const struct mw_entries *, uintptr_t address);
/* Is it one of the three kinds, aligned, in memory that may be written? Then it is at *entry. */
bool mw_entry_at(const struct mw_entries *, const ElfW(Rela) *, uintptr_t **entry);
/* The name of its symbol. */
const char *mw_entry_name(const struct mw_entries *, const ElfW(Rela) *);

/* The address of a function that the object defines, in its default version; 0: it has none. */
uintptr_t mw_entries_function(const struct mw_entries *, const char *name);
/* The same for what r asks for; 0 also if that has another version. */
uintptr_t mw_entries_wanted(const struct mw_entries *, const struct mw_entries *by, const ElfW(Rela) * r);
bool mw_entries_same(const char *, const char *); /* strings */

/* Makes the entry's page writable. False: the kernel refuses. */
bool mw_entries_open(struct mw_entries *, const uintptr_t *entry);
void mw_entries_close(const struct mw_entries *);
