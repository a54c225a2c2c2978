/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * login.c - the login form, POST /login, POST /logout, and the answers to
 * refused requests. routes.c has checked that a POST comes from our own pages.
 */
#include "login.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/*
 * Bytes of the page after login. Percent-encoded it may be thrice as long, and so may the token
 * beside it: both fit MW_LOGIN_BODY_MAX.
 */
#define TO_MAX 800u

/* Is it a page of ours, and nothing that a browser could take for another host? */
static bool own_page(const struct mw_call *call, const char *path, size_t n)
{
	size_t base = strlen(call->req->base);

	return n > base && n <= TO_MAX && !memcmp(path, call->req->base, base) &&
	       mw_own_path(path + base) && strlen(path) == n;
}

/* Writes `path` if it is a page of ours, else the home page. With a NUL. */
static void own_or_first(struct mw_buf *b, const struct mw_call *call, const char *path, size_t n)
{
	if (path && own_page(call, path, n)) {
		mw_buf_add(b, path, n);
	} else {
		mw_buf_str(b, call->req->base);
		mw_buf_str(b, "/");
	}
	mw_buf_add(b, "", 1);
}

struct form {
	const struct mw_call *call;
	const char *said; /* NULL: nothing */
};

static void said(struct mw_buf *b, void *ctx)
{
	const struct form *f = ctx;

	if (!f->said)
		return;
	mw_html_text_in(b, "<p class=\"warning\" role=\"alert\">", f->said, "</p>\n");
}

static void css(struct mw_buf *b, void *ctx)
{
	mw_html_css(b, ((struct form *)ctx)->call);
}

/*
 * Answers with the form, which leads to `path` if that is a page of ours. It shows
 * nothing of the process, since it needs no token.
 */
static void reply_form(struct mw_call *call, int status, const char *path, size_t n, const char *words)
{
	struct form f = { .call = call, .said = words };
	struct mw_buf to = { 0 };

	own_or_first(&to, call, path, n);
	if (to.failed) {
		call->res->body.failed = true; /* routes.c answers 500 */
	} else {
		const struct mw_slot slots[] = {
			{ .name = "base", .text = call->req->base },
			{ .name = "css", .fill = css, .ctx = &f },
			{ .name = "said", .fill = said, .ctx = &f },
			{ .name = "to", .text = to.p },
		};

		mw_reply_form(call, MW_FORM_HTML);
		call->res->status = status;
		mw_template(&call->res->body, "login.html", slots, sizeof(slots) / sizeof(slots[0]));
	}
	mw_buf_free(&to);
}

/* 401 with the form, which leads to the requested page. */
static void reply_form_first(struct mw_call *call)
{
	const struct mw_request *req = call->req;
	struct mw_buf to = { 0 };

	mw_buf_str(&to, req->base);
	mw_buf_str(&to, req->path);
	if (req->query && *req->query) {
		mw_buf_str(&to, "?");
		mw_buf_str(&to, req->query);
	}
	mw_buf_add(&to, "", 1);
	reply_form(call, 401, to.failed ? NULL : to.p, to.n - 1, NULL);
	mw_buf_free(&to);
}

bool mw_admitted(struct mw_call *call)
{
	const struct mw_request *req = call->req;
	bool get = !strcmp(req->method, "GET") || !strcmp(req->method, "HEAD");
	enum mw_knock knock = mw_access_check(req, &call->session);

	switch (knock) {
	case MW_KNOCK_RIGHT:
		return true;
	case MW_KNOCK_LATER:
		mw_reply(call, 429, "too many wrong tokens: try again in a second");
		return false;
	case MW_KNOCK_WRONG:
		mw_reply(call, 401, "refused: that isn't the token");
		return false;
	case MW_KNOCK_NONE:
		break;
	}
	if (get && strstr(mw_header_text(call->req, "Accept"), "text/html"))
		reply_form_first(call);
	else
		mw_reply(call, 401, "refused: log in, or send Authorization: Bearer TOKEN");
	return false;
}

/* --- POST /login ---------------------------------------------------------------- */

/* Behind a proxy with TLS the form's Origin is https: the cookie then gets Secure. */
static void set_cookie(struct mw_call *call, const char *name, const char *more)
{
	struct mw_buf *b = &call->res->cookie;
	char cookie[MW_COOKIE_NAME];

	mw_session_cookie(call->req, cookie);
	mw_buf_fmt(b, "%s=%s; Path=%s/; HttpOnly; SameSite=Strict%s%s", cookie, name, call->req->base, more,
		   strncasecmp(mw_header_text(call->req, "Origin"), "https://", 8) ? "" : "; Secure");
	mw_buf_add(b, "", 1);
}

static const char no_field[] = "a form with the field token is expected";

static void login(struct mw_call *call, const struct mw_params *p)
{
	const char *token = p->v[MW_PARAM_TOKEN].s, *to = p->v[MW_PARAM_TO].s;
	size_t n = p->v[MW_PARAM_TOKEN].n, to_n = p->v[MW_PARAM_TO].n;
	char name[MW_SESSION_NAME];

	if (!token) {
		mw_reply(call, 400, no_field);
		return;
	}
	/* a pasted token may have a line's end */
	while (n && strchr(" \t\r\n", token[n - 1]))
		n--;
	switch (mw_access_try(call->req->access, token, n)) {
	case MW_KNOCK_RIGHT:
		break;
	case MW_KNOCK_LATER:
		reply_form(call, 429, to, to_n, "There were too many wrong tokens. Try again in a second.");
		return;
	default:
		reply_form(call, 401, to, to_n, "That is not the token.");
		return;
	}
	if (!mw_session_start(call->req->access, name)) {
		mw_reply(call, 503, "no session: the system gives no random numbers yet");
		return;
	}
	set_cookie(call, name, "");
	mw_reply(call, 303, "logged in");
	own_or_first(&call->res->location, call, to, to_n);
}

static void take_form(struct mw_call *call)
{
	static const char type[] = "application/x-www-form-urlencoded";
	const struct mw_request *req = call->req;
	struct mw_buf why = { 0 };
	struct mw_params p;
	int bad;

	if (req->body_cut) {
		mw_reply(call, 413, "the form is larger than 4096 bytes");
	} else if (strncasecmp(mw_header_text(call->req, "Content-Type"), type, sizeof(type) - 1)) {
		mw_reply(call, 415, "a form is expected: application/x-www-form-urlencoded");
	} else if (!req->body || strlen(req->body) != req->body_n) {
		mw_reply(call, 400, no_field);
	} else {
		bad = mw_params_parse(&p, req->body, &why);
		if (bad)
			mw_reply_why(call, bad, &why);
		else
			login(call, &p);
		if (p.store)
			explicit_bzero(p.store, req->body_n);
		mw_params_free(&p);
	}
}

void mw_page_login(struct mw_call *call)
{
	if (strcmp(call->req->method, "POST"))
		reply_form(call, 200, NULL, 0, NULL);
	else
		take_form(call);
}

void mw_page_logout(struct mw_call *call)
{
	struct mw_session *s = mw_session_find(call->req);

	if (s)
		mw_session_end(call->req->access, s);
	mw_done(call, "logged out", "Logged out.");
	set_cookie(call, "", "; Max-Age=0");
}
