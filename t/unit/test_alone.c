/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of a file that are read without their neighbours: what is mapped, and that nothing else is changed. */
/* uses: src/caller/alone.c src/caller/cfi.c src/caller/cfi_find.c */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../src/caller/alone.h"
#include "../../src/caller/cfi.h"

enum { PAGE = 4096, PAGES = 64, BYTES = PAGES * PAGE };

static int fd;
static char *map;

/* Pages that the process has of what is mapped there; *mappings: how many mappings that is. */
static size_t mapped_in(uintptr_t from, uintptr_t to, unsigned *mappings)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	uintptr_t start, end, here = 0;
	char line[512];
	size_t kb, sum = 0;

	assert_non_null(f);
	*mappings = 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2) {
			here = start < to && end > from;
			*mappings += here != 0;
		} else if (here && sscanf(line, "Rss: %zu kB", &kb) == 1) {
			sum += kb;
		}
	(void)fclose(f);
	return sum / (PAGE / 1024);
}

static size_t mapped(unsigned *mappings)
{
	return mapped_in((uintptr_t)map, (uintptr_t)map + BYTES, mappings);
}

static void map_anew(int flags)
{
	if (map)
		(void)munmap(map, BYTES);
	map = mmap(NULL, BYTES, PROT_READ | (flags & MAP_ANONYMOUS ? PROT_WRITE : 0), flags,
		   flags & MAP_ANONYMOUS ? -1 : fd, 0);
	assert_true(map != MAP_FAILED);
}

static int setup(void **state)
{
	char name[] = "/tmp/mwrap-alone-XXXXXX", page[PAGE];

	(void)state;
	if (sysconf(_SC_PAGESIZE) != PAGE)
		return 0;
	fd = mkstemp(name);
	if (fd < 0 || unlink(name) < 0)
		return -1;
	for (int i = 0; i < PAGES; i++) {
		memset(page, '0' + i, PAGE);
		if (write(fd, page, PAGE) != PAGE)
			return -1;
	}
	map_anew(MAP_PRIVATE);
	return 0;
}

/* Does the kernel map neighbours here? */
static void needs_neighbours(void)
{
	unsigned mappings;

	if (!map)
		skip();
	map_anew(MAP_PRIVATE);
	(void)*(volatile char *)(map + 20 * PAGE);
	if (mapped(&mappings) < 2)
		skip();
	mw_alone_after_fork(); /* as if none was seen, since addresses come back */
	map_anew(MAP_PRIVATE);
}

static void one_page(void **state)
{
	unsigned mappings;

	(void)state;
	needs_neighbours();
	errno = 4711;
	mw_alone((uintptr_t)map + 20 * PAGE + 17, 100);
	assert_int_equal(errno, 4711);
	assert_int_equal(map[20 * PAGE + 17], '0' + 20);
	assert_int_equal(mapped(&mappings), 1);
	assert_int_equal(mappings, 1);
}

static void bytes_of_two_pages(void **state)
{
	unsigned mappings;

	(void)state;
	needs_neighbours();
	mw_alone((uintptr_t)map + 31 * PAGE - 4, 8);
	assert_int_equal(mapped(&mappings), 2);
	assert_int_equal(mappings, 1);
	mw_alone((uintptr_t)map + 40 * PAGE - 4, 4);
	assert_int_equal(mapped(&mappings), 3);
}

static void each_page(void **state)
{
	unsigned mappings;

	(void)state;
	needs_neighbours();
	for (int i = 0; i < PAGES; i++) {
		mw_alone((uintptr_t)map + i * PAGE, PAGE);
		assert_int_equal(mapped(&mappings), i + 1);
		assert_int_equal(mappings, 1);
		assert_int_equal(map[i * PAGE], '0' + i);
	}
}

/* The second time there is no system call, so the page comes like any other. */
static void asked_once(void **state)
{
	unsigned mappings;

	(void)state;
	needs_neighbours();
	mw_alone((uintptr_t)map + 20 * PAGE, 8);
	assert_int_equal(madvise(map, BYTES, MADV_DONTNEED), 0);
	mw_alone((uintptr_t)map + 20 * PAGE, 8);
	assert_int_equal(mapped(&mappings), 0);
}

static void a_forked_child(void **state)
{
	unsigned mappings;
	int status;
	pid_t pid;

	(void)state;
	needs_neighbours();
	mw_alone((uintptr_t)map + 20 * PAGE, 8);
	pid = fork();
	if (!pid) {
		mw_alone_after_fork();
		(void)madvise(map, BYTES, MADV_DONTNEED);
		mw_alone((uintptr_t)map + 20 * PAGE, 8);
		_exit(mapped(&mappings) == 1 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Whatever is mapped there, keeps its bytes. */
static void memory(void **state)
{
	(void)state;
	if (!map)
		skip();
	map_anew(MAP_PRIVATE | MAP_ANONYMOUS);
	memset(map, 'x', BYTES);
	for (int i = 0; i < PAGES; i++)
		mw_alone((uintptr_t)map + i * PAGE, PAGE);
	for (int i = 0; i < BYTES; i++)
		assert_int_equal(map[i], 'x');
}

/* A library of which the dynamic linker reads no description of frames. */
static void descriptions_of_frames(void **state)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);
	size_t before, after;
	struct mw_cfi_place place;
	struct mw_cfi_row row;
	unsigned mappings, later;
	uintptr_t pc;

	(void)state;
	needs_neighbours();
	if (!library)
		skip();
	pc = (uintptr_t)dlsym(library, "_ZNSt6localeC1EPKc"); /* std::locale::locale(const char *) */
	assert_true(pc);
	assert_true(mw_cfi_place(_dl_find_object, pc + 20, &place));
	before = mapped_in(place.hdr.start, place.frame.end, &mappings);
	assert_int_equal(mw_cfi_row(&place, pc + 20, &row), MW_CFI_FOUND);
	after = mapped_in(place.hdr.start, place.frame.end, &later);
	print_message("# pages of .eh_frame and .eh_frame_hdr: %zu, then %zu\n", before, after);
	assert_in_range(after, before + 1, before + 10);
	assert_int_equal(later, mappings);
	(void)dlclose(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_page),
		cmocka_unit_test(bytes_of_two_pages),
		cmocka_unit_test(each_page),
		cmocka_unit_test(asked_once),
		cmocka_unit_test(a_forked_child),
		cmocka_unit_test(memory),
		cmocka_unit_test(descriptions_of_frames),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, NULL);
}
