/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of functions that libraries export: as dladdr(3) has them, also while their files are overwritten in place. */
/* uses: src/tracker/table/exported.c src/shared/sys/libc_glibc.c */
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "../../src/shared/sys/libc.h"
#include "../../src/shared/sys/sys.h"
#include "../../src/tracker/table/exported.h"

static uintptr_t page_size;
static struct mw_name name;
static uint64_t seed;

static uint64_t any(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

static void begin(void)
{
	const char *given = getenv("SEED");

	seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	print_message("# SEED=%" PRIu64 "\n", seed);
}

ALL(begin, NULL);

static void same_as_dladdr(const struct mw_object *o, uintptr_t address)
{
	Dl_info i = { 0 };
	uintptr_t at = 0;
	bool known = mw_exported(o, address, &name, &at);

	assert_true(dladdr((void *)address, &i));
	if (!i.dli_sname) {
		assert_false(known);
		return;
	}
	assert_true(known);
	assert_int_equal(at, (uintptr_t)i.dli_saddr);
	assert_string_equal(name.text, i.dli_sname);
}

TEST(as_dladdr_has_them)
{
	static const char *const names[] = {
		"libc.so.6",     "libm.so.6", "libstdc++.so.6", "libcmocka.so.0", "libz.so.1",
		"libgcc_s.so.1", NULL
	};
	int libraries = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct link_map *map = dlopen(names[i], RTLD_LAZY); /* NULL: this program */
		struct mw_object o;

		if (!map || !mw_object_of((uintptr_t)map->l_ld, &o))
			continue;
		libraries++;
		for (int k = 0; k < 400; k++)
			same_as_dladdr(&o, o.start + any(o.end - o.start));
	}
	assert_true(libraries >= 4);
}

/* A copy of the C library's memory, and an entry of the linker's for it. */
static struct link_map map;
static struct mw_object copy;

/* Where the copy has its tables, whatever is written over them later */
enum { HASHES, SYMBOLS, NAMES, DYNAMIC, TABLES };
static uintptr_t tables[TABLES];

static void find_tables(void)
{
	tables[DYNAMIC] = (uintptr_t)map.l_ld;
	for (const ElfW(Dyn) *d = map.l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_GNU_HASH)
			tables[HASHES] = d->d_un.d_ptr;
		if (d->d_tag == DT_SYMTAB)
			tables[SYMBOLS] = d->d_un.d_ptr;
		if (d->d_tag == DT_STRTAB)
			tables[NAMES] = d->d_un.d_ptr;
	}
}

static void copy_again(const struct mw_object *of)
{
	size_t bytes = of->end - of->start;

	if (copy.start)
		munmap((void *)copy.start, bytes);
	copy.start =
		(uintptr_t)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	copy.end = copy.start + bytes;
	for (uintptr_t page = 0; page < bytes; page += page_size)
		if (mw_sys_reads(of->start + page))
			memcpy((void *)(copy.start + page), (void *)(of->start + page), page_size);
	map = *of->map;
	map.l_addr += copy.start - of->start;
	map.l_ld = (ElfW(Dyn) *)((uintptr_t)map.l_ld + copy.start - of->start);
	for (ElfW(Dyn) *d = map.l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_un.d_ptr - of->start < bytes)
			d->d_un.d_ptr += copy.start - of->start;
	copy.map = &map;
	find_tables();
}

/* As if another file's bytes were there: some words differ. */
static void overwrite(void)
{
	uintptr_t at = (tables[any(TABLES)] + any(300)) & ~(uintptr_t)3;

	for (int n = (int)any(6); n >= 0; n--)
		*(uint32_t *)(at + 4 * (uintptr_t)n) = any(2) ? (uint32_t)any(UINT32_MAX) : UINT32_MAX;
}

/* As if the file were shorter. */
static void shorten(void)
{
	uintptr_t page = (tables[any(TABLES)] + any(3) * page_size) & ~(page_size - 1);

	if (page < copy.end)
		assert_int_equal(mprotect((void *)page, page_size, PROT_NONE), 0);
}

TEST(overwritten)
{
	struct mw_object of;
	uintptr_t at;

	assert_true(mw_object_of((uintptr_t)getsubopt, &of));
	copy_again(&of);
	assert_true(mw_exported(&copy, (uintptr_t)getsubopt + copy.start - of.start, &name, &at));
	assert_string_equal(name.text, "getsubopt");
	for (int i = 0; i < 300; i++) {
		copy_again(&of);
		for (int n = (int)any(3); n >= 0; n--)
			overwrite();
		if (!any(3))
			shorten();
		for (int n = 0; n < 3; n++)
			(void)mw_exported(&copy, copy.start + any(copy.end - copy.start), &name, &at);
	}
}

TEST(long_names)
{
	static char longest[60001];

	for (size_t n = 1; n < sizeof(longest); n += n < 990 ? 989 : n < 1010 ? 1 : 9833) {
		memset(longest, 'a', n);
		memcpy(longest + n - 1, "z", 2);
		mw_name_fit(&name, longest, n);
		assert_int_equal(strlen(name.text), n < MW_NAME_MOST ? n : MW_NAME_MOST - 1);
		assert_int_equal(name.text[strlen(name.text) - 1], 'z');
		assert_true(!strstr(name.text, "...") == (n < MW_NAME_MOST));
	}
}
