/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "form.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* May these bytes stand in a request's target? That for another process has them as they are. */
static bool is_encoded(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] <= ' ' || (unsigned char)s[i] > '~')
			return false;
	return true;
}

static bool is_form(const struct mw_request *req)
{
	static const char form[] = "application/x-www-form-urlencoded";
	const char *type = req->header(req->ctx, "Content-Type");

	return type && !strncasecmp(type, form, sizeof(form) - 1);
}

unsigned mw_form_to_query(struct mw_request *req, char **query, const char **why)
{
	size_t n = req->query ? strlen(req->query) : 0;

	if (!req->body_n || !is_form(req))
		return 0;
	*why = "the form is larger than 4096 bytes";
	if (req->body_cut)
		return 413;
	*why = "the form isn't percent-encoded";
	if (!is_encoded(req->body, req->body_n))
		return 400;
	*why = "out of memory";
	*query = malloc(n + 1 + req->body_n + 1);
	if (!*query)
		return 500;
	if (n)
		memcpy(*query, req->query, n);
	(*query)[n] = '&';
	memcpy(*query + n + 1, req->body, req->body_n + 1);
	req->query = *query;
	return 0;
}
