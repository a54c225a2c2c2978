/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls.c - a preload that writes each call of malloc and its relatives to descriptor 9: the call, the thread, the
 * size or 0, the result or the block that is freed, and what else the call has. Then glibc's own function runs.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

static void note(const char *call, size_t size, const void *p, uintptr_t extra)
{
	char line[128];
	int n = snprintf(line, sizeof(line), "%s %ld %zu %zx %zx\n", call, syscall(SYS_gettid), size,
			 (size_t)(uintptr_t)p, (size_t)extra);

	if (write(9, line, (size_t)n) != n)
		_exit(9);
}

void *malloc(size_t size)
{
	void *p = __libc_malloc(size);

	note("malloc", size, p, 0);
	return p;
}

void *calloc(size_t n, size_t size)
{
	void *p = __libc_calloc(n, size);

	note("calloc", n * size, p, 0);
	return p;
}

void *realloc(void *old, size_t size)
{
	void *p = __libc_realloc(old, size);

	note("realloc", size, p, (uintptr_t)old);
	return p;
}

int posix_memalign(void **to, size_t alignment, size_t size)
{
	void *p = __libc_memalign(alignment, size);

	note("aligned", size, p, alignment);
	if (!p)
		return ENOMEM;
	*to = p;
	return 0;
}

void free(void *p)
{
	note("free", 0, p, 0);
	__libc_free(p);
}
