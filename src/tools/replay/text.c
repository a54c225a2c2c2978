/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.c - a recording as text: one event a line. See commands.h. */
#include <inttypes.h>
#include <stdio.h>

#include "commands.h"
#include "source.h"

static const char *const ops[MW_OPS] = {
	[MW_OP_MALLOC] = "malloc",   [MW_OP_FREE] = "free",
	[MW_OP_CALLOC] = "calloc",   [MW_OP_ALIGNED] = "aligned",
	[MW_OP_REALLOC] = "realloc", [MW_OP_FREE_LARGE] = "free_large",
	[MW_OP_LIVE] = "live",       [MW_OP_RESIDENT] = "resident",
	[MW_OP_THREAD] = "thread",   [MW_OP_THREAD_END] = "thread_end",
	[MW_OP_TRIM] = "trim",       [MW_OP_OWN] = "own",
};

/* One field, and what ends it; "-" stands for one that the event doesn't have. */
static void print_field(bool has, uint64_t v, char end)
{
	if (has)
		printf("%" PRIu64 "%c", v, end);
	else
		printf("-%c", end);
}

static void print_name(const struct mw_source *s, uint32_t location)
{
	size_t n;
	const char *text = mw_names_get(s->names, location, &n);

	if (!n)
		putchar('-');
	for (size_t i = 0; i < n; i++)
		putchar((unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i]);
}

static void print_event(const struct mw_source *s, const struct mw_packed_event *e, uint64_t first)
{
	uint64_t since = e->is.ticks - first, whole = since / s->ticks_per_second;
	uint64_t rest =
		(uint64_t)((double)(since % s->ticks_per_second) / (double)s->ticks_per_second * 1e6);
	unsigned op = e->is.op;

	printf("%" PRIu64 ".%06" PRIu64 "\t%u\t%s\t", whole, rest, e->thread, ops[op]);
	print_field(mw_op_has_ref(op) || op == MW_OP_OWN, e->is.ref, '\t');
	print_field(mw_op_has_size(op), e->is.size, '\t');
	print_field(mw_op_has_extra(op), e->is.extra, '\t');
	print_name(s, e->is.location);
	putchar('\n');
}

int mw_text(const char *in)
{
	char err[MW_REPLAY_ERROR];
	struct mw_source s;
	struct mw_packed_event e;
	uint64_t first = 0;
	bool any = false;

	if (!mw_source_open(&s, in, err))
		return mw_complain(in, err);
	puts("# seconds\tthread\tcall\tblock\tsize\textra\tlocation");
	while (mw_source_next(&s, &e, err)) {
		if (!any)
			first = e.is.ticks;
		any = true;
		print_event(&s, &e, first);
	}
	if (*err)
		mw_complain(in, err);
	mw_source_report(&s, in);
	mw_source_close(&s);
	return mw_finish_output();
}
