/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reports.c - when reports are made, and by which steps. See reports.h. */
#include "reports.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run_command.h"
#include "due.h"
#include "files.h"
#include "line.h"
#include "server/history/limit.h"
#include "server/pages/pages.h"
#include "shared/sys/clock.h"
#include "shared/sys/log.h"
#include "shared/sys/sys.h"
#include "shared/sys/times.h"
#include "report_thread.h"

enum {
	EXIT_MS = 1500,
	BUSY_MS = 250, /* while another process writes */
	START_S = 60, /* the first report's difference begins then, if the process is older */
	VERDICT_S = 15 / MW_SWIFT, /* between two looks at the verdict */
	TOLD_WORDS = 4
};

static struct {
	int wake;
	bool on;
	char app[MW_REPORT_APP];
	struct mw_report_due due;
	double verdict_next; /* uptime */
	double written; /* uptime of the last report; < 0: none yet */
	uint64_t look_next; /* ms */
	struct mw_log_told told;
	bool told_command;
	/* the report under way */
	struct mw_report_job *job; /* NULL: none */
	int which; /* moment of report_at, or MW_REPORT_AT_MAX */
	int file; /* the next one */
	char cause[96];
	double begun;
} reports;

/* --- names ----------------------------------------------------------------------------------- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Not the program's name: ruby [-x] NAME, bundle exec NAME. */
static bool only_starts(const char *argument)
{
	const char *name = last_part(argument);

	return argument[0] == '-' || !strncmp(name, "ruby", 4) || !strcmp(name, "bundle") ||
	       !strcmp(name, "exec");
}

/* "app.rb" of ruby -w /srv/app.rb; "ruby" if there is no file */
static void name_app(void)
{
	char text[1024];
	size_t n = mw_read_start("/proc/self/cmdline", text, sizeof(text) - 1), at = 0;
	const char *name;

	text[n] = '\0';
	while (at < n && only_starts(text + at) && strcmp(text + at, "-e") != 0)
		at += strlen(text + at) + 1;
	name = last_part(at < n && text[at] && text[at] != '-' ? text + at : text);
	mw_folder_app(reports.app, name, strcspn(name, " "));
}

/* --- one report --------------------------------------------------------------------------------- */

/* RSS reached 1500m */
static void name_cause(int which, const struct mw_options *o)
{
	/* before the option's text, and behind it; NULL: it isn't named */
	static const char *const texts[][2] = {
		[MW_REPORT_SHARE] = { "memory reached ", " of its limit" },
		[MW_REPORT_RSS] = { "RSS reached ", "" },
		[MW_REPORT_GROWTH] = { "the verdict told of a growth for five minutes" },
		[MW_REPORT_OOM] = { "the kernel found no memory within the limit" },
		[MW_REPORT_EXIT] = { "the process exits" },
		[MW_REPORT_ASKED] = { "somebody asked for it" },
	};
	static const struct mw_report_at asked = { .cause = MW_REPORT_ASKED };
	const struct mw_report_at *at = which < (int)MW_REPORT_AT_MAX ? &o->report_at[which] : &asked;
	const char *const *text = texts[at->cause];

	snprintf(reports.cause, sizeof(reports.cause), "%s%s%s", text[0], text[1] ? at->text : "",
		 text[1] ? text[1] : "");
}

static void begin_report(struct mw_site *s, int which)
{
	name_cause(which, s->api->options());
	reports.which = which;
	reports.file = 0;
	reports.begun = mw_site_uptime(s);
	reports.job = mw_report_job_begin(s->api, reports.wake, reports.app);
	if (!reports.job)
		mw_report_was(&reports.due, s->api->options(), which, reports.begun, false);
}

/* One line for each kind of error, in a process and its forks. */
static void complain(const struct mw_report_result *r, const struct mw_options *o)
{
	if (r->command_err && !reports.told_command) {
		mw_log("report_command %s: %s", o->report_command, mw_sys_error(r->command_err));
		reports.told_command = true;
	}
	if (r->err && r->err != EWOULDBLOCK && r->err != ECANCELED && mw_log_first(&reports.told, r->err))
		mw_log("report_dir %s: %s", o->report_dir, mw_sys_error(r->err));
}

static void end_report(struct mw_site *s, const struct mw_report_result *r)
{
	const struct mw_options *o = s->api->options();

	mw_report_job_drop(reports.job);
	reports.job = NULL;
	complain(r, o);
	if (r->err == EWOULDBLOCK || r->err == ECANCELED) { /* the moment stays due */
		reports.look_next = mw_now_ms() + BUSY_MS;
		s->report_asked |= reports.which == (int)MW_REPORT_AT_MAX;
		return;
	}
	mw_report_was(&reports.due, o, reports.which, reports.begun, !r->err);
	if (r->err)
		return;
	reports.written = reports.begun;
	mw_site_event(s, "report", o->report_fd ? o->report_dir : r->name);
}

/* Renders a file if the writer waits for one. */
static void feed(struct mw_site *s)
{
	double start = reports.begun < START_S ? -1 : START_S;
	const struct mw_report_about about = { .app = reports.app,
					       .name = mw_report_job_name(reports.job),
					       .cause = reports.cause,
					       .since = reports.written < 0 ? start : reports.written };
	struct mw_buf text = { 0 };

	if (s->api->options()->report_fd) {
		if (!mw_report_line(&text, s, &about) || text.failed)
			mw_buf_free(&text);
	} else if (reports.file < MW_REPORT_FILES)
		(void)mw_report_render(&text, s, reports.file, &about);
	mw_report_job_give(reports.job, reports.file++, &text);
}

static void go_on_with_report(struct mw_site *s)
{
	struct mw_report_result r;

	if (mw_report_job_over(reports.job, &r))
		end_report(s, &r);
	else if (mw_report_job_takes(reports.job))
		feed(s);
}

/* --- when ------------------------------------------------------------------------------------------ */

static bool asks_for(const struct mw_options *o, enum mw_report_cause cause)
{
	for (unsigned i = 0; i < o->report_at_n; i++)
		if (o->report_at[i].cause == cause)
			return true;
	return false;
}

/* Percent of the last 10 seconds in which all tasks of the group waited for memory: the end is near. */
enum { PRESSED = 20 };

static void look_at_ooms(struct mw_report_facts *f, const struct mw_limits *l)
{
	const uint64_t counts[] = { l->group.oom_events, l->group.oom_kills };

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		if (counts[i] == MW_LIMIT_UNKNOWN)
			continue;
		f->ooms_known = true;
		f->ooms += counts[i];
	}
	f->pressed = l->group.stalled_percent != MW_LIMIT_UNKNOWN && l->group.stalled_percent >= PRESSED;
}

static void gather_report_facts(struct mw_report_facts *f, struct mw_site *s, bool exits)
{
	const struct mw_options *o = s->api->options();
	struct mw_limits l;
	bool share = asks_for(o, MW_REPORT_SHARE), oom = asks_for(o, MW_REPORT_OOM);

	*f = (struct mw_report_facts){
		.now = mw_site_uptime(s), .grows = NAN, .asked = s->report_asked, .exits = exits
	};
	f->rss_known = mw_rss_bytes(s->statm, &f->rss);
	if (share || oom)
		mw_limits_read(&l);
	if (share && l.of) {
		f->limit_known = true;
		f->limit = l.bytes;
		f->used = l.used;
	}
	if (oom)
		look_at_ooms(f, &l);
	if (asks_for(o, MW_REPORT_GROWTH)) {
		if (f->now >= reports.verdict_next) {
			reports.verdict_next = f->now + VERDICT_S;
			(void)mw_site_said(s);
		}
		f->grows = f->now - mw_site_grows_since(s);
	}
}

int mw_reports_look(struct mw_site *s, uint64_t now)
{
	const struct mw_options *o = s->api->options();
	struct mw_report_facts f;
	int which;

	if (!reports.on)
		return -1;
	if (reports.job) {
		go_on_with_report(s); /* the writer wakes the loop */
		return reports.wake < 0 ? 10 : 1000;
	}
	(void)mw_command_reap();
	if (now < reports.look_next && !s->report_asked)
		return (int)(reports.look_next - now);
	gather_report_facts(&f, s, false);
	which = mw_report_is_due(&reports.due, o, &f);
	if (which >= 0) {
		s->report_asked = false;
		begin_report(s, which);
	}
	reports.look_next = now + (uint64_t)mw_report_next_look(&reports.due, o, &f);
	return (int)(reports.look_next - now);
}

/* --- the process -------------------------------------------------------------------------------------- */

void mw_reports_wake(int fd)
{
	reports.wake = fd;
}

void mw_reports_start(const struct mw_api *api)
{
	reports.wake = -1;
	reports.on = api->options()->report_dir;
	reports.due = (struct mw_report_due){ 0 };
	reports.verdict_next = 0;
	reports.look_next = 0;
	reports.written = -1;
	if (reports.on && api->options()->report_fd)
		mw_report_line_start(api->options()->report_fd);
	if (reports.on && !reports.app[0])
		name_app();
}

static void finish(struct mw_site *s, uint64_t until)
{
	while (reports.job && mw_now_ms() < until) {
		go_on_with_report(s);
		mw_sys_nap();
	}
}

void mw_reports_exit(struct mw_site *s)
{
	uint64_t until = mw_now_ms() + EXIT_MS;
	struct mw_report_facts f;
	int which;

	if (!reports.on || !s->api)
		return;
	finish(s, until);
	if (!reports.job && asks_for(s->api->options(), MW_REPORT_EXIT)) {
		gather_report_facts(&f, s, true);
		which = mw_report_is_due(&reports.due, s->api->options(), &f);
		if (which >= 0)
			begin_report(s, which);
		finish(s, until);
	}
	if (reports.job)
		mw_report_job_drop(reports.job);
	reports.job = NULL;
	reports.on = false;
}

void mw_reports_child(void)
{
	reports.job = NULL;
	reports.on = false;
	mw_command_child();
}
