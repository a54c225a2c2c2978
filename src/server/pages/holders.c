/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * holders.c - /holders: what holds all live blocks; /holders?location=LOCATION: what holds those of a
 * location, and by which path. Waits for a Ruby thread, and then for a child: in a thread of its own.
 *
 * The page first explains, and has a button: a link alone forks nothing. Forms for programs are looked up at once.
 */
#include <string.h>

#include "server/objects/objects.h"
#include "server/report/missing.h"
#include "shared/report/row_index.h"
#include "pages.h"

#define ARROW " \xe2\x86\x92 "

struct view {
	struct mw_call *call;
	struct mw_snapshot *snapshot; /* later than the blocks, if all are asked for */
	struct mw_row_index ids;      /* of that, if all are asked for */
	const struct mw_row *row;
	struct mw_holders holders;
};

/* --- forms for programs ------------------------------------------------------------ */

static void tsv_text(struct mw_buf *b, const char *s)
{
	mw_buf_tsv(b, s, strlen(s));
}

static void csv_text(struct mw_buf *b, const char *s)
{
	mw_buf_csv(b, s, strlen(s));
}

static void join_holder_path(struct mw_buf *to, const struct mw_holder *h)
{
	for (size_t i = 0; i < h->n_path; i++) {
		mw_buf_str(to, i ? ARROW : "");
		mw_buf_str(to, h->path[i]);
	}
	mw_buf_add(to, "", 1);
}

static void put_holder_lines(struct mw_buf *b, const struct mw_holders *all, bool csv)
{
	void (*text)(struct mw_buf *, const char *) = csv ? csv_text : tsv_text;
	const char *end = csv ? "\r\n" : "\n";
	char between = csv ? ',' : '\t';

	mw_buf_fmt(b, "holder%cby%cblocks%cbytes%cpaths%cpath%cof%s", between, between, between, between,
		   between, between, end);
	for (size_t i = 0; i < all->n; i++) {
		const struct mw_holder *h = &all->rows[i];
		struct mw_buf path = { 0 };

		join_holder_path(&path, h);
		text(b, h->holder);
		mw_buf_fmt(b, "%c%s%c%llu%c%llu%c%llu%c", between, mw_held_by_name(h->by), between,
			   (unsigned long long)h->blocks, between, (unsigned long long)h->bytes, between,
			   (unsigned long long)h->paths, between);
		text(b, path.failed ? "" : path.p);
		mw_buf_fmt(b, "%c%s%s", between, h->objects ? "objects" : "blocks", end);
		mw_buf_free(&path);
	}
}

static void json_row(struct mw_buf *b, const struct mw_holder *h)
{
	mw_json_open(b, "\n", '{');
	mw_json_str(b, "holder", h->holder);
	mw_json_str(b, "by", mw_held_by_name(h->by));
	mw_json_u64(b, h->objects ? "objects" : "blocks", h->blocks);
	mw_json_u64(b, h->objects ? "object_bytes" : "bytes", h->bytes);
	mw_json_open(b, "path", '[');
	for (size_t i = 0; i < h->n_path; i++)
		mw_json_str(b, NULL, h->path[i]);
	mw_buf_str(b, "]");
	mw_json_u64(b, "paths", h->paths);
	mw_buf_str(b, "}");
}

static void json_rows(struct mw_buf *b, const struct mw_holders *all, const char *name, bool objects)
{
	size_t n = 0;

	mw_json_open(b, name, '[');
	for (size_t i = 0; i < all->n; i++)
		if (all->rows[i].objects == objects) {
			json_row(b, &all->rows[i]);
			n++;
		}
	mw_buf_str(b, n ? "\n]" : "]");
}

/* The location of the i-th sum of what nothing holds; NULL: it is gone. */
static const struct mw_row *lost_row(const struct view *v, uint32_t i)
{
	uint32_t row = mw_row_by_id(&v->ids, v->holders.lost[i].id);

	return row ? &v->snapshot->rows[row - 1] : NULL;
}

static void json_lost(struct mw_buf *b, const struct view *v)
{
	mw_json_open(b, "\nheld_by_nothing", '[');
	for (uint32_t i = 0; i < v->holders.n_lost; i++) {
		const struct mw_row *r = lost_row(v, i);

		if (!r)
			continue;
		mw_json_open(b, "\n", '{');
		mw_json_text(b, "location", r->location, r->location_len);
		mw_json_u64(b, "blocks", v->holders.lost[i].blocks);
		mw_json_u64(b, "bytes", v->holders.lost[i].bytes);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "]");
}

static void holders_json(struct mw_buf *b, const struct view *v)
{
	const struct mw_holders *all = &v->holders;
	const struct mw_stats *stats = mw_call_stats(v->call);

	mw_buf_str(b, "{");
	mw_json_text(b, "\nlocation", v->row ? v->row->location : NULL, v->row ? v->row->location_len : 0);
	mw_json_u64(b, "\nblocks", all->blocks);
	mw_json_u64(b, "\nbytes", all->bytes);
	mw_json_u64(b, "\nobjects", all->objects);
	mw_json_seconds(b, "\nmilliseconds", (double)all->ns / 1e6);
	mw_json_seconds(b, "\nstopped_milliseconds", (double)all->stop_ns / 1e6);
	mw_json_u64(b, "\nunread_stacks", all->unread_stacks);
	mw_json_bool(b, "\nstarted_late", all->missing == MW_MISSING_BEFORE);
	mw_json_str(b, "\nmissing", mw_missing_name(all->missing));
	mw_json_bool(b, "\nestimated", stats->sampled || stats->live_samples); /* else all blocks are known */
	json_rows(b, all, "\nrows", false);
	if (!v->row)
		json_lost(b, v);
	mw_json_u64(b, "\nobject_samples", all->sampled);
	json_rows(b, all, "\nobject_rows", true);
	mw_buf_str(b, "\n}\n");
}

/* --- the page ------------------------------------------------------------------------ */

static void holders_title(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	if (v->row)
		mw_html_location(b, v->row->location, v->row->location_len);
	else
		mw_buf_str(b, "Holders of live blocks");
}

static void holders_summary(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;
	uint64_t lost = 0, bytes = 0;

	for (size_t i = 0; i < v->holders.n; i++)
		if (v->holders.rows[i].by == MW_HELD_NOTHING) {
			lost += v->holders.rows[i].blocks;
			bytes += v->holders.rows[i].bytes;
		}
	mw_buf_commas(b, v->holders.blocks);
	mw_buf_str(b, v->holders.blocks == 1 ? " block is live, " : " blocks are live, ");
	mw_html_bytes(b, v->holders.bytes, false);
	mw_buf_str(b, ". ");
	mw_buf_str(b, v->holders.n_lost ? "<a href=\"#lost\">" : "");
	mw_buf_commas(b, lost);
	mw_buf_str(b, lost == 1 ? " of them is held by nothing" : " of them are held by nothing");
	mw_buf_str(b, v->holders.n_lost ? "</a>, " : ", ");
	mw_html_bytes(b, bytes, false);
	mw_buf_str(b, lost ? ": a native leak." : ".");
	if (lost && v->row) {
		mw_buf_str(b, " <a ");
		mw_html_at_href(b, v->call, v->row, "");
		mw_buf_str(b, ">The line\xe2\x80\x99s live blocks</a>");
	}
}

/* The lines of the blocks that nothing holds; nothing without any. */
static void lost_lines(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	if (!v->holders.n_lost)
		return;
	mw_buf_str(b,
		   "<table class=\"rows\" id=\"lost\">\n<caption>Lines whose blocks nothing holds, most bytes "
		   "first</caption>\n<thead><tr><th scope=\"col\">Location</th><th scope=\"col\" "
		   "class=\"num\">Blocks</th><th scope=\"col\" class=\"num\">Bytes</th></tr></thead>\n<tbody>\n");
	for (uint32_t i = 0; i < v->holders.n_lost; i++) {
		const struct mw_row *r = lost_row(v, i);

		if (!r)
			continue;
		mw_buf_str(b, "<tr><td class=\"location\"><a ");
		mw_html_at_href(b, v->call, r, "");
		mw_buf_str(b, ">");
		mw_html_location(b, r->location, r->location_len);
		mw_buf_str(b, "</a></td>");
		mw_html_number(b, v->holders.lost[i].blocks);
		mw_html_bytes_cell(b, v->holders.lost[i].bytes);
		mw_buf_str(b, "</tr>\n");
	}
	mw_buf_str(b, "</tbody>\n</table>\n");
}

static void notes(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	if (v->holders.unread_stacks) {
		mw_buf_commas(b, v->holders.unread_stacks);
		mw_buf_str(b, " threads ran, so their stacks weren\xe2\x80\x99t read. ");
	}
	if (v->holders.missing)
		mw_buf_fmt(b,
			   "Some blocks aren\xe2\x80\x99t known, since %s: what only they lead to counts as "
			   "held by nothing.",
			   mw_missing_why(v->holders.missing));
}

static void put_object_number(struct mw_buf *b, void *ctx)
{
	mw_buf_commas(b, *(const uint64_t *)ctx);
}

static void milliseconds(struct mw_buf *b, void *ctx)
{
	mw_buf_decimals(b, (double)*(const uint64_t *)ctx / 1e6, 1);
}

/* A summary knows no paths: then these two columns aren't there. */
static bool knows_paths(const struct view *v, bool objects)
{
	for (size_t i = 0; i < v->holders.n; i++)
		if (v->holders.rows[i].objects == objects &&
		    (v->holders.rows[i].paths || v->holders.rows[i].n_path))
			return true;
	return false;
}

static size_t table_rows(struct mw_buf *b, const struct view *v, bool objects)
{
	bool paths = knows_paths(v, objects);
	size_t n = 0;

	for (size_t i = 0; i < v->holders.n; i++) {
		const struct mw_holder *h = &v->holders.rows[i];

		if (h->objects != objects)
			continue;
		n++;
		mw_buf_str(b, "<tr><td class=\"location\">");
		mw_html_text(b, h->holder);
		mw_buf_fmt(b, "</td><td>%s</td>", mw_held_by_name(h->by));
		mw_html_number(b, h->blocks);
		mw_html_bytes_cell(b, h->bytes);
		if (paths) {
			mw_html_number(b, h->paths);
			mw_buf_str(b, "<td class=\"location\">");
			for (size_t k = 0; k < h->n_path; k++) {
				mw_buf_str(b, k ? ARROW : "");
				mw_html_text(b, h->path[k]);
			}
			mw_buf_str(b, "</td>");
		}
		mw_buf_str(b, "</tr>\n");
	}
	return n;
}

static void holder_rows(struct mw_buf *b, void *ctx)
{
	if (!table_rows(b, ctx, false))
		mw_buf_str(b, "<tr><td class=\"empty\" colspan=\"4\">Nothing is live.</td></tr>\n");
}

static void head_of(struct mw_buf *b, const struct view *v, bool objects)
{
	static const struct {
		const char *title, *about;
	} heads[] = {
		{ "Holder",
		  "The class of the Ruby object that points to them, or to a block that leads to them; Ruby itself; a "
		  "library; or nothing." },
		{ "Held by",
		  "ruby: an object that is reached. native: a library\xe2\x80\x99s variable or a thread\xe2\x80\x99s stack. "
		  "garbage: an object that the next collection frees. nothing: a native leak." },
		{ "Blocks", "Live blocks that it holds. Each counts once." },
		{ "Bytes", "Their bytes." },
		{ "Paths", "Different paths from a root to such a holder." },
		{ "Path", "The path that most of these blocks have, from a root to the holder." },
	};
	size_t n = sizeof(heads) / sizeof(*heads) - (knows_paths(v, objects) ? 0 : 2);

	for (size_t i = 0; i < n; i++) {
		mw_buf_fmt(b, "<th scope=\"col\"%s title=\"", i > 1 && i < 5 ? " class=\"num\"" : "");
		mw_html_text(b, objects && i == 2 ? "Ruby\xe2\x80\x99s objects that it refers to." :
						    heads[i].about);
		mw_buf_fmt(b, "\">%s</th>\n", objects && i == 2 ? "Objects" : heads[i].title);
	}
}

static void holders_head(struct mw_buf *b, void *ctx)
{
	head_of(b, ctx, false);
}

/* The referrers of the sampled Ruby objects that were made here; nothing without any. */
static void sampled(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	if (!v->holders.sampled)
		return;
	mw_buf_str(b, "<div class=\"scroll\" role=\"region\" aria-label=\"Holders of Ruby\xe2\x80\x99s "
		      "objects\" tabindex=\"0\">\n<table class=\"rows\">\n<caption>Referrers of the "
		      "Ruby objects made here, estimated from ");
	mw_buf_commas(b, v->holders.sampled);
	mw_buf_str(b, v->holders.sampled == 1 ? " sample" : " samples");
	mw_buf_str(b, "</caption>\n<thead><tr>");
	head_of(b, v, true);
	mw_buf_str(b, "</tr></thead>\n<tbody>\n");
	table_rows(b, v, true);
	mw_buf_str(b, "</tbody>\n</table>\n</div>\n");
}

static void holders_exports(struct mw_buf *b, void *ctx)
{
	static const char *const forms[] = { "TSV", "CSV", "JSON" }, *const ends[] = {
		".tsv", ".csv", ".json"
	};
	const struct view *v = ctx;

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		mw_buf_str(b, "<a ");
		mw_html_holders_href(b, v->call, v->row, ends[i]);
		mw_buf_fmt(b, ">%s</a> ", forms[i]);
	}
}

static void holders_page(struct mw_buf *b, void *ctx)
{
	struct view *v = ctx;
	const struct mw_slot slots[] = {
		{ .name = "title", .fill = holders_title, .ctx = v },
		{ .name = "summary", .fill = holders_summary, .ctx = v },
		{ .name = "objects", .fill = put_object_number, .ctx = &v->holders.objects },
		{ .name = "ms", .fill = milliseconds, .ctx = &v->holders.ns },
		{ .name = "stop", .fill = milliseconds, .ctx = &v->holders.stop_ns },
		{ .name = "notes", .fill = notes, .ctx = v },
		{ .name = "what", .text = v->row ? "these blocks" : "all live blocks" },
		{ .name = "sampled", .fill = sampled, .ctx = v },
		{ .name = "lost", .fill = lost_lines, .ctx = v },
		{ .name = "head", .fill = holders_head, .ctx = v },
		{ .name = "rows", .fill = holder_rows, .ctx = v },
		{ .name = "exports", .fill = holders_exports, .ctx = v },
	};

	mw_template(b, "holders.html", slots, sizeof(slots) / sizeof(slots[0]));
}

static void location_field(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	if (v->row)
		mw_html_text_in(b, "<input type=\"hidden\" name=\"location\" value=\"", v->row->location,
				"\">");
}

/* The page says what a search costs, and has a button for it. */
static void ask_page(struct mw_buf *b, void *ctx)
{
	struct view *v = ctx;
	const struct mw_slot slots[] = {
		{ .name = "title", .fill = holders_title, .ctx = v },
		{ .name = "base", .text = v->call->req->base },
		{ .name = "what", .text = v->row ? "these blocks" : "all live blocks" },
		{ .name = "location", .fill = location_field, .ctx = v },
	};

	mw_template(b, "holders_ask.html", slots, sizeof(slots) / sizeof(slots[0]));
}

/* --- asking ------------------------------------------------------------------------- */

static int status_of(enum mw_holders_is is)
{
	return is == MW_HOLDERS_OK ? 0 : is == MW_HOLDERS_UNKNOWN ? 501 : 503;
}

/* The location that is asked for, if one is. 0, or a status with a reason */
static int find_row(struct view *v, const struct mw_params *p, struct mw_buf *why)
{
	const char *location = p->v[MW_PARAM_LOCATION].s;
	size_t n = p->v[MW_PARAM_LOCATION].n;
	int bad;

	if (!n)
		return 0;
	v->snapshot = v->call->api->snapshot();
	if (!v->snapshot)
		return 500;
	bad = mw_location_look(v->snapshot, location, n, &v->row);
	if (bad)
		mw_buf_str(why, bad == 2 ? "several locations have this id: ask for one by its name" :
					   "no such location: nothing was allocated there");
	return bad == 2 ? 409 : bad ? 404 : 0;
}

/* 0, or a status with a reason */
static int search_holders(struct view *v, struct mw_buf *why)
{
	const struct mw_api *api = v->call->api;
	char err[MW_HOLDERS_ERROR] = "";
	struct mw_holders_question q = { 0 };
	struct mw_buf ids = { 0 };
	int bad;

	if (v->row) {
		mw_location_ids(v->snapshot, v->row, &ids);
		if (ids.failed)
			return 500;
	}
	q.ids = (const uint32_t *)(const void *)ids.p;
	q.n = ids.n / sizeof(*q.ids);
	q.objects = mw_objects_for_holders;
	bad = status_of(mw_holders_ask(api, &q, &v->holders, err));
	mw_buf_free(&ids);
	mw_buf_str(why, err);
	if (!bad && !v->row) {
		v->snapshot = api->snapshot();
		if (!v->snapshot || !mw_row_index_make(&v->ids, v->snapshot))
			return 500;
	}
	return bad;
}

static void answer_holders(struct view *v, enum mw_form form)
{
	if (form == MW_FORM_HTML) {
		mw_reply_page(v->call, v->row ? v->row->location : "Holders of live blocks",
			      holders_page, v);
		return;
	}
	mw_reply_form(v->call, form);
	if (form == MW_FORM_JSON)
		holders_json(&v->call->res->body, v);
	else
		put_holder_lines(&v->call->res->body, &v->holders, form == MW_FORM_CSV);
}

void mw_page_holders(struct mw_call *call)
{
	struct view v = { .call = call };

	if (call->req->peer == MW_PEER_RACK) { /* its thread has Ruby's lock, or may be the only one */
		mw_reply(call, 404, "not here: ask for /objects/holders");
		return;
	}
	if (mw_refused(call, find_row(&v, &call->params, &call->why)))
		;
	else if (call->form == MW_FORM_HTML && !call->params.v[MW_PARAM_LOOK].n)
		mw_reply_page(call, v.row ? v.row->location : "Holders of live blocks", ask_page, &v);
	else if (!mw_refused(call, search_holders(&v, &call->why)))
		answer_holders(&v, call->form);
	mw_holders_free(&v.holders);
	mw_row_index_free(&v.ids);
	if (v.snapshot)
		call->api->snapshot_free(v.snapshot);
}
