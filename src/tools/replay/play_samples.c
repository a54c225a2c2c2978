/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "play_samples.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/sys/sys.h"
#include "play.h"
#include "play_memory.h"

void mw_play_say(const char *format, ...)
{
	char line[512];
	size_t n, done = 0;
	va_list a;

	va_start(a, format);
	n = (size_t)vsnprintf(line, sizeof(line), format, a);
	va_end(a);
	if (n >= sizeof(line))
		n = sizeof(line) - 1;
	while (done < n) {
		ssize_t wrote = mw_sys_write(STDOUT_FILENO, line + done, n - done);

		if (wrote < 0 && errno != EINTR)
			_exit(1);
		done += wrote > 0 ? (size_t)wrote : 0;
	}
}

double mw_play_seconds(const struct mw_packed_sums *s, uint64_t ticks)
{
	return ticks <= s->first ? 0 : (double)(ticks - s->first) / (double)s->ticks_per_second;
}

void mw_play_samples_begin(struct mw_play_samples *s, struct mw_packed *packed)
{
	size_t n = 0;

	*s = (struct mw_play_samples){ .sums = mw_packed_sums(packed), .step = 1 };
	s->v = mw_packed_samples(packed, &n);
	if (!n) {
		s->v = NULL;
		s->end = MW_PLAY_SAMPLES_MADE + 1;
		return;
	}
	s->end = n;
	s->step = (n + MW_PLAY_SAMPLES_MOST - 1) / MW_PLAY_SAMPLES_MOST;
	for (uint64_t i = 0; i < n; i += s->step)
		mw_play_say("{\"recorded\":{\"at\":%.6f,\"heap\":%llu,\"rss\":%llu,\"live\":%llu}}\n",
			    mw_play_seconds(s->sums, s->v[i].ticks), (unsigned long long)s->v[i].heap,
			    (unsigned long long)s->v[i].rss, (unsigned long long)s->v[i].live);
}

uint64_t mw_play_samples_due(const struct mw_play_samples *s)
{
	uint64_t span = s->sums->last - s->sums->first;

	if (s->next >= s->end)
		return UINT64_MAX;
	if (s->v)
		return s->v[s->next].ticks;
	return s->sums->first + (uint64_t)((double)span * (double)s->next / MW_PLAY_SAMPLES_MADE);
}

void mw_play_samples_take(struct mw_play_samples *s, uint64_t live)
{
	uint64_t rss = mw_play_memory_of_malloc(), ticks = mw_play_samples_due(s);

	if (!s->taken)
		s->first_ticks = ticks;
	else if (ticks > s->last_ticks)
		s->area += (double)(ticks - s->last_ticks) * ((double)rss + (double)s->last_rss) / 2;
	s->taken++;
	s->last_ticks = ticks;
	s->last_rss = rss;
	if (rss > s->peak)
		s->peak = rss;
	mw_play_say("{\"at\":%.6f,\"rss\":%llu,\"live\":%llu}\n", mw_play_seconds(s->sums, ticks),
		    (unsigned long long)rss, (unsigned long long)live);
	s->next += s->step;
}

double mw_play_samples_mean(const struct mw_play_samples *s)
{
	return s->last_ticks > s->first_ticks ? s->area / (double)(s->last_ticks - s->first_ticks) :
						(double)s->last_rss;
}
