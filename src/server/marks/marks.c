/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "marks.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "shared/report/sums.h"

enum {
	HEADS = MW_MARKS_PAGE / sizeof(uint32_t),
	HEADS_N = HEADS * MW_MARKS_HEADS,
	MANY = 1000 /* places; fewer may stay unused */
};

_Static_assert(sizeof(struct mw_marks_place) * MW_MARKS_PLACES <= MW_MARKS_PAGE, "places fit into a page");
_Static_assert((HEADS_N & (HEADS_N - 1)) == 0, "a power of two");

void mw_marks_start(struct mw_marks *m)
{
	m->n = m->gone = m->places = m->texts_left = 0;
	m->texts = m->text_pages = NULL;
	memset(m->heads, 0, sizeof(m->heads));
	mw_marks_memory_start(&m->memory);
}

uint64_t mw_marks_bytes(const struct mw_marks *m)
{
	return (uint64_t)m->memory.out * MW_MARKS_PAGE;
}

/* --- places ---------------------------------------------------------------------------- */

uint64_t mw_marks_key(const struct mw_row *r)
{
	bool by_module = r->kind == MW_KIND_NATIVE && r->file_len;
	uint64_t seed = (uint64_t)r->kind << 1 | by_module;

	if (!by_module)
		return XXH3_64bits_withSeed(r->location, mw_location_bare(r), seed);
	return XXH3_64bits_withSeed(r->location, r->file_len, seed ^ r->at << 3);
}

const struct mw_marks_place *mw_marks_place(const struct mw_marks *m, uint32_t i)
{
	return &m->pages[i / MW_MARKS_PLACES][i % MW_MARKS_PLACES];
}

struct mw_row mw_marks_row(const struct mw_marks_place *p)
{
	return (struct mw_row){ .location = p->text,
				.location_len = p->text_len,
				.file_len = p->file_len,
				.at = p->at,
				.kind = (enum mw_kind)p->kind,
				.id = MW_ID_NONE };
}

void mw_marks_numbers_add(struct mw_marks_numbers *to, const struct mw_row *r)
{
	const uint64_t add[] = { r->live_bytes, r->live,         r->allocations,    r->frees,
				 r->objects,    r->object_bytes, r->object_variance };

	_Static_assert(sizeof(add) == sizeof(to->v), "all numbers");
	for (int k = 0; k < MW_MARKS_NUMBERS; k++)
		to->v[k] = mw_sum_u64(to->v[k], add[k]);
}

void mw_marks_numbers_set(const struct mw_marks_numbers *from, struct mw_row *r)
{
	r->live_bytes = from->v[MW_MARKS_BYTES];
	r->live = from->v[MW_MARKS_BLOCKS];
	r->allocations = from->v[MW_MARKS_ALLOCATIONS];
	r->frees = from->v[MW_MARKS_FREES];
	r->objects = from->v[MW_MARKS_OBJECTS];
	r->object_bytes = from->v[MW_MARKS_OBJECT_BYTES];
	r->object_variance = from->v[MW_MARKS_VARIANCE];
}

static struct mw_marks_place *place_at(struct mw_marks *m, uint32_t i)
{
	return &m->pages[i / MW_MARKS_PLACES][i % MW_MARKS_PLACES];
}

static uint32_t *head_of_key(const struct mw_marks *m, uint64_t key)
{
	uint32_t i = (uint32_t)key & (HEADS_N - 1);

	return m->heads[i / HEADS] ? &m->heads[i / HEADS][i % HEADS] : NULL;
}

uint32_t mw_marks_place_of(const struct mw_marks *m, uint64_t key)
{
	const uint32_t *h = head_of_key(m, key);
	uint32_t i = h ? *h : 0;

	while (i && mw_marks_place(m, i - 1)->key != key)
		i = mw_marks_place(m, i - 1)->next;
	return i - 1;
}

/* Keeps n bytes with a NUL; NULL: no memory. */
static const char *keep_mark_text(struct mw_marks *m, const struct mw_api *api, const char *s, uint32_t n)
{
	char *to;

	if (n + 1 > m->texts_left) {
		to = mw_marks_page(&m->memory, api);
		if (!to)
			return NULL;
		memcpy(to, &m->text_pages, sizeof(m->text_pages));
		m->text_pages = to;
		m->texts = to + sizeof(m->text_pages);
		m->texts_left = MW_MARKS_PAGE - sizeof(m->text_pages);
	}
	to = m->texts;
	memcpy(to, s, n);
	to[n] = '\0';
	m->texts += n + 1;
	m->texts_left -= n + 1;
	return to;
}

static bool make_heads(struct mw_marks *m, const struct mw_api *api)
{
	for (size_t i = 0; i < MW_MARKS_HEADS; i++) {
		if (!m->heads[i])
			m->heads[i] = mw_marks_page(&m->memory, api);
		if (!m->heads[i])
			return false;
		memset(m->heads[i], 0, MW_MARKS_PAGE);
	}
	return true;
}

/* UINT32_MAX: no memory. */
static uint32_t add_place(struct mw_marks *m, const struct mw_api *api, const struct mw_row *r, uint64_t key)
{
	uint32_t i = m->places, n = mw_location_bare(r);
	struct mw_marks_place **page = &m->pages[i / MW_MARKS_PLACES];
	const char *text;

	if (n > MW_MARKS_TEXT)
		n = MW_MARKS_TEXT;
	text = keep_mark_text(m, api, r->location, n);
	if (text && i % MW_MARKS_PLACES == 0)
		*page = mw_marks_page(&m->memory, api);
	if (!text || !*page)
		return UINT32_MAX;
	*place_at(m, i) = (struct mw_marks_place){
		.key = key,
		.text = text,
		.at = r->at,
		.next = *head_of_key(m, key),
		.text_len = n & 4095, /* it is less */
		.file_len = (r->file_len < n ? r->file_len : n) & 4095,
		.kind = r->kind & 3,
	};
	*head_of_key(m, key) = ++m->places;
	return i;
}

/* The number of the place of each row, malloc'ed; NULL: no memory. */
static uint32_t *find_places(struct mw_marks *m, const struct mw_api *api, const struct mw_snapshot *s)
{
	uint32_t *of = malloc((s->n + 1) * sizeof(*of));
	bool had = of && (m->places || make_heads(m, api));

	for (size_t i = 0; had && i < s->n; i++) {
		uint64_t key = mw_marks_key(&s->rows[i]);

		of[i] = mw_marks_place_of(m, key);
		if (of[i] == UINT32_MAX)
			of[i] = add_place(m, api, &s->rows[i], key);
		had = of[i] != UINT32_MAX;
	}
	if (had)
		return of;
	free(of);
	return NULL;
}

/* --- changes ----------------------------------------------------------------------------- */

/* Adds the places and numbers by which `before` differs from `after`, to be added to `after`. */
static void put_changes(struct mw_marks *m, const struct mw_api *api, struct mw_marks_stream *to,
			const struct mw_marks_numbers *before, const struct mw_marks_numbers *after)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < m->places; i++) {
		const struct mw_marks_numbers *b = before ? &before[i] : &place_at(m, i)->now;

		if (!memcmp(b, &after[i], sizeof(*b)))
			continue;
		mw_marks_put(to, &m->memory, api, i - last);
		for (int k = 0; k < MW_MARKS_NUMBERS; k++)
			mw_marks_put_signed(to, &m->memory, api, b->v[k] - after[i].v[k]);
		last = i;
	}
}

static void apply_changes(struct mw_marks_numbers *to, const struct mw_marks_stream *changes)
{
	struct mw_marks_reader r = mw_marks_read_from(changes);
	uint64_t gap, v;

	for (uint32_t i = 0; mw_marks_get(&r, &gap);) {
		i += (uint32_t)gap;
		for (int k = 0; k < MW_MARKS_NUMBERS; k++)
			if (mw_marks_get_signed(&r, &v))
				to[i].v[k] += v;
	}
}

static struct mw_marks_numbers *no_numbers(const struct mw_marks *m)
{
	return calloc((size_t)m->places + 1, sizeof(struct mw_marks_numbers));
}

static struct mw_marks_numbers *newest(const struct mw_marks *m)
{
	struct mw_marks_numbers *v = no_numbers(m);

	for (uint32_t i = 0; v && i < m->places; i++)
		v[i] = mw_marks_place(m, i)->now;
	return v;
}

struct mw_marks_numbers *mw_marks_read(const struct mw_marks *m, const struct mw_named_mark *mark)
{
	struct mw_marks_numbers *v = newest(m);

	for (uint32_t i = m->n - 1; v && &m->v[i] > mark; i--)
		apply_changes(v, &m->v[i - 1].changes);
	return v;
}

/* --- marks ------------------------------------------------------------------------------- */

const struct mw_named_mark *mw_marks_find(const struct mw_marks *m, const char *name, size_t len)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (strlen(m->v[i].name) == len && !memcmp(m->v[i].name, name, len))
			return &m->v[i];
	return NULL;
}

/* Takes v[i] out, whose changes nobody needs any more. */
static void close_gap(struct mw_marks *m, uint32_t i)
{
	mw_marks_stream_free(&m->v[i].changes, &m->memory);
	memmove(&m->v[i], &m->v[i + 1], (m->n - i - 1) * sizeof(m->v[0]));
	m->n--;
}

static void drop_oldest(struct mw_marks *m)
{
	close_gap(m, 0);
	m->gone++;
}

/* Needs no memory: the numbers change where they are. */
static void drop_newest(struct mw_marks *m)
{
	struct mw_marks_stream *changes = &m->v[m->n - 2].changes;
	struct mw_marks_reader r = mw_marks_read_from(changes);
	uint64_t gap, v;

	for (uint32_t i = 0; mw_marks_get(&r, &gap);) {
		i += (uint32_t)gap;
		for (int k = 0; k < MW_MARKS_NUMBERS; k++)
			if (mw_marks_get_signed(&r, &v))
				place_at(m, i)->now.v[k] += v;
	}
	mw_marks_stream_free(changes, &m->memory);
	m->n--;
}

/* Makes the changes of v[i - 1] those from v[i + 1] on. False: no memory. */
static bool join_changes(struct mw_marks *m, const struct mw_api *api, uint32_t i)
{
	struct mw_marks_numbers *sum = no_numbers(m), *none = no_numbers(m);
	struct mw_marks_stream joined = { 0 };
	bool had = sum && none;

	if (had) {
		apply_changes(sum, &m->v[i].changes);
		apply_changes(sum, &m->v[i - 1].changes);
		put_changes(m, api, &joined, sum, none);
		had = !joined.failed;
	}
	mw_marks_stream_free(had ? &m->v[i - 1].changes : &joined, &m->memory);
	if (had)
		m->v[i - 1].changes = joined;
	free(sum);
	free(none);
	return had;
}

/* The places go, too. */
static void empty(struct mw_marks *m)
{
	uint32_t gone = m->gone;

	mw_marks_start(m);
	m->gone = gone;
}

bool mw_marks_remove(struct mw_marks *m, const struct mw_api *api, const char *name)
{
	const struct mw_named_mark *mark = mw_marks_find(m, name, strlen(name));
	uint32_t i = mark ? (uint32_t)(mark - m->v) : 0;

	if (!mark)
		return false;
	if (m->n == 1) {
		empty(m);
		return true;
	}
	if (i + 1 == m->n) {
		drop_newest(m);
		return true;
	}
	while (i && !join_changes(m, api, i)) {
		drop_oldest(m); /* without memory for these older ones go */
		i--;
	}
	close_gap(m, i);
	return true;
}

/* --- places that nobody needs --------------------------------------------------------------- */

/* For each place: does any mark have something of it? malloc'ed. *n: how many; NULL: no memory. */
static bool *used_places(const struct mw_marks *m, uint32_t *n)
{
	bool *used = calloc((size_t)m->places + 1, sizeof(*used));
	uint64_t gap, v;

	*n = 0;
	for (uint32_t i = 0; used && i < m->places; i++)
		for (int k = 0; k < MW_MARKS_NUMBERS; k++)
			used[i] |= mw_marks_place(m, i)->now.v[k] != 0;
	for (uint32_t k = 0; used && k + 1 < m->n; k++) {
		struct mw_marks_reader r = mw_marks_read_from(&m->v[k].changes);

		for (uint32_t i = 0; mw_marks_get(&r, &gap);) {
			i += (uint32_t)gap;
			used[i] = true;
			for (int number = 0; number < MW_MARKS_NUMBERS; number++)
				(void)mw_marks_get_signed(&r, &v);
		}
	}
	for (uint32_t i = 0; used && i < m->places; i++)
		*n += used[i];
	return used;
}

/* Copies what m has to an empty one, but for unused places; their order stays. False: no memory. */
static bool copy_used(struct mw_marks *to, const struct mw_marks *m, const struct mw_api *api,
		      const bool *used)
{
	struct mw_marks_numbers *v = NULL, *none;
	bool had = make_heads(to, api);

	for (uint32_t i = 0; had && i < m->places; i++) {
		const struct mw_marks_place *p = mw_marks_place(m, i);
		struct mw_row r = mw_marks_row(p);
		uint32_t at = used[i] ? add_place(to, api, &r, p->key) : 0;

		had = at != UINT32_MAX;
		if (had && used[i])
			place_at(to, at)->now = p->now;
	}
	none = no_numbers(to);
	for (uint32_t k = 0; had && none && k < m->n; k++) {
		uint32_t at = 0;

		to->v[k] = m->v[k];
		to->v[k].changes = (struct mw_marks_stream){ 0 };
		to->n++;
		v = no_numbers(m);
		if (v)
			apply_changes(v, &m->v[k].changes);
		for (uint32_t i = 0; v && i < m->places; i++)
			if (used[i])
				v[at++] = v[i];
		if (v)
			put_changes(to, api, &to->v[k].changes, v, none);
		had = v && !to->v[k].changes.failed;
		free(v);
	}
	had = had && none;
	free(none);
	return had;
}

static void free_pages(struct mw_marks *m, struct mw_marks_memory *memory)
{
	for (uint32_t i = 0; i < m->n; i++)
		mw_marks_stream_free(&m->v[i].changes, memory);
	for (uint32_t i = 0; i * MW_MARKS_PLACES < m->places; i++)
		mw_marks_page_free(memory, m->pages[i]);
	for (size_t i = 0; i < MW_MARKS_HEADS; i++)
		if (m->heads[i])
			mw_marks_page_free(memory, m->heads[i]);
	for (void *page = m->text_pages, *next; page; page = next) {
		memcpy(&next, page, sizeof(next));
		mw_marks_page_free(memory, page);
	}
}

/* Makes them anew if most places are unused, and there is the room for both meanwhile. */
static void drop_unused(struct mw_marks *m, const struct mw_api *api)
{
	struct mw_marks *to;
	uint32_t n;
	bool *used = used_places(m, &n), done;

	to = used && n < m->places / 2 ? calloc(1, sizeof(*to)) : NULL;
	if (to) {
		to->gone = m->gone;
		to->memory = m->memory;
		done = copy_used(to, m, api, used);
		free_pages(done ? m : to, &to->memory);
		m->memory = to->memory;
		if (done)
			*m = *to;
	}
	free(to);
	free(used);
}

/* The numbers of these rows by place, malloc'ed; NULL: no memory. */
static struct mw_marks_numbers *numbers_of(const struct mw_marks *m, const struct mw_snapshot *s,
					   const uint32_t *of)
{
	struct mw_marks_numbers *v = no_numbers(m);

	for (size_t i = 0; v && i < s->n; i++)
		mw_marks_numbers_add(&v[of[i]], &s->rows[i]);
	return v;
}

/* Makes these rows the newest mark's. False: no memory. */
static bool take_rows(struct mw_marks *m, const struct mw_api *api, const struct mw_snapshot *s)
{
	struct mw_marks_stream changes = { 0 };
	uint32_t *of = find_places(m, api, s);
	struct mw_marks_numbers *now = of ? numbers_of(m, s, of) : NULL;

	if (now && m->n)
		put_changes(m, api, &changes, NULL, now);
	free(of);
	if (!now || changes.failed) {
		mw_marks_stream_free(&changes, &m->memory);
		free(now);
		return false;
	}
	if (m->n)
		m->v[m->n - 1].changes = changes;
	for (uint32_t i = 0; i < m->places; i++)
		place_at(m, i)->now = now[i];
	free(now);
	return true;
}

int mw_marks_add(struct mw_marks *m, const struct mw_api *api, const char *name,
		 const struct mw_moment *moment, const struct mw_snapshot *s)
{
	size_t n = strlen(name);

	mw_marks_remove(m, api, name);
	if (m->n == MW_MARKS_MAX)
		drop_oldest(m);
	if (m->places > 2 * s->n + MANY)
		drop_unused(m, api);
	while (!take_rows(m, api, s)) {
		bool fresh = !m->n; /* all room was there for this one */

		if (m->n > 1) {
			drop_oldest(m);
			continue;
		}
		m->gone += m->n;
		empty(m); /* places of before may need the room */
		if (fresh)
			return -1;
	}
	m->v[m->n] = (struct mw_named_mark){ .moment = *moment };
	memcpy(m->v[m->n++].name, name, n < MW_MARKS_NAME ? n : (size_t)MW_MARKS_NAME);
	return 0;
}
