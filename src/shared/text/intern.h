/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * intern.h - numbers for pieces of bytes: equal ones have one number, in the order in which they
 * came, from 0 on.
 */
#pragma once

#include "buf.h"

struct mw_intern_slot {
	uint32_t id; /* its number + 1; 0: free */
	uint32_t hash;
};

/* Starts all zero. `failed` stays set after a failed allocation: check it at the end. */
struct mw_intern {
	struct mw_buf bytes; /* all pieces, one behind the other */
	size_t *ends;        /* of each piece, in bytes.p */
	uint32_t n;
	uint32_t cap;        /* of slots: a power of two; of ends: half of it */
	struct mw_intern_slot *slots;
	bool failed;
};

/* The number of this piece; UINT32_MAX: no memory. */
uint32_t mw_intern(struct mw_intern *, const void *, size_t);
uint32_t mw_intern_str(struct mw_intern *, const char *);
/* The piece with that number; it may move with the next new one. */
const char *mw_interned(const struct mw_intern *, uint32_t id, size_t *len);
void mw_intern_free(struct mw_intern *); /* all zero again */
