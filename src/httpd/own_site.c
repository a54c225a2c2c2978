/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_site.c - see own_site.h. */
#include "own_site.h"

#include "report/live/proc_file.h"
#include "descriptors.h"

static struct mw_site site;
/* of /proc/self; a forked child finds its descriptors here: see server.h */
static struct mw_proc_file statm = { .fd = -1 }, smaps = { .fd = -1 };

struct mw_site *mw_own_site(void)
{
	return &site;
}

void mw_own_site_open(void)
{
	mw_proc_open(&statm, "/proc/self/statm", mw_fd_base());
	mw_proc_open(&smaps, "/proc/self/smaps", mw_fd_base());
}

unsigned mw_own_site_second(void)
{
	return mw_site_second(&site, &statm, &smaps);
}

void mw_own_site_close(void)
{
	mw_proc_close(&statm);
	mw_proc_close(&smaps);
}

void mw_own_site_child(void)
{
	statm.fd = smaps.fd = -1;
}
