/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_descriptors.h - a table of descriptors of a thread's own. System calls only. */
#pragma once

#include <stdbool.h>

/*
 * Gives the calling thread a table of descriptors of its own, with 0 to 2 and
 * `keep` in it (-1: none). It ends with the thread. False: the kernel can't
 * (before Linux 5.9), and the thread still shares the process's table.
 */
bool mw_own_descriptors(int keep);
/* Can the kernel do that? Changes nothing. */
bool mw_can_own_descriptors(void);
