/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording/format/varint.h"
#include "large_pages.h"

size_t mw_pages_write(const struct mw_pages *p, uint64_t before, uint8_t *to)
{
	uint8_t *end = mw_varint_put(to, p->birth - before);

	return (size_t)(mw_varint_put(end, p->pages) - to);
}

bool mw_pages_next(struct mw_pages_reader *r, struct mw_pages *p)
{
	uint64_t more;

	if (!mw_varint_get(&r->at, r->end, &more) || !mw_varint_get(&r->at, r->end, &p->pages))
		return false;
	r->birth += more;
	p->birth = r->birth;
	return true;
}
