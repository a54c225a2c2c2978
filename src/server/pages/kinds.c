/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kinds.c - GET /kinds.json: what the memory of each location is of, for the live page.
 *
 *	{"start":..,"now":..,"unix":..,"rate":65536,
 *	 "kinds":["string",..],
 *	 "rows":[[id,samples,kind,live,total,kind,live,total,..],..]}
 *
 * id: as in /live; samples: that the bytes rest on; kind: an index into kinds; live, total: bytes that
 * add up to the location's. A location without a stack isn't there.
 */
#include "shared/report/kinded.h"
#include "pages.h"

static void texts(struct mw_buf *b, const struct mw_kinded *k)
{
	mw_json_open(b, "\nkinds", '[');
	for (uint32_t i = 0; i < k->clues.texts.n; i++)
		mw_json_str(b, NULL, mw_kinded_text(k, i));
	mw_buf_str(b, "]");
}

/* False: nothing is known of it. */
static bool kinds_row_json(struct mw_buf *b, const struct mw_kinded *k, size_t at)
{
	const struct mw_row *r = &k->snapshot->rows[at];

	if (!r->top_share || r->id == MW_ID_NONE)
		return false;
	mw_json_open(b, "\n", '[');
	mw_json_u64(b, NULL, r->id);
	mw_json_u64(b, NULL, r->kind_samples);
	for (size_t i = k->first[at]; i < k->first[at + 1]; i++) {
		mw_json_u64(b, NULL, k->parts[i].kind);
		mw_json_u64(b, NULL, k->parts[i].bytes[MW_BY_LIVE]);
		mw_json_u64(b, NULL, k->parts[i].bytes[MW_BY_TOTAL]);
	}
	mw_buf_str(b, "]");
	return true;
}

static void fill_kinds_json(struct mw_buf *b, const struct mw_kinded *k, uint64_t rate)
{
	bool any = false;

	mw_json_u64(b, "\nrate", rate);
	texts(b, k);
	mw_json_open(b, "\nrows", '[');
	for (size_t i = 0; rate && i < k->snapshot->n; i++)
		any |= kinds_row_json(b, k, i);
	mw_buf_str(b, any ? "\n]}\n" : "]}\n");
}

void mw_page_kinds(struct mw_call *call)
{
	const struct mw_site *site = call->req->site;
	struct mw_buf *b = &call->res->body;
	struct mw_stacks *s =
		call->api->stacks(0, 0); /* first: a sample's allocation is in the table then */
	struct mw_snapshot *table = call->api->snapshot();
	struct mw_kinded k = { 0 };

	call->res->status = 200;
	call->res->content_type = "application/json; charset=utf-8";
	if (s && table && mw_kinded_make(&k, table, s)) {
		mw_json_head(b, site, site ? mw_site_uptime(site) : 0, "now", "unix");
		fill_kinds_json(b, &k, s->rate);
	} else {
		b->failed = true;
	}
	mw_kinded_free(&k);
	if (table)
		call->api->snapshot_free(table);
	if (s)
		call->api->stacks_free(s);
}
