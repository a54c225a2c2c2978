/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scrape.c - GET /all/metrics: merges the answers of all processes to /metrics.
 * See family.h.
 *
 * The format wants the lines of one metric together: the answers are cut at
 * "# HELP NAME". Each sample gets the label "process", its PID. A metric that
 * only some processes have appears for those.
 */
#include <string.h>

#include "server/report/metrics.h"
#include "gather.h"

static const char help[] = "# HELP ";

/* --- putting answers together ------------------------------------------------------ */

static const char *end_of(const struct mw_answer *p)
{
	return p->n ? p->text + p->n : p->text; /* text may be NULL if n is 0 */
}

/* A line without its end; moves *s behind that. NULL: none is left. */
static const char *take_scraped_line(const char **s, const char *end, size_t *n)
{
	const char *from = *s, *nl;

	if (from >= end)
		return NULL;
	nl = memchr(from, '\n', (size_t)(end - from));
	*n = (size_t)((nl ? nl : end) - from);
	*s = nl ? nl + 1 : end;
	return from;
}

/* The length of NAME in a line "# HELP NAME ..."; 0: another line. */
static size_t help_name(const char *s, size_t n, const char **name)
{
	size_t len = sizeof(help) - 1;

	*name = s + len;
	if (n <= len || memcmp(s, help, len) != 0)
		return 0;
	n -= len;
	for (len = 0; len < n && (*name)[len] != ' ';)
		len++;
	return len;
}

/* The lines of a metric in an answer, behind that of its help; NULL: it isn't there. */
static const char *find_metric_lines(const struct mw_answer *p, const char *name, size_t len)
{
	const char *s = p->text, *end = end_of(p), *at, *found;
	size_t n;

	while ((at = take_scraped_line(&s, end, &n)))
		if (help_name(at, n, &found) == len && !memcmp(found, name, len))
			return s;
	return NULL;
}

static void put_process_label(struct mw_buf *to, const char *before, long pid, uint64_t shown)
{
	mw_buf_str(to, before);
	mw_put_process(to, pid, shown, false);
	mw_buf_str(to, "\"");
}

/* NAME{a="b"} 1 -> NAME{process="12",a="b"} 1 */
static void sample(struct mw_buf *to, const char *s, size_t n, const struct mw_answer *p)
{
	size_t name = 0;
	bool labels;

	while (name < n && s[name] != '{' && s[name] != ' ')
		name++;
	labels = name < n && s[name] == '{';
	mw_buf_add(to, s, name);
	s += name + labels;
	n -= name + labels;
	put_process_label(to, "{process=\"", p->pid, p->shown);
	mw_buf_str(to, !labels ? "}" : n && *s == '}' ? "" : ",");
	mw_buf_add(to, s, n);
	mw_buf_str(to, "\n");
}

/* Appends the lines up to the next metric. comments: its comments, else its samples. */
static void put_metric_lines(struct mw_buf *to, const struct mw_answer *p, const char *s, bool comments)
{
	const char *end = end_of(p), *at, *name;
	size_t n;

	while ((at = take_scraped_line(&s, end, &n)) && !help_name(at, n, &name)) {
		if (n && *at != '#' && !comments) {
			sample(to, at, n, p);
		} else if (n && *at == '#' && comments && !(n == 5 && !memcmp(at, "# EOF", 5))) {
			mw_buf_add(to, at, n);
			mw_buf_str(to, "\n");
		}
	}
}

/* Was the metric in an earlier answer, or further up in this one? s: behind its help. */
static bool said_before(const struct mw_answer *p, size_t i, const char *name, size_t len, const char *s)
{
	for (size_t k = 0; k < i; k++)
		if (find_metric_lines(&p[k], name, len))
			return true;
	return find_metric_lines(&p[i], name, len) != s;
}

void mw_scrape_merge(struct mw_buf *to, const struct mw_answer *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *s = p[i].text, *end = end_of(&p[i]), *at, *name, *found;
		size_t len, size;

		while ((at = take_scraped_line(&s, end, &size))) {
			len = help_name(at, size, &name);
			if (!len || said_before(p, i, name, len, s))
				continue;
			mw_buf_add(to, at, size);
			mw_buf_str(to, "\n");
			put_metric_lines(to, &p[i], s, true);
			for (size_t k = i; k < n; k++)
				if ((found = find_metric_lines(&p[k], name, len)))
					put_metric_lines(to, &p[k], found, false);
		}
	}
}

/* --- the page ------------------------------------------------------------------------ */

/* The processes: each one's title, and whether it has answered. */
static void who(struct mw_buf *to, const struct mw_gathered *g, const struct mw_answer *p, size_t n)
{
	mw_buf_str(to, "# HELP mwrap_process_info 1, for the title of each process, and who has the socket's path.\n"
		       "# TYPE mwrap_process_info gauge\n");
	for (size_t i = 0; i < g->n; i++) {
		struct mw_process_facts facts;
		unsigned labels = 1;

		if (!g->replies[i].pid)
			continue;
		mw_reply_facts(&g->replies[i], &facts);
		put_process_label(to, "mwrap_process_info{process=\"", g->replies[i].pid,
				  g->replies[i].shown);
		mw_metrics_label(to, &labels, "title", facts.title, strlen(facts.title));
		mw_buf_fmt(to, ",owner=\"%d\"} 1\n", g->replies[i].owner);
	}
	mw_buf_str(to, "# HELP mwrap_process_answers 1 if the process has answered, else "
		       "its other metrics aren\xe2\x80\x99t here.\n"
		       "# TYPE mwrap_process_answers gauge\n");
	for (size_t i = 0; i < g->n; i++) {
		bool answers = false;

		for (size_t k = 0; k < n; k++)
			answers |= p[k].pid == g->replies[i].pid && p[k].shown == g->replies[i].shown;
		if (!g->replies[i].pid)
			continue;
		put_process_label(to, "mwrap_process_answers{process=\"", g->replies[i].pid,
				  g->replies[i].shown);
		mw_buf_fmt(to, "} %d\n", answers);
	}
}

void mw_page_all_metrics(struct mw_call *call, const struct mw_family *f, const struct mw_request *req)
{
	static const char *const names[] = { "Host", "Accept", NULL };
	struct mw_buf *to = &call->res->body;
	struct mw_answers a;

	if (!mw_answers_get(&a, call, f, req, names, true))
		return;
	call->res->status = a.own.status;
	call->res->content_type = a.own.content_type;
	who(to, &a.g, a.v, a.n);
	mw_scrape_merge(to, a.v, a.n);
	if (a.own.body.n > 6 && !memcmp(a.own.body.p + a.own.body.n - 6, "# EOF\n", 6))
		mw_buf_str(to, "# EOF\n");
	mw_answers_free(&a);
}
