/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load_sibling.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "shared/sys/libc.h"
#include "shared/sys/own_descriptors.h"
#include "linker_state.h"
#include "process.h"
#include "threads.h"

enum { STACK = 512 * 1024 };

/* A shared object that lies beside the tracker's; lib: dlopen's handle, or NULL and a line in err. */
struct beside {
	const char *name;
	char *err;
	void *lib;
};

/* The launcher's path goes through a folder of libraries, which a process may lose sight of. */
static const char *behind_libraries(const char *path)
{
	static const char up[] = "/../../../../../.."; /* lib/mwrap/linker.rb */
	const char *root = strstr(path, up);

	return root ? root + sizeof(up) - 1 : path;
}

static void load_beside(struct beside *b)
{
	char path[4096 + 32];
	Dl_info me;
	char *slash;

	b->lib = NULL;
	if (!mw_linker_loads()) {
		snprintf(b->err, MW_ERROR_MAX,
			 "%s: can't be loaded: another thread was loading a library when this process was forked",
			 b->name);
		return;
	}
	if (!dladdr(&mw_options, &me) || !me.dli_fname ||
	    snprintf(path, sizeof(path) - 32, "%s", behind_libraries(me.dli_fname)) >=
		    (int)sizeof(path) - 32) {
		snprintf(b->err, MW_ERROR_MAX, "%s: not found: install mwrap again", b->name);
		return;
	}
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, b->name);
	b->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!b->lib)
		snprintf(b->err, MW_ERROR_MAX, "%s: can't be loaded: %.180s", b->name, dlerror());
}

/*
 * Loads in a thread with a table of descriptors of its own, which ends with the thread.
 * A daemon may close all descriptors meanwhile, or open others in their place. With a
 * shared table the dynamic linker would then map another file for the library, and SIGBUS
 * would end the process. Kernels before 5.9 can't do this: there the table is shared.
 */
static void *load_unshared(void *b)
{
	(void)mw_own_descriptors(-1);
	load_beside(b);
	return NULL;
}

void *mw_load_sibling(const char *name, char *err)
{
	struct beside b = { .name = name, .err = err };
	void *none;

	/* where nothing will be loaded, no thread begins: its thread-local variables could be half known, too */
	if (!mw_linker_loads() || mw_own_thread_run(load_unshared, &b, STACK, &none))
		load_beside(&b);
	return b.lib;
}

void *mw_load_sibling_here(const char *name, char *err)
{
	struct beside b = { .name = name, .err = err };

	load_beside(&b);
	return b.lib;
}
