/* SPDX-License-Identifier: GPL-2.0-or-later */
/* safe_read.c - may this memory be read? See safe_read.h. */
#include "safe_read.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, KNOWN = 256 }; /* PAGE: or a part of one */

/* Numbers of pages that were readable; 0: none. Relaxed: a word is stored whole. */
static uintptr_t known[KNOWN];

/*
 * A wait while a word has a value that it hardly ever has: the kernel reads the word, and the wait is
 * over at once. No sandbox refuses futex(2) to a program with threads.
 */
static bool kernel_reads(uintptr_t p)
{
	enum { UNLIKELY = 0x6d77b5e3 };
	const struct timespec none = { 0 };
	int kept = errno;
	bool yes = syscall(SYS_futex, p, FUTEX_WAIT_PRIVATE, UNLIKELY, &none, NULL, 0) == 0 ||
		   errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR;

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
