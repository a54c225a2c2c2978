/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "beneath.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../src/tracker/table/snapshot.h"
#include "../../src/tracker/hooks/cxx.h"
#include "../../src/tracker/real/untracked.h"
#include "../../src/tracker/caller/ruby/api.h"
#include "../../src/tracker/real/real.h"
#include "../../src/tracker/table/generation.h"
#include "../../src/tracker/track/admit.h"

/* --- chunks as glibc's ------------------------------------------------------- */

enum { MAPPED = 128 * 1024 }; /* from here on glibc maps a chunk of its own */

static __thread int inside;
uint32_t beneath_gc;

bool beneath_inside(void)
{
	return inside != 0;
}

static bool serial;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

void beneath_serial(void)
{
	serial = true;
}

void beneath_lock(void)
{
	if (serial)
		pthread_mutex_lock(&one);
	inside++;
}

void beneath_unlock(void)
{
	inside--;
	if (serial)
		pthread_mutex_unlock(&one);
}

/* In front of a block: where it really begins, and glibc's size and flags. */
struct head {
	void *begin;
	size_t size;
};

static struct head *head(void *p)
{
	return (struct head *)p - 1;
}

static size_t room(size_t n)
{
	if (n >= MAPPED)
		return (n + 15) & ~(size_t)15;
	return n <= 24 ? 24 : ((n + 8 + 15) & ~(size_t)15) - 8;
}

static void *make(size_t align, size_t n, bool zero)
{
	size_t usable = room(n), before = align < 32 ? sizeof(struct head) : align;
	char *begin, *p;

	if (n > PTRDIFF_MAX / 2) {
		errno = ENOMEM;
		return NULL;
	}
	beneath_lock();
	begin = malloc(before + (align > 16 ? align : 0) + usable);
	beneath_unlock();
	if (!begin)
		return NULL;
	p = begin + before;
	if (align > 16)
		p = (char *)(((uintptr_t)p + align - 1) & ~(uintptr_t)(align - 1));
	head(p)->begin = begin;
	head(p)->size = n >= MAPPED ? (usable + 16) | 2 : (usable + 8) | 1;
	memset(p, zero ? 0 : 0xa5, usable);
	return p;
}

static void *like_malloc(size_t n)
{
	return make(16, n, false);
}

static void like_free(void *p)
{
	if (!p)
		return;
	beneath_lock();
	free(head(p)->begin);
	beneath_unlock();
}

static void *like_calloc(size_t n, size_t m)
{
	size_t bytes;

	return make(16, __builtin_mul_overflow(n, m, &bytes) ? SIZE_MAX : bytes, true);
}

static void *like_realloc(void *p, size_t n)
{
	void *q;
	size_t was;

	if (p && !n) {
		like_free(p);
		return NULL;
	}
	q = make(16, n, false);
	if (p && q) {
		was = mw_chunk_usable(p);
		memcpy(q, p, was < n ? was : n);
		like_free(p);
	}
	return q;
}

static void *like_reallocarray(void *p, size_t n, size_t m)
{
	size_t bytes;

	return like_realloc(p, __builtin_mul_overflow(n, m, &bytes) ? SIZE_MAX : bytes);
}

static void *like_memalign(size_t align, size_t n)
{
	return make(align, n, false);
}

static int like_posix_memalign(void **out, size_t align, size_t n)
{
	void *p;

	if (align < sizeof(void *) || align & (align - 1))
		return EINVAL;
	p = make(align, n, false);
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

static void *like_valloc(size_t n)
{
	return make(4096, n, false);
}

static size_t like_usable_size(void *p)
{
	return mw_chunk_usable(p);
}

/* No thread runs Ruby code: callers are places of ours. */
static __thread const char *no_ruby_code;

/* Nor may Ruby be asked. */
static int has_gvl(void)
{
	return 0;
}

static size_t gc_count(void)
{
	return mw_get(&beneath_gc);
}

void beneath_like_glibc(bool ruby)
{
	mw_real = (struct mw_real){
		.malloc = like_malloc,
		.free = like_free,
		.calloc = like_calloc,
		.realloc = like_realloc,
		.reallocarray = like_reallocarray,
		.memalign = like_memalign,
		.posix_memalign = like_posix_memalign,
		.aligned_alloc = like_memalign,
		.valloc = like_valloc,
		.pvalloc = like_valloc,
		.malloc_usable_size = like_usable_size,
	};
	mw_real_glibc = true;
	mw_real_mapped = 2;
	mw_plain = UINTPTR_MAX;
	if (ruby) {
		mw_clock.in_bytes = false;
		mw_life_scale = 1;
		__atomic_store_n(&mw_clock.now, &beneath_gc, __ATOMIC_RELEASE);
		mw_rb.rb_gc_count = gc_count;
		mw_rb.ruby_thread_has_gvl_p = has_gvl;
		mw_ruby.ec = (char *)&no_ruby_code - (char *)mw_thread_pointer();
		__atomic_store_n(&mw_ruby.how, MW_RUBY_FAST, __ATOMIC_RELEASE);
	}
	mw_mode_choose();
}

/* --- mmap, by the linker's --wrap ---------------------------------------------- */

static unsigned asked, fails_at;
static bool fails_on;

void beneath_fail_mmap(unsigned n, bool all)
{
	mw_set(&asked, 0);
	mw_set(&fails_at, n);
	mw_set(&fails_on, all);
}

unsigned beneath_mmaps(void)
{
	return mw_get(&asked);
}

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	unsigned i = mw_add(&asked, 1) + 1, bad = mw_get(&fails_at);

	if (bad && (i == bad || (i > bad && mw_get(&fails_on)))) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(at, n, prot, flags, fd, off);
}

/* It doesn't stand aside here: src/tracker/real/untracked.c would. */
const char *mw_untracked_reason(void)
{
	return NULL;
}

/* --- operator new, which isn't in a driver ------------------------------------ */

void *mw_cxx_next(const char *name, uintptr_t caller)
{
	(void)name;
	(void)caller;
	return NULL;
}
