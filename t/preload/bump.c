/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bump.c - an allocator that nobody knows: each block's size lies before it, and no block is used
 * twice. Preloaded, or compiled into a program as its own. With IFUNC the linker asks for the addresses.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define POOL ((size_t)64 << 20)

static _Alignas(4096) char pool[POOL];
static size_t used;

static void *cut(size_t align, size_t n)
{
	uintptr_t start = (uintptr_t)pool, p;

	if (align < 16)
		align = 16;
	if (n > POOL || align > POOL)
		goto none;
	p = start + __atomic_fetch_add(&used, n + align + 16, __ATOMIC_RELAXED) + 16;
	p = (p + align - 1) & ~(align - 1);
	if (p + n > start + POOL)
		goto none;
	((size_t *)p)[-1] = n;
	return (void *)p;
none:
	errno = ENOMEM;
	return NULL;
}

#ifdef IFUNC
#define FUNCTION(result, name, params)                           \
	static result own_##name params;                         \
	static result(*ask_##name(void)) params                  \
	{                                                        \
		return own_##name;                               \
	}                                                        \
	result name params __attribute__((ifunc("ask_" #name))); \
	static result own_##name params
#else
#define FUNCTION(result, name, params) result name params
#endif

FUNCTION(void *, malloc, (size_t n))
{
	return cut(16, n);
}

FUNCTION(void, free, (void *p))
{
	(void)p;
}

FUNCTION(void *, calloc, (size_t n, size_t m))
{
	size_t bytes;

	return cut(16, __builtin_mul_overflow(n, m, &bytes) ? SIZE_MAX : bytes);
}

FUNCTION(void *, realloc, (void *p, size_t n))
{
	void *q = cut(16, n);

	if (p && q)
		memcpy(q, p, ((size_t *)p)[-1] < n ? ((size_t *)p)[-1] : n);
	return q;
}

FUNCTION(void *, memalign, (size_t align, size_t n))
{
	return cut(align, n);
}

FUNCTION(void *, aligned_alloc, (size_t align, size_t n))
{
	return cut(align, n);
}

FUNCTION(int, posix_memalign, (void **p, size_t align, size_t n))
{
	*p = cut(align, n);
	return *p ? 0 : ENOMEM;
}

FUNCTION(void *, valloc, (size_t n))
{
	return cut(4096, n);
}

FUNCTION(void *, pvalloc, (size_t n))
{
	return cut(4096, (n + 4095) & ~(size_t)4095);
}

FUNCTION(size_t, malloc_usable_size, (void *p))
{
	return p ? ((size_t *)p)[-1] : 0;
}
