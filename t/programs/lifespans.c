/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lifespans.c - blocks that live while so many bytes are allocated, in pieces of which
 * some fill a step of the clock exactly, and in the last round by another thread, too.
 * Says "life FUNCTION BYTES" for each.
 */
#include "../lib/site.h"

enum { MEANWHILE = 64 << 20 };

/* clang-format off */
#define KEPT(i) SITE void *kept##i(size_t n) { return keep(malloc(n)); }
KEPT(0) KEPT(1) KEPT(2) KEPT(3) KEPT(4) KEPT(5)
static void *(*const kept[])(size_t) = { kept0, kept1, kept2, kept3, kept4, kept5 };
/* clang-format on */
static const size_t pieces[] = { 4096, 65536, 1 << 20, 37, 70000, 512 };

static void *allocate(void *piece)
{
	size_t n = *(const size_t *)piece;

	for (size_t i = 0; i < MEANWHILE / n; i++)
		free(keep(malloc(n)));
	return NULL;
}

int main(void)
{
	for (unsigned i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		size_t n = pieces[i];
		void *p = kept[i](24);
		pthread_t t;
		bool two = i == sizeof(pieces) / sizeof(*pieces) - 1;

		if (two && pthread_create(&t, NULL, allocate, &n))
			return 1;
		allocate(&n);
		if (two)
			pthread_join(t, NULL);
		free(p);
		say("life kept%u %zu\n", i, (two + 1) * (MEANWHILE / n * n));
	}
	return 0;
}
