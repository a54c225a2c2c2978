/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * panic.c - libmicrohttpd's panic handler, which the application and the server share.
 *
 * A process has one handler, and the library doesn't tell which. The server needs its own,
 * or a fault in its use of the library would abort the host. Each side must get the panics of
 * its own threads. So the application's calls of MHD_set_panic_func() end here. Once the server's
 * handler is in place, we only note the application's, and the server's handler calls it.
 *
 * An application that finds the function by dlsym() in the library itself bypasses this.
 * Then the last of the two to set a handler gets all panics, as without the tracker.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "panic.h"
#include "tracker/real/real.h"
#include "tracker/track/track.h"

typedef void (*set_panic)(mw_panic_fn, void *);

/* The application's. A concurrent panic may see one of these words old, as in the library. */
static mw_panic_fn app_handler; /* NULL: the library's own. Stored with release after app_cls */
static void *app_cls;           /* relaxed */
/* The server's, and the library's own function; once set, they stay. */
static mw_panic_fn ours; /* seq_cst, both: of the server and the application the second */
static set_panic library; /* one sees the first one's store, and ours stays in place */

/* The caller's own MHD_set_panic_func(), even if the library is in no global scope. */
static set_panic function_for(const void *caller)
{
	set_panic f = (set_panic)mw_real_next("MHD_set_panic_func");
	Dl_info who;
	void *lib;

	if (f || !dladdr(caller, &who) || !who.dli_fname)
		return f;
	lib = dlopen(who.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (lib) {
		f = (set_panic)dlsym(lib, "MHD_set_panic_func");
		dlclose(lib);
	}
	return f;
}

void MHD_set_panic_func(mw_panic_fn, void *);
MW_EXPORT void MHD_set_panic_func(mw_panic_fn handler, void *cls)
{
	set_panic f;

	mw_quiet_enter();
	__atomic_store_n(&app_cls, cls, __ATOMIC_RELAXED);
	__atomic_store_n(&app_handler, handler, __ATOMIC_RELEASE);
	if (!__atomic_load_n(&ours, __ATOMIC_SEQ_CST)) {
		f = function_for(__builtin_return_address(0));
		if (f && f != MHD_set_panic_func)
			f(handler, cls);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (__atomic_load_n(&ours, __ATOMIC_SEQ_CST)) /* the server came in between */
			__atomic_load_n(&library, __ATOMIC_SEQ_CST)(ours, NULL);
	}
	mw_quiet_leave();
}

void mw_panic_take(void (*set)(mw_panic_fn, void *), mw_panic_fn handler)
{
	__atomic_store_n(&library, set, __ATOMIC_SEQ_CST);
	__atomic_store_n(&ours, handler, __ATOMIC_SEQ_CST);
	set(handler, NULL);
}

bool mw_panic_pass(const char *file, unsigned line, const char *why)
{
	mw_panic_fn f = __atomic_load_n(&app_handler, __ATOMIC_ACQUIRE);

	if (!f)
		return false;
	f(__atomic_load_n(&app_cls, __ATOMIC_RELAXED), file, line, why);
	return true;
}
