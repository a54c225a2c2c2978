/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_location.c - Mwrap[] and Mwrap::SourceLocation.
 *
 * An object holds only its location's name, so it is valid for ever and can be shared between
 * Ractors. Each method looks the name up anew: the numbers are always current. The tracker finds
 * most names at once; for others a snapshot is searched. Both run without the GVL, since a reset
 * may be under way.
 */
#include <math.h>
#include <string.h>

#include "shared/sys/root.h"
#include "ext.h"

static VALUE cSourceLocation;

struct location {
	size_t len;
	char name[]; /* not NUL-terminated */
};

static size_t location_size(const void *p)
{
	return sizeof(struct location) + ((const struct location *)p)->len;
}

static const rb_data_type_t location_type = {
	.wrap_struct_name = "mwrap_source_location",
	.function = { .dfree = RUBY_DEFAULT_FREE, .dsize = location_size },
	.flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_FROZEN_SHAREABLE,
};

static const struct location *location_of(VALUE self)
{
	return rb_check_typeddata(self, &location_type);
}

static VALUE location_new(const char *name, size_t len)
{
	/* the object first: a raise in either line leaks nothing */
	VALUE self = TypedData_Wrap_Struct(cSourceLocation, &location_type, NULL);
	struct location *p = ruby_xmalloc(sizeof(*p) + len);

	p->len = len;
	memcpy(p->name, name, len);
	RTYPEDDATA_DATA(self) = p;
	OBJ_FREEZE(self);
	return self;
}

/* The arguments and results of find_location_row(). */
struct search {
	const char *name; /* unchanged meanwhile */
	size_t len;
	struct mw_row *row;
	struct mw_buf *shown; /* or NULL */
	bool found, failed;
};

/* Without the GVL. */
static void *search_location(void *p)
{
	const struct mw_api *of = mw_tracker; /* its results go back to it */
	struct search *s = p;
	struct mw_snapshot *snapshot;
	const struct mw_row *at;

	of->quiet_enter();
	s->found = of->find(s->name, s->len, s->row); /* the usual case */
	if (s->found && s->shown)
		mw_buf_add(s->shown, s->name, s->len);
	snapshot = s->found ? NULL : of->snapshot();
	s->failed = !s->found && !snapshot;
	if (snapshot) {
		at = mw_location_find(snapshot, s->name, s->len);
		s->found = at != NULL;
		if (at)
			*s->row = *at;
		if (at && s->shown)
			mw_buf_add(s->shown, at->location, at->location_len);
		s->row->location = NULL; /* freed with the snapshot */
		of->snapshot_free(snapshot);
	}
	of->quiet_leave();
	return NULL;
}

/*
 * Copies the row of the location `name` to *row. Copies its name as pages show it to *shown, unless
 * `shown` is NULL. False if there is none; *row is all zeros then. Raises NoMemoryError.
 */
static bool find_location_row(const char *name, size_t len, struct mw_row *row, struct mw_buf *shown)
{
	struct search s = { .name = name, .len = len, .row = row, .shown = shown };

	memset(row, 0, sizeof(*row));
	mw_without_gvl(search_location, &s);
	if (s.failed || (shown && shown->failed))
		mw_no_memory();
	return s.found;
}

static struct mw_row row_of(VALUE self)
{
	const struct location *p = location_of(self);
	struct mw_row row;

	find_location_row(p->name, p->len, &row, NULL);
	RB_GC_GUARD(self);
	return row;
}

/*
 * call-seq:
 *   Mwrap[location] -> Mwrap::SourceLocation or nil
 *
 * Returns the location of that name, or nil if nothing was allocated there, or without the tracker.
 * +location+ is a String as Mwrap.each yields and every page shows it:
 * <tt>"/path/to/file.rb:12"</tt>, <tt>"/usr/lib/libfoo.so(function+0x1f) [0x7f...]"</tt>, or
 * anything, a tab and <tt>[0xADDR]</tt>. If there is no location of that name, the address alone
 * selects one. The String may have any length and hold any bytes.
 *
 * Raises TypeError if +location+ isn't a String, and NoMemoryError.
 */
static VALUE mwrap_aref(VALUE mod, VALUE location)
{
	struct mw_result_owner *hold;
	struct mw_row row;
	VALUE owner, found = Qnil;

	StringValue(location);
	location = rb_str_new_frozen(location); /* other threads run meanwhile */
	owner = mw_result_owner_new(&hold);
	if (find_location_row(RSTRING_PTR(location), (size_t)RSTRING_LEN(location), &row, &hold->text))
		found = location_new(hold->text.p, hold->text.n);
	mw_result_owner_release(hold);
	RB_GC_GUARD(owner);
	RB_GC_GUARD(location);
	return found;
}

static VALUE each_live(struct mw_result_owner *hold, void *self)
{
	struct mw_row row = row_of(*(const VALUE *)self);
	size_t i;

	if (!row.live) /* an id may be another location's if nothing is live */
		return Qnil;
	mw_result_owner_lives(hold, row.id);
	/* hold->lives is NULL if a continuation comes back after the end */
	for (i = 0; hold->lives && i < hold->lives->n; i++) {
		const struct mw_live *v = &hold->lives->v[i];
		VALUE size = ULL2NUM(v->size);

		rb_yield_values(2, size, ULL2NUM(v->generation));
	}
	return Qnil;
}

static VALUE location_live(VALUE self);

static VALUE each_size(VALUE self, VALUE args, VALUE enumerator)
{
	return location_live(self);
}

/*
 * call-seq:
 *   each { |size, generation| ... } -> self
 *   each -> Enumerator
 *
 * Yields every live allocation of this location: the bytes asked for, and the GC generation
 * (GC.count) in which it was made. Both are Integers, in no particular order. They are a copy, made
 * when the call begins, so the block may do anything. Its allocations aren't tracked, as in
 * Mwrap.each. Raises NoMemoryError.
 */
static VALUE location_each(VALUE self)
{
	RETURN_SIZED_ENUMERATOR(self, 0, NULL, each_size);
	mw_with_result_owner_hushed(each_live, &self);
	return self;
}

/*
 * The name of the location, a frozen String, as Mwrap.each yields it: UTF-8 if
 * it is valid as that, else binary.
 */
static VALUE location_name(VALUE self)
{
	const struct location *p = location_of(self);
	VALUE name = mw_location_string(p->name, p->len);

	RB_GC_GUARD(self);
	return name;
}

/* Bytes allocated here since the last reset, or the start of the process. */
static VALUE location_total(VALUE self)
{
	return ULL2NUM(row_of(self).total);
}

/* Calls that allocated here since the last reset, or the start. */
static VALUE location_allocations(VALUE self)
{
	return ULL2NUM(row_of(self).allocations);
}

/*
 * Calls that freed, at any place, what was allocated here, since the last reset or the start. After
 * a reset it may exceed #allocations.
 */
static VALUE location_frees(VALUE self)
{
	return ULL2NUM(row_of(self).frees);
}

/* Allocations of this location that are live now; a reset doesn't change it. */
static VALUE location_live(VALUE self)
{
	return ULL2NUM(row_of(self).live);
}

/* Bytes of this location that are live now; a reset doesn't change it. */
static VALUE location_live_bytes(VALUE self)
{
	return ULL2NUM(row_of(self).live_bytes);
}

/*
 * Bytes that are live now, less those live at the last reset, at the fork that made this process,
 * or at the start: an Integer that may be negative.
 */
static VALUE location_growth(VALUE self)
{
	return LL2NUM(row_of(self).growth);
}

static VALUE mean(const struct mw_row *row)
{
	return DBL2NUM(row->frees ? (double)row->life_sum / (double)row->frees : HUGE_VAL);
}

/*
 * The mean lifespan, in GC generations, of blocks freed since the last reset, or the start: a
 * Float, Float::INFINITY if none was freed. Live blocks don't count.
 */
static VALUE location_mean_lifespan(VALUE self)
{
	struct mw_row row = row_of(self);

	return mean(&row);
}

/*
 * The longest lifespan, in GC generations, of blocks freed since the last reset, or the start: an
 * Integer, 0 if none was freed.
 */
static VALUE location_max_lifespan(VALUE self)
{
	return ULL2NUM(row_of(self).life_max);
}

/*
 * Ruby objects made here that outlived two major collections, or are old, estimated from samples: an
 * Integer, 0 without a sample. A reset doesn't change it. Samples are taken while a server runs, or MwrapRack does.
 */
static VALUE location_objects(VALUE self)
{
	return ULL2NUM(row_of(self).objects);
}

/* The bytes of their slots in Ruby's heap: an Integer. Their memory from malloc isn't in it. */
static VALUE location_object_bytes(VALUE self)
{
	return ULL2NUM(row_of(self).object_bytes);
}

/* The number of samples that #objects and #object_bytes rest on: an Integer. */
static VALUE location_object_samples(VALUE self)
{
	return ULL2NUM(row_of(self).object_samples);
}

static VALUE object_error(const struct mw_row *row)
{
	return row->objects ? DBL2NUM(200 * mw_root((double)row->object_variance) / (double)row->objects) :
			      Qnil;
}

/* The error of #objects, two standard deviations, in per cent: a Float, nil without a sample. */
static VALUE location_object_error(VALUE self)
{
	struct mw_row row = row_of(self);

	return object_error(&row);
}

/*
 * Live blocks that stand for others, since allocations were sampled when they were made (Mwrap.sampled!): an
 * Integer, 0 if every block was counted.
 */
static VALUE location_live_samples(VALUE self)
{
	return ULL2NUM(row_of(self).live_samples);
}

static VALUE live_error(const struct mw_row *row)
{
	return row->live_samples && row->live_bytes ?
		       DBL2NUM(200 * 1024 * mw_root((double)row->live_variance) / (double)row->live_bytes) :
		       DBL2NUM(0);
}

/* The error of #live_bytes for that reason, two standard deviations, in per cent: a Float, 0.0 if every block was counted. */
static VALUE location_live_error(VALUE self)
{
	struct mw_row row = row_of(self);

	return live_error(&row);
}

/*
 * call-seq:
 *   to_h -> Hash
 *
 * All numbers at one moment, with their methods' names as Symbols, +name+ first.
 */
static VALUE location_to_h(VALUE self)
{
	struct mw_row row = row_of(self);
	VALUE h = rb_hash_new();

#define SET(key, value) rb_hash_aset(h, ID2SYM(rb_intern(key)), (value))
	SET("name", location_name(self));
	SET("total", ULL2NUM(row.total));
	SET("allocations", ULL2NUM(row.allocations));
	SET("frees", ULL2NUM(row.frees));
	SET("growth", LL2NUM(row.growth));
	SET("live_bytes", ULL2NUM(row.live_bytes));
	SET("live", ULL2NUM(row.live));
	SET("mean_lifespan", mean(&row));
	SET("max_lifespan", ULL2NUM(row.life_max));
	SET("objects", ULL2NUM(row.objects));
	SET("object_bytes", ULL2NUM(row.object_bytes));
	SET("object_samples", ULL2NUM(row.object_samples));
	SET("object_error", object_error(&row));
	SET("live_samples", ULL2NUM(row.live_samples));
	SET("live_error", live_error(&row));
#undef SET
	return h;
}

/* The name and the main numbers, for people. */
static VALUE location_inspect(VALUE self)
{
	struct mw_row row = row_of(self);
	VALUE name = rb_inspect(location_name(self));

	return rb_sprintf("#<%" PRIsVALUE " %" PRIsVALUE " total=%" PRIu64 " allocations=%" PRIu64
			  " frees=%" PRIu64 " live_bytes=%" PRIu64 ">",
			  rb_obj_class(self), name, row.total, row.allocations, row.frees, row.live_bytes);
}

void mw_init_source_location(void)
{
	VALUE mod = rb_define_module("Mwrap");

	/*
	 * A location that allocates memory: a line of Ruby, or an address in native code. Mwrap[]
	 * finds one. Each call reads its numbers anew. When the tracker's table is nearly full, it
	 * removes locations long unused; their numbers are then all zero. Objects are frozen, and
	 * may be shared between Ractors.
	 *
	 * Mwrap.reset starts every number from zero, except #live, #live_bytes and those of objects. Methods that
	 * read raise NoMemoryError if they can't get memory, and nothing else.
	 */
	cSourceLocation = rb_define_class_under(mod, "SourceLocation", rb_cObject);
	rb_undef_alloc_func(cSourceLocation);
	rb_undef_method(CLASS_OF(cSourceLocation), "new");

	rb_define_singleton_method(mod, "[]", mwrap_aref, 1);
	rb_define_method(cSourceLocation, "each", location_each, 0);
	rb_define_method(cSourceLocation, "name", location_name, 0);
	rb_define_method(cSourceLocation, "total", location_total, 0);
	rb_define_method(cSourceLocation, "allocations", location_allocations, 0);
	rb_define_method(cSourceLocation, "frees", location_frees, 0);
	rb_define_method(cSourceLocation, "growth", location_growth, 0);
	rb_define_method(cSourceLocation, "live_bytes", location_live_bytes, 0);
	rb_define_method(cSourceLocation, "live", location_live, 0);
	rb_define_method(cSourceLocation, "mean_lifespan", location_mean_lifespan, 0);
	rb_define_method(cSourceLocation, "max_lifespan", location_max_lifespan, 0);
	rb_define_method(cSourceLocation, "objects", location_objects, 0);
	rb_define_method(cSourceLocation, "object_bytes", location_object_bytes, 0);
	rb_define_method(cSourceLocation, "object_samples", location_object_samples, 0);
	rb_define_method(cSourceLocation, "object_error", location_object_error, 0);
	rb_define_method(cSourceLocation, "live_samples", location_live_samples, 0);
	rb_define_method(cSourceLocation, "live_error", location_live_error, 0);
	rb_define_method(cSourceLocation, "to_h", location_to_h, 0);
	rb_define_method(cSourceLocation, "inspect", location_inspect, 0);
}
