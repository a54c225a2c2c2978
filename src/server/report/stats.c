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
#include "shared/text/json.h"

/* Of "A|B|C", the one with that index. */
static void put_option_word(struct mw_buf *b, const char *name, const char *words, unsigned i)
{
	for (; i && strchr(words, '|'); i--)
		words = strchr(words, '|') + 1;
	mw_json_text(b, name, words, strcspn(words, "|"));
}

static void octal(struct mw_buf *b, const char *name, unsigned mode)
{
	mw_json_key(b, name);
	mw_buf_fmt(b, "\"%04o\"", mode & 0777);
}

static void stacks(struct mw_buf *b, const char *name, const struct mw_options *o)
{
	if (o->stacks_auto || !o->stacks_rate)
		mw_json_str(b, name, o->stacks_auto ? "auto" : "off");
	else
		mw_json_u64(b, name, o->stacks_rate);
}

static void labels(struct mw_buf *b, const char *name, const struct mw_options *o)
{
	char label[MW_LABEL_NAME_MAX + 1];

	mw_json_open(b, name, '{');
	for (unsigned i = 0; i < o->labels_n; i++) {
		size_t n = strcspn(o->labels[i], "=");

		memcpy(label, o->labels[i], n);
		label[n] = '\0';
		mw_json_str(b, label, o->labels[i] + n + 1);
	}
	mw_buf_str(b, "}");
}

static void when(struct mw_buf *b, const char *name, const struct mw_options *o)
{
	mw_json_open(b, name, '[');
	for (unsigned i = 0; i < o->report_at_n; i++)
		mw_json_str(b, NULL, o->report_at[i].text);
	mw_buf_str(b, "]");
}

static void options(struct mw_buf *b, const struct mw_options *o)
{
	mw_json_open(b, "\noptions", '{');
#define TEXT(field) mw_json_str(b, name, o->field)
#define NUMBER(field) mw_json_u64(b, name, o->field)
#define MODE(field) octal(b, name, o->field)
#define FD(field) mw_json_known(b, name, (uint64_t)o->field, o->field >= 0)
#define FLAG(field) mw_json_bool(b, name, o->field)
#define WORD(field) put_option_word(b, name, words, o->field)
#define IF(field) mw_json_str(b, name, o->field ? words : NULL)
#define STACKS(field) stacks(b, name, o)
#define LABELS(field) labels(b, name, o)
#define WHEN(field) when(b, name, o)
#define OPTION(option, show, value, group, help, manual)         \
	{                                                        \
		const char *name = "\n" #option, *words = value; \
                                                                 \
		(void)name, (void)words;                         \
		show;                                            \
	}
#include "api/options.def"
	mw_buf_str(b, "}");
}

void mw_render_stats_json(struct mw_buf *b, const struct mw_api *api, int statm, const uint32_t *majors,
			  void (*more)(struct mw_buf *, const struct mw_stats *, void *ctx), void *ctx)
{
	struct mw_stats s = { 0 };
	uint64_t rss = 0;
	bool rss_known;

	api->stats(&s);
	mw_buf_str(b, "{");
	mw_json_str(b, "\nversion", MWRAP_VERSION);
	mw_json_u64(b, "\npid", (uint64_t)getpid());
	mw_json_seconds(b, "\nuptime", s.uptime);
	mw_json_str(b, "\nhow", s.how);
	mw_json_seconds(b, "\nsince", s.since);
	mw_json_known(b, "\nbefore_bytes", s.before_bytes, s.before_known);
	rss_known = mw_rss_bytes(statm, &rss);
	mw_json_known(b, "\nrss_bytes", rss, rss_known);
	mw_json_known(b, "\nheap_bytes", s.heap_bytes, s.heap_known);
	mw_json_u64(b, "\ntracker_bytes", s.tracker_bytes);
	mw_json_u64(b, "\nmemory_max", s.memory_max);
	mw_json_bool(b, "\nlocations_full", s.locations_full);
	mw_json_bool(b, "\nrecords_full", s.records_full);
	mw_json_bool(b, "\nthreads_full", s.threads_full);
	mw_json_bool(b, "\npaused", s.paused);
	mw_json_str(b, "\ncounts", s.sampled ? "sampled" : "exact");
	mw_json_known(b, "\nsample_rate", s.sample_rate, s.sampled);
	mw_json_bool(b, "\nestimated", s.live_samples != 0 || s.sampled);
	mw_json_u64(b, "\nlive_samples", s.live_samples);
	mw_json_u64(b, "\nlive_error", s.live_error);
	mw_json_u64(b, "\ntotal", s.total);
	mw_json_u64(b, "\nallocations", s.allocations);
	mw_json_u64(b, "\nfreed", s.freed);
	mw_json_u64(b, "\nfrees", s.frees);
	mw_json_u64(b, "\nlive_bytes", s.live_bytes);
	mw_json_u64(b, "\nlive", s.live);
	if (s.peak_bytes) {
		mw_json_u64(b, "\npeak_bytes", s.peak_bytes);
		mw_json_seconds(b, "\npeak_uptime", s.peak_uptime);
	}
	mw_json_u64(b, "\nlocations", s.locations);
	mw_json_u64(b, "\nlocations_max", s.locations_max);
	mw_json_u64(b, "\nretired", s.retired);
	mw_json_u64(b, "\nlost", s.lost);
	mw_json_u64(b, "\noverruns", s.overruns);
	mw_json_u64(b, "\ndouble_frees", s.double_frees);
	mw_json_u64(b, "\nunknown_frees", s.unknown_frees);
	mw_json_u64(b, "\nwrong_sizes", s.wrong_sizes);
	mw_json_u64(b, "\ngeneration", s.generation);
	mw_json_str(b, "\nlife_unit", s.life_unit);
	mw_json_str(b, "\nruby_lookup", s.ruby_lookup);
	mw_json_str(b, "\nruby_why", s.ruby_why);
	mw_json_str(b, "\nmode", s.mode);
	mw_json_str(b, "\nmode_why", s.mode_why);
	mw_json_str(b, "\ngc_count", s.gc_count);
	mw_json_str(b, "\nruby_jit", s.ruby_jit);
	mw_json_known(b, "\nmajor_gc_count", majors ? *majors : 0, majors);
	mw_json_u64(b, "\nresets", s.resets);
	mw_json_u64(b, "\nbt", s.bt);
	mw_json_u64(b, "\nstacks_rate", s.stacks_rate);
	mw_json_u64(b, "\nstacks", s.stacks);
	mw_json_u64(b, "\nstacks_samples", s.stacks_samples);
	mw_json_u64(b, "\nstacks_first", s.stacks_first);
	mw_json_u64(b, "\nstacks_dropped", s.stacks_dropped);
	mw_json_u64(b, "\nstacks_folded", s.stacks_folded);
	mw_json_u64(b, "\nstacks_ns", s.stacks_ns);
	more(b, &s, ctx);
	options(b, api->options());
	mw_buf_str(b, "\n}\n");
}
