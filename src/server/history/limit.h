/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limit.h - the memory that this process's cgroup may use. System calls only, no allocation. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mw_limit {
	uint64_t max, used; /* bytes; used <= max */
};

/*
 * The tightest limit of the cgroup and those above it, version 2, and what is used of it. False: there
 * is none, or it can't be read. About ten small files are read.
 */
bool mw_limit_of(struct mw_limit *);
