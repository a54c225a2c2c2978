/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stats.c - the process as one JSON object.
 *
 * Names are those of struct mw_stats. Decimals are written from integers,
 * since printf's would follow the app's locale.
 */
#include <string.h>
#include <unistd.h>

#include "api/version.h"
#include "shared/report/report.h"

static void key(struct mw_buf *b, const char *name)
{
	if (b->n && b->p[b->n - 1] != '{')
		mw_buf_str(b, ",");
	mw_buf_str(b, "\n\"");
	mw_buf_str(b, name);
	mw_buf_str(b, "\":");
}

static void key_u64(struct mw_buf *b, const char *name, uint64_t v)
{
	key(b, name);
	mw_buf_u64(b, v);
}

static void key_str(struct mw_buf *b, const char *name, const char *s)
{
	key(b, name);
	if (s)
		mw_buf_json(b, s, strlen(s));
	else
		mw_buf_str(b, "null");
}

static void key_bool(struct mw_buf *b, const char *name, bool v)
{
	key(b, name);
	mw_buf_str(b, v ? "true" : "false");
}

static void key_seconds(struct mw_buf *b, const char *name, double v)
{
	key(b, name);
	mw_buf_seconds(b, v);
}

/* Of "A|B|C", the one with that index. */
static void key_word(struct mw_buf *b, const char *name, const char *words, unsigned i)
{
	for (; i && strchr(words, '|'); i--)
		words = strchr(words, '|') + 1;
	key(b, name);
	mw_buf_json(b, words, strcspn(words, "|"));
}

static void key_mode(struct mw_buf *b, const char *name, unsigned mode)
{
	key(b, name);
	mw_buf_fmt(b, "\"%04o\"", mode & 0777);
}

static void key_fd(struct mw_buf *b, const char *name, int fd)
{
	key(b, name);
	mw_buf_known(b, (uint64_t)fd, fd >= 0);
}

static void key_stacks(struct mw_buf *b, const struct mw_options *o)
{
	if (o->stacks_auto || !o->stacks_rate)
		key_str(b, "stacks", o->stacks_auto ? "auto" : "off");
	else
		key_u64(b, "stacks", o->stacks_rate);
}

static void options(struct mw_buf *b, const struct mw_options *o)
{
	key(b, "options");
	mw_buf_str(b, "{");
#define TEXT(field) key_str(b, name, o->field)
#define NUMBER(field) key_u64(b, name, o->field)
#define MODE(field) key_mode(b, name, o->field)
#define FD(field) key_fd(b, name, o->field)
#define FLAG(field) key_bool(b, name, o->field)
#define WORD(field) key_word(b, name, words, o->field)
#define IF(field) key_str(b, name, o->field ? words : NULL)
#define STACKS(field) key_stacks(b, o)
#define OPTION(option, show, value, group, help, manual)    \
	{                                                   \
		const char *name = #option, *words = value; \
                                                            \
		(void)name, (void)words;                    \
		show;                                       \
	}
#include "api/options.def"
	mw_buf_str(b, "}");
}

void mw_render_stats_json(struct mw_buf *b, const struct mw_api *api, int statm, const uint32_t *majors)
{
	struct mw_stats s = { 0 };
	uint64_t rss;

	api->stats(&s);
	mw_buf_str(b, "{");
	key_str(b, "version", MWRAP_VERSION);
	key_u64(b, "pid", (uint64_t)getpid());
	key_seconds(b, "uptime", s.uptime);
	key_str(b, "how", s.how);
	key_seconds(b, "since", s.since);
	key(b, "before_bytes");
	mw_buf_known(b, s.before_bytes, s.before_known);
	key(b, "rss_bytes");
	if (mw_rss_bytes(statm, &rss))
		mw_buf_u64(b, rss);
	else
		mw_buf_str(b, "null");
	key(b, "heap_bytes");
	mw_buf_known(b, s.heap_bytes, s.heap_known);
	key_u64(b, "tracker_bytes", s.tracker_bytes);
	key_u64(b, "memory_max", s.memory_max);
	key_bool(b, "locations_full", s.locations_full);
	key_bool(b, "records_full", s.records_full);
	key_bool(b, "threads_full", s.threads_full);
	key_bool(b, "paused", s.paused);
	key_u64(b, "total", s.total);
	key_u64(b, "allocations", s.allocations);
	key_u64(b, "freed", s.freed);
	key_u64(b, "frees", s.frees);
	key_u64(b, "live_bytes", s.live_bytes);
	key_u64(b, "live", s.live);
	key_u64(b, "locations", s.locations);
	key_u64(b, "locations_max", s.locations_max);
	key_u64(b, "retired", s.retired);
	key_u64(b, "lost", s.lost);
	key_u64(b, "overruns", s.overruns);
	key_u64(b, "double_frees", s.double_frees);
	key_u64(b, "unknown_frees", s.unknown_frees);
	key_u64(b, "generation", s.generation);
	key_str(b, "life_unit", s.life_unit);
	key_str(b, "ruby_lookup", s.ruby_lookup);
	key_str(b, "ruby_why", s.ruby_why);
	key_str(b, "mode", s.mode);
	key_str(b, "mode_why", s.mode_why);
	key_str(b, "gc_count", s.gc_count);
	key(b, "major_gc_count");
	mw_buf_known(b, majors ? *majors : 0, majors);
	key_u64(b, "resets", s.resets);
	key_u64(b, "bt", s.bt);
	key_u64(b, "stacks_rate", s.stacks_rate);
	key_u64(b, "stacks", s.stacks);
	key_u64(b, "stacks_samples", s.stacks_samples);
	key_u64(b, "stacks_first", s.stacks_first);
	key_u64(b, "stacks_dropped", s.stacks_dropped);
	key_u64(b, "stacks_folded", s.stacks_folded);
	key_u64(b, "stacks_ns", s.stacks_ns);
	options(b, api->options());
	mw_buf_str(b, "\n}\n");
}
