/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source.c - GET /source?location=PATH:LINE: the lines around a location, or the
 * reason why there are none. Evaluated code often names a file that doesn't exist.
 *
 * It opens only files that Ruby itself read code from:
 *  - The location must be in the table, exactly or as pages show it.
 *  - The tracker must have seen code there that came from a file (mw_api.source):
 *    evaluated code, for example a template, can give itself any name.
 *  - The absolute path at the time Ruby read the file is opened. The name in the
 *    location may be relative, or a symbolic link's.
 *  - It must be a regular file with a size: no device, pipe or file of /proc.
 * With `source:0` it reads nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pages.h"

#define AROUND 10u     /* lines before, and after */
#define LINE_BYTES 400u
#define FILE_BYTES ((off_t)4 << 20)

struct source {
	char *location; /* owned; as in the table */
	char *name;     /* owned; the location's name for its file */
	char path[4096]; /* the file that Ruby read; "": none */
	uint64_t line;
	char *text;     /* owned */
	size_t n;
};

size_t mw_read_start(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, size);
	close(fd);
	return n > 0 ? (size_t)n : 0;
}

/* Reads all of an open file of that size; false: no memory, or it can't be read. */
static bool slurp(int fd, struct source *s, size_t size)
{
	ssize_t n = 0;

	s->text = malloc(size);
	if (!s->text)
		return false;
	do {
		s->n += (size_t)n;
		n = s->n < size ? read(fd, s->text + s->n, size - s->n) : 0;
	} while (n > 0 || (n < 0 && errno == EINTR && !(n = 0)));
	return n == 0;
}

static const char *read_source(struct source *s)
{
	const char *why = NULL;
	struct stat st;
	int fd;

	if (!*s->path)
		return "Ruby read no such file: the code was evaluated under its name";
	/* O_NONBLOCK: no wait for a pipe's writer; O_NOFOLLOW: Ruby's own path ends with no link */
	fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return errno == ELOOP ? "the file is a symbolic link now" : "the file can't be opened";
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0)
		why = "the file isn't a regular file with something in it";
	else if (st.st_size > FILE_BYTES)
		why = "the file is larger than 4 MiB";
	else if (!slurp(fd, s, (size_t)st.st_size))
		why = "the file can't be read";
	close(fd);
	return why;
}

static const char several[] = "several locations have this id: ask for one by its name";

/* Takes "PATH:LINE" apart. */
static const char *locate(struct source *s, const struct mw_snapshot *table, const char *location, size_t n)
{
	const struct mw_row *r;
	const char *digits, *end;
	size_t n_digits;

	switch (mw_location_look(table, location, n, &r)) {
	case 1:
		return "no such location: nothing was allocated there";
	case 2:
		return several;
	default:
		break;
	}
	if (r->kind != MW_KIND_RUBY || !r->file_len || r->file_len + 1 >= r->location_len)
		return "the location isn't in a file of Ruby code";
	digits = r->location + r->file_len + 1;
	n_digits = r->location_len - r->file_len - 1;
	end = memchr(digits, ' ', n_digits); /* callers follow */
	if (!mw_parse_u64(digits, end ? (size_t)(end - digits) : n_digits, &s->line))
		return "the location has no line";
	s->name = strndup(r->location, r->file_len);
	s->location = strndup(r->location, r->location_len);
	return s->name && s->location ? NULL : "out of memory";
}

/* --- the answer ----------------------------------------------------------------------- */

static const char *line_end(const char *p, const char *end)
{
	const char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;

	return nl ? nl : end;
}

/* The bytes of a line to send: LINE_BYTES at most, whole characters. */
static size_t shorten(const char *p, size_t n, bool *cut)
{
	if (n && p[n - 1] == '\r')
		n--;
	if (n <= LINE_BYTES)
		return n;
	*cut = true;
	n = LINE_BYTES;
	for (size_t back = 0; back < 3 && ((unsigned char)p[n] & 0xc0) == 0x80; back++)
		n--;
	return n;
}

/* False: the file has no such line; the lines before it are appended all the same. */
static bool put_source_lines(struct mw_buf *b, const struct source *s, uint64_t first, bool *cut)
{
	const char *p = s->text, *end = s->text + s->n, *nl;
	bool there = false;

	for (uint64_t i = 1; p < end && i <= s->line + AROUND; i++, p = nl + 1) {
		nl = line_end(p, end);
		if (i < first)
			continue;
		mw_json_text(b, "\n", p, shorten(p, (size_t)(nl - p), cut));
		there |= i >= s->line;
	}
	return there;
}

/* why: the reason for no lines; NULL: there are lines, unless the file is shorter by now. */
static void render(struct mw_buf *b, const struct source *s, const char *why)
{
	uint64_t first = s->line > AROUND ? s->line - AROUND : 1;
	bool cut = false;

	mw_buf_str(b, "{");
	mw_json_str(b, "location", s->location);
	mw_json_str(b, "\nfile", *s->path ? s->path : s->name);
	mw_json_u64(b, "\nline", s->line);
	mw_json_u64(b, "\nfirst", first);
	mw_json_open(b, "\nlines", '[');
	if (!why && (s->line >= UINT64_MAX - AROUND || !put_source_lines(b, s, first, &cut)))
		why = "the file has no such line";
	mw_buf_str(b, "]");
	mw_json_bool(b, "\ntruncated", cut);
	if (why)
		mw_json_str(b, "\nwhy", why);
	mw_buf_str(b, "}\n");
}

/* NULL, or the reason why the location has no file. */
static const char *find_source(struct mw_call *call, struct source *s, const char *location, size_t n)
{
	struct mw_snapshot *table = call->api->snapshot();
	const char *why;

	if (!table)
		return "out of memory";
	why = locate(s, table, location, n);
	call->api->snapshot_free(table);
	if (!why)
		(void)call->api->source(s->name, strlen(s->name), s->path, sizeof(s->path));
	return why;
}

void mw_page_source(struct mw_call *call)
{
	struct source s = { 0 };
	const char *location = call->params.v[MW_PARAM_LOCATION].s, *failed;
	size_t n = call->params.v[MW_PARAM_LOCATION].n;

	if (!call->api->options()->source) {
		mw_reply(call, 403, "source is off: the option source:0 is set");
	} else if (!n) {
		mw_reply(call, 400, "location: missing; ask for /source?location=PATH:LINE");
	} else {
		failed = find_source(call, &s, location, n);
		if (failed) {
			mw_reply(call, failed == several ? 409 : 404, failed);
		} else {
			mw_reply_form(call, MW_FORM_JSON);
			render(&call->res->body, &s, read_source(&s));
		}
	}
	free(s.location);
	free(s.name);
	free(s.text);
}
