/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gather.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/sys/namespace.h"
#include "shared/sys/times.h"
#include "ask.h"

/* A member that doesn't say its namespace is of this one. */
static bool is_self(long pid, uint64_t ns)
{
	return pid == (long)getpid() && (!ns || ns == mw_pid_namespace());
}

static bool is_own(const struct mw_member *m)
{
	uint64_t ns;
	long pid;

	return m->pid == (long)getpid() && mw_member_identify(m, &pid, &ns) && is_self(pid, ns);
}

/*
 * The members, without those that are this process by their name. own: with these, too: only the
 * server's thread has this process's history, and it answers there. NULL: no memory.
 */
static struct mw_member *others(const struct mw_family *f, bool own, size_t *n)
{
	size_t all, used = 0;
	struct mw_member *m = mw_members(f, &all);

	for (size_t i = 0; i < all; i++)
		if (own || !is_own(&m[i]))
			m[used++] = m[i];
	*n = used;
	return m ? m : calloc(1, sizeof(*m)); /* no folder: an empty family */
}

/* Is the socket stale, or an impostor's? */
static bool gone(const struct mw_ask *a)
{
	return a->error == ECONNREFUSED || a->error == ENOENT || a->error == MW_STRANGER;
}

static void hear_self(struct mw_reply_of *v, const struct mw_api *api, enum mw_wire_what what,
		      const char *at)
{
	struct mw_buf b = { 0 };
	size_t len = strlen(at);
	char *location = malloc(len + 1);
	long n = location ? mw_percent_decode(at, len, location, false) : -1;

	*v = (struct mw_reply_of){ .pid = (long)getpid(), .ns = mw_pid_namespace(), .error = ENOMEM };
	if (n < 0) /* broken: "" is no location */
		n = 0;
	if (!location || mw_wire_write(&b, api, what, location, (size_t)n))
		mw_buf_free(&b);
	else if (!mw_wire_read(&v->wire, b.p, b.n)) /* takes ownership of b.p in any case */
		v->error = 0;
	free(location);
}

static void hear(struct mw_reply_of *v, struct mw_ask *a, const struct mw_member *m)
{
	size_t n = a->answer.n - a->body;

	*v = (struct mw_reply_of){ .error = a->error };
	(void)mw_member_identify(m, &v->pid, &v->ns);
	strcpy(v->socket, a->socket);
	if (a->error)
		return;
	v->error = EPROTO;
	if (a->status != 200)
		return;
	memmove(a->answer.p, a->answer.p + a->body, n);
	if (!mw_wire_read(&v->wire, a->answer.p, n)) {
		v->error = 0;
		v->pid = v->wire.pid;
		v->ns = v->wire.ns;
	}
	a->answer = (struct mw_buf){ 0 }; /* mw_wire_read() took ownership */
}

static int reply_cmp(const void *a, const void *b)
{
	const struct mw_reply_of *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (!x->error != !y->error) /* the one that answered comes first, */
		return x->error ? 1 : -1;
	if (x->wire.self.n != y->wire.self.n) /* with its history, */
		return x->wire.self.n > y->wire.self.n ? -1 : 1;
	return !x->socket[0] - !y->socket[0]; /* with its endpoint */
}

/* Sorts by PID, and unites the replies of a process that listens on two sockets. */
static void unite(struct mw_gathered *g)
{
	size_t used = 0;

	qsort(g->replies, g->n, sizeof(*g->replies), reply_cmp);
	for (size_t i = 0; i < g->n; i++) {
		if (used && g->replies[used - 1].pid == g->replies[i].pid &&
		    g->replies[used - 1].ns == g->replies[i].ns) {
			g->replies[used - 1].owner |= g->replies[i].owner;
			mw_wire_free(&g->replies[i].wire);
		} else {
			g->replies[used++] = g->replies[i];
		}
	}
	g->n = used;
	for (size_t i = 1; i < used; i++) {
		struct mw_reply_of *a = &g->replies[i - 1], *b = a + 1;

		if (a->pid == b->pid) {
			a->shown = a->ns;
			b->shown = b->ns;
		}
	}
}

uint64_t mw_own_shown(const struct mw_gathered *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (is_self(g->replies[i].pid, g->replies[i].ns))
			return g->replies[i].shown;
	return 0;
}

void mw_reply_facts(const struct mw_reply_of *v, struct mw_process_facts *f)
{
	*f = (struct mw_process_facts){ 0 };
	if (v->pid > 0 && (!v->ns || v->ns == mw_pid_namespace()))
		mw_process_facts(v->pid, f);
}

static void target_of(struct mw_buf *b, enum mw_wire_what what, const char *at)
{
	bool stacks = what == MW_WIRE_STACKS || what == MW_WIRE_GROWN;

	mw_buf_str(b, what == MW_WIRE_SELF ? "/family/self" :
		      what == MW_WIRE_DIFF ? "/family/diff" :
		      stacks               ? "/family/stacks" :
					     "/family/table");
	if (what == MW_WIRE_AT || what == MW_WIRE_GROWN || what == MW_WIRE_DIFF) {
		mw_buf_str(b, what == MW_WIRE_AT ? "?location=" : "?");
		mw_buf_str(b, at);
	}
	mw_buf_add(b, "", 1);
}

/* Asks the others, and adds their replies to g. */
static void ask_others(struct mw_gathered *g, const struct mw_family *f, const struct mw_member *m,
		       struct mw_ask *asks, size_t n, const char *target)
{
	for (size_t i = 0; i < n; i++) {
		mw_ask_begin(&asks[i], m[i].socket, "GET", target);
		mw_ask_header(&asks[i], MW_RELAYED, "/");
		mw_ask_token(&asks[i], f->token);
	}
	mw_ask_all(asks, n, MW_FAMILY_MS);
	for (size_t i = 0; i < n; i++) {
		if (gone(&asks[i]))
			continue;
		hear(&g->replies[g->n], &asks[i], &m[i]);
		g->replies[g->n++].owner = !m[i].pid && f->path[0];
	}
}

int mw_gather(struct mw_gathered *g, const struct mw_family *f, const struct mw_api *api,
	      enum mw_wire_what what, const char *at)
{
	struct mw_buf target = { 0 };
	bool sites = what == MW_WIRE_GROWN || what == MW_WIRE_DIFF; /* only the site knows */
	struct mw_member *m;
	struct mw_ask *asks;
	size_t n;

	*g = (struct mw_gathered){ 0 };
	target_of(&target, what, at);
	m = others(f, what == MW_WIRE_SELF || sites, &n);
	asks = calloc(n + 1, sizeof(*asks));
	g->replies = calloc(n + 1, sizeof(*g->replies));
	g->parts = calloc(n + 1, sizeof(*g->parts));
	if (m && asks && g->replies && g->parts && !target.failed) {
		ask_others(g, f, m, asks, n, target.p);
		if (!sites)
			hear_self(&g->replies[g->n++], api, what, at);
		unite(g);
		for (size_t i = 0; i < g->n; i++)
			if (!g->replies[i].error)
				g->parts[g->answered++].wire = &g->replies[i].wire;
	}
	for (size_t i = 0; asks && i < n; i++)
		mw_ask_free(&asks[i]);
	free(asks);
	free(m);
	mw_buf_free(&target);
	if (g->n)
		return 0;
	mw_gathered_free(g);
	return -1;
}

void mw_gathered_free(struct mw_gathered *g)
{
	for (size_t i = 0; i < g->n; i++)
		mw_wire_free(&g->replies[i].wire);
	free(g->replies);
	free(g->parts);
	*g = (struct mw_gathered){ 0 };
}

/* --- POST ------------------------------------------------------------------------------ */

/* Each must answer with a line of text. */
static const char *header_but_accept(void *ctx, const char *name)
{
	const struct mw_request *req = ctx;

	if (!strcmp(name, "Accept") || !strcmp(name, "Accept-Encoding"))
		return NULL;
	return req->header ? req->header(req->ctx, name) : NULL;
}

static void heard(struct mw_did *did, int status, const char *text, size_t n)
{
	did->asked++;
	if (status == 200 && did->status != 200) {
		did->said.n = 0;
		did->status = 0;
	}
	did->done += status == 200;
	if (did->status || !status)
		return;
	did->status = status;
	while (n && text[n - 1] == '\n')
		n--;
	mw_buf_add(&did->said, text, n);
}

void mw_ask_for_replies(struct mw_ask *asks, const struct mw_gathered *g, const struct mw_family *f,
			const char *method, const char *target, const struct mw_request *req,
			const char *const *names, bool own)
{
	for (size_t i = 0; i < g->n; i++) {
		struct mw_ask *a = &asks[i];
		const struct mw_reply_of *v = &g->replies[i];

		*a = (struct mw_ask){ .fd = -1 };
		if ((!own && is_self(v->pid, v->ns)) || !v->socket[0] || v->error)
			continue;
		mw_ask_begin(a, v->socket, method, target);
		if (!strcmp(method, "POST"))
			mw_ask_header(a, "Content-Length", "0");
		mw_ask_token(a, f->token);
		for (size_t k = 0; names[k]; k++) {
			const char *value = req->header ? req->header(req->ctx, names[k]) : NULL;

			if (value)
				mw_ask_header(a, names[k], value);
		}
	}
	mw_ask_all(asks, g->n, MW_FAMILY_MS);
}

static void have_it_done(struct mw_did *did, const struct mw_family *f, const struct mw_gathered *g,
			 struct mw_ask *asks, const struct mw_request *req, const char *rest, bool own)
{
	static const char *const names[] = { "Host", "Origin", "Sec-Fetch-Site", "X-Mwrap-BT", NULL };
	struct mw_buf target = { 0 };

	mw_buf_str(&target, rest);
	if (req->query && *req->query) {
		mw_buf_str(&target, "?");
		mw_buf_str(&target, req->query);
	}
	mw_buf_add(&target, "", 1);
	mw_ask_for_replies(asks, g, f, req->method, target.failed ? rest : target.p, req, names, own);
	for (size_t i = 0; i < g->n; i++) {
		struct mw_ask *a = &asks[i];

		if (a->socket && !gone(a))
			heard(did, a->error ? 0 : a->status, a->answer.p + a->body, a->answer.n - a->body);
		else if (!a->socket && g->replies[i].error)
			did->asked++; /* it counts, but can't be asked */
		if (a->socket)
			mw_ask_free(a);
	}
	mw_buf_free(&target);
}

/* A named mark is the site's, so each process is asked by its server, this one, too. */
static bool is_of_sites(const struct mw_request *req, const char *rest)
{
	struct mw_buf why = { 0 };
	struct mw_params p;
	bool is = false;

	if (mw_page_all(rest) == MW_ALL_MARK) {
		is = !mw_params_parse(&p, req->query, &why) && p.v[MW_PARAM_NAME].s;
		mw_params_free(&p);
	}
	mw_buf_free(&why);
	return is;
}

int mw_all_do(struct mw_did *did, const struct mw_family *f, const struct mw_api *api,
	      const struct mw_request *req, const char *rest)
{
	struct mw_request own = *req;
	struct mw_gathered g = { 0 };
	struct mw_response res;
	struct mw_ask *asks = NULL;
	bool failed = false, by_sites = is_of_sites(req, rest);

	*did = (struct mw_did){ 0 };
	own.path = rest;
	own.site = NULL; /* only the server's thread may touch the site */
	own.header = header_but_accept;
	own.ctx = (void *)(uintptr_t)req;
	mw_route(api, &own, &res);
	by_sites = by_sites && res.status == 503; /* nothing but the site is missing here */
	if (!by_sites)
		heard(did, res.status, res.body.p, res.body.n);
	mw_response_free(&res);
	if (by_sites || did->status == 200) { /* if it fails here, no other process is asked */
		failed = mw_gather(&g, f, api, MW_WIRE_SELF, "") != 0;
		asks = failed ? NULL : calloc(g.n + 1, sizeof(*asks));
		if (asks)
			have_it_done(did, f, &g, asks, req, rest, by_sites);
		failed |= !asks;
	}
	if (by_sites && !did->status) {
		did->status = 504;
		mw_buf_str(&did->said, "no process of this family answers");
	}
	free(asks);
	mw_gathered_free(&g);
	mw_buf_add(&did->said, "", 1);
	if (!failed && !did->said.failed)
		return 0;
	mw_buf_free(&did->said);
	return -1;
}
