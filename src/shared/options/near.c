/* SPDX-License-Identifier: GPL-2.0-or-later */
/* near.c - which option was meant: the one with the fewest slips of the fingers. */
#include <string.h>

#include "parser.h"

enum { LONGEST = 20, LETTERS_A_SLIP = 3 };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Letters that were left out, added, replaced, or swapped with their neighbours. Both names: LONGEST bytes at most. */
static unsigned slips(const char *a, size_t n, const char *b, size_t m)
{
	unsigned rows[3][LONGEST + 1] = { { 0 } };

	for (size_t i = 0; i <= n; i++) {
		unsigned *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			if (!i) {
				now[j] = (unsigned)j;
				continue;
			}
			now[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]),
				       least(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
	}
	return rows[n % 3][m];
}

const char *mw_key_near(const char *name, size_t n)
{
	const char *near = NULL;
	unsigned fewest = (unsigned)(n / LETTERS_A_SLIP) + 1;

	if (n > LONGEST)
		return NULL;
	for (const struct mw_key *k = mw_keys; k->name; k++) {
		unsigned s = slips(name, n, k->name, strlen(k->name));

		if (s < fewest) {
			fewest = s;
			near = k->name;
		}
	}
	return near;
}
