/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trust.c - tells relatives from impostor sockets. See family.h.
 *
 * In a directory that all users can write to, for example /tmp, any user may
 * make a socket with a relative's name. It would get the token, and could forge
 * a table. The kernel knows the listener's user and PID.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/sys/sys.h"
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

/* Do all users have numbers here? Else those without one look like `nobody`. */
static bool all_have_numbers(void)
{
	unsigned inside = 1, outside = 1, n = 0;
	char line[64] = "";
	/* not fopen: a child that is forked meanwhile would wait for its lock */
	int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return true;
	(void)!read(fd, line, sizeof(line) - 1);
	close(fd);
	return sscanf(line, "%u %u %u", &inside, &outside, &n) == 3 && !inside && n == UINT_MAX;
}

static bool same_user(const struct ucred *who, uid_t own)
{
	enum { NOBODY = 65534 }; /* the kernel's overflowuid */

	/* a signal may be sent to the same user only, whatever its number */
	return who->uid == own && (own != NOBODY || all_have_numbers() ||
				   (who->pid > 0 && mw_sys(SYS_kill, who->pid, 0, 0, 0, 0) == 0));
}

bool mw_relative_trusted(int fd)
{
	struct ucred who;
	socklen_t n = sizeof(who);
	uid_t own = geteuid();

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n))
		return false;
	/* a master that is root may have forked workers that dropped root */
	return same_user(&who, own) || !who.uid || (!own && descends(who.pid, getpid()));
}
