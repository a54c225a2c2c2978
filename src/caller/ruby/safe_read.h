/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * safe_read.h - may this memory be read? For words that are only believed to
 * be pointers: Ruby's structures, as long as nothing proves that they are laid
 * out as we think. Asks the kernel, which needs no descriptor, no /proc and no
 * call that a sandbox would refuse; pages that were found readable are
 * remembered, so that asking again costs a few loads.
 *
 * An answer holds at this moment. A page that another thread unmaps right
 * after it isn't guarded against, nor one that was unmapped since it was
 * remembered: wrong pointers are noticed, and not followed again, long before.
 * Any thread; errno is kept.
 */
#ifndef MW_CALLER_RUBY_SAFE_READ_H
#define MW_CALLER_RUBY_SAFE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All n bytes at p? Any p and n > 0, also such that they wrap around. */
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

#endif
