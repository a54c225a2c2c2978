/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "message.h"

#include <string.h>

/* Every response has one of these three, then the next two. */
static const struct mw_header no_store = { "Cache-Control", "no-store" };
static const struct mw_header ask_again = { "Cache-Control", "no-cache" };
static const struct mw_header for_ever = { "Cache-Control", "max-age=31536000, immutable" };
static const struct mw_header nosniff = { "X-Content-Type-Options", "nosniff" };
/* not "no-referrer": with that, browsers say "Origin: null" for our own forms */
static const struct mw_header referrer = { "Referrer-Policy", "same-origin" };
/* with 401, and with 429 */
static const struct mw_header challenge = { "WWW-Authenticate", "Bearer realm=\"mwrap\"" };
static const struct mw_header retry = { "Retry-After", "1" };
/* with HTML, without and with a script of ours */
static const struct mw_header policy = {
	"Content-Security-Policy",
	"default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
	"base-uri 'none'; frame-ancestors 'none'"
};
static const struct mw_header script_policy = {
	"Content-Security-Policy",
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
	"img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
};
/* with assets, and with what is compressed */
static const struct mw_header vary = { "Vary", "Accept-Encoding" };
static const struct mw_header gzipped = { "Content-Encoding", "gzip" };

/* The i-th header of another process's answer. */
static bool passed(const struct mw_response *res, size_t i, struct mw_header *h)
{
	const char *s = res->passed.p, *end = s + res->passed.n;

	for (; s < end; i--) {
		h->name = s;
		h->value = s + strlen(s) + 1;
		if (!i)
			return true;
		s = h->value + strlen(h->value) + 1;
	}
	return false;
}

bool mw_response_header(const struct mw_response *res, size_t i, struct mw_header *h)
{
	bool html = res->content_type && !strncmp(res->content_type, "text/html", 9);
	const struct mw_header *all[10];
	size_t n = 0;

	if (res->passed.n)
		return passed(res, i, h);

	all[n++] = !res->etag ? &no_store : res->forever ? &for_ever : &ask_again;
	all[n++] = &nosniff;
	all[n++] = &referrer;
	if (res->status == 401)
		all[n++] = &challenge;
	if (res->status == 429)
		all[n++] = &retry;
	if (html)
		all[n++] = res->script ? &script_policy : &policy;
	if (res->etag)
		all[n++] = res->etag;
	if (res->etag || res->gzip)
		all[n++] = &vary;
	if (res->gzip)
		all[n++] = &gzipped;
	if (i < n)
		*h = *all[i];
	return i < n;
}

void mw_response_free(struct mw_response *res)
{
	mw_buf_free(&res->body);
	mw_buf_free(&res->location);
	mw_buf_free(&res->passed);
	mw_buf_free(&res->cookie);
	mw_buf_free(&res->event_text);
}

void mw_response_static(struct mw_response *res, int status, const char *type, const void *p, size_t n)
{
	mw_response_free(res);
	res->status = status;
	res->content_type = type;
	res->asset = p;
	res->asset_len = n;
}

void mw_response_no_memory(struct mw_response *res)
{
	static const char text[] = "out of memory\n";

	mw_response_static(res, 500, "text/plain; charset=utf-8", text, sizeof(text) - 1);
}

void mw_response_settle(struct mw_response *res)
{
	if (res->body.failed || res->location.failed || res->cookie.failed)
		mw_response_no_memory(res);
}
