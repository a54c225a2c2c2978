/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overall.c - GET /all/verdict: what all processes say of themselves, in one sentence.
 *
 * Memory isn't added up here: growth that processes share has one line, and each of them names
 * it. So this counts those that grow, repeats what the fastest one says, and names the next ones
 * with their rates.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "server/verdict/verdict.h"
#include "gather.h"
#include "shared/sys/times.h"
#include "shared/text/json.h"

enum { NAMED = 4 }; /* processes that grow, at most */

struct overall {
	size_t all;        /* processes */
	size_t said[MW_VERDICT_KINDS_N]; /* how many say that kind */
	size_t grow, silent; /* silent: answered, and has no sentence */
	size_t mute; /* didn't answer */
	/* that grow, the fastest first; NULL: none grows */
	const struct mw_reply_of *fastest[NAMED];
	size_t named;
	const struct mw_reply_of *slow; /* of those in which all but a location rests, the one that grows fastest; NULL */
	const struct mw_reply_of *watched; /* of those without a verdict yet, the longest; NULL: none */
};

/* False: it says nothing. */
static bool kind_of_reply(const struct mw_reply_of *v, enum mw_verdict_kind *kind)
{
	const struct mw_self *self = &v->wire.self;

	if (!self->kind[0] || !self->sentence)
		return false;
	for (int k = 0; k < MW_VERDICT_KINDS_N; k++) {
		*kind = (enum mw_verdict_kind)k;
		if (!strcmp(self->kind, mw_verdict_name(*kind)))
			return true;
	}
	return false; /* of another version */
}

static void count_reply(struct overall *o, const struct mw_reply_of *v)
{
	enum mw_verdict_kind kind;
	size_t at = 0;

	o->all++;
	if (v->error) {
		o->mute++;
		return;
	}
	if (!kind_of_reply(v, &kind)) {
		o->silent++;
		return;
	}
	o->said[kind]++;
	if (kind == MW_VERDICT_WATCHING && (!o->watched || v->wire.self.n > o->watched->wire.self.n))
		o->watched = v;
	if (!mw_verdict_grows(kind)) {
		bool rests =
			kind == MW_VERDICT_FLAT || kind == MW_VERDICT_SAWTOOTH; /* their own rate is 0 */

		if (rests && v->wire.self.rate > 0 &&
		    (!o->slow || v->wire.self.rate > o->slow->wire.self.rate))
			o->slow = v;
		return;
	}
	o->grow++;
	while (at < o->named && v->wire.self.rate <= o->fastest[at]->wire.self.rate)
		at++;
	if (at == NAMED)
		return;
	o->named += o->named < NAMED;
	for (size_t i = o->named - 1; i > at; i--)
		o->fastest[i] = o->fastest[i - 1];
	o->fastest[at] = v;
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

static void put_process(struct mw_buf *b, const struct mw_reply_of *v, bool json)
{
	mw_put_process(b, v->pid, v->shown, json);
}

/* " Process 12 grows by 1.20 MB a minute, 13 by 900 KB, and 2 more." */
static void others(struct mw_buf *b, const struct overall *o)
{
	for (size_t i = 1; i < o->named; i++) {
		int64_t rate = o->fastest[i]->wire.self.rate;
		const char *unit;

		mw_buf_str(b, i == 1 ? " Process " : ", ");
		put_process(b, o->fastest[i], false);
		mw_buf_str(b, i == 1 ? " grows by " : " by ");
		unit = mw_buf_amount(b, rate > 0 ? (uint64_t)rate : 0, false);
		mw_buf_fmt(b, i == 1 ? " %s a minute" : " %s", unit);
	}
	if (o->grow > o->named)
		mw_buf_fmt(b, ", and %zu more", o->grow - o->named);
	if (o->named > 1)
		mw_buf_str(b, ".");
}

/* Has any process been watched for long enough to tell whether it grows? */
static bool any_is_told(const struct overall *o)
{
	return o->all > o->said[MW_VERDICT_WARMING] + o->said[MW_VERDICT_WATCHING] +
				o->said[MW_VERDICT_PAUSED] + o->silent + o->mute;
}

static const char *silence_of(int error)
{
	return error == EPROTO ? ": another version of mwrap." :
	       error == EACCES ? ": may not be asked." :
				 NULL;
}

/* " 2124, 2125 didn't answer within 1.5 s." Those with this reason; NULL: they were asked, and were late. */
static void mute_for(struct mw_buf *b, const struct mw_gathered *g, const char *reason)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++) {
		const struct mw_reply_of *v = &g->replies[i];

		if (!v->error || silence_of(v->error) != reason)
			continue;
		mw_buf_str(b, n++ ? ", " : " ");
		if (v->pid)
			put_process(b, v, false);
		else
			mw_buf_str(b, "one whose number isn\xe2\x80\x99t known");
	}
	if (!n)
		return;
	mw_buf_str(b, reason ? reason : " didn\xe2\x80\x99t answer within ");
	if (!reason)
		mw_buf_fmt(b, "%u.%u s.", MW_FAMILY_MS / 1000u, MW_FAMILY_MS % 1000u / 100u);
}

static void all_mute(struct mw_buf *b, const struct mw_gathered *g)
{
	static const int errors[] = { ETIMEDOUT, EPROTO, EACCES };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		mute_for(b, g, silence_of(errors[i]));
}

void mw_overall_missing(struct mw_buf *b, const struct mw_gathered *g)
{
	if (g->answered == g->n)
		return;
	mw_buf_fmt(b, "%zu of ", g->answered);
	processes(b, g->n);
	mw_buf_str(b, g->answered == 1 ? " is in this sum." : " are in this sum.");
	all_mute(b, g);
}

static void overall_sentence(struct mw_buf *b, const struct overall *o, const struct mw_gathered *g)
{
	const struct mw_reply_of *most = o->fastest[0];

	if (most) {
		mw_buf_fmt(b, "%zu of ", o->grow);
		processes(b, o->all);
		mw_buf_str(b, o->grow == 1 ? " grows" : " grow");
	} else {
		mw_buf_str(b, !any_is_told(o) ? "No verdict yet on " :
			      o->slow         ? "Nothing large grows in " :
						"Nothing grows in ");
		processes(b, o->all);
	}
	also(b, o->said[MW_VERDICT_WARMING], "still warms up", "still warm up");
	also(b, o->said[MW_VERDICT_WATCHING], "has not been watched long enough",
	     "have not been watched long enough");
	also(b, o->said[MW_VERDICT_PAUSED], "is paused", "are paused");
	also(b, o->silent, "does not say", "do not say");
	mw_buf_str(b, ".");
	all_mute(b, g);
	if (!most) /* else one that is watched says when its first verdict comes */
		most = any_is_told(o) ? o->slow : o->watched;
	if (!most)
		return;
	mw_buf_str(b, " Process ");
	put_process(b, most, false);
	mw_buf_str(b, ": ");
	mw_buf_utf8(b, most->wire.self.sentence, strlen(most->wire.self.sentence));
	others(b, o);
}

static void count_all(struct overall *o, const struct mw_gathered *g)
{
	for (size_t i = 0; i < g->n; i++)
		count_reply(o, &g->replies[i]);
}

const struct mw_reply_of *mw_overall_say(struct mw_buf *b, const struct mw_gathered *g)
{
	struct overall o = { 0 };

	count_all(&o, g);
	overall_sentence(b, &o, g);
	return o.fastest[0];
}

static void next(struct mw_buf *b, const struct overall *o, const char *base)
{
	if (!o->named)
		return;
	mw_buf_str(b, "Next step: ");
	mw_buf_str(b, base);
	mw_buf_str(b, "/");
	put_process(b, o->fastest[0], false);
	mw_buf_str(b, "/verdict.");
}

static void overall_json(struct mw_buf *b, const struct overall *o, struct mw_buf *said, struct mw_buf *step)
{
	const struct mw_reply_of *most = o->fastest[0];

	mw_buf_str(b, "{");
	mw_json_i64(b, "self", getpid());
	mw_json_bool(b, "\ngrowing", most);
	mw_json_take(b, "\nsentence", said);
	mw_json_take(b, "\nnext", step);
	mw_json_u64(b, "\nprocesses", o->all);
	mw_json_u64(b, "\ngrow", o->grow);
	mw_json_u64(b, "\nsilent", o->silent + o->mute);
	mw_json_open(b, "\nkinds", '{');
	for (int k = 0; k < MW_VERDICT_KINDS_N; k++)
		if (o->said[k])
			mw_json_u64(b, mw_verdict_name((enum mw_verdict_kind)k), o->said[k]);
	mw_buf_str(b, "}");
	mw_json_open(b, "\nfastest", '[');
	for (size_t i = 0; i < o->named; i++) {
		const struct mw_self *self = &o->fastest[i]->wire.self;

		mw_json_open(b, i ? "\n" : NULL, '{');
		mw_json_key(b, "pid");
		put_process(b, o->fastest[i], true);
		mw_json_str(b, "kind", self->kind);
		mw_json_i64(b, "rate_bytes_per_minute", self->rate);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "]");
	mw_json_key(b, "\npid");
	if (most)
		put_process(b, most, true);
	else
		mw_buf_str(b, "null");
	mw_json_str(b, "\nkind", most ? most->wire.self.kind : NULL);
	mw_json_i64(b, "\nrate_bytes_per_minute", most ? most->wire.self.rate : 0);
	mw_buf_str(b, "}\n");
}

/* Is a range of time given? Each process has an uptime of its own. */
static bool ranged(struct mw_call *call)
{
	const struct mw_params *p = &call->params;
	bool is = mw_refused(call, mw_params_parse(&call->params, call->req->query, &call->why));

	if (!is && (p->v[MW_PARAM_RANGE].s || p->v[MW_PARAM_FROM].s || p->v[MW_PARAM_TO].s)) {
		mw_reply(call, 400, "range, from and to: of one process only: /PID/verdict");
		is = true;
	}
	mw_params_free(&call->params);
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
	count_all(&o, &g);
	overall_sentence(&said, &o, &g);
	next(&step, &o, call->req->base);
	mw_reply_form(call, form);
	if (form == MW_FORM_JSON) {
		overall_json(b, &o, &said, &step);
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
