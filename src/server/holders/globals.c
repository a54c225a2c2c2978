/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "globals.h"

#include <string.h>

/* Of Ruby's own, and of its library English, which has other names for $!, $~ and so on. Ascending. */
static const char *const own[] = {
	"ARGV",
	"CHILD_STATUS",
	"DEBUG",
	"DEFAULT_INPUT",
	"DEFAULT_OUTPUT",
	"ERROR_INFO",
	"ERROR_POSITION",
	"FIELD_SEPARATOR",
	"FILENAME",
	"FS",
	"INPUT_LINE_NUMBER",
	"INPUT_RECORD_SEPARATOR",
	"KCODE",
	"LAST_MATCH_INFO",
	"LAST_PAREN_MATCH",
	"LAST_READ_LINE",
	"LOADED_FEATURES",
	"LOAD_PATH",
	"MATCH",
	"NR",
	"OFS",
	"ORS",
	"OUTPUT_FIELD_SEPARATOR",
	"OUTPUT_RECORD_SEPARATOR",
	"PID",
	"POSTMATCH",
	"PREMATCH",
	"PROCESS_ID",
	"PROGRAM_NAME",
	"RS",
	"SAFE",
	"VERBOSE",
};

static bool is_own(const char *name)
{
	/* $_, $1, $-w, $! */
	if (name[0] != '$' || !((name[1] | 32) >= 'a' && (name[1] | 32) <= 'z'))
		return true;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strcmp(name + 1, own[i]))
			return true;
	return false;
}

static mw_ruby_value read_all(mw_ruby_value arg)
{
	const struct mw_walk_ruby *rb = &mw_walk_ruby;
	struct mw_globals *g = (struct mw_globals *)arg;
	mw_ruby_value names = rb->rb_f_global_variables(),
		      nil = rb->rb_ary_entry(names, -1 - MW_GLOBALS * 8L);

	for (long i = 0; g->n < MW_GLOBALS; i++) {
		mw_ruby_value symbol = rb->rb_ary_entry(names, i);
		const char *name;
		uintptr_t id;

		if (symbol == nil)
			break;
		id = rb->rb_sym2id(symbol);
		name = rb->rb_id2name(id);
		if (!name || is_own(name))
			continue;
		g->v[g->n].id = id;
		g->v[g->n++].value = rb->rb_gv_get(name);
	}
	/* the end of its buffer, which Ruby never wrote, has old words that could seem to hold blocks */
	rb->rb_ary_clear(names);
	return nil;
}

void mw_globals_read(struct mw_globals *g)
{
	const struct mw_walk_ruby *rb = &mw_walk_ruby;

	g->n = 0;
	if (rb->rb_f_global_variables && rb->rb_ary_entry && rb->rb_ary_clear && rb->rb_sym2id &&
	    rb->rb_id2name && rb->rb_gv_get)
		mw_walk_ruby_try(read_all, (mw_ruby_value)g);
}

const char *mw_global_name(const struct mw_globals *g, mw_ruby_value value)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->v[i].value == value)
			return mw_walk_ruby.rb_id2name(g->v[i].id);
	return NULL;
}
