/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "musl.h"

#include <errno.h>
#include <string.h>

#include "shared/sys/libc.h"
#include "shared/sys/sys.h"

enum { LARGE = 64 * 1024 };

/* A large block is zero as a rule. Its pages are looked at, so that none is taken into memory without need. */
static void clear(char *p, size_t n)
{
	size_t i, step;

	for (; n >= LARGE; p += step, n -= step) {
		step = MW_MUSL_PAGE - (uintptr_t)p % MW_MUSL_PAGE;
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
	return mw_real.aligned_alloc(mw_page_size(), n);
}

static bool is_musl(const struct mw_real *r)
{
	struct mw_object o;

	return !mw_glibc_version() && mw_object_of((uintptr_t)r->malloc, &o) && mw_is_libc(o.map);
}

void mw_real_musl(struct mw_real *r)
{
	if (!is_musl(r))
		return;
	r->calloc = zeroed;
	r->memalign = r->aligned_alloc;
	r->posix_memalign = aligned;
	r->valloc = page_aligned;
}

/* --- its blocks ------------------------------------------------------------------------------- */

bool mw_real_musl_plain;

static bool agrees(const void *p, size_t n)
{
	size_t usable;

	return p && mw_musl_is_block(p) && mw_musl_plain(p, &usable) && usable == n &&
	       mw_real.malloc_usable_size((void *)(uintptr_t)p) == n;
}

void mw_real_musl_try(void)
{
	static const size_t sizes[] = { 1,   12,   24,   60,   100,   150,   300,   500,
					800, 2000, 5000, 9000, 20000, 40000, 70000, 100000 };
	bool same = is_musl(&mw_real) && mw_real.malloc_usable_size;

	for (size_t i = 0; same && i < sizeof(sizes) / sizeof(*sizes); i++) {
		void *p = mw_real.malloc(sizes[i]);

		same = agrees(p, sizes[i]);
		mw_real.free(p);
	}
	mw_real_musl_plain = same;
}
