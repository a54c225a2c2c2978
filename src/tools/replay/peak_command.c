/* SPDX-License-Identifier: GPL-2.0-or-later */
/* peak_command.c - what lived where when live memory was highest in packed recordings. See commands.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "read_json.h"
#include "peak_of_all.h"
#include "source.h"

enum { STEPS = 1000, OFTEN = 4096 /* events from one look at the progress to the next */ };

struct block {
	uint64_t size;
	uint32_t location; /* 0: none, or not alive */
	bool lives;
};

/* A recording, and its event that comes next. */
struct process {
	const char *path;
	struct mw_source source;
	const struct mw_packed_sums *sums;
	struct block *blocks; /* by slot */
	struct mw_array rows; /* struct mw_peak_row, by the location's number */
	double starts; /* seconds behind the first recording */
	bool ends; /* with its recording */
	bool more;
	struct mw_packed_event event;
	double at; /* of the event, in seconds behind the first recording's beginning */
};

struct command {
	struct process *v;
	size_t n, opened;
	struct mw_peaks peaks;
	double at; /* of the peak */
	uint64_t events, told;
	bool progress, failed;
};

/* --- a process ------------------------------------------------------------------------------- */

static struct mw_peak_row *row_at(struct command *c, struct process *p, uint32_t location)
{
	while (p->rows.n <= location) {
		if (!mw_array_more(&p->rows, sizeof(struct mw_peak_row))) {
			c->failed = true;
			return NULL;
		}
		p->rows.n++;
	}
	return &((struct mw_peak_row *)p->rows.p)[location];
}

/* Reads the next event. At the end, what lives goes with a process that ended. */
static void advance(struct command *c, struct process *p)
{
	char err[MW_REPLAY_ERROR];
	struct mw_peak_row *rows;

	p->more = mw_source_next(&p->source, &p->event, err);
	if (p->more) {
		p->at = p->starts +
			(double)(p->event.is.ticks - p->sums->first) / (double)p->sums->ticks_per_second;
		return;
	}
	if (*err)
		mw_complain(p->path, err);
	rows = p->rows.p;
	for (size_t i = 0; p->ends && i < p->rows.n; i++)
		mw_peak_end_all(&c->peaks, &rows[i]);
}

static void end_block(struct command *c, struct process *p, struct block *b)
{
	struct mw_peak_row *row = b->lives ? row_at(c, p, b->location) : NULL;

	if (row)
		mw_peak_end(&c->peaks, row, b->size);
	b->lives = false;
}

static void begin_block(struct command *c, struct process *p, struct block *b)
{
	const struct mw_trace_event *e = &p->event.is;
	struct mw_peak_row *row = row_at(c, p, e->location);

	if (!row)
		return;
	mw_peak_begin(&c->peaks, row, e->size);
	*b = (struct block){ .size = e->size, .location = e->location, .lives = true };
}

static void take_event(struct command *c, struct process *p)
{
	unsigned op = p->event.is.op;
	struct block *b;

	if (op == MW_OP_OWN) /* the tracker's, not the app's */
		return;
	b = &p->blocks[p->event.slot];
	if (op == MW_OP_REALLOC || op == MW_OP_FREE || op == MW_OP_FREE_LARGE)
		end_block(c, p, b);
	if (mw_op_is_birth(op))
		begin_block(c, p, b);
	if (mw_peak_look(&c->peaks))
		c->at = p->at;
}

/* --- all of them ----------------------------------------------------------------------------- */

static void tell_progress(struct command *c)
{
	uint64_t done = 0, all = 0, at, of, steps;

	if (!c->progress || ++c->events % OFTEN)
		return;
	for (size_t i = 0; i < c->n; i++) {
		mw_packed_progress(c->v[i].source.packed, &at, &of);
		done += at;
		all += of;
	}
	steps = all ? done * STEPS / all : 0;
	if (steps <= c->told || steps >= STEPS)
		return;
	c->told = steps;
	fprintf(stderr, "%.3f\n", (double)steps / STEPS);
}

/* The one whose event comes first; NULL: all have ended. */
static struct process *earliest(struct command *c)
{
	struct process *first = NULL;

	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].more && (!first || c->v[i].at < first->at))
			first = &c->v[i];
	return first;
}

static void read_all(struct command *c)
{
	struct process *p;

	for (size_t i = 0; i < c->n; i++)
		advance(c, &c->v[i]);
	while (!c->failed && (p = earliest(c))) {
		take_event(c, p);
		advance(c, p);
		tell_progress(c);
	}
}

static void write_name(const struct process *p, uint32_t location)
{
	size_t n;
	const char *text = mw_names_get(p->source.names, location, &n);

	for (size_t i = 0; i < n; i++)
		putchar((unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i]);
	putchar('\n');
}

static void write_peak(const struct command *c)
{
	printf("%.6f\t%" PRIu64 "\t%" PRIu64 "\n", c->at, c->peaks.most.bytes, c->peaks.most.blocks);
	for (size_t i = 0; i < c->n; i++) {
		const struct mw_peak_row *rows = c->v[i].rows.p;

		for (uint32_t at = 0; at < c->v[i].rows.n; at++) {
			struct mw_peak_amount a = mw_peak_of(&c->peaks, &rows[at]);

			if (!a.blocks)
				continue;
			printf("%" PRIu64 "\t%" PRIu64 "\t", a.bytes, a.blocks);
			write_name(&c->v[i], at);
		}
	}
}

/* --- the command ------------------------------------------------------------------------------ */

/* A number of a recording's META; 0: none. */
static double meta_number(const struct process *p, const char *key)
{
	char text[64] = "";
	size_t n = 0;
	const char *value = mw_json_get(p->source.index->meta.s, key, &n);

	if (value && n < sizeof(text))
		memcpy(text, value, n);
	return strtod(text, NULL);
}

/* As lib/mwrap/ctl/recording.rb has it: a recording without an end is one of a process that was killed. */
static bool ends(const struct process *p)
{
	size_t n = 0;
	const char *end = p->source.index->end.s;
	const char *reason = end ? mw_json_get(end, "reason", &n) : NULL;

	return !end || !*end || (reason && n == 6 && !memcmp(reason, "\"exit\"", 6));
}

static bool open_one(struct process *p, char *err)
{
	if (!mw_source_open(&p->source, p->path, err))
		return false;
	if (!p->source.packed) {
		snprintf(err, MW_REPLAY_ERROR, "isn't packed: pack it first");
		return false;
	}
	p->sums = mw_packed_sums(p->source.packed);
	p->starts = meta_number(p, "started");
	p->ends = ends(p);
	p->blocks = mw_mem((p->sums->live_most + 1) * sizeof(*p->blocks));
	if (!p->blocks)
		snprintf(err, MW_REPLAY_ERROR, "%s", strerror(ENOMEM));
	return p->blocks != NULL;
}

static int run_peak(struct command *c)
{
	char err[MW_REPLAY_ERROR] = "";
	double first = 0;

	for (; c->opened < c->n; c->opened++)
		if (!open_one(&c->v[c->opened], err))
			return mw_complain(c->v[c->opened].path, err);
	for (size_t i = 0; i < c->n; i++)
		if (!i || c->v[i].starts < first)
			first = c->v[i].starts;
	for (size_t i = 0; i < c->n; i++)
		c->v[i].starts -= first;
	read_all(c);
	if (c->failed)
		return mw_complain(c->v[0].path, strerror(ENOMEM));
	write_peak(c);
	return mw_finish_output();
}

int mw_peak(char **paths, size_t n, bool progress)
{
	struct command c = { .v = mw_mem(n * sizeof(*c.v)), .n = n, .progress = progress };
	int status;

	if (!c.v)
		return mw_complain(paths[0], strerror(ENOMEM));
	for (size_t i = 0; i < n; i++)
		c.v[i].path = paths[i];
	status = run_peak(&c);
	for (size_t i = 0; i < n; i++) {
		struct process *p = &c.v[i];

		if (p->blocks)
			mw_mem_free(p->blocks, (p->sums->live_most + 1) * sizeof(*p->blocks));
		mw_array_free(&p->rows, sizeof(struct mw_peak_row));
		if (p->source.index)
			mw_source_close(&p->source);
	}
	mw_mem_free(c.v, n * sizeof(*c.v));
	return status;
}
