/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * panic.c - libmicrohttpd's panic handler, which the application and the server share.
 *
 * There is one handler in a process, and the library doesn't tell which. The server needs
 * its own, or a fault of its own use would abort the host. So that each gets the panics of
 * its own threads, the application's calls of MHD_set_panic_func() end here: once the server's
 * handler is in place they are only written down, and that handler calls what they named.
 *
 * An application that finds the function by dlsym() of the library itself comes past this.
 * Then the last one of the two to set a handler has all panics, as without the tracker.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "panic.h"
#include "real/real.h"
#include "track/track.h"

typedef void (*set_panic)(mw_panic_fn, void *);

/* The application's. A call of it beside a panic may show one word old, as in the library. */
static mw_panic_fn app_handler; /* NULL: the library's own. Stored with release after app_cls */
static void *app_cls;           /* relaxed */
/* The server's, and the library's own function; once set, they stay. */
static mw_panic_fn ours; /* seq_cst, both: who comes second, the server or the */
static set_panic library; /* application, sees the first one, and ours is what stays */

/* The function that the caller would have called: also of a library that is in no global scope. */
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
