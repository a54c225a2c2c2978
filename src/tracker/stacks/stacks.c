/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks.h"

#include "tracker/table/callsite.h"
#include "stack_frames.h"
#include "stacks_rows.h"
#include "shared/sys/clock.h"
#include "shared/sys/mw_assert.h"
#include "shared/sys/ranks.h"
#include "tracker/base/wait.h"

struct mw_stacks_figures mw_stacks_figures;

struct mw_rows mw_node_rows = MW_ROWS(struct mw_node, MW_STACK_NODES_MAX);
struct mw_rows mw_stack_rows = MW_ROWS(struct mw_stack_sums, MW_STACKS_MAX);
struct mw_rows mw_sample_rows = MW_ROWS(struct mw_stack_sample, MW_SAMPLES_MAX);
static uint32_t free_sample; /* the first of those that are free, by `next` */

/* --- the lock ------------------------------------------------------------------------- */

#define LOCK_WAITS_NS UINT64_C(2000000000)

static uint32_t lock;     /* 1: taken. Acquire to take, release to leave */
static uint32_t unsure; /* records that became code's meanwhile: no sample is certain then. Relaxed */

/*
 * Code that died while another thread had the lock: starts of instructions, 0: none. Compare-and-swap with
 * release, before the block is freed; exchanged with acquire, before its successor's frames are found.
 */
enum { DIED = 256, PROBES = 16 };
static uintptr_t died[DIED];
static uint32_t some_died; /* one of these is set. Release, after it; acquire */
static uint32_t all_died;  /* there was no room: all Ruby code counts as dead. Release; acquire */
static uint32_t natives_died; /* so does all native code. Release; acquire */

static void catch_up(void)
{
	if (mw_get(&some_died) && __atomic_exchange_n(&some_died, 0, __ATOMIC_ACQUIRE))
		for (uint32_t i = 0; i < DIED; i++) {
			uintptr_t start = mw_get(&died[i]);

			if (start && (start = __atomic_exchange_n(&died[i], 0, __ATOMIC_ACQUIRE)))
				mw_frames_die(start, 0, false);
		}
	if (mw_get(&all_died) && __atomic_exchange_n(&all_died, 0, __ATOMIC_ACQUIRE))
		mw_frames_die_all();
	if (mw_get(&natives_died) && __atomic_exchange_n(&natives_died, 0, __ATOMIC_ACQUIRE))
		mw_frames_die(0, UINT64_MAX, true);
}

/* For the next thread that gets the lock. */
static void died_meanwhile(uintptr_t start)
{
	uint32_t at = (uint32_t)(mw_mix(start) % DIED);

	for (uint32_t i = 0; i < PROBES; i++) {
		uintptr_t *slot = &died[(at + i) % DIED], none = 0;

		if (__atomic_compare_exchange_n(slot, &none, start, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED) ||
		    none == start) {
			__atomic_store_n(&some_died, 1, __ATOMIC_RELEASE);
			return;
		}
	}
	__atomic_store_n(&all_died, 1, __ATOMIC_RELEASE);
}

bool mw_stacks_try(void)
{
	if (mw_get(&lock) || __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		return false;
	mw_rank_took(MW_RANK_STACKS);
	catch_up();
	return true;
}

bool mw_stacks_lock_until(uint64_t until)
{
	unsigned turns = 0;

	mw_rank_wait(MW_RANK_STACKS);
	while (!mw_stacks_try()) {
		if (mw_is_past(until))
			return false;
		mw_let_run(&turns);
	}
	return true;
}

/*
 * A thread can leave a sample by longjmp out of a signal handler, as Ruby's does when a stack
 * overflows. The lock is never free then: the first thread that gives up waiting says so to the others.
 */
bool mw_stacks_lock(void)
{
	static bool stuck; /* relaxed */
	bool got = mw_stacks_lock_until(mw_now_ns() + (mw_get(&stuck) ? 1000000 : LOCK_WAITS_NS));

	mw_set(&stuck, !got);
	return got;
}

void mw_stacks_unlock(void)
{
	mw_assert(mw_get(&lock));
	mw_rank_left(MW_RANK_STACKS);
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

void mw_stacks_after_fork(bool held)
{
	/* another thread may have been between two steps: a frame without its block's list, at most */
	if (!held && mw_get(&lock))
		mw_set(&all_died, 1);
	if (held)
		mw_rank_left(MW_RANK_STACKS);
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* --- the tree ------------------------------------------------------------------------- */

/* The child of `parent` for that frame, added if it is missing; 0: no room. */
static uint32_t node_take(uint32_t parent, uint32_t frame)
{
	uint32_t *head = mw_head(&mw_nodes_of, mw_node_hash(parent, frame)), i;

	for (i = head ? *head : 0; i; i = mw_node_at(i)->next)
		if (mw_node_at(i)->parent == parent && mw_node_at(i)->frame == frame)
			return i;
	i = head ? mw_rows_add(&mw_node_rows) : 0;
	if (!i)
		return 0;
	mw_assert(i != parent && i <= MW_NODE_MASK && frame <= MW_FRAME_MASK); /* they fit into their bits */
	*mw_node_at(i) = (struct mw_node){
		.next = *head & MW_NODE_MASK, .parent = parent & MW_NODE_MASK, .frame = frame & MW_FRAME_MASK
	};
	*head = i;
	COUNT(nodes, 1);
	return i;
}

/* The innermost node of the walk's frames; 0: no room. */
static uint32_t nodes_take(const struct mw_walk *w, bool *lacks_text)
{
	uint32_t node = 0, i = w->n;

	*lacks_text = false;
	while (i-- > 0) {
		uint32_t frame = mw_frame_take(w->key[i]);

		node = frame ? node_take(node, frame) : 0;
		if (!node)
			return 0;
		*lacks_text |= mw_frame_waits(mw_frame_at(frame));
	}
	return node;
}

uint32_t mw_stack_node(uint32_t node, uint32_t *parent)
{
	*parent = mw_node_at(node)->parent;
	return mw_node_at(node)->frame;
}

bool mw_some_frame_died(uint32_t node)
{
	for (; node; node = mw_node_at(node)->parent)
		if (mw_frame_at(mw_node_at(node)->frame)->dead)
			return true;
	return false;
}

/* --- stacks --------------------------------------------------------------------------- */

uint32_t mw_stacks_n(void)
{
	return mw_stack_rows.n;
}

struct mw_stack_sums *mw_stack_at(uint32_t i)
{
	return mw_rows_at(&mw_stack_rows, i);
}

static uint64_t hash_of(const struct mw_walk *w, uint32_t id)
{
	uint64_t h = id;

	for (uint32_t i = 0; i < w->n; i++)
		h = mw_mix(h ^ w->key[i]) + i;
	return h;
}

/* Is the stack, found by its hash, still one of the same code and the same location? */
static bool still_is(struct mw_stack_sums *s)
{
	if (s->dead || s->since != mw_get(&mw_callsite(s->id)->since))
		return false;
	if (s->deaths == mw_frame_deaths())
		return true;
	if (mw_some_frame_died(s->node)) {
		s->dead = true; /* it is asked no more */
		return false;
	}
	s->deaths = mw_frame_deaths();
	return true;
}

/* The stack of a node at a location; 0: no room. */
uint32_t mw_stack_add(uint64_t hash, uint32_t *head, uint32_t id, uint32_t node)
{
	uint32_t i = mw_rows_add(&mw_stack_rows);
	struct mw_stack_sums *s;

	mw_assert(mw_get(&lock) && id && id < mw_callsites_end());
	if (!i)
		return 0;
	s = mw_stack_at(i);
	*s = (struct mw_stack_sums){ .hash = hash,
				     .id = id,
				     .since = mw_get(&mw_callsite(id)->since),
				     .node = node,
				     .deaths = mw_frame_deaths(),
				     .next = *head };
	*head = i;
	COUNT(stacks, 1);
	return i;
}

uint32_t mw_stack_known(uint64_t hash, uint32_t first)
{
	for (uint32_t i = first; i; i = mw_stack_at(i)->next)
		if (mw_stack_at(i)->hash == hash && still_is(mw_stack_at(i)))
			return i;
	return 0;
}

uint32_t mw_stack_take(const struct mw_walk *w, uint32_t id)
{
	uint64_t hash = hash_of(w, id), alone = mw_mix(id);
	uint32_t *head = mw_head(&mw_stacks_of, hash), i, node;
	bool lacks_text;

	if (!head)
		return 0;
	i = mw_stack_known(hash, *head);
	if (i)
		return i;
	node = nodes_take(w, &lacks_text);
	i = node ? mw_stack_add(hash, head, id, node) : 0;
	if (!i && w->n && mw_stacks_make_room()) {
		node = nodes_take(w, &lacks_text);
		i = node ? mw_stack_add(hash, head, id, node) : 0;
	}
	if (i) {
		mw_stack_at(i)->lacks_text = lacks_text;
		return i;
	}
	COUNT(folded, w->n > 0);
	head = mw_head(&mw_stacks_of, alone);
	i = mw_stack_known(alone, *head);
	return i ? i : mw_stack_add(alone, head, id, 0);
}

/* --- samples -------------------------------------------------------------------------- */

uint32_t mw_stack_samples_n(void)
{
	return mw_sample_rows.n;
}

struct mw_stack_sample *mw_stack_sample_at(uint32_t i)
{
	return mw_rows_at(&mw_sample_rows, i);
}

bool mw_stack_sample_lives(const struct mw_stack_sample *s)
{
	const struct mw_record *r = mw_record_at(mw_ref_index(s->ref));

	return __atomic_load_n(&r->where, __ATOMIC_ACQUIRE) == s->where && mw_get(&r->size) == s->size &&
	       mw_get(&r->generation) == s->generation;
}

/*
 * A bit for each sampled record, by a hash: most records' bits are clear, and ask for no lock. Never
 * cleared. Relaxed: a record's own thread set it, or one that it has synchronised with.
 */
static uint64_t sampled[1024];

static uint64_t *sampled_word(uint32_t ref, uint64_t *bit)
{
	uint64_t h = mw_mix(ref);

	*bit = (uint64_t)1 << (h & 63);
	return &sampled[h >> 6 & 1023];
}

static bool may_be_sampled(uint32_t ref)
{
	uint64_t bit;

	return mw_get(sampled_word(ref, &bit)) & bit;
}

static struct mw_stack_sample *sample_of(uint32_t ref)
{
	uint32_t *head = mw_head(&mw_samples_of, mw_mix(ref));

	mw_assert(mw_get(&lock));
	for (uint32_t i = head ? *head : 0; i; i = mw_stack_sample_at(i)->next)
		if (mw_stack_sample_at(i)->ref == ref)
			return mw_stack_sample_at(i);
	return NULL;
}

/* Frees the samples of blocks that died. */
void mw_samples_bury(void)
{
	mw_assert(mw_get(&lock));
	for (uint32_t h = 0; h < mw_samples_of.n; h++) {
		uint32_t *link = &mw_samples_of.first[h];

		while (*link) {
			struct mw_stack_sample *s = mw_stack_sample_at(*link);
			uint32_t i = *link;

			if (mw_stack_sample_lives(s)) {
				link = &s->next;
				continue;
			}
			*link = s->next;
			s->ref = 0;
			s->next = free_sample;
			free_sample = i;
			COUNT(live, (uint32_t)-1);
		}
	}
}

enum { REFUSALS = 4096 }; /* samples without room until one looks again whether some died */

/* A free one; NULL: no room. */
static struct mw_stack_sample *sample_add(uint32_t ref)
{
	static uint32_t bury_at = 1024, refused;
	uint32_t *head = mw_head(&mw_samples_of, mw_mix(ref)), i;
	uint64_t *word, bit;

	if (!head)
		return NULL;
	if (!free_sample && (mw_sample_rows.n >= bury_at || refused >= REFUSALS)) {
		mw_samples_bury();
		bury_at = mw_stacks_figures.live * 2 > mw_sample_rows.n ?
				  mw_sample_rows.n + mw_sample_rows.n / 2 :
				  mw_sample_rows.n;
		refused = 0;
	}
	i = free_sample;
	if (i)
		free_sample = mw_stack_sample_at(i)->next;
	else
		i = mw_rows_add(&mw_sample_rows);
	if (!i) {
		refused++;
		return NULL;
	}
	*mw_stack_sample_at(i) = (struct mw_stack_sample){ .ref = ref, .next = *head };
	*head = i;
	word = sampled_word(ref, &bit);
	mw_set(word, mw_get(word) | bit);
	COUNT(live, 1);
	return mw_stack_sample_at(i);
}

static void sample_keep(uint32_t stack, const struct mw_sample_of *of)
{
	const struct mw_record *r = mw_record_at(mw_ref_index(of->ref));
	struct mw_stack_sample *s = sample_of(of->ref);

	if (!s)
		s = sample_add(of->ref);
	if (!s) {
		mw_add(&mw_stacks_figures.dropped, 1);
		return;
	}
	s->where = mw_get(&r->where);
	s->size = mw_get(&r->size);
	s->generation = mw_get(&r->generation);
	s->stack = stack;
	s->born = of->now;
	s->rate = of->rate;
	s->code = false;
}

static void count_sample(uint32_t i, const struct mw_sample_of *of)
{
	uint64_t size = mw_size_decode(mw_get(&mw_record_at(mw_ref_index(of->ref))->size));
	double weight = mw_sample_weight(size, of->rate);
	struct mw_stack_sums *s = mw_stack_at(i);

	s->samples++;
	s->bytes += (double)size * weight;
	s->blocks += weight;
	s->ever += (double)size * weight;
	sample_keep(i, of);
}

bool mw_stacks_count(const struct mw_walk *w, uint32_t id, const struct mw_sample_of *of)
{
	uint32_t i;

	mw_stacks_fit();
	i = mw_stack_take(w, id);
	if (of->rate)
		COUNT(samples, 1);
	else
		COUNT(first, 1);
	mw_set(&mw_callsite(id)->has_stack, 1);
	if (!i) {
		mw_add(&mw_stacks_figures.dropped, 1);
		return true;
	}
	if (of->rate)
		count_sample(i, of);
	else
		mw_stack_at(i)->ever += 1;
	return !mw_stack_lacks_text(i, w);
}

bool mw_stack_lacks_text(uint32_t stack, const struct mw_walk *w)
{
	struct mw_stack_sums *s = mw_stack_at(stack);

	if (!s->lacks_text)
		return false;
	s->lacks_text = false;
	for (uint32_t k = 0; k < w->n; k++)
		s->lacks_text |= mw_frame_lacks_text(w->key[k]);
	return s->lacks_text;
}

void mw_stacks_reset(void)
{
	for (uint32_t i = 1; i < mw_stack_rows.n; i++) {
		struct mw_stack_sums *s = mw_stack_at(i);

		s->samples = 0;
		s->bytes = s->blocks = 0;
	}
}

double mw_stacks_weight(uint32_t ref, uint64_t where)
{
	const struct mw_stack_sample *s = sample_of(ref);

	return s && s->where == where && s->rate ? mw_sample_weight(mw_size_decode(s->size), s->rate) : 0;
}

bool mw_sample_only(uint32_t ref, uint64_t where)
{
	struct mw_stack_sample *s;
	bool only;

	if (!may_be_sampled(ref) || mw_get(&unsure) || !mw_stacks_try())
		return false;
	s = sample_of(ref);
	only = s && s->where == where && !s->code;
	if (only)
		s->where = 0; /* the record's next block may be code, at the same address and line */
	mw_stacks_unlock();
	return only;
}

void mw_sample_is_code_locked(uint32_t ref)
{
	struct mw_stack_sample *s = sample_of(ref);

	if (s)
		s->code = true;
}

void mw_sample_is_code(uint32_t ref)
{
	if (!may_be_sampled(ref))
		return;
	if (mw_stacks_try()) {
		mw_sample_is_code_locked(ref);
		mw_stacks_unlock();
	} else {
		mw_add(&unsure, 1);
	}
}

void mw_stacks_forget(uintptr_t start)
{
	if (!mw_get(&mw_stacks_figures.frames))
		return;
	if (!mw_stacks_try()) {
		died_meanwhile(start);
		return;
	}
	mw_frames_die(start, 0, false);
	mw_stacks_unlock();
}

void mw_stacks_forget_library(uintptr_t start, uint64_t bytes)
{
	if (!mw_get(&mw_stacks_figures.frames))
		return;
	if (!mw_stacks_lock()) {
		__atomic_store_n(&natives_died, 1, __ATOMIC_RELEASE);
		return;
	}
	mw_frames_die(start, bytes, true);
	mw_stacks_unlock();
}
