/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "moment.h"

#include <string.h>

#include "shared/sys/clock.h"
#include "shared/report/sums.h"
#include "shared/text/utc.h"

struct mw_moment mw_moment_now(const struct mw_snapshot *s, const struct mw_stats *stats, double uptime,
			       uint64_t rss)
{
	struct mw_moment m = {
		.unix_time = (double)(mw_clock_ns(CLOCK_REALTIME) / 1000000) / 1000,
		.uptime = uptime,
		.generation = stats->generation,
		.has_gc = stats->life_unit && !strcmp(stats->life_unit, "gc"),
		.rss = rss,
		.resets = stats->resets,
	};

	for (size_t i = 0; i < s->n; i++) {
		m.live_bytes = mw_sum_u64(m.live_bytes, s->rows[i].live_bytes);
		m.live = mw_sum_u64(m.live, s->rows[i].live);
	}
	return m;
}

void mw_buf_time(struct mw_buf *b, double unix_time)
{
	uint64_t ms = unix_time > 0 ? (uint64_t)(unix_time * 1000 + 0.5) : 0;
	struct mw_utc u = mw_utc_of((int64_t)(ms / 1000));

	mw_buf_fmt(b, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", u.year, u.month, u.day, u.hour, u.minute,
		   u.second, (unsigned)(ms % 1000));
}
