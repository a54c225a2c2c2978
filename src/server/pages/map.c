/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/report/missing.h"
#include "map.h"

static struct mw_map *make_map(const struct mw_api *api, int statm, const struct mw_map_ruby *ruby)
{
	uint64_t rss = 0;

	return mw_map_make(api, mw_rss_bytes(statm, &rss) ? rss : 0, ruby);
}

static const struct mw_map *keep_map(struct mw_site *s, struct mw_map *m, uint32_t *id)
{
	if (!m)
		return NULL;
	atomic_fetch_add(&s->busy, 1);
	*id = mw_maps_keep(&s->maps, m, mw_site_uptime(s));
	atomic_fetch_sub(&s->busy, 1);
	return m;
}

const struct mw_map *mw_site_map(struct mw_site *s, const struct mw_map_ruby *ruby, uint32_t *id)
{
	return keep_map(s, make_map(s->api, s->statm, ruby), id);
}

/* The one that was made for this call, or else a new one. */
static const struct mw_map *map_of(struct mw_call *call, uint32_t *id)
{
	struct mw_map **made = call->req->map, *m = made ? *made : NULL;

	if (!m)
		return mw_site_map(call->req->site, call->req->ruby, id);
	*made = NULL;
	return keep_map(call->req->site, m, id);
}

const struct mw_map *mw_site_some_map(struct mw_site *s)
{
	const struct mw_map *m = mw_maps_newest(&s->maps, mw_site_uptime(s), MW_MAPS_SECONDS);
	uint32_t id;

	return m || !s->api->each_live ? m : mw_site_map(s, NULL, &id);
}

static void no_map(struct mw_call *call)
{
	mw_reply(call, 503, "map: out of memory, or /proc can't be read");
}

/* Does the process have an allocator's blocks that can be walked? If not, answers with 501. */
static bool has_blocks(struct mw_call *call)
{
	if (!call->req->later && !mw_has_site(call))
		return false;
	if (call->api->each_live)
		return true;
	mw_reply(call, 501, "map: this process isn't tracked");
	return false;
}

/* The answer needs the site, which comes later: this makes its map meanwhile. */
static void make_for_later(struct mw_call *call)
{
	call->res->map = make_map(call->api, -1, call->req->ruby);
	if (!call->res->map)
		no_map(call);
}

void mw_page_map(struct mw_call *call)
{
	bool json = !strcmp(call->req->path, "/map.json");
	const struct mw_map *m;
	uint32_t id;

	if (!has_blocks(call))
		return;
	if (call->req->later) {
		make_for_later(call);
		return;
	}
	m = map_of(call, &id);
	if (!m) {
		no_map(call);
	} else if (json) {
		mw_reply_form(call, MW_FORM_JSON);
		mw_map_json(&call->res->body, m, id, call->req->site);
	} else {
		mw_map_page_reply(call, m);
	}
}

/* For other processes of the family. Their request may come without the site: the map isn't kept. */
void mw_page_map_figures(struct mw_call *call)
{
	struct mw_map *m = make_map(call->api, -1, NULL);

	if (m) {
		mw_reply(call, 200, "");
		call->res->body.n = 0;
		mw_map_lines_of_text(&call->res->body, m);
		mw_map_free(m);
	} else {
		no_map(call);
	}
}

/* --- the locations of at=, which may be given several times ---------------------------------- */

struct chosen {
	const struct mw_snapshot *snapshot;
	struct mw_buf ids; /* uint32_t */
	struct mw_buf *why;
	uint32_t n;
	int bad; /* a status */
};

static void choose_location(void *ctx, const char *location, size_t n)
{
	struct chosen *c = ctx;
	const struct mw_row *row;
	int found;

	if (c->bad)
		return;
	found = mw_location_look(c->snapshot, location, n, &row);
	if (found) {
		mw_buf_str(c->why,
			   found == 2 ? "at: several locations have this id: ask for one by its name" :
					"at: no such location: nothing was allocated there");
		c->bad = found == 2 ? 409 : 404;
		return;
	}
	mw_location_ids(c->snapshot, row, &c->ids);
	c->n++;
}

/* False: answered. Else free c->ids. */
static bool choose_all(struct mw_call *call, struct chosen *c)
{
	struct mw_snapshot *s = call->api->snapshot();
	struct mw_buf why = { 0 };
	bool ok = true;

	*c = (struct chosen){ .snapshot = s, .why = &why, .bad = s ? 0 : 500 };
	if (s)
		ok = mw_params_each(call->req->query, "at", choose_location, c, &why);
	if (s)
		call->api->snapshot_free(s);
	if (!ok)
		c->bad = why.n ? 400 : 500;
	if (!c->bad && c->ids.failed)
		c->bad = 500;
	if (!c->bad && !c->n) {
		mw_buf_str(&why, "at: a location is missing, as in ?at=app.rb:5");
		c->bad = 400;
	}
	if (!c->bad) {
		mw_buf_free(&why);
		return true;
	}
	mw_buf_free(&c->ids);
	mw_reply_why(call, c->bad, &why);
	return false;
}

static const uint32_t *ids_of(const struct chosen *c, size_t *n)
{
	*n = c->ids.n / sizeof(uint32_t);
	return (const uint32_t *)(const void *)c->ids.p;
}

/* {"start":..., which names the process, "now": and "unix": */
static void begin_json(struct mw_call *call)
{
	const struct mw_site *s = call->req->site;

	mw_json_head(&call->res->body, s, mw_site_uptime(s), "now", "unix");
}

/* Are all blocks known? If not, answers with 409. */
static bool knows_blocks(struct mw_call *call)
{
	const struct mw_stats *s = mw_call_stats(call);
	struct mw_buf why = { 0 };

	if (!s->missing)
		return true;
	mw_buf_fmt(&why, "map: not all blocks are known, since %s", mw_missing_why(s->missing));
	mw_reply_why(call, 409, &why);
	return false;
}

void mw_page_map_whatif(struct mw_call *call)
{
	struct mw_buf *b = &call->res->body;
	struct mw_map_whatif w;
	struct chosen c;
	const uint32_t *ids;
	size_t n;

	if (!has_blocks(call) || !knows_blocks(call) || !choose_all(call, &c))
		return;
	ids = ids_of(&c, &n);
	if (mw_map_whatif(call->api, ids, n, &w)) {
		mw_reply_form(call, MW_FORM_JSON);
		begin_json(call);
		mw_json_u64(b, "\nlocations", c.n);
		mw_json_u64(b, "blocks", w.blocks);
		mw_json_u64(b, "bytes", w.bytes);
		mw_json_u64(b, "empty_now_bytes", w.empty_now);
		mw_json_u64(b, "empty_then_bytes", w.empty_then);
		mw_json_u64(b, "unmapped_bytes", w.unmapped);
		mw_json_u64(b, "left_out_bytes", w.left_out);
		mw_buf_str(b, "}\n");
	} else {
		no_map(call);
	}
	mw_buf_free(&c.ids);
}

/* --- pieces of a map that is kept ----------------------------------------------------------------- */

static void reply_bytes(struct mw_call *call)
{
	call->res->status = 200;
	call->res->content_type = "application/octet-stream";
}

static void reply_light(struct mw_call *call, const struct mw_map *m)
{
	size_t bytes = (m->n_cells + 7) / 8, n;
	uint8_t *bits = calloc(bytes ? bytes : 1, 1);
	struct chosen c;
	const uint32_t *ids;

	if (!bits) {
		mw_response_no_memory(call->res);
		return;
	}
	if (choose_all(call, &c)) {
		ids = ids_of(&c, &n);
		if (mw_map_light(m, call->api, ids, n, bits)) {
			reply_bytes(call);
			mw_buf_add(&call->res->body, bits, bytes);
		} else {
			no_map(call);
		}
		mw_buf_free(&c.ids);
	}
	free(bits);
}

static void reply_tile(struct mw_call *call, const struct mw_map *m, unsigned level, uint32_t number)
{
	uint8_t *to = malloc(2 * MW_MAP_TILE);
	uint32_t n;

	if (!to) {
		mw_response_no_memory(call->res);
		return;
	}
	n = mw_map_tile(m, level, number, to);
	if (n) {
		reply_bytes(call);
		mw_buf_add(&call->res->body, to, 2 * (size_t)n);
	} else {
		mw_reply(call, 404, "map: no such tile");
	}
	free(to);
}

/* A number before a character of the path; moves *s behind both. */
static bool take_path_number(const char **s, char end, uint64_t max, uint64_t *v)
{
	size_t n = strspn(*s, "0123456789");

	if (!n || (*s)[n] != end || !mw_parse_u64(*s, n, v) || *v > max)
		return false;
	*s += n + 1;
	return true;
}

/* ID/at.bin and ID/LEVEL/NUMBER.bin */
void mw_page_map_piece(struct mw_call *call)
{
	const char *s = call->rest;
	const struct mw_map *m;
	uint64_t pid, id, level, tile;
	bool light;

	if (!has_blocks(call))
		return;
	/* the number of the process comes first: behind a Rack server any worker may answer */
	if (!take_path_number(&s, '-', INT32_MAX, &pid) || !take_path_number(&s, '/', UINT32_MAX, &id)) {
		mw_reply(call, 404, "no such page");
		return;
	}
	light = !strcmp(s, "at.bin");
	if (!light && (!take_path_number(&s, '/', 31, &level) ||
		       !take_path_number(&s, '.', UINT32_MAX, &tile) || strcmp(s, "bin") != 0)) {
		mw_reply(call, 404, "no such page");
		return;
	}
	m = pid == (uint64_t)getpid() ? mw_maps_find(&call->req->site->maps, (uint32_t)id) : NULL;
	if (!m)
		mw_reply(call, 404, "map: expired: ask for /map.json again");
	else if (light)
		reply_light(call, m);
	else
		reply_tile(call, m, (unsigned)level, (uint32_t)tile);
}

/* --- one page of memory ----------------------------------------------------------------------------- */

/* The address's state in the newest map; "unknown": none is kept, or the address isn't in it. */
static const char *state_of(const struct mw_site *s, uintptr_t at)
{
	static const char *const names[] = { "absent",  "empty",   "end",  "ruby",
					     "swapped", "unknown", "other" };
	const struct mw_map *m = mw_maps_newest(&s->maps, mw_site_uptime(s), MW_MAPS_SECONDS);
	int64_t cell = m ? mw_map_cell_of(m, at) : -1;
	enum mw_map_panel_kind kind = MW_PANEL_OTHER;
	unsigned v = cell >= 0 ? m->fill[cell] & MW_MAP_IS_MASK : MW_MAP_IS_UNKNOWN;

	for (uint32_t i = 0; cell >= 0 && i < m->n_panels && m->panels[i].cell <= cell; i++)
		kind = m->panels[i].kind;
	if (kind == MW_PANEL_RUBY && v >= MW_MAP_IS_USED)
		v = MW_MAP_IS_RUBY;
	return v < sizeof(names) / sizeof(*names) ? names[v] : "used";
}

static int by_row_id(const void *a, const void *b)
{
	const struct mw_row *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static const struct mw_row *row_of(const struct mw_row **rows, size_t n, uint32_t id)
{
	const struct mw_row key = { .id = id }, *k = &key, **found;

	found = n ? bsearch(&k, rows, n, sizeof(*rows), by_row_id) : NULL;
	return found ? *found : NULL;
}

static void page_json(struct mw_buf *b, const struct mw_map_page *p, const char *state,
		      const struct mw_snapshot *s)
{
	const struct mw_row **rows = malloc((s->n + 1) * sizeof(*rows));

	if (!rows) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < s->n; i++)
		rows[i] = &s->rows[i];
	qsort(rows, s->n, sizeof(*rows), by_row_id);
	mw_json_address(b, "\npage", p->page);
	mw_json_str(b, "state", p->n ? "used" : state);
	mw_json_u64(b, "live_bytes", p->live);
	mw_json_open(b, "blocks", '[');
	for (uint32_t i = 0; i < p->n; i++) {
		const struct mw_live *l = &p->v[i];
		const struct mw_row *row = row_of(rows, s->n, l->id);

		mw_json_open(b, "\n", '{');
		mw_json_address(b, "address", l->addr);
		mw_json_u64(b, "size", l->size);
		mw_json_text(b, "location", row ? row->location : NULL, row ? row->location_len : 0);
		mw_json_u64(b, "generation", l->generation);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "]");
	mw_json_u64(b, "more", p->more);
	mw_buf_str(b, "}\n");
	free(rows);
}

void mw_page_map_one(struct mw_call *call)
{
	struct mw_map_page *p;
	struct mw_snapshot *s;
	char *end;
	uint64_t at;

	if (!has_blocks(call))
		return;
	at = strtoull(call->rest, &end, 16);
	if (strncmp(call->rest, "0x", 2) != 0 || !call->rest[2] || *end) {
		mw_reply(call, 400, "map: an address expected, as in /map/page/0x7f0012345000");
		return;
	}
	p = malloc(sizeof(*p));
	s = p ? call->api->snapshot() : NULL;
	if (s) {
		mw_map_look(call->api, (uintptr_t)at, p);
		mw_reply_form(call, MW_FORM_JSON);
		begin_json(call);
		page_json(&call->res->body, p, state_of(call->req->site, (uintptr_t)at), s);
		call->api->snapshot_free(s);
	} else {
		mw_response_no_memory(call->res);
	}
	free(p);
}

/* --- trim -------------------------------------------------------------------------------------------- */

enum { FRESH = 5 /* seconds for which a map's estimate holds */ };
#define TRIM_LEAST ((uint64_t)1 << 20)

static bool estimate(struct mw_call *call, struct mw_map_trim *t)
{
	struct mw_site *s = call->req->site;
	const struct mw_map *m = mw_maps_newest(&s->maps, mw_site_uptime(s), FRESH);
	uint32_t id;

	if (!m)
		m = map_of(call, &id);
	if (m)
		*t = m->trim;
	return m;
}

static void said(struct mw_call *call, const char *before, uint64_t bytes, const char *after)
{
	struct mw_buf b = { 0 };
	const char *unit;

	mw_buf_str(&b, before);
	unit = mw_buf_amount(&b, bytes, false);
	mw_buf_fmt(&b, " %s%s", unit, after);
	mw_done_text(call, &b);
	mw_buf_free(&b);
}

static void trim_and_reply(struct mw_call *call, const struct mw_map_trim *t)
{
	int statm = call->req->site ? call->req->site->statm : -1;
	uint64_t before = 0, after = 0;

	if (t->known && t->bytes < TRIM_LEAST) {
		said(call, "trim: not done: it would give back ", t->bytes, " at most");
		return;
	}
	(void)mw_rss_bytes(statm, &before);
	(void)mw_trim(call);
	(void)mw_rss_bytes(statm, &after);
	said(call, "trim: resident memory fell by ", before > after ? before - after : 0, "");
}

/* Without the site: a POST doesn't need it, and its map isn't kept. */
static void trim_later(struct mw_call *call)
{
	struct mw_map *m;

	make_for_later(call);
	m = call->res->map;
	if (!m || strcmp(call->req->method, "POST") != 0)
		return;
	call->res->map = NULL;
	trim_and_reply(call, &m->trim);
	mw_map_free(m);
}

void mw_page_map_trim(struct mw_call *call)
{
	struct mw_map_trim t;

	if (!has_blocks(call))
		return;
	if (call->req->later) {
		trim_later(call);
	} else if (!estimate(call, &t)) {
		no_map(call);
	} else if (!strcmp(call->req->method, "POST")) {
		trim_and_reply(call, &t);
	} else {
		mw_reply_form(call, MW_FORM_JSON);
		begin_json(call);
		mw_map_trim_json(&call->res->body, &t);
		mw_buf_str(&call->res->body, "}\n");
	}
}
