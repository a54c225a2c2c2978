/* SPDX-License-Identifier: GPL-2.0-or-later */
/* safe_read.c - may this memory be read? See safe_read.h. */
#include "safe_read.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, KNOWN = 256 }; /* PAGE: or a part of one */

/* Numbers of pages that were readable; 0: none. Relaxed: a word is stored whole. */
static uintptr_t known[KNOWN];

/*
 * rt_sigprocmask reads the new mask before it looks at `how`, which here is invalid. So it fails
 * in either case, changes nothing, and errno tells if the mask was readable. The kernel's mask
 * has 8 bytes.
 */
static bool kernel_reads(uintptr_t p)
{
	int kept = errno;
	long r = syscall(SYS_rt_sigprocmask, ~0, p, NULL, 8);
	bool yes = r == -1 && errno == EINVAL;

	errno = kept;
	return yes;
}

static bool page_readable(uintptr_t page)
{
	uintptr_t *k = &known[page % KNOWN];

	if (__atomic_load_n(k, __ATOMIC_RELAXED) == page)
		return true;
	if (!kernel_reads(page * PAGE))
		return false;
	__atomic_store_n(k, page, __ATOMIC_RELAXED);
	return true;
}

bool mw_readable(uintptr_t p, size_t n)
{
	uintptr_t last = p + (n - 1);

	if (p < PAGE || last < p)
		return false;
	for (uintptr_t page = p / PAGE; page <= last / PAGE; page++)
		if (!page_readable(page))
			return false;
	return true;
}
