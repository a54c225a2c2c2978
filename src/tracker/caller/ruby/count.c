/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * count.c - finds GC.count by its values, where the code of rb_gc_count() isn't understood (find.c).
 *
 * Ruby's object space has the number of collections in one word. Near it, two neighbours hold those
 * of minor and of major ones: their sum is the same number. Words that agree at STEPS different
 * counts are those, and not others by chance. Then the count is read where it is. It is compared with
 * rb_gc_count() now and then, as any count that is read (mw_ruby_check).
 *
 * rb_gc_get_objspace() gives the object space from 3.4 on. Before, the VM's structure leads to it,
 * and the thread's to the VM. All of these are blocks that the tracker saw: an address is followed
 * only if it is a live block's, and a block is read only up to its end. From 4.1 on the first thread
 * and the VM are variables of Ruby's own. The object space's block lives as
 * long as the VM. A thread with the GVL looks, outside GC: no Ruby code frees any of them meanwhile.
 */
#include "look.h"
#include "safe_read.h"
#include "state.h"
#include "tracker/table/generation.h"

enum {
	WORD = sizeof(uintptr_t),
	SET = 8192,       /* addresses that may be blocks': half of them are used at most */
	BLOCKS = 512,
	BLOCK_MOST = 32768, /* bytes; larger blocks aren't read */
	VARIABLE_MOST = 4096, /* bytes of a variable that are read */
	NEAR = 32,        /* words from the two to the third */
	CANDIDATES = 16,
	STEPS = 8,        /* counts at which a candidate must have been right */
	COUNT_LEAST = 4,  /* smaller numbers are everywhere */
	SEARCHES = 8
};

struct block {
	const uintptr_t *words;
	uint32_t n, record; /* record 0: a variable of Ruby's */
	uint64_t where; /* the record's, while the block is live */
};

/* Memory of a search, for its time. */
struct search {
	uintptr_t set[SET]; /* hashed; 0: none */
	uint32_t in_set, n;
	struct block blocks[BLOCKS];
};

struct candidate {
	const uintptr_t *count, *pair;
	uint32_t record;
	uint64_t where;
};

/* Under `busy`. */
static struct candidate candidates[CANDIDATES];
static uint32_t n_candidates, steps, searches;
static uint32_t seen; /* count at the last look */
static uint32_t next_search = COUNT_LEAST; /* not before that count */
static uint32_t busy; /* Ractors have a GVL each */

static uintptr_t *place_in_set(struct search *s, uintptr_t at)
{
	size_t i = (at >> 4) * 0x9e3779b1u % SET;

	while (s->set[i] && s->set[i] != at)
		i = (i + 1) % SET;
	return &s->set[i];
}

static void add_word(struct search *s, uintptr_t word)
{
	uintptr_t *p;

	if (!mw_pointer_like(word) || word % 16 || s->in_set >= SET / 2)
		return;
	p = place_in_set(s, word);
	s->in_set += !*p;
	*p = word;
}

static bool is_live(uint32_t record, uint64_t where)
{
	return __atomic_load_n(&mw_record_at(record)->where, __ATOMIC_ACQUIRE) == where;
}

/* Finds the live blocks whose addresses are in the set. */
static void find_blocks(struct search *s)
{
	uint32_t end = mw_records_end();

	s->n = 0;
	for (uint32_t i = MW_BATCH; i < end && s->n < BLOCKS; i++) {
		const struct mw_record *r = mw_record_at(i);
		uint64_t where = __atomic_load_n(&r->where, __ATOMIC_ACQUIRE), size;
		uintptr_t at = mw_record_block(where) & ~(uintptr_t)15;

		if (!mw_record_live(where) || *place_in_set(s, at) != at)
			continue;
		size = mw_get(&r->size);
		__atomic_thread_fence(__ATOMIC_ACQUIRE); /* the size before `where` is seen again */
		/* a block that was freed past the tracker has its record still */
		if (size >= WORD && size <= BLOCK_MOST && is_live(i, where) && mw_readable(at, size))
			s->blocks[s->n++] =
				(struct block){ (const uintptr_t *)at, (uint32_t)size / WORD, i, where };
	}
}

/* Finds those of Ruby's variables whose addresses are in the set. */
static void find_variables(struct search *s)
{
	for (uint32_t i = 0; i < SET && s->n < BLOCKS; i++) {
		uintptr_t at = s->set[i], room = mw_ruby_variables.end - at;
		uintptr_t bytes = room < VARIABLE_MOST ? room : VARIABLE_MOST;

		if (at >= mw_ruby_variables.from && at < mw_ruby_variables.end && mw_readable(at, bytes))
			s->blocks[s->n++] = (struct block){ .words = (const uintptr_t *)at,
							    .n = (uint32_t)(bytes / WORD) };
	}
}

/* Adds what the blocks found so far lead to. */
static void follow_blocks(struct search *s)
{
	for (uint32_t b = 0; b < s->n; b++)
		for (uint32_t i = 0; i < s->blocks[b].n; i++)
			add_word(s, s->blocks[b].words[i]);
}

static bool is_pair(const uintptr_t *w, uint32_t count)
{
	return mw_ruby_adds_up(w[0], w[1], count);
}

/* False: too many candidates. */
static bool look_in(const struct block *b, uint32_t count)
{
	for (uint32_t i = 0; i + 1 < b->n; i++) {
		uint32_t from = i > NEAR ? i - NEAR : 0, to = i + NEAR < b->n ? i + NEAR : b->n;

		if (!is_pair(&b->words[i], count))
			continue;
		for (uint32_t k = from; k < to; k++) {
			if (b->words[k] != count)
				continue;
			if (n_candidates == CANDIDATES)
				return false;
			candidates[n_candidates++] =
				(struct candidate){ &b->words[k], &b->words[i], b->record, b->where };
		}
	}
	return true;
}

static void find_candidates(uint32_t count)
{
	enum {
		DATA = 2 * WORD,
		DATA_END = 6 * WORD
	}; /* of the thread's object: it leads to its structure */
	struct search *s = mw_arena_lend(sizeof(*s));
	unsigned follows = 0;
	uintptr_t word;

	searches++;
	next_search = count * 2;
	if (!s)
		return;
	if (mw_rb.rb_gc_get_objspace) {
		add_word(s, (uintptr_t)mw_rb.rb_gc_get_objspace());
	} else {
		for (uint32_t at = DATA; at < DATA_END; at += WORD)
			if (mw_peek(mw_rb.rb_thread_current() + at, &word))
				add_word(s, word);
		follows = 2; /* thread, VM, object space */
	}
	find_blocks(s);
	while (follows--) {
		find_variables(s);
		follow_blocks(s);
		find_blocks(s);
	}
	for (uint32_t b = 0; b < s->n; b++)
		if (!look_in(&s->blocks[b], count)) {
			n_candidates = 0;
			break;
		}
	steps = 1;
	mw_arena_return(s, sizeof(*s));
}

/* Drops those that aren't right at this count. */
static void sift_candidates(uint32_t count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_candidates; i++) {
		const struct candidate *c = &candidates[i];

		if (is_live(c->record, c->where) && *c->count == count && is_pair(c->pair, count))
			candidates[n++] = *c;
	}
	n_candidates = n;
	steps++;
}

static void look_at_count(void)
{
	uint32_t count = (uint32_t)mw_rb.rb_gc_count();

	if (count == seen)
		return;
	seen = count;
	if (n_candidates)
		sift_candidates(count);
	else if (searches < SEARCHES && count >= next_search)
		find_candidates(count);
	if (n_candidates && steps == STEPS) {
		mw_ruby_use_count((const uint32_t *)candidates[0].count);
		searches = SEARCHES; /* if it turns out to be wrong, Ruby is asked for good */
		n_candidates = 0;
	}
}

void mw_ruby_look_for_count(void)
{
	if (!mw_get(&mw_clock.asked) || __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return;
	look_at_count();
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}
