/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load_mhd.c - loads libmicrohttpd's functions, and takes its panics. See library/library.h. */
#include "load_mhd.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/httpd/library/library.h"
#include "server_state.h"

const struct mw_mhd *mw_mhd;
void (*mw_mhd_park)(const char *file, unsigned line, const char *why);

/*
 * The handler of the whole process. Panics of the application's own use of the library go on to the
 * application's handler; without one, abort() follows as before.
 */
static void panic(void *unused, const char *file, unsigned line, const char *why)
{
	(void)unused;
	if (atomic_load(&mw_server.tid) == (pid_t)syscall(SYS_gettid)) {
		mw_mhd_park(file ? file : "?", line, why ? why : "no reason given");
	} else if (!mw_server.api->panic_pass || !mw_server.api->panic_pass(file, line, why)) {
		fprintf(stderr, "Fatal error in GNU libmicrohttpd %s:%u: %s\n", file, line, why);
		abort();
	}
}

/* By its name alone, MHD_set_panic_func would be the tracker's. */
static void take_panics(const struct mw_api *api)
{
	void (*set)(mw_panic_fn, void *) = NULL;
	Dl_info me;
	void *lib;

	/* never closed: this library needs it as long as the process lives */
	if (dladdr((void *)(uintptr_t)mw_mhd->start_daemon, &me) && me.dli_fname &&
	    (lib = dlopen(me.dli_fname, RTLD_LAZY | RTLD_NOLOAD)))
		set = (void (*)(mw_panic_fn, void *))dlsym(lib, "MHD_set_panic_func");
	if (set && api->panic_take)
		api->panic_take(set, panic);
	else if (set)
		set(panic, NULL);
}

int mw_mhd_load(char err[MW_ERROR_MAX])
{
	void *lib = mw_mhd ? NULL : mw_server.api->load("libmwrap_mhd.so", err);

	if (lib) {
		const struct mw_mhd *table = dlsym(lib, "mwrap_mhd");

		if (!table || table->size != sizeof(*table)) {
			snprintf(err, MW_ERROR_MAX,
				 "libmwrap_mhd.so: of another version: restart this process");
			return -1;
		}
		mw_mhd = table;
		take_panics(mw_server.api);
	}
	return mw_mhd ? 0 : -1;
}
