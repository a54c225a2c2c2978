/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_api.h - a tracker that answers from tables which a test fills.
 *
 * Counts what it hands out, so that tests see whether all of it came back.
 */
#pragma once

#include "../lib/fake_threads.h"
#include <stdlib.h>
#include <string.h>

#include "../../src/shared/report/report.h"

static struct mw_row fake_rows[64];
static size_t fake_n;
static struct mw_live fake_lives[64];
static size_t fake_lives_n;
static struct mw_stats fake_stats;
static struct mw_options fake_options;
static bool fake_no_memory;
static int fake_out; /* snapshots and lives not given back, and quiet depth */

static const struct mw_options *fake_get_options(void)
{
	return &fake_options;
}

static struct mw_snapshot *fake_snapshot(void)
{
	struct mw_snapshot *s;

	if (fake_no_memory)
		return NULL;
	s = calloc(1, sizeof(*s));
	s->n = fake_n;
	s->rows = malloc(sizeof(fake_rows));
	memcpy(s->rows, fake_rows, sizeof(fake_rows));
	fake_out++;
	return s;
}

static void fake_snapshot_free(struct mw_snapshot *s)
{
	free(s->rows);
	free(s);
	fake_out--;
}

static struct mw_lives *fake_get_lives(const uint32_t *ids, size_t n)
{
	struct mw_lives *l;

	if (fake_no_memory)
		return NULL;
	l = malloc(sizeof(*l));
	l->n = 0;
	l->v = malloc(sizeof(fake_lives));
	for (size_t i = 0; i < fake_lives_n; i++) {
		for (size_t k = 0; k < n; k++) {
			if (fake_lives[i].id == ids[k])
				l->v[l->n++] = fake_lives[i];
		}
	}
	fake_out++;
	return l;
}

static void fake_lives_free(struct mw_lives *l)
{
	free(l->v);
	free(l);
	fake_out--;
}

static void fake_get_stats(struct mw_stats *s)
{
	*s = fake_stats;
}

static void fake_pause(bool on)
{
	fake_stats.paused = on;
}

static void fake_set_bt(unsigned callers)
{
	fake_stats.bt = callers;
}

static void fake_set_stacks(uint64_t rate, bool automatic)
{
	(void)automatic;
	fake_stats.stacks_rate = rate;
}

static bool fake_paused(void)
{
	return fake_stats.paused;
}

static unsigned fake_quiet_enter(void)
{
	return (unsigned)++fake_out;
}

static unsigned fake_quiet_leave(void)
{
	return (unsigned)--fake_out;
}

static struct mw_heap fake_heap;
static struct mw_heap_page fake_pages[8];

static void fake_heap_sums(struct mw_heap_sums *s)
{
	*s = fake_heap.sums;
}

static struct mw_heap *fake_get_heap(void)
{
	struct mw_heap *h;

	if (fake_no_memory)
		return NULL;
	h = malloc(sizeof(*h));
	*h = fake_heap;
	h->v = malloc(sizeof(fake_pages));
	memcpy(h->v, fake_pages, sizeof(fake_pages));
	fake_out++;
	return h;
}

static void fake_heap_free(struct mw_heap *h)
{
	free(h->v);
	free(h);
	fake_out--;
}

/* Three live pages, of which the first is the youngest; two died, one of them lives again. */
static inline void fake_ruby_heap(void)
{
	static const struct mw_heap_page pages[] = {
		{ 0x7f0000020000, 65536, 9 }, { 0x7f0000010000, 65536, 2 }, { 0x7f0000000000, 65536, 2 }
	};

	memcpy(fake_pages, pages, sizeof(pages));
	fake_heap = (struct mw_heap){
		.n = 3,
		.generation = 11,
		.sums = { .pages = 3,
			  .bytes = 3 * 65536,
			  .lives = { .n = 2, .sum = 13, .min = 6, .max = 7, .stddev = 0.5 },
			  .deaths = { .n = 1, .sum = 1, .min = 1, .max = 1 } },
	};
	fake_stats.heap_known = true;
	fake_stats.heap_bytes = 3 * 65536;
}

static uint32_t fake_stacks_from, fake_stacks_to; /* as asked last */
static struct mw_stacks fake_stacks; /* what it points to is the test's; all zero: none */

static struct mw_stacks *fake_get_stacks(uint32_t from, uint32_t to)
{
	fake_stacks_from = from;
	fake_stacks_to = to;
	fake_out += !fake_no_memory;
	return fake_no_memory ? NULL : &fake_stacks;
}

static void fake_stacks_free(struct mw_stacks *s)
{
	(void)s;
	fake_out--;
}

static const struct mw_api fake_api = {
	.version = MW_API_VERSION,
	.options = fake_get_options,
	.snapshot = fake_snapshot,
	.snapshot_free = fake_snapshot_free,
	.find = no_row,
	.source = no_source,
	.lives = fake_get_lives,
	.lives_free = fake_lives_free,
	.stacks = fake_get_stacks,
	.stacks_free = fake_stacks_free,
	.stats = fake_get_stats,
	.pause = fake_pause,
	.paused = fake_paused,
	.set_bt = fake_set_bt,
	.set_stacks = fake_set_stacks,
	.quiet_enter = fake_quiet_enter,
	.quiet_leave = fake_quiet_leave,
	FAKE_THREADS,
	.heap_sums = fake_heap_sums,
	.heap = fake_get_heap,
	.heap_free = fake_heap_free,
	.server_endpoint = no_server,
};

/* Adds a row; its id is its index. file_len is up to the last colon or parenthesis. */
static struct mw_row *fake_row_n(enum mw_kind kind, uint64_t total, const char *location, size_t len)
{
	struct mw_row *r = &fake_rows[fake_n];
	const char *end = NULL;

	if (kind == MW_KIND_RUBY)
		end = memrchr(location, ':', len);
	else if (kind == MW_KIND_NATIVE)
		end = memchr(location, '(', len);
	memset(r, 0, sizeof(*r));
	r->kind = kind;
	r->total = total;
	r->allocations = 1;
	r->live_bytes = total;
	r->growth = (int64_t)total;
	r->live = 1;
	r->location = location;
	r->location_len = (uint32_t)len;
	r->file_len = (uint32_t)(end ? (size_t)(end - location) : len);
	r->id = (uint32_t)fake_n++;
	return r;
}

static struct mw_row *fake_row(enum mw_kind kind, uint64_t total, const char *location)
{
	return fake_row_n(kind, total, location, strlen(location));
}

/* A row of each kind, also with what pages must escape; a live block in two of them. For all pages. */
static inline void fake_site(void)
{
	fake_stats.life_unit = "gc";
	fake_stats.ruby_lookup = "fast";
	fake_stats.ruby_why = "";
	fake_stats.ruby_jit = "none";
	fake_stats.mode = "ruby";
	fake_stats.mode_why = "";
	fake_stats.gc_count = "memory";
	fake_row(MW_KIND_RUBY, 100, "/srv/a.rb:1")->frees = 3;
	fake_row(MW_KIND_RUBY, 5000, "/srv/<evil>&.rb:2");
	fake_row(MW_KIND_RUBY, 70, "/srv/\xff\t\n\".rb:3");
	fake_row(MW_KIND_NATIVE, 60, "/usr/lib/libx.so(f+0x1) [0x7f00]");
	fake_row(MW_KIND_SPECIAL, 50, "(other)");
	fake_lives[0] = (struct mw_live){ .addr = 64, .size = 100, .generation = 1, .id = 0 };
	fake_lives[1] = (struct mw_live){ .addr = 96, .size = 5000, .generation = 0, .id = 1 };
	fake_lives_n = 2;
}

/* For EACH(): as if nothing had been asked. */
static void fake_clear(void)
{
	memset(fake_rows, 0, sizeof(fake_rows));
	memset(&fake_stats, 0, sizeof(fake_stats));
	memset(&fake_stacks, 0, sizeof(fake_stacks));
	memset(&fake_options, 0, sizeof(fake_options));
	fake_options.dump_fd = -1;
	fake_options.source = fake_options.history = true;
	fake_options.socket_mode = 0600;
	fake_options.socket_gid = -1;
	fake_n = fake_lives_n = 0;
	fake_no_memory = false;
	fake_out = 0;
	memset(&fake_heap, 0, sizeof(fake_heap));
	memset(fake_pages, 0, sizeof(fake_pages));
}
