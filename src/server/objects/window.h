/* SPDX-License-Identifier: GPL-2.0-or-later */
/* window.h - notes some of the new objects, now and then. See objects.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"

/* A second of uptime, for what is noted from now on. The owner of the site. */
void mw_windows_second(uint32_t up);
/* Asks Ruby for a window, unless one is open. Not a Ruby thread; one thread at a time. False: Ruby can't be asked. */
bool mw_window_ask(const struct mw_api *);
/* Is the first job over? Then windows are made. NULL, or why there will be none: a text that stays. */
bool mw_windows_begun(const char **why);

uint64_t mw_windows_noted(void); /* objects, since the start */
/* The objects that Ruby made from one window to the next: their sum over all windows, and that of the squares. */
void mw_windows_made(double *sum, double *squares);
uint64_t mw_windows_ns(void); /* that threads spent, estimated */
