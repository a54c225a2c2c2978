/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * result_owner.c - reads the tracker for Ruby, and owns the results.
 *
 * A result is made in a local variable without the GVL. It moves to its owner with the GVL, and no
 * Ruby call in between. So an interrupt can't drop it. A child forked by another thread meanwhile
 * never sees half a result in an owner that its GC will free.
 */
#include <stdlib.h>

#include "offered.h"
#include "shared/report/label_rows.h"

/* Conservatively: a word of `objects` may be anything. */
static void hold_mark(void *p)
{
	const struct mw_result_owner *hold = p;
	const struct mw_seen *seen = hold->seen;
	const VALUE *v = seen ? (const VALUE *)seen->objects.p : NULL;

	if (v && !seen->walking)
		rb_gc_mark_locations(v, v + seen->objects.n / sizeof(*v));
}

static void hold_free(void *p)
{
	mw_result_owner_release(p);
	ruby_xfree(p);
}

static size_t hold_size(const void *owner)
{
	const struct mw_result_owner *hold = owner;
	const struct mw_seen *seen = hold->seen;
	const struct mw_profile *p = hold->profile;

	return sizeof(*hold) + hold->text.cap +
	       (seen ? seen->objects.cap + seen->index.cap + seen->rows.cap : 0) +
	       hold->result.n * sizeof(*hold->result.rows) + hold->heap.n * sizeof(*hold->heap.heap->v) +
	       (p ? sizeof(*p) + p->n_frames * sizeof(*p->frames) + p->n_stacks * sizeof(*p->stacks) : 0) +
	       hold->labels_n * sizeof(*hold->labels);
}

static const rb_data_type_t hold_type = {
	.wrap_struct_name = "mwrap_hold",
	.function = { .dmark = hold_mark, .dfree = hold_free, .dsize = hold_size },
	.flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

VALUE mw_result_owner_new(struct mw_result_owner **hold)
{
	/* class 0: hidden from ObjectSpace; only C reaches it */
	return TypedData_Make_Struct(0, struct mw_result_owner, &hold_type, *hold);
}

struct mw_seen *mw_result_owner_sees(struct mw_result_owner *hold)
{
	mw_tracker->quiet_enter();
	hold->seen = calloc(1, sizeof(*hold->seen));
	mw_tracker->quiet_leave();
	if (!hold->seen)
		mw_no_memory();
	return hold->seen;
}

static void free_profile(struct mw_profile *p, const struct mw_api *of)
{
	if (p)
		mw_profile_free(p, of);
	free(p);
}

void mw_result_owner_release(struct mw_result_owner *hold)
{
	static const struct mw_result_owner nothing;
	struct mw_result_owner h = *hold;

	*hold = nothing;
	if (h.hushed)
		mw_hush_over();
	mw_tracker->quiet_enter();
	mw_buf_free(&h.text);
	if (h.seen) {
		mw_buf_free(&h.seen->objects);
		mw_buf_free(&h.seen->index);
		mw_buf_free(&h.seen->rows);
		free(h.seen);
	}
	mw_tracker->quiet_leave();
	if (!h.of)
		return;
	h.of->quiet_enter();
	if (h.result.snapshot)
		mw_result_free(&h.result, h.of);
	if (h.lives)
		h.of->lives_free(h.lives);
	mw_heap_list_free(&h.heap, h.of);
	free_profile(h.profile, h.of);
	free(h.labels);
	if (h.search) {
		mw_offers->holders_drop(&h.search->child);
		mw_offers->holders_free(&h.search->answer);
		free(h.search);
	}
	h.of->quiet_leave();
}

struct user {
	VALUE owner;
	struct mw_result_owner *hold;
	VALUE (*work)(struct mw_result_owner *, void *arg);
	void *arg;
};

static VALUE user_works(VALUE arg)
{
	struct user *u = (struct user *)arg;

	return u->work(u->hold, u->arg);
}

static VALUE user_ends(VALUE arg)
{
	struct user *u = (struct user *)arg;

	mw_result_owner_release(u->hold);
	RB_GC_GUARD(u->owner);
	return Qnil;
}

VALUE mw_with_result_owner(VALUE (*work)(struct mw_result_owner *, void *arg), void *arg)
{
	struct user u = { .work = work, .arg = arg };

	u.owner = mw_result_owner_new(&u.hold);
	return rb_ensure(user_works, (VALUE)&u, user_ends, (VALUE)&u);
}

struct reading {
	struct mw_result_owner got;
	struct mw_query query; /* for rows */
	bool text;
	uint32_t id; /* for lives */
	enum mw_profile_by by; /* for the profile */
	bool ok;
};

/* The readers run without the GVL: no Ruby in them. */
static void *read_rows(void *p)
{
	struct reading *r = p;

	r->got.of->quiet_enter();
	r->ok = mw_result_make(&r->got.result, r->got.of, &r->query) == 0;
	if (r->ok && r->text) {
		mw_render(&r->got.text, &r->got.result, MW_FORMAT_TEXT);
		r->ok = !r->got.text.failed;
		mw_result_free(&r->got.result, r->got.of);
		if (!r->ok)
			mw_buf_free(&r->got.text);
	}
	r->got.of->quiet_leave();
	return NULL;
}

static void *read_lives(void *p)
{
	struct reading *r = p;

	r->got.lives = r->got.of->lives(&r->id, 1);
	r->ok = r->got.lives != NULL;
	return NULL;
}

static void *read_heap(void *p)
{
	struct reading *r = p;

	r->got.of->quiet_enter();
	r->ok = mw_heap_list_make(&r->got.heap, r->got.of, 0, 0) == 0;
	r->got.of->quiet_leave();
	return NULL;
}

/* A total order: stacks of one location differ in their frames. */
static int stack_cmp(const struct mw_profile_stack *a, const struct mw_profile_stack *b,
		     enum mw_profile_by by)
{
	if (a->bytes[by] != b->bytes[by])
		return a->bytes[by] > b->bytes[by] ? -1 : 1;
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return memcmp(a->frames, b->frames, a->depth * sizeof(*a->frames));
}

static int live_cmp(const void *a, const void *b)
{
	return stack_cmp(a, b, MW_BY_LIVE);
}

static int total_cmp(const void *a, const void *b)
{
	return stack_cmp(a, b, MW_BY_TOTAL);
}

static int objects_cmp(const void *a, const void *b)
{
	return stack_cmp(a, b, MW_BY_OBJECTS);
}

/* into got.profile; false: no memory, and it is NULL */
static bool make_profile(struct reading *r)
{
	r->got.profile = calloc(1, sizeof(*r->got.profile));
	if (!r->got.profile)
		return false;
	if (mw_profile_make(r->got.profile, r->got.of, &(struct mw_profile_how){ 0 }))
		return true;
	free(r->got.profile);
	r->got.profile = NULL;
	return false;
}

static void *read_profile(void *p)
{
	struct reading *r = p;
	struct mw_profile *profile;

	r->got.of->quiet_enter();
	r->ok = make_profile(r);
	profile = r->got.profile;
	if (profile)
		qsort(profile->stacks, profile->n_stacks, sizeof(*profile->stacks),
		      r->by == MW_BY_LIVE  ? live_cmp :
		      r->by == MW_BY_TOTAL ? total_cmp :
					     objects_cmp);
	r->got.of->quiet_leave();
	return NULL;
}

static void *read_labels(void *p)
{
	struct reading *r = p;

	r->got.of->quiet_enter();
	if (make_profile(r)) {
		r->got.labels = mw_labels_make(r->got.profile, &r->got.labels_n);
		r->ok = r->got.labels != NULL;
		if (!r->ok)
			free_profile(r->got.profile, r->got.of);
	}
	r->got.of->quiet_leave();
	return NULL;
}

static void read_it(void *(*work)(void *), struct reading *r)
{
	mw_without_gvl(work, r);
	if (!r->ok)
		mw_no_memory();
}

void mw_result_owner_read(struct mw_result_owner *hold, uint64_t min, bool text)
{
	struct reading r = { .got.of = mw_tracker, .query = { .min = min, .sort = -1 }, .text = text };

	read_it(read_rows, &r);
	hold->of = r.got.of;
	if (text)
		hold->text = r.got.text;
	else
		hold->result = r.got.result;
}

void mw_result_owner_lives(struct mw_result_owner *hold, uint32_t id)
{
	struct reading r = { .got.of = mw_tracker, .id = id };

	read_it(read_lives, &r);
	hold->of = r.got.of;
	hold->lives = r.got.lives;
}

void mw_result_owner_heap(struct mw_result_owner *hold)
{
	struct reading r = { .got.of = mw_tracker };

	read_it(read_heap, &r);
	hold->of = r.got.of;
	hold->heap = r.got.heap;
}

void mw_result_owner_profile(struct mw_result_owner *hold, enum mw_profile_by by)
{
	struct reading r = { .got.of = mw_tracker, .by = by };

	read_it(read_profile, &r);
	hold->of = r.got.of;
	hold->profile = r.got.profile;
}

void mw_result_owner_labels(struct mw_result_owner *hold)
{
	struct reading r = { .got.of = mw_tracker };

	read_it(read_labels, &r);
	hold->of = r.got.of;
	hold->profile = r.got.profile;
	hold->labels = r.got.labels;
	hold->labels_n = r.got.labels_n;
}

VALUE mw_string(const char *p, size_t n)
{
	VALUE s = rb_enc_str_new(p, (long)n, rb_utf8_encoding());

	if (rb_enc_str_coderange(s) == ENC_CODERANGE_BROKEN)
		rb_enc_associate(s, rb_ascii8bit_encoding());
	return s;
}

VALUE mw_location_string(const char *p, size_t n)
{
	return rb_str_to_interned_str(mw_string(p, n));
}

uint64_t mw_min_arg(VALUE min)
{
	uint64_t u = 0;
	int sign;

	if (NIL_P(min))
		return 0;
	min = rb_to_int(min);
	sign = rb_integer_pack(min, &u, 1, sizeof(u), 0, INTEGER_PACK_NATIVE_BYTE_ORDER);
	if (sign < 0 || sign > 1)
		rb_raise(rb_eRangeError, "min: %+" PRIsVALUE " is out of range: give 0 to 2**64 - 1", min);
	return u;
}

void mw_no_memory(void)
{
	rb_raise(rb_eNoMemError, "mwrap: the table: can't be read: out of memory");
}
