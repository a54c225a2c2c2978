/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of a family's processes. The first line of the input names the kind of
 * the rest, which is in pieces between lines of "---":
 *
 *   sum      PATH and QUERY of a page, a line each; then every process's table,
 *            as src/server/report/wire.h has it: they are added up, and the page is made of that
 *   scrape   every process's metrics, which are put together
 *   head     an HTTP answer, whose headers are told
 *   answer   METHOD PATH QUERY, a line each, of a process that is alone
 */
#include <unistd.h>

#include "../../src/server/family/ask.h"
#include "../../src/server/family/family.h"
#include "../../src/server/http/params.h"
#include "../unit/fake_api.h"
#include "fuzz.h"
#include "pages.h"

enum { PIECES = 6 };

/* The pieces of what is left; each a copy of its own. */
static size_t pieces_of(const char *p, size_t n, char **pieces, size_t *sizes)
{
	size_t used = 0;

	while (used < PIECES) {
		const char *end = n ? memmem(p, n, "---\n", 4) : NULL;
		size_t size = end ? (size_t)(end - p) : n;

		pieces[used] = malloc(size ? size : 1);
		must(pieces[used] != NULL);
		if (size)
			memcpy(pieces[used], p, size);
		sizes[used++] = size;
		if (!end)
			break;
		p = end + 4;
		n -= size + 4;
	}
	return used;
}

/* --- sums ------------------------------------------------------------------------- */

static void sound_rows(const struct mw_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct mw_row *r = &rows[i];

		must(r->kind <= MW_KIND_SPECIAL && r->file_len <= r->location_len);
		must(r->location && strlen(r->location) == r->location_len);
	}
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Nothing is lost, and nothing counted twice. */
static void right_sums(const struct mw_part *parts, size_t n, const struct mw_api *api)
{
	uint64_t total = 0, live = 0, lives_n = 0;
	struct mw_lives *lives;
	struct mw_stats s;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < parts[i].wire->n; k++) {
			const struct mw_row *r = &parts[i].wire->rows[k];

			total = add(total, parts[i].inherits ? less(r->total, r->fork_baseline.total) :
							       r->total);
			live = add(live, r->live_bytes);
		}
		lives_n += parts[i].wire->lives_n;
	}
	api->stats(&s);
	must(s.total == total && s.live_bytes == live && s.processes == n);
	lives = api->lives(NULL, 0);
	must(lives && lives->n == lives_n);
	for (size_t i = 0; i < lives->n; i++)
		must(lives->v[i].generation <= s.generation);
	api->lives_free(lives);
}

/* A sum is a tracker, and so its table can be sent as any other. */
static void sent_on(const struct mw_api *api, const struct mw_snapshot *sum)
{
	struct mw_buf b = { 0 };
	struct mw_wire w;

	must(!mw_wire_write(&b, api, MW_WIRE_ALL, NULL, 0));
	must(!mw_wire_read(&w, b.p, b.n));
	must(w.n == sum->n && w.pid == getpid());
	sound_rows(w.rows, w.n);
	for (size_t i = 0; i < w.n; i++) {
		const struct mw_row *x = &w.rows[i], *y = &sum->rows[i];

		must(x->total == y->total && x->growth == y->growth && x->at == y->at &&
		     x->kind == y->kind);
		must(x->location_len == y->location_len &&
		     !memcmp(x->location, y->location, x->location_len));
	}
	mw_wire_free(&w);
}

/* As src/server/family/answer.c: other pages aren't asked of a sum. */
static bool is_of_sums(const char *path)
{
	return !strcmp(path, "/") || !strncmp(path, "/each", 5) || !strncmp(path, "/at", 3) ||
	       !strncmp(path, "/overruns", 9);
}

static void check(const struct mw_response *res)
{
	const struct mw_buf *b = &res->body;

	must(!b->failed && !res->location.failed && !res->stream && b->n);
	must(is_utf8(b->p, b->n) && !memchr(b->p, '\0', b->n));
	if (res->status != 200) {
		must(res->status == 400 || res->status == 404 || res->status == 414);
		must(is(res->content_type, "text/plain") && count(b, '\n') == 1);
	} else if (is(res->content_type, "application/json")) {
		is_json(b);
	} else if (is(res->content_type, "text/tab-separated-values")) {
		is_tsv(b);
	} else if (is(res->content_type, "text/html")) {
		must(memmem(b->p, b->n, "</html>\n", 8) && !strange_script(b));
	}
}

static void page(const struct mw_api *api, const char *path, const char *query)
{
	const struct mw_request req = {
		.method = "GET", .path = path, .query = query, .base = "/all", .mount = ""
	};
	struct mw_response res;

	if (!is_of_sums(path))
		return;
	mw_route(api, &req, &res);
	check(&res);
	mw_response_free(&res);
}

/* The page of one location, in two ways. */
static void page_at(const struct mw_api *api, const struct mw_row *r)
{
	struct mw_buf path = { 0 }, query = { 0 };

	mw_buf_str(&path, "/at/");
	mw_percent_encode(&path, r->location, r->location_len);
	mw_buf_add(&path, "", 1);
	mw_buf_str(&query, "format=json&location=");
	mw_percent_encode(&query, r->location, r->location_len);
	mw_buf_add(&query, "", 1);
	must(!path.failed && !query.failed);
	page(api, path.p, NULL);
	page(api, "/at", query.p);
	mw_buf_free(&path);
	mw_buf_free(&query);
}

static void pages(const struct mw_api *api, const char *path, const char *query)
{
	const struct mw_snapshot *s = api->snapshot();

	page(api, path, query);
	page(api, "/", NULL);
	page(api, "/each/0", NULL);
	page(api, "/each/0.tsv", "group=gem");
	page(api, "/overruns.json", NULL);
	if (s->n)
		page_at(api, &s->rows[s->n / 2]);
}

static void sum(const char *p, size_t n)
{
	struct mw_wire wires[PIECES], none = { 0 };
	struct mw_part parts[PIECES], again[PIECES];
	size_t sizes[PIECES], used = 0, len, rows;
	const struct mw_api *api;
	const struct mw_snapshot *s;
	char *texts[PIECES], *path, *query;
	const char *line;

	len = line_of(&p, &n, &line);
	path = copy_of(line, len);
	len = line_of(&p, &n, &line);
	query = copy_of(line, len);
	len = pieces_of(p, n, texts, sizes);
	for (size_t i = 0; i < len; i++) {
		if (mw_wire_read(&wires[used], texts[i], sizes[i])) {
			must(!memcmp(&wires[used], &none, sizeof(none)));
			continue;
		}
		sound_rows(wires[used].rows, wires[used].n);
		parts[used] = again[used] = (struct mw_part){ .wire = &wires[used] };
		used++;
	}
	mw_inheritance(parts, used);
	mw_inheritance(again, used);
	for (size_t i = 0; i < used; i++)
		must(parts[i].inherits == again[i].inherits);
	api = mw_sum_api(parts, used, &fake_api);
	must(api != NULL);
	s = api->snapshot();
	must(s && s->family);
	sound_rows(s->rows, s->n);
	for (size_t i = 0; i < s->n; i++)
		must(s->rows[i].id == i && s->rows[i].processes);
	right_sums(parts, used, api);
	sent_on(api, s);
	pages(api, path, query);
	rows = s->n;
	/* in any order it is the same */
	for (size_t i = 0; i < used; i++)
		again[i] = parts[used - 1 - i];
	api = mw_sum_api(again, used, &fake_api);
	must(api && api->snapshot()->n == rows);
	right_sums(again, used, api);
	mw_sum_end();
	while (used)
		mw_wire_free(&wires[--used]);
	free(path);
	free(query);
}

/* --- metrics ------------------------------------------------------------------------ */

static size_t name_of(const char *help, size_t n, const char **name)
{
	const char *space;

	*name = help + 7;
	if (n <= 7 || memcmp(help, "# HELP ", 7) != 0)
		return 0;
	space = memchr(*name, ' ', n - 7);
	return space ? (size_t)(space - *name) : n - 7;
}

static void scrape(const char *p, size_t n)
{
	struct mw_answer s[PIECES];
	struct mw_buf b = { 0 };
	size_t sizes[PIECES], len, used, left, more, samples = 0, had = 0;
	char *texts[PIECES];
	const char *line, *at, *other, *name, *its;

	used = pieces_of(p, n, texts, sizes);
	for (size_t i = 0; i < used; i++) {
		s[i] = (struct mw_answer){ .pid = 100 + (long)i, .text = texts[i], .n = sizes[i] };
		had += sizes[i];
	}
	mw_scrape_merge(&b, s, used);
	must(!b.failed && (!b.n || b.p[b.n - 1] == '\n'));
	must(b.n <= had + (had + used) * 40);
	for (at = b.p, left = b.n; left;) {
		len = line_of(&at, &left, &line);
		must(len && !(len == 5 && !memcmp(line, "# EOF", 5)));
		if (*line != '#') {
			must(memmem(line, len, "{process=\"10", 12));
			samples++;
		}
		if (!name_of(line, len, &name))
			continue;
		for (other = at, more = left; more;) { /* said once */
			size_t k = line_of(&other, &more, &line);

			k = name_of(line, k, &its);
			must(k != name_of(name - 7, len, &name) || memcmp(its, name, k) != 0);
		}
	}
	must(samples <= had);
	mw_buf_free(&b);
	while (used)
		free(texts[--used]);
}

/* --- answers ------------------------------------------------------------------------- */

static void header(void *ctx, const char *name, const char *value)
{
	size_t *n = ctx;

	must(*name);
	for (const char *s = name; *s; s++)
		must(*s > ' ' && *s <= '~' && *s != ':');
	for (const char *s = value; *s; s++)
		must((unsigned char)*s >= ' ' || *s == '\t');
	must(!*value || (*value != ' ' && value[strlen(value) - 1] != ' '));
	*n += strlen(name) + strlen(value) + 1;
}

static void head(const char *p, size_t n)
{
	struct mw_ask a = { .fd = -1 };
	const char *end = n ? memmem(p, n, "\r\n\r\n", 4) : NULL;
	size_t told = 0;

	a.answer.p = malloc(n ? n : 1);
	must(a.answer.p != NULL);
	if (n)
		memcpy(a.answer.p, p, n);
	a.answer.n = a.answer.cap = n;
	a.body = end ? (size_t)(end - p) + 4 : 0;
	mw_ask_headers(&a, header, &told);
	must(told <= a.body);
	mw_ask_free(&a);
}

static int changes;

static void reset(void)
{
	changes++;
}

static bool trim(void)
{
	return changes++ & 1;
}

/* No folder, no family: no other process is asked. */
static void answer(const char *p, size_t n)
{
	static const struct mw_family alone;
	struct mw_request req = { .base = "", .mount = "" };
	struct mw_response res;
	struct mw_api api = fake_api;
	char *words[3];
	const char *line, *rest;
	size_t len;

	api.reset = reset;
	api.trim = trim;
	changes = 0;
	for (int i = 0; i < 3; i++) {
		len = line_of(&p, &n, &line);
		words[i] = copy_of(line, len);
	}
	req.method = words[0];
	req.path = words[1];
	req.query = words[2];
	fake_site();
	if (mw_family_wants(req.path, 12, mw_family_relatives(&alone), &rest)) {
		mw_family_answer(&alone, &api, &req, &res);
		must(res.status && !res.body.failed && !fake_out);
		must(!changes || !strcmp(req.method, "POST"));
		must(!res.body.n || is_utf8(res.body.p, res.body.n));
		must((res.status == 301) == (res.location.n > 0));
		if (res.status != 200)
			must(res.status == 301 || res.status == 304 ||
			     (res.status >= 400 && res.status < 500));
		mw_response_free(&res);
	} else {
		must(rest >= req.path && rest <= req.path + strlen(req.path));
		must(rest == req.path || !strncmp(req.path, "/12/", 4));
	}
	for (int i = 0; i < 3; i++)
		free(words[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data, *line;
	size_t n = line_of(&p, &size, &line);

	fake_clear();
	switch (n ? *line : 0) {
	case 's':
		(n > 1 && line[1] == 'c' ? scrape : sum)(p, size);
		break;
	case 'h':
		head(p, size);
		break;
	case 'a':
		answer(p, size);
		break;
	}
	return 0;
}
