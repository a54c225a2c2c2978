/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "own_cost.h"

#include "shared/sys/clock.h"
#include "shared/text/json.h"

enum { CLOCKED_LEAST = 32 }; /* calls of each kind: a mean of fewer says little */

const struct mw_held_name mw_held_names[MW_HELD_N] = {
	[MW_HELD_LOCATIONS] = { "locations", "Locations",
				"The table: lines, native callers and their files." },
	[MW_HELD_RECORDS] = { "records", "Records", "A record for each live block." },
	[MW_HELD_THREADS] = { "threads", "Threads", "Each thread\xe2\x80\x99s own counters." },
	[MW_HELD_HISTORY] = { "history", "Past", "The history, peaks and named marks." },
	[MW_HELD_STACKS] = { "stacks", "Stacks", "Sampled stacks." },
	[MW_HELD_NAMES] = { "names", "Names", "Names of native functions, and labels." },
	[MW_HELD_SERVER] = { "server", "Server",
			     "Blocks of the tracker\xe2\x80\x99s threads: pages, and the HTTP server." },
	[MW_HELD_TAILS] = { "tails", "Tails",
			    "Eight bytes at each live block\xe2\x80\x99s end. Some blocks had room for them." },
};

static double mean(double sum, uint64_t n)
{
	return n ? sum / (double)n : 0;
}

void mw_own_cost_read(struct mw_own_cost *c, const struct mw_stats *s, uint64_t objects_ns)
{
	struct mw_own_cost_at at = {
		.t = s->uptime,
		.process_ns = mw_clock_ns(CLOCK_PROCESS_CPUTIME_ID),
		.samples_ns = s->stacks_ns + objects_ns,
		.threads_ns = s->own_threads_ns,
		.allocs = s->ever_allocations,
		.frees = s->ever_frees,
		.exact = s->ever_known && !s->sampled,
	};

	if (!c->begun || at.exact != c->last.exact)
		c->from = c->last = at;
	c->begun = true;
	c->seconds = at.t - c->from.t;
	c->process_ns = at.process_ns - c->from.process_ns;
	c->samples_ns = at.samples_ns - c->from.samples_ns;
	c->threads_ns = at.threads_ns - c->from.threads_ns;
	c->calls_known =
		at.exact && s->clocked_allocs >= CLOCKED_LEAST && s->clocked_frees >= CLOCKED_LEAST;
	c->calls_ns = c->calls_known ? (double)(at.allocs - c->from.allocs) *
						       mean(s->clocked_alloc_ns, s->clocked_allocs) +
					       (double)(at.frees - c->from.frees) *
						       mean(s->clocked_free_ns, s->clocked_frees) :
				       0;
	c->ns = c->calls_known ? c->calls_ns + (double)(c->samples_ns + c->threads_ns) : 0;
	if (at.t - c->last.t >= MW_OWN_COST_SECONDS) {
		c->from = c->last;
		c->last = at;
	}
}

double mw_own_cost_percent(const struct mw_own_cost *c)
{
	if (!c->calls_known || !c->process_ns)
		return -1;
	return c->ns < (double)c->process_ns ? c->ns / (double)c->process_ns * 100 : 100;
}

double mw_own_cost_of_cpu(const struct mw_own_cost *c)
{
	return c->calls_known && c->seconds > 0 ? c->ns / (c->seconds * 1e9) * 100 : -1;
}

static void ns(struct mw_buf *b, const char *name, double v, bool known)
{
	mw_json_known(b, name, known ? (uint64_t)(v + 0.5) : 0, known);
}

static void decimal(struct mw_buf *b, const char *name, double v, bool known)
{
	if (known)
		mw_json_seconds(b, name, v);
	else
		mw_json_known(b, name, 0, false);
}

void mw_own_cost_json(struct mw_buf *b, const struct mw_own_cost *cost, const struct mw_stats *s)
{
	static const struct mw_own_cost none;
	const struct mw_own_cost *c = cost ? cost : &none;
	bool read = c->seconds > 0;
	double percent = mw_own_cost_percent(c);

	mw_json_open(b, "\nown", '{');
	decimal(b, "seconds", c->seconds, read);
	ns(b, "process_cpu_ns", (double)c->process_ns, read);
	ns(b, "cpu_ns", c->ns, read && c->calls_known);
	ns(b, "calls_ns", c->calls_ns, read && c->calls_known);
	ns(b, "samples_ns", (double)c->samples_ns, read);
	ns(b, "threads_ns", (double)c->threads_ns, read);
	decimal(b, "cpu_percent", percent, percent >= 0);
	decimal(b, "alloc_ns", mean(s->clocked_alloc_ns, s->clocked_allocs), s->clocked_allocs);
	decimal(b, "free_ns", mean(s->clocked_free_ns, s->clocked_frees), s->clocked_frees);
	mw_json_u64(b, "clocked", s->clocked_allocs + s->clocked_frees);
	mw_json_open(b, "bytes", '{');
	for (int i = 0; i < MW_HELD_N; i++)
		mw_json_u64(b, mw_held_names[i].name, s->held[i]);
	mw_buf_str(b, "}}");
}
