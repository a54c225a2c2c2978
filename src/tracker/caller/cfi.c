/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cfi.h"

#include "cfi_read.h"

/* DWARF's numbers of the registers that a row is about. */
#if defined(__x86_64__)
enum { REG_FP = 6, REG_SP = 7, REG_RA = 16 };
#else
enum { REG_FP = 29, REG_SP = 31, REG_RA = 30 };
#endif

/* Where a register of the caller is. */
struct rule {
	enum { SAME, SAVED, UNDEFINED, OTHER } kind; /* SAVED: at CFA + at */
	int64_t at;
};

struct state {
	uint64_t cfa_reg; /* NO_REG: an expression */
	int64_t cfa;
	struct rule fp, sp, ra;
};
#define NO_REG UINT64_MAX

enum { KEPT = 8 }; /* states that DW_CFA_remember_state nests; compilers nest one */

struct run {
	struct mw_cfi_reader r;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of code addresses */
	bool signal;
	uintptr_t loc, pc;
	unsigned steps, kept;
	struct state now, first, keep[KEPT];
};

/* A product that wraps instead of overflowing: the limits of a row refuse it later. */
static int64_t times(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

static void set_rule(struct run *run, uint64_t reg, struct rule to)
{
	if (reg == REG_FP)
		run->now.fp = to;
	else if (reg == REG_RA)
		run->now.ra = to;
	else if (reg == REG_SP)
		run->now.sp = to;
}

static void saved(struct run *run, uint64_t reg, int64_t factored)
{
	set_rule(run, reg, (struct rule){ SAVED, times(factored, run->data_align) });
}

static void restore(struct run *run, uint64_t reg)
{
	set_rule(run, reg,
		 reg == REG_FP ? run->first.fp :
		 reg == REG_RA ? run->first.ra :
				 run->first.sp);
}

static void skip_block(struct run *run)
{
	mw_cfi_skip(&run->r, mw_cfi_uleb(&run->r));
}

static void define(struct run *run, uint64_t reg, int64_t offset)
{
	run->now.cfa_reg = reg;
	run->now.cfa = offset;
}

static void advance(struct run *run, uint64_t delta)
{
	run->loc += delta * run->code_align;
}

/* The instructions without an operand in their first byte. False: not understood. */
static bool extended(struct run *run, uint8_t op)
{
	struct mw_cfi_reader *r = &run->r;
	uint64_t reg;

	switch (op) {
	case 0x00: /* nop */
		return true;
	case 0x01: /* set_loc */
		run->loc = mw_cfi_pointer(r, run->encoding);
		return true;
	case 0x02: /* advance_loc1 */
		advance(run, mw_cfi_number(r, 1));
		return true;
	case 0x03: /* advance_loc2 */
		advance(run, mw_cfi_number(r, 2));
		return true;
	case 0x04: /* advance_loc4 */
		advance(run, mw_cfi_number(r, 4));
		return true;
	case 0x05: /* offset_extended */
		reg = mw_cfi_uleb(r);
		saved(run, reg, (int64_t)mw_cfi_uleb(r));
		return true;
	case 0x06: /* restore_extended */
		restore(run, mw_cfi_uleb(r));
		return true;
	case 0x07: /* undefined */
		set_rule(run, mw_cfi_uleb(r), (struct rule){ UNDEFINED, 0 });
		return true;
	case 0x08: /* same_value */
		set_rule(run, mw_cfi_uleb(r), (struct rule){ SAME, 0 });
		return true;
	case 0x09: /* register: in another register */
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf: the second operand is skipped, so its sign doesn't matter */
		reg = mw_cfi_uleb(r);
		(void)mw_cfi_uleb(r);
		set_rule(run, reg, (struct rule){ OTHER, 0 });
		return true;
	case 0x0a: /* remember_state */
		if (run->kept == KEPT)
			return false;
		run->keep[run->kept++] = run->now;
		return true;
	case 0x0b: /* restore_state */
		if (!run->kept)
			return false;
		run->now = run->keep[--run->kept];
		return true;
	case 0x0c: /* def_cfa */
		reg = mw_cfi_uleb(r);
		define(run, reg, (int64_t)mw_cfi_uleb(r));
		return true;
	case 0x0d: /* def_cfa_register */
		run->now.cfa_reg = mw_cfi_uleb(r);
		return true;
	case 0x0e: /* def_cfa_offset */
		run->now.cfa = (int64_t)mw_cfi_uleb(r);
		return true;
	case 0x0f: /* def_cfa_expression */
		skip_block(run);
		define(run, NO_REG, 0);
		return true;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		reg = mw_cfi_uleb(r);
		skip_block(run);
		set_rule(run, reg, (struct rule){ OTHER, 0 });
		return true;
	case 0x11: /* offset_extended_sf */
		reg = mw_cfi_uleb(r);
		saved(run, reg, mw_cfi_sleb(r));
		return true;
	case 0x12: /* def_cfa_sf */
		reg = mw_cfi_uleb(r);
		define(run, reg, times(mw_cfi_sleb(r), run->data_align));
		return true;
	case 0x13: /* def_cfa_offset_sf */
		run->now.cfa = times(mw_cfi_sleb(r), run->data_align);
		return true;
#if defined(__aarch64__)
	case 0x2c: /* AARCH64_negate_ra_state_with_pc */
	case 0x2d: /* AARCH64_negate_ra_state: unwind.c strips every return address */
		return true;
#endif
	case 0x2e: /* GNU_args_size: only for landing pads */
		(void)mw_cfi_uleb(r);
		return true;
	case 0x2f: /* GNU_negative_offset_extended */
		reg = mw_cfi_uleb(r);
		saved(run, reg, times((int64_t)mw_cfi_uleb(r), -1));
		return true;
	}
	return false;
}

/* Runs instructions up to end, or until they are about code after the pc. False: not understood. */
static bool execute(struct run *run)
{
	while (!run->r.bad && run->r.at < run->r.end && run->loc <= run->pc) {
		uint8_t op = mw_cfi_byte(&run->r), low = op & 63;

		if (run->steps++ == MW_CFI_STEPS)
			return false;
		switch (op >> 6) {
		case 0:
			if (!extended(run, op))
				return false;
			break;
		case 1:
			advance(run, low);
			break;
		case 2:
			saved(run, low, (int64_t)mw_cfi_uleb(&run->r));
			break;
		case 3:
			restore(run, low);
			break;
		}
	}
	return !run->r.bad;
}

/* A reader of the entry whose length is at `at`. False: it isn't within the bytes. */
static bool entry(const struct mw_cfi_bytes *b, uintptr_t at, struct mw_cfi_reader *r)
{
	uint64_t bytes;

	if (at < b->start || at >= b->end)
		return false;
	*r = (struct mw_cfi_reader){ at, b->end, false };
	bytes = mw_cfi_number(r, 4);
	/* all ones would say: 64 bits follow; no compiler writes that */
	if (r->bad || !bytes || bytes > r->end - r->at)
		return false;
	r->end = r->at + bytes;
	return true;
}

/* The augmentation's letters, which say what its data are; both readers go past theirs. */
static bool augmentation(struct run *run, struct mw_cfi_reader *letters, struct mw_cfi_reader *data)
{
	uint8_t letter, form;

	while ((letter = mw_cfi_byte(letters))) {
		switch (letter) {
		case 'R':
			run->encoding = mw_cfi_byte(data);
			break;
		case 'P':
			form = mw_cfi_byte(data);
			if ((form & MW_PE_BASE) == MW_PE_ALIGNED)
				return false;
			(void)mw_cfi_value(data, form);
			break;
		case 'L':
			(void)mw_cfi_byte(data);
			break;
		case 'S':
			run->signal = true;
			break;
		case 'B': /* arm64: the key that signs return addresses */
		case 'G': /* arm64: the stack has memory tags */
			break;
		default:
			return false;
		}
	}
	return !letters->bad && !data->bad;
}

/* Reads a CIE, and runs its instructions. `has_data`: FDEs have augmentation data, too. */
static bool common(struct run *run, const struct mw_cfi_bytes *b, uintptr_t at, bool *has_data)
{
	struct mw_cfi_reader r, letters, data = { 0 };
	uint8_t version;
	uint64_t bytes, column;

	if (!entry(b, at, &r) || mw_cfi_number(&r, 4) != 0)
		return false;
	version = mw_cfi_byte(&r);
	if (version != 1 && version != 3)
		return false;
	letters = r;
	while (mw_cfi_byte(&r))
		;
	*has_data = mw_cfi_left(&letters) && *(const uint8_t *)letters.at == 'z';
	run->code_align = mw_cfi_uleb(&r);
	run->data_align = mw_cfi_sleb(&r);
	column = version == 1 ? mw_cfi_byte(&r) : mw_cfi_uleb(&r);
	if (*has_data) {
		bytes = mw_cfi_uleb(&r);
		data = r;
		mw_cfi_skip(&r, bytes);
		data.end = r.at;
		data.bad = r.bad;
		(void)mw_cfi_byte(&letters);
	}
	if (r.bad || column != REG_RA || !augmentation(run, &letters, &data))
		return false;
	run->r = r;
	if (!execute(run))
		return false;
	run->first = run->now;
	return true;
}

/* The FDE at `at`: does it have the pc, and with what state? */
static enum mw_cfi describe(struct run *run, const struct mw_cfi_bytes *b, uintptr_t at)
{
	struct mw_cfi_reader r;
	uintptr_t link, start, range, back;
	bool has_data;

	if (!entry(b, at, &r))
		return MW_CFI_RULE;
	link = r.at;
	back = mw_cfi_number(&r, 4);
	/* the CIE's instructions run whatever the pc is: they are about loc 0 */
	run->loc = 0;
	if (r.bad || !common(run, b, link - back, &has_data))
		return MW_CFI_RULE;
	start = mw_cfi_pointer(&r, run->encoding);
	range = mw_cfi_value(&r, run->encoding);
	if (has_data)
		mw_cfi_skip(&r, mw_cfi_uleb(&r));
	if (r.bad)
		return MW_CFI_RULE;
	if (run->pc - start >= range)
		return MW_CFI_NONE;
	if (run->signal)
		return MW_CFI_SIGNAL;
	run->loc = start;
	run->r = r;
	return execute(run) ? MW_CFI_FOUND : MW_CFI_RULE;
}

/* An offset below the CFA, for a row. */
static bool below(const struct rule *rule, uint32_t *bytes)
{
	uint64_t n = 0 - (uint64_t)rule->at;

	*bytes = (uint32_t)n;
	return rule->kind == SAVED && n && n < MW_CFI_FRAME_MAX && n % 8 == 0;
}

static enum mw_cfi reduce(const struct state *s, struct mw_cfi_row *row)
{
	struct mw_cfi_row out = { .by_fp = s->cfa_reg == REG_FP };

	if (s->ra.kind == UNDEFINED)
		return MW_CFI_OUTERMOST;
	if ((s->cfa_reg != REG_SP && s->cfa_reg != REG_FP) || s->cfa < 0 || s->cfa >= MW_CFI_FRAME_MAX ||
	    s->cfa % 8 || s->sp.kind != SAME)
		return MW_CFI_RULE;
	out.cfa = (uint32_t)s->cfa;
	/* an undefined frame pointer is left alone, as libgcc does: nobody uses it further out */
	if (s->fp.kind != SAME && s->fp.kind != UNDEFINED && !below(&s->fp, &out.fp))
		return MW_CFI_RULE;
#if defined(__x86_64__)
	if (!below(&s->ra, &out.ra) || out.ra != 8)
		return MW_CFI_RULE;
#else
	if (s->ra.kind != SAME && !below(&s->ra, &out.ra))
		return MW_CFI_RULE;
#endif
	*row = out;
	return MW_CFI_FOUND;
}

/* An entry of the search table. */
static void take_pair(int32_t pair[2], uintptr_t at)
{
	memcpy(pair, (const void *)at, 2 * sizeof(*pair));
}

/*
 * The last entry of the search table that doesn't begin after the pc: the address of its FDE, and
 * from where to where it is the last one.
 */
static enum mw_cfi search_table(const struct mw_cfi_bytes *hdr, uintptr_t pc, uintptr_t *fde,
				struct mw_cfi_bytes *function)
{
	struct mw_cfi_reader r = { hdr->start, hdr->end, false };
	uint8_t version = mw_cfi_byte(&r), frame = mw_cfi_byte(&r), count = mw_cfi_byte(&r),
		table = mw_cfi_byte(&r);
	uint64_t n, low = 0, high;
	int64_t wanted = (int64_t)(pc - hdr->start);
	int32_t pair[2];

	(void)mw_cfi_value(&r, frame);
	if (r.bad || version != 1 || count == MW_PE_OMIT || table != 0x3b)
		return MW_CFI_NONE; /* 0x3b: each is 32 bits, with a sign, from the header's start */
	n = mw_cfi_value(&r, count);
	if (n > mw_cfi_left(&r) / sizeof(pair))
		return MW_CFI_RULE;
	for (high = n; low < high;) {
		uint64_t mid = low + (high - low) / 2;

		take_pair(pair, r.at + mid * sizeof(pair));
		if (pair[0] <= wanted)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return MW_CFI_NONE;
	take_pair(pair, r.at + (low - 1) * sizeof(pair));
	*fde = hdr->start + (uintptr_t)(intptr_t)pair[1];
	function->start = hdr->start + (uintptr_t)(intptr_t)pair[0];
	function->end = UINTPTR_MAX;
	if (low < n) {
		take_pair(pair, r.at + low * sizeof(pair));
		function->end = hdr->start + (uintptr_t)(intptr_t)pair[0];
	}
	return MW_CFI_FOUND;
}

bool mw_cfi_function(const struct mw_cfi_place *place, uintptr_t pc, struct mw_cfi_bytes *function)
{
	uintptr_t fde;

	return search_table(&place->hdr, pc, &fde, function) == MW_CFI_FOUND;
}

enum mw_cfi mw_cfi_row(const struct mw_cfi_place *place, uintptr_t pc, struct mw_cfi_row *row)
{
	struct run run;
	struct mw_cfi_bytes function;
	uintptr_t fde;
	enum mw_cfi how = search_table(&place->hdr, pc, &fde, &function);

	if (how != MW_CFI_FOUND)
		return how;
	/* not all of it: keep[] is large, and is written before it is read */
	run.pc = pc;
	run.encoding = MW_PE_ABSPTR;
	run.signal = false;
	run.steps = run.kept = 0;
	run.now = (struct state){ .cfa_reg = NO_REG };
	run.first = run.now;
	how = describe(&run, &place->frame, fde);
	return how == MW_CFI_FOUND ? reduce(&run.now, row) : how;
}
