/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event.c - the journal's news for one watcher, as JSON. See journal.h. */
#include <stdlib.h>

#include "journal.h"
#include "shared/text/json.h"

struct by_growth {
	int64_t growth;
	uint32_t id;
};

static int most_first(const void *a, const void *b)
{
	const struct by_growth *x = a, *y = b;

	if (x->growth != y->growth)
		return x->growth > y->growth ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Most growth first; without memory in order of the ids. */
static void make_order(const struct mw_journal *j, struct mw_cursor *c)
{
	size_t n = j->snapshot ? j->snapshot->n : 0, used = 0;
	struct by_growth *v = malloc((n + 1) * sizeof(*v));

	c->order = malloc((n + 1) * sizeof(*c->order));
	if (v && c->order) {
		for (size_t i = 0; i < j->n && used < n; i++)
			if (j->entries[i].row)
				v[used++] = (struct by_growth){ j->entries[i].row->growth, (uint32_t)i };
		qsort(v, used, sizeof(*v), most_first);
		for (size_t i = 0; i < used; i++)
			c->order[i] = v[i].id;
		c->order_n = used;
	} else {
		free(c->order);
		c->order = NULL;
	}
	free(v);
}

void mw_cursor_free(struct mw_cursor *c)
{
	free(c->order);
	*c = (struct mw_cursor){ 0 };
}

static void begin_sending(const struct mw_journal *j, struct mw_cursor *c)
{
	c->target = j->tick;
	c->at = 0;
	c->more = false;
	c->gone_told = !c->got; /* a new watcher has no rows that could go */
	if (!c->got)
		make_order(j, c);
}

static void end_sending(struct mw_cursor *c)
{
	uint32_t got = c->target;

	mw_cursor_free(c);
	c->got = got;
}

/* Moves c->at to the next row to send; NULL: none is left. */
static const struct mw_entry *next(const struct mw_journal *j, struct mw_cursor *c)
{
	size_t n = c->order ? c->order_n : j->n;

	for (; c->at < n; c->at++) {
		size_t id = c->order ? c->order[c->at] : c->at;
		const struct mw_entry *e = id < j->n ? &j->entries[id] : NULL;

		if (e && e->row && e->changed > c->got)
			return e;
	}
	return NULL;
}

/* Most rows have none. */
static void objects(struct mw_buf *b, const struct mw_row *r)
{
	const uint64_t v[] = { r->objects, r->object_bytes, r->object_samples, r->object_variance };

	if (!r->objects) {
		mw_json_u64(b, NULL, 0);
		return;
	}
	mw_json_open(b, NULL, '[');
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		mw_json_u64(b, NULL, v[i]);
	mw_buf_str(b, "]");
}

static void event_row(struct mw_buf *b, const struct mw_entry *e, bool known)
{
	const struct mw_row *r = e->row;
	const uint64_t before[] = { r->id, r->total, r->allocations, r->frees };
	const uint64_t after[] = { r->live_bytes, r->live, r->life_sum, r->life_max };

	mw_json_open(b, NULL, '[');
	for (size_t i = 0; i < 4; i++)
		mw_json_u64(b, NULL, before[i]);
	mw_json_i64(b, NULL, r->growth);
	for (size_t i = 0; i < 4; i++)
		mw_json_u64(b, NULL, after[i]);
	mw_json_i64(b, NULL, e->mark);
	if (!known)
		mw_json_location(b, r->location, r->location_len, r->file_len, r->kind);
	objects(b, r);
	mw_buf_str(b, "]");
}

static void event_head(struct mw_buf *b, double uptime, bool all, bool more)
{
	mw_buf_str(b, "{");
	mw_json_seconds(b, "t", uptime);
	mw_json_bool(b, "all", all);
	mw_json_bool(b, "more", more);
}

/* Appends the ids whose location went since c->got. False: none did. */
static bool gone(const struct mw_journal *j, struct mw_cursor *c, struct mw_buf *b, double uptime)
{
	bool any = false;

	for (size_t i = 0; i < j->n; i++) {
		const struct mw_entry *e = &j->entries[i];

		if (e->gone <= c->got)
			continue;
		if (!any) {
			c->more = next(j, c) != NULL;
			event_head(b, uptime, false, c->more);
			mw_buf_str(b, ",\"rows\":[],\"gone\":[");
		}
		mw_json_u64(b, NULL, i);
		any = true;
	}
	if (any)
		mw_buf_str(b, "]}");
	return any;
}

/* "all" is true for the first event of a first tick only: the others add to it. */
static void event_rows(const struct mw_journal *j, struct mw_cursor *c, struct mw_buf *b, double uptime,
		       bool all)
{
	struct mw_buf list = { 0 };
	const struct mw_entry *e;
	unsigned n = 0;

	while (n < MW_EVENT_ROWS && list.n < MW_EVENT_BYTES && (e = next(j, c))) {
		n++;
		event_row(&list, e, e->appeared <= c->got);
		c->at++;
	}
	c->more = next(j, c) != NULL;
	event_head(b, uptime, all, c->more);
	mw_buf_str(b, ",\"rows\":[");
	mw_buf_add(b, list.p, list.n);
	mw_buf_str(b, "],\"gone\":[]}");
	b->failed |= list.failed;
	mw_buf_free(&list);
}

bool mw_journal_event(const struct mw_journal *j, struct mw_cursor *c, struct mw_buf *b, double uptime)
{
	bool first, told;

	/* without a table, "all" rows would be none, and all that come later would look new */
	if (!j->snapshot || !mw_journal_ahead(j, c))
		return false;
	if (!c->target)
		begin_sending(j, c);
	first = !c->got && !c->at && !c->more;
	if (!c->gone_told) {
		c->gone_told = true;
		if (gone(j, c, b, uptime)) {
			if (!c->more)
				end_sending(c);
			return true;
		}
	}
	/* the promised rows may be gone by now: the list is then empty */
	told = first || c->more || next(j, c);
	if (told)
		event_rows(j, c, b, uptime, first);
	if (!told || !c->more)
		end_sending(c);
	return told;
}
