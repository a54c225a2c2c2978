/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kinds.h - the kind of a stack's memory: a string, an array, instruction sequences, or an
 * extension, which has its file's name.
 *
 * The native functions between Ruby's innermost frame and malloc say that, the innermost first,
 * unless one of them owns all that is allocated below it; if none of them has a name that does, the
 * method in C that called them; see kinds.def. If neither tells the kind, it is "other".
 */
#pragma once

#include "shared/text/intern.h"
#include "profile.h"

/* Of a location without a stack: nothing is known. */
#define MW_NO_STACK "(no stack)"

enum mw_of {
#define KIND(name, text) MW_OF_##name,
#include "kinds.def"
#undef KIND
	MW_OF_N /* from here on: extensions and libraries */
};

/* A kind's text has these bytes at most, and no blank, quote, comma or control character but in ours. */
enum { MW_KIND_TEXT = 80 };

/* A frame's clue to the kind. */
struct mw_clue {
	enum {
		MW_CLUE_UNKNOWN, /* it wasn't asked yet */
		MW_CLUE_NONE,
		MW_CLUE_HINT, /* if no frame further out is sure, up to the method in C */
		MW_CLUE_SURE, /* if no frame further out is the owner */
		MW_CLUE_OWNER,
		MW_CLUE_METHOD_HINT,
		MW_CLUE_END /* Ruby code, or a method in C that says nothing */
	} is;
	uint32_t kind;
};

struct mw_clues {
	struct mw_intern texts; /* the kinds', with their NULs: the first MW_OF_N are kinds.def's */
	struct mw_clue *of; /* by the profile's frame; owned */
};

/* False: no memory. Free with mw_clues_free in any case. */
bool mw_clues_make(struct mw_clues *, size_t frames);
void mw_clues_free(struct mw_clues *);
/* The number of the kind of these frames, innermost first; UINT32_MAX: no memory. */
uint32_t mw_kind_of(struct mw_clues *, const struct mw_profile_frame *all, const uint32_t *frames,
		    uint32_t depth);
/* The same of code that isn't Ruby's and has no stack, by its file; file_len bytes of it. */
uint32_t mw_kind_of_file(struct mw_clues *, const char *file, size_t file_len);
