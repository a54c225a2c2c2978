/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof.c - a profile as `go tool pprof`, Pyroscope and Parca read it: Go's profile.proto, written
 * by hand.
 *
 * A message is fields; a field is a tag (its number << 3 | type), then a varint (type 0), or a
 * length and that many bytes (type 2). Fields of value 0 may be left out, and are.
 *
 * Texts are numbers of the string table, whose first entry is "". All are valid UTF-8, or parsers
 * refuse the whole profile.
 */
#include <stdlib.h>
#include <string.h>

#include "shared/text/intern.h"
#include "shared/report/profile.h"
#include "shared/report/sums.h"

/* Field numbers of the messages, as in profile.proto. */
enum { SAMPLE_TYPE = 1, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING_TABLE };
enum { TIME_NANOS = 9, PERIOD_TYPE = 11, PERIOD, DEFAULT_SAMPLE_TYPE = 14 };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STR };
enum { MAPPING_ID = 1, MAPPING_FILENAME = 5, MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
/* No system_name: if it is there, pprof takes the name for a C++ one, and removes "<main>" from it. */
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILENAME = 4 };

/* The figures of a sample. */
static const struct type {
	const char *name;
	enum mw_profile_by by;
	bool is_count;
} types[] = {
	{ "alloc_objects", MW_BY_TOTAL, true },  { "alloc_space", MW_BY_TOTAL, false },
	{ "inuse_objects", MW_BY_LIVE, true },   { "inuse_space", MW_BY_LIVE, false },
	{ "ruby_objects", MW_BY_OBJECTS, true }, { "ruby_object_space", MW_BY_OBJECTS, false },
};
#define TYPES (sizeof(types) / sizeof(*types))

struct pprof {
	struct mw_buf *out;
	const struct mw_profile *profile;
	struct mw_intern strings;   /* the string table */
	struct mw_intern functions; /* name and file, two uint32_t; id: the number + 1 */
	struct mw_intern mappings;  /* file, a uint32_t; likewise */
	struct mw_buf text;         /* of one string */
	uint32_t *ids; /* of locations, by frame; 0: no sample has it. Parca wants 1, 2, 3, ... */
	uint32_t *listed; /* frames, by their id less 1 */
	uint32_t n_listed;
};

/* --- fields --------------------------------------------------------------- */

static void varint(struct mw_buf *b, uint64_t v)
{
	unsigned char bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (unsigned char)(v | 0x80);
	bytes[n++] = (unsigned char)v;
	mw_buf_add(b, bytes, n);
}

static void put_number_field(struct mw_buf *b, unsigned field, uint64_t v)
{
	if (!v)
		return;
	varint(b, field << 3);
	varint(b, v);
}

static void bytes(struct mw_buf *b, unsigned field, const void *p, size_t n)
{
	varint(b, field << 3 | 2);
	varint(b, n);
	mw_buf_add(b, p, n);
}

/* Ends a message, which is empty then. */
static void message(struct mw_buf *b, unsigned field, struct mw_buf *m)
{
	bytes(b, field, m->p, m->n);
	b->failed |= m->failed;
	m->n = 0;
}

static uint32_t string(struct pprof *p, const char *s, size_t n)
{
	p->text.n = 0;
	mw_buf_utf8(&p->text, s, n);
	p->strings.failed |= p->text.failed;
	return mw_intern(&p->strings, p->text.p, p->text.n);
}

static uint32_t str(struct pprof *p, const char *s)
{
	return string(p, s, strlen(s));
}

/* --- messages ------------------------------------------------------------- */

static void value_type(struct pprof *p, unsigned field, const char *type, const char *unit)
{
	struct mw_buf m = { 0 };

	put_number_field(&m, TYPE_TYPE, str(p, type));
	put_number_field(&m, TYPE_UNIT, str(p, unit));
	message(p->out, field, &m);
	mw_buf_free(&m);
}

static void put_sample_label(struct pprof *p, struct mw_buf *sample, const char *key, const char *s,
			     size_t n)
{
	struct mw_buf m = { 0 };

	put_number_field(&m, LABEL_KEY, str(p, key));
	put_number_field(&m, LABEL_STR, string(p, s, n));
	message(sample, SAMPLE_LABEL, &m);
	mw_buf_free(&m);
}

static uint32_t location_id(struct pprof *p, uint32_t frame)
{
	if (!p->ids[frame]) {
		p->listed[p->n_listed++] = frame;
		p->ids[frame] = p->n_listed;
	}
	return p->ids[frame];
}

static uint64_t value(const struct mw_profile_stack *s, const struct type *t)
{
	return t->is_count ? s->blocks[t->by] : s->bytes[t->by];
}

/* m and list are empty before and after. */
static void sample(struct pprof *p, const struct mw_profile_stack *s, struct mw_buf *m, struct mw_buf *list)
{
	const struct mw_row *r = &p->profile->snapshot->rows[s->row];
	uint64_t any = 0;

	for (size_t i = 0; i < TYPES; i++)
		any |= value(s, &types[i]);
	if (!any)
		return;
	for (uint32_t i = 0; i < s->depth; i++)
		varint(list, location_id(p, s->frames[i]));
	message(m, SAMPLE_LOCATIONS, list);
	for (size_t i = 0; i < TYPES; i++) /* int64: readers take more for less than 0 */
		varint(list, (uint64_t)mw_i64_of(value(s, &types[i])));
	message(m, SAMPLE_VALUES, list);
	if (r->location_len)
		put_sample_label(p, m, "location", r->location, r->location_len);
	if (s->label)
		put_sample_label(p, m, "label", p->profile->frames[s->label].name,
				 strlen(p->profile->frames[s->label].name));
	message(p->out, SAMPLE, m);
}

static void samples(struct pprof *p)
{
	struct mw_buf m = { 0 }, list = { 0 };

	for (size_t i = 0; i < p->profile->n_stacks; i++)
		sample(p, &p->profile->stacks[i], &m, &list);
	p->out->failed |= m.failed || list.failed;
	mw_buf_free(&m);
	mw_buf_free(&list);
}

static uint64_t function_id(struct pprof *p, uint32_t name, uint32_t file, struct mw_buf *m)
{
	const uint32_t key[] = { name, file }, known = p->functions.n;
	uint32_t id = mw_intern(&p->functions, key, sizeof(key));

	if (p->functions.n > known) {
		put_number_field(m, FUNCTION_ID, (uint64_t)id + 1);
		put_number_field(m, FUNCTION_NAME, name);
		put_number_field(m, FUNCTION_FILENAME, file);
		message(p->out, FUNCTION, m);
	}
	return (uint64_t)id + 1;
}

/* Without its place in memory, which isn't needed: it says that its functions have names. */
static uint64_t mapping_id(struct pprof *p, uint32_t file, struct mw_buf *m)
{
	const uint32_t known = p->mappings.n;
	uint32_t id = mw_intern(&p->mappings, &file, sizeof(file));

	if (p->mappings.n > known) {
		put_number_field(m, MAPPING_ID, (uint64_t)id + 1);
		put_number_field(m, MAPPING_FILENAME, file);
		put_number_field(m, MAPPING_HAS_FUNCTIONS, 1);
		message(p->out, MAPPING, m);
	}
	return (uint64_t)id + 1;
}

/* The first mapping, from which readers have the profile's name. */
static void program(struct pprof *p)
{
	struct mw_buf m = { 0 };

	if (p->profile->program && *p->profile->program)
		mapping_id(p, str(p, p->profile->program), &m);
	mw_buf_free(&m);
}

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
	const unsigned char *c = data;

	while (n--)
		h = (h ^ *c++) * UINT64_C(1099511628211); /* FNV-1a */
	return h;
}

/*
 * A frame's address, or what stands for one: readers may tell stacks apart by addresses alone. Grafana
 * Alloy does when it takes the difference of two profiles. So it is made of the frame's texts, which
 * are the same in the next profile, and is beyond all addresses of the process.
 */
static uint64_t address_of(const struct mw_profile_frame *f)
{
	uint64_t h = UINT64_C(14695981039346656037);

	if (f->address)
		return f->address;
	h = mix(h, f->name, strlen(f->name) + 1);
	h = mix(h, f->file, strlen(f->file) + 1);
	h = mix(h, &f->line, sizeof(f->line));
	return h >> 2 | UINT64_C(1) << 62;
}

static void put_frame_location(struct pprof *p, uint32_t frame, struct mw_buf *m, struct mw_buf *line)
{
	const struct mw_profile_frame *f = &p->profile->frames[frame];
	uint32_t name = str(p, f->name), file = str(p, f->file);
	uint64_t function = function_id(p, name, file, m), mapping = 0;

	if (f->kind == MW_KIND_NATIVE && file)
		mapping = mapping_id(p, file, m);
	put_number_field(line, LINE_FUNCTION, function);
	put_number_field(line, LINE_LINE, f->line);
	put_number_field(m, LOCATION_ID, p->ids[frame]);
	put_number_field(m, LOCATION_MAPPING, mapping);
	put_number_field(m, LOCATION_ADDRESS, address_of(f));
	message(m, LOCATION_LINE, line);
	message(p->out, LOCATION, m);
}

static void locations(struct pprof *p)
{
	struct mw_buf m = { 0 }, line = { 0 };

	for (uint32_t i = 0; i < p->n_listed; i++)
		put_frame_location(p, p->listed[i], &m, &line);
	p->out->failed |= m.failed || line.failed;
	mw_buf_free(&m);
	mw_buf_free(&line);
}

static void string_table(struct pprof *p)
{
	for (uint32_t i = 0; i < p->strings.n; i++) {
		size_t n;
		const char *s = mw_interned(&p->strings, i, &n);

		bytes(p->out, STRING_TABLE, s, n);
	}
}

/* In two parts: since 1970 there are too many for a double. */
static uint64_t nanoseconds(double s)
{
	uint64_t whole = s > 0 && s < 9e9 ? (uint64_t)s : 0;

	return s > 0 && s < 9e9 ? whole * 1000000000 + (uint64_t)((s - (double)whole) * 1e9) : 0;
}

static void profile_message(struct pprof *p, enum mw_profile_by by_default)
{
	const struct mw_profile *from = p->profile;

	str(p, "");
	for (size_t i = 0; i < TYPES; i++)
		value_type(p, SAMPLE_TYPE, types[i].name, types[i].is_count ? "count" : "bytes");
	samples(p);
	program(p);
	locations(p);
	put_number_field(p->out, TIME_NANOS, nanoseconds(from->now));
	/* No duration, as Go's own heap profiles: with one, Parca takes all figures for differences. */
	value_type(p, PERIOD_TYPE, "space", "bytes");
	put_number_field(p->out, PERIOD, (uint64_t)mw_i64_of(from->rate));
	for (size_t i = 0; i < TYPES; i++)
		if (types[i].by == by_default && !types[i].is_count)
			put_number_field(p->out, DEFAULT_SAMPLE_TYPE, str(p, types[i].name));
	string_table(p);
}

void mw_profile_pprof(struct mw_buf *b, const struct mw_profile *profile, enum mw_profile_by by_default)
{
	struct pprof p = { .out = b, .profile = profile };

	p.ids = calloc(profile->n_frames + 1, sizeof(*p.ids));
	p.listed = calloc(profile->n_frames + 1, sizeof(*p.listed));
	if (p.ids && p.listed)
		profile_message(&p, by_default);
	b->failed |= !p.ids || !p.listed || p.strings.failed || p.functions.failed || p.mappings.failed;
	mw_intern_free(&p.strings);
	mw_intern_free(&p.functions);
	mw_intern_free(&p.mappings);
	mw_buf_free(&p.text);
	free(p.ids);
	free(p.listed);
}
