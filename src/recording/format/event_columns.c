/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "event_columns.h"
#include "shared/sys/mw_assert.h"
#include "varint.h"

enum { OPS, TIMES, REFS, SIZES, LOCATIONS, EXTRAS };
enum { HAS_REF = 1, HAS_SIZE = 2, HAS_LOCATION = 4, HAS_EXTRA = 8, IS_BIRTH = 16 };
enum { SIZE_BITS = 64 - MW_EVENT_SIZE_SHIFT };

_Static_assert(MW_COLUMNS_BYTES(MW_FRAME_EVENTS_MOST) <= MW_FRAME_PACKED_MOST, "a full frame");

#define BORN (HAS_REF | HAS_SIZE | HAS_LOCATION | IS_BIRTH)
static const uint8_t traits[MW_OPS] = {
	[MW_OP_MALLOC] = BORN,
	[MW_OP_FREE] = HAS_REF,
	[MW_OP_CALLOC] = BORN,
	[MW_OP_ALIGNED] = BORN | HAS_EXTRA,
	[MW_OP_REALLOC] = BORN | HAS_EXTRA,
	[MW_OP_FREE_LARGE] = HAS_REF | HAS_EXTRA,
	[MW_OP_LIVE] = BORN | HAS_EXTRA,
	[MW_OP_RESIDENT] = HAS_REF | HAS_EXTRA,
	[MW_OP_THREAD] = HAS_EXTRA,
	[MW_OP_TRIM] = HAS_EXTRA,
	[MW_OP_OWN] = HAS_SIZE | IS_BIRTH,
};

static unsigned traits_of(unsigned op)
{
	return op < MW_OPS ? traits[op] : 0;
}

bool mw_op_has_ref(unsigned op)
{
	return traits_of(op) & HAS_REF;
}

bool mw_op_has_size(unsigned op)
{
	return traits_of(op) & HAS_SIZE;
}

bool mw_op_has_extra(unsigned op)
{
	return traits_of(op) & HAS_EXTRA;
}

bool mw_op_is_birth(unsigned op)
{
	return traits_of(op) & IS_BIRTH;
}

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static uint64_t zagzig(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

/* --- writing --------------------------------------------------------------------------- */

void mw_columns_use(struct mw_columns *c, uint32_t most, uint8_t *memory)
{
	*c = (struct mw_columns){ .most = most };
	for (size_t i = 0; i < MW_COLUMNS; i++)
		c->bytes[i] = memory + i * most * MW_NUMBER_MOST;
}

void mw_columns_begin(struct mw_columns *c, bool packed, uint64_t ticks)
{
	c->packed = packed;
	c->events = 0;
	c->ticks = ticks;
	c->ref = c->location = 0;
	memset(c->used, 0, sizeof(c->used));
}

static void put_number(struct mw_columns *c, unsigned column, uint64_t v)
{
	uint8_t *end = mw_varint_put(c->bytes[column] + c->used[column], v);

	c->used[column] = (size_t)(end - c->bytes[column]);
	mw_assert(c->used[column] <= (size_t)c->most * MW_NUMBER_MOST);
}

bool mw_columns_add(struct mw_columns *c, const struct mw_trace_event *e)
{
	unsigned has = traits_of(e->op);
	bool moves = c->packed && e->op == MW_OP_REALLOC;

	mw_assert(c->events <= c->most && c->used[OPS] == c->events);
	mw_assert(!moves || (e->extra && e->extra <= c->births)); /* a birth that there was */
	if (c->events == c->most)
		return false;
	c->events++;
	c->bytes[OPS][c->used[OPS]++] = e->op;
	put_number(c, TIMES, zigzag(e->ticks - c->ticks));
	c->ticks = e->ticks;
	if (!c->packed && (has & HAS_REF)) {
		put_number(c, REFS, zigzag(e->ref - c->ref));
		c->ref = e->ref;
	}
	if (moves || (c->packed && (has & (HAS_REF | IS_BIRTH)) == HAS_REF))
		put_number(c, REFS, c->births - (moves ? e->extra : e->ref));
	if (has & HAS_SIZE)
		put_number(c, SIZES, e->size);
	if (has & HAS_LOCATION) {
		put_number(c, LOCATIONS, zigzag(e->location - c->location));
		c->location = e->location;
	}
	if ((has & HAS_EXTRA) && !moves)
		put_number(c, EXTRAS, e->op == MW_OP_REALLOC ? zigzag(e->extra - e->ref) : e->extra);
	if (has & IS_BIRTH)
		c->births++;
	return true;
}

size_t mw_columns_write(const struct mw_columns *c, uint8_t *to)
{
	uint8_t *p = to;

	for (unsigned i = 0; i < MW_COLUMNS; i++) {
		uint32_t n = (uint32_t)c->used[i];

		memcpy(p, &n, sizeof(n));
		memcpy(p + sizeof(n), c->bytes[i], n);
		p += sizeof(n) + n;
	}
	return (size_t)(p - to);
}

/* --- reading --------------------------------------------------------------------------- */

bool mw_columns_open(struct mw_columns_reader *r, bool packed, const uint8_t *contents, size_t bytes,
		     uint32_t events, uint64_t ticks)
{
	r->packed = packed;
	r->left = events;
	r->ticks = ticks;
	r->ref = r->location = 0;
	for (unsigned i = 0; i < MW_COLUMNS; i++) {
		uint32_t n;

		if (bytes < sizeof(n))
			return false;
		memcpy(&n, contents, sizeof(n));
		bytes -= sizeof(n);
		if (n > bytes)
			return false;
		r->at[i] = contents + sizeof(n);
		r->end[i] = r->at[i] + n;
		contents = r->end[i];
		bytes -= n;
	}
	return r->end[OPS] - r->at[OPS] == events;
}

/* The next number of a column, which has at most `bits` bits. False: there is none. */
static bool get_number(struct mw_columns_reader *r, unsigned column, unsigned bits, uint64_t *v)
{
	return mw_varint_get(&r->at[column], r->end[column], v) && (bits >= 64 || !(*v >> bits));
}

/* The same of a column of differences. */
static bool get_from(struct mw_columns_reader *r, unsigned column, unsigned bits, uint64_t *before)
{
	uint64_t v;

	if (!get_number(r, column, 64, &v))
		return false;
	*before += zagzig(v);
	return bits >= 64 || !(*before >> bits);
}

/* The birth of a packed event that ends or names a block. */
static bool get_birth(struct mw_columns_reader *r, uint64_t *birth)
{
	uint64_t age;

	if (!get_number(r, REFS, 64, &age) || age >= r->births)
		return false;
	*birth = r->births - age;
	return true;
}

static bool get_refs(struct mw_columns_reader *r, struct mw_trace_event *e, unsigned has)
{
	if (!r->packed) {
		if (!(has & HAS_REF))
			return true;
		if (!get_from(r, REFS, MW_REF_BITS, &r->ref))
			return false;
		e->ref = r->ref;
		return true;
	}
	if (e->op == MW_OP_REALLOC && !get_birth(r, &e->extra))
		return false;
	if (has & IS_BIRTH) {
		e->ref = ++r->births;
		return true;
	}
	return !(has & HAS_REF) || get_birth(r, &e->ref);
}

static bool get_extra(struct mw_columns_reader *r, struct mw_trace_event *e)
{
	if (e->op != MW_OP_REALLOC)
		return get_number(r, EXTRAS, 64, &e->extra);
	if (r->packed)
		return true;
	e->extra = e->ref;
	return get_from(r, EXTRAS, MW_REF_BITS, &e->extra);
}

bool mw_columns_next(struct mw_columns_reader *r, struct mw_trace_event *e)
{
	unsigned has;

	if (!r->left || !*r->at[OPS] || *r->at[OPS] >= MW_OPS)
		return false;
	*e = (struct mw_trace_event){ .op = *r->at[OPS]++ };
	has = traits[e->op];
	if (!get_from(r, TIMES, 64, &r->ticks) || !get_refs(r, e, has))
		return false;
	e->ticks = r->ticks;
	if ((has & HAS_SIZE) && !get_number(r, SIZES, SIZE_BITS, &e->size))
		return false;
	if (has & HAS_LOCATION) {
		if (!get_from(r, LOCATIONS, MW_EVENT_SIZE_SHIFT, &r->location))
			return false;
		e->location = (uint32_t)r->location;
	}
	if ((has & HAS_EXTRA) && !get_extra(r, e))
		return false;
	r->left--;
	return true;
}
