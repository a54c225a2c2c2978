/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exit_verdict.c - the verdict at the end of the server, for the exit dump. See httpd.h. */
#include "exit_verdict.h"

#include <string.h>

static char words[1024];
static _Atomic bool kept; /* release: the words are whole; acquire */

void mw_exit_verdict_reset(void)
{
	atomic_store_explicit(&kept, false, memory_order_relaxed);
}

/* A verdict costs some milliseconds, and only a text dump has room for it. */
static bool wanted(const struct mw_options *o)
{
	return (o->dump_path || o->dump_fd >= 0) && o->dump_format == MW_FORMAT_TEXT;
}

void mw_exit_verdict_keep(struct mw_site *site)
{
	const struct mw_said *said;

	if (!site->api || !wanted(site->api->options()))
		return;
	said = mw_site_said(site);
	if (!said || said->kind == MW_VERDICT_WATCHING || said->sentence.n >= sizeof(words))
		return;
	memcpy(words, said->sentence.p, said->sentence.n);
	words[said->sentence.n] = '\0';
	atomic_store_explicit(&kept, true, memory_order_release);
}

const char *mw_exit_verdict(void)
{
	return atomic_load_explicit(&kept, memory_order_acquire) ? words : NULL;
}
