/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * aside.h - processes in which the tracker does nothing, for their own good.
 *
 * Sanitizers and valgrind's tools put an allocator of their own in malloc's place, check every
 * access to a block and its surroundings, and are told of each allocation themselves: the
 * tracker would read what they forbid, hide what they look for, or call them before they are
 * ready. There every call passes through, with the arguments that it came with.
 */
#ifndef MW_REAL_ASIDE_H
#define MW_REAL_ASIDE_H

/*
 * Why, in a line for stderr; NULL: not here. Allocates nothing but what dlsym does, and
 * calls nothing that a sanitizer interposes. Any time after relocation.
 */
const char *mw_aside(void);

#endif
