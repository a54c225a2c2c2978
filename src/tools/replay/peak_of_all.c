/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peak_of_all.h"

/* Before the row changes. */
static void keep_amounts(const struct mw_peaks *p, struct mw_peak_row *r)
{
	if (r->number == p->number)
		return;
	r->kept = r->now;
	r->number = p->number;
}

static void subtract_blocks(struct mw_peaks *p, struct mw_peak_row *r, uint64_t bytes, uint64_t blocks)
{
	keep_amounts(p, r);
	r->now.bytes -= bytes;
	r->now.blocks -= blocks;
	p->now.bytes -= bytes;
	p->now.blocks -= blocks;
}

void mw_peak_begin(struct mw_peaks *p, struct mw_peak_row *r, uint64_t bytes)
{
	keep_amounts(p, r);
	r->now.bytes += bytes;
	r->now.blocks++;
	p->now.bytes += bytes;
	p->now.blocks++;
}

void mw_peak_end(struct mw_peaks *p, struct mw_peak_row *r, uint64_t bytes)
{
	subtract_blocks(p, r, bytes, 1);
}

void mw_peak_end_all(struct mw_peaks *p, struct mw_peak_row *r)
{
	subtract_blocks(p, r, r->now.bytes, r->now.blocks);
}

bool mw_peak_look(struct mw_peaks *p)
{
	if (p->now.bytes <= p->most.bytes)
		return false;
	p->most = p->now;
	p->number++;
	return true;
}

struct mw_peak_amount mw_peak_of(const struct mw_peaks *p, const struct mw_peak_row *r)
{
	return r->number == p->number ? r->kept : r->now;
}
