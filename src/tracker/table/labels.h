/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * labels.h - the names of what threads work at, such as "orders#show": a number for each.
 *
 * A thread's shard has the number of its label, which sampled stacks take along (stacks/stacks.h). A number
 * means the same text as long as the process lives, also in forked children. There are at most
 * MW_LABEL_TEXTS texts, of MW_LABEL_MOST bytes each. All further ones are MW_LABEL_OTHER.
 *
 * A slot of the table is written once, by compare-and-swap. So nobody waits, and fork needs no lock.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	MW_LABEL_TEXTS = 4096,
	MW_LABEL_SLOTS = 2 * MW_LABEL_TEXTS, /* a label's number is its slot's, plus 1 */
	MW_LABEL_OTHER = MW_LABEL_SLOTS + 1,
	MW_LABEL_MOST = 128
};
_Static_assert(MW_LABEL_OTHER <= UINT16_MAX, "mw_shard.label");

/* The number of a text, which is cut after MW_LABEL_MOST bytes, between two characters. 0: it is empty. Any thread. */
uint32_t mw_label_of(const char *text, size_t n);
/* The text of a number, with a NUL behind it and none in it; 0: "". */
const char *mw_label_text(uint32_t label);
