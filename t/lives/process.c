/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.c - a second of a process: its lines, malloc's arenas, and RSS of these. See life.h. */
#include "life.h"

enum { MINORS_TO_AGE = 3, READ_SECONDS = 10, READ_SECONDS_MAX = 60 };

double line_live(const struct line *line)
{
	return line->kept + line->lost + line->young + line->old + line->dying;
}

static void allocate(struct life *l, const struct line *line, double bytes)
{
	if (line->collects)
		l->gc.malloc_inc += bytes;
}

void line_keep(struct life *l, struct line *line, double bytes)
{
	allocate(l, line, bytes);
	line->kept += bytes;
	l->gc.kept += bytes * line->slots;
	if (line->collects)
		l->gc.old_inc += bytes;
}

void line_churn(struct life *l, struct line *line, double bytes)
{
	if (!line->collects)
		return;
	allocate(l, line, bytes);
	l->gc.old_inc += bytes * l->gc.old_share;
	line->young += bytes * (1 - line->ages);
	line->old += bytes * line->ages;
	l->gc.young += bytes * (1 - line->ages) * line->slots;
	l->gc.old += bytes * line->ages * line->slots;
}

static bool is_old(const struct life *l, double born)
{
	return l->gc.gcs - l->gc.gcs_then[(size_t)fmax(born, 0)] >= MINORS_TO_AGE;
}

void line_drop(struct life *l, struct line *line, double bytes, double born)
{
	struct gc *g = &l->gc;

	bytes = fmin(bytes, line->kept);
	line->kept -= bytes;
	line->dropped += bytes;
	line->dropped_born = line->kept > 0 ? born : 0;
	g->kept -= bytes * line->slots;
	if (!line->collects)
		return;
	if (is_old(l, born)) {
		line->old += bytes;
		g->old += bytes * line->slots;
	} else {
		line->young += bytes;
		g->young += bytes * line->slots;
	}
}

/* --- load --------------------------------------------------------------------------- */

static double load_at(const struct life *l, double t)
{
	const struct load *o = &l->load;
	double x = fmod(t / o->period + o->phase, 1);

	switch (o->form) {
	case BURSTS:
		return x < 0.2 ? 1 + o->depth : 1 - o->depth / 2;
	case DAY:
		return 1 + o->depth * sin(x * 2 * 3.14159265);
	case RAMP:
		return t < o->period ? 0.2 + 0.8 * t / o->period : 1;
	case IDLE:
		return 0.05;
	default:
		return 1;
	}
}

/* The app itself: it starts, and each request makes garbage at many lines. */
static void work(struct life *l, double t)
{
	double boot = fmax(l->memory.boot, 1);
	bool boots = t < boot;

	l->load_now = load_at(l, t) * chance_between(&l->chance, 0.85, 1.15);
	if (boots)
		l->gc.kept += l->memory.objects / ceil(boot);
	for (size_t i = 0; i < l->lines_n; i++) {
		struct line *line = &l->lines[i];

		if (!line->app)
			continue;
		if (boots)
			line_keep(l, line, line->base / ceil(boot));
		else
			line_churn(l, line, line->churn * l->load_now);
	}
}

/* --- memory --------------------------------------------------------------------------- */

static void fill_arenas(struct life *l, double used)
{
	struct memory *m = &l->memory;
	double least = used / (1 - m->fragments), fell = m->used - used;

	if (fell > MB && m->arenas - m->wasted > least)
		m->arenas = fmax(m->arenas - fell * m->gives, least + m->wasted);
	if (m->decay > 0)
		m->arenas -= (m->arenas - m->wasted - least) * m->decay;
	m->arenas = fmax(m->arenas, least + m->wasted);
	m->used = used;
}

static void sum_lines(struct life *l, double *used, double *mapped, double *untouched, double *blocks)
{
	*used = *mapped = *blocks = *untouched = 0;
	for (size_t i = 0; i < l->lines_n; i++) {
		double live = line_live(&l->lines[i]);

		*(l->lines[i].mapped ? mapped : used) += live;
		*blocks += live / l->lines[i].block;
		*untouched += l->lines[i].untouched;
	}
}

static double wander(struct life *l)
{
	struct memory *m = &l->memory;

	m->drift = m->drift * 0.98 + chance_between(&l->chance, -1, 1) * m->noise;
	return fabs(m->drift) + chance_between(&l->chance, 0, m->noise / 4);
}

/* smaps is read rarely: parts.h says when. */
static void read_smaps(struct memory *m, double t, double rss, double anon)
{
	double since = t - m->read_t;

	if (t > 0 &&
	    (since < READ_SECONDS || (since < READ_SECONDS_MAX && fabs(rss - m->read_rss) < 4 * KB)))
		return;
	m->read_t = t;
	m->read_rss = rss;
	m->read_arenas = m->arenas;
	m->read_anon = anon;
	m->read_stacks = m->stacks;
}

static uint32_t kib(double bytes)
{
	return mw_kib(bytes > 0 ? (uint64_t)bytes : 0);
}

static void make_point(struct life *l, double t, double live, double used, struct mw_point *p)
{
	const struct memory *m = &l->memory;
	const struct gc *g = &l->gc;

	*p = (struct mw_point){
		.t = (uint32_t)(l->starts + t),
		.rss = kib(l->rss),
		.live = kib(live),
		.heap = g->ruby ? kib(g->pages) : MW_KIB_UNKNOWN,
		.files = kib(m->files),
		.tracker = kib(m->tracker),
		.free = kib(m->read_arenas - used),
		.anon = kib(m->read_anon),
		.stacks = kib(m->read_stacks),
		.majors = g->ruby ? g->majors : MW_KIB_UNKNOWN,
		.majors_done = g->ruby ? g->majors_done : MW_KIB_UNKNOWN,
		.gcs = g->ruby ? g->gcs : MW_KIB_UNKNOWN,
		.threads = (uint32_t)m->threads,
		.fds = (uint32_t)m->fds
	};
	if (!m->glibc) {
		p->free = MW_KIB_UNKNOWN;
		p->anon = kib(m->read_anon + m->read_arenas - used);
	}
}

static void note(struct life *l, double t)
{
	size_t at = (size_t)t / STEP;

	l->rss_then[(size_t)t] = (float)l->rss;
	for (size_t i = 0; i < l->lines_n; i++)
		l->kept_then[(size_t)t] += (float)(l->lines[i].kept + l->lines[i].lost);
	if ((size_t)t % STEP)
		return;
	for (size_t i = 0; i < l->lines_n; i++) {
		l->lines[i].live_then[at] = (float)line_live(&l->lines[i]);
		l->lines[i].dropped_then[at] = (float)l->lines[i].dropped;
		l->lines[i].born_then[at] = (float)l->lines[i].dropped_born;
		l->lines[i].kept_then[at] = (float)(l->lines[i].kept + l->lines[i].lost);
	}
	for (size_t i = 0; i < l->parts_n; i++) {
		l->parts[i].grown_then[at] = (float)l->parts[i].grown;
		l->parts[i].count_then[at] = (float)l->parts[i].count;
	}
	l->free_then[at] = (float)(l->memory.arenas - l->memory.used);
	l->anon_then[at] = (float)l->memory.anon;
	l->stacks_then[at] = (float)l->memory.stacks;
	l->heap_then[at] = (float)l->gc.pages;
	l->heap_kept_then[at] = (float)l->gc.kept;
}

void life_second(struct life *l, double t, struct mw_point *p)
{
	struct memory *m = &l->memory;
	double used, mapped, untouched, blocks, anon;

	work(l, t);
	for (size_t i = 0; i < l->parts_n; i++)
		if (l->parts[i].kind->second)
			l->parts[i].kind->second(l, &l->parts[i], t);
	gc_second(l, t);
	sum_lines(l, &used, &mapped, &untouched, &blocks);
	fill_arenas(l, used * 1.03);
	m->tracker = 3 * MB + blocks * 40 + m->threads * 12 * KB;
	anon = m->anon + wander(l);
	l->rss = m->arenas + mapped - untouched + anon + m->files * (1 - 0.15 * exp(-t / 40)) +
		 m->stacks + m->tracker + l->gc.pages;
	read_smaps(m, t, l->rss, anon);
	make_point(l, t, used + mapped, used * 1.03, p);
	note(l, t);
	known_second(l, t);
}
