/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * location.c - from a typed or copied location back to its row.
 *
 * Inputs are compared in place, never copied to a buffer of fixed size: any
 * length is fine.
 */
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "report.h"

enum { SHORT_LEAST = 100 }; /* bytes: no shorter location is linked by an id */

/* A location as name and address; the address is "0x7f..", or empty and NULL. */
struct parts {
	const char *name, *addr;
	size_t name_len, addr_len;
	uint64_t by_addr; /* the address, if a tab is in front of it; else 0 */
};

static bool hex_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* "NAME [0xADDR]", or with a tab; anything else is all name. */
static struct parts split_location(const char *s, size_t n)
{
	struct parts p = { s, NULL, n, 0, 0 };
	size_t i = n;

	if (!n || s[n - 1] != ']')
		return p;
	for (i = n - 1; i > 0 && hex_digit(s[i - 1]); i--)
		;
	/* s[i] is the first digit now, behind " [0x" */
	if (i < 4 || i == n - 1 || s[i - 1] != 'x' || s[i - 2] != '0' || s[i - 3] != '[' ||
	    (s[i - 4] != ' ' && s[i - 4] != '\t'))
		return p;
	p.name_len = i - 4;
	p.addr = s + i - 2;
	p.addr_len = n - 1 - (i - 2);
	return p;
}

static bool same(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a_len == b_len && (!a_len || !memcmp(a, b, a_len));
}

/*
 * "MODULE(+0xOFFSET) [0xADDR]", as a line on stderr has it if the symbol
 * couldn't be looked up there: module and address must be equal.
 */
static bool same_location(const struct parts *want, const struct parts *have)
{
	const char *open = want->name_len ? memrchr(want->name, '(', want->name_len) : NULL;
	size_t n = open ? (size_t)(open - want->name) + 1 : 0;

	return open && want->name_len > n && open[1] == '+' && want->addr_len &&
	       same(want->addr, want->addr_len, have->addr, have->addr_len) && have->name_len > n &&
	       !memcmp(want->name, have->name, n);
}

/* Looks behind the module's path, which may contain that, too. */
uint32_t mw_location_bare(const struct mw_row *r)
{
	const char *from = r->location + r->file_len;
	const char *s = r->kind == MW_KIND_NATIVE && r->file_len ?
				memrchr(from, '[', r->location_len - r->file_len) :
				NULL;

	return !s || s == from || s[-1] != ' ' ? r->location_len : (uint32_t)(s - 1 - r->location);
}

uint64_t mw_location_address(const char *s, size_t n)
{
	uint64_t addr = 0;
	size_t i;

	if (!n || s[n - 1] != ']')
		return 0;
	for (i = n - 1; i > 0 && hex_digit(s[i - 1]); i--)
		;
	if (i < 3 || memcmp(s + i - 3, "[0x", 3) != 0)
		return 0;
	while (s[i] == '0')
		i++;
	if (n - 1 - i > 16)
		return 0;
	for (; i < n - 1; i++)
		addr = addr << 4 | (uint64_t)(s[i] <= '9' ? s[i] - '0' : (s[i] | 0x20) - 'a' + 10);
	return addr;
}

/*
 * The closeness of the wanted location to the row's: 4 the same, 0 another one. As in mwrap 2.x,
 * "ANYTHING\t[0xADDR]" matches any native row at that address (1), unless a name matches.
 */
static int closeness(const struct parts *want, const struct parts *have, const struct mw_row *r)
{
	if (same(want->name, want->name_len, have->name, have->name_len)) {
		if (same(want->addr, want->addr_len, have->addr, have->addr_len))
			return 4;
		return want->addr_len ? 2 : 3;
	}
	if (same_location(want, have))
		return 2;
	return want->by_addr && r->kind == MW_KIND_NATIVE &&
	       mw_location_address(r->location, r->location_len) == want->by_addr;
}

/* Does any escape of the row's location give these bytes? */
static bool same_escaped(const struct mw_row *r, const char *s, size_t n, struct mw_buf *b)
{
	static void (*const escapes[])(struct mw_buf *, const char *, size_t) = {
		mw_buf_tsv,
		mw_buf_text,
		mw_buf_utf8,
	};

	for (size_t i = 0; i < sizeof(escapes) / sizeof(*escapes); i++) {
		b->n = 0;
		escapes[i](b, r->location, r->location_len);
		if (!b->failed && same(b->p, b->n, s, n))
			return true;
	}
	return false;
}

/* Escaping never shortens a location, and changes only those with these characters. */
static bool may_be_escaped(const struct mw_row *r, size_t n)
{
	if (r->location_len > n)
		return false;
	for (uint32_t i = 0; i < r->location_len; i++) {
		unsigned char c = (unsigned char)r->location[i];

		if (c < 0x20 || c == '\\' || c >= 0x80)
			return true;
	}
	return false;
}

static const struct mw_row *find_escaped(const struct mw_snapshot *snap, const char *s, size_t n)
{
	const struct mw_row *best = NULL;
	struct mw_buf b = { 0 };

	for (size_t i = 0; i < snap->n; i++) {
		const struct mw_row *r = &snap->rows[i];

		if ((!best || r->total > best->total) && may_be_escaped(r, n) && same_escaped(r, s, n, &b))
			best = r;
	}
	mw_buf_free(&b);
	return best;
}

/* Two hashes of 32 bits: a script can compute those. */
static void short_id(const struct mw_row *r, struct mw_buf *b, char id[MW_SHORT_ID + 1])
{
	struct parts p;

	b->n = 0;
	mw_buf_utf8(b, r->location, r->location_len);
	p = split_location(b->failed ? r->location : b->p, b->failed ? r->location_len : b->n);
	snprintf(id, MW_SHORT_ID + 1, "~%08x%08x", (unsigned)XXH32(p.name, p.name_len, 0),
		 (unsigned)XXH32(p.name, p.name_len, 1));
}

void mw_location_short(const struct mw_row *r, char id[MW_SHORT_ID + 1])
{
	struct mw_buf b = { 0 };

	short_id(r, &b, id);
	mw_buf_free(&b);
}

/* The number of rows with that short id; *row: the last of them. */
static size_t find_short(const struct mw_snapshot *snap, const char *s, size_t n, const struct mw_row **row)
{
	struct mw_buf b = { 0 };
	char id[MW_SHORT_ID + 1];
	size_t found = 0;

	if (n != MW_SHORT_ID || *s != '~')
		return 0;
	for (size_t i = 0; i < snap->n; i++) {
		if (snap->rows[i].location_len < SHORT_LEAST)
			continue;
		short_id(&snap->rows[i], &b, id);
		if (memcmp(id, s, n) == 0) {
			*row = &snap->rows[i];
			found++;
		}
	}
	mw_buf_free(&b);
	return found;
}

int mw_location_look(const struct mw_snapshot *snap, const char *s, size_t n, const struct mw_row **row)
{
	size_t found;

	*row = mw_location_find(snap, s, n);
	if (*row)
		return 0;
	found = find_short(snap, s, n, row);
	return found == 0 ? 1 : found > 1 ? 2 : 0;
}

const struct mw_row *mw_location_find(const struct mw_snapshot *snap, const char *s, size_t n)
{
	const struct mw_row *best = NULL;
	struct parts want = split_location(s, n);
	int best_closeness = 0;

	want.by_addr = want.addr_len && s[want.name_len] == '\t' ? mw_location_address(s, n) : 0;

	for (size_t i = 0; i < snap->n; i++) {
		const struct mw_row *r = &snap->rows[i];
		struct parts have = split_location(r->location, r->location_len);
		int c = closeness(&want, &have, r);

		if (same(r->location, r->location_len, s, n))
			c = 5;
		if (c > best_closeness || (c && c == best_closeness && r->total > best->total)) {
			best = r;
			best_closeness = c;
		}
	}
	return best ? best : find_escaped(snap, s, n);
}

static bool is_chain_of(const struct mw_row *r, const struct mw_row *line)
{
	static const char mark[] = " < ";
	size_t n = line->location_len;

	return r->location_len > n + strlen(mark) && !memcmp(r->location, line->location, n) &&
	       !memcmp(r->location + n, mark, strlen(mark));
}

void mw_location_ids(const struct mw_snapshot *snap, const struct mw_row *row, struct mw_buf *ids)
{
	for (size_t i = 0; i < snap->n; i++)
		if (&snap->rows[i] == row || is_chain_of(&snap->rows[i], row))
			mw_buf_add(ids, &snap->rows[i].id, sizeof(row->id));
}
