/* SPDX-License-Identifier: GPL-2.0-or-later */
/* objects.c - Ruby's objects of one location, for its page and its JSON. See pages.h. */
#include "server/objects/objects.h"
#include "pages.h"

enum { CLASSES = 20, NAMED = 4 };

static size_t classes_of(const struct mw_at *at, struct mw_object_class v[CLASSES])
{
	struct mw_buf ids = { 0 };
	size_t n;

	mw_location_ids(at->snapshot, at->row, &ids);
	n = ids.failed ? 0 :
			 mw_objects_classes((const uint32_t *)(const void *)ids.p,
					    ids.n / sizeof(uint32_t), v, CLASSES);
	mw_buf_free(&ids);
	return n;
}

void mw_html_objects(struct mw_buf *b, const struct mw_at *at)
{
	struct mw_object_class v[CLASSES];
	struct mw_cell error;
	size_t n;

	if (!at->row->objects)
		return;
	mw_columns[MW_COLUMN_object_error].get(at->row, &error);
	mw_buf_str(b, "<p>Of the Ruby objects made here, about ");
	mw_buf_commas(b, at->row->objects);
	mw_buf_str(b, " stay, ");
	mw_html_bytes(b, at->row->object_bytes, false);
	mw_buf_fmt(b, " in Ruby\xe2\x80\x99s heap (\xc2\xb1 %u %%, from ", (unsigned)error.u);
	mw_buf_commas(b, at->row->object_samples);
	mw_buf_str(b, at->row->object_samples == 1 ? " sample)" : " samples)");
	n = classes_of(at, v);
	for (size_t i = 0; i < n && i < NAMED; i++) {
		mw_buf_str(b, i ? ", " : ": ");
		mw_html_text(b, *v[i].name ? v[i].name : "not known yet");
	}
	mw_buf_str(b, n > NAMED ? " and others.</p>\n" : ".</p>\n");
}

void mw_json_objects(struct mw_buf *b, const struct mw_at *at)
{
	struct mw_object_class v[CLASSES];
	size_t n = classes_of(at, v);

	mw_buf_str(b, ",\n\"classes\":[");
	for (size_t i = 0; i < n; i++) {
		mw_json_open(b, NULL, '{');
		mw_json_str(b, "class", v[i].name);
		mw_json_u64(b, "objects", v[i].objects);
		mw_json_u64(b, "object_bytes", v[i].bytes);
		mw_json_u64(b, "object_samples", v[i].samples);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "]");
}
