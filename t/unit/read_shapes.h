/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read_shapes.h - t/shapes.txt as test_shapes.c plays it; that file says what a line means. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum {
	SHAPES_MAX = 200,
	KEPT_MAX = 4,
	TERMS_MAX = 12,
	SERIES_MAX = 24,
	WORDS_MAX = 200,
	LINE_MAX = 4000,
	MAJORS_MAX = 64,
	POINTS_MAX = 4000, /* of all shapes */
	SWEEP = 5          /* seconds in which garbage goes after a major collection */
};

/* Points of series that were recorded; a term has a part of them. */
static struct {
	double t, v;
} recorded_points[POINTS_MAX];
static size_t recorded_n;

/* One summand of a series. */
struct term {
	enum { BASE, SLOPE, TEETH, NOISE, WALK, SINE, STEP, FILLS, STAIRS, BURST, GARBAGE, POINTS } kind;
	double size, from, until, every, lasts;
	double state;
	uint64_t seed;
	size_t first, n; /* POINTS */
};

struct line {
	char name[80]; /* a location, or a part's name */
	bool part;
	size_t n;
	struct term terms[TERMS_MAX];
};

struct shape {
	char name[60];
	double lasts, from, to, starts;
	size_t lines_n;
	struct line lines[SERIES_MAX];
	struct {
		double t;
		char text[40];
	} events[4];
	size_t events_n;
	double majors[MAJORS_MAX];
	size_t majors_n;
	struct line reached; /* points: what proofs saw of Ruby's heap */
	struct line kept[KEPT_MAX]; /* points: what proofs saw kept of a line, of which nothing was garbage */
	size_t kept_n;
	char told[80]; /* a line that is told to grow already */
	bool proves; /* this process can be asked */
	bool no_arenas; /* free memory isn't known */
	uint32_t threads; /* 0: not known */
	double asked_from, asked_every; /* 0: at the end only */
	char is[120], at[80], says[120], never[120], rate_of[20], wants[20];
	struct moment {
		bool given;
		double t, within; /* 0: one step of the grid */
	} began, ended;
};

static struct shape shapes[SHAPES_MAX];
static size_t shapes_n;

/* --- reading the table --------------------------------------------------------------- */

/* 5m, 3h, 2d, 40s or 40 */
static double seconds(const char *s)
{
	char *end;
	double v = strtod(s, &end);

	return v * (*end == 'm' ? 60 : *end == 'h' ? 3600 : *end == 'd' ? 86400 : 1);
}

/* 300K, 1.5M, 2G; behind a slash the time that it is for: 1M/m is given for a second. */
static double size(const char *s)
{
	char *end;
	double v = strtod(s, &end);

	v *= *end == 'K' ? 1024 : *end == 'M' ? 1 << 20 : *end == 'G' ? 1 << 30 : 1;
	end = strchr(s, '/');
	return end ? v / seconds(end[1] == 'm' ? "1m" :
				 end[1] == 'h' ? "1h" :
				 end[1] == 'd' ? "1d" :
						 "1s") :
		     v;
}

static const char *const kinds[] = { "base", "slope", "teeth",  "noise", "walk",   "sine",
				     "step", "fills", "stairs", "burst", "garbage" };

/* T:SIZE T:SIZE ..., to the line's end */
static void read_points(struct line *l, char **words, size_t n)
{
	l->terms[l->n++] = (struct term){ .kind = POINTS, .first = recorded_n, .n = n };
	for (size_t i = 0; i < n; i++) {
		assert_true(recorded_n < POINTS_MAX);
		recorded_points[recorded_n].t = seconds(words[i]);
		recorded_points[recorded_n++].v = size(strchr(words[i], ':') + 1);
	}
}

static void read_terms(struct line *l, char **words, size_t n, const char *where)
{
	struct term *t = NULL;

	if (n && !strcmp(words[0], "points")) {
		read_points(l, words + 1, n - 1);
		return;
	}
	for (size_t i = 0; i + 1 < n; i += 2) {
		size_t kind = 0;

		while (kind < sizeof(kinds) / sizeof(*kinds) && strcmp(kinds[kind], words[i]))
			kind++;
		if (kind < sizeof(kinds) / sizeof(*kinds)) {
			t = &l->terms[l->n++];
			*t = (struct term){
				.kind = kind, .size = size(words[i + 1]), .until = 1e12, .every = 60
			};
			t->seed = 88172645463325252u + l->n * 7919;
		} else if (t && !strcmp(words[i], "from")) {
			t->from = seconds(words[i + 1]);
		} else if (t && !strcmp(words[i], "until")) {
			t->until = seconds(words[i + 1]);
		} else if (t && !strcmp(words[i], "every")) {
			t->every = seconds(words[i + 1]);
		} else if (t && !strcmp(words[i], "for")) {
			t->lasts = seconds(words[i + 1]);
		} else {
			fail_msg("%s: %s isn't understood", where, words[i]);
		}
	}
}

static struct moment moment(char **words, size_t n)
{
	return (struct moment){ true, seconds(words[1]), n > 3 ? seconds(words[3]) : 0 };
}

static void read_shapes(const char *path)
{
	FILE *f = fopen(path, "r");
	char text[LINE_MAX];
	struct shape *s = NULL;

	if (!f)
		fail_msg("%s can't be read", path);
	while (f && fgets(text, sizeof(text), f)) {
		char *words[WORDS_MAX], *rest = text, copy[LINE_MAX];
		size_t n = 0;

		text[strcspn(text, "\n")] = '\0';
		strcpy(copy, text);
		if (text[0] == '#' || !text[0])
			continue;
		while (n < WORDS_MAX && (words[n] = strtok_r(rest, " \t", &rest)))
			n++;
		if (!strcmp(words[0], "shape")) {
			s = &shapes[shapes_n++];
			*s = (struct shape){ .from = -1, .to = -1 };
			snprintf(s->name, sizeof(s->name), "%s", words[1]);
		} else if (!s) {
			fail_msg("a line before the first shape: %s", copy);
		} else if (!strcmp(words[0], "lasts")) {
			s->lasts = seconds(words[1]);
		} else if (!strcmp(words[0], "starts")) {
			s->starts = seconds(words[1]);
		} else if (!strcmp(words[0], "range")) {
			s->from = seconds(words[1]);
			s->to = seconds(words[2]);
		} else if (!strcmp(words[0], "line") || !strcmp(words[0], "part")) {
			struct line *l = &s->lines[s->lines_n++];

			l->part = words[0][0] == 'p';
			snprintf(l->name, sizeof(l->name), "%s", words[1]);
			read_terms(l, words + 2, n - 2, s->name);
		} else if (!strcmp(words[0], "event")) {
			s->events[s->events_n].t = seconds(words[1]);
			snprintf(s->events[s->events_n++].text, 40, "%s", words[2]);
		} else if (!strcmp(words[0], "majors")) {
			for (size_t i = 1; i < n && s->majors_n < MAJORS_MAX; i++)
				s->majors[s->majors_n++] = seconds(words[i]);
		} else if (!strcmp(words[0], "reached")) {
			read_points(&s->reached, words + 1, n - 1);
		} else if (!strcmp(words[0], "kept") && s->kept_n < KEPT_MAX) {
			s->proves = true;
			snprintf(s->kept[s->kept_n].name, sizeof(s->kept[0].name), "%s", words[1]);
			read_points(&s->kept[s->kept_n++], words + 2, n - 2);
		} else if (!strcmp(words[0], "proofs")) {
			s->proves = true;
			snprintf(s->wants, sizeof(s->wants), "%s", words[1]);
		} else if (!strcmp(words[0], "arenas")) {
			s->no_arenas = !strcmp(words[1], "unknown");
		} else if (!strcmp(words[0], "threads")) {
			s->threads = (uint32_t)strtoul(words[1], NULL, 10);
		} else if (!strcmp(words[0], "told")) {
			snprintf(s->told, sizeof(s->told), "%s", words[1]);
		} else if (!strcmp(words[0], "asked")) {
			s->asked_every = seconds(words[2]);
			s->asked_from = seconds(words[4]);
		} else if (!strcmp(words[0], "began")) {
			s->began = moment(words, n);
		} else if (!strcmp(words[0], "ended")) {
			s->ended = moment(words, n);
		} else if (!strcmp(words[0], "rate_of")) {
			snprintf(s->rate_of, sizeof(s->rate_of), "%s", words[1]);
		} else if (!strcmp(words[0], "is")) {
			snprintf(s->is, sizeof(s->is), " %s ", strchr(copy, ' ') + 1);
		} else if (!strcmp(words[0], "at")) {
			snprintf(s->at, sizeof(s->at), "%s", words[1]);
		} else if (!strcmp(words[0], "says")) {
			snprintf(s->says, sizeof(s->says), "%s", strchr(copy, ' ') + 1);
		} else if (!strcmp(words[0], "never")) {
			snprintf(s->never, sizeof(s->never), "%s", strchr(copy, ' ') + 1);
		} else {
			fail_msg("%s: %s isn't understood", s->name, words[0]);
		}
	}
	fclose(f);
}
