/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sum.c - the tables of several processes as one. See family.h.
 *
 * The sum is a `struct mw_api`: every page can show it. Its functions have no
 * context argument: the sum is the calling thread's context.
 */
#include <stdlib.h>
#include <string.h>

#include "server/http/context.h"
#include "family.h"

/* --- fork baselines -------------------------------------------------------------- */

/* Is the process of this number there, beside one of that namespace? */
static bool process_is_there(const struct mw_part *p, size_t n, long pid, uint64_t ns)
{
	for (size_t i = 0; i < n; i++)
		if (p[i].wire->pid == pid && p[i].wire->ns == ns)
			return true;
	return false;
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t fork_baseline_of(const struct mw_wire *w)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < w->n; i++)
		bytes = add_capped(bytes, w->rows[i].fork_baseline.total);
	return bytes;
}

/* A total order of one line of forks, the largest baseline first: does q go before p? */
static bool goes_before(const struct mw_part *q, const struct mw_part *p)
{
	return q->wire->stats.eldest == p->wire->stats.eldest && q->wire->ns == p->wire->ns &&
	       (q->fork_baseline != p->fork_baseline ? q->fork_baseline > p->fork_baseline :
						       q->wire->pid < p->wire->pid);
}

void mw_inheritance(struct mw_part *p, size_t n)
{
	/* the eldest, too: the parent of a double fork ends at once */
	for (size_t i = 0; i < n; i++) {
		const struct mw_stats *s = &p[i].wire->stats;

		p[i].fork_baseline = fork_baseline_of(p[i].wire);
		p[i].inherits = s->forker && (process_is_there(p, n, s->forker, p[i].wire->ns) ||
					      process_is_there(p, n, s->eldest, p[i].wire->ns));
	}
	/* of a line whose parent and eldest are gone, the first in order keeps the baseline */
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; p[i].wire->stats.forker && !p[i].inherits && j < n; j++)
			p[i].inherits = !p[j].inherits && goes_before(&p[j], &p[i]);
}

/* --- rows ------------------------------------------------------------------------- */

/* A row of a process. */
struct item {
	struct mw_row *row;
	bool inherits;
};

/* MODULE(symbol+0x1f), without " [0x7f...]", in the wire's row. */
static void drop_address(struct mw_row *r)
{
	uint32_t n = mw_location_bare(r);

	if (n == r->location_len)
		return;
	r->location_len = n;
	((char *)(uintptr_t)r->location)[n] = '\0';
}

/* Native ones by module and offset: only one of the processes may know the symbol. */
static int item_cmp(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	const struct mw_row *r = x->row, *s = y->row;
	bool by_module = r->kind == MW_KIND_NATIVE && r->file_len;
	uint32_t xn = by_module ? r->file_len : r->location_len,
		 yn = by_module ? s->file_len : s->location_len;
	int c;

	if (r->kind != s->kind)
		return r->kind < s->kind ? -1 : 1;
	if (r->kind == MW_KIND_NATIVE && !r->file_len != !s->file_len)
		return r->file_len ? -1 : 1;
	c = memcmp(r->location, s->location, xn < yn ? xn : yn);
	if (c || xn != yn)
		return c ? c : xn < yn ? -1 : 1;
	return by_module ? (r->at > s->at) - (r->at < s->at) : 0;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void add_item(struct mw_row *sum, const struct item *it)
{
	struct mw_row r = *it->row;

	if (it->inherits) {
		r.total = less(r.total, r.fork_baseline.total);
		r.allocations = less(r.allocations, r.fork_baseline.allocations);
		r.frees = less(r.frees, r.fork_baseline.frees);
		r.freed = less(r.freed, r.fork_baseline.freed);
		r.life_sum = less(r.life_sum, r.fork_baseline.life_sum);
		memset(&r.fork_baseline, 0, sizeof(r.fork_baseline));
	}
	mw_row_add(sum, &r);
	sum->processes++;
}

/* The items of all parts, sorted; NULL: no memory. */
static struct item *collect(const struct mw_part *p, size_t parts, size_t *n)
{
	size_t room = 1;
	struct item *items;

	for (size_t i = 0; i < parts; i++)
		room += p[i].wire->n;
	items = calloc(room, sizeof(*items));
	*n = 0;
	for (size_t i = 0; items && i < parts; i++)
		for (size_t j = 0; j < p[i].wire->n; j++) {
			struct mw_row *r = &p[i].wire->rows[j];

			drop_address(r);
			items[(*n)++] = (struct item){ r, p[i].inherits };
		}
	if (items)
		qsort(items, *n, sizeof(*items), item_cmp);
	return items;
}

static bool has_symbol(const struct mw_row *r)
{
	return r->location_len > r->file_len + 1 && r->location[r->file_len + 1] != '+';
}

/* Chooses among several names of a location, independent of the processes' order. */
static bool better_name(const struct mw_row *r, const struct mw_row *than)
{
	bool x = has_symbol(r), y = has_symbol(than);

	return x != y ? x : mw_location_cmp(r, than) < 0;
}

/* One block of memory: the snapshot and its rows. The processes' wires own the texts. */
static struct mw_snapshot *merge(const struct item *items, size_t n)
{
	struct mw_snapshot *s = calloc(1, sizeof(*s) + (n + 1) * sizeof(*s->rows));

	if (!s)
		return NULL;
	s->family = true;
	s->rows = (struct mw_row *)(void *)(s + 1);
	for (size_t i = 0; i < n; i++) {
		const struct mw_row *r = items[i].row;
		struct mw_row *sum = &s->rows[s->n - !!s->n];

		if (!i || item_cmp(&items[i - 1], &items[i])) {
			sum = &s->rows[s->n];
			sum->file_len = r->file_len;
			sum->kind = r->kind;
			sum->at = r->at;
			sum->id = (uint32_t)s->n++;
		}
		if (!sum->location || better_name(r, sum)) {
			sum->location = r->location;
			sum->location_len = r->location_len;
		}
		add_item(sum, &items[i]);
		items[i].row->id = sum->id; /* its stacks are found by that */
	}
	return s;
}

/* --- as a tracker ------------------------------------------------------------------ */

struct sum {
	struct mw_api api;
	const struct mw_part *parts;
	size_t n;
	struct mw_stats stats;
	struct mw_snapshot *snapshot;
};

static struct mw_snapshot *sum_snapshot(void)
{
	struct sum *sum = mw_context();
	struct item *items;
	size_t n;

	if (!sum->snapshot) {
		items = collect(sum->parts, sum->n, &n);
		sum->snapshot = items ? merge(items, n) : NULL;
		free(items);
	}
	return sum->snapshot;
}

static void sum_snapshot_free(struct mw_snapshot *s)
{
	(void)s; /* mw_sum_end() frees it */
}

static bool sum_find(const char *location, size_t n, struct mw_row *row)
{
	(void)location;
	(void)n;
	(void)row;
	return false;
}

static size_t sum_source(const char *name, size_t n, char *to, size_t size)
{
	(void)name;
	(void)n;
	(void)to;
	(void)size;
	return 0;
}

/* All live blocks: the processes were asked for one location, so all are of that. */
static struct mw_lives *sum_lives(const uint32_t *ids, size_t n)
{
	const struct sum *sum = mw_context();
	struct mw_lives *l;
	size_t all = 0, used = 0;

	for (size_t i = 0; i < sum->n; i++)
		all += sum->parts[i].wire->lives_n;
	l = malloc(sizeof(*l) + (all + 1) * sizeof(*l->v));
	if (!l)
		return NULL;
	l->v = (struct mw_live *)(void *)(l + 1);
	for (size_t i = 0; i < sum->n; i++)
		for (size_t j = 0; j < sum->parts[i].wire->lives_n; j++) {
			struct mw_live *v = &l->v[used++];

			*v = sum->parts[i].wire->lives[j];
			/* the wire has ages: generations of several processes can't be compared */
			v->generation = less(sum->stats.generation, v->generation);
			v->id = n ? ids[0] : 0;
		}
	l->n = used;
	return l;
}

static void sum_lives_free(struct mw_lives *l)
{
	free(l);
}

/* The processes were asked for the range, if there is one. */
static struct mw_stacks *sum_stacks(uint32_t from, uint32_t to)
{
	const struct sum *sum = mw_context();

	(void)from;
	(void)to;
	return mw_sum_stacks(sum->parts, sum->n);
}

static void sum_stats(struct mw_stats *s)
{
	*s = ((const struct sum *)mw_context())->stats;
}

static void reset_nothing(void)
{
}

static bool no(void)
{
	return false;
}

static void no_pause(bool on)
{
	(void)on;
}

static void add_stats(struct mw_stats *to, const struct mw_stats *s)
{
	to->locations = add_capped(to->locations, s->locations);
	to->locations_max = add_capped(to->locations_max, s->locations_max);
	to->retired = add_capped(to->retired, s->retired);
	to->tracker_bytes = add_capped(to->tracker_bytes, s->tracker_bytes);
	to->lost = add_capped(to->lost, s->lost);
	to->overruns = add_capped(to->overruns, s->overruns);
	to->double_frees = add_capped(to->double_frees, s->double_frees);
	to->unknown_frees = add_capped(to->unknown_frees, s->unknown_frees);
	to->peak_bytes = add_capped(to->peak_bytes, s->peak_bytes);
	to->wrong_sizes = add_capped(to->wrong_sizes, s->wrong_sizes);
	to->heap_bytes = add_capped(to->heap_bytes, s->heap_bytes);
	to->resets = add_capped(to->resets, s->resets);
	to->stacks = add_capped(to->stacks, s->stacks);
	to->stacks_rate = s->stacks_rate > to->stacks_rate ? s->stacks_rate : to->stacks_rate;
	to->generation = s->generation > to->generation ? s->generation : to->generation;
	to->sampling += s->sampled;
	to->sample_rate = s->sample_rate > to->sample_rate ? s->sample_rate : to->sample_rate;
#define X(flag) to->flag |= s->flag;
	MW_WIRE_FLAGS(X)
#undef X
	to->life_unit = s->life_unit;
}

static void end_sum(struct sum *sum)
{
	(void)mw_context_set(NULL);
	if (sum)
		free(sum->snapshot);
	free(sum);
}

/* Of the calling thread's sum. Totals come from the rows, without the inherited baselines. */
static bool fill_stats(struct sum *sum)
{
	struct mw_row all = { 0 };
	const struct mw_snapshot *s;

	for (size_t i = 0; i < sum->n; i++)
		add_stats(&sum->stats, &sum->parts[i].wire->stats);
	s = sum_snapshot();
	for (size_t i = 0; s && i < s->n; i++)
		mw_row_add(&all, &s->rows[i]);
	sum->stats.total = all.total;
	sum->stats.allocations = all.allocations;
	sum->stats.freed = all.freed;
	sum->stats.frees = all.frees;
	sum->stats.live_bytes = all.live_bytes;
	sum->stats.live = all.live;
	sum->stats.live_samples = all.live_samples;
	sum->stats.live_error = mw_row_live_error(&all);
	sum->stats.processes = (uint32_t)sum->n;
	sum->stats.ruby_lookup = sum->stats.ruby_why = "";
	sum->stats.mode = sum->stats.mode_why = sum->stats.gc_count = sum->stats.ruby_jit = "";
	return s != NULL;
}

const struct mw_api *mw_sum_api(const struct mw_part *p, size_t n, const struct mw_api *own)
{
	struct sum *sum;

	mw_sum_end();
	sum = malloc(sizeof(*sum));
	if (!sum)
		return NULL;
	*sum = (struct sum){
		.api = {
			.version = MW_API_VERSION,
			.options = own->options,
			.snapshot = sum_snapshot,
			.snapshot_free = sum_snapshot_free,
			.find = sum_find,
			.source = sum_source,
			.lives = sum_lives,
			.lives_free = sum_lives_free,
			.stacks = sum_stacks,
			.stacks_free = mw_sum_stacks_free,
			.stats = sum_stats,
			.reset = reset_nothing,
			.trim = no,
			.pause = no_pause,
			.paused = no,
			.quiet_enter = own->quiet_enter,
			.quiet_leave = own->quiet_leave,
			.hush = own->hush,
			.server_endpoint = own->server_endpoint,
		},
		.parts = p,
		.n = n,
	};
	if (mw_context_set(sum) && fill_stats(sum))
		return &sum->api;
	end_sum(sum);
	return NULL;
}

void mw_sum_end(void)
{
	end_sum(mw_context());
}
