/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callers.h - the text of a location's callers (option bt).
 *
 * A location with callers is shown as "a.rb:1 < b.rb:7 < c.rb:3", the innermost line first. What
 * stands behind the first " < " is kept once for all its locations, as a path is (paths.h).
 *
 * Two locations never have the same text, whatever bytes their paths have. Only paths that look as
 * if they had callers pay for that:
 *  - In a caller's path, a "<" at the start or behind a digit and a space, with a space behind it,
 *    becomes "<<"; "<<" becomes "<<<" there, and so on.
 *  - If the innermost path has a digit and " < " in it, " <" follows its line, with or without
 *    callers. Everything before the last such mark is then the innermost line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MW_CALLERS_BETWEEN " < "
#define MW_CALLERS_MARK " <"

enum { MW_CALLERS_TEXT = 4096 }; /* bytes; callers beyond are left out */

struct mw_callers {
	size_t n; /* bytes of the text; 0: no callers */
	char text[MW_CALLERS_TEXT];
};

/* Appends the next caller outwards. False: it has no room, and nothing has changed. */
bool mw_callers_add(struct mw_callers *, const char *path, size_t n, uint64_t line);

/* Does an innermost path look as if it had callers, so that the mark follows its line? */
bool mw_callers_need_mark(const char *path, size_t n);

/*
 * The length of the innermost line in a location without a mark; 0: it is none. *callers: its callers'
 * text, whose length is *n; "" and 0 if there is none.
 */
size_t mw_callers_split(const char *location, size_t len, const char **callers, size_t *n);
