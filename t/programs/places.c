/* SPDX-License-Identifier: GPL-2.0-or-later */
/* places.c - 5,000 places that call malloc, and a recursion 20,000 deep that does. */
#include "../lib/site.h"

static void *block[5000];

#define P                               \
	block[i] = keep(malloc(i + 1)); \
	i++;
#define P5 P P P P P
#define P50 P5 P5 P5 P5 P5 P5 P5 P5 P5 P5
#define P500 P50 P50 P50 P50 P50 P50 P50 P50 P50 P50
SITE void many(void)
{
	size_t i = 0;

	P500 P500 P500 P500 P500 P500 P500 P500 P500 P500
}

SITE size_t deep(size_t left)
{
	void *p = keep(malloc(left + 1));
	size_t n = left ? deep(left - 1) : 0;

	if (left % 2)
		free(p);
	STAY();
	return n + 1;
}

int main(void)
{
	const struct mw_api *a = tracker();
	size_t i, places = 0, n = 20000;

	for (i = 0; i < 3; i++)
		many();
	for (i = 0; i < 5000; i += 2)
		free(block[i]);
	expect("many", 15000, 2500, 3 * (uint64_t)5000 * 5001 / 2,
	       3 * (uint64_t)5000 * 5001 / 2 - (uint64_t)2500 * 2500);
	check(deep(n - 1) == n, "all the way down");
	/* even ones stay: sizes 1, 3, 5 ... */
	expect("deep", n, n / 2, n * (n + 1) / 2, n / 2 * (n / 2));
	if (a) {
		struct mw_snapshot *s = a->snapshot();

		sum_at(s, "many", &places);
		if (places != 5000)
			say("NOT OK %zu places\n", places);
		a->snapshot_free(s);
		say("# api 1\n");
	}
	return 0;
}
