/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens, sessions and the login, by the route table: without a socket, and at any time of day. */
/* uses: src/pages/routes.c src/pages/access.c src/pages/login.c src/pages/request.c src/pages/origin.c src/pages/template.c src/pages/html.c src/pages/each.c src/pages/at.c src/pages/overruns.c src/pages/controls.c .build/web.o src/report/buf.c src/report/escape.c src/report/columns.c src/report/rows.c src/report/group.c src/report/render.c src/report/location.c src/report/lives.c src/report/overruns.c src/report/stats.c src/report/rss.c src/pages/site.c src/pages/source.c src/report/history.c src/report/mark.c src/report/journal.c src/report/event.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <cmocka.h>

#include "../../src/pages/access.h"
#include "../../src/pages/routes.h"
#include "fake_api.h"

#define TOKEN "correct-horse-battery"

static struct mw_api api;
static int resets;
static struct mw_response res;
static struct mw_access access_;
static uint64_t clock_ms;

/* NAME, VALUE, NAME, VALUE, ..., NULL */
static const char *headers[17];
#define HEADERS(...) set_headers((const char *const[]){ __VA_ARGS__, NULL })

static void set_headers(const char *const *h)
{
	size_t n = 0;

	memset(headers, 0, sizeof(headers));
	while (*h && n < sizeof(headers) / sizeof(*headers) - 1)
		headers[n++] = *h++;
}

static const char *header(void *ctx, const char *name)
{
	(void)ctx;
	for (const char *const *h = headers; *h; h += 2)
		if (!strcasecmp(*h, name))
			return h[1];
	return NULL;
}

static void do_reset(void)
{
	resets++;
}

static uint64_t the_clock(void)
{
	return clock_ms;
}

static int setup(void **state)
{
	fake_clear(state);
	fake_site();
	api = fake_api;
	api.reset = do_reset;
	resets = 0;
	clock_ms = 1000000;
	memset(headers, 0, sizeof(headers));
	mw_access_forget(&access_);
	access_.clock = the_clock;
	mw_access_token(&access_, TOKEN, strlen(TOKEN));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mw_response_free(&res);
	return 0;
}

static struct mw_request request(const char *method, const char *path)
{
	return (struct mw_request){
		.method = method, .path = path, .base = "", .peer = MW_PEER_TCP, .header = header, .access = &access_
	};
}

static int route(const struct mw_request *req)
{
	mw_response_free(&res);
	mw_route(&api, req, &res);
	assert_int_equal(fake_out, 0);
	assert_non_null(res.content_type);
	return res.status;
}

static int ask(const char *method, const char *path)
{
	struct mw_request req = request(method, path);

	return route(&req);
}

static int post(const char *path, const char *body)
{
	struct mw_request req = request("POST", path);

	req.body = body;
	req.body_n = strlen(body);
	return route(&req);
}

static bool has(const char *s)
{
	return res.body.n && memmem(res.body.p, res.body.n, s, strlen(s));
}

static const char *response_header(const char *name)
{
	const struct mw_header *h;

	for (size_t i = 0; (h = mw_response_header(&res, i)); i++)
		if (!strcmp(h->name, name))
			return h->value;
	return NULL;
}

#define FORM "Host", "localhost:8080", "Content-Type", "application/x-www-form-urlencoded"

/* Logs in; the cookie as a browser sends it, "mwrap_8080=...". */
static const char *cookie(void)
{
	static char text[8][64];
	static unsigned i;
	char *to = text[i++ % 8];

	HEADERS(FORM);
	assert_int_equal(post("/login", "token=" TOKEN), 303);
	assert_true(res.cookie.n > 0);
	snprintf(to, sizeof(text[0]), "%.*s", (int)strcspn(res.cookie.p, ";"), res.cookie.p);
	return to;
}

static int get_with(const char *the_cookie)
{
	HEADERS("Host", "localhost:8080", "Cookie", the_cookie);
	return ask("GET", "/stats.json");
}

static int bearer(const char *value)
{
	HEADERS("Host", "localhost:8080", "Authorization", value);
	return ask("GET", "/stats.json");
}

/* --- tokens ------------------------------------------------------------------ */

static void what_a_token_is(void **state)
{
	char text[MW_TOKEN_MAX + 2];

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_false(mw_token_valid(text, 0));
	assert_false(mw_token_valid(text, 15));
	assert_true(mw_token_valid(text, 16));
	assert_true(mw_token_valid(text, MW_TOKEN_MAX));
	assert_false(mw_token_valid(text, MW_TOKEN_MAX + 1));
	for (int c = 0; c < 256; c++) {
		text[7] = (char)c;
		assert_int_equal(mw_token_valid(text, 20), c > ' ' && c < 0x7f);
	}
}

static void bearer_tokens(void **state)
{
	static const char *const right[] = {
		"Bearer " TOKEN,
		"bearer " TOKEN,
		"BEARER   " TOKEN,
		"Bearer " TOKEN " \t",
	};
	static const char *const wrong[] = {
		"Bearer correct-horse-batterz",
		"Bearer Correct-horse-battery",
		"Bearer correct-horse-batter",
		"Bearer correct-horse-battery1",
		"Bearer " TOKEN "," TOKEN,
		"Bearer x",
		"Bearer ",
		"Bearer",
		"Bearer \"" TOKEN "\"",
	};
	static const char *const none[] = { "Basic " TOKEN, TOKEN, "", "Bearer" TOKEN, "Bearer\t" TOKEN };

	(void)state;
	HEADERS("Host", "localhost");
	assert_int_equal(ask("GET", "/stats.json"), 401);
	assert_string_equal(response_header("WWW-Authenticate"), "Bearer realm=\"mwrap\"");
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++)
		assert_int_equal(bearer(right[i]), 200);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		clock_ms += 1000;
		assert_int_equal(bearer(wrong[i]), 401);
		assert_true(has("that isn't the token"));
		assert_non_null(response_header("WWW-Authenticate"));
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		assert_int_equal(bearer(none[i]), 401);
		assert_true(has("log in, or send"));
	}
	assert_int_equal(bearer("Bearer " TOKEN), 200);
	assert_null(response_header("WWW-Authenticate"));
}

/* Any length is compared; the longest token and one byte more. */
static void long_tokens(void **state)
{
	static char value[100000];
	char token[MW_TOKEN_MAX];

	(void)state;
	memset(token, 't', sizeof(token));
	mw_access_token(&access_, token, sizeof(token));
	strcpy(value, "Bearer ");
	for (size_t n = sizeof(token) - 1; n <= sizeof(token) + 1; n++) {
		memset(value + 7, 't', n);
		value[7 + n] = '\0';
		assert_int_equal(bearer(value), n == sizeof(token) ? 200 : 401);
	}
	memset(value + 7, 't', sizeof(value) - 8);
	assert_int_equal(bearer(value), 401);
	/* zeros behind a token are no part of it */
	mw_access_token(&access_, TOKEN, strlen(TOKEN));
	memset(value + 7, 't', 512);
	memcpy(value + 7, TOKEN, strlen(TOKEN));
	assert_int_equal(bearer(value), 401);
}

/* Nobody, whatever he sends. */
static void no_token_at_all(void **state)
{
	static const char *const sent[] = { "Bearer ", "Bearer", "Bearer " TOKEN, "Bearer a" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		if (i)
			mw_access_token(&access_, "", 0);
		else
			mw_access_forget(&access_);
		access_.clock = the_clock;
		for (size_t k = 0; k < sizeof(sent) / sizeof(*sent); k++) {
			clock_ms += 1000;
			assert_int_equal(bearer(sent[k]), 401);
		}
		HEADERS(FORM);
		assert_int_equal(post("/login", "token="), 401);
		assert_int_equal(post("/login", "token=" TOKEN), 401);
		assert_int_equal(get_with("mwrap_8080=00000000000000000000000000000000"), 401);
	}
	mw_access_token(&access_, "0123456789abcdef", MW_TOKEN_MAX + 1); /* not one */
	assert_int_equal(access_.token_n, 0);
}

static void wrong_tokens_are_slowed(void **state)
{
	const char *session = cookie();

	(void)state;
	for (unsigned i = 0; i < MW_FAILURES_MAX; i++)
		assert_int_equal(bearer("Bearer nonsense"), 401);
	assert_int_equal(bearer("Bearer nonsense"), 429);
	assert_string_equal(response_header("Retry-After"), "1");
	assert_int_equal(bearer("Bearer " TOKEN), 429); /* else guesses had an answer */
	HEADERS(FORM);
	assert_int_equal(post("/login", "token=" TOKEN), 429);
	assert_int_equal(res.cookie.n, 0);
	assert_true(has("too many wrong tokens"));
	assert_int_equal(get_with(session), 200); /* who is in stays in */
	clock_ms += 999;
	assert_int_equal(bearer("Bearer " TOKEN), 429);
	clock_ms += 1;
	assert_int_equal(bearer("Bearer " TOKEN), 200);
	/* who sends none, or an old cookie, tries out nothing */
	for (unsigned i = 0; i < 3 * MW_FAILURES_MAX; i++) {
		assert_int_equal(get_with("mwrap_8080=00000000000000000000000000000001"), 401);
		assert_int_equal(bearer("Basic x"), 401);
	}
	assert_int_equal(bearer("Bearer " TOKEN), 200);
	/* those of the form count as well */
	HEADERS(FORM);
	for (unsigned i = 0; i < MW_FAILURES_MAX; i++)
		assert_int_equal(post("/login", "token=nonsense"), 401);
	assert_int_equal(post("/login", "token=nonsense"), 429);
	assert_int_equal(bearer("Bearer " TOKEN), 429);
}

/* --- what needs one ---------------------------------------------------------- */

static void what_is_public(void **state)
{
	static const char *const open[] = { "/mwrap.css", "/dist/mwrap.js", "/dist/app.js", "/login" };
	static const char *const closed[] = {
		"/",
		"/each/0",
		"/each/0.tsv",
		"/at/%2Fsrv%2Fa.rb%3A1",
		"/overruns",
		"/stats.json",
		"/history.json",
		"/live",
		"/source?location=x",
		"/none",
		"/reset",
		"/favicon.ico",
		"/logi",
		"/login/",
		"/mwrap.css/",
		"/login.html",
		"/layout.html",
	};
	static const char *const methods[] = { "GET",     "HEAD",  "POST", "PUT", "DELETE",
					       "OPTIONS", "TRACE", "get",  "" };

	(void)state;
	HEADERS("Host", "localhost");
	for (size_t i = 0; i < sizeof(open) / sizeof(*open); i++) {
		assert_int_equal(ask("GET", open[i]), 200);
		assert_int_equal(ask("HEAD", open[i]), 200);
		assert_int_equal(ask("PUT", open[i]), !strcmp(open[i], "/login") ? 405 : 401);
	}
	assert_int_equal(ask("PUT", "/login"), 405);
	assert_string_equal(res.allow, "GET, HEAD, POST");
	assert_int_equal(ask("GET", "/logout"), 405);
	assert_string_equal(res.allow, "POST");
	for (size_t i = 0; i < sizeof(closed) / sizeof(*closed); i++) {
		for (size_t m = 0; m < sizeof(methods) / sizeof(*methods); m++) {
			assert_int_equal(ask(methods[m], closed[i]), 401);
			assert_true(has("refused: log in"));
			assert_int_equal(res.location.n, 0);
			assert_false(res.stream);
		}
	}
	assert_int_equal(resets, 0);
	/* without a token there is no login */
	struct mw_request req = request("GET", "/login");

	req.access = NULL;
	assert_int_equal(route(&req), 404);
	req.method = "POST";
	assert_int_equal(route(&req), 404);
	req.path = "/logout";
	assert_int_equal(route(&req), 404);
}

static void on_every_transport(void **state)
{
	static const enum mw_peer peers[] = { MW_PEER_UNIX, MW_PEER_TCP, MW_PEER_FAR, MW_PEER_RACK };

	(void)state;
	for (size_t i = 0; i < sizeof(peers) / sizeof(*peers); i++) {
		struct mw_request req = request("GET", "/each/0.tsv");

		req.peer = peers[i];
		HEADERS("Host", "localhost");
		assert_int_equal(route(&req), 401);
		HEADERS("Host", "localhost", "Authorization", "Bearer " TOKEN);
		assert_int_equal(route(&req), 200);
		/* elsewhere we can't know our names; on loopback we do, token or not */
		HEADERS("Host", "evil.example", "Authorization", "Bearer " TOKEN);
		assert_int_equal(route(&req), peers[i] == MW_PEER_TCP ? 403 : 200);
		HEADERS("Authorization", "Bearer " TOKEN);
		assert_int_equal(route(&req), peers[i] == MW_PEER_TCP ? 403 : 200);
		req.access = NULL;
		HEADERS("Host", "localhost");
		assert_int_equal(route(&req), peers[i] == MW_PEER_FAR ? 403 : 200);
	}
}

static void a_token_in_the_query_is_none(void **state)
{
	struct mw_request req = request("GET", "/stats.json");

	(void)state;
	HEADERS("Host", "localhost");
	req.query = "token=" TOKEN;
	assert_int_equal(route(&req), 401);
	req.query = "access_token=" TOKEN "&authorization=Bearer%20" TOKEN;
	assert_int_equal(route(&req), 401);
	HEADERS("Host", "localhost", "Cookie",
		"mwrap=" TOKEN "; token=" TOKEN "; Authorization=Bearer " TOKEN);
	assert_int_equal(route(&req), 401);
	/* nor in the query of the login */
	HEADERS(FORM);
	req = request("POST", "/login");
	req.query = "token=" TOKEN;
	req.body = "";
	assert_int_equal(route(&req), 400);
	assert_int_equal(res.cookie.n, 0);
}

/* --- the form ------------------------------------------------------------------ */

static void form_for_browsers(void **state)
{
	struct mw_request req = request("GET", "/each/2000");

	(void)state;
	HEADERS("Host", "localhost:8080", "Accept", "text/html,application/xhtml+xml");
	req.query = "sort=live&q=\"><script>";
	assert_int_equal(route(&req), 401);
	assert_string_equal(res.content_type, "text/html; charset=utf-8");
	assert_non_null(response_header("WWW-Authenticate"));
	assert_string_equal(response_header("Cache-Control"), "no-store");
	assert_null(strstr(response_header("Content-Security-Policy"), "script-src"));
	assert_true(has("action=\"/login\" method=\"post\""));
	assert_true(has("name=\"to\" value=\"/each/2000?sort=live&amp;q=&quot;&gt;&lt;script&gt;\""));
	assert_true(has("type=\"password\" name=\"token\""));
	assert_true(has("href=\"/mwrap.css?v="));
	assert_false(has("{{"));
	assert_false(has("<script"));
	/* it says nothing of the process */
	assert_false(has("pid"));
	assert_false(has("/srv/"));
	assert_int_equal(ask("HEAD", "/"), 401);
	assert_true(has("name=\"to\" value=\"/\""));
	assert_int_equal(ask("POST", "/reset"), 401);
	assert_string_equal(res.content_type, "text/plain; charset=utf-8");
	assert_int_equal(resets, 0);
	assert_int_equal(ask("GET", "/login"), 200);
	assert_true(has("name=\"to\" value=\"/\""));
	/* what leads elsewhere, or is too long to come back, is not kept */
	static char longer[2000] = "/each/";
	const char *const bad[] = { "//evil.example/", "/\\evil", "/a\r\nSet-Cookie: x", "/\xff", longer };

	memset(longer + 6, '1', sizeof(longer) - 7);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(ask("GET", bad[i]), 401);
		assert_true(has("name=\"to\" value=\"/\""));
		assert_true(has("<a href=\"/\">Go on"));
	}
	/* who wants no HTML gets none */
	HEADERS("Host", "localhost:8080", "Accept", "*/*");
	assert_int_equal(ask("GET", "/"), 401);
	assert_string_equal(res.content_type, "text/plain; charset=utf-8");
	/* mounted elsewhere */
	HEADERS("Host", "localhost:8080", "Accept", "text/html");
	req = request("GET", "/overruns");
	req.base = "/m";
	assert_int_equal(route(&req), 401);
	assert_true(has("action=\"/m/login\""));
	assert_true(has("value=\"/m/overruns\""));
}

static void login_goes_back(void **state)
{
	static const struct {
		const char *body, *to;
	} cases[] = {
		{ "token=" TOKEN, "/" },
		{ "token=" TOKEN "&to=%2Feach%2F2000%3Fsort%3Dlive%26q%3Da", "/each/2000?sort=live&q=a" },
		{ "to=/at/%252Fsrv&token=" TOKEN, "/at/%2Fsrv" },
		{ "token=" TOKEN "%0D%0A&to=/overruns", "/overruns" },
		{ "token=" TOKEN "+&to=", "/" },
		{ "token=" TOKEN "&to=//evil.example/", "/" },
		{ "token=" TOKEN "&to=http://evil.example/", "/" },
		{ "token=" TOKEN "&to=/%5Cevil.example/", "/" },
		{ "token=" TOKEN "&to=/a%0D%0ASet-Cookie:%20x=y", "/" },
		{ "token=" TOKEN "&to=/a+b", "/" },
		{ "token=" TOKEN "&to=javascript:alert(1)", "/" },
		{ "token=" TOKEN "&to=/%FF", "/" },
		{ "token=x&token=" TOKEN, "/" }, /* the last of equal names */
	};

	(void)state;
	HEADERS(FORM);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(post("/login", cases[i].body), 303);
		assert_string_equal(res.location.p, cases[i].to);
		assert_int_equal(res.location.n, strlen(res.location.p) + 1);
		assert_int_equal(strncmp(res.cookie.p, "mwrap_8080=", 11), 0);
		assert_int_equal(strspn(res.cookie.p + 11, "0123456789abcdef"), 32);
		assert_string_equal(res.cookie.p + 11 + 32, "; Path=/; HttpOnly; SameSite=Strict");
		assert_null(strstr(res.cookie.p, TOKEN));
		assert_false(has(TOKEN));
	}
	HEADERS(FORM, "Origin", "https://localhost:8080");
	assert_int_equal(post("/login", "token=" TOKEN), 303);
	assert_non_null(strstr(res.cookie.p, "; Secure"));
}

static void login_that_fails(void **state)
{
	struct mw_request req = request("POST", "/login");

	(void)state;
	HEADERS(FORM);
	assert_int_equal(post("/login", "token=nonsense&to=/each/5"), 401);
	assert_true(has("That is not the token."));
	assert_true(has("value=\"/each/5\""));
	assert_false(has("nonsense"));
	assert_int_equal(res.cookie.n, 0);
	assert_int_equal(post("/login", "token=&to=//evil"), 401);
	assert_true(has("value=\"/\""));
	assert_int_equal(post("/login", "to=/each/5"), 400);
	assert_int_equal(post("/login", "TOKEN=" TOKEN), 400);
	assert_int_equal(post("/login", ""), 400);
	assert_int_equal(post("/login", "token=%"), 400);
	assert_int_equal(post("/login", "token=" TOKEN "%00"), 400);
	req.body = "token=" TOKEN "\0";
	req.body_n = strlen(req.body) + 1;
	assert_int_equal(route(&req), 400);
	req.body_n--;
	req.body_cut = true;
	assert_int_equal(route(&req), 413);
	req.body_cut = false;
	req.body = NULL;
	req.body_n = 0;
	assert_int_equal(route(&req), 400);
	HEADERS("Host", "localhost:8080", "Content-Type", "text/plain");
	assert_int_equal(post("/login", "token=" TOKEN), 415);
	HEADERS("Host", "localhost:8080");
	assert_int_equal(post("/login", "token=" TOKEN), 415);
	assert_int_equal(res.cookie.n, 0);
}

/* A page elsewhere can't log its visitor in or out, nor use up his tries. */
static void login_from_elsewhere(void **state)
{
	static const char *const from[][2] = {
		{ "Origin", "http://evil.example" },   { "Origin", "null" },
		{ "Origin", "http://localhost:9999" }, { "Sec-Fetch-Site", "cross-site" },
		{ "Sec-Fetch-Site", "same-site" },
	};
	const char *session = cookie();

	(void)state;
	for (size_t i = 0; i < sizeof(from) / sizeof(*from); i++) {
		HEADERS(FORM, from[i][0], from[i][1]);
		assert_int_equal(post("/login", "token=" TOKEN), 403);
		assert_int_equal(res.cookie.n, 0);
		for (unsigned k = 0; k < 2 * MW_FAILURES_MAX; k++)
			assert_int_equal(post("/login", "token=nonsense"), 403);
		HEADERS(FORM, from[i][0], from[i][1], "Cookie", session);
		assert_int_equal(post("/logout", ""), 403);
		assert_int_equal(post("/reset", ""), 403); /* with a session that is good */
		assert_int_equal(get_with(session), 200);
	}
	assert_int_equal(resets, 0);
	HEADERS("Host", "evil.example", "Content-Type", "application/x-www-form-urlencoded");
	assert_int_equal(post("/login", "token=" TOKEN), 403);
	HEADERS(FORM, "Origin", "http://localhost:8080", "Sec-Fetch-Site", "same-origin", "Cookie",
		session);
	assert_int_equal(post("/reset", ""), 200);
	assert_int_equal(resets, 1);
}

/* --- sessions ------------------------------------------------------------------ */

static void cookies(void **state)
{
	const char *session = cookie(), *id = session + strlen("mwrap_8080=");
	char other[256];

	(void)state;
	assert_int_equal(get_with(session), 200);
	/* among others, and another of its name, which another port may have set */
	snprintf(other, sizeof(other), "a=b; mwrap_8080=%032d;%s ; c", 7, session);
	assert_int_equal(get_with(other), 200);
	snprintf(other, sizeof(other), "%s; mwrap_8080=x", session);
	assert_int_equal(get_with(other), 200);
	static const char *const forms[] = {
		"mwrap=%s",
		"mwrap_8081=%s",
		"xmwrap_8080=%s",
		"MWRAP_8080=%s",
		"mwrap_8080=%sa",
		"mwrap_8080=a%s",
		"mwrap_8080 =%s",
		"mwrap_8080= %s",
		"mwrap_8080=\"%s\"",
		"mwrap_8080=%.31s",
		"%s",
		"",
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(other, sizeof(other), forms[i], id);
#pragma GCC diagnostic pop
		assert_int_equal(get_with(other), 401);
	}
	/* each letter counts */
	for (size_t i = 0; i < 32; i++) {
		snprintf(other, sizeof(other), "%s", session);
		other[strlen("mwrap_8080=") + i] ^= 1;
		assert_int_equal(get_with(other), 401);
	}
	/* the name is that of the port that the browser sees */
	HEADERS("Host", "localhost", "Cookie", session);
	assert_int_equal(ask("GET", "/stats.json"), 401);
	HEADERS("Host", "localhost:8081", "Cookie", session);
	assert_int_equal(ask("GET", "/stats.json"), 401);
	HEADERS("Host", "[::1]:8080", "Cookie", session);
	assert_int_equal(ask("GET", "/stats.json"), 200);
}

/* A name that somebody gave to the browser before the login is no session after it. */
static void fixation(void **state)
{
	const char *planted = "mwrap_8080=11111111111111111111111111111111", *one, *two;

	(void)state;
	HEADERS(FORM, "Cookie", planted);
	assert_int_equal(post("/login", "token=" TOKEN), 303);
	assert_null(strstr(res.cookie.p, "1111111111111111"));
	assert_int_equal(get_with(planted), 401);
	one = cookie();
	two = cookie();
	assert_string_not_equal(one, two);
	assert_int_equal(get_with(one), 200);
	assert_int_equal(get_with(two), 200);
}

static void sessions_end(void **state)
{
	const char *session = cookie(), *other = cookie();
	uint32_t ended = access_.ended;

	(void)state;
	/* by logout, which also works where nothing may be changed */
	fake_options.read_only = true;
	HEADERS("Host", "localhost:8080", "Cookie", session, "Accept", "text/html", "Referer",
		"http://localhost:8080/each/0");
	assert_int_equal(ask("POST", "/logout"), 303);
	assert_string_equal(res.location.p, "/each/0");
	assert_string_equal(res.cookie.p, "mwrap_8080=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
	assert_int_equal(get_with(session), 401);
	assert_int_equal(get_with(other), 200);
	assert_true(access_.ended != ended);
	assert_int_equal(ask("POST", "/logout"), 200); /* twice, and without one */
	fake_options.read_only = false;
	session = cookie();

	/* by time */
	clock_ms += MW_SESSION_MS - 1;
	mw_access_expire(&access_);
	assert_int_equal(get_with(session), 200);
	ended = access_.ended;
	clock_ms++;
	assert_int_equal(get_with(session), 401);
	mw_access_expire(&access_);
	assert_true(access_.ended != ended);

	/* by another token, not by the same one */
	session = cookie();
	mw_access_token(&access_, TOKEN, strlen(TOKEN));
	assert_int_equal(get_with(session), 200);
	mw_access_token(&access_, "another-token-of-some-length", 28);
	assert_int_equal(get_with(session), 401);
	assert_int_equal(bearer("Bearer " TOKEN), 401);
	assert_int_equal(bearer("Bearer another-token-of-some-length"), 200);
	mw_access_token(&access_, TOKEN, strlen(TOKEN));
	assert_int_equal(get_with(session), 401);

	/* with the process */
	session = cookie();
	struct mw_access fresh = { .clock = the_clock };

	mw_access_token(&fresh, TOKEN, strlen(TOKEN));
	access_ = fresh;
	assert_int_equal(get_with(session), 401);
}

static void as_many_sessions_as_there_may_be(void **state)
{
	char first[64], second[64], last[64];

	(void)state;
	snprintf(first, sizeof(first), "%s", cookie());
	clock_ms++;
	snprintf(second, sizeof(second), "%s", cookie());
	clock_ms++;
	for (int i = 2; i < MW_SESSIONS_MAX; i++)
		snprintf(last, sizeof(last), "%s", cookie());
	assert_int_equal(get_with(first), 200);
	cookie(); /* one more: the oldest goes */
	assert_int_equal(get_with(first), 401);
	assert_int_equal(get_with(second), 200);
	assert_int_equal(get_with(last), 200);
}

static void logout_is_offered(void **state)
{
	const char *session = cookie();

	(void)state;
	HEADERS("Host", "localhost:8080", "Cookie", session);
	assert_int_equal(ask("GET", "/each/0"), 200);
	assert_true(has("action=\"/logout\" method=\"post\""));
	HEADERS("Host", "localhost:8080", "Authorization", "Bearer " TOKEN);
	assert_int_equal(ask("GET", "/each/0"), 200);
	assert_false(has("/logout"));
}

/* Options are shown, but nowhere what the file holds. */
static void the_token_is_nowhere(void **state)
{
	static const char *const pages[] = { "/",         "/each/0", "/stats.json",
					     "/overruns", "/login",  "/source" };

	(void)state;
	fake_options.token_file = "/run/app.token";
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		HEADERS("Host", "localhost:8080", "Authorization", "Bearer " TOKEN);
		ask("GET", pages[i]);
		assert_true(res.body.n > 0);
		assert_false(has(TOKEN));
	}
	ask("GET", "/stats.json");
	assert_true(has("\"token_file\":\"/run/app.token\""));
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		test(what_a_token_is),
		test(bearer_tokens),
		test(long_tokens),
		test(no_token_at_all),
		test(wrong_tokens_are_slowed),
		test(what_is_public),
		test(on_every_transport),
		test(a_token_in_the_query_is_none),
		test(form_for_browsers),
		test(login_goes_back),
		test(login_that_fails),
		test(login_from_elsewhere),
		test(cookies),
		test(fixation),
		test(sessions_end),
		test(as_many_sessions_as_there_may_be),
		test(logout_is_offered),
		test(the_token_is_nowhere),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
