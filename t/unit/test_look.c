/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words that may be addresses of Ruby's structures: those that a kernel gives out, on x86-64 and arm64. */
/* uses: */
#include "unit.h"
#include "../../src/tracker/caller/ruby/look.h"

/* On arm64 a process's addresses end at 2^48, on x86-64 at 2^47. */
TEST(words_of_any_height)
{
	uint64_t dice = unit_seed();

	for (int i = 0; i < 200000; i++) {
		uintptr_t p;

		dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		p = (dice ^ dice >> 29) >> i % 48 & -(uintptr_t)(i & 1 ? sizeof(p) : 1);
		assert_int_equal(mw_pointer_like(p), p >> 16 && p >> 48 == 0 && p % sizeof(p) == 0);
	}
}

TEST(all_that_this_machine_gives)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[5000];
	int n = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (!strstr(line, "[vsyscall]")) { /* the kernel's */
			assert_true(mw_pointer_like(strtoul(line, NULL, 16)));
			n++;
		}
	fclose(maps);
	assert_in_range(n, 5, 100000);
}
