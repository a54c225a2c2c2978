/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks_copy.c - see stacks_copy.h.
 *
 * The stacks are counted first, with the lock of stacks.h, and the memory is made without it: meanwhile
 * samples come in. So there is some room to spare, and samples beyond that wait for the next copy.
 */
#include "stacks_copy.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracker/table/callsite.h"
#include "tracker/table/closes.h"
#include "tracker/table/exported.h"
#include "tracker/table/labels.h"
#include "stack_frames.h"
#include "stacks_read.h"
#include "tracker/table/symtab.h"
#include "shared/sys/libc.h"

/* --- names of native frames ----------------------------------------------------------- */

/* "libruby.so(+0x1f2a)": what is known of a function without a symbol. */
static void offset_in(const struct link_map *map, uintptr_t address, struct mw_name *name)
{
	const char *file = mw_module_name(map->l_name), *slash = strrchr(file, '/');

	(void)snprintf(name->text, sizeof(name->text), "%.200s(+0x%llx)", slash ? slash + 1 : file,
		       (unsigned long long)(address + 1 - map->l_addr));
}

/* By what the library exports, or by the file's own symbols if `files` isn't NULL. */
static void name_in(const struct mw_object *o, uintptr_t address, struct mw_symtabs *files,
		    struct mw_name *name)
{
	uintptr_t at;

	if (!mw_exported(o, address, name, &at) && !(files && mw_symtab_find(files, o->map, address, name)))
		offset_in(o->map, address, name);
}

/*
 * Names the native frame of that key; `files`: not with the lock. The address is the one behind a call, which may
 * lie beyond the function's end.
 */
static void name_native(uint64_t key, struct mw_symtabs *files)
{
	uintptr_t address = (uintptr_t)(key & ~MW_FRAME_KIND) - 1;
	struct mw_frame_text t = { 0 };
	struct mw_name name;
	struct mw_object o;

	if (!mw_modules_stay())
		return;
	if (mw_object_of(address, &o)) {
		t.file = mw_module_name(o.map->l_name);
		t.file_len = strlen(t.file);
		name_in(&o, address, files, &name);
		t.name = name.text;
		t.name_len = strlen(t.name);
		if (mw_stacks_lock()) {
			mw_frame_name(key, &t);
			mw_stacks_unlock();
		}
	}
	mw_modules_may_go();
}

/* The keys of native frames without a name, in these bytes: the next one from *i on; 0: none. */
static uint64_t next_unnamed(uint32_t *i, uintptr_t start, uint64_t bytes)
{
	uint64_t key = 0;

	if (!mw_stacks_lock())
		return 0;
	for (; !key && *i < mw_frames_n(); ++*i) {
		const struct mw_stack_frame *f = mw_frame_at(*i);

		if ((f->key & MW_FRAME_KIND) == MW_FRAME_NATIVE && !f->dead && !f->file &&
		    (f->key & ~MW_FRAME_KIND) - start < bytes)
			key = f->key;
	}
	mw_stacks_unlock();
	return key;
}

static void name_all(uintptr_t start, uint64_t bytes, struct mw_symtabs *files)
{
	uint32_t i = 1;
	uint64_t key;

	if (!mw_get(&mw_stacks_figures.frames))
		return;
	while ((key = next_unnamed(&i, start, bytes)))
		name_native(key, files);
}

/* In a thread of the app, which reads no files for that. */
void mw_stacks_name_library(uintptr_t start, uint64_t bytes)
{
	name_all(start, bytes, NULL);
}

/* --- the copy ------------------------------------------------------------------------- */

enum { STACKS, FRAMES, CHAIN, TEXTS };

static bool is_valid(const struct mw_stack_sums *s)
{
	const struct mw_callsite *c = mw_callsite(s->id);

	return s->id && s->since == mw_get(&c->since) &&
	       __atomic_load_n(&c->kind, __ATOMIC_ACQUIRE) != MW_CS_FREE;
}

static uint32_t depth_of(uint32_t node)
{
	uint32_t n = 0;

	for (; node; n++)
		(void)mw_stack_node(node, &node);
	return n;
}

static bool is_label(const struct mw_stack_frame *f)
{
	return (f->key & MW_FRAME_KIND) == MW_FRAME_LABEL;
}

/* Counts what there is, and some more. With the lock. */
static void count_contents(size_t n[4])
{
	size_t len;

	n[STACKS] = mw_stacks_n() + 64;
	n[FRAMES] = mw_frames_n() + 256;
	n[CHAIN] = 16384;
	n[TEXTS] = 65536;
	for (uint32_t i = 1; i < mw_stacks_n(); i++)
		n[CHAIN] += depth_of(mw_stack_at(i)->node);
	for (uint32_t i = 1; i < mw_frames_n(); i++) {
		const struct mw_stack_frame *f = mw_frame_at(i);

		(void)mw_frame_text(f->name, &len);
		n[TEXTS] += len + 1 + (is_label(f) ? MW_LABEL_MOST : 0);
		(void)mw_frame_text(f->file, &len);
		n[TEXTS] += len + 1;
	}
}

struct copy {
	struct mw_stacks *to;
	size_t texts, stacks_room, frames_room, texts_room, chain_room;
	uint32_t *index; /* of a stack in `to`, plus 1, by its number; in the memory behind the stacks */
	uint32_t born_from, born_to; /* seconds */
};

static const char *copy_bytes(struct copy *c, const char *s, size_t n)
{
	char *to = c->to->texts + c->texts;

	if (!n || c->texts + n + 1 > c->texts_room)
		return "";
	memcpy(to, s, n);
	to[n] = '\0';
	c->texts += n + 1;
	return to;
}

static const char *copy_text(struct copy *c, uint32_t text)
{
	size_t n;
	const char *s = mw_frame_text(text, &n);

	return copy_bytes(c, s, n);
}

static const char *copy_label(struct copy *c, const struct mw_stack_frame *f)
{
	const char *s = mw_label_text((uint32_t)(f->key & ~MW_FRAME_KIND));

	return copy_bytes(c, s, strlen(s));
}

static void copy_frame(struct copy *c, uint32_t i)
{
	const struct mw_stack_frame *f = mw_frame_at(i);
	struct mw_stacked_frame *to = &c->to->frames[i];
	uint64_t kind = f->key & MW_FRAME_KIND;

	*to = (struct mw_stacked_frame){ .name = is_label(f) ? copy_label(c, f) : copy_text(c, f->name),
					 .file = copy_text(c, f->file),
					 .line = f->line,
					 .address = kind == MW_FRAME_NATIVE ? f->key & ~MW_FRAME_KIND : 0,
					 .kind = kind == MW_FRAME_RUBY ? MW_KIND_RUBY : MW_KIND_NATIVE };
}

static void copy_stack(struct copy *c, uint32_t i)
{
	const struct mw_stack_sums *s = mw_stack_at(i);
	struct mw_stacks *to = c->to;
	struct mw_stacked *v = &to->v[to->n];
	uint32_t node = s->node, depth = depth_of(node);

	if (!is_valid(s) || to->n >= c->stacks_room || to->n_chain + depth > c->chain_room)
		return;
	*v = (struct mw_stacked){
		.id = mw_callsite_shown(s->id),
		.first = (uint32_t)to->n_chain,
		.depth = depth,
		.bytes = s->bytes,
		.blocks = s->blocks,
		.ever = s->ever,
		.samples = s->samples,
		.objects = s->objects,
		.object_bytes = s->object_bytes,
		.object_samples = s->object_samples
	};
	while (node) {
		uint32_t frame = mw_stack_node(node, &node);

		if (frame >= to->n_frames) { /* it came after the frames were copied: none has */
			to->n_chain = v->first;
			return;
		}
		if (is_label(mw_frame_at(frame))) { /* the outermost one */
			v->label = frame;
			v->depth--;
			break;
		}
		to->chain[to->n_chain++] = frame;
	}
	c->index[i] = (uint32_t)++to->n;
}

static void copy_sample(struct copy *c, const struct mw_stack_sample *s)
{
	uint64_t size = mw_size_decode(s->size);
	double weight = mw_sample_weight(size, s->rate);
	struct mw_stacked *v;

	if (!s->ref || s->stack >= c->stacks_room || !c->index[s->stack] || !mw_stack_sample_lives(s))
		return;
	v = &c->to->v[c->index[s->stack] - 1];
	v->live_samples++;
	v->live_bytes += (double)size * weight;
	v->live_blocks += weight;
	if (s->born >= c->born_from && s->born < c->born_to) {
		v->born_samples++;
		v->born_bytes += (double)size * weight;
	}
}

/* With the lock. */
static void copy_all(struct copy *c)
{
	uint32_t frames = mw_frames_n() < c->frames_room ? mw_frames_n() : (uint32_t)c->frames_room;

	for (uint32_t i = 1; i < frames; i++)
		copy_frame(c, i);
	c->to->n_frames = frames;
	for (uint32_t i = 1; i < mw_stacks_n() && i < c->stacks_room; i++)
		copy_stack(c, i);
	for (uint32_t i = 1; i < mw_stack_samples_n(); i++)
		copy_sample(c, mw_stack_sample_at(i));
}

static bool make_copy_room(struct copy *c, const size_t n[4])
{
	struct mw_stacks *to = c->to;

	to->bytes[STACKS] = n[STACKS] * (sizeof(*to->v) + sizeof(*c->index));
	to->bytes[FRAMES] = n[FRAMES] * sizeof(*to->frames);
	to->bytes[CHAIN] = n[CHAIN] * sizeof(*to->chain);
	to->bytes[TEXTS] = n[TEXTS];
	to->v = mw_arena_lend(to->bytes[STACKS]);
	to->frames = mw_arena_lend(to->bytes[FRAMES]);
	to->chain = mw_arena_lend(to->bytes[CHAIN]);
	to->texts = mw_arena_lend(to->bytes[TEXTS]);
	c->index = (uint32_t *)(void *)(to->v + n[STACKS]);
	c->stacks_room = n[STACKS];
	c->frames_room = n[FRAMES];
	c->chain_room = n[CHAIN];
	c->texts_room = n[TEXTS];
	return to->v && to->frames && to->chain && to->texts;
}

static bool count_and_make(struct copy *c)
{
	size_t n[4];

	if (!mw_stacks_lock())
		return false;
	count_contents(n);
	mw_stacks_unlock();
	return make_copy_room(c, n);
}

struct mw_stacks *mw_stacks_copy(uint32_t from, uint32_t to)
{
	struct copy c = { .to = calloc(1, sizeof(*c.to)), .born_from = from, .born_to = to };
	struct mw_symtabs files = { 0 };

	if (!c.to)
		return NULL;
	name_all(0, (uint64_t)1 << 56, &files);
	mw_symtab_end(&files);
	if (!count_and_make(&c) || !mw_stacks_lock()) {
		mw_stacks_copy_free(c.to);
		return NULL;
	}
	c.texts = 1;
	copy_all(&c);
	mw_stacks_unlock();
	return c.to;
}

static void return_lent(void *p, size_t bytes)
{
	if (p)
		mw_arena_return(p, bytes);
}

void mw_stacks_copy_free(struct mw_stacks *s)
{
	if (!s)
		return;
	return_lent(s->v, s->bytes[STACKS]);
	return_lent(s->frames, s->bytes[FRAMES]);
	return_lent(s->chain, s->bytes[CHAIN]);
	return_lent(s->texts, s->bytes[TEXTS]);
	free(s);
}
