/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_calls.c - beneath the tracker: counts the calls of the allocator and of stdio's list of files by threads of mwrap's.
 *
 * A child that is forked past fork(3) never gets a lock that such a thread holds at that moment. At exit a line for each
 * function that was called goes to the file $OWN_CALLS: its name, the calls by mwrap's threads, the calls by all
 * others.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

enum { MALLOC, CALLOC, REALLOC, MEMALIGN, FREE, FOPEN, FCLOSE, CALLS };
static const char *const names[CALLS] = { "malloc", "calloc", "realloc", "memalign",
					  "free",   "fopen",  "fclose" };
static _Atomic unsigned by_own[CALLS], by_others[CALLS];

static void note(int call)
{
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	atomic_fetch_add(strcmp(name, "mwrap") ? &by_others[call] : &by_own[call], 1);
}

void *malloc(size_t n)
{
	note(MALLOC);
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t each)
{
	note(CALLOC);
	return __libc_calloc(n, each);
}

void *realloc(void *p, size_t n)
{
	note(REALLOC);
	return __libc_realloc(p, n);
}

void *memalign(size_t align, size_t n)
{
	note(MEMALIGN);
	return __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	return memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
	void *q = memalign(align, n);

	if (q)
		*p = q;
	return q ? 0 : 12;
}

void free(void *p)
{
	if (p)
		note(FREE);
	__libc_free(p);
}

FILE *fopen(const char *path, const char *mode)
{
	static FILE *(*next)(const char *, const char *);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "fopen");
	note(FOPEN);
	return next(path, mode);
}

int fclose(FILE *f)
{
	static int (*next)(FILE *);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "fclose");
	note(FCLOSE);
	return next(f);
}

__attribute__((destructor)) static void say(void)
{
	const char *path = getenv("OWN_CALLS");
	FILE *f = path ? fopen(path, "a") : NULL;

	for (int i = 0; f && i < CALLS; i++)
		if (by_own[i] || by_others[i])
			fprintf(f, "%s %u %u\n", names[i], by_own[i], by_others[i]);
	if (f)
		fclose(f);
}
