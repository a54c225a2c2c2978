/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "template.h"

#include <string.h>

#include "assets.h"

static const struct mw_web_file *find_web_file(const char *name)
{
	for (size_t i = 0; i < mw_web_files_n; i++)
		if (!strcmp(mw_web_files[i].name, name))
			return &mw_web_files[i];
	return NULL;
}

static void fill_template_slot(struct mw_buf *b, const char *name, size_t len,
			       const struct mw_slot *slots, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strlen(slots[i].name) != len || memcmp(slots[i].name, name, len))
			continue;
		if (slots[i].text)
			mw_buf_html(b, slots[i].text, strlen(slots[i].text));
		else if (slots[i].fill)
			slots[i].fill(b, slots[i].ctx);
		return;
	}
}

void mw_template(struct mw_buf *b, const char *file, const struct mw_slot *slots, size_t n)
{
	const struct mw_web_file *f = find_web_file(file);
	const char *s = f ? (const char *)f->data : "", *open, *close;

	while ((open = strstr(s, "{{")) && (close = strstr(open, "}}"))) {
		mw_buf_add(b, s, (size_t)(open - s));
		fill_template_slot(b, open + 2, (size_t)(close - open - 2), slots, n);
		s = close + 2;
	}
	mw_buf_str(b, s);
}
