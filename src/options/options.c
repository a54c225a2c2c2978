/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options.c - parses $MWRAP; see options.h for the language.
 *
 * Runs in the first microseconds of every process that has the tracker, maybe
 * before libc is fully set up: nothing here allocates, prints or looks at the
 * locale, and errno is as it was afterwards.
 *
 * keys[] is the one list of options: parsing, "given twice" and the list in
 * the message about an unknown option come from it. A setter changes *o only
 * when the value is right, so whatever is in *o can be used.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "options.h"

#define PID_DIGITS_MAX 4194304L /* the kernel's PID_MAX_LIMIT: the longest PID */
#define SHOWN_MAX 60            /* characters of wrong input that are shown */

struct parser {
	struct mw_options *o;
	char *err;              /* MW_ERROR_MAX bytes, the first mistake */
	size_t err_len;
	bool failed;            /* err is complete: later mistakes don't change it */
	unsigned seen;          /* one bit for each of keys[] */
	const struct key *key;  /* being set */
};

struct key {
	const char *name;
	bool (*set)(struct parser *, const char *value);
};

/* --- the error line ------------------------------------------------------- */

static void say(struct parser *p, const char *s)
{
	while (*s && p->err_len < MW_ERROR_MAX - 1)
		p->err[p->err_len++] = *s++;
	p->err[p->err_len] = 0;
}

/* Input in double quotes, shortened, and only what any terminal shows as is. */
static void say_input(struct parser *p, const char *s, size_t n)
{
	char c[2] = { 0, 0 };

	say(p, "\"");
	for (size_t i = 0; i < n && i < SHOWN_MAX; i++) {
		c[0] = s[i] >= 0x20 && s[i] < 0x7f ? s[i] : '?';
		say(p, c);
	}
	say(p, n > SHOWN_MAX ? "...\"" : "\"");
}

/* `KEY: "INPUT" WHY`, or `KEY: WHY` without input. Always false. */
static bool wrong(struct parser *p, const char *input, const char *why)
{
	if (p->failed)
		return false;
	p->failed = true;
	say(p, p->key->name);
	say(p, ": ");
	if (input) {
		say_input(p, input, strlen(input));
		say(p, " ");
	}
	say(p, why);
	return false;
}

/* --- values --------------------------------------------------------------- */

/* Digits only; false on anything else and on more than max: then *out is as it was. */
static bool number(const char *s, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' ||
		    __builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return false;
	}
	if (v > max)
		return false;
	*out = v;
	return true;
}

static size_t digits_of(long v, char out[24])
{
	char tmp[24];
	size_t n = 0, i;
	unsigned long u = v < 0 ? 0 : (unsigned long)v;

	do
		tmp[n++] = (char)('0' + u % 10);
	while (u /= 10);
	for (i = 0; i < n; i++)
		out[i] = tmp[n - 1 - i];
	return n;
}

/* Writes what fits in size bytes (out may be NULL then), without a NUL; returns the whole length. */
static size_t expanded(const char *value, long pid, char *out, size_t size)
{
	char digits[24];
	size_t n = 0, len = digits_of(pid, digits);

	for (; *value; value++) {
		const char *from = value;
		size_t add = 1;

		if (value[0] == '%' && value[1] == 'p') {
			from = digits;
			add = len;
			value++;
		} else if (value[0] == '%' && value[1] == '%') {
			value++;
		}
		for (size_t i = 0; i < add; i++, n++) {
			if (n < size)
				out[n] = from[i];
		}
	}
	return n;
}

int mw_options_expand(const char *value, long pid, char *out, size_t size)
{
	size_t n;

	if (!size)
		return -1;
	out[0] = 0;
	if (!value)
		return -1;
	n = expanded(value, pid, out, size);
	if (n >= size || n > INT_MAX) {
		out[0] = 0;
		return -1;
	}
	out[n] = 0;
	return (int)n;
}

/* A path that has, expanded for any PID, less than `room` bytes. */
static bool path_fits(struct parser *p, const char *value, size_t room, const char *too_long)
{
	for (const char *s = value; (s = strchr(s, '%')); s += 2) {
		if (s[1] != 'p' && s[1] != '%')
			return wrong(p, value, "has a % that is neither %p (the PID) nor %% (a percent sign)");
	}
	if (expanded(value, PID_DIGITS_MAX, NULL, 0) >= room)
		return wrong(p, value, too_long);
	return true;
}

#define SUN_PATH_SIZE sizeof(((struct sockaddr_un *)0)->sun_path)

static bool set_socket(struct parser *p, const char *value)
{
	if (p->o->socket_dir)
		return wrong(p, NULL, "not together with socket_dir");
	if (!path_fits(p, value, SUN_PATH_SIZE - strlen(".4194304"),
		       "is too long for a socket: 99 bytes at most, as \".PID\" may be added"))
		return false;
	p->o->socket = value;
	return true;
}

static bool set_socket_dir(struct parser *p, const char *value)
{
	if (p->o->socket)
		return wrong(p, NULL, "not together with socket");
	if (!path_fits(p, value, SUN_PATH_SIZE - strlen("/4194304.sock"),
		       "is too long for a socket: 94 bytes at most, as \"/PID.sock\" is added"))
		return false;
	p->o->socket_dir = value;
	return true;
}

static bool set_dump_path(struct parser *p, const char *value)
{
	if (p->o->dump_fd >= 0)
		return wrong(p, NULL, "not together with dump_fd");
	if (!path_fits(p, value, PATH_MAX, "is too long for a path"))
		return false;
	p->o->dump_path = value;
	return true;
}

static bool set_dump_fd(struct parser *p, const char *value)
{
	uint64_t v;
	int flags;
	struct stat st;

	if (p->o->dump_path)
		return wrong(p, NULL, "not together with dump_path");
	if (!number(value, INT_MAX, &v))
		return wrong(p, value, "is not the number of a file descriptor");
	flags = fcntl((int)v, F_GETFL);
	if (flags < 0 || fstat((int)v, &st) < 0)
		return wrong(p, value, "is not an open file descriptor");
	if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH))
		return wrong(p, value, "is not open for writing");
	p->o->dump_fd = (int)v;
	p->o->dump_dev = st.st_dev;
	p->o->dump_ino = st.st_ino;
	return true;
}

static bool set_dump_min(struct parser *p, const char *value)
{
	if (!number(value, UINT64_MAX, &p->o->dump_min))
		return wrong(p, value, "is not a number of bytes (digits only, below 2^64)");
	return true;
}

static bool set_dump_format(struct parser *p, const char *value)
{
	static const struct {
		const char *name;
		enum mw_format format;
	} formats[] = {
		{ "text", MW_FORMAT_TEXT }, { "tsv", MW_FORMAT_TSV },
		{ "csv", MW_FORMAT_CSV }, { "json", MW_FORMAT_JSON },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (!strcmp(value, formats[i].name)) {
			p->o->dump_format = formats[i].format;
			return true;
		}
	}
	return wrong(p, value, "is none of text, tsv, csv, json");
}

/* A number from 1 to max. */
static bool from_one(struct parser *p, const char *value, uint64_t max, uint64_t *out, const char *why)
{
	uint64_t v;

	if (!number(value, max, &v) || !v)
		return wrong(p, value, why);
	*out = v;
	return true;
}

static bool set_dump_every(struct parser *p, const char *value)
{
	return from_one(p, value, MW_EVERY_MAX, &p->o->dump_every,
			"is not a number of seconds from 1 to 31536000 (digits only)");
}

static bool set_dump_keep(struct parser *p, const char *value)
{
	return from_one(p, value, MW_KEEP_MAX, &p->o->dump_keep,
			"is not a number of files from 1 to 1000 (digits only)");
}

/* Digits, then k, m or g in either case, or nothing. */
static bool set_memory_max(struct parser *p, const char *value)
{
	static const char units[] = "kmg";
	size_t n = strlen(value);
	const char *unit = strchr(units, value[n - 1] | 0x20);
	unsigned shift = unit ? (unsigned)(unit - units + 1) * 10 : 0;
	char digits[24] = "";
	uint64_t v;

	n -= unit != NULL;
	if (n < sizeof(digits))
		memcpy(digits, value, n);
	if (!number(digits, INT64_MAX >> shift, &v) || !v)
		return wrong(p, value, "is not a number of bytes from 1 (digits, then k, m or g if you like)");
	p->o->memory_max = v << shift;
	return true;
}

static bool set_read_only(struct parser *p, const char *value)
{
	if (strcmp(value, "0") && strcmp(value, "1"))
		return wrong(p, value, "is neither 0 nor 1");
	p->o->read_only = value[0] == '1';
	return true;
}

/*
 * Splits "HOST:PORT" or "[HOST]:PORT". The host goes to host[size], *port
 * points behind the colon. Returns what is wrong, or NULL.
 */
static const char *split_address(const char *value, char *host, size_t size, const char **port)
{
	const char *from = value, *end = strrchr(value, ':');

	if (value[0] == '[') {
		from = value + 1;
		end = strchr(value, ']');
		if (!end)
			return "has no closing bracket";
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
		return "is not a numeric loopback address";
	memcpy(host, from, (size_t)(end - from));
	host[end - from] = 0;
	return NULL;
}

/* Whether host is a numeric address that only this machine can reach. */
static bool is_loopback(const char *host, bool bracketed)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (bracketed)
		return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
	return inet_pton(AF_INET, host, &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127;
}

static bool set_listen(struct parser *p, const char *value)
{
	char host[sizeof(p->o->listen_host)];
	const char *port = "", *why;
	uint64_t v;
	bool bracketed = value[0] == '[';

	why = split_address(value, host, sizeof(host), &port);
	if (why)
		return wrong(p, value, why);
	if (!bracketed && !strcmp(host, "localhost"))
		strcpy(host, "127.0.0.1");
	if (!is_loopback(host, bracketed))
		return wrong(p, value, "is not loopback: only 127.0.0.1:PORT, [::1]:PORT "
			     "and localhost:PORT are allowed");
	if (!number(port, UINT16_MAX, &v))
		return wrong(p, value, "has no port from 0 to 65535");
	strcpy(p->o->listen_host, bracketed ? "::1" : host);
	p->o->listen_port = (uint16_t)v;
	p->o->listen = value;
	return true;
}

static const struct key keys[] = {
	{ "socket", set_socket },
	{ "socket_dir", set_socket_dir },
	{ "listen", set_listen },
	{ "dump_path", set_dump_path },
	{ "dump_fd", set_dump_fd },
	{ "dump_min", set_dump_min },
	{ "dump_format", set_dump_format },
	{ "dump_every", set_dump_every },
	{ "dump_keep", set_dump_keep },
	{ "memory_max", set_memory_max },
	{ "read_only", set_read_only },
};
#define KEYS (sizeof(keys) / sizeof(*keys))

/* --- items ---------------------------------------------------------------- */

static void unknown(struct parser *p, const char *name, size_t n)
{
	if (p->failed)
		return;
	p->failed = true;
	if (!n) {
		say(p, "the name of an option is missing in ");
		say_input(p, name, strlen(name));
		return;
	}
	say(p, "unknown option ");
	say_input(p, name, n);
	say(p, "; known are");
	for (size_t i = 0; i < KEYS; i++) {
		say(p, i ? ", " : " ");
		say(p, keys[i].name);
	}
}

static const struct key *find_key(const char *name, size_t n)
{
	for (size_t i = 0; i < KEYS; i++) {
		if (strlen(keys[i].name) == n && !memcmp(keys[i].name, name, n))
			return &keys[i];
	}
	return NULL;
}

/* Takes the backslashes out, in place. False if the last one quotes nothing. */
static bool unquote(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s == '\\' && !*++s)
			return false;
		*to++ = *s;
	}
	*to = 0;
	return true;
}

/* One "key:value"; item[] is changed and stays in use. */
static void parse_item(struct parser *p, char *item)
{
	size_t n = strcspn(item, ":");
	char *value = item[n] ? item + n + 1 : NULL;
	unsigned bit;

	p->key = find_key(item, n);
	if (!p->key) {
		unknown(p, item, n);
		return;
	}
	bit = 1u << (p->key - keys);
	if (p->seen & bit) {
		wrong(p, NULL, "given twice");
		return;
	}
	p->seen |= bit;
	if (!value || !*value)
		wrong(p, NULL, "the value is missing");
	else if (!unquote(value))
		wrong(p, NULL, "ends in a backslash that quotes nothing");
	else
		p->key->set(p, value);
}

/* What only holds together, in whatever order it was given. */
static void check_together(struct parser *p)
{
	const char *path = p->o->dump_path;

	if (!p->o->dump_every ||
	    (path && expanded(path, PID_DIGITS_MAX, NULL, 0) < PATH_MAX - MW_SNAPSHOT_ROOM))
		return;
	p->o->dump_every = 0;
	p->key = find_key("dump_every", strlen("dump_every"));
	wrong(p, NULL, path ? "dump_path is too long, as PID and time are added" :
			      "needs dump_path, which says where to");
}

/* Ends the item at its comma; returns the next item, or NULL. */
static char *cut_item(char *s)
{
	for (; *s; s++) {
		if (*s == '\\' && s[1]) {
			s++;
		} else if (*s == ',') {
			*s = 0;
			return s + 1;
		}
	}
	return NULL;
}

bool mw_options_parse(struct mw_options *o, const char *env, char err[MW_ERROR_MAX])
{
	struct parser p = { .o = o, .err = err };
	int saved = errno;
	size_t n = env ? strnlen(env, MW_OPTIONS_TEXT_MAX) : 0;
	char *item = o->text;

	/* not the text: its 16 KiB would cost every process four pages */
	memset(o, 0, offsetof(struct mw_options, text));
	o->dump_fd = -1;
	o->dump_keep = MW_KEEP;
	o->text[0] = 0;
	err[0] = 0;
	if (n == MW_OPTIONS_TEXT_MAX) {
		say(&p, "MWRAP is too long: 16383 bytes at most");
		return false;
	}
	if (n)
		memcpy(o->text, env, n + 1);
	while (item) {
		char *next = cut_item(item);

		if (*item)
			parse_item(&p, item);
		item = next;
	}
	check_together(&p);
	errno = saved;
	return !p.failed;
}
