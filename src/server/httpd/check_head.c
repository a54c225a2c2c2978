/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_head.c - refuses a request head that two readers could understand in different ways.
 *
 * A proxy in front of us may parse a request differently from libmicrohttpd. Then it takes two
 * requests for one, or lets a client through as somebody else. So every ambiguous head is refused.
 *
 * libmicrohttpd 0.9 cuts each part at a NUL, and doesn't report what was behind it. But it splits
 * lines in place, in the memory that it received them in, and puts NULs between the parts. So the
 * bytes between two consecutive parts tell. 1.0 refuses NULs, folded lines and bare LFs itself, as
 * mhd.c asks it to.
 */
#include "check_head.h"

#include <string.h>
#include <strings.h>

#include "server/family/gather.h"
#include "server/httpd/library/library.h"

/* Headers that must not occur twice: one reader takes the first, another one the last. */
#define SINGLE(name) { name, "duplicate header: " name }
static const struct {
	const char *name, *twice;
} single[] = { SINGLE("Host"),          SINGLE("Origin"),         SINGLE("Sec-Fetch-Site"),
	       SINGLE("Authorization"), SINGLE("Content-Length"), SINGLE("Transfer-Encoding"),
	       SINGLE("Expect"),        SINGLE("Cookie"),         SINGLE("Referer"),
	       SINGLE(MW_RELAYED),      SINGLE(MW_NO_POST) };
enum { SINGLE_N = sizeof(single) / sizeof(single[0]) };

struct walk {
	const char *at, *end; /* the first byte after the last part; NULL: not known */
	bool seen[SINGLE_N];
	const char *length, *coding; /* values */
	const char *why;
};

static bool old(void)
{
	return !strncmp(mw_mhd->get_version(), "0.", 2);
}

/* --- NULs --------------------------------------------------------------------------- */

static bool is_version(const char *s)
{
	return !strncmp(s, "HTTP/1.", 7) && s[7] && !s[8];
}

/*
 * Turns all behind the target's "?" into one argument. libmicrohttpd would make a record for each
 * argument, and fails without an answer when its memory runs out. We parse the query ourselves,
 * from the copy.
 */
static void spoil_query(char *s)
{
	char *query = strchr(s, '?');

	if (query)
		memset(query + 1, 'x', strlen(query + 1));
}

void mw_head_target(const char *uri)
{
	/* libmicrohttpd's buffer, which it is about to change itself */
	char *s = (char *)(uintptr_t)uri;

	spoil_query(s);
	/* the version follows the target, and a NUL ends both: anything before it is more target */
	while (old() && !is_version(s += strlen(s) + 1))
		spoil_query(s);
}

/* True if [from, to) holds only the NULs of n line ends, each a CR and a LF. */
static bool line_ends(const char *from, const char *to, size_t n)
{
	size_t between = (size_t)(to - from);

	for (const char *s = from; s < to; s++)
		if (*s)
			return false;
	return from <= to && between == 2 * n;
}

/* True if the next header begins where the last part ended, after the end of its line. */
static bool follows(struct walk *w, const char *name, size_t n, const char *value, size_t value_n)
{
	const char *s = name + n + 1; /* the colon's NUL */

	if (name < w->at || name >= w->end || value < s || value >= w->end || !line_ends(w->at, name, 1))
		return false;
	while (s < value && (*s == ' ' || *s == '\t'))
		s++;
	w->at = value + value_n;
	return s == value;
}

/* --- headers -------------------------------------------------------------------------- */

static bool token(const char *s, size_t n)
{
	static const char also[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < n; i++) {
		char l = (char)(s[i] | 0x20);

		if (!(l >= 'a' && l <= 'z') && !(s[i] >= '0' && s[i] <= '9') &&
		    !memchr(also, s[i], sizeof(also) - 1))
			return false;
	}
	return n > 0;
}

static bool printable(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)s[i] < ' ' && s[i] != '\t') || s[i] == 0x7f)
			return false;
	return true;
}

static const char *look_at_header(struct walk *w, const char *name, size_t n, const char *value,
				  size_t value_n)
{
	if (w->at && !follows(w, name, n, value, value_n))
		return "a header has a NUL byte in it, or a header line does not end with CRLF";
	if (!token(name, n))
		return "a header's name has a character that names may not have";
	if (!printable(value, value_n))
		return "a header has a control character in it";
	for (size_t i = 0; i < SINGLE_N; i++) {
		if (strlen(single[i].name) != n || strncasecmp(single[i].name, name, n))
			continue;
		if (w->seen[i])
			return single[i].twice;
		w->seen[i] = true;
	}
	if (n == 14 && !strncasecmp(name, "Content-Length", n))
		w->length = value;
	if (n == 17 && !strncasecmp(name, "Transfer-Encoding", n))
		w->coding = value;
	return NULL;
}

static enum MHD_Result each(void *ctx, enum MHD_ValueKind kind, const char *name, size_t n,
			    const char *value, size_t value_n)
{
	struct walk *w = ctx;

	(void)kind;
	w->why = look_at_header(w, name, n, value ? value : "", value ? value_n : 0);
	return w->why ? MHD_NO : MHD_YES;
}

/* Checks the request line. The original target, as long as h->target, began at h->raw. */
static const char *look_at_line(struct walk *w, const struct mw_head *h)
{
	for (const char *s = h->target; *s; s++)
		if (*s > 0 ? *s <= ' ' || *s == 0x7f : false)
			return "the address has a space or a control character in it: percent-encode it";
	if (!w->at)
		return NULL;
	if (h->raw + strlen(h->target) + 1 != h->version)
		return "the address has a NUL byte in it";
	w->at = h->version + strlen(h->version);
	return NULL;
}

const char *mw_head_wrong(struct MHD_Connection *mc, const struct mw_head *h, uint64_t *length)
{
	const union MHD_ConnectionInfo *size =
		mw_mhd->get_connection_info(mc, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	struct walk w = { 0 };

	if (old() && size && h->version >= h->method && h->version < h->method + size->header_size) {
		w.at = h->method;
		w.end = h->method + size->header_size;
	}
	w.why = look_at_line(&w, h);
	if (!w.why)
		mw_mhd->get_connection_values_n(mc, MHD_HEADER_KIND, each, &w);
	if (!w.why && w.at && !line_ends(w.at, w.end, 2))
		w.why = "a header has a NUL byte in it, or a header line does not end with CRLF";
	if (!w.why && w.coding)
		w.why = w.length ? "the request has both Content-Length and Transfer-Encoding" :
			strcasecmp(w.coding, "chunked") ? "Transfer-Encoding: only chunked is supported" :
			!strcmp(h->version, "HTTP/1.0") ? "Transfer-Encoding: HTTP/1.0 has none" :
							  NULL;
	*length = 0;
	for (const char *s = w.length; !w.why && s && *s >= '0' && *s <= '9' && *length < UINT32_MAX; s++)
		*length = *length * 10 + (uint64_t)(*s - '0');
	return w.why;
}
