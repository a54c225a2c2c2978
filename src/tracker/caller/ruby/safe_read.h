/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * safe_read.h - may this memory be read?
 *
 * For words that may not be pointers: those of Ruby's structures, until their layout is verified.
 * The kernel answers, without a descriptor, /proc, or a call that a sandbox would refuse. Pages
 * found readable are cached: a second question costs a few loads.
 *
 * An answer is true at its moment only. There is no guard against a page that another thread unmaps
 * right after it, nor against one unmapped since it was cached. Wrong pointers are noticed, and not
 * followed again, long before. Any thread; errno is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Are all n bytes at p readable? Any p and n > 0; false if they wrap around. */
bool mw_readable(uintptr_t p, size_t n);

/* Reads the word at p. False: p isn't a word's address, or isn't readable. */
static inline bool mw_peek(uintptr_t p, uintptr_t *word)
{
	if (p % sizeof(*word) || !mw_readable(p, sizeof(*word)))
		return false;
	*word = *(const uintptr_t *)p;
	return true;
}

static inline bool mw_peek32(uintptr_t p, uint32_t *word)
{
	if (p % sizeof(*word) || !mw_readable(p, sizeof(*word)))
		return false;
	*word = *(const uint32_t *)p;
	return true;
}
