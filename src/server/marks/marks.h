/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks.h - named marks: what was live at each location at chosen moments, for comparisons.
 *
 * The newest mark is there in full. Each older one is what differs from the next newer one, so a mark
 * costs what changed since. A place is what a mark has of a location: its key, its text and its numbers.
 * The key is a hash of the location's text; of native code, of its module and offset, since the address
 * changes if a library is loaded again. So a key says which tenant an id has. Places that no mark has
 * anything of go when they are the most.
 *
 * Must stay true:
 *  - names are different; v[] is in order of time, and v[n - 1] is that of the places' numbers;
 *  - numbers of v[i] are those of v[i + 1] plus v[i].changes;
 *  - places and texts stay where they are until the next mark is added or removed.
 *
 * At most MW_MARKS_MAX marks, and the memory of marks_memory.h. If either is used up, the oldest marks
 * go. A forked child begins without marks: they are about its parent.
 *
 * The owner of the site makes all calls, in quiet mode. A change isn't atomic: a child that is forked
 * meanwhile calls mw_marks_start. All zero at first.
 */
#pragma once

#include "marks_memory.h"
#include "moment.h"

enum {
	MW_MARKS_MAX = 64,
	MW_MARKS_NAME = 80,   /* bytes of a name */
	MW_MARKS_TEXT = 4000, /* bytes of a location that are kept */
	MW_MARKS_PLACES = 46, /* in a page */
	MW_MARKS_HEADS = 16   /* pages of the hash table */
};

/* A location's numbers at a moment. Calls count since the reset before it; objects are Ruby's, as in struct mw_row. */
enum mw_marks_number {
	MW_MARKS_BYTES,
	MW_MARKS_BLOCKS,
	MW_MARKS_ALLOCATIONS,
	MW_MARKS_FREES,
	MW_MARKS_OBJECTS,
	MW_MARKS_OBJECT_BYTES,
	MW_MARKS_VARIANCE,
	MW_MARKS_NUMBERS
};
struct mw_marks_numbers {
	uint64_t v[MW_MARKS_NUMBERS];
};

/* 88 bytes */
struct mw_marks_place {
	uint64_t key;
	struct mw_marks_numbers now; /* at the newest mark */
	const char *text; /* without an address; NUL-terminated */
	uint64_t at; /* as in struct mw_row */
	uint32_t next; /* in its list of the hash table: place + 1; 0: the last one */
	uint32_t text_len : 12, file_len : 12, kind : 2; /* MW_MARKS_TEXT at most; enum mw_kind */
};

struct mw_named_mark {
	char name[MW_MARKS_NAME + 1];
	struct mw_moment moment;
	struct mw_marks_stream changes; /* of the newest one: none */
};

/* The members that mw_marks_start writes come first: while no mark exists, the rest isn't resident. */
struct mw_marks {
	uint32_t n;
	uint32_t gone; /* that had to go */
	uint32_t places;
	uint32_t texts_left;
	char *texts; /* the rest of the first of these pages */
	void *text_pages; /* each begins with a pointer to the next one */
	uint32_t *heads[MW_MARKS_HEADS];
	struct mw_marks_memory memory;
	struct mw_named_mark v[MW_MARKS_MAX];
	struct mw_marks_place *pages[MW_MARKS_SLABS * (MW_MARKS_SLAB / MW_MARKS_PAGE)];
};

/* No marks. */
void mw_marks_start(struct mw_marks *);

/*
 * Adds a mark with the numbers of these rows. It replaces a mark of the same name. name: 1 to
 * MW_MARKS_NAME bytes. 0; -1: no memory, and there is no mark of that name; older ones may have gone.
 */
int mw_marks_add(struct mw_marks *, const struct mw_api *, const char *name, const struct mw_moment *,
		 const struct mw_snapshot *);
/* False: there is no mark of that name. */
bool mw_marks_remove(struct mw_marks *, const struct mw_api *, const char *name);
/* NULL: there is none. */
const struct mw_named_mark *mw_marks_find(const struct mw_marks *, const char *name, size_t len);

/* The numbers of all places at a mark, malloc'ed; NULL: no memory. */
struct mw_marks_numbers *mw_marks_read(const struct mw_marks *, const struct mw_named_mark *);
const struct mw_marks_place *mw_marks_place(const struct mw_marks *, uint32_t);
/* A row with a place's location, and no numbers. The text is borrowed. */
struct mw_row mw_marks_row(const struct mw_marks_place *);
/* Adds a row's numbers, and makes a row of numbers: its others stay. */
void mw_marks_numbers_add(struct mw_marks_numbers *, const struct mw_row *);
void mw_marks_numbers_set(const struct mw_marks_numbers *, struct mw_row *);
/* The place with that key; UINT32_MAX: none. */
uint32_t mw_marks_place_of(const struct mw_marks *, uint64_t key);
uint64_t mw_marks_key(const struct mw_row *);

/* Bytes of all marks together. */
uint64_t mw_marks_bytes(const struct mw_marks *);
