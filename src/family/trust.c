/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trust.c - is whoever listens on a relative's socket one of ours? See family.h.
 *
 * In a directory that everybody can write to, such as /tmp, anybody may make a
 * socket with a relative's name, and would be sent the token, and could make up
 * a table. The kernel knows who listens.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "family.h"

#define GENERATIONS 64 /* of forks; a circle ends, too */

static bool descends(pid_t pid, pid_t from)
{
	for (int i = 0; i < GENERATIONS && pid > 1; i++) {
		if (pid == from)
			return true;
		pid = (pid_t)mw_parent_of(pid);
	}
	return false;
}

bool mw_relative_trusted(int fd)
{
	struct ucred who;
	socklen_t n = sizeof(who);
	uid_t own = geteuid();

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n))
		return false;
	/* a master that is root may have forked workers that aren't any more */
	return who.uid == own || !who.uid || (!own && descends(who.pid, getpid()));
}
