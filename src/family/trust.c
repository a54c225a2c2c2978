/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trust.c - tells relatives from impostor sockets. See family.h.
 *
 * In a directory that all users can write to, for example /tmp, any user may
 * make a socket with a relative's name. It would get the token, and could forge
 * a table. The kernel knows the listener's user and PID.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "family.h"

#define GENERATIONS 64 /* of forks; ends a loop, too */

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
	/* a master that is root may have forked workers that dropped root */
	return who.uid == own || !who.uid || (!own && descends(who.pid, getpid()));
}
