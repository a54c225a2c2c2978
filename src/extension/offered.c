/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dlfcn.h>
#include <string.h>

#include "api/version.h"
#include "offered.h"

const struct mw_offers *mw_offers;

/* NULL: a line in err. */
static const struct mw_offers *load_offers(char err[MW_ERROR_MAX])
{
	const struct mw_offers *found;
	void *lib;

	if (mw_tracker->load_here) {
		mw_tracker->quiet_enter();
		lib = mw_tracker->load_here("libmwrap_httpd.so", err);
		mw_tracker->quiet_leave();
	} else {
		lib = mw_load_untracked("libmwrap_httpd.so", err);
	}
	found = lib ? dlsym(lib, "mwrap_offers") : NULL;
	if (lib && (!found || strcmp(found->version, MWRAP_VERSION))) {
		snprintf(err, MW_ERROR_MAX, "libmwrap_httpd.so: of another version: restart this process");
		found = NULL;
	}
	return found;
}

void mw_offers_need(void)
{
	const struct mw_offers *none = NULL, *found;
	char err[MW_ERROR_MAX];

	if (__atomic_load_n(&mw_offers, __ATOMIC_ACQUIRE))
		return;
	found = load_offers(err);
	if (!found)
		rb_raise(rb_eRuntimeError, "%s", err);
	__atomic_compare_exchange_n(&mw_offers, &none, found, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}
