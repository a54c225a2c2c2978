/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * samples.h - the noted objects.
 *
 * One writer at a time (objects.h says why). It makes a number of changes odd, and even again when it is done. A
 * collection that begins meanwhile, in the same thread, may write in the middle.
 * A reader copies, and takes the copy if the number was even and is the same. It never waits for a writer.
 */
#pragma once

#include "objects.h"

enum {
	MW_SAMPLES = 4096,
	MW_SAMPLES_FULL = MW_SAMPLES - 256, /* above it some go, and the others weigh more */
	MW_CLASSES = 512 /* names; further classes are "(others)" */
};

struct mw_sample {
	uintptr_t object; /* its address */
	uintptr_t identity; /* its object_id, up to Ruby 3.3 (deaths.h); 0: none yet */
	double weight; /* objects that it stands for; 0: its window is open */
	uint32_t id, stack; /* of its location and who called it, which are held; stack 0: not kept */
	uint32_t born; /* second of uptime */
	uint32_t count, majors_then; /* GC.count and that of major ones, when it was noted */
	uint32_t window; /* its number: those of one window are likely to be of one line */
	uint16_t slot; /* bytes in Ruby's heap */
	uint16_t class; /* 1 to MW_CLASSES; 0: not known yet */
	uint16_t survived, majors; /* collections that it outlived */
	uint16_t of; /* objects that its window noted */
	bool moved; /* by a compaction, since the last walk (deaths.h): so it lives */
};

struct mw_samples {
	size_t count, majors; /* the same as of the last look at what has died; count: relaxed */
	uint32_t n;
	struct mw_sample v[MW_SAMPLES];
};

/* Does it stay? Only a major collection frees what is old: an object that was young at the first may go at the second. */
static inline bool mw_sample_stays(const struct mw_sample *s)
{
	return s->weight > 0 && (s->majors > 1 || (s->majors == 1 && s->survived > 3));
}

/* --- the writer ------------------------------------------------------------------------------ */

/* False: no memory. Before any other call. */
bool mw_samples_make(const struct mw_api *);
struct mw_samples *mw_samples_begin(void); /* the writer's: until mw_samples_end */
void mw_samples_end(void);
/* Forgets samples that died up to this collection. Within begin and end. */
void mw_samples_as_of(struct mw_samples *, size_t collections, size_t majors);
/* Forgets sample i; the last one takes its place. Within begin and end. */
void mw_sample_drop(struct mw_samples *, uint32_t i);
/* It was alive when Ruby had begun so many collections, `majors` of them major ones. */
void mw_sample_outlived(struct mw_sample *, size_t collections, size_t majors);
/* Heap pages were unmapped: forgets what lay in them. Within begin and end. */
void mw_samples_unmapped(struct mw_samples *);
/* Makes room: about half of the young ones go, or of all if few are young. Within begin and end. random: any bits. */
void mw_samples_thin(struct mw_samples *, uint64_t (*random)(void));
/*
 * Names the classes of those that outlived a collection, and of which `alive`, if it isn't NULL, is true: none may be
 * dead. With the GVL, outside of a collection. Within begin and end.
 */
void mw_samples_name(struct mw_samples *, bool (*alive)(uintptr_t object));

/* --- readers --------------------------------------------------------------------------------- */

/* A copy, malloc'ed, as of the last look at what has died; NULL: no memory, or none could be had. */
struct mw_samples *mw_samples_copy(void);
uint32_t mw_samples_n(void); /* how many there are now */
size_t mw_samples_collections(void); /* GC.count of the last look at what has died */
uint32_t mw_samples_changes(void); /* a number that is the same as long as they are */
const char *mw_sample_class(const struct mw_sample *); /* "Array"; "": not known */
