/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mmap.c - notes Ruby's heap pages as Ruby maps and unmaps them, and who maps larger anonymous memory.
 *
 * From 3.1 on Ruby maps twice a page, so an aligned page fits in wherever the mapping
 * begins. It unmaps the memory before and behind that page, and later the page. We
 * recognise the mapping by four signs: its exact size, no wanted address, its
 * protection and flags, and a caller in Ruby's own code. The page is the last aligned
 * one in it. If a later Ruby does otherwise, no page is known, and stats say so.
 *
 * Any code may call these functions at any time, even before the tracker is set up, and
 * allocators do. Until the next functions are known, we make the system call.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracker/table/heap_pages.h"
#include "tracker/caller/ruby/frame.h"
#include "tracker/caller/ruby/jit_code.h"
#include "tracker/caller/ruby/state.h"
#include "tracker/real/real.h"
#include "tracker/table/generation.h"
#include "tracker/track/mapped.h"
#include "tracker/track/track.h"

#undef mmap64 /* musl has it as another name of mmap only */
void *mmap64(void *, size_t, int, int, int, off_t);

/* The size of a page that is mapped, or unmapped, in so many bytes; 0: of none. */
static size_t page_of(size_t bytes)
{
	return bytes == (size_t)16 << 10 || bytes == (size_t)64 << 10 ? bytes : 0;
}

static uint32_t generation(void)
{
	return mw_is_on() ? mw_generation(NULL) : 0;
}

static void mapped(uintptr_t p, size_t n, int prot, int flags)
{
	size_t page = page_of(n / 2);
	int e = errno;

	if (page && n == page * 2 && prot == (PROT_READ | PROT_WRITE) &&
	    (flags & (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED)) == (MAP_PRIVATE | MAP_ANONYMOUS))
		mw_heap_page_born((p + page) & ~(uintptr_t)(page - 1), page, generation());
	errno = e;
}

/* At the end of a function this is a jump, so the next function sees our caller as its own. */
MW_INLINE void *map(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	if (mw_likely(mw_next.mmap != NULL))
		return mw_next.mmap(at, n, prot, flags, fd, off);
	return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, off);
}

/* Is it memory of the caller's own, and much of it? */
static bool is_large(size_t n, int flags)
{
	return n >= MW_MAPPING_LEAST &&
	       (flags & (MAP_PRIVATE | MAP_ANONYMOUS)) == (MAP_PRIVATE | MAP_ANONYMOUS);
}

static __attribute__((noinline)) void *map_large(void *at, size_t n, int prot, int flags, int fd,
						 off_t off, uintptr_t caller)
{
	void *p = map(at, n, prot, flags, fd, off);

	if (prot == PROT_NONE && mw_ruby_has(caller)) {
		mw_ruby_jit_begins();
		mw_jit_code_find();
	}
	if (p != MAP_FAILED)
		mw_track_mapped((uintptr_t)p, n, caller);
	return p;
}

static __attribute__((noinline)) void *map_for_ruby(void *at, size_t n, int prot, int flags, int fd,
						    off_t off)
{
	void *p = map(at, n, prot, flags, fd, off);

	if (p != MAP_FAILED && !at)
		mapped((uintptr_t)p, n, prot, flags);
	return p;
}

/* Results and errors are the C library's. */
MW_EXPORT void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	if (mw_ruby_has(MW_CALLER) && page_of(n / 2))
		return map_for_ruby(at, n, prot, flags, fd, off);
	if (is_large(n, flags) && mw_track_notes(MW_CALLER))
		return map_large(at, n, prot, flags, fd, off, MW_CALLER);
	return map(at, n, prot, flags, fd, off);
}

MW_EXPORT void *mmap64(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	if (mw_ruby_has(MW_CALLER) && page_of(n / 2))
		return map_for_ruby(at, n, prot, flags, fd, off);
	if (is_large(n, flags) && mw_track_notes(MW_CALLER))
		return map_large(at, n, prot, flags, fd, off, MW_CALLER);
	return map(at, n, prot, flags, fd, off);
}

MW_EXPORT int munmap(void *p, size_t n)
{
	/*
	 * Before the unmapping: after it, the address may be another mapping's. Pages that the
	 * VM unmaps at its own end (3.1: every other page) stay: the dump shows the heap as it was.
	 */
	if (mw_ruby_has(MW_CALLER) && page_of(n) && mw_get(&mw_ruby.how) != MW_RUBY_ENDED)
		mw_heap_page_dies((uintptr_t)p, n, generation());
	if (n >= MW_MAPPING_LEAST)
		mw_mapping_gone((uintptr_t)p, n);
	if (mw_likely(mw_next.munmap != NULL))
		return mw_next.munmap(p, n);
	return (int)syscall(SYS_munmap, p, n);
}
