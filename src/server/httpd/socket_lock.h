/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * socket_lock.h - the process that has a Unix socket's path.
 *
 * That process, the owner, holds a write lock (fcntl F_SETLK) on PATH.lock. The kernel drops it
 * when the owner dies, and a fork doesn't inherit it. So it tells a live owner from a dead one.
 * connect() can't: a descriptor leaked into a child keeps a dead owner's socket answering.
 *
 * PATH.lock is empty until the owner has bound PATH; then it says "mwrap PID". If the lock is empty
 * or new, the socket at PATH may be another program's: it is replaced only if connecting is
 * refused. An owner without Ruby adds "without ruby". Behind that, a process with Ruby writes its
 * PID to request the path. Then comes the TCP port that goes with a family's path, and the namespace of
 * the owner's PID. Both files go
 * when the owner ends in an orderly way: it takes the lock again first, and leaves files that it
 * didn't make.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "shared/options/options.h"

struct mw_socket_lock {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* absolute; "": none */
	int lock_fd;
	dev_t lock_dev, dev; /* of the lock, of the socket file */
	ino_t lock_ino, ino;
	pid_t owner;
	uint16_t port; /* this process had noted it in the lock before an exec; else 0 */
};

enum mw_socket_locked {
	MW_SOCKET_LOCK_OURS,
	MW_SOCKET_LOCK_TAKEN, /* a live process owns the path */
	MW_SOCKET_LOCK_ERROR  /* one line in err */
};

/*
 * Locks `path` (absolute, shorter than sun_path) and removes a dead owner's socket from it. *c is
 * valid if the answer is MW_SOCKET_LOCK_OURS.
 */
enum mw_socket_locked mw_socket_lock_take(struct mw_socket_lock *c, const char *path,
					  char err[MW_ERROR_MAX]);

/*
 * Binds fd, a fresh Unix socket, to a locked path. The file has mode 0600, independent of the
 * umask. Returns 0, or -1 with a line in err; the caller gives up then. Nobody can connect before
 * the caller listens.
 */
int mw_socket_lock_bind(struct mw_socket_lock *c, int fd, bool ruby, char err[MW_ERROR_MAX]);

/*
 * Removes what a killed process has left of its socket and lock. An empty lock is from one that
 * died early: it goes once it is some seconds old, or at once if `pid`, its maker, has ended.
 * Leaves a lock that isn't mwrap's or that is held. Returns true if nothing is there now.
 */
bool mw_socket_lock_cleanup(const char *path, pid_t pid);

/*
 * True if no process holds the lock of `path`. *c, at first all zero but lock_fd -1, keeps the file
 * open between calls. Never call it for our own path: closing the file would drop our lock.
 */
bool mw_socket_lock_is_free(struct mw_socket_lock *c, const char *path);
/* Closes it. System calls only. */
void mw_socket_lock_forget(struct mw_socket_lock *c);
/* True if the owner has no Ruby. The second call requests its path: this process has Ruby. */
bool mw_socket_lock_lacks_ruby(const struct mw_socket_lock *c);
void mw_socket_lock_request(const struct mw_socket_lock *c);
/* Notes in our own lock that this process has Ruby, which it lacked when it listened. */
void mw_socket_lock_has_ruby(const struct mw_socket_lock *c);
/* The family's TCP port, in the lock of its path, written by the owner; 0: not known. */
void mw_socket_lock_set_port(const struct mw_socket_lock *c, uint16_t port);
uint16_t mw_socket_lock_port(const struct mw_socket_lock *c);
/* The PID that requested c's path from its owner; 0: none. */
pid_t mw_socket_lock_requested(const struct mw_socket_lock *c);
/* Handover: releases the lock and leaves the socket's file to the next owner. */
void mw_socket_lock_hand_over(struct mw_socket_lock *c);

/*
 * Removes the socket and the lock if this process made them and still owns the path; closes the
 * lock. Safe to call if nothing was ever locked.
 */
void mw_socket_lock_drop(struct mw_socket_lock *c);

/* Like mw_socket_lock_drop, but the lock's descriptor stays open. Any thread. */
void mw_socket_lock_unlink(const struct mw_socket_lock *c);
