/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "marks_memory.h"

#include <string.h>

enum { PAGES = MW_MARKS_SLAB / MW_MARKS_PAGE, ROOM = MW_MARKS_PAGE - sizeof(void *) };

struct mw_marks_link {
	struct mw_marks_link *next;
	unsigned char bytes[ROOM];
};

void mw_marks_memory_start(struct mw_marks_memory *m)
{
	m->begun = m->out = 0;
	m->free = NULL;
}

void *mw_marks_page(struct mw_marks_memory *m, const struct mw_api *api)
{
	void *page = m->free;
	char *slab;

	if (page) {
		memcpy(&m->free, page, sizeof(m->free));
		m->out++;
		return page;
	}
	if (m->begun == m->slabs_n * PAGES) {
		slab = api->keep && m->slabs_n < MW_MARKS_SLABS ? api->keep(MW_MARKS_SLAB) : NULL;
		if (!slab)
			return NULL;
		m->slabs[m->slabs_n] = slab; /* before it counts: a child may be forked in between */
		m->slabs_n++;
	}
	page = m->slabs[m->begun / PAGES] + (size_t)(m->begun % PAGES) * MW_MARKS_PAGE;
	m->begun++;
	m->out++;
	return page;
}

void mw_marks_page_free(struct mw_marks_memory *m, void *page)
{
	memcpy(page, &m->free, sizeof(m->free));
	m->free = page;
	m->out--;
}

/* --- streams --------------------------------------------------------------------------- */

static void put_byte(struct mw_marks_stream *s, struct mw_marks_memory *m, const struct mw_api *api,
		     unsigned char byte)
{
	struct mw_marks_link *link;

	if (s->failed)
		return;
	if (s->bytes % ROOM == 0) {
		link = mw_marks_page(m, api);
		if (!link) {
			s->failed = true;
			return;
		}
		link->next = NULL;
		if (s->last)
			s->last->next = link;
		else
			s->first = link;
		s->last = link;
	}
	s->last->bytes[s->bytes++ % ROOM] = byte;
}

/* Seven bits a byte, the lowest first; the highest bit says that another one follows. */
void mw_marks_put(struct mw_marks_stream *s, struct mw_marks_memory *m, const struct mw_api *api,
		  uint64_t v)
{
	for (; v > 127; v >>= 7)
		put_byte(s, m, api, (unsigned char)(v | 128));
	put_byte(s, m, api, (unsigned char)v);
}

/* The sign becomes the lowest bit. */
void mw_marks_put_signed(struct mw_marks_stream *s, struct mw_marks_memory *m, const struct mw_api *api,
			 uint64_t v)
{
	mw_marks_put(s, m, api, v >> 63 ? ~v << 1 | 1 : v << 1);
}

void mw_marks_stream_free(struct mw_marks_stream *s, struct mw_marks_memory *m)
{
	for (struct mw_marks_link *link = s->first, *next; link; link = next) {
		next = link->next;
		mw_marks_page_free(m, link);
	}
	*s = (struct mw_marks_stream){ 0 };
}

struct mw_marks_reader mw_marks_read_from(const struct mw_marks_stream *s)
{
	return (struct mw_marks_reader){ s->first, 0, s->bytes };
}

bool mw_marks_get(struct mw_marks_reader *r, uint64_t *v)
{
	unsigned char byte = 128;

	*v = 0;
	for (unsigned shift = 0; byte & 128; shift += 7) {
		if (!r->left)
			return false;
		if (r->at == ROOM) {
			r->link = r->link->next;
			r->at = 0;
		}
		byte = r->link->bytes[r->at++];
		r->left--;
		*v |= (uint64_t)(byte & 127) << shift;
	}
	return true;
}

bool mw_marks_get_signed(struct mw_marks_reader *r, uint64_t *v)
{
	if (!mw_marks_get(r, v))
		return false;
	*v = *v & 1 ? ~(*v >> 1) : *v >> 1;
	return true;
}
