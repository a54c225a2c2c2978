/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sized.h - frees that are told the block's size. */
#pragma once

#include <stddef.h>

/*
 * free(p), where the app says that p has n bytes. Another size than it asked for is counted
 * (tracker/track/wrong_size.h). A right one costs 4 instructions more than free, and 18 to 22 on an
 * allocator with classes (t/cost.t).
 */
void mw_free_sized(void *p, size_t n);
