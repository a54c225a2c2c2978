/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * constructor.c - a library whose constructor allocates. Last in LD_PRELOAD, it runs before the
 * constructor of an allocator there. Writes "whole" at the end if no block was written to, nor
 * given out twice. A program's constructors run after all preloaded ones: t/programs/early.c
 * allocates there, and counts.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 600 };

static unsigned char *block[N];

static size_t size_of(int i)
{
	return (size_t)i * 3 % 1500;
}

static unsigned char mark(int i)
{
	return (unsigned char)(i * 7 + 1);
}

static void *get(int i)
{
	void *p = NULL;

	switch (i % 4) {
	case 0:
		return malloc(size_of(i));
	case 1:
		return calloc(size_of(i), 1);
	case 2:
		return realloc(malloc(size_of(i) / 2 + 1), size_of(i) + 1);
	default:
		return posix_memalign(&p, 64, size_of(i)) ? NULL : p;
	}
}

static void fill(int i)
{
	block[i] = get(i);
	if (!block[i] || (malloc_usable_size(block[i]) && malloc_usable_size(block[i]) < size_of(i)))
		_exit(3);
	memset(block[i], mark(i), size_of(i));
}

static int whole(int i)
{
	for (size_t k = 0; k < size_of(i); k++)
		if (block[i][k] != mark(i))
			return 0;
	return malloc_usable_size(block[i]) >= size_of(i);
}

__attribute__((constructor)) static void begin(void)
{
	for (int i = 0; i < N; i++)
		fill(i);
	for (int i = 0; i < N; i += 3) {
		free(block[i]);
		fill(i);
	}
}

__attribute__((destructor)) static void end(void)
{
	for (int i = 0; i < N; i++) {
		if (!whole(i))
			_exit(4);
		free(block[i]);
	}
	if (write(1, "whole\n", 6) != 6)
		_exit(5);
}
