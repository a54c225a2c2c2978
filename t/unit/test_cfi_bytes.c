/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame information that is made up: single instructions, random ones, and malformed bytes
 * beside pages that can't be read. AddressSanitizer watches the same.
 */
/* uses: src/shared/sys/libc_glibc.c src/tracker/caller/cfi.c src/tracker/caller/cfi_find.c */
#include <sys/mman.h>

#include "unit.h"
#include "../../src/tracker/caller/cfi.h"
#include "unwound.h"

#if defined(__x86_64__)
enum { FP = 6, SP = 7, RA = 16 };
#else
enum { FP = 29, SP = 31, RA = 30 };
#endif

/* One function of SIZE bytes, far from its description, as one CIE and one FDE. */
enum { SIZE = 4096, ROOM = 1 << 17, AWAY = 1 << 20 };
static uint8_t made[ROOM];
static uintptr_t function;
static uint8_t *made_cie, *made_fde; /* where they begin */
static struct mw_cfi_place made_place;

struct text {
	const char *bytes;
	size_t n;
};
#define TEXT(s) ((struct text){ (s), sizeof(s) - 1 })
#define NO_TEXT ((struct text){ "", 0 })

static uint8_t *put(uint8_t *to, const void *from, size_t n)
{
	memcpy(to, from, n);
	return to + n;
}

static uint8_t *put4(uint8_t *to, int64_t value)
{
	int32_t v = (int32_t)value;

	return put(to, &v, sizeof(v));
}

/* The row at so many bytes of the function. letters: the augmentation, with its data. */
static enum mw_cfi made_up(const char *letters, struct text data, struct text common, struct text own,
			   uintptr_t offset, struct mw_cfi_row *row)
{
	struct mw_cfi_place place = { { (uintptr_t)made, (uintptr_t)made + 20 }, { 0 } };
	uint8_t *cie = made + 20, *fde, *p;
	const char fixed[] = { 1, 0x78, RA };

	function = (uintptr_t)made + AWAY;
	p = put4(cie + 4, 0);
	*p++ = 1;
	p = put(p, letters, strlen(letters) + 1);
	p = put(p, fixed, sizeof(fixed));
	*p++ = (uint8_t)data.n;
	p = put(p, data.bytes, data.n);
	p = put(p, common.bytes, common.n);
	put4(cie, p - cie - 4);
	fde = p;
	p = put4(fde + 4, fde + 4 - cie);
	p = put4(p, (int64_t)function - (int64_t)p);
	p = put4(p, SIZE);
	*p++ = 0;
	p = put(p, own.bytes, own.n);
	put4(fde, p - fde - 4);
	place.frame = (struct mw_cfi_bytes){ (uintptr_t)cie, (uintptr_t)p };

	memcpy(made, "\x01\x1b\x03\x3b", 4);
	put4(made + 4, cie - (made + 4));
	put4(made + 8, 1);
	put4(made + 12, AWAY);
	put4(made + 16, fde - made);
	made_cie = cie;
	made_fde = fde;
	made_place = place;
	return mw_cfi_row(&place, function + offset, row);
}

#if defined(__x86_64__)
#define BEGIN "\x0c\x07\x08\x90\x01" /* def_cfa sp+8, ra at cfa-8 */
#define WITH_FP "\x86\x02" /* fp at cfa-16 */
#else
#define BEGIN "\x0c\x1f\x08\x9e\x01"
#define WITH_FP "\x9d\x02"
#endif

static void expect(struct text own, uintptr_t offset, enum mw_cfi how, bool by_fp, uint32_t cfa, uint32_t fp)
{
	struct mw_cfi_row r = { 0 };

	assert_int_equal(made_up("zR", TEXT("\x1b"), TEXT(BEGIN), own, offset, &r), how);
	if (how != MW_CFI_FOUND)
		return;
	assert_int_equal(r.by_fp, by_fp);
	assert_int_equal(r.cfa, cfa);
	assert_int_equal(r.fp, fp);
	assert_int_equal(r.ra, 8);
}

#define FOUND(own, offset, by_fp, cfa, fp) expect(TEXT(own), offset, MW_CFI_FOUND, by_fp, cfa, fp)
#define BEYOND(own) expect(TEXT(own), 100, MW_CFI_RULE, false, 0, 0)

TEST(instructions)
{
	FOUND("", 0, false, 8, 0);
	FOUND("", SIZE - 1, false, 8, 0);
	expect(TEXT(""), SIZE, MW_CFI_NONE, false, 0, 0);
	expect(TEXT(""), (uintptr_t)-1, MW_CFI_NONE, false, 0, 0);
	/* at 1: cfa 16; at 5: fp saved; each advance of 1, 2 and 4 bytes */
	FOUND("\x41\x0e\x10\x44" WITH_FP, 0, false, 8, 0);
	FOUND("\x41\x0e\x10\x44" WITH_FP, 1, false, 16, 0);
	FOUND("\x41\x0e\x10\x44" WITH_FP, 4, false, 16, 0);
	FOUND("\x41\x0e\x10\x44" WITH_FP, 5, false, 16, 16);
	FOUND("\x02\x10\x0e\x10", 15, false, 8, 0);
	FOUND("\x02\x10\x0e\x10", 16, false, 16, 0);
	FOUND("\x03\x00\x01\x0e\x10", 256, false, 16, 0);
	FOUND("\x04\x00\x02\x00\x00\x0e\x10", 511, false, 8, 0);
	FOUND("\x04\x00\x02\x00\x00\x0e\x10", 512, false, 16, 0);
	/* remember, change, restore; nested */
	FOUND("\x0a\x0e\x40\x0b", 100, false, 8, 0);
	FOUND("\x0e\x10\x0a\x0e\x20\x0a\x0e\x40\x0b", 100, false, 32, 0);
	FOUND("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0e\x20", 100, false, 32, 0);
	BEYOND("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a");
	BEYOND("\x0b");
	/* numbers of several bytes; a frame that is too large; one that isn't aligned */
	FOUND("\x0e\x80\x80\x04", 100, false, 65536, 0);
	FOUND("\x0e\xf8\xff\xff\x01", 100, false, MW_CFI_FRAME_MAX - 8, 0);
	BEYOND("\x0e\x80\x80\x80\x02");
	BEYOND("\x0e\x0c");
	BEYOND("\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	/* with a sign: def_cfa_offset_sf -2 * -8; def_cfa_sf */
	FOUND("\x13\x7e", 100, false, 16, 0);
	BEYOND("\x13\x02");
	/* GNU_args_size, nop; other registers, and what is said of them */
	FOUND("\x2e\x40\x00\x00", 100, false, 8, 0);
	FOUND("\x83\x04\xc3\x07\x03\x08\x03\x09\x03\x04\x14\x03\x01\x15\x03\x01", 100, false, 8, 0);
	FOUND("\x10\x03\x02\x77\x08\x16\x03\x01\x30", 100, false, 8, 0);
	/* another register, an expression, and a register's name that no number has */
	BEYOND("\x0d\x03");
	BEYOND("\x0f\x02\x77\x08");
	FOUND("\x0d\x03\x0a\x0c\x04\x10\x0b\x0c" /* a cfa by register 3, then by fp */
#if defined(__x86_64__)
	      "\x06"
#else
	      "\x1d"
#endif
	      "\x10",
	      100, true, 16, 0);
	BEYOND("\x17");
	BEYOND("\x1c");
	BEYOND("\x3f");
	/* cut off: a number, a block that is longer than all */
	BEYOND("\x0e");
	BEYOND("\x0e\x80");
	BEYOND("\x04\x00");
	BEYOND("\x0f\x20\x00");
	BEYOND("\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	/* set_loc: where this function is, is in its own bytes' reach; here: far behind */
	FOUND("\x01\x00\x00\x00\x40\x0e\x10", 100, false, 8, 0);
}

TEST(rules_of_the_three)
{
	char own[8];
	const struct {
		const char *bytes; /* ? is the register */
		enum mw_cfi fp, ra, sp;
	} of[] = {
		{ "\x07?", MW_CFI_FOUND, MW_CFI_OUTERMOST, MW_CFI_RULE },
		{ "\x09?\x03", MW_CFI_RULE, MW_CFI_RULE, MW_CFI_RULE },
		{ "\x14?\x02", MW_CFI_RULE, MW_CFI_RULE, MW_CFI_RULE },
		{ "\x10?\x01\x30", MW_CFI_RULE, MW_CFI_RULE, MW_CFI_RULE },
		{ "\x16?\x01\x30", MW_CFI_RULE, MW_CFI_RULE, MW_CFI_RULE },
		{ "\x11?\x01", MW_CFI_FOUND, MW_CFI_FOUND, MW_CFI_RULE },
		{ "\x11?\x7f", MW_CFI_RULE, MW_CFI_RULE, MW_CFI_RULE }, /* above the CFA */
		{ "\x2f?\x01", MW_CFI_RULE, MW_CFI_RULE, MW_CFI_RULE },
		{ "\x05?\x01", MW_CFI_FOUND, MW_CFI_FOUND, MW_CFI_RULE },
		{ "\x06?", MW_CFI_FOUND, MW_CFI_FOUND, MW_CFI_FOUND },
	};
	const int regs[] = { FP, RA, SP };

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		for (int k = 0; k < 3; k++) {
			size_t n = strlen(of[i].bytes);

			memcpy(own, of[i].bytes, n);
			own[1] = (char)regs[k];
			expect((struct text){ own, n }, 9,
			       k == 0 ? of[i].fp :
			       k == 1 ? of[i].ra :
					of[i].sp,
			       false, 8, k == 0 && (own[0] == 0x11 || own[0] == 0x05) ? 8 : 0);
		}
}

TEST(augmentations)
{
	struct mw_cfi_row r;
	const struct text b = TEXT(BEGIN), no = NO_TEXT;

	assert_int_equal(made_up("zPLR", TEXT("\x9b\1\2\3\4\x1b\x1b"), b, no, 9, &r), MW_CFI_FOUND);
	assert_int_equal(made_up("zPLR", TEXT("\x00\1\2\3\4\5\6\7\x08\x1b\x1b"), b, no, 9, &r),
			 MW_CFI_FOUND);
	assert_int_equal(made_up("zRB", TEXT("\x1b"), b, no, 9, &r), MW_CFI_FOUND);
	assert_int_equal(made_up("zRS", TEXT("\x1b"), b, no, 9, &r), MW_CFI_SIGNAL);
	assert_int_equal(made_up("zRS", TEXT("\x1b"), b, no, SIZE, &r), MW_CFI_NONE);
	assert_int_equal(made_up("zRX", TEXT("\x1b"), b, no, 9, &r), MW_CFI_RULE);
	assert_int_equal(made_up("zR", TEXT("\x3b"), b, no, 9, &r), MW_CFI_RULE);
	assert_int_equal(made_up("zR", TEXT("\x9b"), b, no, 9, &r), MW_CFI_RULE);
	assert_int_equal(made_up("zPLR", TEXT("\x50\1\2\3\4\5\6\7\x08\x1b\x1b"), b, no, 9, &r),
			 MW_CFI_RULE);
	assert_int_equal(made_up("zPLR", TEXT("\x9b\1\2"), b, no, 9, &r), MW_CFI_RULE);
	assert_int_equal(made_up("zR", no, b, no, 9, &r), MW_CFI_RULE);
	/* without a definition there is no row */
	assert_int_equal(made_up("zR", TEXT("\x1b"), no, no, 9, &r), MW_CFI_RULE);
}

/* Changes the word at `at` of a description that has a row, and looks the row up. */
static enum mw_cfi changed(uint8_t *(*at)(void), int64_t value)
{
	struct mw_cfi_row r;

	assert_int_equal(made_up("zR", TEXT("\x1b"), TEXT(BEGIN), TEXT("\x0e\x10\x00\x00"), 9, &r),
			 MW_CFI_FOUND);
	/* behind the end there is more that could be run */
	memcpy((void *)made_place.frame.end, "\x0e\x20\x00\x00", 4);
	put4(at(), value);
	return mw_cfi_row(&made_place, function + 9, &r);
}

static uint8_t *cie_bytes(void)
{
	return made_cie;
}
static uint8_t *cie_id(void)
{
	return made_cie + 4;
}
static uint8_t *fde_bytes(void)
{
	return made_fde;
}
static uint8_t *fde_back(void)
{
	return made_fde + 4;
}
static uint8_t *table_count(void)
{
	return made + 8;
}
static uint8_t *table_fde(void)
{
	return made + 16;
}

TEST(lengths_and_links)
{
	struct mw_cfi_row r;
	int64_t back, bytes;

	(void)made_up("zR", TEXT("\x1b"), TEXT(BEGIN), TEXT("\x0e\x10\x00\x00"), 9, &r);
	back = made_fde + 4 - made_cie;
	bytes = (int64_t)made_place.frame.end - (int64_t)made_fde - 4;
	assert_int_equal(changed(fde_bytes, bytes), MW_CFI_FOUND);
	assert_int_equal(changed(fde_bytes, bytes + 1), MW_CFI_RULE);
	assert_int_equal(changed(fde_bytes, bytes + 4), MW_CFI_RULE);
	assert_int_equal(changed(fde_bytes, -1), MW_CFI_RULE);
	assert_int_equal(changed(fde_bytes, 0), MW_CFI_RULE);
	assert_int_equal(changed(fde_bytes, 3), MW_CFI_RULE);
	assert_int_equal(changed(fde_back, back), MW_CFI_FOUND);
	assert_int_equal(changed(fde_back, 0), MW_CFI_RULE);
	assert_int_equal(changed(fde_back, back + 1), MW_CFI_RULE);
	assert_int_equal(changed(fde_back, -1), MW_CFI_RULE);
	assert_int_equal(changed(cie_bytes, 1 << 16), MW_CFI_RULE);
	assert_int_equal(changed(cie_bytes, 0), MW_CFI_RULE);
	assert_int_equal(changed(cie_id, 1), MW_CFI_RULE);
	assert_int_equal(changed(table_count, 0), MW_CFI_NONE);
	assert_int_equal(changed(table_count, 2), MW_CFI_RULE);
	assert_int_equal(changed(table_count, -1), MW_CFI_RULE);
	assert_int_equal(changed(table_fde, 0), MW_CFI_RULE);
	assert_int_equal(changed(table_fde, (int64_t)made_place.frame.end - (int64_t)made), MW_CFI_RULE);
	assert_int_equal(changed(table_fde, INT32_MIN), MW_CFI_RULE);
}

TEST(as_many_steps_as_the_limit)
{
	static char nops[MW_CFI_STEPS + 1];
	const size_t common = 2; /* two are in the CIE */

	expect((struct text){ nops, MW_CFI_STEPS - common }, 9, MW_CFI_FOUND, false, 8, 0);
	expect((struct text){ nops, MW_CFI_STEPS - common + 1 }, 9, MW_CFI_RULE, false, 0, 0);
}

static uint64_t random_state = 18;

static uint32_t some_of(uint32_t below_this)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % below_this;
}

static void sane(enum mw_cfi how, const struct mw_cfi_row *r)
{
	assert_in_range(how, MW_CFI_FOUND, MW_CFI_NONE);
	if (how != MW_CFI_FOUND)
		return;
	assert_true(r->cfa < MW_CFI_FRAME_MAX && r->fp < MW_CFI_FRAME_MAX && r->ra < MW_CFI_FRAME_MAX);
	assert_true(r->cfa % 8 == 0 && r->fp % 8 == 0 && r->ra % 8 == 0);
}

TEST(random_instructions)
{
	size_t found = 0;

	for (int i = 0; i < 100000; i++) {
		struct mw_cfi_row r = { 0 };
		char common[24], own[64];
		struct text c = { common, some_of(sizeof(common)) }, o = { own, some_of(sizeof(own)) };
		enum mw_cfi how;

		for (size_t k = 0; k < sizeof(common); k++)
			common[k] = (char)some_of(256);
		for (size_t k = 0; k < sizeof(own); k++)
			own[k] = (char)(some_of(3) ? some_of(48) : some_of(256));
		if (i % 4)
			c = TEXT(BEGIN);
		how = made_up("zR", TEXT("\x1b"), c, o, some_of(SIZE), &r);
		sane(how, &r);
		found += how == MW_CFI_FOUND;
	}
	printf("# random instructions: %zu of 100000 make a row\n", found);
	assert_in_range(found, 1000, 90000);
}

/*
 * A library's description is copied so that it ends at a page that can't be read, or begins after
 * one. All is relative to itself: so the copy describes code as far away as the copy is.
 */
TEST(changed_bytes)
{
	struct mw_cfi_place from, place;
	struct mw_cfi_row r;
	size_t bytes, room, page = (size_t)sysconf(_SC_PAGESIZE), found = 0;
	void *h = dlopen(unwound_path("cc_O2"), RTLD_NOW | RTLD_LOCAL);
	const struct shape_list *shapes = h ? dlsym(h, "shapes") : NULL;
	char *map;

	assert_non_null(shapes);
	assert_true(mw_cfi_place((uintptr_t)shapes->of[0], &from));
	assert_true(from.hdr.end <= from.frame.start && from.frame.start - from.hdr.end < 64);
	bytes = from.frame.end - from.hdr.start;
	room = (bytes + page - 1) / page * page;
	map = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mprotect(map + page, room, PROT_READ | PROT_WRITE), 0);
	for (int i = 0; i < 60000; i++) {
		/* its bytes are 4-aligned in the file; nothing needs that */
		char *to = i % 2 ? map + page : map + page + room - bytes;
		uintptr_t moved = (uintptr_t)to - from.hdr.start;
		uintptr_t pc = (uintptr_t)shapes->of[some_of((uint32_t)shapes->n)] + some_of(60) + moved;
		unsigned changes = (unsigned)(i ? some_of(12) : 0);
		enum mw_cfi how;

		if (i < 2 || i % 16 < 2)
			memcpy(to, (const void *)from.hdr.start, bytes);
		place = from;
		place.hdr.start += moved, place.hdr.end += moved;
		place.frame.start += moved, place.frame.end += moved;
		while (changes--)
			to[some_of(4) ? some_of((uint32_t)bytes) : some_of(200)] =
				(char)(some_of(2) ? some_of(256) :
				       some_of(2) ? 255 :
						    0);
		how = mw_cfi_row(&place, pc, &r);
		found += how == MW_CFI_FOUND;
		sane(how, &r);
		/* cut off anywhere */
		place.hdr.end = place.hdr.start + some_of((uint32_t)(place.hdr.end - place.hdr.start));
		place.frame.end =
			place.frame.start + some_of((uint32_t)(place.frame.end - place.frame.start));
		sane(mw_cfi_row(&place, pc, &r), &r);
	}
	printf("# changed bytes: %zu of 60000 still make a row\n", found);
	assert_in_range(found, 1000, 59999);
	munmap(map, room + 2 * page);
	dlclose(h);
}
