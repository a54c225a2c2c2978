/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prover.h - makes the proofs that the site's verdict wants (pages/suspects.h), in a thread of its own.
 *
 * At most one thread at a time. It has its own descriptor table but for the eventfd, by which it wakes the
 * loop. Its job has two owners, as relay.h says. The server's thread only, except mw_prover_reset.
 */
#pragma once

#include "server/pages/site.h"

/* Before the loop's sleep: begins a proof if one is due, and takes in one that is made. */
void mw_prover_run(struct mw_site *);
/* The server ends: nobody waits for the answer. */
void mw_prover_close(void);
/* In a forked child: there is no thread. */
void mw_prover_reset(void);
