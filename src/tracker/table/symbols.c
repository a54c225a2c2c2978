/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols.h"

#include <string.h>

#include "callsite.h"

/* A chunk for each of the locations': NULL until a name of it is wanted; release. */
static char **chunks[MW_CS_MAX / MW_CS_CHUNK];

/* Where id's name is: set by compare-and-swap, release. NULL: no name of its chunk was ever set. */
static char **place_of_name(uint32_t id)
{
	char **chunk = __atomic_load_n(&chunks[id / MW_CS_CHUNK], __ATOMIC_ACQUIRE);

	return chunk ? &chunk[id % MW_CS_CHUNK] : NULL;
}

const char *mw_symbol(uint32_t id)
{
	char **at = place_of_name(id);

	return at ? __atomic_load_n(at, __ATOMIC_ACQUIRE) : NULL;
}

bool mw_symbol_room(uint32_t id)
{
	size_t bytes = MW_CS_CHUNK * sizeof(char *);
	char **none = NULL, **chunk;

	if (place_of_name(id))
		return true;
	chunk = mw_arena_grow(bytes, MW_ARENA_NAME);
	if (chunk && !__atomic_compare_exchange_n(&chunks[id / MW_CS_CHUNK], &none, chunk, false,
						  __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		mw_arena_unmap(chunk, bytes, MW_ARENA_NAME); /* another thread was first */
	return place_of_name(id) != NULL;
}

bool mw_symbol_set(uint32_t id, char *name)
{
	char **at = place_of_name(id), *none = NULL;

	return at &&
	       __atomic_compare_exchange_n(at, &none, name, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void mw_symbol_drop(uint32_t id)
{
	char **at = place_of_name(id), *name = at ? mw_get(at) : NULL;

	if (!name)
		return;
	mw_set(at, NULL);
	mw_arena_free(name, strlen(name) + 1, MW_ARENA_NAME);
}
