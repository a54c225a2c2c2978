/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wait.h - waits for another thread's few instructions, by polling.
 *
 * There is no lock, so a fork leaves nothing to repair; no call is a cancellation point. An
 * allocation never waits: src/tracker/README lists the calls that wait, and for how long.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Lets another thread run, also one of lower priority. *turns: 0 before the first call. */
void mw_let_run(unsigned *turns);
/* Has that moment come? ns: as mw_now_ns tells it. */
bool mw_is_past(uint64_t ns);
