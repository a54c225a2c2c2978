/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile_make.c - a profile out of the tracker's sampled stacks and its table. See profile.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile.h"
#include "row_index.h"

/* A frame may lack its name: it was never seen where Ruby could be asked. */
static const char *name_of_frame(const struct mw_stacked_frame *f)
{
	if (*f->name)
		return f->name;
	return f->kind == MW_KIND_RUBY ? "(no name)" : f->address ? "(native code)" : "(C function)";
}

static char *keep_plain_text(struct mw_profile *p, const char *text)
{
	size_t n = strlen(text) + 1;
	char *to = mw_profile_keep(p, n);

	return to ? memcpy(to, text, n) : NULL;
}

static bool frames_make(struct mw_profile *p, const struct mw_stacks *s)
{
	p->frames = calloc(s->n_frames + 1, sizeof(*p->frames));
	if (!p->frames)
		return false;
	p->n_frames = s->n_frames;
	for (size_t i = 0; i < s->n_frames; i++) {
		const struct mw_stacked_frame *f = &s->frames[i];
		struct mw_profile_frame *to = &p->frames[i];

		if (!f->name) { /* number 0: no frame */
			*to = (struct mw_profile_frame){
				.name = "(none)", .file = "", .kind = MW_KIND_SPECIAL
			};
			continue;
		}
		to->name = keep_plain_text(p, name_of_frame(f));
		to->file = keep_plain_text(p, f->file);
		to->line = f->line;
		to->address = f->address;
		to->kind = f->kind;
		if (!to->name || !to->file)
			return false;
	}
	return true;
}

/* NULL: no memory. *n: how many. */
static struct mw_profile_sampled *sampled_make(struct mw_profile *p, const struct mw_stacks *s,
					       const struct mw_row_index *ids, size_t *n)
{
	struct mw_profile_sampled *v = calloc(s->n + 1, sizeof(*v));
	uint32_t *chain = mw_profile_keep(p, (s->n_chain + 1) * sizeof(*chain));

	*n = 0;
	if (!v || !chain) {
		free(v);
		return NULL;
	}
	if (s->n_chain)
		memcpy(chain, s->chain, s->n_chain * sizeof(*chain));
	for (size_t i = 0; i < s->n; i++) {
		const struct mw_stacked *k = &s->v[i];

		if (!mw_row_by_id(ids, k->id) || !(k->ever > 0 || k->objects > 0))
			continue;
		v[(*n)++] = (struct mw_profile_sampled){
			.frames = chain + k->first,
			.depth = k->depth,
			.row = mw_row_by_id(ids, k->id) - 1,
			.label = k->label,
			.bytes = { [MW_BY_LIVE] = k->live_bytes, [MW_BY_TOTAL] = k->bytes, [MW_BY_OBJECTS] = k->object_bytes },
			.blocks = { [MW_BY_LIVE] = k->live_blocks, [MW_BY_TOTAL] = k->blocks, [MW_BY_OBJECTS] = k->objects },
			.born = k->born_bytes,
			.ever = k->ever,
			.samples = { [MW_BY_LIVE] = k->live_samples,
				     [MW_BY_TOTAL] = k->samples,
				     [MW_BY_OBJECTS] = k->object_samples },
			.born_samples = k->born_samples,
		};
	}
	return v;
}

bool mw_profile_fill(struct mw_profile *p, const struct mw_stacks *s, bool raw)
{
	struct mw_profile_sampled *v = NULL;
	struct mw_row_index ids = { 0 };
	size_t n = 0;
	bool ok;

	p->rate = s->rate;
	ok = mw_row_index_make(&ids, p->snapshot) && frames_make(p, s) &&
	     (v = sampled_make(p, s, &ids, &n));
	ok = ok && (raw ? mw_profile_estimate(p, v, n) : mw_profile_calibrate(p, v, n));
	free(v);
	mw_row_index_free(&ids);
	return ok;
}

/* A snapshot of one row. NULL: no memory. */
static struct mw_snapshot *keep_row(struct mw_profile *p, const struct mw_row *r)
{
	struct mw_snapshot *s = mw_profile_keep(p, sizeof(*s));
	struct mw_row *row = mw_profile_keep(p, sizeof(*row));

	if (!s || !row)
		return NULL;
	*row = *r;
	*s = (struct mw_snapshot){ .n = 1, .rows = row };
	return s;
}

/* The program of this process, which answers. Without it pprof names a profile after some library. */
static void name_program(struct mw_profile *p)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	p->program = keep_plain_text(p, path);
}

bool mw_profile_make(struct mw_profile *p, const struct mw_api *api, const struct mw_profile_how *how)
{
	struct mw_stacks *s;
	bool ok;

	*p = (struct mw_profile){ .one_row = how->row, .ranged = how->ranged };
	/* first: a sample's allocation is in the table then */
	s = api->stacks(how->ranged ? how->from : 0, how->ranged ? how->to : 0);
	p->snapshot = how->row ? keep_row(p, how->row) : api->snapshot();
	ok = s && p->snapshot && (!how->set_growth || how->set_growth(p->snapshot, how->ctx));
	ok = ok && mw_profile_fill(p, s, how->raw);
	name_program(p);
	if (s)
		api->stacks_free(s);
	if (!ok)
		mw_profile_free(p, api);
	return ok;
}
