/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stacks_copy.h - a copy of the sampled stacks, for readers, in quiet. Any thread. */
#pragma once

#include "api/api.h"

/* born_bytes and born_samples are of samples from second `from` on, before `to`. NULL: no memory. */
struct mw_stacks *mw_stacks_copy(uint32_t from, uint32_t to);
void mw_stacks_copy_free(struct mw_stacks *);
/* Native frames in these bytes get their names now, since their library is about to be closed. */
void mw_stacks_name_library(uintptr_t start, uint64_t bytes);
