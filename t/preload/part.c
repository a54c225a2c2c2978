/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * part.c - a preload that has some of an allocator's functions, and passes each call on.
 *
 * -DHAS_NAME: it has this function. -DNEXT: calls go to the next library that has it, else to the C library's own, past
 * whatever lies between.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

void *__libc_malloc(size_t);
void __libc_free(void *);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

#ifdef NEXT
/* As such preloads do: it is looked for at the first call */
#define PASS(name, result, params, args)                                          \
	do {                                                                      \
		static result(*f) params;                                         \
		if (f || (f = (result(*) params)dlsym(RTLD_NEXT, #name)) != NULL) \
			return f args;                                            \
	} while (0)
#else
#define PASS(name, result, params, args) ((void)0)
#endif

#ifdef HAS_malloc
void *malloc(size_t n)
{
	PASS(malloc, void *, (size_t), (n));
	return __libc_malloc(n);
}
#endif

#ifdef HAS_free
void free(void *p)
{
	PASS(free, void, (void *), (p));
	__libc_free(p);
}
#endif

#ifdef HAS_calloc
void *calloc(size_t n, size_t m)
{
	PASS(calloc, void *, (size_t, size_t), (n, m));
	return __libc_calloc(n, m);
}
#endif

#ifdef HAS_realloc
void *realloc(void *p, size_t n)
{
	PASS(realloc, void *, (void *, size_t), (p, n));
	return __libc_realloc(p, n);
}
#endif

#ifdef HAS_memalign
void *memalign(size_t align, size_t n)
{
	PASS(memalign, void *, (size_t, size_t), (align, n));
	return __libc_memalign(align, n);
}
#endif

#ifdef HAS_aligned_alloc
void *aligned_alloc(size_t align, size_t n)
{
	PASS(aligned_alloc, void *, (size_t, size_t), (align, n));
	return __libc_memalign(align, n);
}
#endif

#ifdef HAS_posix_memalign
int posix_memalign(void **p, size_t align, size_t n)
{
	void *q;

	PASS(posix_memalign, int, (void **, size_t, size_t), (p, align, n));
	if (align % sizeof(void *) || !align || align & (align - 1))
		return EINVAL;
	q = __libc_memalign(align, n);
	if (!q)
		return ENOMEM;
	*p = q;
	return 0;
}
#endif
