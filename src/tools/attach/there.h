/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * there.h - another process's memory and symbols, read through /proc.
 *
 * Symbols come from what is mapped, not from files, which may have been replaced or lie in another mount
 * namespace. Reading stops nothing.
 */
#ifndef MW_INJECT_THERE_H
#define MW_INJECT_THERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MW_THERE_OBJECTS = 1024, MW_THERE_ERROR = 512 };

struct mw_mapping {
	uintptr_t start, end;
	bool writable, executable;
	bool grows; /* the main thread's stack */
};

/* A program or library: all that is needed is 0 if it lacks it. */
struct mw_object {
	char name[256]; /* of its file, without the path */
	uintptr_t base; /* its addresses count from here */
	uintptr_t symbols, names, hash; /* DT_SYMTAB, DT_STRTAB, DT_GNU_HASH */
	uintptr_t code, code_end, data_end; /* in memory; the ends are those of the last such segment */
};

struct mw_there {
	pid_t pid;
	int memory; /* of /proc/PID/mem */
	size_t n_mappings, n_objects;
	struct mw_mapping *mappings;
	struct mw_object *objects;
};

/* False: a line in err. Closes with the program. */
bool mw_there_open(struct mw_there *, pid_t, char err[MW_THERE_ERROR]);

/* Whole, or false */
bool mw_there_read(const struct mw_there *, uintptr_t from, void *to, size_t n);
bool mw_there_write(const struct mw_there *, uintptr_t to, const void *from, size_t n);

/* The address of a symbol that the object defines; 0: none. */
uintptr_t mw_there_symbol(const struct mw_there *, const struct mw_object *, const char *name);
/* The first object whose name begins so; NULL: none. */
const struct mw_object *mw_there_named(const struct mw_there *, const char *begin);
const struct mw_mapping *mw_there_mapping(const struct mw_there *, uintptr_t at);

#endif
