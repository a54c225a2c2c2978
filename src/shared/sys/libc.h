/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libc.h - functions that C libraries have by different names, or lack: glibc (libc_glibc.c)
 * and musl (libc_musl.c). A library that is built against one of them runs with that one only.
 */
#pragma once

#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern ElfW(Dyn) _DYNAMIC[]; /* of the object that the caller is in */

struct mw_object {
	uintptr_t start, end; /* its mapped bytes, from the first to one past the last */
	const struct link_map *map; /* the dynamic linker's; of a program its name may be empty */
	uintptr_t eh_frame_hdr; /* 0: it has none */
};

/*
 * The loaded object that has this address. False: none, or it isn't loaded to its end yet. Async-signal-safe.
 * glibc: without a lock. musl: the dynamic linker's lock, if an object was loaded since the last call.
 */
bool mw_object_of(uintptr_t address, struct mw_object *);

/* The dynamic linker's own list of objects, and its state. Without a lock. */
const struct r_debug *mw_linker(void);
/*
 * Bytes, from an entry of that list on, in which musl keeps the library's thread-local variables of the threads that are
 * older than it. 0: none; glibc has them in blocks of malloc's, and musl other threads' beside their stacks.
 */
size_t mw_libc_entry_bytes(const struct link_map *);
/* Is it the C library's entry in that list? Calls no function. */
bool mw_is_libc(const struct link_map *);

/* Is the symbol of that very address defined there? A program may have an entry for a library's function. */
bool mw_libc_defines(const void *);

/* close_range(2), as errno tells. */
int mw_libc_close_range(unsigned from, unsigned to, int flags);

/* Such as "2.36"; NULL: another C library. */
const char *mw_glibc_version(void);

/* An error's text, never translated, without a lock; NULL: unknown. Async-signal-safe. */
const char *mw_libc_error(int);

/* As pthread_mutex_lock and pthread_rwlock_rdlock, until that moment of CLOCK_MONOTONIC. 0, or an errno. */
int mw_libc_lock_until(pthread_mutex_t *, const struct timespec *);
int mw_libc_rdlock_until(pthread_rwlock_t *, const struct timespec *);
/* For a lock whose waiting writers come before new readers, if the C library has that kind. */
#ifdef PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
#define MW_RWLOCK_UNLOCKED PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
#else
#define MW_RWLOCK_UNLOCKED PTHREAD_RWLOCK_INITIALIZER
#endif

/*
 * Calls last(NULL) as late as the C library can from a library's destructor: glibc after all libraries' destructors, musl
 * at once, since it runs no handler any more and the first library's destructor last. False: no memory.
 */
bool mw_libc_at_last(void (*last)(void *));

/*
 * In a process that was forked past fork(3), and has one thread: frees the dynamic linker's locks that are held by a
 * thread of the parent's for whose task `theirs` is true. Else exit(3) would wait for it for ever. An object that it was
 * loading stays half loaded. find comes before all others and before there are other threads, and takes the linker's lock.
 * musl: nothing.
 */
void mw_libc_find_locks(void);
void mw_libc_free_linker_locks(bool (*theirs)(uint32_t task));
/*
 * Does another thread than the one of this task hold one of these locks? For 0, in a forked child: does one that isn't
 * in it? Then dlopen may wait for ever. musl: false, as its fork waits for these locks.
 */
bool mw_libc_linker_is_locked(uint32_t mine);

/* Bytes of malloc's blocks in use; 0: it can't be asked. It takes malloc's locks. */
size_t mw_libc_malloc_in_use(void);
