/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map_of_all.c - GET /all/map.json: the sums of all processes' memory maps, and each one's.
 *
 * Each process makes a map of its own at once, and says its figures in lines, "NAME BYTES" (/family/map).
 * Memory that processes share since a fork is in each one's figures; shared_bytes says how much that is.
 */
#include <stdio.h>
#include <string.h>

#include "server/pages/map.h"
#include "gather.h"
#include "shared/text/json.h"

/* The number behind `name` and a space at the start of a line. False: there is none. */
static bool figure(const struct mw_answer *o, const char *name, uint64_t *to)
{
	size_t len = strlen(name);
	const char *s = o->text, *end = s + o->n;

	while (s && s + len < end) {
		if (!memcmp(s, name, len) && s[len] == ' ') {
			size_t n = 0;

			for (s += len + 1; s + n < end && s[n] >= '0' && s[n] <= '9'; n++)
				;
			return mw_parse_u64(s, n, to);
		}
		s = memchr(s, '\n', (size_t)(end - s));
		s = s ? s + 1 : NULL;
	}
	return false;
}

/* "name":SUM; null if one of them doesn't know it */
static void sum(struct mw_buf *b, const char *member, const struct mw_answer *v, size_t n, const char *name)
{
	uint64_t all = 0;
	bool known = true;

	for (size_t i = 0; i < n; i++) {
		uint64_t one = 0;

		known &= figure(&v[i], name, &one);
		if (__builtin_add_overflow(all, one, &all))
			all = UINT64_MAX;
	}
	mw_json_known(b, member, all, known);
}

/* ,"rss_bytes":1 and the like; n processes. */
static void members(struct mw_buf *b, const struct mw_answer *v, size_t n)
{
	for (int i = 0; mw_map_figures[i]; i++)
		sum(b, mw_map_figures[i], v, n, mw_map_figures[i]);
	mw_json_open(b, "parts", '[');
	for (int p = 0; p < MW_MAP_PARTS_N; p++) {
		const char *name = mw_map_part_name((enum mw_map_part)p);
		char line[32];

		snprintf(line, sizeof(line), "part_%s", name);
		mw_json_open(b, NULL, '{');
		mw_json_str(b, "name", name);
		sum(b, "bytes", v, n, line);
		mw_json_str(b, "title", mw_map_part_title((enum mw_map_part)p));
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "]");
}

static void all_maps_json(struct mw_buf *b, const struct mw_answer *v, size_t n, size_t asked)
{
	mw_buf_str(b, "{");
	mw_json_u64(b, "processes", asked);
	mw_json_u64(b, "answered", n);
	members(b, v, n);
	mw_json_open(b, "\neach", '[');
	for (size_t i = 0; i < n; i++) {
		mw_json_open(b, "\n", '{');
		mw_json_key(b, "pid");
		mw_put_process(b, v[i].pid, v[i].shown, true);
		members(b, &v[i], 1);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "\n]}\n");
}

void mw_page_all_map(struct mw_call *call, const struct mw_family *f, const struct mw_request *req)
{
	static const char *const names[] = { "Host", NULL };
	struct mw_request each = *req;
	struct mw_answers a;

	each.path = "/family/map";
	each.query = NULL;
	if (!mw_answers_get(&a, call, f, &each, names, false))
		return;
	mw_reply_form(call, MW_FORM_JSON);
	all_maps_json(&call->res->body, a.v, a.n, a.g.n);
	mw_answers_free(&a);
}
