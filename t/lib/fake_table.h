/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_table.h - a table that is made up, as the tracker would offer it to the server.
 *
 * For t/programs/fake_server.c, which has the options and loads libraries.
 */
#pragma once

#include "fake_threads.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/api/api.h"

static size_t rows_n = 20, lives_n = 5;
static struct mw_row *rows;
static atomic_int copies, taken, summed, resets, trims; /* taken: snapshots; summed: calls of stats */
static atomic_bool paused;

static const char *const special[] = {
	"/srv/app/a.rb:1",
	"/srv/app/<b>&\"'.rb:2",
	"/srv/app/t\tn\nr\rb\\.rb:3",
	"/srv/app/\xff\xfe.rb:4",
	"/srv/app/h\xc3\xbcge.rb:5",
	"/srv/app/data.tsv",
	"/srv/app/data",
	"/usr/lib/libfoo.so(fn+0x1f) [0x7f0012345678]",
	"/srv/app/100% + {{q}}.rb:9",
};
#define SPECIAL_N (sizeof(special) / sizeof(special[0]))

static void make_rows(void)
{
	uint64_t x = 88172645463325252u;

	rows = calloc(rows_n + 1, sizeof(*rows));
	for (size_t i = 0; i < rows_n; i++) {
		struct mw_row *r = &rows[i];
		char *s = NULL;

		if (i < SPECIAL_N)
			s = strdup(special[i]);
		else if (asprintf(&s, "/usr/share/gems/gems/thing-1.%zu/lib/thing/some/part_%zu.rb:%zu",
				  i % 37, i % 911, i) < 0)
			abort();
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		r->location = s;
		r->location_len = (uint32_t)strlen(s);
		r->file_len = (uint32_t)(strrchr(s, ':') ? strrchr(s, ':') - s : (long)strlen(s));
		r->id = (uint32_t)i;
		r->kind = strchr(s, '[') ? MW_KIND_NATIVE : MW_KIND_RUBY;
		r->live = i ? x % 1000 : lives_n;
		r->frees = x >> 8 & 0xffff;
		r->allocations = r->frees + r->live;
		r->live_bytes = r->live * 100;
		r->freed = r->frees * 100;
		r->total = r->live_bytes + r->freed;
		r->growth = i == 2 ? -1234567 : (int64_t)r->live_bytes;
		r->life_sum = r->frees * 3;
		r->life_max = r->frees ? 9 : 0;
		r->peak_bytes = r->live_bytes + i % 11 * 1000;
		r->overruns = i % 3 == 1 ? i % 5 + 1000 : 0;
		r->overrun_size = r->overruns ? i * 8 : 0;
		r->wrong_sizes = r->overruns ? i % 7 : 0;
		r->asked_size = r->wrong_sizes ? i * 16 : 0;
		r->given_size = r->wrong_sizes ? i : 0;
	}
}

static struct mw_snapshot *snapshot(void)
{
	struct mw_snapshot *s = calloc(1, sizeof(*s));

	s->n = rows_n;
	s->rows = malloc((rows_n + 1) * sizeof(*rows));
	memcpy(s->rows, rows, rows_n * sizeof(*rows));
	copies++;
	taken++;
	return s;
}

static void snapshot_free(struct mw_snapshot *s)
{
	free(s->rows);
	free(s);
	copies--;
}

static struct mw_lives *lives(const uint32_t *ids, size_t n)
{
	struct mw_lives *l = malloc(sizeof(*l));

	l->n = n == 1 && ids[0] == 0 ? lives_n : 0;
	l->v = malloc((l->n + 1) * sizeof(*l->v));
	for (size_t i = 0; i < l->n; i++)
		l->v[i] = (struct mw_live){ .addr = 0x100000 + i * 128, .size = 100, .generation = i / 2 };
	copies++;
	return l;
}

static void lives_free(struct mw_lives *l)
{
	free(l->v);
	free(l);
	copies--;
}

static void stats(struct mw_stats *s)
{
	memset(s, 0, sizeof(*s));
	summed++;
	s->life_unit = "gc";
	s->how = "preload";
	s->ruby_lookup = "fast";
	s->ruby_why = "";
	s->ruby_jit = "none";
	s->mode = "ruby";
	s->mode_why = "";
	s->gc_count = "memory";
	s->generation = 1000;
	s->uptime = 4711;
	s->locations = rows_n;
	s->resets = (uint64_t)resets;
	for (size_t i = 0; i < rows_n; i++) {
		s->overruns += rows[i].overruns;
		s->wrong_sizes += rows[i].wrong_sizes;
	}
	s->double_frees = 7;
	s->unknown_frees = 1234567;
	s->paused = paused;
}

static void heap_sums(struct mw_heap_sums *s)
{
	*s = (struct mw_heap_sums){ .pages = 2500,
				    .bytes = UINT64_C(2500) << 16,
				    .lives = { .n = 4, .sum = 10, .min = 1, .max = 4, .stddev = 1.118034 } };
}

static struct mw_heap *heap(void)
{
	struct mw_heap *h = malloc(sizeof(*h));

	*h = (struct mw_heap){ .generation = 1000, .n = 2500 };
	heap_sums(&h->sums);
	h->v = malloc(h->n * sizeof(*h->v));
	for (size_t i = 0; i < h->n; i++)
		h->v[i] = (struct mw_heap_page){
			.addr = 0x7f0000000000 + (h->n - i) * 65536, .bytes = 65536, .generation = i / 100
		};
	copies++;
	return h;
}

static void heap_free(struct mw_heap *h)
{
	free(h->v);
	free(h);
	copies--;
}

static void reset(void)
{
	resets++;
}

static bool trim(void)
{
	return trims++ % 2 == 0;
}

static void pause_tracking(bool on)
{
	paused = on;
}

static void set_bt(unsigned callers)
{
	(void)callers;
}

static bool is_paused(void)
{
	return paused;
}

static unsigned quiet(void)
{
	return 1;
}

/* Row i by 100 bytes. */
static void grow_row(size_t i)
{
	struct mw_row *r = &rows[i];

	r->live++, r->allocations++;
	r->live_bytes += 100, r->total += 100, r->growth += 100;
}

/* Everything of struct mw_api but its options and the loading of libraries. */
#define FAKE_TABLE                                                                                       \
	.version = MW_API_VERSION, .snapshot = snapshot, .snapshot_free = snapshot_free,                 \
	.find = no_row, .source = no_source, .lives = lives, .lives_free = lives_free, .stats = stats,   \
	.reset = reset, .trim = trim, .pause = pause_tracking, .paused = is_paused, .set_bt = set_bt,    \
	.set_stacks = no_set_stacks, .quiet_enter = quiet, .quiet_leave = quiet, .heap_sums = heap_sums, \
	.heap = heap, .heap_free = heap_free, .server_endpoint = no_server, FAKE_THREADS
