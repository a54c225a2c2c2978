/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * address.c - the value of `listen`: see values.h.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "values.h"

static const char not_numeric[] =
	"is not a numeric address: write 127.0.0.1:PORT, [::1]:PORT or localhost:PORT";

/*
 * Splits "HOST:PORT" or "[HOST]:PORT". The host goes to host[size], *port
 * points behind the colon. Returns NULL, or the problem in words.
 */
static const char *split_address(const char *value, char *host, size_t size, const char **port)
{
	const char *from = value, *end = strrchr(value, ':');

	if (value[0] == '[') {
		from = value + 1;
		end = strchr(value, ']');
		if (!end)
			return "has no closing bracket: write [::1]:PORT";
		if (end[1] != ':')
			return "has no port: write [::1]:PORT";
		*port = end + 2;
	} else if (!end) {
		return "has no port: write 127.0.0.1:PORT";
	} else if (strchr(value, ':') != end) {
		return "needs brackets around the address: write [::1]:PORT";
	} else {
		*port = end + 1;
	}
	if ((size_t)(end - from) >= size)
		return not_numeric;
	memcpy(host, from, (size_t)(end - from));
	host[end - from] = 0;
	return NULL;
}

enum reach { NONE, NEAR, FAR };

/* NEAR: only this machine can reach the address; FAR: others, too; NONE: it isn't numeric. */
static enum reach reach(const char *host, bool bracketed)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (!bracketed)
		return inet_pton(AF_INET, host, &v4) != 1 ? NONE :
		       (ntohl(v4.s_addr) >> 24) == 127    ? NEAR :
							    FAR;
	/* ::ffff:10.0.0.1 is an IPv4 address in IPv6 form: refused */
	if (inet_pton(AF_INET6, host, &v6) != 1 || IN6_IS_ADDR_V4MAPPED(&v6))
		return NONE;
	return IN6_IS_ADDR_LOOPBACK(&v6) ? NEAR : FAR;
}

const char *mw_value_address(const char *value, char *host, size_t size, uint16_t *port, bool *far)
{
	const char *digits = "", *why;
	uint64_t v;
	bool bracketed = value[0] == '[';
	enum reach who;

	why = split_address(value, host, size, &digits);
	if (why)
		return why;
	if (!bracketed && !strcmp(host, "localhost"))
		strcpy(host, "127.0.0.1");
	who = reach(host, bracketed);
	if (who == NONE)
		return not_numeric;
	if (!mw_value_number(digits, UINT16_MAX, &v))
		return "has a wrong port: write 0 to 65535";
	if (bracketed && who == NEAR)
		strcpy(host, "::1");
	*port = (uint16_t)v;
	*far = who == FAR;
	return NULL;
}
