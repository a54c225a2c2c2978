/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dl.c - dlclose(3): another library may be loaded where this one was.
 *
 * From before the real call until after it, native callers are not remembered
 * (table/closes.h): the library's destructors still allocate, and
 * once its memory is given back, another thread may have another library there. What
 * its functions are called is found out before, since it can't be later. What can't be had is shown as an offset in the module.
 *
 * Not seen is what the C library closes by itself (modules of iconv and of NSS).
 */
#include "dl.h"

#include <dlfcn.h>
#include <link.h>

#include "table/closes.h"
#include "table/snapshot.h"
#include "track/track.h"

/* How many dlclose of this thread's are under way: a destructor may call it. */
static __thread uint32_t mine __attribute__((tls_model("initial-exec")));

/* A handle is the linker's own entry, if it is that of the library that it says to be. */
static void keep_names(const struct link_map *handle)
{
	struct dl_find_object o;

	/* a wrong one may be any pointer: no more is read of it than dlclose does */
	if (handle && _dl_find_object(handle->l_ld, &o) == 0 && o.dlfo_link_map == handle &&
	    handle->l_name && *handle->l_name)
		mw_name_natives_of(handle->l_name);
}

MW_EXPORT int dlclose(void *handle)
{
	static int (*next)(void *);
	int r;

	if (!next)
		next = (int (*)(void *))mw_real_next("dlclose");
	if (__atomic_load_n(&mw_life, __ATOMIC_ACQUIRE) != MW_ON)
		return next(handle);
	keep_names(handle);
	mine++;
	mw_close_begin();
	r = next(handle);
	mw_close_end();
	mine--;
	return r;
}

void mw_closes_after_fork(void)
{
	mw_closes_are(mine);
}
