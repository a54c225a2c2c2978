/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A memory map asks nothing of malloc, and stands what other threads map and unmap meanwhile. */
/* uses: src/memory/areas.c src/memory/cells.c src/memory/chunks.c src/memory/fill.c src/memory/heaps.c src/memory/by_line.c src/server/memory/page_blocks.c src/memory/make.c src/memory/app_mappings.c src/memory/memory.c src/memory/pages.c src/shared/sys/residency.c src/memory/area_sums.c src/server/memory/tile.c src/shared/sys/maps.c */
/* first: parameters there have names that variables have here */
#include "unit.h"

#include "made_up_blocks.h"

#include <pthread.h>

static __thread unsigned calls; /* of malloc's, by this thread */

#ifndef __SANITIZE_ADDRESS__
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t n)
{
	calls++;
	return __libc_malloc(n);
}
void *calloc(size_t n, size_t each)
{
	calls++;
	return __libc_calloc(n, each);
}
void *realloc(void *p, size_t n)
{
	calls++;
	return __libc_realloc(p, n);
}
#endif

EACH(begin, end);

TEST(no_malloc)
{
	static const uint32_t ids[] = { 1, 9 };
	static uint8_t lit[1 << 20];
	struct mw_map_whatif w;
	struct mw_map_page *one =
		mmap(NULL, sizeof(*one), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *volatile p;
	uint64_t heap_bytes, live;
	struct mw_map *m;

	calls = 0;
	p = malloc(1);
	free(p);
#ifndef __SANITIZE_ADDRESS__
	assert_int_equal(calls, 1); /* they are counted */
#endif
	for (size_t i = 0; i < 3000; i++)
		block(at(i % PAGES) + i / PAGES * 64, 48, (uint32_t)(1 + i % 3));
	for (int i = 0; i < 4; i++) {
		static const char *const allocators[] = { "glibc", "jemalloc", "mimalloc", "tcmalloc" };

		allocator_name = allocators[i];
		calls = 0;
		m = mw_map_make(&api, UINT64_C(100) << 20, NULL);
		assert_non_null(m);
		assert_true(mw_map_whatif(&api, ids, 2, &w));
		mw_map_look(&api, at(0), one);
		assert_true(m->n_cells / 8 < sizeof(lit) && mw_map_light(m, &api, ids, 2, lit));
		assert_true(mw_map_heap(&api, &heap_bytes, &live));
		mw_map_free(m);
		assert_int_equal(calls, 0);
	}
	munmap(one, sizeof(*one));
}

/* --- a storm ---------------------------------------------------------------------------- */

static bool finished; /* release */

static void *map_and_unmap(void *seed)
{
	uintptr_t n = (uintptr_t)seed;

	while (!__atomic_load_n(&finished, __ATOMIC_ACQUIRE)) {
		size_t bytes = (1 + n++ % 40) * page;
		char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			continue;
		*p = 1;
		munmap(p, bytes);
	}
	return NULL;
}

TEST(a_storm)
{
	pthread_t t[3];
	struct mw_map *m;

	block(at(0), page, 1);
	block(at(2), 100, 2);
	block(at(4), 200, 2);
	for (uintptr_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&t[i], NULL, map_and_unmap, (void *)(i * 7)), 0);
	for (int i = 0; i < 40; i++) {
		m = map();
		assert_int_equal(m->live, 3);
		assert_int_equal(m->outside, 0);
		assert_int_equal(m->parts[MW_MAP_LIVE], page + 300);
		assert_int_equal(state_of(m, at(0)), MW_MAP_IS_USED + MW_MAP_IS_FILL);
		assert_int_equal(state_of(m, at(6)), MW_MAP_IS_EMPTY);
		mw_map_free(m);
	}
	__atomic_store_n(&finished, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}
