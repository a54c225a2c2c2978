/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rack_page.c - pages with rows made by Ruby (lib/mwrap/objects/), in the layout and with the
 * headers of all others.
 */
#include "rack.h"

struct page {
	struct mw_request req;
	struct mw_response res;
	const char *title, *main;
	size_t main_n;
};

static void add_page_main(struct mw_buf *b, void *ctx)
{
	const struct page *p = ctx;

	mw_buf_add(b, p->main, p->main_n);
}

static const char *no_header(void *ctx, const char *name)
{
	return NULL;
}

static VALUE headers_of(const struct mw_response *res)
{
	VALUE hash = rb_hash_new();
	struct mw_header h;

	for (size_t i = 0; mw_offers->response_header(res, i, &h); i++)
		rb_hash_aset(hash, mw_rack_name(h.name), rb_usascii_str_new_cstr(h.value));
	rb_hash_aset(hash, mw_rack_name("Content-Type"), rb_usascii_str_new_cstr(res->content_type));
	return hash;
}

/*
 * :nodoc: page(title, main, base, mount) -> [headers, HTML]: wraps `main`, which is HTML already,
 * in a whole page. base and mount are as in mw_request, except that mount counts only in a process
 * with a family. Raises NoMemoryError.
 */
static VALUE pages_page(VALUE mod, VALUE title, VALUE main, VALUE base, VALUE mount)
{
	struct page p = {
		.req = { .method = "GET", .path = "/objects", .peer = MW_PEER_RACK, .header = no_header }
	};
	struct mw_family family;
	struct mw_call call = { .api = mw_tracker, .req = &p.req, .res = &p.res, .rest = "" };
	VALUE html, headers;

	mw_offers_need();
	p.title = StringValueCStr(title);
	p.req.base = StringValueCStr(base);
	StringValueCStr(mount);
	StringValue(main);
	p.main = RSTRING_PTR(main);
	p.main_n = (size_t)RSTRING_LEN(main);
	mw_tracker->quiet_enter();
	if (mw_rack_family(&family))
		p.req.mount = RSTRING_PTR(mount);
	explicit_bzero(&family, sizeof(family));
	mw_offers->reply_page(&call, p.title, add_page_main, &p);
	mw_tracker->quiet_leave();
	headers = headers_of(&p.res); /* a raise here leaks the body, once, when memory runs out */
	html = p.res.body.failed ? Qnil : rb_utf8_str_new(p.res.body.p, (long)p.res.body.n);
	mw_tracker->quiet_enter();
	mw_offers->response_free(&p.res);
	mw_tracker->quiet_leave();
	if (NIL_P(html))
		mw_no_memory();
	RB_GC_GUARD(title);
	RB_GC_GUARD(base);
	RB_GC_GUARD(mount);
	RB_GC_GUARD(main);
	return rb_assoc_new(headers, html);
}

void mw_init_rack_page(VALUE pages)
{
	rb_define_singleton_method(pages, "page", pages_page, 4);
}
