/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The route table asked at random: what holds for any answer. */
/* uses: @server */
#include "unit.h"
#include "asked_routes.h"

#ifndef SEEDS
#define SEEDS 50000
#endif

static uint64_t state64;

static unsigned rnd(unsigned n)
{
	state64 ^= state64 << 13, state64 ^= state64 >> 7, state64 ^= state64 << 17;
	return (unsigned)(state64 >> 16) % n;
}

/* clang-format off */
static const char *const pieces[] = {
	"/", "/each", "/each/", "/at", "/at/", "/at.", "/overruns", "/overruns.", "/stats.json", "/reset",
	"/clear", "/trim", "/pause", "/resume", "/mwrap.css", ".tsv",
	".csv", ".json", ".html", "tsv", "2000", "0", "18446744073709551615", "99999999999999999999", "-1", "%", "%2F",
	"%00", "%zz", "%f", "+", "&", "=", "?", ";", "#", "sort", "order", "limit", "offset", "q", "group", "min",
	"format", "location", "total", "bytes", "location", "growth", "asc", "desc", "line", "file", "gem", "..",
	"%2Fsrv%2Fa.rb%3A1", "/srv/a.rb:1", "(other)", "\xff", "\xe2\x82", " ", "\t", "<", ">", "\"", "'", "\\", "{{q}}",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
};
static const char *const values[] = {
	"", "localhost", "localhost:80", "127.0.0.1", "[::1]", "[::1", "[", "]", ":", "evil.example", "null", "http://localhost",
	"https://localhost:80", "http://", "http://localhost/each/0?q=1", "http://localhost//x", "same-origin", "none",
	"cross-site", "text/html", "*/*", "127.0.0.1.", "127.", "127.0.0.1:", "\xff",
};
/* clang-format on */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PICK(a) ((a)[rnd((unsigned)COUNT(a))])

/* A malloc'ed text, so that a sanitizer sees what is read behind its end. */
static char *text(const char *start, unsigned most)
{
	char *s = strdup(start);

	for (unsigned n = rnd(2) ? rnd(most + 1) : 0; n; n--) {
		const char *piece = PICK(pieces);

		s = realloc(s, strlen(s) + strlen(piece) + 1);
		strcat(s, piece);
	}
	return s;
}

/* Checks any answer. */
static void check(const struct mw_request *req)
{
	bool post = !strcmp(req->method, "POST");
	bool get = !strcmp(req->method, "GET") || !strcmp(req->method, "HEAD");
	bool page = res.status == 404 && get && header(req->ctx, "Accept");

	assert_true(res.status == 200 || res.status == 303 || res.status == 400 || res.status == 403 ||
		    res.status == 404 || res.status == 405);
	assert_true(res.asset || res.body.n);
	assert_true((res.status == 405) == (res.allow != NULL));
	assert_true((res.status == 303) == (res.location.n > 0));
	if (page)
		assert_string_equal(res.content_type, "text/html; charset=utf-8");
	if ((res.status != 200 || post) && !page) {
		assert_int_equal(strncmp(res.content_type, "text/plain", 10), 0);
		assert_ptr_equal(memchr(res.body.p, '\n', res.body.n), res.body.p + res.body.n - 1);
	}
	if (!post)
		assert_int_equal(resets + trims + fake_stats.paused, 0);
	if (res.location.n) {
		assert_int_equal(strlen(res.location.p) + 1, res.location.n);
		assert_int_equal(res.location.p[0], '/');
		assert_null(strpbrk(res.location.p, "\r\n"));
	}
	if (!strncmp(res.content_type, "text/html", 9)) {
		assert_true(has("</html>\n"));
		assert_false(has("<evil"));
	}
}

EACH(setup, teardown);

TEST(test_random_requests)
{
	static const char *const methods[] = { "GET", "GET", "GET", "HEAD", "POST", "POST", "PUT", "" };
	static const char *const starts[] = { "/",      "/each/", "/each/0", "/at/", "/at",
					      "/reset", "/trim",  "/pause",  "" };
	static const char *const names[] = { "Host", "Origin", "Referer", "Accept", "Sec-Fetch-Site" };
	unsigned answered[600] = { 0 };

	for (unsigned i = 1; i <= SEEDS; i++) {
		const char *given[2 * COUNT(names) + 1] = { NULL };
		char *path, *query;
		struct mw_request req = { .base = "", .header = header };
		unsigned n = 0;

		state64 = i * UINT64_C(0x9e3779b97f4a7c15);
		for (unsigned k = 0; k < COUNT(names); k++) {
			if (rnd(3))
				continue;
			given[n++] = names[k];
			given[n++] = strcmp(names[k], "Accept") ? PICK(values) : "a/b, text/html;q=1";
		}
		headers = given;
		path = text(PICK(starts), 5);
		query = text("", 12);
		req.method = PICK(methods);
		req.path = path;
		req.query = rnd(4) ? query : NULL;
		req.peer = (enum mw_peer)rnd(3);
		fake_options.read_only = !rnd(8);
		resets = trims = 0;
		fake_stats.paused = false;
		route(&req);
		check(&req);
		if (res.status < 600)
			answered[res.status]++;
		free(path);
		free(query);
	}
	/* all kinds were met */
	for (const int *s = (const int[]){ 200, 303, 400, 403, 404, 405, 0 }; *s; s++)
		if (answered[*s] <= 20)
			fail_msg("%u answers with %d", answered[*s], *s);
}
