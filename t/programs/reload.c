/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reload.c A.so B.so - two libraries, loaded in turn at the same addresses.
 *
 * The counts of code at an address belong to the library that was there. What
 * A allocated lives on when B is in its place.
 */
#include <link.h>

#include "../lib/site.h"

#define ROUNDS 20
static void *block[2 * ROUNDS][3];

static uintptr_t use(const char *path, size_t k)
{
	void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *(*make)(size_t) = NULL;
	struct link_map *map;
	uintptr_t base;

	if (!h) {
		say("NOT OK %s\n", dlerror());
		exit(1);
	}
	*(void **)&make = dlsym(h, "swap_make");
	dlinfo(h, RTLD_DI_LINKMAP, &map);
	base = map->l_addr;
	block[k][0] = make(100 + k % 2);
	block[k][1] = make(200 + k % 2);
	block[k][2] = make(300 + k % 2);
	dlclose(h);
	return base;
}

int main(int argc, char **argv)
{
	size_t k, same = 0;
	uintptr_t last = 0, base;

	if (argc < 3)
		return 2;
	for (k = 0; k < 2 * ROUNDS; k++) {
		base = use(argv[1 + k % 2], k);
		same += base == last;
		last = base;
	}
	for (k = 0; k < 2 * ROUNDS; k++)
		free(block[k][1]);
	check(same > ROUNDS, "they were in the same place");
	say("module swap_a.so %d %d %d\n", 3 * ROUNDS, ROUNDS, 600 * ROUNDS);
	say("module swap_b.so %d %d %d\n", 3 * ROUNDS, ROUNDS, 603 * ROUNDS);
	return 0;
}
