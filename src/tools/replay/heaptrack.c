/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heaptrack.c - a recording as heaptrack's own text, which heaptrack_print and heaptrack_gui read.
 *
 * Version 1 of it; all numbers are in base 16. Each kind of line has its numbers from 1 on (a: from 0 on):
 *
 *   v VERSION 1               X COMMAND                I PAGE_SIZE PAGES
 *   s TEXT                    i ADDRESS MODULE FUNCTION FILE LINE
 *   t INSTRUCTION PARENT      a SIZE TRACE
 *   c MILLISECONDS            R PAGES, of RSS
 *   + A                       - A
 *
 * A location is a trace of one instruction, whose function is the location's name.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "read_json.h"
#include "births.h"
#include "source.h"

enum { PAGE = 4096 };

/* Allocations of one size at one location. A hash table leads from both to the number. */
struct kind {
	uint64_t size;
	uint32_t location, number; /* number: from 1 on */
};

struct output {
	struct mw_source source;
	struct mw_lives lives; /* number of each block's kind */
	struct kind *kinds;
	size_t mask, n;
	uint32_t strings, locations; /* how many were written */
	uint64_t first, ms, page;
	size_t sample; /* the next one */
	bool failed;
};

static struct kind *cell_of(const struct output *o, uint64_t size, uint32_t location)
{
	uint64_t hash = (size * UINT64_C(0x9e3779b97f4a7c15) ^ location) * UINT64_C(0xff51afd7ed558ccd);
	size_t i = (hash >> 32) & o->mask;

	while (o->kinds[i].number && (o->kinds[i].size != size || o->kinds[i].location != location))
		i = (i + 1) & o->mask;
	return &o->kinds[i];
}

static bool grow_kinds(struct output *o)
{
	struct output more = { .mask = o->kinds ? o->mask * 2 + 1 : PAGE - 1 };

	if (o->kinds && o->n < o->mask / 2)
		return true;
	more.kinds = calloc(more.mask + 1, sizeof(*more.kinds));
	if (!more.kinds)
		return false;
	for (size_t i = 0; o->kinds && i <= o->mask; i++)
		if (o->kinds[i].number)
			*cell_of(&more, o->kinds[i].size, o->kinds[i].location) = o->kinds[i];
	free(o->kinds);
	o->kinds = more.kinds;
	o->mask = more.mask;
	return true;
}

static uint32_t write_string(struct output *o, const char *text, size_t n)
{
	fputs("s ", stdout);
	for (size_t i = 0; i < n; i++)
		putchar((unsigned char)text[i] < ' ' ? '?' : text[i]);
	putchar('\n');
	return ++o->strings;
}

/* FILE:LINE is a file and a line, too. */
static void write_location(struct output *o, const char *text, size_t n)
{
	uint32_t function = write_string(o, text, n), file = 0;
	unsigned line = 0, tens = 1;
	size_t at = n;

	for (; at && text[at - 1] >= '0' && text[at - 1] <= '9' && n - at < 9; at--, tens *= 10)
		line += (unsigned)(text[at - 1] - '0') * tens;
	if (at > 1 && at < n && text[at - 1] == ':')
		file = write_string(o, text, at - 1);
	else
		line = 0;
	o->locations++;
	printf("i %x 0 %x %x %x\nt %x 0\n", o->locations, function, file, line, o->locations);
}

/* The number of a kind, from 0 on, that was written. */
static uint32_t number_of_kind(struct output *o, uint64_t size, uint32_t location)
{
	struct kind *k;

	if (!grow_kinds(o)) {
		o->failed = true;
		return 0;
	}
	k = cell_of(o, size, location);
	if (!k->number) {
		*k = (struct kind){ size, location, (uint32_t)++o->n };
		/* trace 1 is that of blocks without a location */
		while (o->locations <= location) {
			size_t n;
			const char *name = mw_names_get(o->source.names, o->locations, &n);

			write_location(o, name, n);
		}
		printf("a %" PRIx64 " %x\n", size, location + 1);
	}
	return k->number - 1;
}

static void write_birth(struct output *o, uint32_t birth, uint64_t size, uint32_t location)
{
	uint32_t kind = number_of_kind(o, size, location);

	if (!mw_lives_add(&o->lives, birth, kind))
		o->failed = true;
	printf("+ %x\n", kind);
}

static void write_death(struct output *o, uint32_t birth)
{
	uint32_t kind;

	if (mw_lives_take(&o->lives, birth, &kind))
		printf("- %x\n", kind);
}

static void write_time(struct output *o, uint64_t ticks)
{
	double seconds =
		ticks < o->first ? 0 : (double)(ticks - o->first) / (double)o->source.ticks_per_second;
	uint64_t ms = (uint64_t)(seconds * 1e3);

	if (ms > o->ms)
		printf("c %" PRIx64 "\n", o->ms = ms);
}

static void write_samples(struct output *o, uint64_t until)
{
	const struct mw_trace_sample *s = o->source.index->samples.p;

	for (; o->sample < o->source.index->samples.n && s[o->sample].ticks <= until; o->sample++) {
		write_time(o, s[o->sample].ticks);
		printf("R %" PRIx64 "\n", s[o->sample].rss / o->page);
	}
}

static void write_event(struct output *o, const struct mw_packed_event *e)
{
	write_samples(o, e->is.ticks);
	write_time(o, e->is.ticks);
	if (e->from)
		write_death(o, (uint32_t)e->from);
	if (mw_op_is_birth(e->is.op))
		write_birth(o, (uint32_t)e->is.ref, e->is.size, e->is.location);
	else if (e->is.op == MW_OP_FREE || e->is.op == MW_OP_FREE_LARGE)
		write_death(o, (uint32_t)e->is.ref);
}

/* Writes the text of a JSON string on one line. p: what is between its quotes, n bytes. */
static void write_text(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned code = (unsigned char)p[i];

		if (code == '\\' && i + 1 < n) {
			code = (unsigned char)p[++i];
			if (code == 'u' && i + 4 < n && sscanf(p + i + 1, "%4x", &code) == 1)
				i += 4;
			else if (strchr("bfnrt", (int)code))
				code = ' ';
		} else if (code >= 0x80) { /* it is UTF-8 as it is */
			putchar((int)code);
			continue;
		}
		putchar(code < ' ' ? ' ' : code < 0x7f ? (int)code : '?');
	}
}

static void write_command(const struct mw_source *s)
{
	size_t n = 0;
	const char *command = mw_json_get(s->index->meta.s, "command", &n);

	fputs("X ", stdout);
	if (command && *command == '"' && n > 2)
		write_text(command + 1, n - 2);
	else
		putchar('?');
	putchar('\n');
}

static void write_head(struct output *o)
{
	if (!mw_json_get_u64(o->source.index->meta.s, "page_size", &o->page) || !o->page)
		o->page = PAGE;
	puts("v 10400 1");
	write_command(&o->source);
	printf("I %" PRIx64 " 0\n", o->page);
	write_location(o, "(no location)", sizeof("(no location)") - 1);
}

int mw_heaptrack(const char *in)
{
	char err[MW_REPLAY_ERROR];
	struct output o = { 0 };
	struct mw_packed_event e;
	bool any = false;

	if (!mw_source_open(&o.source, in, err))
		return mw_complain(in, err);
	write_head(&o);
	while (!o.failed && mw_source_next(&o.source, &e, err)) {
		if (!any)
			o.first = e.is.ticks;
		any = true;
		write_event(&o, &e);
	}
	write_samples(&o, UINT64_MAX);
	if (o.failed)
		mw_complain(in, strerror(ENOMEM));
	else if (*err)
		mw_complain(in, err);
	mw_source_report(&o.source, in);
	mw_source_close(&o.source);
	mw_lives_free(&o.lives);
	free(o.kinds);
	return mw_finish_output();
}
