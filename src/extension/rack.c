/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rack.c - passes a Rack request to the route table (server/pages/routes.h), and the answer back.
 * Ruby's side (lib/mwrap/rack/) reads the Rack environment.
 *
 * All work for a request runs in quiet mode, Ruby code included. So every entry is a method written
 * in C, which enters quiet mode before any of our Ruby code runs: MwrapRack#call, each and close of
 * a body, call of a Joiner. It leaves quiet mode for the application's code: a block, authorize.
 *
 * An answer is made without the GVL, one at a time. Then a Body owns it. HELD_MAX bounds bodies
 * that wait for slow readers.
 */
#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "shared/sys/times.h"
#include "heap_fill.h"
#include "rack.h"

#define CHUNK ((size_t)64 << 10)
#define HEADERS_MAX ((size_t)64 << 10)
#define HELD_MAX ((size_t)32 << 20)

static VALUE cBody;
static atomic_size_t held; /* bytes of answers in memory */

/* --- a body ---------------------------------------------------------------------------- */

struct body {
	struct mw_response res;
	struct mw_buf headers; /* the request's: NAME\0VALUE\0..., as in the environment */
	struct mw_map_ruby ruby; /* for the answer; a raise meanwhile leaves it to the collector */
	VALUE watcher;         /* its events are the rest of a stream; Qnil: none */
};

static void let_go_of_body(struct body *b)
{
	struct body old = *b;

	b->res = (struct mw_response){ 0 };
	b->headers = (struct mw_buf){ 0 };
	b->watcher = Qnil;
	mw_heap_fill_free(&b->ruby);
	atomic_fetch_sub(&held, old.res.body.cap);
	mw_tracker->quiet_enter();
	mw_offers->response_free(&old.res);
	mw_buf_free(&old.headers);
	mw_tracker->quiet_leave();
}

static void body_mark(void *p)
{
	rb_gc_mark(((struct body *)p)->watcher);
}

static void body_free(void *p)
{
	let_go_of_body(p);
	ruby_xfree(p);
}

static size_t body_size(const void *p)
{
	const struct body *b = p;

	return sizeof(*b) + b->res.body.cap + b->headers.cap;
}

static const rb_data_type_t body_type = {
	.wrap_struct_name = "mwrap_body",
	.function = { .dmark = body_mark, .dfree = body_free, .dsize = body_size },
	.flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE body_new(struct body **b)
{
	VALUE self = TypedData_Make_Struct(cBody, struct body, &body_type, *b);

	(*b)->watcher = Qnil;
	return self;
}

static size_t body_bytes(const struct body *b)
{
	return b->res.asset ? b->res.asset_len : b->res.body.n;
}

struct part {
	const struct body *body;
	size_t at, n;
};

static VALUE make_part(VALUE arg)
{
	const struct part *p = (const struct part *)arg;
	const struct mw_response *res = &p->body->res;

	if (res->asset) /* static: no copy */
		return rb_str_new_static((const char *)res->asset + p->at, (long)p->n);
	return rb_str_new(res->body.p + p->at, (long)p->n);
}

/*
 * :nodoc: each { |String| } -> self: CHUNK bytes at a time. For a stream with a watcher, what that
 * gets follows.
 */
static VALUE body_each(VALUE self)
{
	struct body *b = rb_check_typeddata(self, &body_type);
	VALUE s;

	/* checked again after each block, which may close this */
	for (struct part p = { .body = b }; p.at < body_bytes(b); p.at += p.n) {
		p.n = body_bytes(b) - p.at < CHUNK ? body_bytes(b) - p.at : CHUNK;
		rb_yield(mw_quietly(make_part, (VALUE)&p));
	}
	while (!NIL_P(b->watcher) && RTEST(s = mw_quietly(mw_watcher_take, b->watcher)))
		rb_yield(s);
	RB_GC_GUARD(self);
	return self;
}

/* :nodoc: frees it; each yields nothing from then on */
static VALUE body_close(VALUE self)
{
	let_go_of_body(rb_check_typeddata(self, &body_type));
	return Qnil;
}

/* :nodoc: all that was made, as one String; without a watcher's events */
static VALUE body_text(VALUE self)
{
	const struct body *b = rb_check_typeddata(self, &body_type);
	struct part p = { .body = b, .n = body_bytes(b) };
	VALUE s = make_part((VALUE)&p);

	RB_GC_GUARD(self);
	return s;
}

/* :nodoc: is it for a gzip file? Ruby's side compresses it: the extension has no zlib. */
static VALUE body_gzip_file_p(VALUE self)
{
	const struct body *b = rb_check_typeddata(self, &body_type);

	return b->res.gzip_file ? Qtrue : Qfalse;
}

/* :nodoc: follow(watcher, again) -> self: its events follow; again: they replace what was made */
static VALUE body_follow(VALUE self, VALUE watcher, VALUE again)
{
	struct body *b = rb_check_typeddata(self, &body_type);

	if (RTEST(again))
		let_go_of_body(b);
	b->watcher = watcher;
	return self;
}

/* --- an answer --------------------------------------------------------------------------- */

struct work {
	struct mw_request req;
	struct mw_response res;
	struct mw_rack_family family;
};

/* The server's thread waits for the site: what takes long is done without it. */
static void answer_own(struct mw_request *req, struct mw_response *res)
{
	struct mw_site *site;

	req->later = mw_offers->route_waits(req);
	if (req->later)
		mw_offers->route(mw_tracker, req, res);
	site = mw_site_take(MW_SITE_MS);
	req->site = site;
	req->site_busy = !site;
	if (req->later)
		mw_offers->route_after(mw_tracker, req, res, site);
	else
		mw_offers->route(mw_tracker, req, res);
	mw_site_give(site);
}

static void *answer_work(void *p)
{
	struct work *w = p;

	mw_tracker->quiet_enter();
	if (mw_rack_family_begin(&w->family, &w->req))
		mw_rack_family_answer(&w->family, &w->req, &w->res);
	else
		answer_own(&w->req, &w->res);
	mw_tracker->quiet_leave();
	return NULL;
}

/* True if `name`, as in HTTP, is `key`, as in the environment. */
static bool same_name(const char *name, const char *key)
{
	if (strncmp(key, "HTTP_", 5))
		return false;
	for (key += 5; *name && *key; name++, key++)
		if ((*name == '-' ? '_' : toupper((unsigned char)*name)) != *key)
			return false;
	return !*name && !*key;
}

static const char *find_header(void *ctx, const char *name)
{
	const struct mw_buf *b = ctx;

	for (size_t at = 0; at < b->n;) {
		const char *key = b->p + at, *value = key + strlen(key) + 1;

		if (same_name(name, key))
			return value;
		at = (size_t)(value + strlen(value) + 1 - b->p);
	}
	return NULL;
}

/* Copies headers: without the GVL the environment can't be read. */
static int copy_header(VALUE key, VALUE value, VALUE to)
{
	struct mw_buf *b = (struct mw_buf *)to;
	size_t n;

	if (!RB_TYPE_P(key, T_STRING) || !RB_TYPE_P(value, T_STRING) || RSTRING_LEN(key) < 5 ||
	    memcmp(RSTRING_PTR(key), "HTTP_", 5))
		return ST_CONTINUE;
	n = (size_t)RSTRING_LEN(key) + (size_t)RSTRING_LEN(value);
	if (b->n + n + 2 > HEADERS_MAX || memchr(RSTRING_PTR(key), '\0', (size_t)RSTRING_LEN(key)) ||
	    memchr(RSTRING_PTR(value), '\0', (size_t)RSTRING_LEN(value)))
		return ST_CONTINUE;
	mw_buf_add(b, RSTRING_PTR(key), (size_t)RSTRING_LEN(key));
	mw_buf_add(b, "", 1);
	mw_buf_add(b, RSTRING_PTR(value), (size_t)RSTRING_LEN(value));
	mw_buf_add(b, "", 1);
	return ST_CONTINUE;
}

VALUE mw_rack_name(const char *name)
{
	VALUE key = rb_usascii_str_new_cstr(name);

	for (char *c = RSTRING_PTR(key); *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return key;
}

static void set_header(VALUE hash, const char *name, const char *value)
{
	rb_hash_aset(hash, mw_rack_name(name), rb_usascii_str_new_cstr(value));
}

static VALUE response_headers(const struct body *b)
{
	const struct mw_response *res = &b->res;
	VALUE hash = rb_hash_new();
	struct mw_header h;
	char length[24];

	for (size_t i = 0; mw_offers->response_header(res, i, &h); i++)
		set_header(hash, h.name, h.value);
	if (res->allow)
		set_header(hash, "allow", res->allow);
	if (res->location.n)
		set_header(hash, "location", res->location.p);
	if (res->status == 304)
		return hash;
	if (*res->content_type)
		set_header(hash, "content-type", res->content_type);
	if (!res->stream) {
		snprintf(length, sizeof(length), "%zu", body_bytes(b));
		set_header(hash, "content-length", length);
	}
	return hash;
}

static VALUE too_many(void)
{
	static const char text[] = "too many answers are waiting for slow readers: try again\n";
	struct body *b;
	VALUE body = body_new(&b), headers;

	b->res.status = 503;
	b->res.content_type = "text/plain; charset=utf-8";
	b->res.asset = text;
	b->res.asset_len = sizeof(text) - 1;
	headers = response_headers(b);
	set_header(headers, "retry-after", "1");
	return rb_ary_new_from_args(4, INT2NUM(503), headers, body, Qfalse);
}

/* :nodoc: form?(path): is a form that is posted there read as a query? */
static VALUE pages_form_p(VALUE mod, VALUE path)
{
	mw_offers_need();
	return mw_offers->family_flags(StringValueCStr(path)) & MW_ROUTE_FORM ? Qtrue : Qfalse;
}

/*
 * :nodoc: answer(method, path, query, base, env, no_post, ask_who, poll) -> [status, headers, body,
 * stream], as mw_request (server/pages/routes.h) has them. no_post is a String or nil, poll a number of
 * ms. stream: the body is the beginning of one without an end.
 */
static VALUE pages_answer(int argc, VALUE *argv, VALUE mod)
{
	VALUE method, path, query, base, env, no_post, ask_who, poll, self;
	struct body *b;
	struct work w = { 0 };

	mw_offers_need();
	rb_scan_args(argc, argv, "8", &method, &path, &query, &base, &env, &no_post, &ask_who, &poll);
	if (atomic_load(&held) > HELD_MAX)
		return too_many();
	/* their bytes stay valid: no other code has these strings */
	w.req.method = StringValueCStr(method);
	w.req.path = StringValueCStr(path);
	w.req.query = StringValueCStr(query);
	w.req.base = StringValueCStr(base);
	w.req.no_post = NIL_P(no_post) ? NULL : StringValueCStr(no_post);
	w.req.ask_who = RTEST(ask_who);
	w.req.poll = NUM2UINT(poll);
	w.req.peer = MW_PEER_RACK;
	self = body_new(&b);
	rb_hash_foreach(env, copy_header, (VALUE)&b->headers);
	if (b->headers.failed)
		mw_no_memory();
	w.req.header = find_header;
	w.req.ctx = &b->headers;
	if (mw_offers->family_flags(w.req.path) & MW_ROUTE_HEAP && mw_heap_fill(&b->ruby))
		w.req.ruby = &b->ruby;
	mw_without_gvl(answer_work, &w);
	mw_heap_fill_free(&b->ruby);
	b->res = w.res;
	atomic_fetch_add(&held, b->res.body.cap);
	RB_GC_GUARD(method);
	RB_GC_GUARD(path);
	RB_GC_GUARD(query);
	RB_GC_GUARD(base);
	RB_GC_GUARD(no_post);
	return rb_ary_new_from_args(4, INT2NUM(b->res.status), response_headers(b), self,
				    b->res.stream ? Qtrue : Qfalse);
}

/* --- ways in ------------------------------------------------------------------------------ */

static ID id_call, id_answer, id_authorize, id_join, id_set_up;

struct call {
	VALUE self, env, allowed;
};

static VALUE quiet_call(VALUE arg)
{
	const struct call *c = (const struct call *)arg;

	return rb_funcall(c->self, id_answer, 2, c->env, c->allowed);
}

/*
 * call-seq: call(env) -> [status, headers, body]
 *
 * Answers a Rack request. Nothing done for it is tracked, except what +authorize+ does. That is
 * called with +env+. Raises what +authorize+ raises, and NoMemoryError.
 */
static VALUE rack_call(VALUE self, VALUE env)
{
	struct call c = { .self = self, .env = env, .allowed = Qnil };
	VALUE authorize = rb_ivar_get(self, id_authorize);

	Check_Type(env, T_HASH);
	if (!NIL_P(authorize) && mw_tracker != &mw_no_tracker)
		c.allowed = RTEST(rb_funcall(authorize, id_call, 1, env)) ? Qtrue : Qfalse;
	return mw_quietly(quiet_call, (VALUE)&c);
}

static VALUE quiet_join(VALUE arg)
{
	const struct call *c = (const struct call *)arg;

	return rb_funcall(c->self, id_join, 1, c->env);
}

/* :nodoc: call(io): the server calls it with the connection that it gives away */
static VALUE joiner_call(VALUE self, VALUE io)
{
	struct call c = { .self = self, .env = io };

	return mw_quietly(quiet_join, (VALUE)&c);
}

struct making {
	VALUE self;
	int argc;
	VALUE *argv;
};

static VALUE quiet_new(VALUE arg)
{
	const struct making *n = (const struct making *)arg;

	return rb_funcallv_kw(n->self, id_set_up, n->argc, n->argv, RB_PASS_CALLED_KEYWORDS);
}

/*
 * call-seq: MwrapRack.new(read_only: false, authorize: nil, token: nil, dump: false)
 *
 * +authorize+:: an object with a method +call+, for example a lambda. Each request calls it
 *               with its Rack environment. If it returns nil or false, the request gets
 *               403. Otherwise the request is answered, a POST too.
 * +token+::     a String. A POST that presents it may change something: as
 *               <tt>Authorization: Bearer TOKEN</tt>, or as the password of HTTP
 *               Basic authentication, with any name, which browsers ask for. A
 *               request that presents it isn't refused for +authorize+.
 * +read_only+:: no POST at all, and pages without controls.
 * +dump+::      true: a request that +authorize+ or +token+ allows gets all objects at
 *               <tt>/objects/dump</tt>, without the contents of strings.
 *
 * Without +authorize+ and +token+, every POST is refused, and every request that the application
 * lets through to here may read.
 *
 * Raises ArgumentError and TypeError for other arguments, and RuntimeError if the server's library,
 * which has the pages, can't be loaded.
 */
static VALUE rack_initialize(int argc, VALUE *argv, VALUE self)
{
	struct making n = { .self = self, .argc = argc, .argv = argv };

	mw_quietly(quiet_new, (VALUE)&n);
	if (mw_tracker == &mw_no_tracker) /* Mwrap.start may come */
		return self;
	mw_offers_need();
	mw_site_begin();
	return self;
}

static VALUE load_rack(VALUE unused)
{
	/*
	 * A Rack application: every page, form and control of the server, under any mount point,
	 * with the process's own memory. It is for a process under mwrap(1); in any other it
	 * answers 503. It loads without Rack.
	 *
	 *   require "mwrap_rack"
	 *   map("/MWRAP") { run MwrapRack.new }                  # config.ru
	 *   mount MwrapRack.new => "/mwrap"                      # Rails, config/routes.rb
	 *
	 * Its readers learn paths, names of functions, sizes, and lines of the source in use
	 * (unless MWRAP has source:0), but no contents. Put the application's authentication in
	 * front, or use +authorize+.
	 */
	VALUE class = rb_define_class("MwrapRack", rb_cObject);

	rb_define_method(class, "initialize", rack_initialize, -1);
	rb_define_method(class, "call", rack_call, 1);
	return rb_require("mwrap/rack/endpoint");
}

/* :nodoc: for mwrap_rack.rb: loads the rest of it, untracked */
static VALUE pages_load(VALUE mod)
{
	return mw_quietly(load_rack, Qnil);
}

/* :nodoc: same?(String, String): compares in constant time, if the lengths are equal */
static VALUE pages_same_p(VALUE mod, VALUE a, VALUE b)
{
	const volatile unsigned char *p, *q;
	unsigned differ = 0;

	StringValue(a);
	StringValue(b);
	if (RSTRING_LEN(a) != RSTRING_LEN(b))
		return Qfalse;
	p = (const unsigned char *)RSTRING_PTR(a);
	q = (const unsigned char *)RSTRING_PTR(b);
	for (long i = 0; i < RSTRING_LEN(a); i++)
		differ |= p[i] ^ q[i];
	RB_GC_GUARD(a);
	RB_GC_GUARD(b);
	return differ ? Qfalse : Qtrue;
}

void mw_init_rack(void)
{
	VALUE pages = rb_define_module_under(rb_define_module("Mwrap"), "Pages"), joiner;

	id_call = rb_intern("call");
	id_answer = rb_intern("answer");
	id_authorize = rb_intern("@authorize");
	id_join = rb_intern("join");
	id_set_up = rb_intern("set_up");
	cBody = rb_define_class_under(pages, "Body", rb_cObject);
	rb_gc_register_mark_object(cBody);
	rb_undef_alloc_func(cBody);
	rb_define_method(cBody, "each", body_each, 0);
	rb_define_method(cBody, "close", body_close, 0);
	rb_define_method(cBody, "text", body_text, 0);
	rb_define_method(cBody, "gzip_file?", body_gzip_file_p, 0);
	rb_define_method(cBody, "follow", body_follow, 2);
	joiner = rb_define_class_under(pages, "Joiner", rb_cObject);
	rb_define_method(joiner, "call", joiner_call, 1);
	rb_define_singleton_method(pages, "answer", pages_answer, -1);
	rb_define_singleton_method(pages, "form?", pages_form_p, 1);
	rb_define_singleton_method(pages, "load", pages_load, 0);
	rb_define_singleton_method(pages, "same?", pages_same_p, 2);
	mw_init_rack_live(pages);
	mw_init_rack_page(pages);
	mw_init_rack_passage(pages);
}
