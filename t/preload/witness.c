/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * witness.c - an allocator layer that only counts.
 *
 * Preloaded beneath the tracker (LD_PRELOAD=libmwrap.so:witness.so) it counts
 * what the tracker asks of the real allocator. Compiled once more as above.so
 * and preloaded before the tracker, it counts what the application asks of the
 * tracker. It shares no code with the tracker, so that the two can disagree.
 *
 * At exit the first of the two to be finalised appends one line of JSON to the
 * file named by $WITNESS_OUT: both counts, the tracker's stats() and the sums
 * of its snapshot(), all taken at that one point. Each keeps every live block in
 * a table, and the lower one's is compared with the tracker's lives(), block by
 * block, address by address.
 *
 * Allocations while the tracker is quiet in that thread (its own work) are
 * counted apart, as are their frees; quiet_enter()'s result tells.
 *
 * witness_inside() is true while the calling thread is in a layer's own code or
 * in the allocator beneath it: a signal handler may allocate if and only if
 * it is false. (Only the lower layer has it: the tracker itself may be
 * interrupted anywhere.)
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../src/api/api.h"

#ifdef WITNESS_ABOVE
#define COUNTS witness_counts_above
#else
#define COUNTS witness_counts_below
#endif
#define EXPORT __attribute__((visibility("default")))
#define TLS static __thread __attribute__((tls_model("initial-exec")))

struct counts {
	uint64_t calls;  /* allocations that succeeded */
	uint64_t bytes;  /* asked for by them */
	uint64_t frees;  /* of non-NULL, and the old blocks of realloc */
	uint64_t padded; /* what a tracker that adds 8, at least 16, asks for */
	uint64_t small;  /* calls for 16 bytes or less: padding is ambiguous */
	uint64_t failed; /* allocations that returned NULL */
	uint64_t quiet_calls, quiet_bytes, quiet_frees;
	uint64_t untidy; /* frees of blocks that this layer never gave out */
};

static _Atomic uint64_t calls, bytes, frees, padded, small, failed;
static _Atomic uint64_t quiet_calls, quiet_bytes, quiet_frees, untidy;

TLS int inside;

void COUNTS(struct counts *c);
bool witness_inside(void);

#ifndef WITNESS_ABOVE
EXPORT bool witness_inside(void)
{
	return inside != 0;
}
#endif

EXPORT void COUNTS(struct counts *c)
{
	c->calls = calls;
	c->bytes = bytes;
	c->frees = frees;
	c->padded = padded;
	c->small = small;
	c->failed = failed;
	c->quiet_calls = quiet_calls;
	c->quiet_bytes = quiet_bytes;
	c->quiet_frees = quiet_frees;
	c->untidy = untidy;
}

/* --- the real functions -------------------------------------------------- */

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);
static void *(*next_memalign)(size_t, size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void *(*next_valloc)(size_t);
static void *(*next_pvalloc)(size_t);
static size_t (*next_malloc_usable_size)(void *);

/* For what dlsym() itself allocates. Never given back. */
static char boot[65536] __attribute__((aligned(16)));
static size_t boot_used;

static void *boot_alloc(size_t n)
{
	void *p = boot + boot_used;

	n = (n + 15) & ~(size_t)15;
	if (n > sizeof(boot) - boot_used)
		return NULL;
	boot_used += n;
	return p;
}

static bool is_boot(const void *p)
{
	return (const char *)p >= boot && (const char *)p < boot + sizeof(boot);
}

#define NEXT(name) (*(void **)&next_##name = dlsym(RTLD_NEXT, #name))

/* The tracker, or NULL. Looked up by ready(), before there are threads. */
static const struct mw_api *the_api;

static const struct mw_api *api(void)
{
	return the_api;
}

/*
 * Is this call the tracker's own? It enters quiet mode for its own work. While it
 * is being set up nothing can be quiet yet: depth 0, of which a thread that is
 * nearly over has 0 too, but later.
 */
static bool is_quiet(void)
{
	static _Atomic bool set_up;
	const struct mw_api *a = api();
	unsigned depth;

	if (!a)
		return false;
	depth = a->quiet_enter();
	a->quiet_leave();
	if (depth)
		set_up = true;
	return set_up ? depth > 1 : true;
}

/* --- live blocks: address -> size asked for ------------------------------- */

#define SLOTS ((size_t)1 << 22)
#define QUIET ((size_t)1 << 63) /* in size: the block is the tracker's own */
struct slot {
	uintptr_t addr; /* 0: free */
	size_t size;
};
static struct slot *slots;
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t slot_home(uintptr_t a)
{
	return (size_t)((a >> 4) * 0x9e3779b97f4a7c15u >> 42);
}

static void slot_put(void *p, size_t size)
{
	size_t i;

	pthread_mutex_lock(&slots_lock);
	for (i = slot_home((uintptr_t)p); slots[i].addr; i = (i + 1) % SLOTS)
		;
	slots[i].addr = (uintptr_t)p;
	slots[i].size = size;
	pthread_mutex_unlock(&slots_lock);
}

/* Where the address is, or SLOTS. The lock is held. */
static size_t slot_find(uintptr_t a)
{
	size_t i;

	for (i = slot_home(a); slots[i].addr; i = (i + 1) % SLOTS)
		if (slots[i].addr == a)
			return i;
	return SLOTS;
}

/* The size that slot_put was told; SIZE_MAX: it never heard of p. */
static size_t slot_del(void *p)
{
	size_t hole, i, size;

	pthread_mutex_lock(&slots_lock);
	hole = slot_find((uintptr_t)p);
	if (hole == SLOTS) {
		pthread_mutex_unlock(&slots_lock);
		return SIZE_MAX;
	}
	size = slots[hole].size;
	for (i = (hole + 1) % SLOTS; slots[i].addr; i = (i + 1) % SLOTS) {
		size_t home = slot_home(slots[i].addr);

		/* it may move into the hole if its home isn't behind the hole */
		if (((i - home) & (SLOTS - 1)) >= ((i - hole) & (SLOTS - 1))) {
			slots[hole] = slots[i];
			hole = i;
		}
	}
	slots[hole].addr = 0;
	pthread_mutex_unlock(&slots_lock);
	return size;
}

/* False while the functions are being looked up, further out on the stack. */
static bool ready(void)
{
	/* 0 not yet, 1 at it, 2 done; before any thread. Volatile: dlsym() may call
	 * back, though its declaration says it doesn't. */
	static volatile int state;

	if (state == 2)
		return true;
	if (state == 1)
		return false;
	state = 1;
	slots = mmap(NULL, SLOTS * sizeof(*slots), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (slots == MAP_FAILED)
		abort(); /* nothing that it says would be right */
	NEXT(calloc);
	NEXT(realloc);
	NEXT(free);
	NEXT(memalign);
	NEXT(posix_memalign);
	NEXT(aligned_alloc);
	NEXT(valloc);
	NEXT(pvalloc);
	NEXT(malloc_usable_size);
	NEXT(malloc);
	the_api = dlsym(RTLD_DEFAULT, "mwrap_api");
	state = 2;
	return true;
}

/* --- counting ------------------------------------------------------------- */

static size_t pad(size_t n)
{
	return n < 8 ? 16 : n + 8;
}

static void *count_alloc(void *p, size_t n)
{
	if (!p) {
		failed++;
		return p;
	}
	if (is_quiet()) {
		quiet_calls++;
		quiet_bytes += n;
		slot_put(p, n | QUIET);
		return p;
	}
	calls++;
	bytes += n;
	padded += pad(n);
	small += n <= 16;
	slot_put(p, n);
	return p;
}

/*
 * Before the block is given back: its address may be another's right after.
 * Returns what it was put down as; that, and not what is quiet now, decides
 * whose free it is.
 */
static size_t count_free(void *p)
{
	size_t size = slot_del(p);

	if (size == SIZE_MAX)
		untidy++;
	else if (size & QUIET)
		quiet_frees++;
	else
		frees++;
	return size;
}

EXPORT void *malloc(size_t n)
{
	void *p;

	if (!ready())
		return boot_alloc(n);
	inside++;
	p = count_alloc(next_malloc(n), n);
	inside--;
	return p;
}

EXPORT void *calloc(size_t a, size_t b)
{
	size_t n;
	void *p;

	if (!ready())
		return boot_alloc(a * b);
	if (__builtin_mul_overflow(a, b, &n))
		n = 0; /* it will fail */
	inside++;
	p = count_alloc(next_calloc(a, b), n);
	inside--;
	return p;
}

EXPORT void free(void *p)
{
	if (!p || is_boot(p))
		return;
	if (!ready())
		return;
	inside++;
	count_free(p);
	next_free(p);
	inside--;
}

/* A realloc that failed has freed nothing. */
static void uncount_free(void *p, size_t was)
{
	if (was == SIZE_MAX)
		untidy--;
	else if (was & QUIET)
		quiet_frees--;
	else
		frees--;
	if (was != SIZE_MAX)
		slot_put(p, was);
}

static void *boot_realloc(void *p, size_t n)
{
	char *q = malloc(n);
	size_t i, most = (size_t)(boot + sizeof(boot) - (char *)p);

	for (i = 0; q && i < n && i < most; i++)
		q[i] = ((char *)p)[i];
	return q;
}

EXPORT void *realloc(void *p, size_t n)
{
	size_t was = 0;
	void *q;

	if (!p && !ready())
		return boot_alloc(n);
	if (p && (is_boot(p) || !ready()))
		return boot_realloc(p, n);
	inside++;
	if (p)
		was = count_free(p);
	q = next_realloc(p, n);
	if (p && !q && n)
		uncount_free(p, was);
	if (q || n)
		count_alloc(q, n);
	inside--;
	return q;
}

EXPORT void *memalign(size_t align, size_t n)
{
	void *p;

	if (!ready())
		return NULL;
	inside++;
	p = count_alloc(next_memalign(align, n), n);
	inside--;
	return p;
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
	void *p;

	if (!ready())
		return NULL;
	inside++;
	p = count_alloc(next_aligned_alloc(align, n), n);
	/* a size that is no multiple stays none with the tail: a byte more sees to that */
	padded += p && align && !(align & (align - 1)) && n % align && pad(n) % align == 0 && !is_quiet();
	inside--;
	return p;
}

EXPORT int posix_memalign(void **out, size_t align, size_t n)
{
	void *p = *out;
	int rc;

	if (!ready())
		return ENOMEM;
	inside++;
	rc = next_posix_memalign(&p, align, n);
	count_alloc(rc ? NULL : p, n);
	*out = p;
	inside--;
	return rc;
}

EXPORT void *valloc(size_t n)
{
	void *p;

	if (!ready())
		return NULL;
	inside++;
	p = count_alloc(next_valloc(n), n);
	inside--;
	return p;
}

EXPORT void *pvalloc(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	if (!ready())
		return NULL;
	inside++;
	p = next_pvalloc(n);
	/* a request is for whole pages */
	count_alloc(p, n ? (n + page - 1) & ~(page - 1) : page);
	inside--;
	return p;
}

/* Only so that the whole family comes from one object. */
EXPORT size_t malloc_usable_size(void *p)
{
	if (is_boot(p) || !ready())
		return 0;
	return next_malloc_usable_size(p);
}

#include "../lib/witness_report.h"
