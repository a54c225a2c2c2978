/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "own.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

static uint64_t held; /* relaxed; a figure for people */
static void *(*text_alloc)(size_t) = malloc;
static void (*text_free)(void *) = free;

void *mw_own_map(size_t bytes)
{
	int e = errno;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		p = NULL;
	else {
		(void)madvise(p, bytes, MADV_DONTDUMP);
		mw_add(&held, bytes);
	}
	errno = e;
	return p;
}

void mw_own_unmap(void *p, size_t bytes)
{
	int e = errno;

	if (p && munmap(p, bytes) == 0)
		mw_add(&held, -(uint64_t)bytes);
	errno = e;
}

uint64_t mw_own_bytes(void)
{
	return mw_get(&held);
}

void mw_own_use(void *(*alloc)(size_t), void (*release)(void *))
{
	text_alloc = alloc;
	text_free = release;
}

void *mw_own_alloc(size_t bytes)
{
	int e = errno;
	void *p = text_alloc(bytes);

	if (p)
		mw_add(&held, bytes);
	errno = e;
	return p;
}

void mw_own_free(void *p, size_t bytes)
{
	if (!p)
		return;
	mw_add(&held, -(uint64_t)bytes);
	text_free(p);
}
