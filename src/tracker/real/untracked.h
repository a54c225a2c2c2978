/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * untracked.h - processes in which the tracker does nothing: those of sanitizers and valgrind. (real.c has one
 * more reason: another allocator in front.)
 *
 * Sanitizers and valgrind's tools replace malloc with their own allocator, see each allocation,
 * and check every access to a block and its surroundings. The tracker would make reads that they
 * forbid, hide the faults that they look for, or call them before they are ready. In these
 * processes every call passes through with its own arguments.
 */
#pragma once

/*
 * The reason, as a line for stderr; NULL: there is none. Allocates nothing. Calls
 * nothing that a sanitizer interposes. Any time after relocation.
 */
const char *mw_untracked_reason(void);
