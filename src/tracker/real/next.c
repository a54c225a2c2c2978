/* SPDX-License-Identifier: GPL-2.0-or-later */
/* next.c - the next function of a name, behind the tracker's or, in a process that ran before, before them. */
#include <dlfcn.h>
#include <link.h>

#include "shared/sys/libc.h"
#include "entries.h"
#include "real.h"

bool mw_real_same_object(const void *a, const void *b)
{
	struct mw_object x, y;

	return mw_object_of((uintptr_t)a, &x) && mw_object_of((uintptr_t)b, &y) && x.start == y.start;
}

/* --- a process that ran before ------------------------------------------------ */

bool mw_real_joined;

/* The objects of the start come before the dynamic linker in its list, all others behind. */
bool mw_real_joins(void)
{
	for (const struct link_map *m = mw_linker()->r_map; m && m->l_ld != _DYNAMIC; m = m->l_next)
		if (m->l_addr == mw_linker()->r_ldbase)
			return true;
	return false;
}

bool mw_real_of_program(const void *p)
{
	struct mw_object o;

	return mw_object_of((uintptr_t)p, &o) && o.map == mw_linker()->r_map;
}

bool mw_real_program_defines(const char *name)
{
	const struct link_map *m = mw_linker()->r_map;
	struct mw_entries e = { .base = m->l_addr };

	return mw_entries_read(&e, m->l_ld) && mw_entries_function(&e, name);
}

/* Is it a function, no entry of the program's for one, and not ours? */
static bool is_real(void *f)
{
	return f && !mw_real_same_object(f, &mw_real_joined) &&
	       (!mw_real_of_program(f) || mw_libc_defines(f));
}

static void *first_of_libraries(const char *name)
{
	void *f = NULL, *lib;

	for (const struct link_map *m = mw_linker()->r_map->l_next; m && !is_real(f); m = m->l_next) {
		lib = *m->l_name ? dlopen(m->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
		f = lib ? dlsym(lib, name) : NULL;
		if (lib)
			dlclose(lib);
	}
	return is_real(f) ? f : NULL;
}

void *mw_real_entry(const char *name)
{
	void *f = dlsym(RTLD_DEFAULT, name);

	return f && mw_real_of_program(f) && !is_real(f) ? f : NULL;
}

static void *next_joined(const char *name)
{
	void *f = dlsym(RTLD_DEFAULT, name);

	return is_real(f) ? f : mw_real_entry(name) ? first_of_libraries(name) : NULL;
}

void *mw_real_next(const char *name)
{
	return mw_real_joined ? next_joined(name) : dlsym(RTLD_NEXT, name);
}
