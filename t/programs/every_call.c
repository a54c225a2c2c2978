/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * every_call.c - three threads that allocate by each function that they know, in turns. Each block has room for what was
 * asked, is aligned, and holds what was written to it. It asks nothing of the tracker. Says "fine".
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 3
#ifndef ROUNDS
#define ROUNDS 5000
#endif

/* The C library's from glibc 2.43 on, or the tracker's */
extern void free_sized(void *, size_t) __attribute__((weak));
extern void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));

static int wrong;

/* Has the block room for n bytes, at a multiple of align? Fills it. */
static void fill(unsigned char *p, size_t n, size_t align, int round)
{
	if (!p || (uintptr_t)p % align || malloc_usable_size(p) < n)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	else
		memset(p, round, n);
}

static void check(const unsigned char *p, size_t n, int round)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != (unsigned char)round) {
			__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
			return;
		}
}

static void end(void *p, size_t n, int how)
{
	if (how == 1 && free_sized)
		free_sized(p, n);
	else if (how == 2 && free_aligned_sized)
		free_aligned_sized(p, 8, n);
	else
		free(p);
}

static void *work(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		size_t n = (size_t)(i * 37 % 3000) + 1, more = (size_t)(i * 101 % 5000) + 1;
		void *block[6] = { malloc(n), calloc(n, 2), realloc(NULL, n), aligned_alloc(64, 128),
				   memalign(256, n) };
		/* mimalloc: of 8 bytes, blocks that are smaller than 16 */
		const size_t least = n < 16 ? 8 : 16, align[6] = { least, least, least, 64, 256, 128 };
		const size_t size[6] = { n, n * 2, n, 128, n, n };

		if (posix_memalign(&block[5], 128, n))
			block[5] = NULL;
		for (int k = 0; k < 6; k++)
			fill(block[k], size[k], align[k], i);
		for (int k = 0; k < 6; k++) {
			size_t kept = size[k] < more ? size[k] : more;

			block[k] = k & 1 ? reallocarray(block[k], more, 1) : realloc(block[k], more);
			check(block[k], kept, i);
			fill(block[k], more, more < 16 ? 8 : 16, i + k);
		}
		for (int k = 0; k < 6; k++)
			check(block[k], more, i + k);
		for (int k = 0; k < 6; k++)
			end(block[k], more, k);
	}
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	puts(wrong ? "wrong" : "fine");
	return 0;
}
