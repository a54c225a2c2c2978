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
/*
 * In a forked child: notes if another thread of the parent was loading or unloading a library. Then the dynamic
 * linker's lists are half changed for ever, and it would end the child: nothing more is loaded.
 */
void mw_beside_after_fork(void);

#endif
