/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unwind.c - walks the stack, and caches what leaves each frame; see unwind.h. */
#include "unwind.h"

#include "shared/sys/atomics.h"
#include "cfi.h"
#include "tracker/table/closes.h"

/*
 * A row in one word: why the walk ends here (3 bits; 0: it goes on), whether the CFA is relative to
 * the frame pointer (1), then three offsets in units of 8 bytes (19 each): CFA, fp, ra.
 */
enum { CFA_BIT = 4, FP_BIT = 23, RA_BIT = 42, WHY = 7, BY_FP = 8 };
#define OFFSETS ((uint64_t)MW_CFI_FRAME_MAX - 8)

/* An offset of the row, in bytes. */
MW_INLINE uint64_t offset(uint64_t row, int bit)
{
	return row >> (bit - 3) & OFFSETS;
}

/*
 * The cache: sets of two slots by pc, shared by all threads. Both words of a slot are relaxed, with
 * many writers and no order between them: key = pc ^ seal(row, epoch) says that they belong
 * together. A row of another epoch never fits its pc. Words of two writers fit a pc by chance only,
 * and only one of the same set: once in 2^40 such races or so.
 *
 * Few sets are in use at first, since pcs spread over all pages of these. After some evictions there
 * are twice as many. A row that belongs to another set then is read once more.
 */
enum { SETS = 2048, SETS_FIRST = 256, CROWDED = 8 /* sets for each eviction until then */ };
struct slot {
	uint64_t key, row;
};
static struct slot cache[SETS][2] __attribute__((aligned(4096)));
static uint32_t in_use = SETS_FIRST; /* a power of two; relaxed */
static uint32_t evictions;           /* since then; relaxed */
static uint64_t epoch; /* added to with release, read with acquire: how often all was forgotten */

MW_INLINE uint64_t seal(uint64_t row, uint64_t now)
{
	return (row + now) * UINT64_C(0x9e3779b97f4a7c15);
}

MW_INLINE struct slot *set_of(uintptr_t pc)
{
	return cache[(pc ^ pc >> 11) & (mw_get(&in_use) - 1)];
}

/* The last row of a set is about to lose its place. One that belongs to another set now loses nothing. */
static void evict(const struct slot *set, uint64_t now)
{
	uint64_t key = mw_get(&set[1].key);
	uint32_t n = mw_get(&in_use);

	if (!key || n == SETS || set_of(key ^ seal(mw_get(&set[1].row), now)) != set)
		return;
	if (mw_add(&evictions, 1) < n / CROWDED)
		return;
	mw_set(&evictions, 0);
	mw_set(&in_use, n * 2); /* two threads at once may both set the same */
}

void mw_unwind_forget(void)
{
	__atomic_fetch_add(&epoch, 1, __ATOMIC_RELEASE);
}

bool mw_unwind_function(uintptr_t pc, uintptr_t *start, uintptr_t *end)
{
	struct mw_cfi_place place;
	struct mw_cfi_bytes f;

	if (!mw_cfi_place(pc - 1, &place) || !mw_cfi_function(&place, pc - 1, &f))
		return false;
	*start = f.start;
	*end = f.end;
	return true;
}

static uint64_t packed(const struct mw_cfi_row *r)
{
	return (r->by_fp ? BY_FP : 0) | (uint64_t)(r->cfa / 8) << CFA_BIT |
	       (uint64_t)(r->fp / 8) << FP_BIT | (uint64_t)(r->ra / 8) << RA_BIT;
}

/* Reads the row of a return address, and caches it. */
static __attribute__((noinline, cold)) uint64_t read_row(uintptr_t pc, uint64_t now)
{
	struct slot *s = set_of(pc);
	struct mw_cfi_place place;
	struct mw_cfi_row r;
	uint64_t row;

	/* the call, not what follows it: that may be another function */
	if (!mw_cfi_place(pc - 1, &place))
		return MW_UNWIND_NO_CFI;
	switch (mw_cfi_row(&place, pc - 1, &r)) {
	case MW_CFI_FOUND:
		row = packed(&r);
		break;
	case MW_CFI_OUTERMOST:
		row = MW_UNWIND_OUTERMOST;
		break;
	case MW_CFI_SIGNAL:
		row = MW_UNWIND_SIGNAL;
		break;
	case MW_CFI_NONE:
		return MW_UNWIND_NO_CFI; /* not cached: code may be generated there, or loaded */
	default:
		row = MW_UNWIND_RULE;
	}
	/* `now` was read before this: what is kept here is stale once a close begins */
	if (mw_closing())
		return row;
	evict(s, now);
	mw_set(&s[1].key, mw_get(&s[0].key));
	mw_set(&s[1].row, mw_get(&s[0].row));
	mw_set(&s[0].key, pc ^ seal(row, now));
	mw_set(&s[0].row, row);
	return row;
}

MW_INLINE uint64_t row_of(uintptr_t pc, uint64_t now)
{
	const struct slot *s = set_of(pc);
	uint64_t row = mw_get(&s[0].row);

	if (mw_likely((mw_get(&s[0].key) ^ seal(row, now)) == pc))
		return row;
	row = mw_get(&s[1].row);
	if (mw_likely((mw_get(&s[1].key) ^ seal(row, now)) == pc))
		return row;
	return read_row(pc, now);
}

struct frame {
	uintptr_t pc, sp, fp, lr;
};

/* The registers here. Those that no output may replace before it is read come first. */
#if defined(__x86_64__)
#define HERE(f)                               \
	__asm__ volatile("movq %%rbp, %0\n\t" \
			 "movq %%rsp, %1\n\t" \
			 "leaq 0(%%rip), %2"  \
			 : "=&r"((f).fp), "=&r"((f).sp), "=&r"((f).pc))
#define strip(pc) (pc)
#elif defined(__aarch64__)
#define HERE(f)                                                                       \
	__asm__ volatile("mov %0, x29\n\t"                                            \
			 "mov %1, x30\n\t"                                            \
			 "mov %2, sp\n\t"                                             \
			 "adr %3, 1f\n"                                               \
			 "1:"                                                         \
			 : "=&r"((f).fp), "=&r"((f).lr), "=&r"((f).sp), "=&r"((f).pc) \
			 :                                                            \
			 : "x30") /* so that no output is there */
/* Without the signature that a return address may have: xpaclri, a nop on older processors. */
MW_INLINE uintptr_t strip(uintptr_t pc)
{
	register uintptr_t lr __asm__("x30") = pc;

	__asm__("hint #7" : "+r"(lr));
	return lr;
}
#else
#error "unwind.c: this processor's registers: not known: add them to HERE"
#endif

MW_INLINE uintptr_t word_at(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

/* Leaves the frame; 0, or why it can't. */
MW_INLINE enum mw_unwind_end leave(struct frame *f, uint64_t now)
{
	uint64_t row = row_of(f->pc, now), fp = offset(row, FP_BIT);
	uintptr_t cfa = ((row & BY_FP) ? f->fp : f->sp) + offset(row, CFA_BIT);
	uintptr_t rise = cfa - f->sp;

	if (mw_unlikely(row & WHY))
		return (enum mw_unwind_end)(row & WHY);
	/* saved registers lie below the CFA, but not below the stack pointer */
	if (mw_unlikely(rise - 8 >= OFFSETS || rise % 8 || fp > rise))
		return MW_UNWIND_CFA;
#if defined(__x86_64__)
	f->pc = word_at(cfa - 8);
#else
	{
		uint64_t ra = offset(row, RA_BIT);

		if (mw_unlikely(ra > rise))
			return MW_UNWIND_CFA;
		if (mw_unlikely(!ra && !f->lr)) /* only the innermost frame's register is known */
			return MW_UNWIND_RULE;
		f->pc = strip(ra ? word_at(cfa - ra) : f->lr);
		f->lr = 0;
	}
#endif
	if (fp)
		f->fp = word_at(cfa - fp);
	f->sp = cfa;
	return mw_likely(f->pc) ? (enum mw_unwind_end)0 : MW_UNWIND_OUTERMOST;
}

__attribute__((noinline)) size_t mw_unwind(struct mw_unwind *u, uintptr_t *pcs, size_t most)
{
	uintptr_t from = u->from, stop = u->stop_start, span = u->stop_end - stop;
	uint64_t now = __atomic_load_n(&epoch, __ATOMIC_ACQUIRE); /* before any row is read */
	enum mw_unwind_end why;
	struct frame f;
	size_t n = 0;

	HERE(f);
	while (!(why = leave(&f, now))) {
		if (f.pc == from)
			n = 0, from = 0;
		if (n == most) {
			why = MW_UNWIND_LIMIT;
			break;
		}
		pcs[n++] = f.pc;
		if (f.pc - stop < span) {
			why = MW_UNWIND_STOP;
			break;
		}
	}
	u->why = why;
	return n;
}
