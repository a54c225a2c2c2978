/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks.h - the stacks of sampled allocations: the callers of locations.
 *
 * A walk is a row of keys, innermost frame first. Its stack is found by a hash of the keys and the
 * location. A new stack's frames go into a tree, outermost first, so stacks share their callers.
 *
 *   frames    a key, its texts; the same code again has the same frame
 *   nodes     (parent, frame): the tree
 *   stacks    (hash, location) -> node; sums of what its samples stand for
 *   samples   by the record of a block that was sampled: is it still live?
 *
 * A frame's key can come to mean other code: a method's instructions are freed, a library is closed.
 * Its frame is dead then, and is found no more. A stack found by its hash is compared with the
 * deaths since its last use: if one of its frames died, it isn't this stack.
 *
 * The label of the thread, if it has one, is a walk's outermost key. So the same frames with another label
 * are another stack, and callers are shared under each label. The copy (stacks_copy.h) has it apart.
 *
 * A first stack is no sample: it is taken at a location that has no stack yet, and stands for nothing
 * by itself. It says who called the location as long as no sample does.
 *
 * A sample's block has the code bit in its record (record.h), so its free is a cold one. Nothing is
 * done then: a sample lives while its record says the same as when it was taken.
 *
 * All of it is under one lock, which nobody waits for but readers and fork: an allocation that
 * doesn't get it gives its sample up, and a free of code leaves word for the next. The memory is
 * bounded: MW_STACKS_* below, and a share of memory_max. A sample that doesn't fit counts to the
 * location without a caller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "tracker/table/callsite.h"
#include "tracker/table/record.h"

enum {
	MW_WALK_MOST = 384, /* frames of a walk; outer ones are left out */
	MW_STACKS_MAX = 16384,
	MW_STACK_FRAMES_MAX = 65536,
	MW_STACK_NODES_MAX = 1 << 18,
	MW_STACK_TEXTS_MAX = 4 << 20, /* bytes */
	MW_SAMPLES_MAX = 65536
};

/* A frame's key: its kind in the top byte, and what it is. */
#define MW_FRAME_RUBY ((uint64_t)1 << 56)   /* | a pc in Ruby's instructions */
#define MW_FRAME_METHOD ((uint64_t)2 << 56) /* | a hash of a C function and its name; 0: not known */
#define MW_FRAME_NATIVE ((uint64_t)3 << 56) /* | a return address */
#define MW_FRAME_LABEL ((uint64_t)4 << 56) /* | the thread's label: outermost, and no frame to readers */
#define MW_FRAME_KIND ((uint64_t)0xff << 56)

struct mw_walk {
	uint32_t n;
	uint64_t key[MW_WALK_MOST]; /* innermost first */
};

static inline void mw_walk_add(struct mw_walk *w, uint64_t key)
{
	if (w->n < MW_WALK_MOST)
		w->key[w->n++] = key;
}

/* Ends the walk with the thread's label (tracker/table/labels.h), if it has one: even if there is no room for more. */
static inline void mw_walk_label(struct mw_walk *w, uint32_t label)
{
	if (!label)
		return;
	if (w->n == MW_WALK_MOST)
		w->n--;
	mw_walk_add(w, MW_FRAME_LABEL | label);
}

/* Ruby's names for a frame. Bytes, not NUL-terminated; NULL: nothing is known. */
struct mw_frame_text {
	const char *name, *file;
	size_t name_len, file_len;
	uint32_t line;
	uintptr_t block; /* with the frame's instructions: the free of it is the frame's death; 0: none */
};

/* A sampled block, which is live: its record has the code bit, since the lock was taken. */
struct mw_sample_of {
	uint32_t ref;
	uint64_t rate; /* mean bytes from one sample to the next; 0: not a sample, a first stack */
	uint32_t now; /* seconds since the tracker's start */
};

/* False: another thread has the lock. A thread that has it allocates nothing, and calls no Ruby that does. */
bool mw_stacks_try(void);
/* The same, but it waits: for readers, in quiet. False: it gave up after seconds. */
bool mw_stacks_lock(void);
bool mw_stacks_lock_until(uint64_t until); /* a moment of mw_now_ns */
void mw_stacks_unlock(void);

/* --- with the lock --- */

/*
 * Counts a sample: a block at location id, allocated by this stack. False: some frame lacks its
 * text. The caller may add it then, for all frames of the walk.
 */
bool mw_stacks_count(const struct mw_walk *, uint32_t id, const struct mw_sample_of *);
/* The number of blocks that a sample of `size` stands for. Any thread. */
double mw_sample_weight(uint64_t size, uint64_t rate);
/* How many blocks a live block stands for, if it is a sample; else 0. where: as its record has it. */
double mw_stacks_weight(uint32_t ref, uint64_t where);
/* Has the location a stack? A hint, of any thread inside the tracker. */
static inline bool mw_stacks_has(uint32_t id)
{
	return mw_get(&mw_callsite(id)->has_stack);
}
/* The stack of a walk at location id, which isn't forgotten until as many mw_stack_let_go calls; 0: no room. */
uint32_t mw_stack_hold(const struct mw_walk *, uint32_t id);
/* Does some frame of it lack its text? */
bool mw_stack_lacks_text(uint32_t stack, const struct mw_walk *);
/* Does that frame lack its text? */
bool mw_frame_lacks_text(uint64_t key);
void mw_frame_name(uint64_t key, const struct mw_frame_text *);
/* All stacks' sums of what was allocated begin again. */
void mw_stacks_reset(void);

/* --- without --- */

void mw_stack_let_go(uint32_t stack); /* 0: nothing. Any thread. Never waits */
/* From now on these stand for what stays of Ruby's objects by stack. In quiet. */
void mw_stacks_put_objects(const struct mw_object_stack *, size_t n);

/*
 * A block with the code bit died: was that only a sample, and no code? False also if that isn't
 * known. where: as its record had it. Never waits.
 */
bool mw_sample_only(uint32_t ref, uint64_t where);
/* Code dies: the instructions at `start`, which Ruby frees; or a library. Never waits. */
void mw_stacks_forget(uintptr_t start);
void mw_stacks_forget_library(uintptr_t start, uint64_t bytes);
/* A block becomes code, whose record may have been a sample's, of this block or an earlier one. Never waits. */
void mw_sample_is_code(uint32_t ref);
void mw_sample_is_code_locked(uint32_t ref); /* the same with the lock */

/* In a forked child; held: fork had the lock. */
void mw_stacks_after_fork(bool held);

/* Figures for stats.json: relaxed. */
struct mw_stacks_figures {
	uint64_t samples, first, dropped, folded; /* since the start */
	uint32_t stacks, frames, nodes, live; /* now */
};
extern struct mw_stacks_figures mw_stacks_figures;
