/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * renamed.h - put before src/hooks/malloc.c and src/host/fork.c, and included by the
 * drivers here: what the tracker interposes is called app_* in a driver, so that
 * the malloc of a sanitizer, which checks the tracker's own memory, stays malloc.
 */
#ifndef CORE_RENAMED_H
#define CORE_RENAMED_H

#ifdef CORE_RENAME
#define malloc app_malloc
#define free app_free
#define calloc app_calloc
#define realloc app_realloc
#define reallocarray app_reallocarray
#define memalign app_memalign
#define posix_memalign app_posix_memalign
#define aligned_alloc app_aligned_alloc
#define valloc app_valloc
#define pvalloc app_pvalloc
#define malloc_usable_size app_malloc_usable_size
#define cfree app_cfree
#define free_sized app_free_sized
#define free_aligned_sized app_free_aligned_sized
#define fork app_fork
#define daemon app_daemon
#define forkpty app_forkpty
#define dlclose app_dlclose
#define pthread_getattr_np app_pthread_getattr_np
#define mmap app_mmap
#define mmap64 app_mmap64
#define munmap app_munmap
#define raise app_raise
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

#endif
