/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stack_frames.h"

#include <string.h>

static struct mw_rows frames = MW_ROWS(struct mw_stack_frame, MW_STACK_FRAMES_MAX);
static uint32_t link_key(uint32_t i), link_block(uint32_t i), link_text(uint32_t i);
static struct mw_heads by_key = { 1024, 16384, NULL, link_key };
static struct mw_heads by_block = { 1024, 4096, NULL, link_block };
static uint32_t deaths;

struct mw_stack_frame *mw_frame_at(uint32_t i)
{
	return mw_rows_at(&frames, i);
}

uint32_t mw_frames_n(void)
{
	return frames.n;
}

static uint32_t link_key(uint32_t i)
{
	struct mw_stack_frame *f = mw_frame_at(i);

	if (f->key & MW_FRAME_KIND) /* else it is given back */
		mw_push(mw_head(&by_key, mw_mix(f->key)), &f->next, i);
	return i + 1;
}

static uint32_t link_block(uint32_t i)
{
	struct mw_stack_frame *f = mw_frame_at(i);

	if ((f->key & MW_FRAME_KIND) && f->block)
		mw_push(mw_head(&by_block, mw_mix(f->block)), &f->in_block, i);
	return i + 1;
}

static struct mw_stack_frame *living(uint64_t key, uint32_t *i)
{
	uint32_t *head = mw_head(&by_key, mw_mix(key));

	for (*i = head ? *head : 0; *i; *i = mw_frame_at(*i)->next) {
		struct mw_stack_frame *f = mw_frame_at(*i);

		if (f->key == key && !f->dead)
			return f;
	}
	return NULL;
}

uint32_t mw_frame_take(uint64_t key)
{
	struct mw_stack_frame *f;
	uint32_t i, *head;

	if (living(key, &i))
		return i;
	head = mw_head(&by_key, mw_mix(key));
	i = head ? mw_rows_add(&frames) : 0;
	if (!i)
		return 0;
	f = mw_frame_at(i);
	f->key = key;
	f->next = *head;
	*head = i;
	mw_set(&mw_stacks_figures.frames, mw_get(&mw_stacks_figures.frames) + 1);
	return i;
}

bool mw_frame_waits(const struct mw_stack_frame *f)
{
	uint64_t kind = f->key & MW_FRAME_KIND;

	return !f->name && kind != MW_FRAME_NATIVE && kind != MW_FRAME_LABEL && f->key != MW_FRAME_METHOD;
}

bool mw_frame_lacks_text(uint64_t key)
{
	uint32_t i;
	const struct mw_stack_frame *f = living(key, &i);

	return f && mw_frame_waits(f);
}

void mw_frame_name(uint64_t key, const struct mw_frame_text *text)
{
	uint32_t i;

	if (living(key, &i))
		mw_frame_put(i, text);
}

/* --- texts ---------------------------------------------------------------------------- */

/* A text has its length before it, and a NUL behind. Equal texts are one. */
struct text {
	uint32_t next;
	uint32_t n;
	char bytes[];
};
enum { TEXT_CHUNK = MW_STACK_TEXTS_MAX / 64, TEXT_MOST = 1000 };
static char *text_chunks[64];
static uint32_t texts_end = 8; /* a text's number is its offset; 0 is none */
static uint32_t texts_n;
static struct mw_heads by_text = { 1024, 4096, NULL, link_text };

static struct text *text_at(uint32_t i)
{
	return (struct text *)(void *)(text_chunks[i / TEXT_CHUNK] + i % TEXT_CHUNK);
}

static uint32_t text_bytes(size_t n)
{
	return (uint32_t)((sizeof(struct text) + n + 1 + 7) & ~(size_t)7);
}

static uint32_t link_text(uint32_t i)
{
	struct text *t = text_at(i);

	if (!i)
		return 8;
	if (!t->n) /* the rest of this chunk is empty */
		return (i / TEXT_CHUNK + 1) * TEXT_CHUNK;
	mw_push(mw_head(&by_text, mw_text_hash(t->bytes, t->n)), &t->next, i);
	return i + text_bytes(t->n);
}

static uint32_t text_add(const char *s, size_t n, uint32_t next)
{
	uint32_t bytes = text_bytes(n), i = texts_end;
	struct text *t;

	if (i % TEXT_CHUNK + bytes > TEXT_CHUNK)
		i = (i / TEXT_CHUNK + 1) * TEXT_CHUNK;
	if (i >= MW_STACK_TEXTS_MAX)
		return 0;
	if (!text_chunks[i / TEXT_CHUNK])
		text_chunks[i / TEXT_CHUNK] = mw_arena_grow(TEXT_CHUNK, MW_ARENA_STACK);
	if (!text_chunks[i / TEXT_CHUNK])
		return 0;
	texts_end = i + bytes;
	texts_n++;
	t = text_at(i);
	t->next = next;
	t->n = (uint32_t)n;
	memcpy(t->bytes, s, n);
	return i;
}

/* 0: empty, or no room. */
static uint32_t text_take(const char *s, size_t n)
{
	uint32_t *head, i;

	if (!s || !n)
		return 0;
	n = n < TEXT_MOST ? n : TEXT_MOST;
	head = mw_head(&by_text, mw_text_hash(s, n));
	if (!head)
		return 0;
	for (i = *head; i; i = text_at(i)->next)
		if (text_at(i)->n == n && memcmp(text_at(i)->bytes, s, n) == 0)
			return i;
	i = text_add(s, n, *head);
	if (i)
		*head = i;
	return i;
}

const char *mw_frame_text(uint32_t i, size_t *n)
{
	const struct text *t;

	if (!i) {
		*n = 0;
		return "";
	}
	t = text_at(i);
	*n = t->n;
	return t->bytes;
}

void mw_frame_put(uint32_t i, const struct mw_frame_text *of)
{
	struct mw_stack_frame *f = mw_frame_at(i);
	uint32_t *head;

	f->name = text_take(of->name, of->name_len);
	f->file = text_take(of->file, of->file_len);
	f->line = of->line;
	head = of->block && !f->block ? mw_head(&by_block, mw_mix(of->block)) : NULL;
	if (!head)
		return;
	f->block = of->block;
	f->in_block = *head;
	*head = i;
}

void mw_frames_fit(void)
{
	mw_heads_fit(&by_key, mw_get(&mw_stacks_figures.frames), frames.n);
	mw_heads_fit(&by_block, mw_get(&mw_stacks_figures.frames), frames.n);
	mw_heads_fit(&by_text, texts_n, texts_end);
}

/* --- deaths --------------------------------------------------------------------------- */

static void die(struct mw_stack_frame *f)
{
	if (f->dead)
		return;
	f->dead = true;
	deaths++;
}

void mw_frames_die(uintptr_t start, uint64_t bytes, bool native)
{
	uint32_t *head, i;

	if (native) {
		for (i = 1; i < frames.n; i++) {
			struct mw_stack_frame *f = mw_frame_at(i);

			if ((f->key & MW_FRAME_KIND) == MW_FRAME_NATIVE &&
			    (f->key & ~MW_FRAME_KIND) - start < bytes)
				die(f);
		}
		return;
	}
	if (!by_block.first)
		return;
	head = mw_head(&by_block, mw_mix(start));
	for (i = *head; i; i = mw_frame_at(i)->in_block)
		if (mw_frame_at(i)->block == start)
			die(mw_frame_at(i));
}

void mw_frames_die_all(void)
{
	for (uint32_t i = 1; i < frames.n; i++)
		if ((mw_frame_at(i)->key & MW_FRAME_KIND) == MW_FRAME_RUBY)
			die(mw_frame_at(i));
}

uint32_t mw_frame_deaths(void)
{
	return deaths;
}

uint32_t mw_frames_sweep(void)
{
	uint32_t given = 0;

	mw_heads_clear(&by_key);
	mw_heads_clear(&by_block);
	for (uint32_t i = 1; i < frames.n; i++) {
		struct mw_stack_frame *f = mw_frame_at(i);

		if (!(f->key & MW_FRAME_KIND)) /* it is given back already */
			continue;
		if (!f->used) {
			mw_rows_give(&frames, i);
			given++;
			continue;
		}
		f->used = false;
		(void)link_key(i);
		(void)link_block(i);
	}
	mw_set(&mw_stacks_figures.frames, mw_get(&mw_stacks_figures.frames) - given);
	return given;
}
