/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.h - where the parent's code ends and the child's begins. */
#pragma once

#include "child.h"

/*
 * In the child, right after the fork. Set in w: api, found, objects_at.of and .n and .at, areas,
 * wanted. All signals are blocked. Ends the child.
 */
_Noreturn void mw_child_run(struct mw_walk *w);
