/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libc_musl.c - musl's side of libc.h.
 *
 * musl has no lookup of an object by an address. It never unloads one either, and appends what it loads. So a
 * table that only grows holds the objects seen so far. A lookup that fails asks musl how many it has loaded, and
 * reads them again if that is more. musl lets go of its lock before it runs constructors: an
 * allocation in one of them may ask.
 */
#include "libc.h"

#ifndef __GLIBC__

#include <locale.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "musl_block.h"

enum { OBJECTS = 4096, PAGE = 4096 };

extern const struct r_debug *const _dl_debug_addr;

static struct mw_object objects[OBJECTS]; /* below n: each written once */
static uint32_t n; /* release */
static uint64_t loaded; /* one more than musl's count when they were read, which begins at 0. The reader's */
static uint32_t reading; /* a thread reads them, or a handler interrupted that */

const struct r_debug *mw_linker(void)
{
	return _dl_debug_addr;
}

size_t mw_libc_entry_bytes(const struct link_map *m)
{
	size_t bytes;

	return mw_musl_is_block(m) && mw_musl_plain(m, &bytes) ? bytes : 0;
}

bool mw_is_libc(const struct link_map *m)
{
	return m->l_addr == _dl_debug_addr->r_ldbase;
}

static int take_load_count(struct dl_phdr_info *info, size_t bytes, void *to)
{
	(void)bytes;
	*(uint64_t *)to = info->dlpi_adds;
	return 1;
}

static struct mw_object of(const struct dl_phdr_info *info)
{
	struct mw_object o = { .start = UINTPTR_MAX };
	const void *dynamic = NULL;

	for (const ElfW(Phdr) *h = info->dlpi_phdr; h < info->dlpi_phdr + info->dlpi_phnum; h++) {
		uintptr_t at = info->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_LOAD) {
			if (at < o.start)
				o.start = at & -(uintptr_t)PAGE;
			if (at + h->p_memsz > o.end)
				o.end = (at + h->p_memsz + PAGE - 1) & -(uintptr_t)PAGE;
		} else if (h->p_type == PT_GNU_EH_FRAME) {
			o.eh_frame_hdr = at;
		} else if (h->p_type == PT_DYNAMIC) {
			dynamic = (const void *)at;
		}
	}
	for (const struct link_map *m = mw_linker()->r_map; m && dynamic; m = m->l_next)
		if (m->l_ld == dynamic)
			o.map = m;
	return o;
}

static int add_object(struct dl_phdr_info *info, size_t bytes, void *at)
{
	uint32_t *i = at;
	struct mw_object o;

	(void)bytes;
	if (*i >= OBJECTS)
		return 1;
	o = of(info);
	for (uint32_t k = 0; k < *i; k++)
		if (objects[k].start == o.start)
			return 0;
	if (o.map)
		objects[(*i)++] = o;
	return 0;
}

static void read_again(void)
{
	uint64_t now = 0;
	uint32_t i = n;

	if (__atomic_exchange_n(&reading, 1, __ATOMIC_ACQUIRE))
		return;
	(void)dl_iterate_phdr(take_load_count, &now);
	if (++now != loaded) {
		(void)dl_iterate_phdr(add_object, &i);
		__atomic_store_n(&n, i, __ATOMIC_RELEASE);
		loaded = now;
	}
	__atomic_store_n(&reading, 0, __ATOMIC_RELEASE);
}

static bool find_listed(uintptr_t address, struct mw_object *o)
{
	uint32_t end = __atomic_load_n(&n, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < end; i++) {
		if (address - objects[i].start < objects[i].end - objects[i].start) {
			*o = objects[i];
			return true;
		}
	}
	return false;
}

bool mw_object_of(uintptr_t address, struct mw_object *o)
{
	if (find_listed(address, o))
		return true;
	read_again();
	return find_listed(address, o);
}

/* It is asked in a process that ran before only, which isn't served. */
bool mw_libc_defines(const void *f)
{
	return f != NULL;
}

int mw_libc_close_range(unsigned from, unsigned to, int flags)
{
	return (int)syscall(SYS_close_range, from, to, flags);
}

const char *mw_glibc_version(void)
{
	return NULL;
}

static locale_t c_locale; /* one of musl's own: static memory */

__attribute__((constructor)) static void find_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

const char *mw_libc_error(int e)
{
	return c_locale ? strerror_l(e, c_locale) : NULL;
}

/* musl waits by CLOCK_REALTIME only. A step of that clock changes the wait, which the callers survive. */
static struct timespec in_real_time(const struct timespec *until)
{
	struct timespec now, real;
	int64_t left;

	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_gettime(CLOCK_REALTIME, &real);
	left = (until->tv_sec - now.tv_sec) * INT64_C(1000000000) + until->tv_nsec - now.tv_nsec +
	       real.tv_nsec;
	if (left < 0)
		left = 0;
	real.tv_sec += left / 1000000000;
	real.tv_nsec = (long)(left % 1000000000);
	return real;
}

int mw_libc_lock_until(pthread_mutex_t *lock, const struct timespec *until)
{
	struct timespec real = in_real_time(until);

	return pthread_mutex_timedlock(lock, &real);
}

int mw_libc_rdlock_until(pthread_rwlock_t *lock, const struct timespec *until)
{
	struct timespec real = in_real_time(until);

	return pthread_rwlock_timedrdlock(lock, &real);
}

bool mw_libc_at_last(void (*last)(void *))
{
	last(NULL);
	return true;
}

void mw_libc_find_locks(void)
{
}

bool mw_libc_linker_is_locked(uint32_t mine)
{
	(void)mine;
	return false;
}

void mw_libc_free_linker_locks(bool (*theirs)(uint32_t task))
{
	(void)theirs;
}

size_t mw_libc_malloc_in_use(void)
{
	return 0;
}

#endif
