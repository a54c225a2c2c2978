/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of functions that a file doesn't export, by its own table of symbols. */
/* uses: src/tracker/table/symtab.c src/tracker/table/elf_file.c src/tracker/table/debug_file.c src/tracker/table/exported.c src/shared/sys/maps.c src/tracker/base/arena.c src/shared/sys/log.c */
#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "../../src/tracker/table/symtab.h"
#include "../../src/tracker/table/debug_file.h"

static struct mw_symtabs t;
static struct mw_name name;

static const char *found(const struct link_map *map, uintptr_t address)
{
	return mw_symtab_find(&t, map, address, &name) ? name.text : NULL;
}

__attribute__((noinline)) static int not_exported(int n)
{
	return n * 3 + 1;
}

static struct link_map *map_of(const void *address)
{
	struct link_map *map = NULL;
	Dl_info i;

	assert_true(dladdr1(address, &i, (void **)&map, RTLD_DL_LINKMAP) != 0);
	return map;
}

static void teardown(void)
{
	mw_symtab_end(&t);
}

EACH(NULL, teardown);

TEST(the_programs_own)
{
	struct link_map *map = map_of((const void *)not_exported);
	Dl_info i;

	assert_int_equal(not_exported(1), 4);
	assert_true(dladdr((const void *)not_exported, &i) && !i.dli_sname);
	for (int again = 0; again < 2; again++) {
		assert_string_equal(found(map, (uintptr_t)not_exported), "not_exported");
		assert_string_equal(found(map, (uintptr_t)not_exported + 1), "not_exported");
		assert_string_equal(found(map, (uintptr_t)map_of), "map_of");
	}
	assert_null(found(map, map->l_addr));
	assert_null(found(map, map->l_addr - 4096));
	assert_null(found(map, (uintptr_t)&t));
}

TEST(a_stripped_library)
{
	/* one that no sanitizer has its own of */
	uintptr_t at = (uintptr_t)gnu_get_libc_version;

	mw_debug_folder = "/dev/null"; /* this machine may have the C library's symbols */
	assert_null(found(map_of((const void *)at), at + 1));
	assert_string_equal(found(map_of((const void *)not_exported), (uintptr_t)not_exported),
			    "not_exported");
}

/* This very program in a file, with some of its bytes changed; as if it had been loaded from there. */
static char path[] = "/tmp/mw-symtab-XXXXXX";
static char *bytes;
static size_t size;

static void copy_begin(void)
{
	FILE *f = fopen("/proc/self/exe", "rb");
	struct stat st;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	size = (size_t)st.st_size;
	bytes = malloc(size);
	assert_int_equal(fread(bytes, 1, size, f), size);
	fclose(f);
}

static const char *name_in_copy(size_t n)
{
	struct link_map map = *map_of((const void *)not_exported);
	int fd;
	const char *known;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	map.l_ld = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0); /* it is mapped, from there */
	assert_true(map.l_ld != MAP_FAILED);
	close(fd);
	map.l_name = path;
	mw_symtab_end(&t);
	known = found(&map, (uintptr_t)not_exported);
	munmap(map.l_ld, 1);
	unlink(path);
	return known;
}

/* Another build took the place of the file: its names aren't those of what is mapped. */
TEST(another_file)
{
	const unsigned char *code = (const unsigned char *)not_exported;
	char *there;

	copy_begin();
	assert_string_equal(name_in_copy(size), "not_exported");
	there = memmem(bytes, size, code, 12);
	assert_non_null(there);
	there[3] ^= 1;
	assert_null(name_in_copy(size));
	free(bytes);
}

/* --- a separate file with the symbols ------------------------------------------------------ */

static char folder[] = "/tmp/mw-debug-XXXXXX", debug_path[128];

static void write_debug_file(size_t n)
{
	FILE *f = fopen(debug_path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* Makes the folders on the way to the file of this very program's build ID. */
static char *make_debug_folder(void)
{
	static const char before[] = "\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU"; /* and a NUL */
	const unsigned char *id = memmem(bytes, size, before, sizeof(before));
	int n;

	assert_non_null(id);
	id += sizeof(before);
	assert_non_null(mkdtemp(folder));
	mw_debug_folder = folder;
	n = snprintf(debug_path, sizeof(debug_path), "%s/.build-id", folder);
	assert_int_equal(mkdir(debug_path, 0700), 0);
	n += snprintf(debug_path + n, sizeof(debug_path) - (size_t)n, "/%02x", id[0]);
	assert_int_equal(mkdir(debug_path, 0700), 0);
	n += snprintf(debug_path + n, sizeof(debug_path) - (size_t)n, "/");
	for (int i = 1; i < 20; i++)
		n += snprintf(debug_path + n, sizeof(debug_path) - (size_t)n, "%02x", id[i]);
	(void)snprintf(debug_path + n, sizeof(debug_path) - (size_t)n, ".debug");
	return bytes + (id - (const unsigned char *)bytes);
}

static void remove_debug_folder(void)
{
	unlink(debug_path);
	for (int i = 0; i < 2; i++) {
		*strrchr(debug_path, '/') = '\0';
		rmdir(debug_path);
	}
	rmdir(folder);
	mw_debug_folder = "/dev/null";
}

/* As strip does it: the file has no table of symbols any more. */
static void strip_copy(void)
{
	ElfW(Ehdr) e;

	memcpy(&e, bytes, sizeof(e));
	for (unsigned i = 0; i < e.e_shnum; i++) {
		char *at = bytes + e.e_shoff + i * sizeof(ElfW(Shdr));
		ElfW(Shdr) s;

		memcpy(&s, at, sizeof(s));
		if (s.sh_type == SHT_SYMTAB)
			s.sh_type = SHT_NULL;
		memcpy(at, &s, sizeof(s));
	}
}

TEST(a_separate_file_has_the_names)
{
	char *id;

	copy_begin();
	id = make_debug_folder();
	write_debug_file(size);
	strip_copy();
	assert_string_equal(name_in_copy(size), "not_exported");
	/* too short, and that of another build */
	write_debug_file(size / 2);
	assert_null(name_in_copy(size));
	id[19] ^= 1;
	write_debug_file(size);
	id[19] ^= 1;
	assert_null(name_in_copy(size));
	unlink(debug_path);
	assert_null(name_in_copy(size));
	remove_debug_folder();
	free(bytes);
}

/* Whatever the file has: no crash, and no name that isn't there. */
TEST(broken_files)
{
	unsigned seed = 1;

	copy_begin();
	for (size_t n = 0; n < size; n += size / 40 + 1)
		(void)name_in_copy(n);
	for (int i = 0; i < 400; i++) {
		size_t at, end = i % 2 ? 64 : size; /* its header, or all of it */
		char was[4];

		seed = seed * 1103515245 + 12345;
		at = (seed >> 4) % (end - sizeof(was));
		if (i % 4 == 2) /* its sections */
			at = size - sizeof(was) - (seed >> 4) % 2048;
		memcpy(was, bytes + at, sizeof(was));
		memset(bytes + at, seed & 256 ? 0xff : (int)(seed >> 16 & 0xff), sizeof(was));
		(void)name_in_copy(size);
		memcpy(bytes + at, was, sizeof(was));
	}
	assert_string_equal(name_in_copy(size), "not_exported");
	free(bytes);
}

TEST(no_file)
{
	struct link_map map = *map_of((const void *)not_exported);

	map.l_name = (char *)(uintptr_t)"/no/such/file";
	assert_null(found(&map, (uintptr_t)not_exported));
	mw_symtab_end(&t);
	map.l_name = (char *)(uintptr_t)"/tmp";
	assert_null(found(&map, (uintptr_t)not_exported));
}
