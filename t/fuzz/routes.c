/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The route table, with a tracker that answers from tables. Input, by lines:
 *
 *   METHOD unix|tcp|far|rack BASE       in capitals: read-only (Unix), or with a token;
 *                                       unix-sampled and the like: allocations are sampled;
 *                                       unix-recording: a recording is under way
 *   PATH
 *   QUERY
 *   NAME: VALUE ...   headers, then an empty line
 *   LOCATION ...      rows besides the usual ones
 *
 * A request of POST /login has the query for its body, too.
 */
#include <strings.h>

#include "../../src/server/http/access.h"
#include "../../src/server/pages/site.h"
#include "../unit/fake_api.h"
#include "fuzz.h"
#include "pages.h"

enum { HEADERS = 8, ROWS = 20 };

static char *names[HEADERS], *values[HEADERS], *places[ROWS];
static size_t headers, places_n;
static int changes;
static struct mw_site site;
static struct mw_api keeping; /* the site's */
static struct mw_access door;
static struct mw_record_state recording;
static bool told; /* the input has the token in it */

#define TOKEN "a-token-to-be-guessed"

static const char *header(void *ctx, const char *name)
{
	(void)ctx;
	for (size_t i = 0; i < headers; i++)
		if (!strcasecmp(names[i], name))
			return values[i];
	return NULL;
}

static void reset(void)
{
	changes++;
}

/* For good, as the tracker's; the site uses it again and again. */
static void *keep(size_t bytes)
{
	return calloc(1, bytes);
}

static bool trim(void)
{
	return changes++ & 1;
}

static bool counts(bool exactly, uint64_t rate)
{
	(void)rate;
	changes++;
	fake_stats.sampled = !exactly;
	return recording.is != MW_RECORD_ON;
}

/* A recording is under way if the input says so, and stays so: both answers are alike. */
static bool record_start(const struct mw_record_how *how, char *err)
{
	(void)how;
	changes++;
	snprintf(err, MW_ERROR_MAX, "a recording is under way");
	return recording.is != MW_RECORD_ON;
}

static bool record_stop(void)
{
	changes++;
	return true;
}

static const struct mw_record_state *record_state(void)
{
	return &recording;
}

static void body(const struct mw_response *res, bool post)
{
	const struct mw_buf *b = &res->body;

	must(!b->failed && !res->location.failed);
	must(res->asset || b->n);
	if (res->asset)
		return;
	if (is(res->content_type, "application/octet-stream")) /* for programs: paths as they are */
		return;
	must(is_utf8(b->p, b->n) && !memchr(b->p, '\0', b->n));
	if (res->stream) {
		must(is(res->content_type, "text/event-stream") && !memcmp(b->p + b->n - 2, "\n\n", 2));
	} else if (post && is(res->content_type, "application/json")) {
		must(res->status == 200);
		is_json(b);
	} else if (is(res->content_type, "text/html") && memmem(b->p, b->n, "name=\"token\"", 12)) {
		must(memmem(b->p, b->n, "</html>\n", 8) && !memmem(b->p, b->n, "<script", 7) &&
		     !memmem(b->p, b->n, "<evil", 5) && !memmem(b->p, b->n, "/srv/a.rb", 9));
		must(res->status == 401 || res->status == 429 || res->status == 200);
	} else if (res->status == 404 && is(res->content_type, "text/html")) { /* for browsers */
		must(memmem(b->p, b->n, "</html>\n", 8) && !strange_script(b) &&
		     !memmem(b->p, b->n, "<evil", 5));
	} else if (res->status != 200 || post) {
		must(is(res->content_type, "text/plain"));
		must(count(b, '\n') == 1 && b->p[b->n - 1] == '\n');
	} else if (is(res->content_type, "application/json")) {
		is_json(b);
	} else if (is(res->content_type, "text/tab-separated-values")) {
		is_tsv(b);
	} else if (is(res->content_type, "text/html")) {
		must(memmem(b->p, b->n, "</html>\n", 8) && !strange_script(b) &&
		     !memmem(b->p, b->n, "<evil", 5));
	}
}

/* Does it say the token? */
static bool knows(const struct mw_request *req)
{
	const char *s = req->header(NULL, "Authorization");

	return s && !strncasecmp(s, "Bearer", 6) && strstr(s, TOKEN);
}

static void answer(const struct mw_request *req, struct mw_response *res)
{
	static const int known[] = { 200, 303, 304, 400, 401, 403, 404, 405,
				     409, 413, 414, 415, 429, 501, 503 };
	bool post = !strcmp(req->method, "POST"), is_known = false;
	struct mw_api api = fake_api;

	api.reset = reset;
	api.trim = trim;
	api.count = counts;
	api.record_start = record_start;
	api.record_stop = record_stop;
	api.record_state = record_state;
	changes = 0;
	mw_route(&api, req, res);
	must(!fake_out);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		is_known |= res->status == known[i];
	must(is_known && res->content_type);
	must((res->status == 405) == (res->allow != NULL));
	must((res->status == 303) == (res->location.n > 0));
	must(post || !changes);
	must(res->status != 503 || !req->site ||
	     !strcmp(req->path, "/family/map") /* of an allocator that isn't there */
	     || (recording.is == MW_RECORD_ON &&
		 (!strcmp(req->path, "/exact") || !strcmp(req->path, "/sampled"))));
	must((!site.mark.set && !site.marks.n) || !fake_options.read_only);
	must(!changes || !fake_options.read_only);
	if (res->location.n) {
		must(strlen(res->location.p) + 1 == res->location.n && res->location.p[0] == '/');
		for (const char *p = res->location.p; *p; p++)
			must(*p > ' ' && *p <= '~');
	}
	must(!res->cookie.n || (req->access && post && strlen(res->cookie.p) + 1 == res->cookie.n));
	for (const char *p = res->cookie.n ? res->cookie.p : ""; *p; p++)
		must(*p >= ' ' && *p <= '~');
	must(req->access || (res->status != 401 && res->status != 429));
	must(!req->access || !changes || knows(req));
	must(!memmem(res->body.p ? res->body.p : "", res->body.n, TOKEN, strlen(TOKEN)) || told);
	body(res, post);
}

/* A watcher would get whole events of JSON. */
static void watch(void)
{
	struct mw_watcher w = { 0 };
	const char *p;
	size_t len;
	unsigned n = 0;

	must(!mw_watcher_poll(&site.stream, &w, NULL, 1));
	while (mw_watcher_next(&site.stream, &w, 1, &p, &len) == MW_NEXT_BYTES) {
		struct mw_buf data;
		char *brace = memchr(p, '{', len);

		must(brace && len > 2 && !memcmp(p + len - 3, "}\n\n", 3));
		data = (struct mw_buf){ .p = brace, .n = (size_t)(p + len - brace) };
		must(is_utf8(p, len) && count(&data, '\n') == 2);
		is_json(&data);
		mw_watcher_took(&w, len, 1);
		n++;
	}
	must(n == 3); /* rows, point, next */
	mw_watcher_free(&site.stream, &w);
}

static char *word(const char **p, size_t *n)
{
	const char *end = *n ? memchr(*p, ' ', *n) : NULL;
	size_t len = end ? (size_t)(end - *p) : *n;
	char *w = copy_of(*p, len);

	*p += end ? len + 1 : len;
	*n -= end ? len + 1 : len;
	return w;
}

static void usual(void)
{
	fake_clear();
	fake_site();
	fake_ruby_heap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data, *line, *colon;
	char *method, *peer, *base, *path, *query;
	struct mw_response res, again;
	struct mw_request req;
	size_t n;

	told = memmem(data, size, TOKEN, strlen(TOKEN)) != NULL;
	usual();
	n = line_of(&p, &size, &line);
	method = word(&line, &n);
	peer = word(&line, &n);
	base = n && line[0] == '/' ? copy_of(line, n) : copy_of("", 0);
	n = line_of(&p, &size, &line);
	path = copy_of(line, n);
	n = line_of(&p, &size, &line);
	query = copy_of(line, n);
	while ((n = line_of(&p, &size, &line)) && headers < HEADERS) {
		colon = memchr(line, ':', n);
		if (!colon)
			continue;
		names[headers] = copy_of(line, (size_t)(colon - line));
		for (colon++; colon < line + n && *colon == ' '; colon++)
			;
		values[headers++] = copy_of(colon, (size_t)(line + n - colon));
	}
	while (size && fake_n < ROWS) {
		n = line_of(&p, &size, &line);
		n = strnlen(line, n); /* the system's paths have no NUL */
		if (!n)
			break;
		/* api.h: a row's location ends with a NUL */
		places[places_n] = copy_of(line, n);
		fake_row_n(fake_n % 2 ? MW_KIND_RUBY : MW_KIND_NATIVE, n * 37, places[places_n++], n);
	}
	fake_options.read_only = peer[0] == 'U';
	fake_stats.sampled = strstr(peer, "-sampled") != NULL;
	recording =
		(struct mw_record_state){ .is = strstr(peer, "-recording") ? MW_RECORD_ON : MW_RECORD_ENDED,
					  .path = "/srv/\xff\"<evil>.mwt" };
	/* callers give mw_route a mount point that is percent-encoded */
	req = (struct mw_request){
		.method = method,
		.path = path,
		.query = query,
		.header = header,
		.base = base[strcspn(base, "\"'<> \\\r\n\t")] || !is_utf8(base, strlen(base)) ? "/m" : base,
		.peer = (peer[0] | 0x20) == 't' ? MW_PEER_TCP :
			(peer[0] | 0x20) == 'f' ? MW_PEER_FAR :
			peer[0] == 'r'          ? MW_PEER_RACK :
						  MW_PEER_UNIX,
	};
	for (const char *c = req.base; *c; c++)
		if (*c < '!' || *c > '~')
			req.base = "/m";
	mw_access_forget(&door);
	mw_access_token(&door, TOKEN, strlen(TOKEN));
	if (peer[0] == 'T' || peer[0] == 'F')
		req.access = &door;
	if (!strcmp(method, "POST") && !strcmp(path, "/login")) {
		req.body = query;
		req.body_n = strlen(query);
		req.body_cut = req.body_n > MW_LOGIN_BODY_MAX;
	}
	keeping = fake_api;
	keeping.keep = keep;
	mw_site_start(&site, &keeping);
	(void)mw_site_second(&site, NULL, NULL);
	req.site = peer[0] == 'r' ? NULL : &site;
	answer(&req, &res);
	answer(&req, &again);
	must(res.status == again.status && res.content_type == again.content_type);
	/* some say what time it is, and a mark replaces the one before */
	must(res.body.n == again.body.n || changes || !strcmp(path, "/mark") ||
	     !strcmp(path, "/snapshot.tsv") || !strcmp(path, "/stats.json") ||
	     !strcmp(path, "/history.json") || !strcmp(path, "/live") || !strcmp(path, "/metrics"));
	watch();
	mw_site_end(&site);
	must(!fake_out);
	mw_response_free(&res);
	mw_response_free(&again);
	while (headers) {
		free(names[--headers]);
		free(values[headers]);
	}
	while (places_n)
		free(places[--places_n]);
	free(method);
	free(peer);
	free(base);
	free(path);
	free(query);
	return 0;
}
