/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access by tokens, and pages for everybody: without a socket. */
/* uses: @server */
#include "unit.h"
#include "knock.h"

/* --- tokens ------------------------------------------------------------------ */

EACH(lock, teardown);

TEST(what_a_token_is)
{
	char text[MW_TOKEN_MAX + 2];

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

TEST(bearer_tokens)
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

	HEADERS("Host", "localhost");
	assert_int_equal(knock("GET", "/stats.json"), 401);
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
TEST(long_tokens)
{
	static char value[100000];
	char token[MW_TOKEN_MAX];

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
TEST(no_token_at_all)
{
	static const char *const sent[] = { "Bearer ", "Bearer", "Bearer " TOKEN, "Bearer a" };

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

TEST(wrong_tokens_are_slowed)
{
	const char *session = cookie();

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
	/* a request without a token, or with an old cookie, tries out nothing */
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

TEST(what_is_public)
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

	HEADERS("Host", "localhost");
	for (size_t i = 0; i < sizeof(open) / sizeof(*open); i++) {
		assert_int_equal(knock("GET", open[i]), 200);
		assert_int_equal(knock("HEAD", open[i]), 200);
		assert_int_equal(knock("PUT", open[i]), !strcmp(open[i], "/login") ? 405 : 401);
	}
	assert_int_equal(knock("PUT", "/login"), 405);
	assert_string_equal(res.allow, "GET, HEAD, POST");
	assert_int_equal(knock("GET", "/logout"), 405);
	assert_string_equal(res.allow, "POST");
	for (size_t i = 0; i < sizeof(closed) / sizeof(*closed); i++) {
		for (size_t m = 0; m < sizeof(methods) / sizeof(*methods); m++) {
			assert_int_equal(knock(methods[m], closed[i]), 401);
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

TEST(on_every_transport)
{
	static const enum mw_peer peers[] = { MW_PEER_UNIX, MW_PEER_TCP, MW_PEER_FAR, MW_PEER_RACK };

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
		/* in another thread, after this one has looked at Host and token */
		req.let_in = true;
		HEADERS("Host", "evil.example");
		assert_int_equal(route(&req), 200);
	}
}

TEST(a_token_in_the_query_is_none)
{
	struct mw_request req = request("GET", "/stats.json");

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
