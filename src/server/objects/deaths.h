/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deaths.h - forgets noted objects that Ruby's collections free. There are two ways: a hook from Ruby 3.4 on
 * (deaths_hook.c), and the objects' ids before (deaths_ids.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "ruby_calls.h"

struct mw_samples;

/* Begins to watch collections, for good. With the GVL, once. Ruby allocates in this call. False: it can't be done. */
bool mw_deaths_watch(const struct mw_api *);
/*
 * For Rubies up to 3.3, where no hook tells; on others they do nothing. In the job, while no window is open:
 * mw_deaths_identify, at the end of a window, gives what it noted an identity; mw_deaths_look forgets what died since the
 * last look, if one is wanted.
 */
void mw_deaths_identify(void);
void mw_deaths_look(void);
/*
 * Wants a look, if a collection began since the last one: at once if the process is idle, else if looks took no more than
 * one part in 500 of its CPU time (ns). Then true: the job shall be asked for. One thread.
 */
bool mw_deaths_want_look(uint64_t cpu, bool idle);
/*
 * Takes out of a copy what has died since the last look, as far as memory shows it: an idle Ruby runs no job. Any thread.
 */
size_t mw_deaths_count(void); /* of collections, for this; 0: not known */
void mw_deaths_since(struct mw_samples *copy);
uint64_t mw_deaths_ns(void); /* CPU time of all looks. Any thread */
/* Collections that went by unseen, since the start. Any thread. */
uint64_t mw_deaths_missed(void);

/* --- for the two ways ------------------------------------------------------------------------ */

/* They begin. object: any of Ruby's. False: it can't be done. */
bool mw_deaths_by_hook(void);
bool mw_deaths_by_ids(const struct mw_api *, mw_ruby_value object);
