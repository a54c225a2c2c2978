/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * origin.c - protects against pages of other origins in a browser. Programs
 * other than browsers can send any header: the socket's mode and the token
 * protect against those.
 *
 * A page that has its own name resolved to our address ("DNS rebinding") has our
 * origin, as far as the browser knows. On loopback its name in Host gives it away.
 * On other addresses we can't know all our names. There every request needs a
 * token, or a cookie; browsers send that only to the name that set it.
 */
#include "origin.h"

#include <string.h>
#include <strings.h>

/* 127.0.0.0/8, written as four decimal numbers. */
static bool loopback_v4(const char *s, size_t n)
{
	unsigned parts = 0, digits = 0, value = 0;

	if (n < 4 || memcmp(s, "127.", 4))
		return false;
	for (size_t i = 0; i <= n; i++) {
		if (i == n || s[i] == '.') {
			if (!digits || value > 255)
				return false;
			parts++;
			digits = value = 0;
		} else if (s[i] >= '0' && s[i] <= '9' && digits < 3) {
			value = value * 10 + (unsigned)(s[i] - '0');
			digits++;
		} else {
			return false;
		}
	}
	return parts == 4;
}

/* Is it a loopback name, with or without a port? */
static bool loopback(const char *host)
{
	size_t n = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
	const char *port;

	if (n > strlen(host))
		return false;
	port = host + n;
	if (*port == ':' && !port[1 + strspn(port + 1, "0123456789")])
		port = "";
	if (*port)
		return false;
	return (n == 9 && !strncasecmp(host, "localhost", 9)) || (n == 5 && !memcmp(host, "[::1]", 5)) ||
	       loopback_v4(host, n);
}

bool mw_host_allowed(const struct mw_request *req)
{
	const char *host;

	if (req->let_in)
		return true;
	if (req->peer == MW_PEER_FAR)
		return req->access != NULL;
	if (req->peer != MW_PEER_TCP)
		return true;
	host = mw_header(req, "Host");
	return host && loopback(host);
}

/* The rest of the URL behind its authority, if that is our Host; else NULL. */
static const char *after_host(const struct mw_request *req, const char *url)
{
	const char *host = mw_header(req, "Host");
	size_t n;

	if (!host || !*host)
		return NULL;
	if (!strncasecmp(url, "http://", 7))
		url += 7;
	else if (!strncasecmp(url, "https://", 8))
		url += 8;
	else
		return NULL;
	n = strlen(host);
	return strncasecmp(url, host, n) ? NULL : url + n;
}

bool mw_origin_allowed(const struct mw_request *req)
{
	const char *origin = mw_header(req, "Origin"), *site = mw_header(req, "Sec-Fetch-Site");

	if (site && strcasecmp(site, "same-origin") && strcasecmp(site, "none"))
		return false;
	if (origin) {
		const char *rest = after_host(req, origin); /* NULL for "null", too */

		return rest && !*rest;
	}
	return true;
}

bool mw_own_path(const char *path)
{
	const char *c = path;

	/* browsers take "//host" and "/\\host" for another host's URL */
	if (path[0] != '/' || path[1] == '/' || path[1] == '\\')
		return false;
	while (*c > ' ' && *c < 0x7f)
		c++;
	return !*c;
}

const char *mw_own_referer(const struct mw_request *req)
{
	const char *referer = mw_header(req, "Referer"), *path;

	path = referer ? after_host(req, referer) : NULL;
	return path && mw_own_path(path) ? path : NULL;
}
