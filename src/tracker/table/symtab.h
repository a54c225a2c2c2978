/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symtab.h - names of functions that a library doesn't export, by its file's own table of symbols.
 *
 * The dynamic linker knows exported functions only. A file that isn't stripped has a table of all
 * (.symtab), which isn't mapped. Of a stripped one a separate file may have it (debug_file.h). It is read when such a
 * name is needed, by our own threads or by those that ask for stacks, and once by Ruby's thread as a JIT begins
 * (jit_code.h); never in an allocation. Another file may have taken the library's path by then: the kernel tells. A
 * file that was overwritten in place must have the code that is mapped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exported.h"

struct link_map;

enum { MW_SYMTAB_CODES = 4, MW_SYMTABS = 8 };

/* A file's symbols, kept for the next question. */
struct mw_symtab {
	const struct link_map *of;
	uintptr_t base; /* of that, and where its dynamic section is: another may get the same address */
	const void *dynamic;
	char *symbols, *names; /* lent; NULL: the file has none, or can't be read */
	size_t symbols_size, names_size;
	struct {
		uint64_t from, end, offset; /* addresses in the file's terms, and where it has them */
	} codes[MW_SYMTAB_CODES];
};

/* All zero at first. */
struct mw_symtabs {
	struct mw_symtab v[MW_SYMTABS];
	unsigned next; /* the next file takes its place */
};

/* The function that has this address. False: not known. The caller keeps libraries meanwhile (closes.h). */
bool mw_symtab_find(struct mw_symtabs *, const struct link_map *, uintptr_t address, struct mw_name *);
/*
 * Each function of the object's own table: its name, address and bytes, of which there is one at least. False: there
 * is no table. The functions aren't compared with what is mapped.
 */
bool mw_symtab_each(struct mw_symtabs *, const struct link_map *,
		    void (*f)(const char *name, uintptr_t at, size_t size, void *ctx), void *ctx);
void mw_symtab_end(struct mw_symtabs *); /* all zero again */
