/* SPDX-License-Identifier: GPL-2.0-or-later */
/* second.c - a site's time, and the notes of each second: the history, RSS's parts, the curves. See site.h. */
#include "site.h"

#include <string.h>
#include <time.h>

#include "server/objects/objects.h"
#include "shared/sys/clock.h"

/* --- the time -------------------------------------------------------------------- */

double mw_site_uptime(const struct mw_site *s)
{
	return (double)(mw_now_ms() - s->origin_ms) / 1000;
}

double mw_unix_now(void)
{
	return (double)(mw_clock_ns(CLOCK_REALTIME) / 1000000) / 1000;
}

/* --- notes ------------------------------------------------------------------------ */

/* The CPU time a second that reading the live bytes may cost. */
#define STATS_NS_A_SECOND UINT64_C(200000)
enum { STATS_SECONDS_MAX = 60 }; /* between two readings */

/* The median of the last three. One reading that the machine disturbed says nothing of the table. */
static uint64_t usual_cost(const uint64_t c[3])
{
	uint64_t low = c[0] < c[1] ? c[0] : c[1], high = c[0] < c[1] ? c[1] : c[0];

	return c[2] < low ? low : c[2] > high ? high : c[2];
}

/*
 * The sums cost more with a larger table: they are read every second while
 * cheap, else less often; meanwhile the last figures count.
 */
static void read_stats(struct mw_site *s, uint32_t t)
{
	uint64_t from = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID), seconds;
	struct mw_objects_state objects;

	if (t < s->stats_next)
		return;
	s->api->stats(&s->stats);
	mw_objects_state(s->api, &objects);
	mw_own_cost_read(&s->own_cost, &s->stats, objects.ns);
	if (s->stats.sample_rate > s->sample_rate)
		s->sample_rate = s->stats.sample_rate;
	s->stats_costs[s->stats_n++ % 3] = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
	seconds = usual_cost(s->stats_costs) / STATS_NS_A_SECOND;
	s->stats_next = t + 1 + (uint32_t)(seconds < STATS_SECONDS_MAX ? seconds : STATS_SECONDS_MAX - 1);
}

/* The limits, and what the cgroup uses. */
static void read_limits(struct mw_site *s, uint32_t t)
{
	if (t < s->limits_next)
		return;
	mw_limits_read(&s->limits);
	s->limits_next = t + MW_LIMIT_SECONDS;
}

static void make_point(struct mw_site *s, const struct mw_proc_file *smaps, struct mw_point *p)
{
	struct mw_rss rss;

	read_stats(s, p->t);
	p->live = mw_kib(s->stats.live_bytes);
	p->heap = s->stats.heap_known ? mw_kib(s->stats.heap_bytes) : MW_KIB_UNKNOWN;
	p->tracker = mw_kib(mw_parts_tracker(&s->stats));
	p->rss = p->files = MW_KIB_UNKNOWN;
	if (s->statm >= 0 && mw_rss_read(s->statm, &rss)) {
		p->rss = mw_kib(rss.bytes);
		p->files = mw_kib(rss.files);
	}
	if (!s->api->majors || !s->api->majors(&p->majors, &p->majors_done))
		p->majors = p->majors_done = MW_KIB_UNKNOWN;
	p->gcs = strcmp(s->stats.life_unit, "gc") != 0 ? MW_KIB_UNKNOWN : (uint32_t)s->stats.generation;
	mw_counts_second(&s->counts, p);
	mw_parts_second(&s->parts, s->api, &s->stats, smaps ? mw_proc_fd(smaps) : -1, p);
}

/* Ruby's objects by location, once there are samples. */
static void objects_second(struct mw_site *s, double up)
{
	const struct mw_api *objects = mw_objects_api();

	if (objects)
		mw_curves_second(&s->object_curves, objects, up);
}

unsigned mw_site_second(struct mw_site *s, const struct mw_proc_file *statm,
			const struct mw_proc_file *smaps)
{
	uint64_t up = mw_now_ms() - s->origin_ms;
	const struct mw_point *last = mw_history_last(&s->history);
	struct mw_point p = { .t = (uint32_t)(up / 1000) };

	s->statm = statm ? mw_proc_fd(statm) : -1;
	if (!last || p.t > last->t) {
		atomic_fetch_add(&s->busy, 1); /* a child forked now can't trust the curves */
		make_point(s, smaps, &p);
		read_limits(s, p.t);
		mw_history_add(&s->history, p);
		mw_curves_second(&s->curves, s->api, (double)up / 1000);
		mw_objects_second(s->api, p.t);
		objects_second(s, (double)up / 1000);
		mw_maps_tidy(&s->maps, (double)up / 1000, false);
		atomic_fetch_sub(&s->busy, 1);
	}
	return 1000 - (unsigned)(up % 1000);
}

void mw_site_event(struct mw_site *s, const char *kind, const char *text)
{
	if (!s)
		return;
	mw_history_event(&s->history, mw_site_uptime(s), kind, text);
	s->said.stale = true;
}
