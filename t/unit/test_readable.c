/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which addresses can be read, mw_readable: pages that were read once aren't asked for again. */
/* uses: src/tracker/caller/ruby/safe_read.c */
#include "unit.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "../../src/tracker/caller/ruby/safe_read.h"

enum { PAGE = 4096, PAGES = 1 << 14, APART = 512, KEPT = PAGES / APART };

/* Nobody can read it, but for what a test allows. */
static char *room(void)
{
	char *p = mmap(NULL, (size_t)PAGES * PAGE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static void allow(char *page, int what)
{
	assert_int_equal(mprotect(page, PAGE, what), 0);
}

TEST(what_nobody_can_read)
{
	uintptr_t p = (uintptr_t)room();

	assert_false(mw_readable(0, 8));
	assert_false(mw_readable(PAGE - 1, 1));
	assert_false(mw_readable(UINTPTR_MAX - 3, 8));
	assert_false(mw_readable(p, 8));
	assert_false(mw_readable(p, 8));
	assert_false(mw_readable((uintptr_t)1 << 60, 8));
}

TEST(each_page_of_what_is_asked)
{
	char *p = room();

	allow(p + PAGE, PROT_READ);
	allow(p + 2 * PAGE, PROT_READ);
	assert_true(mw_readable((uintptr_t)p + PAGE, 2 * PAGE));
	assert_true(mw_readable((uintptr_t)p + 2 * PAGE - 4, 8));
	assert_false(mw_readable((uintptr_t)p + PAGE - 1, 2));
	assert_false(mw_readable((uintptr_t)p + 3 * PAGE - 4, 8));
	assert_false(mw_readable((uintptr_t)p, 4 * PAGE));
}

/* Random pages are read, each of which is known from then on, and no other one is. */
TEST(pages_are_known_one_by_one)
{
	static bool may[PAGES];
	char *p = room();

	srandom((unsigned)unit_seed());
	for (int n = 0; n < 20000; n++) {
		long i = random() % PAGES;

		if (random() % 8 == 0 && !may[i]) {
			allow(p + i * PAGE, PROT_READ);
			may[i] = true;
		}
		assert_int_equal(
			mw_readable((uintptr_t)p + (uintptr_t)i * PAGE + (uintptr_t)(random() % PAGE), 1),
			may[i]);
	}
}

/* Pages that are a power of two apart, as Ruby's are: none pushes all others out. */
TEST(pages_far_apart_stay_known)
{
	char *p = room();
	int known = 0;

	for (int i = 0; i < KEPT; i++) {
		allow(p + (size_t)i * APART * PAGE, PROT_READ);
		assert_true(mw_readable((uintptr_t)p + (uintptr_t)i * APART * PAGE, 8));
	}
	for (int i = 0; i < KEPT; i++) {
		allow(p + (size_t)i * APART * PAGE, PROT_NONE);
		known += mw_readable((uintptr_t)p + (uintptr_t)i * APART * PAGE, 8);
	}
	assert_in_range(known, KEPT * 3 / 4, KEPT);
}
