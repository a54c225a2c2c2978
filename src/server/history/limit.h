/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limit.h - the memory that this process may use, and what its cgroup uses of it.
 *
 * Candidates are memory.max and memory.high of cgroup v2, memory.limit_in_bytes of v1, each of the process's own
 * group and of every group above it that is mounted here; RLIMIT_AS; and the machine's memory. The smallest is
 * the limit. Of equal ones the first in the order of enum mw_limit_of counts, and of groups the innermost.
 *
 * The group's path is that of /proc/self/cgroup, below the mount whose root in /proc/self/mountinfo is a
 * beginning of it. In a namespace of its own the path is "/", or leads upwards by "..": then the mount itself
 * is the group. `max`, a missing file and a file that isn't a number are no limit.
 *
 * System calls only: no allocation, no stdio, no lock. Some twenty small files are read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/text/buf.h"

#define MW_LIMIT_UNKNOWN UINT64_MAX

enum { MW_LIMIT_SECONDS = 10 }; /* between two readings */

enum mw_limit_of {
	MW_LIMIT_NONE,
	MW_LIMIT_MAX,     /* at it the kernel kills */
	MW_LIMIT_V1,      /* likewise */
	MW_LIMIT_AS,      /* at it mmap and malloc fail */
	MW_LIMIT_MACHINE, /* at it the kernel kills */
	MW_LIMIT_HIGH,    /* at it the kernel throttles */
	MW_LIMITS_N
};

/* In JSON and as a label: "memory.max". */
extern const char *const mw_limit_names[MW_LIMITS_N];

struct mw_limits {
	enum mw_limit_of of; /* NONE: not read yet, or nothing could be read */
	uint64_t bytes;      /* the limit */
	/* what the limit counts and the kernel can't drop: without pages of files, except shared memory */
	uint64_t used;
	/* of the tightest group that can kill: the least room; MW_LIMIT_UNKNOWN: there is none */
	uint64_t room;
	/* of the process's own group; MW_LIMIT_UNKNOWN: not there */
	struct {
#define GROUP(name, type, unit, file2, key2, file1, key1, help) uint64_t name;
#include "limits.def"
#undef GROUP
	} group;
};

/* root: "" but in tests; a tree with /proc/self/cgroup and mountinfo, /proc/meminfo and the mounts below it. */
void mw_limits_read_at(struct mw_limits *, const char *root);
/* In builds for tests MW_LIMITS_ROOT names the root. */
void mw_limits_read(struct mw_limits *);

/* Appends members of a JSON object: limit_bytes, limit_of, limit_used_bytes and group_NAME of what is known. */
void mw_limits_json(struct mw_buf *, const struct mw_limits *);
