/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_api.c - a tracker with a fixed table and nothing behind it.
 *
 * Preloaded by tests of what reads `struct mw_api`. FAKE_API=version says to
 * be of another version, FAKE_API=nomem to have no memory. At exit it appends
 * one line to $FAKE_API_LOG: how many copies were made and not given back,
 * given back twice, and how many quiet_enter()s lack their quiet_leave().
 * Copies are overwritten when they are given back.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/api/api.h"
#include "../lib/fake_threads.h"
#include "../../src/shared/options/options.h"

#define AT(s, file) .location = (s), .location_len = sizeof(s) - 1, .file_len = sizeof(file) - 1

/* clang-format off */
static const struct mw_row rows[] = {
	{ .total = 51200000, .allocations = 100000, .frees = 50000, .freed = 25600000,
	  .life_sum = 150000, .life_max = 9, .growth = 25600000,
	  .live_bytes = 25600000, .live = 50000, .id = 1, .kind = MW_KIND_RUBY,
	  AT("/srv/app.rb:3", "/srv/app.rb") },
	{ .total = 600, .allocations = 6, .frees = 3, .freed = 200, .life_sum = 5,
	  .life_max = 4, .growth = 400, .live_bytes = 400, .live = 3, .id = 2,
	  .overruns = 12, .overrun_size = 24,
	  .objects = 2000, .object_bytes = 80000, .object_samples = 50, .object_variance = 10000,
	  .kind = MW_KIND_RUBY, AT("/srv/lib/x.rb:10", "/srv/lib/x.rb") },
	{ .total = 500, .allocations = 5, .frees = 5, .freed = 500, .life_sum = 10,
	  .life_max = 3, .id = 3, .kind = MW_KIND_NATIVE,
	  AT("/usr/lib/libfoo.so(fn+0x1f) [0x7f0012345678]", "/usr/lib/libfoo.so") },
	{ .total = 400, .allocations = 4, .growth = 400, .live_bytes = 400, .live = 4,
	  .id = 4, .kind = MW_KIND_RUBY, AT("/srv/\xff\xfe.rb:1", "/srv/\xff\xfe.rb") },
	/* as after a reset: nothing new, something old */
	{ .frees = 7, .freed = 700, .life_sum = 70, .life_max = 10, .growth = -700,
	  .live_bytes = 4096, .live = 1, .id = 5, .kind = MW_KIND_RUBY,
	  AT("/srv/kept.rb:7", "/srv/kept.rb") },
	{ .total = UINT64_MAX, .allocations = UINT64_MAX, .frees = UINT64_MAX,
	  .freed = UINT64_MAX, .life_sum = UINT64_MAX, .life_max = UINT64_MAX,
	  .growth = INT64_MIN, .id = 6, .kind = MW_KIND_RUBY,
	  AT("/srv/h\xc3\xbcge.rb:1", "/srv/h\xc3\xbcge.rb") },
	{ .id = 7, .kind = MW_KIND_RUBY, AT("/srv/nothing.rb:1", "/srv/nothing.rb") },
};
/* clang-format on */
#define N (sizeof(rows) / sizeof(*rows))

static const struct mw_live live[] = {
	{ .addr = 0x10000, .size = 100, .generation = 1, .id = 2 },
	{ .addr = 0x20000, .size = 299, .generation = 12, .id = 2 },
	{ .addr = 0x30000, .size = 1, .generation = 1ull << 40, .id = 2 },
	{ .addr = 0x40000, .size = 4096, .generation = 2, .id = 5 },
};

/* frees are deferred to exit, so that one given back twice is seen as such */
struct copy {
	struct copy *next;
	int back;
	union {
		struct mw_snapshot snapshot;
		struct mw_lives lives;
		struct mw_heap heap;
		struct mw_stacks stacks;
	};
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct copy *copies;
static atomic_int quiet;    /* enters less leaves, of all threads */
static atomic_int unpaired; /* leaves of threads that weren't quiet */
static _Thread_local unsigned depth;
static atomic_bool was_reset;
static atomic_bool is_paused;
static struct mw_options no_options = { .dump_fd = -1 };
static pid_t started;

static int asked(const char *what)
{
	const char *v = getenv("FAKE_API");

	return v && !strcmp(v, what);
}

static struct copy *copy_new(void)
{
	struct copy *c = asked("nomem") ? NULL : calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_lock(&lock);
	c->next = copies;
	copies = c;
	pthread_mutex_unlock(&lock);
	return c;
}

static void copy_back(void *part)
{
	struct copy *c = (struct copy *)((char *)part - offsetof(struct copy, snapshot));

	pthread_mutex_lock(&lock);
	c->back++;
	pthread_mutex_unlock(&lock);
}

static struct mw_snapshot *snapshot(void)
{
	struct copy *c = copy_new();

	if (!c)
		return NULL;
	c->snapshot.n = N;
	c->snapshot.rows = malloc(sizeof(rows));
	memcpy(c->snapshot.rows, rows, sizeof(rows));
	for (size_t i = 0; i < N; i++) {
		struct mw_row *r = &c->snapshot.rows[i];

		r->location = strdup(r->location);
		if (was_reset) {
			r->total = r->allocations = r->frees = r->freed = 0;
			r->life_sum = r->life_max = 0;
			r->growth = 0;
		}
	}
	return &c->snapshot;
}

static void snapshot_free(struct mw_snapshot *s)
{
	for (size_t i = 0; i < s->n; i++) {
		memset((char *)s->rows[i].location, '!', s->rows[i].location_len);
		free((char *)s->rows[i].location);
	}
	free(s->rows);
	s->n = 0;
	s->rows = NULL;
	copy_back(s);
}

static struct mw_lives *lives(const uint32_t *ids, size_t n)
{
	struct copy *c = copy_new();

	if (!c)
		return NULL;
	c->lives.v = malloc(sizeof(live));
	for (size_t i = 0; i < sizeof(live) / sizeof(*live); i++)
		for (size_t j = 0; j < (ids ? n : 1); j++)
			if (!ids || ids[j] == live[i].id)
				c->lives.v[c->lives.n++] = live[i];
	return &c->lives;
}

static void lives_free(struct mw_lives *l)
{
	memset(l->v, '!', l->n * sizeof(*l->v));
	free(l->v);
	l->v = NULL;
	copy_back(l);
}

static const struct mw_stacked_frame frames[] = {
	{ .name = NULL },
	{ .name = "keep", .file = "/srv/app.rb", .line = 3, .kind = MW_KIND_RUBY },
	{ .name = "block in <main>", .file = "/srv/app.rb", .line = 9, .kind = MW_KIND_RUBY },
	{ .name = "Integer#times", .file = "", .kind = MW_KIND_NATIVE },
	{ .name = "rb_str_new", .file = "/usr/lib/libruby.so", .address = 0x7f00, .kind = MW_KIND_NATIVE },
	{ .name = "h\xc3\xbcge", .file = "/srv/\xff.rb", .line = 0, .kind = MW_KIND_RUBY },
	{ .name = "", .file = "", .kind = MW_KIND_RUBY },
};
static const uint32_t chain[] = { 4, 1, 3, 2, 4, 1, 5, 6, 1 };
static const struct mw_stacked stacked[] = {
	{ .id = 1,
	  .first = 0,
	  .depth = 4,
	  .bytes = 3e6,
	  .blocks = 30,
	  .live_bytes = 3e6,
	  .ever = 3e6,
	  .live_blocks = 3,
	  .samples = 30,
	  .live_samples = 3 },
	{ .id = 1,
	  .first = 4,
	  .depth = 4,
	  .bytes = 1e6,
	  .blocks = 10,
	  .live_bytes = 1e6,
	  .ever = 1e6,
	  .live_blocks = 1,
	  .samples = 10,
	  .live_samples = 1 },
	{ .id = 2, .first = 8, .depth = 1, .bytes = 600, .ever = 600, .blocks = 6, .samples = 2 },
};

static struct mw_stacks *stacks(uint32_t from, uint32_t to)
{
	struct copy *c = copy_new();

	(void)from;
	(void)to;
	if (!c)
		return NULL;
	c->stacks = (struct mw_stacks){
		.n = 3,
		.n_frames = sizeof(frames) / sizeof(*frames),
		.n_chain = sizeof(chain) / sizeof(*chain),
		.v = malloc(sizeof(stacked)),
		.frames = malloc(sizeof(frames)),
		.chain = malloc(sizeof(chain)),
		.rate = 65536
	};
	memcpy(c->stacks.v, stacked, sizeof(stacked));
	memcpy(c->stacks.frames, frames, sizeof(frames));
	memcpy(c->stacks.chain, chain, sizeof(chain));
	return &c->stacks;
}

static void stacks_free(struct mw_stacks *s)
{
	memset(s->v, '!', sizeof(stacked));
	memset(s->frames, '!', sizeof(frames));
	memset(s->chain, '!', sizeof(chain));
	free(s->v);
	free(s->frames);
	free(s->chain);
	copy_back(s);
}

static void heap_sums(struct mw_heap_sums *s)
{
	*s = (struct mw_heap_sums){
		.pages = 2,
		.bytes = 2 << 16,
		.lives = { .n = 2, .sum = UINT64_C(1) << 40, .min = 5, .max = (UINT64_C(1) << 40) - 5 }
	};
	s->lives.stddev = (double)(UINT64_C(1) << 39) - 5;
}

static struct mw_heap *heap(void)
{
	static const struct mw_heap_page pages[] = { { 0x7fffffff0000, 65536, UINT64_C(1) << 40 },
						     { 0x7ffffffe0000, 65536, 3 } };
	struct copy *c = copy_new();

	if (!c)
		return NULL;
	heap_sums(&c->heap.sums);
	c->heap.generation = 7;
	c->heap.n = 2;
	c->heap.v = malloc(sizeof(pages));
	memcpy(c->heap.v, pages, sizeof(pages));
	return &c->heap;
}

static void heap_free(struct mw_heap *h)
{
	memset(h->v, '!', h->n * sizeof(*h->v));
	free(h->v);
	h->v = NULL;
	copy_back(h);
}

static void stats(struct mw_stats *s)
{
	memset(s, 0, sizeof(*s));
	s->paused = is_paused;
	s->life_unit = "gc";
	s->ruby_lookup = "none";
	s->ruby_why = "";
	s->ruby_jit = "none";
	s->mode = s->gc_count = "none";
	s->mode_why = "";
	s->total = was_reset ? 0 : UINT64_MAX;
	s->freed = was_reset ? 0 : 1234;
	s->resets = was_reset;
	s->overruns = 12;
	s->double_frees = 3;
	s->unknown_frees = UINT64_MAX;
}

static const struct mw_options *options(void)
{
	return &no_options;
}
static void reset(void)
{
	was_reset = true;
}
static bool trim(void)
{
	return true;
}
static void pause_tracking(bool on)
{
	is_paused = on;
}
static atomic_uint bt;
static void set_bt(unsigned callers)
{
	bt = callers;
}
static bool paused(void)
{
	return is_paused;
}

static unsigned quiet_enter(void)
{
	quiet++;
	return ++depth;
}

static unsigned quiet_leave(void)
{
	quiet--;
	if (!depth) {
		unpaired++;
		return 0;
	}
	return --depth;
}

/* On is an enter and off a leave, but only of a change. */
static void hush(bool on)
{
	static _Thread_local bool is;

	if (on != is)
		quiet += on ? 1 : -1;
	is = on;
}

struct mw_api mwrap_api = {
	.version = MW_API_VERSION,
	.options = options,
	.snapshot = snapshot,
	.snapshot_free = snapshot_free,
	.find = no_row,
	.source = no_source,
	.lives = lives,
	.lives_free = lives_free,
	.stacks = stacks,
	.stacks_free = stacks_free,
	.stats = stats,
	.reset = reset,
	.trim = trim,
	.pause = pause_tracking,
	.paused = paused,
	.set_bt = set_bt,
	.set_stacks = no_set_stacks,
	.quiet_enter = quiet_enter,
	.quiet_leave = quiet_leave,
	.hush = hush,
	FAKE_THREADS,
	.heap_sums = heap_sums,
	.heap = heap,
	.heap_free = heap_free,
	.server_endpoint = no_server,
};

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void start(void)
{
	/* as the real one does: a child must not find it held by a thread that isn't there */
	pthread_atfork(before_fork, after_fork, after_fork);
	started = getpid();
	if (asked("version"))
		mwrap_api.version = MW_API_VERSION + 98;
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("FAKE_API_LOG");
	int made = 0, kept = 0, twice = 0;
	char line[200];
	int fd;

	for (struct copy *c = copies; c; c = c->next) {
		made++;
		kept += c->back == 0;
		twice += c->back > 1;
	}
	fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
	if (fd < 0)
		return;
	snprintf(line, sizeof(line), "%s made=%d kept=%d twice=%d quiet=%d unpaired=%d\n",
		 started == getpid() ? "process" : "fork", made, kept, twice, atomic_load(&quiet),
		 atomic_load(&unpaired));
	if (write(fd, line, strlen(line)) < 0)
		perror("fake_api");
	close(fd);
}
