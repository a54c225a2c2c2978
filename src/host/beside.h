/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * beside.h - loads the shared objects that lie beside the tracker's.
 *
 * Within a step (own_thread.h), in quiet mode: a forked child must not find the dynamic linker's lock held.
 * Both return dlopen's handle, for good; NULL: a line in err, which has MW_ERROR_MAX bytes.
 */
#ifndef MW_HOST_BESIDE_H
#define MW_HOST_BESIDE_H

/* In a thread of its own: see beside.c. */
void *mw_beside_load(const char *name, char *err);
/* In this thread. */
void *mw_beside_load_here(const char *name, char *err);

#endif
