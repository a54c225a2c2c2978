/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame information of whole libraries: rows, compared with what readelf makes of the same
 * bytes; whether anything describes a random pc, compared with libgcc. More libraries than those of
 * this process are compared as .build/t/unit/test_cfi LIBRARY...
 */
/* uses: src/shared/sys/libc_glibc.c src/tracker/caller/cfi.c src/tracker/caller/cfi_find.c */
#include <elf.h>
#include <link.h>

#include "unit.h"
#include "../../src/tracker/caller/cfi.h"
#include "unwound.h"

#if defined(__x86_64__)
#define SP_NAME "rsp"
#define FP_NAME "rbp"
#define RA_COLUMN " ra=16\n"
#else
#define SP_NAME "sp"
#define FP_NAME "x29"
#define RA_COLUMN " ra=30\n"
#endif

struct compared {
	size_t pcs, found, rule, none, signal, wrong;
};

/* c-16 is 16; u and s: 0. False: more than a row can say. */
static bool below(const char *rule, uint32_t *bytes)
{
	int n;

	*bytes = 0;
	if (!strcmp(rule, "u") || !strcmp(rule, "s"))
		return true;
	if (sscanf(rule, "c-%d", &n) != 1)
		return false;
	*bytes = (uint32_t)n;
	return n > 0 && n < MW_CFI_FRAME_MAX && n % 8 == 0;
}

static enum mw_cfi of_readelf(const char *cfa, const char *fp, const char *ra, const char *sp,
			      struct mw_cfi_row *row)
{
	char reg[16];
	int n;

	*row = (struct mw_cfi_row){ 0 };
#if defined(__x86_64__)
	if (!strcmp(ra, "u"))
		return MW_CFI_OUTERMOST;
#endif
	if (sscanf(cfa, "%15[a-z0-9]%d", reg, &n) != 2 || n < 0 || n >= MW_CFI_FRAME_MAX || n % 8 ||
	    (strcmp(reg, SP_NAME) != 0 && strcmp(reg, FP_NAME) != 0) || strcmp(sp, "u") != 0 ||
	    !below(fp, &row->fp) || !below(ra, &row->ra))
		return MW_CFI_RULE;
#if defined(__x86_64__)
	if (row->ra != 8)
		return MW_CFI_RULE;
#endif
	row->by_fp = !strcmp(reg, FP_NAME);
	row->cfa = (uint32_t)n;
	return MW_CFI_FOUND;
}

static void compare_one(uintptr_t pc, enum mw_cfi want, const struct mw_cfi_row *r, const char *line,
			struct compared *c)
{
	struct mw_cfi_place place;
	struct mw_cfi_row got = { 0 };
	enum mw_cfi how = MW_CFI_NONE;

	if (mw_cfi_place(pc, &place))
		how = mw_cfi_row(&place, pc, &got);
	c->pcs++;
	c->found += how == MW_CFI_FOUND;
	c->rule += how == MW_CFI_RULE;
	c->none += how == MW_CFI_NONE;
	c->signal += how == MW_CFI_SIGNAL;
#if !defined(__x86_64__)
	/* readelf's u: undefined, or nothing is said of it */
	if (how == MW_CFI_OUTERMOST && want == MW_CFI_FOUND && !r->ra)
		return;
#endif
	if (how == want && (how != MW_CFI_FOUND || (got.by_fp == r->by_fp && got.cfa == r->cfa &&
						    got.fp == r->fp && got.ra == r->ra)))
		return;
	if (c->wrong++ < 5)
		print_message("# %#zx: %d, not %d: %d %u %u %u; readelf: %s", (size_t)pc, how, want,
			      got.by_fp, got.cfa, got.fp, got.ra, line);
}

/* The value in a column of this name. */
static const char *column(char *const *names, char *const *values, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return values[i];
	return "u";
}

static int words(char *text, char **out)
{
	int n = 0;

	for (char *w = strtok(text, " \n"); w && n < 48; w = strtok(NULL, " \n"))
		out[n++] = w;
	return n;
}

/* Each row of the library, at its first instruction and at its last byte. */
static void compare_library(const char *path, uintptr_t bias, struct compared *c)
{
	char command[4200], line[1024], kept[1024], head[1024], *names[48], *values[48];
	uintptr_t end = 0, at = 0, special[64];
	enum mw_cfi of_special[64], of_cie = MW_CFI_FOUND;
	size_t specials = 0;
	struct mw_cfi_row row = { 0 };
	enum mw_cfi want = MW_CFI_NONE;
	bool frames = false, pending = false;
	int n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "LC_ALL=C readelf -WwFN '%s' 2>/dev/null", path);
	f = popen(command, "r");
	assert_non_null(f);
	for (bool more = true; more;) {
		uintptr_t loc = 0, from, to, cie;
		char *p;

		more = fgets(line, sizeof(line), f);
		if (!more)
			line[0] = 0;
		if (!strncmp(line, "Contents of", 11) || (p = strstr(line, "The section"))) {
			frames = strstr(line, ".eh_frame section") != NULL;
			continue;
		}
		if (more && !frames)
			continue;
		/* the row before ends where the next begins, or the function ends */
		loc = strtoul(line, &p, 16);
		if (pending && (p - line == 16 || !more || line[0] == '\n')) {
			if (p - line != 16)
				loc = end;
			if (loc > at) {
				compare_one(bias + at, want, &row, kept, c);
				compare_one(bias + loc - 1, want, &row, kept, c);
			}
			pending = false;
		}
		if ((p = strstr(line, " CIE \""))) {
			bool other = !strstr(p, RA_COLUMN);

			if ((other || strchr(p, 'S')) && specials < 64) {
				of_special[specials] = other ? MW_CFI_RULE : MW_CFI_SIGNAL;
				special[specials++] = strtoul(line, NULL, 16);
			}
		} else if ((p = strstr(line, "FDE cie=")) &&
			   sscanf(p, "FDE cie=%lx pc=%lx..%lx", &cie, &from, &to) == 3) {
			of_cie = MW_CFI_FOUND;
			for (size_t i = 0; i < specials; i++)
				if (special[i] == cie)
					of_cie = of_special[i];
			end = to;
		} else if (strstr(line, "LOC") && strstr(line, "CFA")) {
			strcpy(head, line);
			n = words(head, names);
		} else if (end && strspn(line, "0123456789abcdef") == 16 && line[16] == ' ' &&
			   !strstr(line, "CIE")) {
			strcpy(kept, line);
			if (words(line, values) != n || (at = strtoul(kept, NULL, 16)) >= end)
				continue;
			want = of_readelf(values[1], column(names, values, n, FP_NAME),
					  column(names, values, n, "ra"),
					  column(names, values, n, SP_NAME), &row);
			if (of_cie != MW_CFI_FOUND)
				want = of_cie;
			pending = true;
		} else if (line[0] == '\n') {
			end = 0;
		}
	}
	assert_int_equal(pclose(f), 0);
}

static int each_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct compared *all = arg, c = { 0 };
	char exe[4096] = { 0 };
	const char *name = info->dlpi_name;

	(void)size;
	if (!*name && readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0)
		name = exe;
	if (access(name, R_OK) != 0 || strstr(name, "san.so")) /* sanitizers' own: a hundred thousand rows */
		return 0;
	compare_library(name, info->dlpi_addr, &c);
	printf("# %s: %zu pcs: %zu found, %zu beyond a row, %zu of signals\n", strrchr(name, '/') + 1,
	       c.pcs, c.found, c.rule, c.signal);
	all->wrong += c.wrong;
	all->pcs += c.pcs;
	all->found += c.found;
	all->signal += c.signal;
	return 0;
}

TEST(as_readelf_says)
{
	struct compared c = { 0 };
	void *handles[64];

	unwound_open("*", handles, 64);
	dl_iterate_phdr(each_object, &c);
	assert_int_equal(c.wrong, 0);
	assert_in_range(c.pcs, 20000, 100000000);
	assert_in_range(c.found, c.pcs / 10 * 9, c.pcs);
#if defined(__x86_64__)
	assert_in_range(c.signal, 1, 1000); /* the C library's return from a signal handler */
#endif
}

TEST(nothing_describes_these)
{
	static const char data[] = "neither";
	struct mw_cfi_place place;
	int here;

	assert_false(mw_cfi_place((uintptr_t)&here, &place));
	assert_false(mw_cfi_place(0, &place));
	if (mw_cfi_place((uintptr_t)data, &place)) {
		struct mw_cfi_row r;

		assert_int_equal(mw_cfi_row(&place, (uintptr_t)data, &r), MW_CFI_NONE);
	}
}

/* of libgcc */
extern const void *_Unwind_Find_FDE(void *pc, void *bases[3]);

static uint64_t random_state = 18;

static uint64_t random_below(uint64_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 20) % n;
}

static int random_pcs(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct compared *c = arg;
	struct mw_cfi_place place;
	struct mw_cfi_row row;
	void *bases[3];

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		for (int k = 0; h->p_type == PT_LOAD && k < 3000; k++) {
			uintptr_t pc = info->dlpi_addr + h->p_vaddr + random_below(h->p_memsz);
			bool ours =
				mw_cfi_place(pc, &place) && mw_cfi_row(&place, pc, &row) != MW_CFI_NONE;
			bool libgccs = _Unwind_Find_FDE((void *)pc, bases) != NULL;

			c->found += ours;
			c->none += !ours;
			if (ours != libgccs && !c->wrong++)
				print_message("# %#zx in %s: %d, libgcc: %d\n", (size_t)pc,
					      info->dlpi_name, ours, libgccs);
		}
	}
	return 0;
}

TEST(whether_anything_describes_it_as_libgcc_says)
{
	struct compared c = { 0 };

	dl_iterate_phdr(random_pcs, &c);
	printf("# random pcs: %zu are described, %zu aren't\n", c.found, c.none);
	assert_int_equal(c.wrong, 0);
	assert_in_range(c.found, 10000, 100000000);
	assert_in_range(c.none, 10000, 100000000);
}

static void open_given(void)
{
	for (char **path = unit_arguments; *path; path++)
		if (!dlopen(*path, RTLD_LAZY | RTLD_LOCAL))
			printf("# %s\n", dlerror());
}

ALL(open_given, NULL);
