/* SPDX-License-Identifier: GPL-2.0-or-later */
/* access.c - checks tokens and sessions. See access.h; server/pages/login.c has the form. */
#include "access.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>

#include "shared/sys/clock.h"

static uint64_t monotonic(void)
{
	return mw_now_ms() + 1;
}

static uint64_t now(const struct mw_access *a)
{
	return a->clock ? a->clock() : monotonic();
}

/* Are n bytes the same? In constant time: it depends on n only. */
static bool same(const void *one, const void *two, size_t n)
{
	const volatile unsigned char *a = one, *b = two;
	unsigned char differ = 0;

	for (size_t i = 0; i < n; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return !differ;
}

/* --- the token -------------------------------------------------------------------- */

bool mw_token_valid(const char *token, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (token[i] <= ' ' || token[i] > '~')
			return false;
	return n >= MW_TOKEN_MIN && n <= MW_TOKEN_MAX;
}

/* In constant time for any length, but for the copy of the client's bytes. */
static bool is_token(const struct mw_access *a, const char *s, size_t n)
{
	char padded[MW_TOKEN_MAX] = { 0 };
	bool all;

	memcpy(padded, s, n < sizeof(padded) ? n : sizeof(padded));
	all = same(padded, a->token, sizeof(padded));
	explicit_bzero(padded, sizeof(padded));
	return (a->token_n > 0) & (n == a->token_n) & all;
}

static void end_sessions(struct mw_access *a)
{
	explicit_bzero(a->sessions, sizeof(a->sessions));
	a->ended++;
}

void mw_access_token(struct mw_access *a, const char *token, size_t n)
{
	if (n > sizeof(a->token))
		n = 0;
	if (n && is_token(a, token, n))
		return;
	explicit_bzero(a->token, sizeof(a->token));
	if (n)
		memcpy(a->token, token, n);
	a->token_n = n;
	end_sessions(a);
}

void mw_access_forget(struct mw_access *a)
{
	explicit_bzero(a, sizeof(*a));
}

enum mw_knock mw_access_try(struct mw_access *a, const char *token, size_t n)
{
	uint64_t second = now(a) / 1000;

	if (second != a->second) {
		a->second = second;
		a->failures = 0;
	}
	if (a->failures >= MW_FAILURES_MAX)
		return MW_KNOCK_LATER;
	if (is_token(a, token, n))
		return MW_KNOCK_RIGHT;
	a->failures++;
	return MW_KNOCK_WRONG;
}

/* --- sessions ------------------------------------------------------------------------ */

static void print_hex(const unsigned char *id, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[id[i] >> 4];
		*out++ = digits[id[i] & 15];
	}
	*out = '\0';
}

bool mw_session_start(struct mw_access *a, char name[MW_SESSION_NAME])
{
	struct mw_session *s = &a->sessions[0];
	unsigned char id[sizeof(s->id)];

	/* never waits: it fails only until the kernel's pool is ready after boot */
	if (getrandom(id, sizeof(id), GRND_NONBLOCK) != (ssize_t)sizeof(id))
		return false;
	for (size_t i = 1; i < MW_SESSIONS_MAX; i++)
		if (a->sessions[i].until < s->until)
			s = &a->sessions[i];
	if (s->until)
		a->ended++;
	memcpy(s->id, id, sizeof(id));
	s->until = now(a) + MW_SESSION_MS;
	print_hex(id, sizeof(id), name);
	return true;
}

void mw_access_expire(struct mw_access *a)
{
	uint64_t t = now(a);

	for (size_t i = 0; i < MW_SESSIONS_MAX; i++) {
		struct mw_session *s = &a->sessions[i];

		if (s->until && s->until <= t) {
			explicit_bzero(s, sizeof(*s));
			a->ended++;
		}
	}
}

/* The session of that name, NULL: none. Constant time: compares with every session. */
static struct mw_session *session_of(struct mw_access *a, const char *name, size_t n)
{
	struct mw_session *found = NULL;
	uint64_t t = now(a);

	if (n != MW_SESSION_NAME - 1)
		return NULL;
	for (size_t i = 0; i < MW_SESSIONS_MAX; i++) {
		struct mw_session *s = &a->sessions[i];
		char hex[MW_SESSION_NAME];

		print_hex(s->id, sizeof(s->id), hex);
		if (same(hex, name, n) & (s->until > t))
			found = s;
	}
	return found;
}

/*
 * Browsers send a host's cookies to all its ports, so the name has the port that the
 * browser sees: the cookies of several processes on one machine (or behind one ssh) don't collide.
 */
void mw_session_cookie(const struct mw_request *req, char out[MW_COOKIE_NAME])
{
	const char *host = req->header ? req->header(req->ctx, "Host") : NULL;
	const char *colon = host ? strrchr(host, ':') : NULL;
	size_t n = colon ? strspn(colon + 1, "0123456789") : 0;

	if (n && n <= 5 && !colon[1 + n])
		snprintf(out, MW_COOKIE_NAME, "mwrap_%s", colon + 1);
	else
		snprintf(out, MW_COOKIE_NAME, "mwrap");
}

/* Tries all cookies of our name: another port of the host can have set some of them. */
struct mw_session *mw_session_find(const struct mw_request *req)
{
	const char *s = req->header ? req->header(req->ctx, "Cookie") : NULL;
	char cookie[MW_COOKIE_NAME];
	struct mw_session *found = NULL, *one;
	size_t name;

	mw_session_cookie(req, cookie);
	name = strlen(cookie);
	while (s && *s) {
		size_t n;

		s += strspn(s, "; \t");
		n = strcspn(s, "; \t");
		if (n > name && s[name] == '=' && !memcmp(s, cookie, name)) {
			one = session_of(req->access, s + name + 1, n - name - 1);
			found = one ? one : found;
		}
		s += n;
	}
	return found;
}

void mw_session_end(struct mw_access *a, struct mw_session *s)
{
	explicit_bzero(s, sizeof(*s));
	a->ended++;
}

/* --- a request ----------------------------------------------------------------------------- */

enum mw_knock mw_access_check(const struct mw_request *req, bool *session)
{
	const char *s = req->header ? req->header(req->ctx, "Authorization") : NULL;
	size_t n;

	*session = mw_session_find(req) != NULL;
	if (*session)
		return MW_KNOCK_RIGHT;
	/* another scheme isn't meant for us, for example a proxy's */
	if (!s || strncasecmp(s, "Bearer", 6) || (s[6] != ' ' && s[6]))
		return MW_KNOCK_NONE;
	s += 6;
	s += strspn(s, " ");
	n = strlen(s);
	while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
		n--;
	return mw_access_try(req->access, s, n);
}
