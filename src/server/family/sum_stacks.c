/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sum_stacks.c - the sampled stacks of several processes as one's. See family.h.
 *
 * Frames are the same if their kind, texts and line are, and stacks if their frames and their
 * location's row in the sum are. Addresses differ from process to process, and don't travel.
 *
 * A forked child's stacks include what its parent allocated before the fork, which counts in the
 * parent only. How much of a location that is, the row's baseline says; of a single stack, nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "shared/text/intern.h"
#include "family.h"

struct merging {
	struct mw_stacks *to;
	struct mw_intern frames; /* kind, line, then name and file, each with a NUL; the first one is no label */
	struct mw_intern stacks; /* row, label, then frames: uint32_t each */
	struct mw_buf key;
	uint32_t *numbers; /* of one process's frames, in the sum */
};

static void add_samples(uint32_t *to, uint32_t n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = UINT32_MAX;
}

static uint32_t add_frame(struct merging *m, const struct mw_stacked_frame *f)
{
	uint32_t head[2] = { f->kind, f->line }, known = m->frames.n, id;

	m->key.n = 0;
	mw_buf_add(&m->key, head, sizeof(head));
	mw_buf_add(&m->key, f->name, strlen(f->name) + 1);
	mw_buf_add(&m->key, f->file, strlen(f->file) + 1);
	m->frames.failed |= m->key.failed;
	id = mw_intern(&m->frames, m->key.p, m->key.n);
	if (m->frames.n > known)
		m->to->frames[id] = *f;
	return id;
}

/* The part of a row's total that this process counts. */
static double own_part(const struct mw_part *p, const struct mw_row *r)
{
	uint64_t before = r->fork_baseline.total;

	if (!p->inherits || !r->total)
		return 1;
	return r->total > before ? (double)(r->total - before) / (double)r->total : 0;
}

static void merge_stack(struct merging *m, const struct mw_part *p, const struct mw_stacked *s)
{
	const struct mw_wire *w = p->wire;
	uint32_t row = w->rows[s->id].id, known = m->stacks.n, id;
	uint32_t head[2] = { row, s->label ? m->numbers[s->label - 1] : 0 };
	double own = own_part(p, &w->rows[s->id]);
	const uint32_t *frames = w->chain + s->first;
	struct mw_stacked *to;

	m->key.n = 0;
	mw_buf_add(&m->key, head, sizeof(head));
	for (uint32_t i = 0; i < s->depth; i++)
		mw_buf_add(&m->key, &m->numbers[frames[i]], sizeof(*m->numbers));
	m->stacks.failed |= m->key.failed;
	id = mw_intern(&m->stacks, m->key.p, m->key.n);
	if (m->stacks.failed)
		return;
	to = &m->to->v[id];
	if (m->stacks.n > known) {
		*to = (struct mw_stacked){
			.id = row, .first = (uint32_t)m->to->n_chain, .depth = s->depth, .label = head[1]
		};
		for (uint32_t i = 0; i < s->depth; i++)
			m->to->chain[m->to->n_chain++] = m->numbers[frames[i]];
	}
	to->bytes += s->bytes * own;
	to->blocks += s->blocks * own;
	to->live_bytes += s->live_bytes;
	to->live_blocks += s->live_blocks;
	to->born_bytes += s->born_bytes;
	to->ever += s->bytes + s->live_bytes + 1;
	add_samples(&to->samples, own > 0 ? s->samples : 0);
	add_samples(&to->live_samples, s->live_samples);
	add_samples(&to->born_samples, s->born_samples);
	to->objects += s->objects;
	to->object_bytes += s->object_bytes;
	add_samples(&to->object_samples, s->object_samples);
}

static void add_process(struct merging *m, const struct mw_part *p)
{
	const struct mw_wire *w = p->wire;

	for (size_t i = 0; i < w->frames_n && !m->frames.failed; i++)
		m->numbers[i] = add_frame(m, &w->frames[i]);
	for (size_t i = 0; i < w->stacks_n && !m->frames.failed && !m->stacks.failed; i++)
		merge_stack(m, p, &w->stacks[i]);
	if (w->stats.stacks_rate > m->to->rate)
		m->to->rate = w->stats.stacks_rate;
}

static bool make_merging_room(struct merging *m, const struct mw_part *p, size_t n)
{
	size_t frames = 1, stacks = 1, chain = 1, most = 1;

	for (size_t i = 0; i < n; i++) {
		const struct mw_wire *w = p[i].wire;

		frames += w->frames_n;
		stacks += w->stacks_n;
		chain += w->chain_n;
		most = w->frames_n > most ? w->frames_n : most;
	}
	m->numbers = calloc(most, sizeof(*m->numbers));
	m->to = chain < UINT32_MAX ? calloc(1, sizeof(*m->to)) : NULL;
	if (!m->to || !m->numbers)
		return false;
	m->to->v = calloc(stacks, sizeof(*m->to->v));
	m->to->frames = calloc(frames, sizeof(*m->to->frames));
	m->to->chain = calloc(chain, sizeof(*m->to->chain));
	return m->to->v && m->to->frames && m->to->chain;
}

void mw_sum_stacks_free(struct mw_stacks *s)
{
	if (!s)
		return;
	free(s->v);
	free(s->frames);
	free(s->chain);
	free(s);
}

struct mw_stacks *mw_sum_stacks(const struct mw_part *p, size_t n)
{
	struct merging m = { 0 };
	bool ok = make_merging_room(&m, p, n);

	if (ok) /* number 0 is no label */
		add_frame(&m,
			  &(struct mw_stacked_frame){ .name = "", .file = "", .kind = MW_KIND_SPECIAL });
	for (size_t i = 0; ok && i < n; i++)
		add_process(&m, &p[i]);
	ok = ok && !m.frames.failed && !m.stacks.failed;
	if (ok) {
		m.to->n = m.stacks.n;
		m.to->n_frames = m.frames.n;
	} else {
		mw_sum_stacks_free(m.to);
	}
	mw_intern_free(&m.frames);
	mw_intern_free(&m.stacks);
	mw_buf_free(&m.key);
	free(m.numbers);
	return ok ? m.to : NULL;
}
