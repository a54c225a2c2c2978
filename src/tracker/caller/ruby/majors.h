/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * majors.h - how many of Ruby's collections were major.
 *
 * Only a major collection frees what has become old. So only what is still there after some of
 * them is kept for good. Ruby marks and sweeps bit by bit: a collection may begin many seconds
 * before it frees anything. It surely is done when the next one begins.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * begun: GC.stat's :major_gc_count; done: those of them that are surely done. False: no Ruby is
 * here, or where the count stands isn't known, or not yet. Any thread, without the GVL; callers
 * take turns. After the VM's end: the last values.
 */
bool mw_ruby_majors(uint32_t *begun, uint32_t *done);
