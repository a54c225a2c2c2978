/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load_sibling.h - loads the shared objects that lie beside the tracker's.
 *
 * Within a step (own_thread.h), in quiet mode: a forked child must not find the dynamic linker's lock held.
 * Both return dlopen's handle, for good; NULL: a line in err, which has MW_ERROR_MAX bytes.
 */
#pragma once

/* In a thread of its own: see load_sibling.c. */
void *mw_load_sibling(const char *name, char *err);
/* In this thread. The extension's comes without a step: see api.h. */
void *mw_load_sibling_here(const char *name, char *err);
