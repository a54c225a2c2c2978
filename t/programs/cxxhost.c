/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cxxhost.c PLUGIN.so [calm] - a C program, without libstdc++, that loads a C++ library
 * with RTLD_LOCAL: the real operator new is in nobody's global scope. calm:
 * without a new that fails, which some allocators don't survive.
 */
#include "../lib/site.h"

int main(int argc, char **argv)
{
	void *h = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	void *(*make)(size_t) = NULL;
	void (*drop)(void *) = NULL;
	int (*throwing)(size_t) = NULL;
	void *p[100];
	size_t i;

	if (!h) {
		say("NOT OK dlopen: %s\n", dlerror());
		return 1;
	}
	*(void **)&make = dlsym(h, "plug_new");
	*(void **)&drop = dlsym(h, "plug_delete");
	*(void **)&throwing = dlsym(h, "plug_throw");
	for (i = 0; i < 100; i++)
		p[i] = make(100 + i);
	for (i = 0; i < 100; i++)
		if (i != 50)
			drop(p[i]);
	check(throwing(1000) == 1, "an exception");
	if (argc == 2)
		check(throwing(0) == 2, "bad_alloc");
	expect("plug_new", 100, 99, 14950, 150);
	return 0;
}
