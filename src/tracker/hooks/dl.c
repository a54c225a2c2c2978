/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dl.c - dlclose(3): another library may be loaded where this one was.
 *
 * From before the real call until after it, no caller cache takes a native caller
 * (tracker/table/closes.h). The library's destructors still allocate, and once its memory is
 * unmapped, another thread may load another library there. The symbols of its locations are
 * looked up before, since later they can't be. Without a symbol, a location is shown as an
 * offset in the module. Libraries that the C library closes itself (iconv, NSS) aren't seen.
 */
#include "dl.h"

#include <dlfcn.h>
#include <link.h>

#include "tracker/table/closes.h"
#include "tracker/table/snapshot.h"
#include "tracker/real/real.h"
#include "tracker/track/sample.h"
#include "tracker/track/track.h"
#include "shared/sys/libc.h"

/* This thread's dlclose calls under way; they nest, since a destructor may call it. */
static __thread uint32_t mine __attribute__((tls_model("initial-exec")));

struct library {
	uintptr_t start, bytes;
};

/* Trusts a handle only if the linker has it as the entry of the object that it names; else 0 bytes. */
static struct library keep_names(const struct link_map *handle)
{
	struct library l = { 0 };
	struct mw_object o;

	/* a wrong handle may be any pointer: we read no more of it than dlclose does */
	if (handle && mw_object_of((uintptr_t)handle->l_ld, &o) && o.map == handle && handle->l_name &&
	    *handle->l_name) {
		mw_name_natives_of(handle->l_name);
		l.start = o.start;
		l.bytes = o.end - o.start;
		mw_quiet_enter();
		mw_sample_closes(l.start, l.bytes);
		mw_quiet_leave();
	}
	return l;
}

MW_EXPORT int dlclose(void *handle)
{
	struct library l;
	int r;

	mw_real_init();
	if (!mw_is_on())
		return mw_next.dlclose(handle);
	l = keep_names(handle);
	mine++;
	mw_close_begin();
	mw_sample_closing();
	r = mw_next.dlclose(handle);
	if (l.bytes) /* its destructors allocated, or other threads in the meantime */
		mw_sample_closed(l.start, l.bytes);
	mw_close_end();
	mine--;
	return r;
}

void mw_closes_after_fork(void)
{
	mw_closes_are(mine);
}
