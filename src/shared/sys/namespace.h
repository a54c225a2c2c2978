/* SPDX-License-Identifier: GPL-2.0-or-later */
/* namespace.h - the PID namespace of this process's number. */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

/* Its inode, which no other namespace of this machine has meanwhile; 0: /proc doesn't say. */
static inline uint64_t mw_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}
