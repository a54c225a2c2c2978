/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shared.c - calls that can't go on as their thread's own (track.h). start.c sets up the
 * state that they miss.
 *
 *   set-up not done, or it failed  passes through, without a tail
 *   the thread's first call        gets a state, then is admitted as any
 *   quiet                          gets a tail that says "not counted"
 *   busy: from a signal handler    is counted with atomic adds; its record
 *   in the middle of our own work  comes from the shared pool
 *   after the thread's last state  the same
 */
#include "shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "admit.h"
#include "dismiss.h"
#include "shared/sys/sys.h"
#include "sampled.h"
#include "tracker/base/own_thread.h"
#include "tracker/real/own_blocks.h"
#include "tracker/table/sampled_blocks.h"

enum way { PASS, QUIET, SHARED }; /* QUIET: or paused, or all records change */

static enum way way_now(void)
{
	int life = __atomic_load_n(&mw_life, __ATOMIC_ACQUIRE);

	if (life != MW_ON)
		return life == MW_CHANGING ? QUIET : PASS;
	if (mw_is_quiet() || mw_get(&mw_paused))
		return QUIET;
	return SHARED;
}

/* The event of such a call. */
static uint32_t op_of(enum mw_how how)
{
	return how == MW_MALLOC ? MW_OP_MALLOC : how == MW_CALLOC ? MW_OP_CALLOC : MW_OP_ALIGNED;
}

static void shared_admit(void *p, size_t n, uintptr_t caller, uint32_t op, uint64_t extra)
{
	uint32_t id, i = 0, size, late = mw_late_enter();

	/* asked in here: either forget.c waits for the record, or there is none */
	if (!mw_is_on() || mw_get(&mw_sampled)) {
		(void)mw_lead(p, n, mw_usable_new(p, n), MW_TAIL_NONE);
		mw_late_leave(late);
		return;
	}
	size = mw_size_encode(n);
	id = mw_callsite_native(caller);
	if (size != MW_SIZE_NONE)
		i = mw_record_take();
	if (!mw_lead(p, n, mw_usable_new(p, n), i ? mw_ref(i) : MW_TAIL_NONE) && i) {
		mw_free_link(mw_record_at(i), mw_ref(i), NULL);
		mw_batch_give(i);
		i = 0;
	}
	if (i) {
		mw_record_fill(mw_record_at(i), p, size, id | mw_flag_of(size), mw_generation(NULL));
		mw_shared_alloc(id, n, 1);
		if (mw_get(&mw_events_on))
			mw_event(NULL, op, mw_ref(i), n, id, extra);
		if (mw_clock.in_bytes)
			mw_add(&mw_clock_bytes, n);
	} else {
		mw_lose(size);
	}
	mw_late_leave(late);
}

/* For a thread without a state to use. p has room for a tail, unless `way` is PASS. */
static void *admit_shared_or_quiet(enum way way, void *p, size_t n, uintptr_t caller, uint32_t op,
				   uint64_t extra)
{
	if (way == SHARED)
		shared_admit(p, n, caller, op, extra);
	else if (way == QUIET)
		(void)mw_lead(p, n, mw_usable_new(p, n), MW_TAIL_NONE);
	return p;
}

/* As mw_hide, in a thread that isn't busy. */
static bool shared_hide(const void *p, struct mw_dismissed *d)
{
	uint32_t late = mw_late_enter();
	bool known = mw_hide(p, d);

	mw_late_leave(late);
	return known;
}

static void shared_count_hidden(const void *p, const struct mw_dismissed *d)
{
	uint32_t id = (uint32_t)d->where & MW_CS_MASK, count = d->count ? d->count : 1;
	uint64_t size = mw_size_decode(d->size);

	if (d->overrun)
		mw_overrun_note(id, size);
	mw_shared_free(id, size * count, count, mw_generation(NULL) - d->generation);
	mw_unflag(p, d);
	mw_free_link(d->record, d->ref, NULL);
	mw_batch_give(mw_ref_index(d->ref));
}

static void shared_gone(const void *p, const struct mw_dismissed *d)
{
	uint32_t late = mw_late_enter();

	if (mw_get(&mw_events_on))
		mw_event(NULL, MW_OP_FREE, d->ref, 0, 0, 0);
	shared_count_hidden(p, d);
	mw_late_leave(late);
}

/* --- calling the real allocator -------------------------------------------------------- */

/* C11 wants a multiple of the alignment, and scudo insists on it: of the app's size, not of that with a tail. */
static void *real_aligned_alloc(size_t align, size_t n, size_t bytes)
{
	bool power = align && (align & (align - 1)) == 0;
	int saved = errno;
	void *p;

	if (power && n % align && bytes % align == 0)
		bytes++;
	p = mw_real.aligned_alloc(align, bytes);
	if (p || errno != EINVAL || !power || n % align || !mw_real.memalign)
		return p;
	errno = saved;
	return mw_real.memalign(align, bytes);
}

void *mw_alloc_real(struct mw_alloc_call *a, size_t bytes)
{
	void *p = NULL;

	a->error = 0;
	switch (a->how) {
	case MW_MALLOC:
		return mw_real.malloc(bytes);
	case MW_CALLOC:
		return mw_real.calloc(1, bytes);
	case MW_VALLOC:
		if (mw_real.valloc)
			return mw_real.valloc(bytes);
		a->align = mw_page_size(); /* as valloc promises; for allocators without it */
		break;
	case MW_MEMALIGN:
		if (mw_real.memalign)
			return mw_real.memalign(a->align, bytes);
		break;
	case MW_ALIGNED_ALLOC:
		if (mw_real.aligned_alloc)
			return real_aligned_alloc(a->align, a->n, bytes);
		break;
	case MW_POSIX_MEMALIGN:
		break;
	}
	if (!mw_real.posix_memalign)
		a->error = ENOMEM;
	else
		a->error = mw_real.posix_memalign(&p, a->align, bytes);
	if (a->error && a->how != MW_POSIX_MEMALIGN)
		errno = a->error;
	return a->error ? NULL : p;
}

/* Blocks get room for a tail, during set-up too: malloc_usable_size takes a tail off all. */
static bool tails(void)
{
	return __atomic_load_n(&mw_life, __ATOMIC_ACQUIRE) != MW_OFF;
}

/* While allocations are sampled: p is new. t: the thread's state if it may go on; else p is no sample. Returns p. */
static void *step_sampled(struct mw_shard *t, void *p, size_t n, uintptr_t caller)
{
	if (p && t) {
		MW_GUARD(t);
		if (mw_is_on())
			mw_sampled_step(t, p, n, caller);
	}
	return p;
}

/* In a thread of ours. */
static void *own_alloc(struct mw_alloc_call *a)
{
	size_t align = a->how == MW_VALLOC ? mw_page_size() : a->how > MW_CALLOC ? a->align : 1;
	void *p = mw_own_alloc(align, a->n);

	a->error = p ? 0 : ENOMEM;
	return p && a->how == MW_CALLOC ? memset(p, 0, a->n) : p;
}

void *mw_alloc_shared(struct mw_alloc_call *a, uintptr_t caller)
{
	struct mw_shard *t;
	enum way way;
	void *p;

	if (a->n > MW_SIZE_PADDED_MAX)
		return mw_alloc_real(a, a->n); /* fails, as it should */
	if (mw_own_blocks_here())
		return own_alloc(a);
	mw_own_free_left();
	t = mw_shard_now();
	way = way_now();
	if (mw_get(&mw_sampled))
		return step_sampled(t, mw_alloc_real(a, a->n), a->n, caller);
	p = mw_alloc_real(a, tails() ? mw_alloc_bytes(a) : a->n);
	if (!p || way == PASS)
		return p;
	if (t)
		return mw_admit(t, p, a->n, caller, op_of(a->how), a->align);
	return admit_shared_or_quiet(way, p, a->n, caller, op_of(a->how), a->align);
}

void *mw_admit_again(void *p, size_t n, uintptr_t caller, uint32_t op, uint64_t extra)
{
	struct mw_shard *t;

	if (mw_own_is(p))
		return p;
	t = mw_shard_now();
	if (mw_get(&mw_sampled))
		return step_sampled(t, p, n, caller);
	return t ? mw_admit(t, p, n, caller, op, extra) :
		   admit_shared_or_quiet(way_now(), p, n, caller, op, extra);
}

void *mw_admit_shared(void *p, size_t n, uintptr_t caller)
{
	return mw_admit_again(p, n, caller, MW_OP_MALLOC, 0);
}

void mw_free_shared(void *p)
{
	struct mw_shard *t;
	struct mw_dismissed d;

	if (mw_own_is(p)) {
		mw_own_free(p);
		return;
	}
	t = mw_shard_now();
	if (t) {
		(void)mw_dismiss(t, p);
	} else if (way_now() != PASS && shared_hide(p, &d)) {
		shared_gone(p, &d);
	}
	mw_own_or_real_free(p);
}

/* A block of ours, or of the allocator's in a thread of ours: it moves to where this thread gets new ones. */
static void *realloc_apart(void *p, size_t n, uintptr_t caller)
{
	size_t had = mw_own_is(p) ? mw_own_size(p) : mw_usable(p);
	void *q;

	if (!n) {
		mw_free_shared(p);
		return NULL;
	}
	q = mw_alloc_shared(&(struct mw_alloc_call){ .how = MW_MALLOC, .n = n }, caller);
	if (!q)
		return NULL;
	memcpy(q, p, had < n ? had : n);
	mw_free_shared(p);
	return q;
}

/* realloc(p, 0) frees p with glibc; other allocators return a smallest block. */
static void *realloc_to_none(void *p, enum way way, uintptr_t caller)
{
	struct mw_dismissed d;
	bool known = way != PASS && shared_hide(p, &d);
	void *q = mw_real.realloc(p, 0);

	if (known)
		shared_gone(p, &d);
	if (q && way == SHARED && mw_usable(q) >= MW_TAIL)
		(void)mw_admit_shared(q, 0, caller);
	return q;
}

/* The same while allocations are sampled, also to 0 bytes. */
static void *realloc_to_sampled(struct mw_shard *t, void *p, size_t n, uintptr_t caller)
{
	struct mw_dismissed d;
	bool known = mw_noticed_has(p) && shared_hide(p, &d);
	void *q = mw_real.realloc(p, n);

	if (known && !q && n)
		mw_unhide(p, &d);
	else if (known)
		shared_gone(p, &d);
	return step_sampled(t, q, n, caller);
}

/*
 * The same while calls are recorded; t may go on, n isn't 0. The block stays hidden during the real call, as in
 * tracker/hooks/malloc.c. Its end is the birth's event.
 */
static __attribute__((noinline)) void *realloc_recorded(struct mw_shard *t, void *p, size_t n,
							uintptr_t caller)
{
	struct mw_dismissed d;
	bool known;
	void *q;

	{
		MW_GUARD(t);
		known = mw_hide(p, &d);
		if (known)
			mw_event_resident(t, p, d.ref, mw_size_decode(d.size));
	}
	q = mw_real.realloc(p, mw_padded(n));
	if (mw_unlikely(!q)) {
		if (known)
			mw_unhide(p, &d);
		return NULL;
	}
	if (known) {
		MW_GUARD(t);
		mw_count_hidden_fast(t, p, &d);
	}
	return mw_admit(t, q, n, caller, known ? MW_OP_REALLOC : MW_OP_MALLOC,
			known ? mw_ref_index(d.ref) : 0);
}

void *mw_realloc_shared(void *p, size_t n, uintptr_t caller)
{
	struct mw_dismissed d;
	struct mw_shard *t;
	bool known;
	enum way way;
	void *q;

	if (!p)
		return mw_alloc_shared(&(struct mw_alloc_call){ .how = MW_MALLOC, .n = n }, caller);
	if (mw_own_is(p) || (mw_own_blocks_here() && mw_usable(p) > MW_ROOM_UNKNOWN))
		return realloc_apart(p, n, caller);
	t = mw_shard_now();
	way = way_now();
	if (n > MW_SIZE_PADDED_MAX)
		return mw_real.realloc(p, n); /* fails: p stays as it is */
	if (mw_get(&mw_sampled))
		return realloc_to_sampled(t, p, n, caller);
	if (t && n && way == SHARED && mw_get(&mw_events_on))
		return realloc_recorded(t, p, n, caller);
	if (n == 0)
		return realloc_to_none(p, way, caller);
	if (way == PASS)
		return mw_real.realloc(p, tails() ? mw_padded(n) : n);
	known = shared_hide(p, &d);
	q = mw_real.realloc(p, mw_padded(n));
	if (!q) {
		if (known)
			mw_unhide(p, &d);
		return NULL;
	}
	if (known) {
		uint32_t late = mw_late_enter();

		shared_count_hidden(p, &d);
		mw_late_leave(late);
	}
	return mw_admit_again(q, n, caller, known ? MW_OP_REALLOC : MW_OP_MALLOC,
			      known ? mw_ref_index(d.ref) : 0);
}
