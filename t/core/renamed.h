/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * renamed.h - put before src/tracker/hooks/malloc.c and src/tracker/process/fork.c, and included by the
 * drivers here: what the tracker interposes is called app_* in a driver, so that
 * the malloc of a sanitizer, which checks the tracker's own memory, stays malloc.
 */
#pragma once

#ifdef CORE_RENAME
#include "hooks_renamed.h" /* of src/api/hooks.def, by t/tests.mk */
#else
#include <stddef.h>
#include <sys/types.h>

void *app_malloc(size_t);
void app_free(void *);
void *app_calloc(size_t, size_t);
void *app_realloc(void *, size_t);
void *app_reallocarray(void *, size_t, size_t);
int app_posix_memalign(void **, size_t, size_t);
size_t app_malloc_usable_size(void *);
pid_t app_fork(void);
#endif
