/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libc_glibc.c - glibc's side of libc.h. */
#include "libc.h"

#ifdef __GLIBC__

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool mw_object_of(uintptr_t address, struct mw_object *o)
{
	struct dl_find_object found;

	if (_dl_find_object((void *)address, &found) != 0 || !found.dlfo_link_map)
		return false;
	*o = (struct mw_object){ (uintptr_t)found.dlfo_map_start, (uintptr_t)found.dlfo_map_end,
				 found.dlfo_link_map, (uintptr_t)found.dlfo_eh_frame };
	return true;
}

const struct r_debug *mw_linker(void)
{
	return &_r_debug;
}

bool mw_is_libc(const struct link_map *m)
{
	static const char libc[] = "libc.so.6";
	const char *name = m->l_name;
	size_t i;

	for (const char *s = m->l_name; *s; s++)
		if (*s == '/')
			name = s + 1;
	for (i = 0; libc[i] && name[i] == libc[i]; i++)
		;
	return name[i] == libc[i];
}

bool mw_libc_defines(const void *f)
{
	const ElfW(Sym) *s = NULL;
	Dl_info i;

	return !dladdr1(f, &i, (void **)&s, RTLD_DL_SYMENT) || !s || s->st_shndx != SHN_UNDEF;
}

int mw_libc_close_range(unsigned from, unsigned to, int flags)
{
	return close_range(from, to, flags);
}

const char *mw_glibc_version(void)
{
	return gnu_get_libc_version();
}

const char *mw_libc_error(int e)
{
	return strerrordesc_np(e);
}

extern int __cxa_atexit(void (*)(void *), void *, void *);

bool mw_libc_at_last(void (*last)(void *))
{
	return __cxa_atexit(last, NULL, NULL) == 0;
}

int mw_libc_lock_until(pthread_mutex_t *lock, const struct timespec *until)
{
	return pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, until);
}

int mw_libc_rdlock_until(pthread_rwlock_t *lock, const struct timespec *until)
{
	return pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, until);
}

size_t mw_libc_malloc_in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

#endif
