/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.c - what the whole room reads of its process: the options, when it was loaded, who forked it. */
#include "process.h"

#include "shared/sys/clock.h"

struct mw_options mw_options = { .dump_fd = -1 };
const struct mw_api *mw_api_here;
uint64_t mw_loaded_at;
uint64_t mw_resets;
pid_t mw_forker;
pid_t mw_eldest;
uintptr_t mw_main_thread;

double mw_uptime(void)
{
	return (double)(mw_now_ns() - mw_loaded_at) / 1e9;
}
