/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * claim.h - who owns a Unix socket's path.
 *
 * The owner holds a write lock (fcntl F_SETLK) on PATH.lock. The kernel drops
 * it with the owner's death, and a fork doesn't inherit it, so it tells a
 * live owner from a dead one where connect() can't: a descriptor that leaked
 * into a child keeps a dead owner's socket answering.
 *
 * PATH.lock is empty until the owner has bound PATH, then it says "mwrap PID".
 * A socket at PATH beside an empty or new lock may be another program's, and
 * is replaced only if nobody answers there. A process without Ruby adds "without
 * ruby"; one with Ruby that would have the path writes its PID behind that; then comes the TCP port
 * that goes with a family's path. Both files go when the owner ends
 * in an orderly way; the lock is taken again first, and files that are not
 * the ones made here stay.
 */
#ifndef MW_HTTPD_CLAIM_H
#define MW_HTTPD_CLAIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "options/options.h"

struct mw_socket_lock {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* absolute; "": none */
	int lock_fd;
	dev_t lock_dev, dev; /* of the lock, of the socket file */
	ino_t lock_ino, ino;
	pid_t owner;
	uint16_t port; /* that this very process had noted in the lock, before an exec; else 0 */
};

enum mw_socket_locked {
	MW_SOCKET_LOCK_OURS,
	MW_SOCKET_LOCK_TAKEN, /* a live process owns the path */
	MW_SOCKET_LOCK_ERROR  /* one line in err */
};

/*
 * Claims `path` (absolute, shorter than sun_path) and removes a dead owner's
 * socket from it. *c is valid when the answer is MW_SOCKET_LOCK_OURS.
 */
enum mw_socket_locked mw_socket_lock_take(struct mw_socket_lock *c, const char *path,
					  char err[MW_ERROR_MAX]);

/*
 * Binds fd, a fresh Unix socket, to a claimed path: the file has mode 0600
 * whatever the umask. 0, or -1 with a line in err; the caller gives up then.
 * Nobody can connect before the caller listens.
 */
int mw_socket_lock_bind(struct mw_socket_lock *c, int fd, bool ruby, char err[MW_ERROR_MAX]);

/*
 * Removes a socket and its lock, or what there is of them, that a killed process
 * has left; an empty lock, of one that hadn't got far, once it is some seconds
 * old, or at once if `pid`, which made it, is no more. Nothing happens where the lock isn't one of
 * ours, or is somebody's. True: nothing is there now.
 */
bool mw_socket_lock_sweep(const char *path, pid_t pid);

/*
 * Is the lock of `path` nobody's? *c, all zero but for lock_fd -1 at first, keeps
 * its file open from one call to the next. Never for a path that is ours: closing
 * the file would drop our lock.
 */
bool mw_socket_lock_is_free(struct mw_socket_lock *c, const char *path);
/* Closes it. System calls only. */
void mw_socket_lock_forget(struct mw_socket_lock *c);
/* The owner is a process without Ruby; and it is told that this one has it. */
bool mw_socket_lock_lacks_ruby(const struct mw_socket_lock *c);
void mw_socket_lock_request(const struct mw_socket_lock *c);
/* Our own lock says from now on that this process has Ruby, which it lacked when it listened. */
void mw_socket_lock_has_ruby(const struct mw_socket_lock *c);
/* The family's TCP port, in the lock of its path: written by who has it, 0: none is known. */
void mw_socket_lock_set_port(const struct mw_socket_lock *c, uint16_t port);
uint16_t mw_socket_lock_port(const struct mw_socket_lock *c);
/* Who told the owner so, of whose path c is; 0: nobody. */
pid_t mw_socket_lock_requested(const struct mw_socket_lock *c);
/* The owner lets go of the lock and leaves the socket's file to the next one. */
void mw_socket_lock_hand_over(struct mw_socket_lock *c);

/*
 * Removes the socket and the lock if this process made them and still owns
 * the path; closes the lock. Safe to call on what was never claimed.
 */
void mw_socket_lock_drop(struct mw_socket_lock *c);

/* Like mw_socket_lock_drop, but the lock's descriptor stays open. Any thread. */
void mw_socket_lock_unlink(const struct mw_socket_lock *c);

#endif
