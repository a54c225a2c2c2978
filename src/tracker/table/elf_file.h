/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_file.h - parts of an ELF file that may be broken, or be overwritten meanwhile: each is read, none is mapped.
 *
 * For symtab.c and debug_file.c. Takes no lock; what it lends is the arena's.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: the file is too short, or the call was interrupted. */
bool mw_elf_read(int fd, void *to, size_t n, uint64_t offset);
/* A copy of a part of the file, lent, of `size` bytes; NULL: it isn't there, it is too large, or no memory. */
char *mw_elf_take(int fd, uint64_t offset, uint64_t size);
/* The file's head. False: it isn't of this machine's class, or says strange things. */
bool mw_elf_head(int fd, ElfW(Ehdr) *);
/* All e->e_shnum sections, lent, *size bytes; NULL: none. */
const ElfW(Shdr) * mw_elf_sections(int fd, const ElfW(Ehdr) *, size_t *size);
