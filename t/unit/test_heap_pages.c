/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ruby's heap pages: births, deaths, resurrections, their sums and copies, and every form of these. */
/* uses: src/tracker/table/heap_pages.c src/tracker/base/wait.c src/tracker/base/arena.c src/shared/report/heap_page_rows.c src/shared/report/columns.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c */
#include "unit.h"
#include "../../src/shared/report/heap_page_rows.h"
#include "../../src/tracker/table/heap_pages.h"
#include "fake_api.h"

enum { PAGE = 65536 };

static uintptr_t at(size_t i)
{
	return 0x7f0000000000 + i * PAGE;
}

static void near(double got, double want)
{
	double off = got - want;

	if (off > 1e-9 * want + 1e-12 || -off > 1e-9 * want + 1e-12)
		fail_msg("%.12f is not %.12f", got, want);
}

static struct mw_heap_sums sums(void)
{
	struct mw_heap_sums s;

	mw_heap_sums(&s);
	return s;
}

/*
 * The table is one for the process, so this is first. Long spans that differ by one have
 * that deviation, and a clock of 32 bits may turn over.
 */
TEST(deviation_of_long_spans)
{
	const uint32_t from = 0xf0000000u, life = 3000000000u, death = 4294967290u;
	struct mw_heap_sums s = sums();
	enum { N = 1000 };

	assert_int_equal(s.pages | s.bytes | s.lost | s.lives.n | s.deaths.n, 0);
	near(s.lives.stddev, 0);
	for (uint32_t i = 0; i < N; i++)
		mw_heap_page_born(at(100 + i), PAGE, from);
	for (uint32_t i = 0; i < N; i++)
		mw_heap_page_dies(at(100 + i), PAGE, from + life + (i & 1));
	for (uint32_t i = 0; i < N; i++)
		mw_heap_page_born(at(100 + i), PAGE, from + life + (i & 1) + death - (i == 5));
	s = sums();
	assert_int_equal(s.lives.n, N);
	assert_int_equal(s.lives.min, life);
	assert_int_equal(s.lives.max, life + 1);
	assert_int_equal(s.lives.sum, (uint64_t)life * N + N / 2);
	near(s.lives.stddev, 0.5);
	assert_int_equal(s.deaths.n, N);
	assert_int_equal(s.deaths.min, death - 1);
	assert_int_equal(s.deaths.max, death);
	near(s.deaths.stddev, 0.03160696125855822); /* one of 1,000 is off by one */
	for (uint32_t i = 0; i < N; i++)
		mw_heap_page_dies(at(100 + i), PAGE, from + life + 1 + death);
}

TEST(a_life)
{
	struct mw_heap_sums before = sums(), s;

	mw_heap_page_dies(at(0), PAGE, 1); /* none was there */
	mw_heap_page_born(at(0), PAGE, 3);
	mw_heap_page_born(at(1), PAGE, 3);
	s = sums();
	assert_int_equal(s.pages, 2);
	assert_int_equal(s.bytes, 2 * PAGE);
	mw_heap_page_dies(at(0), PAGE / 4, 5); /* not one of that size */
	assert_int_equal(sums().pages, 2);
	mw_heap_page_dies(at(0), PAGE, 10);
	mw_heap_page_dies(at(0), PAGE, 12); /* dead already */
	s = sums();
	assert_int_equal(s.pages, 1);
	assert_int_equal(s.lives.n - before.lives.n, 1);
	assert_int_equal(s.lives.sum - before.lives.sum, 7);
	assert_int_equal(s.deaths.n, before.deaths.n);
	mw_heap_page_born(at(0), PAGE / 4, 15); /* resurrected, as a smaller one */
	s = sums();
	assert_int_equal(s.deaths.n - before.deaths.n, 1);
	assert_int_equal(s.deaths.sum - before.deaths.sum, 5);
	assert_int_equal(s.deaths.min, 5);
	assert_int_equal(s.bytes, PAGE + PAGE / 4);
	mw_heap_page_dies(at(0), PAGE / 4, 15);
	mw_heap_page_dies(at(1), PAGE, 16);
	s = sums();
	assert_int_equal(s.pages | s.bytes, 0);
	assert_int_equal(s.lives.n - before.lives.n, 3);
	assert_int_equal(s.lives.sum - before.lives.sum, 7 + 0 + 13);
	assert_int_equal(s.lives.min, 0);
	mw_heap_page_born(at(1), PAGE, 20);
	mw_heap_page_born(at(1), PAGE, 22); /* whose death was missed */
	assert_int_equal(sums().pages, 1);
	assert_int_equal(sums().deaths.n - before.deaths.n, 2);
	mw_heap_page_dies(at(1), PAGE, 22);
}

static int by_address(const void *a, const void *b)
{
	const struct mw_heap_page *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* The table grows past its first size, several times, and a copy has each page that lives. */
TEST(copies)
{
	enum { N = 5000 };
	struct mw_heap *h = mw_heap_copy();

	assert_int_equal(h->n, 0);
	free(h);
	for (uint32_t i = 0; i < N; i++)
		mw_heap_page_born(at(10000 + i), PAGE, i);
	for (uint32_t i = 0; i < N; i += 3)
		mw_heap_page_dies(at(10000 + i), PAGE, N);
	h = mw_heap_copy();
	assert_int_equal(h->n, N - (N + 2) / 3);
	assert_int_equal(h->n, h->sums.pages);
	assert_int_equal(h->n * PAGE, h->sums.bytes);
	qsort(h->v, h->n, sizeof(*h->v), by_address);
	for (uint32_t i = 0, k = 0; i < N; i++) {
		if (i % 3 == 0)
			continue;
		assert_int_equal(h->v[k].addr, at(10000 + i));
		assert_int_equal(h->v[k].generation, i);
		assert_int_equal(h->v[k++].bytes, PAGE);
	}
	free(h);
	for (uint32_t i = 0; i < N; i++)
		mw_heap_page_dies(at(10000 + i), PAGE, N);
	assert_int_equal(sums().pages, 0);
}

static void rendered(const struct mw_heap_list *l, enum mw_format format, const char *want)
{
	struct mw_buf b = { 0 };

	mw_render_heap(&b, l, format);
	mw_buf_add(&b, "", 1);
	assert_string_equal(b.p, want);
	mw_buf_free(&b);
}

#define TEXT_OF_ALL                                    \
	"           pages            3 (heap pages)\n" \
	"           bytes       196608 (heap pages)\n" \
	"          deaths            2 (heap pages)\n" \
	"    lifespan_max            7 (heap pages)\n" \
	"    lifespan_min            6 (heap pages)\n" \
	"   lifespan_mean          6.5 (heap pages)\n" \
	" lifespan_stddev          0.5 (heap pages)\n" \
	"      resurrects            1 (heap pages)\n" \
	"   deathspan_max            1 (heap pages)\n" \
	"   deathspan_min            1 (heap pages)\n" \
	"  deathspan_mean            1 (heap pages)\n" \
	"deathspan_stddev            0 (heap pages)\n" \
	"            lost            0 (heap pages)\n"

EACH(fake_clear, NULL);

TEST(forms)
{
	struct mw_heap_list l;

	fake_ruby_heap();
	assert_int_equal(mw_heap_list_make(&l, &fake_api, 0, 0), 0);
	rendered(&l, MW_FORMAT_TSV,
		 "address\tgeneration\tage\tbytes\n0x7f0000000000\t2\t9\t65536\n"
		 "0x7f0000010000\t2\t9\t65536\n0x7f0000020000\t9\t2\t65536\n");
	rendered(&l, MW_FORMAT_TEXT,
		 TEXT_OF_ALL "  0x7f0000000000            2 (heap page)\n"
			     "  0x7f0000010000            2 (heap page)\n"
			     "  0x7f0000020000            9 (heap page)\n");
	mw_heap_list_free(&l, &fake_api);
	assert_int_equal(mw_heap_list_make(&l, &fake_api, 1, 1), 0);
	rendered(&l, MW_FORMAT_CSV, "address,generation,age,bytes\r\n0x7f0000010000,2,9,65536\r\n");
	rendered(&l, MW_FORMAT_JSON,
		 "{\n\"pages\":3,\n\"bytes\":196608,\n\"deaths\":2,\n\"lifespan_max\":7,\n\"lifespan_min\":6,\n"
		 "\"lifespan_mean\":6.5,\n\"lifespan_stddev\":0.5,\n\"resurrects\":1,\n\"deathspan_max\":1,\n"
		 "\"deathspan_min\":1,\n\"deathspan_mean\":1,\n\"deathspan_stddev\":0,\n\"lost\":0,\n"
		 "\"generation\":11,\n\"rows\":[\n"
		 "{\"address\":\"0x7f0000010000\",\"generation\":2,\"age\":9,\"bytes\":65536}\n]\n}\n");
	mw_heap_list_free(&l, &fake_api);
	assert_int_equal(mw_heap_list_make(&l, &fake_api, UINT64_MAX, UINT64_MAX), 0);
	assert_int_equal(l.n, 0);
	mw_heap_list_free(&l, &fake_api);
	assert_int_equal(mw_heap_list_make(&l, &fake_api, 2, UINT64_MAX), 0);
	assert_int_equal(l.n, 1);
	mw_heap_list_free(&l, &fake_api);
	assert_int_equal(fake_out, 0);
}

TEST(none)
{
	struct mw_heap_list l;
	struct mw_buf b = { 0 };

	assert_int_equal(mw_heap_list_make(&l, &fake_api, 0, 0), 0);
	rendered(&l, MW_FORMAT_TSV, "address\tgeneration\tage\tbytes\n");
	mw_render_heap(&b, &l, MW_FORMAT_JSON);
	assert_non_null(memmem(b.p, b.n, "\"lifespan_mean\":null,\n", 21));
	b.n = 0;
	mw_render_heap_text(&b, &l, MW_DUMP_HEAP_FIGURES);
	assert_non_null(memmem(b.p, b.n, "   lifespan_mean            - (heap pages)\n", 43));
	mw_buf_free(&b);
	mw_heap_list_free(&l, &fake_api);
	fake_no_memory = true;
	assert_int_equal(mw_heap_list_make(&l, &fake_api, 0, 0), -1);
	assert_null(l.heap);
	mw_heap_list_free(&l, &fake_api);
}
