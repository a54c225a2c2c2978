/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame.h - the Ruby line that is executing, in a few loads.
 *
 * The tracker doesn't link to Ruby: dlsym finds all of it, and a missing function is a normal
 * case. The fast way reads the VM's own structures:
 *
 *   thread pointer + mw_ruby.ec -> execution context (NULL: no Ruby thread)
 *   ec: vm_stack, its size in words, cfp
 *   cfp: frames from here to the stack's end; Ruby's own have iseq and pc
 *
 * A pc is one place in a program as long as its instructions live. Their block is flagged
 * (record.h: MW_CODE), and its free makes cached pcs stale. Only a miss asks Ruby, by its public
 * calls: these are allowed only with the GVL and outside GC. Any other miss is counted under a
 * pending location. That becomes an alias of the real one at the first lookup of the same pc
 * under the GVL.
 *
 * Offsets are found at run time (find.c), never taken from a version number. They are trusted after
 * a self-check of a whole stack (verify.c). Until then, and if it fails, the tracker reads only
 * memory that was found readable. Now and then it compares answers with the public calls', and
 * checks stacks again. After one disagreement the public calls are used for good. If anything is
 * unexpected on the way to an answer under the GVL, the public calls give the answer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/sys/thread_pointer.h"
#include "tracker/table/shard.h"
#include "tracker/table/caller_cache.h"

enum mw_ruby_how {
	MW_RUBY_NONE,     /* no Ruby in this process */
	MW_RUBY_STARTING, /* its VM isn't up yet */
	MW_RUBY_FAST,
	MW_RUBY_JIT,      /* as FAST, but frames are read as jit.h says */
	MW_RUBY_PUBLIC,   /* Ruby's public calls give the line at every allocation */
	MW_RUBY_ENDED     /* the VM is gone */
};

/* Written once before `how` (release); seldom changed later. */
struct mw_ruby {
	uint32_t how;        /* enum mw_ruby_how */
	uint32_t frame_size; /* bytes */
	ptrdiff_t ec;        /* from the thread pointer */
	const char *why;     /* reason for PUBLIC, or "" */
};
extern MW_HOT_STRUCT struct mw_ruby mw_ruby;
extern uint32_t mw_ruby_body; /* iseq -> body; likewise, but only a miss reads it */
extern bool mw_ruby_verified; /* relaxed: the offsets held, and no answer was wrong since */
/*
 * relaxed; 1: no line of the app has run. Later a stack that seems to have none may be one whose frames lie elsewhere than
 * was found out: so Ruby is asked each time.
 */
extern uint32_t mw_ruby_starts;
extern const char *mw_ruby_version; /* "3.4.5"; NULL: no Ruby */

/* offsets that are the same from 2.7 to 4.1; they are checked nevertheless */
#ifdef MW_PLANT /* a test's build, with variables that it sets to wrong values: t/planted */
#include MW_PLANT
#else
#define mw_plant_found() ((void)0)
#define mw_plant_count(count) ((void)(count))
#define mw_plant_checked() ((void)0)
enum {
	MW_EC_STACK = 0,
	MW_EC_STACK_WORDS = 8,
	MW_EC_CFP = 16,
	MW_CFP_PC = 0,
	MW_CFP_SP = 8,
	MW_CFP_ISEQ = 16,
	MW_CFP_EP = 32,
	MW_BODY_SIZE = 4,
	MW_BODY_CODE = 8
};
#endif

#define MW_AT(type, p, off) (*(type const *)((uintptr_t)(p) + (uintptr_t)(off)))

/* A frame of Ruby code. An iseq without a pc: a file or library that is being loaded, or a block of C. */
struct mw_ruby_frame {
	uintptr_t pc, iseq; /* iseq 0: a C function's */
};

/* Are frames read? */
static inline bool mw_ruby_reads(void)
{
	uint32_t how = __atomic_load_n(&mw_ruby.how, __ATOMIC_ACQUIRE);

	return how == MW_RUBY_FAST || how == MW_RUBY_JIT;
}

/* This thread's execution context; NULL: not a Ruby thread. Only once mw_ruby.ec is known. */
MW_INLINE const char *mw_ruby_ec(void)
{
#if defined(__x86_64__)
	const char *ec;

	__asm__ volatile("mov %%fs:(%1), %0" : "=r"(ec) : "r"(mw_ruby.ec));
	return ec;
#else
	return MW_AT(const char *, mw_thread_pointer(), mw_ruby.ec);
#endif
}

/* The code of the object that Ruby's functions are in, as one range; 0: not known. Written before main. */
extern MW_HIDDEN uintptr_t mw_ruby_start, mw_ruby_end;
/* Its variables, without those that are constant. Written at load; empty: none is known. */
struct mw_ruby_range {
	uintptr_t from, end;
};
extern struct mw_ruby_range mw_ruby_variables;

/* Is this an address in Ruby's own code? */
MW_INLINE bool mw_ruby_has(uintptr_t pc)
{
	return mw_unlikely(pc - mw_ruby_start < mw_ruby_end - mw_ruby_start);
}

/* Compares the fast answer with the public one; see above. */
void mw_ruby_check(struct mw_shard *);
/* See mw_api.learn_code. */
void mw_ruby_learn_code(void);
/* The names in stats.json. */
const char *mw_ruby_how_name(void);
const char *mw_ruby_count_name(void);

enum { MW_FRAME_READ = 40 }; /* bytes of a frame that are read, fewer than any Ruby's has */

/*
 * The end of ec's frames: each begins below it. The words that are read of a frame lie within the stack
 * then, also if its size is wrong. Behind the stack there may be no memory.
 */
MW_INLINE const char *mw_ruby_ec_end(const char *ec)
{
	return MW_AT(const char *, ec, MW_EC_STACK) +
	       MW_AT(size_t, ec, MW_EC_STACK_WORDS) * sizeof(uintptr_t) - MW_FRAME_READ;
}

/* ec's innermost frame; NULL: it isn't in the stack, or the stack is gone. */
static inline const char *mw_ruby_stack(const char *ec, const char **end)
{
	const char *cfp = MW_AT(const char *, ec, MW_EC_CFP);
	uintptr_t over = (uintptr_t)cfp - MW_AT(uintptr_t, ec, MW_EC_STACK);

	*end = mw_ruby_ec_end(ec);
	return over < MW_AT(size_t, ec, MW_EC_STACK_WORDS) * sizeof(uintptr_t) ? cfp : NULL;
}

/*
 * In the caller cache, the key of a stack whose frames are all to be skipped: nothing runs but Ruby's own code. Its
 * location is the line of the innermost frame. If that has none, it is the native caller, and the entry says
 * MW_CALLER_SKIP. The key is in the page of that frame's pc; no return address and no pc of Ruby's has that bit
 * there. 0: the innermost frame is that of a file that is being loaded.
 */
static inline uintptr_t mw_ruby_own_key(const char *cfp, const char *end)
{
	uintptr_t pc;

	while (cfp < end && !MW_AT(uintptr_t, cfp, MW_CFP_ISEQ))
		cfp += mw_ruby.frame_size;
	pc = cfp < end ? MW_AT(uintptr_t, cfp, MW_CFP_PC) : 0;
	return pc ? (pc ^ 2048) | 2 : 0;
}

/* The location of the running Ruby code, also by a miss; MW_CS_NONE: no Ruby code is running. */
uint32_t mw_ruby_locate(struct mw_shard *t);
