/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "objects.h"

#include <stdio.h>
#include <string.h>

enum { LIVES_MADE = LINES_MAX + PARTS_MAX, SAMPLES = 4096, CLUSTER = 6 };

bool objects_on;

struct sample {
	uint32_t made; /* by which line, below LIVES_MADE */
	uint32_t window;
	uint32_t majors; /* done when it was noted */
	double at; /* of all bytes that the line made by then */
	double weight, born;
};

static struct {
	struct sample v[SAMPLES];
	size_t n;
	struct mw_object_stay stays[SAMPLES];
	double next[LIVES_MADE]; /* bytes of a line at which the next cluster is */
	double gone[LIVES_MADE]; /* bytes of a line that a major collection has freed: the oldest */
	double each; /* bytes that a sample stands for */
	double starts;
	uint32_t majors, windows;
	double settled[2]; /* what was noted by then has outlived one major collection, and two */
	struct chance chance;
} now;

/* over all lives */
static struct {
	size_t said, wrong, beyond,
		off; /* sentences; of another line than most; with a share beyond its error; far off */
	size_t heap, told; /* that Ruby's heap grows, by a line with a third or more; that name one */
} sums;

/* --- what lines make ----------------------------------------------------------------- */

static bool is_heap(const struct part *p)
{
	return p->kind && !strcmp(p->kind->name, "heap");
}

/* All bytes of slots that a line ever kept until then, and those of them that it dropped. */
static void bytes_at(const struct life *l, uint32_t made, double t, double *kept, double *dropped)
{
	size_t at = (size_t)fmax(t, 0) / STEP;

	*kept = *dropped = 0;
	if (made >= LINES_MAX && made - LINES_MAX < l->parts_n && is_heap(&l->parts[made - LINES_MAX])) {
		*kept = l->parts[made - LINES_MAX].grown_then[at];
	} else if (made < l->lines_n) {
		const struct line *line = &l->lines[made];

		*dropped = line->dropped_then[at] * line->slots;
		*kept = line->kept_then[at] * line->slots + *dropped;
	}
}

/* --- samples ---------------------------------------------------------------------------- */

static void thin(void)
{
	size_t n = 0;

	for (size_t i = 0; i < now.n; i++) {
		if (chance_is(&now.chance, 0.5))
			continue;
		now.v[n] = now.v[i];
		now.v[n++].weight *= 2;
	}
	now.n = n;
	now.each *= 2;
}

/* Bytes of a line from one cluster to the next: by chance alone, so small lines have what is theirs. */
static double gap(void)
{
	return now.each * (CLUSTER + 1) / 2 * -log(1 - chance_unit(&now.chance) * 0.999999);
}

static void note(const struct life *l, uint32_t made, double t)
{
	double kept, dropped;

	bytes_at(l, made, t, &kept, &dropped);
	while (now.next[made] < kept) {
		unsigned cluster = 1 + (unsigned)(chance_unit(&now.chance) * CLUSTER);

		if (now.n + cluster > SAMPLES)
			thin();
		now.windows++;
		for (unsigned i = 0; i < cluster; i++)
			now.v[now.n++] = (struct sample){ made,           now.windows, l->gc.majors_done,
							  now.next[made], now.each,    t };
		now.next[made] += gap();
	}
}

static void collect(const struct life *l, double t)
{
	size_t n = 0;
	double kept;

	for (uint32_t made = 0; made < LIVES_MADE; made++)
		bytes_at(l, made, t, &kept, &now.gone[made]);
	for (size_t i = 0; i < now.n; i++)
		if (now.v[i].at >= now.gone[now.v[i].made])
			now.v[n++] = now.v[i];
	now.n = n;
}

void objects_begin(const struct life *l)
{
	memset(&now, 0, sizeof(now));
	now.chance.state = (l->seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^
			   (l->nth + 1) * UINT64_C(0xd1b54a32d192ed03);
	now.each = chance_scale(&now.chance, 8 * KB, 512 * KB);
	now.starts = l->starts;
	for (uint32_t made = 0; made < LIVES_MADE; made++)
		now.next[made] = gap();
}

void objects_second(const struct life *l, double t)
{
	if (!objects_on || !l->gc.ruby || (size_t)t % STEP)
		return;
	for (uint32_t made = 0; made < LIVES_MADE; made++)
		note(l, made, t);
	if (l->gc.majors_done != now.majors)
		collect(l, t);
	if (l->gc.majors_done != now.majors) {
		now.settled[1] = l->gc.majors_done - now.majors > 1 ? t - STEP : now.settled[0];
		now.settled[0] = t - STEP;
	}
	now.majors = l->gc.majors_done;
}

const struct mw_object_stay *objects_stays(size_t *n)
{
	*n = 0;
	for (size_t i = 0; i < now.n; i++)
		if (now.majors - now.v[i].majors >= 2)
			now.stays[(*n)++] = (struct mw_object_stay){
				now.v[i].made + 1, (uint32_t)(now.starts + now.v[i].born),
				now.v[i].window, now.v[i].weight, "Array"
			};
	return now.stays;
}

/* --- is it true? --------------------------------------------------------------------------- */

/* The bytes that a line has made since then and keeps at the time t. */
static double kept_since(const struct life *l, uint32_t made, double since, double t)
{
	double then, kept, unused, dropped;

	bytes_at(l, made, since, &then, &unused);
	if (since < STEP) /* the first second's are made since then, too */
		then = 0;
	bytes_at(l, made, t, &kept, &dropped);
	return fmax(0, kept - fmax(then, dropped));
}

/* The same of what samples can tell: it was made before the last collections but one, and isn't collected. */
static double stays_since(const struct life *l, uint32_t made, double since)
{
	double then, kept, unused;

	bytes_at(l, made, since, &then, &unused);
	if (since <= 0) /* what is there at the start was noted in its second */
		then = 0;
	bytes_at(l, made, now.settled[1], &kept, &unused);
	return fmax(0, kept - fmax(then, now.gone[made]));
}

/* The share of the line that is named. */
static void judge_share(const struct life *l, const struct mw_verdict *v, double since)
{
	double all = 0, off;

	for (uint32_t made = 0; made < LIVES_MADE; made++)
		all += stays_since(l, made, since);
	off = fabs((all > 0 ? stays_since(l, v->made.line - 1, since) / all : 0) - v->made.at.share);
	sums.beyond += off > v->made.error + 0.005;
	sums.off += off > 2 * v->made.error + 0.02;
}

void objects_judge(const struct life *l, const struct mw_verdict *v, double t)
{
	double since = fmax((v->kind == MW_VERDICT_GREW ? v->begun : v->since) - l->starts, 0);
	double all = 0, most = 0, named = 0;

	for (uint32_t made = 0; objects_on && made < LIVES_MADE; made++) {
		double kept = kept_since(l, made, since, t);

		all += kept;
		most = fmax(most, kept);
		if (v->made.samples && made == v->made.line - 1)
			named = kept;
	}
	if (v->kind == MW_VERDICT_HEAP && most > all / 3 && most > 200 * now.each) {
		sums.heap++;
		sums.told += v->made.samples > 0;
	}
	if (!v->made.samples)
		return;
	sums.said++;
	sums.wrong += named < most / 2;
	judge_share(l, v, since);
}

static double percent(size_t n, size_t of)
{
	return of ? 100.0 * (double)n / (double)of : 0;
}

void objects_print(void)
{
	if (!objects_on)
		return;
	printf("made_sentences %zu\nmade_wrong_percent %.2f\n", sums.said, percent(sums.wrong, sums.said));
	printf("made_beyond_percent %.2f\nmade_off_percent %.2f\n", percent(sums.beyond, sums.said),
	       percent(sums.off, sums.said));
	printf("made_heap_sentences %zu\nmade_told_percent %.1f\n", sums.heap,
	       percent(sums.told, sums.heap));
}
