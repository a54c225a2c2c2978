/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sizes SEED [THREADS] - blocks of random sizes, freed by random sized deletes: most with the size that
 * was asked for, some with another. A ledger by function says what must have been found.
 *
 * sizes pairs N plain|sized - N pairs of new and delete.
 */
#include <atomic>
#include <cstddef>
#include <new>
#include <thread>
#include <vector>

#include "../lib/site.h"

using std::align_val_t;
using std::size_t;

extern "C" {
typedef void sized_fn(void *, size_t);
SITE void *wrong_one(size_t n)
{
	return keep(::operator new(n));
}
SITE void *wrong_array(size_t n)
{
	return keep(::operator new[](n));
}
SITE void *wrong_aligned(size_t n)
{
	return keep(::operator new(n, align_val_t(64)));
}
SITE void *wrong_array_aligned(size_t n)
{
	return keep(::operator new[](n, align_val_t(4096)));
}
SITE void *wrong_malloc(size_t n)
{
	return keep(malloc(n));
}
SITE void *wrong_realloc(size_t n)
{
	return keep(realloc(malloc(n / 2 + 1), n + !n));
}
SITE void *never_wrong(size_t n)
{
	return keep(::operator new(n));
}
}

static sized_fn *free_sized_of_tracker; /* NULL: no tracker, and perhaps no such function */

struct kind {
	const char *name;
	void *(*make)(size_t);
	void (*drop)(void *, size_t);
	std::atomic<unsigned long> wrong;
	size_t asked, given; /* of the last; with one thread only */
};
static void by_free(void *p, size_t n)
{
	if (free_sized_of_tracker)
		free_sized_of_tracker(p, n);
	else
		free(p);
}
static struct kind kinds[] = {
	{ "wrong_one", wrong_one, [](void *p, size_t n) { ::operator delete(p, n); }, { 0 }, 0, 0 },
	{ "wrong_array", wrong_array, [](void *p, size_t n) { ::operator delete[](p, n); }, { 0 }, 0, 0 },
	{ "wrong_aligned",
	  wrong_aligned,
	  [](void *p, size_t n) { ::operator delete(p, n, align_val_t(64)); },
	  { 0 },
	  0,
	  0 },
	{ "wrong_array_aligned",
	  wrong_array_aligned,
	  [](void *p, size_t n) { ::operator delete[](p, n, align_val_t(4096)); },
	  { 0 },
	  0,
	  0 },
	{ "wrong_malloc", wrong_malloc, by_free, { 0 }, 0, 0 },
	{ "wrong_realloc", wrong_realloc, by_free, { 0 }, 0, 0 },
	{ "never_wrong", never_wrong, [](void *p, size_t n) { ::operator delete(p, n); }, { 0 }, 0, 0 },
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds), NEVER = KINDS - 1 };

struct chance {
	uint64_t x;
	uint64_t operator()(uint64_t below)
	{
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		return x % below;
	}
};

static size_t size_of(chance &r)
{
	size_t power = (size_t)1 << r(21);

	switch (r(4)) {
	case 0:
		return r(80);
	case 1:
		return power + r(17) - (power > 8 ? 8 : 0); /* around the ends of size classes */
	case 2:
		return r(5000);
	default:
		return r(40) ? r(300) : r(4u << 20);
	}
}

static size_t another(chance &r, size_t n)
{
	const size_t some[] = {
		n + 1, n - 1, 0, n / 2, 2 * n, r(1000), n + 8, SIZE_MAX, n + ((size_t)1 << 32)
	};
	size_t given = some[r(sizeof(some) / sizeof(*some))];

	return given == n ? n + 1 : given;
}

static void work(uint64_t seed, unsigned rounds, bool alone)
{
	struct block {
		void *p;
		size_t n;
		kind *k;
	};
	std::vector<block> held;
	chance r{ seed * 2654435761u + 1 };

	while (rounds--) {
		if (held.size() < 300 && r(2)) {
			kind *k = &kinds[r(KINDS)];
			size_t n = size_of(r) + (k->make == wrong_realloc);
			void *p = k->make(n);

			if (p)
				held.push_back({ p, n, k });
		} else if (!held.empty()) {
			size_t i = r(held.size());
			block b = held[i];
			bool wrong = b.k != &kinds[NEVER] && r(10) == 0;
			bool told = b.k->drop != by_free || free_sized_of_tracker;
			size_t given = wrong ? another(r, b.n) : b.n;

			held[i] = held.back();
			held.pop_back();
			if (wrong && told) {
				b.k->wrong++;
				if (alone)
					b.k->asked = b.n, b.k->given = given;
			}
			b.k->drop(b.p, given);
		}
	}
	for (block &b : held)
		b.k->drop(b.p, b.n);
}

/* The tracker's figures of a function against the ledger's. */
static void look(const mw_snapshot *s, const kind *k, bool alone)
{
	unsigned long wrong = 0;
	size_t asked = 0, given = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (!s->rows[i].wrong_sizes || !is_at(&s->rows[i], k->name))
			continue;
		wrong += s->rows[i].wrong_sizes;
		asked = s->rows[i].asked_size, given = s->rows[i].given_size;
	}
	if (!check(wrong == k->wrong, "wrong sizes of %s", k->name))
		say("# found %lu, want %lu\n", wrong, k->wrong.load());
	if (alone && !check(!wrong || k->make == wrong_realloc || (asked == k->asked && given == k->given),
			    "the last of %s", k->name))
		say("# found %zu as %zu, want %zu as %zu\n", asked, given, k->asked, k->given);
}

static int pairs(long n, bool sized)
{
	while (n--) {
		void *p = wrong_one(100 + (n & 63));

		if (sized)
			::operator delete(p, 100 + (n & 63));
		else
			::operator delete(p);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "pairs"))
		return pairs(atol(argv[2]), !strcmp(argv[3], "sized"));

	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	const mw_api *t = tracker();
	std::vector<std::thread> all;
	unsigned long sum = 0;

	if (t)
		*(void **)&free_sized_of_tracker = dlsym(RTLD_DEFAULT, "free_sized");
	for (int i = 1; i < threads; i++)
		all.emplace_back(work, seed + i, 20000, false);
	work(seed, 20000, threads == 1);
	for (std::thread &one : all)
		one.join();
	for (kind &k : kinds)
		sum += k.wrong;
	check(kinds[NEVER].wrong == 0 && sum > 100, "some were wrong");
	if (t) {
		mw_snapshot *s = t->snapshot();
		mw_stats all_of = {};

		t->stats(&all_of);
		check(all_of.wrong_sizes == sum && !all_of.overruns && !all_of.double_frees &&
			      !all_of.unknown_frees,
		      "in all, and nothing else");
		for (kind &k : kinds)
			look(s, &k, threads == 1);
		t->snapshot_free(s);
	}
	return 0;
}
