/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * malloc.c - the malloc family, as the app sees it.
 *
 * Each function asks the real one for the app's bytes and a tail, and admits the
 * block (admit.h). Results and errno are the real functions'. A size too large for
 * a tail on top goes to the real function unchanged, and fails there as it would
 * without us.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "shared/sys/sys.h"
#include "tracker/real/own_blocks.h"
#include "tracker/track/admit.h"
#include "tracker/track/dismiss.h"
#include "tracker/track/sampled.h"
#include "tracker/track/shared.h"
#include "tracker/track/usable.h"

/* older headers, or musl's, don't have these */
void *pvalloc(size_t);
void cfree(void *);

MW_ROW(11) MW_LINE void *malloc(size_t);
MW_ROW(12) MW_LINE void free(void *);
__attribute__((hot)) void *calloc(size_t, size_t);
__attribute__((hot)) void *realloc(void *, size_t);
MW_ROW(13) MW_LINE size_t malloc_usable_size(void *);

/* Out of line: the fast way needs no stack frame for it. Its first arguments are where malloc has them. */
static __attribute__((noinline)) void *alloc_shared(size_t n, uintptr_t caller, enum mw_how how)
{
	return mw_alloc_shared(&(struct mw_alloc_call){ .how = how, .n = n }, caller);
}

static __attribute__((noinline)) void *malloc_sampled(size_t n, uintptr_t caller)
{
	return mw_likely(mw_sampled_passes(n)) ? mw_real.malloc(n) : alloc_shared(n, caller, MW_MALLOC);
}

/* A macro: malloc reads its caller behind the real call, so no register has to keep it. */
#define MALLOC(n, caller)                                                                        \
	__extension__({                                                                          \
		void *p;                                                                         \
		/* large: perhaps the tracker's own, or too large; or allocations are sampled */ \
		if (mw_unlikely(mw_reaches(n, &mw_least.malloc)))                                \
			return malloc_sampled(n, caller);                                        \
		p = mw_roomy_malloc(n + MW_TAIL); /* glibc's least chunk has room for 24 */      \
		mw_likely(p != NULL) ? mw_admit_new(p, n, caller) : NULL;                        \
	})

MW_EXPORT void *malloc(size_t n)
{
	return MALLOC(n, MW_CALLER);
}

void *mw_malloc_at(size_t n, uintptr_t caller)
{
	return MALLOC(n, caller);
}

static __attribute__((noinline)) void free_noticed(void *p)
{
	if (p)
		mw_free_shared(p);
}

static __attribute__((noinline)) void free_sampled(void *p)
{
	if (mw_unlikely(mw_own_small_is(p) || mw_noticed_has(p)))
		free_noticed(p);
	else
		mw_real.free(p);
}

MW_EXPORT void free(void *p)
{
	struct mw_guard in;
	uint32_t known;

	if (mw_unlikely(!mw_reaches((uintptr_t)p, &mw_least.free))) { /* NULL; or allocations are sampled */
		free_sampled(p);
		return;
	}
	in = mw_enter_carrying(mw_self, &known);
	if (mw_likely(mw_permit_is(known, &mw_permit_ruby.ruby)) &&
	    mw_likely(mw_dismiss_plain(in.t, p, MW_MODE_RUBY))) {
		mw_leave_as(in, known);
		mw_real.free(p);
		return;
	}
	mw_free_other(p, in, known);
}

static __attribute__((noinline)) void *calloc_sampled(size_t n, uintptr_t caller)
{
	return mw_likely(mw_sampled_passes(n)) ? mw_real.calloc(1, n) : alloc_shared(n, caller, MW_CALLOC);
}

MW_EXPORT void *calloc(size_t count, size_t each)
{
	size_t n;
	void *p;

	if (mw_unlikely(__builtin_mul_overflow(count, each, &n) || n > MW_SIZE_PADDED_MAX))
		return mw_real.calloc(count, each);
	if (mw_unlikely(mw_reaches(n, &mw_least.calloc)))
		return calloc_sampled(n, MW_CALLER);
	if (mw_unlikely(!mw_permitted()))
		return alloc_shared(n, MW_CALLER, MW_CALLOC);
	p = mw_real.calloc(1, mw_padded(n));
	return mw_likely(p != NULL) ? mw_admit_new(p, n, MW_CALLER) : NULL;
}

/* p is hidden during the real call: after it, the address may be another block's. */
MW_INLINE void *realloc_hidden(struct mw_shard *t, void *p, size_t n)
{
	struct mw_dismissed d;
	bool known;
	void *q;

	{
		MW_GUARD(t);
		known = mw_hide(p, &d);
	}
	q = mw_real.realloc(p, mw_padded(n));
	if (mw_unlikely(!known))
		return q;
	if (mw_unlikely(!q)) {
		mw_unhide(p, &d);
	} else {
		MW_GUARD(t);
		mw_count_hidden_fast(t, p, &d);
	}
	return q;
}

/* n - 1 >= INT32_MAX, or allocations are sampled: a block that is none, and isn't to be one, needs no look. */
static __attribute__((noinline)) void *realloc_sampled(void *p, size_t n, uintptr_t caller)
{
	if (n - 1 < INT32_MAX && !mw_noticed_has(p) && !mw_own_small_is(p) && mw_sampled_passes(n))
		return mw_real.realloc(p, n);
	return mw_realloc_shared(p, n, caller);
}

MW_INLINE void *any_realloc(void *p, size_t n, uintptr_t caller)
{
	struct mw_shard *t;
	size_t room;
	void *q;

	if (mw_unlikely(mw_reaches(n - 1, &mw_least.realloc)))
		return realloc_sampled(p, n, caller);
	t = mw_permitted();
	if (mw_unlikely(!t || mw_own_is(p)))
		return mw_realloc_shared(p, n, caller);
	/* not malloc for NULL: an allocator may treat the two differently */
	q = p ? realloc_hidden(t, p, n) : mw_real.realloc(NULL, mw_padded(n));
	if (mw_unlikely(!q))
		return NULL;
	/* an allocator with classes may leave a block in a larger one's place */
	if (mw_real_classes && !(mw_class_usable(n, &room) && mw_real.malloc_usable_size(q) == room))
		return mw_admit(t, q, n, caller, MW_OP_MALLOC, 0);
	return mw_admit_new(q, n, caller);
}

MW_EXPORT void *realloc(void *p, size_t n)
{
	return any_realloc(p, n, MW_CALLER);
}

MW_EXPORT void *reallocarray(void *p, size_t count, size_t each)
{
	size_t n;
	void *q;

	if (mw_unlikely(__builtin_mul_overflow(count, each, &n))) {
		if (mw_real.reallocarray) /* fails in its own way */
			return mw_real.reallocarray(p, count, each);
		errno = ENOMEM;
		return NULL;
	}
	if (mw_unlikely(mw_first.realloc != NULL))
		return mw_first.realloc(p, n);
	q = any_realloc(p, n, MW_CALLER);
	if (!q && n)
		errno = ENOMEM; /* mimalloc sets it here, but not in realloc */
	return q;
}

/* --- aligned: not hot ----------------------------------------------------------------- */

void *mw_alloc_at(struct mw_alloc_call *a, uintptr_t caller)
{
	struct mw_shard *t;
	void *p;

	if (mw_unlikely(mw_reaches(a->n, &mw_least.calloc)))
		return mw_sampled_passes(a->n) ? mw_alloc_real(a, a->n) : mw_alloc_shared(a, caller);
	t = mw_permitted();
	if (mw_unlikely(!t))
		return mw_alloc_shared(a, caller);
	p = mw_alloc_real(a, mw_alloc_bytes(a));
	if (!p)
		return NULL;
	return mw_admit(t, p, a->n, caller, MW_OP_ALIGNED, a->align);
}

MW_EXPORT void *memalign(size_t align, size_t n)
{
	return mw_alloc_at(&(struct mw_alloc_call){ .how = MW_MEMALIGN, .n = n, .align = align },
			   MW_CALLER);
}

MW_EXPORT int posix_memalign(void **out, size_t align, size_t n)
{
	struct mw_alloc_call a = { .how = MW_POSIX_MEMALIGN, .n = n, .align = align };
	void *p = mw_alloc_at(&a, MW_CALLER);

	if (a.error == 0)
		*out = p;
	return a.error;
}

MW_EXPORT void *aligned_alloc(size_t align, size_t n)
{
	return mw_alloc_at(&(struct mw_alloc_call){ .how = MW_ALIGNED_ALLOC, .n = n, .align = align },
			   MW_CALLER);
}

MW_EXPORT void *valloc(size_t n)
{
	return mw_alloc_at(&(struct mw_alloc_call){ .how = MW_VALLOC, .n = n }, MW_CALLER);
}

MW_EXPORT void *pvalloc(size_t n)
{
	size_t page = mw_page_size();

	/* pvalloc rounds up: round before the tail is added */
	if (n <= MW_SIZE_PADDED_MAX)
		n = n ? (n + page - 1) & ~(page - 1) : page;
	return mw_alloc_at(&(struct mw_alloc_call){ .how = MW_VALLOC, .n = n }, MW_CALLER);
}

/* --- the rest ------------------------------------------------------------------------ */

/*
 * The room without the tail, which isn't the app's. It doesn't check for a tail: Ruby
 * asks at every malloc and free, and a little less is always right. (One test of the
 * chunk's flags and of mw_plain together would be shorter, but another allocator's
 * block may have no word before it.)
 */
MW_EXPORT size_t malloc_usable_size(void *p)
{
	size_t n;

	if (mw_likely((uintptr_t)p - 1 < mw_plain && mw_chunk_plain(p, &n))) /* nor is it NULL */
		return n - MW_TAIL;
	return mw_usable_other(p);
}

MW_EXPORT void cfree(void *p)
{
	free(p);
}
