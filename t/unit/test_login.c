/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The form, the cookie and the sessions of browsers: without a socket. */
/* uses: @server */
#include "unit.h"
#include "knock.h"

/* --- the form ------------------------------------------------------------------ */

EACH(lock, teardown);

TEST(form_for_browsers)
{
	struct mw_request req = request("GET", "/each/2000");

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
	assert_int_equal(knock("HEAD", "/"), 401);
	assert_true(has("name=\"to\" value=\"/\""));
	assert_int_equal(knock("POST", "/reset"), 401);
	assert_string_equal(res.content_type, "text/plain; charset=utf-8");
	assert_int_equal(resets, 0);
	assert_int_equal(knock("GET", "/login"), 200);
	assert_true(has("name=\"to\" value=\"/\""));
	/* an address that leads elsewhere, or is too long to come back, is not kept */
	static char longer[2000] = "/each/";
	const char *const bad[] = { "//evil.example/", "/\\evil", "/a\r\nSet-Cookie: x", "/\xff", longer };

	memset(longer + 6, '1', sizeof(longer) - 7);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(knock("GET", bad[i]), 401);
		assert_true(has("name=\"to\" value=\"/\""));
		assert_true(has("<a href=\"/\">Go on"));
	}
	/* a client that wants no HTML gets none */
	HEADERS("Host", "localhost:8080", "Accept", "*/*");
	assert_int_equal(knock("GET", "/"), 401);
	assert_string_equal(res.content_type, "text/plain; charset=utf-8");
	/* mounted elsewhere */
	HEADERS("Host", "localhost:8080", "Accept", "text/html");
	req = request("GET", "/overruns");
	req.base = "/m";
	assert_int_equal(route(&req), 401);
	assert_true(has("action=\"/m/login\""));
	assert_true(has("value=\"/m/overruns\""));
}

TEST(login_goes_back)
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

TEST(login_that_fails)
{
	struct mw_request req = request("POST", "/login");

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
TEST(login_from_elsewhere)
{
	static const char *const from[][2] = {
		{ "Origin", "http://evil.example" },   { "Origin", "null" },
		{ "Origin", "http://localhost:9999" }, { "Sec-Fetch-Site", "cross-site" },
		{ "Sec-Fetch-Site", "same-site" },
	};
	const char *session = cookie();

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

TEST(cookies)
{
	const char *session = cookie(), *id = session + strlen("mwrap_8080=");
	char other[256];

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
	assert_int_equal(knock("GET", "/stats.json"), 401);
	HEADERS("Host", "localhost:8081", "Cookie", session);
	assert_int_equal(knock("GET", "/stats.json"), 401);
	HEADERS("Host", "[::1]:8080", "Cookie", session);
	assert_int_equal(knock("GET", "/stats.json"), 200);
}

/* A name that somebody gave to the browser before the login is no session after it. */
TEST(fixation)
{
	const char *planted = "mwrap_8080=11111111111111111111111111111111", *one, *two;

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

TEST(sessions_end)
{
	const char *session = cookie(), *other = cookie();
	uint32_t ended = access_.ended;

	/* by logout, which also works where nothing may be changed */
	fake_options.read_only = true;
	HEADERS("Host", "localhost:8080", "Cookie", session, "Accept", "text/html", "Referer",
		"http://localhost:8080/each/0");
	assert_int_equal(knock("POST", "/logout"), 303);
	assert_string_equal(res.location.p, "/each/0");
	assert_string_equal(res.cookie.p, "mwrap_8080=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
	assert_int_equal(get_with(session), 401);
	assert_int_equal(get_with(other), 200);
	assert_true(access_.ended != ended);
	assert_int_equal(knock("POST", "/logout"), 200); /* twice, and without one */
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

TEST(as_many_sessions_as_there_may_be)
{
	char first[64], second[64], last[64];

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

TEST(logout_is_offered)
{
	const char *session = cookie();

	HEADERS("Host", "localhost:8080", "Cookie", session);
	assert_int_equal(knock("GET", "/each/0"), 200);
	assert_true(has("action=\"/logout\" method=\"post\""));
	HEADERS("Host", "localhost:8080", "Authorization", "Bearer " TOKEN);
	assert_int_equal(knock("GET", "/each/0"), 200);
	assert_false(has("/logout"));
}

/* Options are shown, but nowhere what the file holds. */
TEST(the_token_is_nowhere)
{
	static const char *const pages[] = { "/",         "/each/0", "/stats.json",
					     "/overruns", "/login",  "/source" };

	fake_options.token_file = "/run/app.token";
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		HEADERS("Host", "localhost:8080", "Authorization", "Bearer " TOKEN);
		knock("GET", pages[i]);
		assert_true(res.body.n > 0);
		assert_false(has(TOKEN));
	}
	knock("GET", "/stats.json");
	assert_true(has("\"token_file\":\"/run/app.token\""));
}
