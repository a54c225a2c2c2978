/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deaths.h - forgets noted objects that Ruby's collections free. */
#pragma once

#include <stdint.h>

#include "api/api.h"

/* Begins to watch collections, for good. With the GVL, once. Ruby allocates in this call. */
void mw_deaths_watch(const struct mw_api *);
/* Collections that went by unseen, since the start. Any thread. */
uint64_t mw_deaths_missed(void);
