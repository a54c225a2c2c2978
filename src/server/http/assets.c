/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assets.c - see assets.h; embed.rb makes mw_web_files. */
#include "assets.h"

#include <string.h>
#include <strings.h>

const struct mw_web_file *mw_asset(const char *name)
{
	for (size_t i = 0; i < mw_web_files_n; i++)
		if (mw_web_files[i].type && !strcmp(mw_web_files[i].name, name))
			return &mw_web_files[i];
	return NULL;
}

/* Does the client have this version of the content? */
static bool has_it(const struct mw_request *req, const struct mw_web_file *f)
{
	return strstr(mw_header_text(req, "If-None-Match"), f->etag.value) != NULL;
}

/* Is the query "v=VERSION", as in our pages' URLs? */
static bool names_version(const char *query, const char *version)
{
	return query && !strncmp(query, "v=", 2) && !strcmp(query + 2, version);
}

bool mw_takes_gzip(const struct mw_request *req)
{
	for (const char *s = mw_header_text(req, "Accept-Encoding"); *s;) {
		size_t n = strcspn(s, ","), name = strcspn(s, ",; \t");
		const char *q = memmem(s, n, "q=0", 3);

		if (name == 4 && !strncasecmp(s, "gzip", 4))
			return !q || strspn(q + 3, ".0") < strcspn(q + 3, ", \t");
		s += n;
		s += strspn(s, ", \t");
	}
	return false;
}

void mw_asset_reply(const struct mw_web_file *f, const struct mw_request *req, struct mw_response *res)
{
	mw_response_static(res, 200, f->type, f->data, f->size);
	res->etag = &f->etag;
	res->forever = names_version(req->query, f->version);
	if (has_it(req, f)) {
		mw_response_static(res, 304, f->type, "", 0);
	} else if (f->gzip && mw_takes_gzip(req)) {
		mw_response_static(res, 200, f->type, f->gzip, f->gzip_size);
		res->gzip = true;
	}
}
