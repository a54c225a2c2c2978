/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overall.c - GET /all/verdict: what all processes say of themselves, in one sentence.
 *
 * Memory isn't added up here: growth that processes share has one line, and each of them names
 * it. So this counts those that grow, and repeats the one that grows fastest.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/live/verdict.h"
#include "gather.h"

struct overall {
	size_t all;        /* processes */
	size_t said[MW_VERDICT_KINDS_N]; /* how many say that kind */
	size_t grow, silent;
	const struct mw_reply_of *most;  /* grows fastest; NULL: none grows */
};

/* False: it says nothing. */
static bool kind_of(const struct mw_reply_of *v, enum mw_verdict_kind *kind)
{
	const struct mw_self *self = &v->wire.self;

	if (v->error || !self->kind[0] || !self->sentence)
		return false;
	for (int k = 0; k < MW_VERDICT_KINDS_N; k++) {
		*kind = (enum mw_verdict_kind)k;
		if (!strcmp(self->kind, mw_verdict_name(*kind)))
			return true;
	}
	return false; /* of another version */
}

static void count(struct overall *o, const struct mw_reply_of *v)
{
	enum mw_verdict_kind kind;

	o->all++;
	if (!kind_of(v, &kind)) {
		o->silent++;
		return;
	}
	o->said[kind]++;
	if (!mw_verdict_grows(kind))
		return;
	o->grow++;
	if (!o->most || v->wire.self.rate > o->most->wire.self.rate)
		o->most = v;
}

static void processes(struct mw_buf *b, size_t n)
{
	mw_buf_fmt(b, n == 1 ? "%zu process" : "%zu processes", n);
}

/* ", 2 still warm up" */
static void also(struct mw_buf *b, size_t n, const char *one, const char *many)
{
	if (n)
		mw_buf_fmt(b, ", %zu %s", n, n == 1 ? one : many);
}

static void sentence(struct mw_buf *b, const struct overall *o)
{
	if (o->most) {
		mw_buf_fmt(b, "%zu of ", o->grow);
		processes(b, o->all);
		mw_buf_str(b, o->grow == 1 ? " grows" : " grow");
	} else {
		mw_buf_str(b, "Nothing grows in ");
		processes(b, o->all);
	}
	also(b, o->said[MW_VERDICT_WARMING], "still warms up", "still warm up");
	also(b, o->said[MW_VERDICT_WATCHING], "has not been watched long enough",
	     "have not been watched long enough");
	also(b, o->said[MW_VERDICT_PAUSED], "is paused", "are paused");
	also(b, o->silent, "does not say", "do not say");
	mw_buf_str(b, ".");
	if (!o->most)
		return;
	mw_buf_fmt(b, " Process %ld: ", o->most->pid);
	mw_buf_utf8(b, o->most->wire.self.sentence, strlen(o->most->wire.self.sentence));
}

static void next(struct mw_buf *b, const struct overall *o, const char *base)
{
	if (!o->most)
		return;
	mw_buf_str(b, "What to do next: ");
	mw_buf_str(b, base);
	mw_buf_fmt(b, "/%ld/verdict.", o->most->pid);
}

static void string(struct mw_buf *b, const char *key, const struct mw_buf *text)
{
	mw_buf_fmt(b, ",\n\"%s\":", key);
	mw_buf_json(b, text->p ? text->p : "", text->n);
}

static void json(struct mw_buf *b, const struct overall *o, const struct mw_buf *said,
		 const struct mw_buf *step)
{
	bool first = true;

	mw_buf_fmt(b, "{\"self\":%ld,\n\"growing\":%s", (long)getpid(), o->most ? "true" : "false");
	string(b, "sentence", said);
	string(b, "next", step);
	mw_buf_fmt(b, ",\n\"processes\":%zu,\n\"grow\":%zu,\n\"silent\":%zu,\n\"kinds\":{", o->all,
		   o->grow, o->silent);
	for (int k = 0; k < MW_VERDICT_KINDS_N; k++) {
		if (!o->said[k])
			continue;
		mw_buf_fmt(b, "%s\"%s\":%zu", first ? "" : ",", mw_verdict_name((enum mw_verdict_kind)k),
			   o->said[k]);
		first = false;
	}
	mw_buf_str(b, "},\n\"pid\":");
	if (o->most)
		mw_buf_i64(b, o->most->pid);
	else
		mw_buf_str(b, "null");
	mw_buf_str(b, ",\n\"kind\":");
	if (o->most)
		mw_buf_json(b, o->most->wire.self.kind, strlen(o->most->wire.self.kind));
	else
		mw_buf_str(b, "null");
	mw_buf_str(b, ",\n\"rate_bytes_per_minute\":");
	mw_buf_i64(b, o->most ? o->most->wire.self.rate : 0);
	mw_buf_str(b, "}\n");
}

/* Is a range of time given? Each process has an uptime of its own. */
static bool ranged(struct mw_call *call)
{
	struct mw_buf why = { 0 };
	struct mw_params p;
	int bad = mw_params_parse(&p, call->req->query, &why);
	bool is = bad || p.v[MW_PARAM_RANGE].s || p.v[MW_PARAM_FROM].s || p.v[MW_PARAM_TO].s;

	if (bad)
		mw_reply_why(call, bad, &why);
	else if (is)
		mw_reply(call, 400, "range, from and to: of one process only: /PID/verdict");
	mw_params_free(&p);
	mw_buf_free(&why);
	return is;
}

void mw_page_all_verdict(struct mw_call *call, const struct mw_family *f, enum mw_form form)
{
	struct mw_buf *b = &call->res->body, said = { 0 }, step = { 0 };
	struct overall o = { 0 };
	struct mw_gathered g;

	if (ranged(call))
		return;
	if (mw_gather(&g, f, call->api, MW_WIRE_SELF, "")) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < g.n; i++)
		count(&o, &g.replies[i]);
	sentence(&said, &o);
	next(&step, &o, call->req->base);
	mw_reply_form(call, form);
	if (form == MW_FORM_JSON) {
		json(b, &o, &said, &step);
	} else {
		call->res->content_type = "text/plain; charset=utf-8";
		mw_buf_add(b, said.p, said.n);
		mw_buf_str(b, "\n");
		mw_buf_add(b, step.p, step.n);
		mw_buf_str(b, step.n ? "\n" : "");
	}
	b->failed |= said.failed || step.failed;
	mw_buf_free(&said);
	mw_buf_free(&step);
	mw_gathered_free(&g);
}
