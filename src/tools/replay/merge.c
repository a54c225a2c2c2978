/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "befores.h"
#include "read_json.h"
#include "births.h"
#include "merge.h"
#include "refs.h"
#include "streams.h"

enum { USUAL_TICKS = 1000000 };
#define NO_REF UINT64_MAX

struct mw_merge {
	struct mw_names *names;
	struct mw_streams streams;
	struct mw_stream **heap, *current; /* by key, the least first */
	size_t heap_n, heap_bytes, waiting;
	struct mw_befores befores;
	size_t before; /* the next one */
	struct mw_lives threads; /* the number of each thread that has an id now, by that */
	uint64_t wait; /* in ticks */
	uint64_t pid;  /* the main thread's id; 0: not known */
	bool main_known;
	struct mw_merge_sums sums;
	struct mw_refs refs;
};

/* --- the heap -------------------------------------------------------------------------- */

static bool sooner(const struct mw_merge *m, const struct mw_stream *a, const struct mw_stream *b)
{
	if (a->key != b->key)
		return a->key < b->key;
	return a->waits != b->waits ? b->waits : a == m->current;
}

static void set_place(struct mw_merge *m, size_t at, struct mw_stream *s)
{
	m->heap[at] = s;
	s->place = at;
}

static void sift_up(struct mw_merge *m, struct mw_stream *s)
{
	size_t at = s->place;

	while (at && sooner(m, s, m->heap[(at - 1) / 2])) {
		set_place(m, at, m->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	set_place(m, at, s);
}

static void sift_down(struct mw_merge *m, struct mw_stream *s)
{
	size_t at = s->place, child;

	for (; (child = at * 2 + 1) < m->heap_n; at = child) {
		if (child + 1 < m->heap_n && sooner(m, m->heap[child + 1], m->heap[child]))
			child++;
		if (!sooner(m, m->heap[child], s))
			break;
		set_place(m, at, m->heap[child]);
	}
	set_place(m, at, s);
}

static void drop_stream(struct mw_merge *m, struct mw_stream *s)
{
	struct mw_stream *last = m->heap[--m->heap_n];
	size_t at = s->place;

	if (last == s)
		return;
	set_place(m, at, last);
	sift_up(m, last);
	sift_down(m, last);
}

/* The stream's next event is its first again: that of its ticks, or it has ended. */
static void step_stream(struct mw_merge *m, struct mw_stream *s)
{
	mw_stream_step(&m->streams, s);
	m->current = s;
	if (s->ended) {
		drop_stream(m, s);
		return;
	}
	s->key = s->next.ticks;
	sift_up(m, s);
	sift_down(m, s);
}

/* --- waiting --------------------------------------------------------------------------- */

static void wait_for_ref(struct mw_merge *m, struct mw_stream *s, uint64_t ref)
{
	s->waits = true;
	s->waits_for = ref;
	s->key = s->next.ticks > UINT64_MAX - m->wait ? UINT64_MAX : s->next.ticks + m->wait;
	m->waiting++;
	sift_down(m, s);
}

/* The ref was born, or ended: those that wait for it go on. */
static void wake_waiting(struct mw_merge *m, uint64_t ref)
{
	struct mw_stream *s = m->streams.streams.p;

	if (!m->waiting)
		return;
	for (size_t i = 0; i < m->streams.streams.n; i++, s++) {
		if (s->ended || !s->waits || s->waits_for != ref)
			continue;
		s->waits = false;
		m->waiting--;
		m->sums.repaired++;
		s->key = s->next.ticks;
		sift_up(m, s);
	}
}

/* The ref that another stream must give birth to, or end, before the event. *no_memory is set or left alone. */
static uint64_t needs(struct mw_merge *m, const struct mw_trace_event *e, bool *no_memory)
{
	bool moves = e->op == MW_OP_REALLOC;
	const uint32_t *is, *was;

	if (!mw_op_has_ref(e->op))
		return NO_REF;
	is = mw_refs_at(&m->refs, e->ref);
	was = moves ? mw_refs_at(&m->refs, e->extra) : is;
	if (!is || !was) {
		*no_memory = true;
		return NO_REF;
	}
	if (moves && !*was)
		return e->extra;
	if (moves && e->extra == e->ref)
		return NO_REF;
	return mw_op_is_birth(e->op) == !*is ? NO_REF : e->ref;
}

/* --- events ---------------------------------------------------------------------------- */

static void tell_event(struct mw_merge *m, struct mw_packed_event *out, const struct mw_trace_event *e,
		       uint32_t thread)
{
	struct mw_merge_sums *s = &m->sums;

	*out = (struct mw_packed_event){ .is = *e, .thread = thread, .pages = UINT64_MAX };
	/* one that waited is as late as what it waited for */
	if (out->is.ticks < s->last)
		out->is.ticks = s->last;
	s->last = out->is.ticks;
	if (!s->events++)
		s->first = s->last;
}

/* Begins a life; its ref, if it has one, doesn't live. */
static void bear(struct mw_merge *m, struct mw_packed_event *out)
{
	struct mw_merge_sums *s = &m->sums;
	uint64_t ref = out->is.ref;

	out->is.ref = ++s->births;
	if (++s->live > s->live_most)
		s->live_most = s->live;
	if (out->is.op == MW_OP_OWN)
		return;
	*mw_refs_at(&m->refs, ref) = (uint32_t)out->is.ref;
	wake_waiting(m, ref);
}

/* Ends a life. Returns its birth. */
static uint64_t end_life(struct mw_merge *m, uint64_t ref)
{
	uint32_t *is = mw_refs_at(&m->refs, ref);
	uint64_t birth = *is;

	*is = 0;
	m->sums.live--;
	wake_waiting(m, ref);
	return birth;
}

/* The end of a block whose ref is born again: an event that nobody recorded. */
static void end_lost(struct mw_merge *m, struct mw_packed_event *out, const struct mw_trace_event *why,
		     uint32_t thread)
{
	struct mw_trace_event e = { .op = MW_OP_FREE, .ticks = why->ticks };

	m->sums.ended++;
	tell_event(m, out, &e, thread);
	out->is.ref = end_life(m, why->ref);
}

/* The number of the thread whose call the stream's next event is. A thread's calls may be in several streams. */
static uint32_t thread_of(struct mw_merge *m, struct mw_stream *s)
{
	uint32_t tid = s->tid <= UINT32_MAX ? (uint32_t)s->tid : 0;

	if (s->thread != MW_NO_THREAD)
		return s->thread;
	/* no call: the recorder says it in a stream of its own */
	if (s->next.op == MW_OP_RESIDENT)
		return 0;
	if (tid && mw_lives_get(&m->threads, tid, &s->thread))
		return s->thread;
	/* the main thread, or whoever is the first if that isn't known */
	if (!m->main_known && (m->pid ? tid == m->pid : true)) {
		m->main_known = true;
		s->thread = 0;
	} else {
		s->thread = m->sums.threads++;
	}
	if (tid)
		mw_lives_add(&m->threads, tid, s->thread);
	return s->thread;
}

/* Another thread may get its id. */
static void end_thread(struct mw_merge *m, const struct mw_stream *s)
{
	uint32_t number;

	if (s->tid && s->tid <= UINT32_MAX)
		mw_lives_take(&m->threads, (uint32_t)s->tid, &number);
}

/* The event of a stream that needs nobody, or waited long enough. False: it's left out, and the stream goes on. */
static bool take_next(struct mw_merge *m, struct mw_stream *s, struct mw_packed_event *out, uint64_t lacks)
{
	struct mw_trace_event e = s->next;
	bool born = mw_op_is_birth(e.op);

	/* the birth itself comes next: it waits for nobody any more */
	if (lacks != NO_REF && born && *mw_refs_at(&m->refs, e.ref)) {
		end_lost(m, out, &e, thread_of(m, s));
		return true;
	}
	if (lacks != NO_REF) {
		m->sums.unknown++;
		if (!born) {
			step_stream(m, s);
			return false;
		}
		/* a block that was lost is moved */
		e.op = MW_OP_MALLOC;
		e.extra = 0;
	}
	if (mw_op_has_size(e.op) && e.op != MW_OP_OWN)
		e.location = mw_names_number(m->names, e.location, s->frame->offset);
	tell_event(m, out, &e, thread_of(m, s));
	if (e.op == MW_OP_REALLOC)
		out->from = out->is.extra = end_life(m, e.extra);
	if (born)
		bear(m, out);
	else if (e.op == MW_OP_RESIDENT)
		out->is.ref = *mw_refs_at(&m->refs, e.ref);
	else if (mw_op_has_ref(e.op))
		out->is.ref = end_life(m, e.ref);
	else if (e.op == MW_OP_THREAD_END)
		end_thread(m, s);
	step_stream(m, s);
	return true;
}

/* --- what lived before ----------------------------------------------------------------- */

static bool take_before(struct mw_merge *m, struct mw_packed_event *out, char *err)
{
	const struct mw_before *b = (struct mw_before *)m->befores.all.p + m->before;
	struct mw_trace_event e = { .op = MW_OP_LIVE,
				    .ticks = m->sums.last,
				    .ref = b->ref,
				    .size = b->size,
				    .location = b->location,
				    .extra = b->address };
	uint32_t *is = mw_refs_at(&m->refs, b->ref);

	if (!is) {
		snprintf(err, MW_REPLAY_ERROR, "%s", strerror(ENOMEM));
		return false;
	}
	if (*is) {
		end_lost(m, out, &e, 0);
		return true;
	}
	tell_event(m, out, &e, 0);
	bear(m, out);
	m->before++;
	return true;
}

/* --- all of it ------------------------------------------------------------------------- */

static bool begin_merge(struct mw_merge *m)
{
	struct mw_stream *s = m->streams.streams.p;
	size_t n = m->streams.streams.n;
	uint64_t first = UINT64_MAX;

	m->heap_bytes = (n + 1) * sizeof(struct mw_stream *);
	m->heap = mw_mem(m->heap_bytes);
	if (!m->heap)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!s[i].ended && s[i].next.ticks < first)
			first = s[i].next.ticks;
		if (!mw_befores_take(&m->befores, &m->streams, &s[i], m->names))
			return false;
		if (s[i].ended)
			continue;
		s[i].key = s[i].next.ticks;
		s[i].place = m->heap_n++;
		sift_up(m, &s[i]);
	}
	m->sums.last = first == UINT64_MAX ? 0 : first;
	m->sums.first = m->sums.last;
	m->sums.threads = 1;
	return mw_befores_settle(&m->befores, m->streams.index);
}

struct mw_merge *mw_merge_open(const struct mw_index *x, struct mw_names *names, char *err)
{
	struct mw_merge *m = mw_mem(sizeof(*m));
	const char *clock;
	size_t n;

	if (!m || !mw_streams_open(&m->streams, x)) {
		snprintf(err, MW_REPLAY_ERROR, "%s", strerror(ENOMEM));
		mw_mem_free(m, sizeof(*m));
		return NULL;
	}
	m->names = names;
	if (!mw_json_get_u64(x->meta.s, "ticks_per_second", &m->sums.ticks_per_second) ||
	    !m->sums.ticks_per_second)
		m->sums.ticks_per_second = USUAL_TICKS;
	/* a coarse clock is one word for all: no thread's is ahead of another's */
	clock = mw_json_get(x->meta.s, "clock", &n);
	if (clock && !strncmp(clock, "\"fine\"", n))
		m->wait = m->sums.ticks_per_second / 1000000 * MW_MERGE_WAIT_US;
	mw_json_get_u64(x->meta.s, "pid", &m->pid);
	if (begin_merge(m))
		return m;
	snprintf(err, MW_REPLAY_ERROR, "%s", strerror(ENOMEM));
	mw_merge_close(m);
	return NULL;
}

void mw_merge_close(struct mw_merge *m)
{
	mw_refs_free(&m->refs);
	mw_mem_free(m->heap, m->heap_bytes);
	mw_befores_free(&m->befores);
	mw_lives_free(&m->threads);
	mw_streams_close(&m->streams);
	mw_mem_free(m, sizeof(*m));
}

bool mw_merge_next(struct mw_merge *m, struct mw_packed_event *out, char *err)
{
	bool no_memory = false;

	*err = '\0';
	if (m->sums.births >= UINT32_MAX) {
		m->sums.full = m->heap_n != 0;
		return false;
	}
	if (m->before < m->befores.all.n)
		return take_before(m, out, err);
	while (m->heap_n && !no_memory) {
		struct mw_stream *s = m->heap[0];
		bool waited = s->waits;
		uint64_t lacks = needs(m, &s->next, &no_memory);

		if (no_memory)
			break;
		if (lacks != NO_REF && !waited) {
			wait_for_ref(m, s, lacks);
			continue;
		}
		/* its time is over, or nobody else is left */
		if (waited && lacks == NO_REF)
			m->sums.repaired++;
		m->waiting -= waited;
		s->waits = false;
		s->key = s->next.ticks;
		if (take_next(m, s, out, lacks))
			return true;
		no_memory = m->streams.no_memory;
	}
	if (no_memory || m->streams.no_memory)
		snprintf(err, MW_REPLAY_ERROR, "%s", strerror(ENOMEM));
	return false;
}

const struct mw_merge_sums *mw_merge_sums(struct mw_merge *m)
{
	m->sums.lost = m->streams.lost;
	m->sums.missing = m->streams.missing;
	return &m->sums;
}
