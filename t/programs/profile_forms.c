/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_forms FORM...: makes a profile of what stdin says, and prints it: pprof, pprof_total,
 * pprof_objects, collapsed, collapsed_total, collapsed_objects, speedscope, tree. Each word of a line of stdin ends with a tab; texts
 * are in hexadecimal:
 *
 *   program FILE
 *   row KIND LOCATION AT FILE_LEN TOTAL ALLOCATIONS LIVE_BYTES LIVE OBJECTS OBJECT_BYTES
 *   frame KIND NAME FILE LINE ADDRESS
 *   sample ROW LIVE_BYTES TOTAL LIVE ALLOCATIONS LIVE_SAMPLES SAMPLES FRAME...     innermost first
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/report/profile.h"

static struct mw_profile profile;
static struct mw_snapshot snapshot;
static struct mw_profile_sampled *samples;
static size_t n_samples;

static void die(const char *why)
{
	fprintf(stderr, "profile_forms: %s\n", why);
	exit(2);
}

/* For one more entry behind n. */
static void *room(void *p, size_t n, size_t size)
{
	p = realloc(p, (n + 1) * size);
	if (!p)
		die("no memory");
	return p;
}

/* The next word of the line; "" at its end. */
static char *word(char **line)
{
	char *s = strsep(line, "\t");

	return s ? s : "";
}

static uint64_t number(char **line)
{
	return strtoull(word(line), NULL, 10);
}

/* Decodes a text in place; it stays there. */
static char *text(char **line)
{
	char *s = word(line), pair[3] = "";
	size_t n = strlen(s) / 2;
	char *to = mw_profile_keep(&profile, n + 1);

	for (size_t i = 0; i < n; i++) {
		memcpy(pair, s + 2 * i, 2);
		to[i] = (char)strtoul(pair, NULL, 16);
	}
	to[n] = 0;
	return to;
}

static enum mw_kind kind(char **line)
{
	const char *s = word(line);

	return !strcmp(s, "ruby")   ? MW_KIND_RUBY :
	       !strcmp(s, "native") ? MW_KIND_NATIVE :
				      MW_KIND_SPECIAL;
}

static void add_row(char *line)
{
	struct mw_row *r;

	snapshot.rows = room(snapshot.rows, snapshot.n, sizeof(*r));
	r = &snapshot.rows[snapshot.n++];
	*r = (struct mw_row){ .kind = kind(&line) };
	r->location = text(&line);
	r->location_len = (uint32_t)strlen(r->location);
	r->at = number(&line);
	r->file_len = (uint32_t)number(&line);
	r->total = number(&line);
	r->allocations = number(&line);
	r->live_bytes = number(&line);
	r->live = number(&line);
	r->objects = number(&line);
	r->object_bytes = number(&line);
	r->object_samples = r->objects > 0;
}

static void add_frame(char *line)
{
	struct mw_profile_frame *f;

	profile.frames = room(profile.frames, profile.n_frames, sizeof(*f));
	f = &profile.frames[profile.n_frames++];
	f->kind = kind(&line);
	f->name = text(&line);
	f->file = text(&line);
	f->line = (uint32_t)number(&line);
	f->address = number(&line);
}

static void add_sample(char *line)
{
	uint32_t *frames = mw_profile_keep(&profile, strlen(line) * sizeof(*frames));
	struct mw_profile_sampled *s;

	samples = room(samples, n_samples, sizeof(*s));
	s = &samples[n_samples++];
	*s = (struct mw_profile_sampled){ .frames = frames, .row = (uint32_t)number(&line) };
	s->bytes[MW_BY_LIVE] = (double)number(&line);
	s->bytes[MW_BY_TOTAL] = (double)number(&line);
	s->blocks[MW_BY_LIVE] = (double)number(&line);
	s->blocks[MW_BY_TOTAL] = (double)number(&line);
	s->samples[MW_BY_LIVE] = (uint32_t)number(&line);
	s->samples[MW_BY_TOTAL] = (uint32_t)number(&line);
	while (line && *line)
		frames[s->depth++] = (uint32_t)number(&line);
}

static void read_all(void)
{
	char *line = NULL;
	size_t size = 0;

	for (ssize_t n; (n = getline(&line, &size, stdin)) > 0;) {
		char *rest = line, *what;

		line[n - 1] = 0;
		what = word(&rest);
		if (!strcmp(what, "program"))
			profile.program = text(&rest);
		else if (!strcmp(what, "row"))
			add_row(rest);
		else if (!strcmp(what, "frame"))
			add_frame(rest);
		else if (!strcmp(what, "sample"))
			add_sample(rest);
		else
			die(what);
	}
	free(line);
}

static void render(struct mw_buf *b, const char *form)
{
	const struct mw_profile_view view = { .by = MW_VIEW_LIVE, .row = MW_ROW_ALL, .most = 1000 };

	if (!strcmp(form, "pprof"))
		mw_profile_pprof(b, &profile, MW_BY_LIVE);
	else if (!strcmp(form, "pprof_total"))
		mw_profile_pprof(b, &profile, MW_BY_TOTAL);
	else if (!strcmp(form, "pprof_objects"))
		mw_profile_pprof(b, &profile, MW_BY_OBJECTS);
	else if (!strcmp(form, "collapsed_objects"))
		mw_profile_collapsed(b, &profile, MW_BY_OBJECTS);
	else if (!strcmp(form, "collapsed"))
		mw_profile_collapsed(b, &profile, MW_BY_LIVE);
	else if (!strcmp(form, "collapsed_total"))
		mw_profile_collapsed(b, &profile, MW_BY_TOTAL);
	else if (!strcmp(form, "speedscope"))
		mw_profile_speedscope(b, &profile, "a \"title\"");
	else if (!strcmp(form, "tree"))
		mw_profile_tree(b, &profile, &view);
	else
		die(form);
}

int main(int argc, char **argv)
{
	struct mw_buf b = { 0 };

	profile.rate = 524288;
	profile.start = 1700000000;
	profile.now = 1700000012.25;
	profile.snapshot = &snapshot;
	read_all();
	if (!mw_profile_calibrate(&profile, samples, n_samples))
		die("no memory");
	for (int i = 1; i < argc; i++)
		render(&b, argv[i]);
	if (b.failed || fwrite(b.p, 1, b.n, stdout) != b.n || fflush(stdout))
		die("can't write");
	return 0;
}
