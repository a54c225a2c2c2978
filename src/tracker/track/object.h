/* SPDX-License-Identifier: GPL-2.0-or-later */
/* object.h - where Ruby makes an object, for its samples: see mw_api.object_here. */
#pragma once

#include "tracker/table/object_sums.h"

uint32_t mw_object_here(uint32_t *stack);
void mw_object_gone(uint32_t id, uint32_t stack);
void mw_objects_count(const struct mw_object_sum *, size_t n, const struct mw_object_stack *,
		      size_t stacks);
