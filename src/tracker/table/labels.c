/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "labels.h"

#include <stdbool.h>
#include <string.h>

#include "paths.h"
#include "tracker/base/arena.h"

/* Released with the text in it; acquire. */
static const char *texts[MW_LABEL_SLOTS];
static uint32_t used; /* slots that are taken, or about to be. Relaxed */

/* How many of n bytes fit: no character of UTF-8 is cut in two. */
static size_t fitting(const char *s, size_t n)
{
	size_t end = MW_LABEL_MOST;

	if (n <= MW_LABEL_MOST)
		return n;
	while (end > MW_LABEL_MOST - 3 && ((unsigned char)s[end] & 0xc0) == 0x80)
		end--;
	return ((unsigned char)s[end] & 0xc0) == 0x80 ? MW_LABEL_MOST : end;
}

static void give_place(void)
{
	__atomic_fetch_sub(&used, 1, __ATOMIC_RELAXED);
}

static bool take_place(void)
{
	if (__atomic_fetch_add(&used, 1, __ATOMIC_RELAXED) < MW_LABEL_TEXTS)
		return true;
	give_place();
	return false;
}

/* Puts the text into an empty slot. False: no room. Another text may be there then. */
static bool put_label(const char **slot, const char *text, size_t n)
{
	const char *none = NULL;
	char *copy;

	if (!take_place())
		return false;
	copy = mw_arena_alloc(n + 1, MW_ARENA_NAME);
	if (!copy) {
		give_place();
		return false;
	}
	memcpy(copy, text, n + 1);
	if (!__atomic_compare_exchange_n(slot, &none, copy, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
		mw_arena_free(copy, n + 1, MW_ARENA_NAME);
		give_place();
	}
	return true;
}

uint32_t mw_label_of(const char *s, size_t n)
{
	char text[MW_LABEL_MOST + 1];
	uint32_t at;

	n = fitting(s, n);
	for (size_t i = 0; i < n; i++)
		text[i] = s[i] ? s[i] : '?';
	text[n] = 0;
	if (!n)
		return 0;
	at = mw_text_hash(text, n) % MW_LABEL_SLOTS;
	for (;; at = (at + 1) % MW_LABEL_SLOTS) { /* half of the slots stay empty */
		const char *there = __atomic_load_n(&texts[at], __ATOMIC_ACQUIRE);

		if (!there && !put_label(&texts[at], text, n))
			return MW_LABEL_OTHER;
		if (!there)
			there = __atomic_load_n(&texts[at], __ATOMIC_ACQUIRE);
		if (strcmp(there, text) == 0)
			return at + 1;
	}
}

const char *mw_label_text(uint32_t label)
{
	if (label == MW_LABEL_OTHER)
		return "(other)";
	return label ? __atomic_load_n(&texts[label - 1], __ATOMIC_ACQUIRE) : "";
}
