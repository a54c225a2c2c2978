/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "musl.h"

#include <errno.h>
#include <string.h>

#include "shared/sys/libc.h"

enum { PAGE = 4096, LARGE = 64 * 1024 };

/* A large block is zero as a rule. Its pages are looked at, so that none is taken into memory without need. */
static void clear(char *p, size_t n)
{
	size_t i, step;

	for (; n >= LARGE; p += step, n -= step) {
		step = PAGE - (uintptr_t)p % PAGE;
		for (i = 0; i < step; i++)
			if (p[i]) {
				memset(p, 0, step);
				break;
			}
	}
	memset(p, 0, n);
}

static void *zeroed(size_t n, size_t m)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, m, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	p = mw_real.malloc(bytes);
	if (p)
		clear(p, bytes);
	return p;
}

static int aligned(void **to, size_t align, size_t n)
{
	int saved = errno;
	void *p;

	if (align < sizeof(void *))
		return EINVAL;
	p = mw_real.aligned_alloc(align, n);
	if (!p) {
		int error = errno;

		errno = saved;
		return error;
	}
	*to = p;
	return 0;
}

static void *page_aligned(size_t n)
{
	return mw_real.aligned_alloc(PAGE, n);
}

void mw_real_musl(struct mw_real *r)
{
	struct mw_object o;

	if (mw_glibc_version() || !mw_object_of((uintptr_t)r->malloc, &o) || !mw_is_libc(o.map))
		return;
	r->calloc = zeroed;
	r->memalign = r->aligned_alloc;
	r->posix_memalign = aligned;
	r->valloc = page_aligned;
}
