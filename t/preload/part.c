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

/* The function of this name; own: what it does if there is no next one. */
#define PASSES(name, result, params, args, own)   \
	result name params                        \
	{                                         \
		PASS(name, result, params, args); \
		return own;                       \
	}

#ifdef HAS_malloc
PASSES(malloc, void *, (size_t n), (n), __libc_malloc(n))
#endif
#ifdef HAS_free
PASSES(free, void, (void *p), (p), __libc_free(p))
#endif
#ifdef HAS_calloc
PASSES(calloc, void *, (size_t n, size_t m), (n, m), __libc_calloc(n, m))
#endif
#ifdef HAS_realloc
PASSES(realloc, void *, (void *p, size_t n), (p, n), __libc_realloc(p, n))
#endif
#ifdef HAS_memalign
PASSES(memalign, void *, (size_t align, size_t n), (align, n), __libc_memalign(align, n))
#endif
#ifdef HAS_aligned_alloc
PASSES(aligned_alloc, void *, (size_t align, size_t n), (align, n), __libc_memalign(align, n))
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
