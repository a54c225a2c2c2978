/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * socket_lock.c - locks, binds and releases a Unix socket's path. See socket_lock.h for the rules.
 * Called by the server's thread, and at exit by the thread that gave up waiting for it. Allocates
 * nothing.
 */
#include "socket_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/sys/namespace.h"
#include "server/family/family.h"
#include "shared/sys/sys.h"
#include "descriptors.h"

#define LOCK_MARK "mwrap "
#define LOCK_TRIES 16
#define WITHOUT_RUBY " without ruby"
#define EMPTY_FOR 5 /* s; the age at which an empty lock is stale */
#define REQUEST_AT 64 /* offset of the request in the lock's file */
#define PORT_AT 96

struct lock_path {
	char s[sizeof(((struct mw_socket_lock *)0)->path) + sizeof(".lock")];
};

static void lock_path(struct lock_path *l, const char *path)
{
	snprintf(l->s, sizeof(l->s), "%s.lock", path);
}

static enum mw_socket_locked failed(char err[MW_ERROR_MAX], const char *what, const char *path, int e)
{
	snprintf(err, MW_ERROR_MAX, "%s: %s: %s", path, what, mw_sys_error(e));
	return MW_SOCKET_LOCK_ERROR;
}

/* Returns 0, or -1 with errno: EAGAIN or EACCES if another process has the lock. */
static int set_lock(int fd)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_SETLK, &fl);
}

static bool same_file(const char *path, dev_t dev, ino_t ino)
{
	struct stat st;

	return !lstat(path, &st) && st.st_dev == dev && st.st_ino == ino;
}

/* Opens the lock's file. *made: it wasn't there before. Returns -1 with errno. */
static int open_lock(const char *lock, bool *made)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = open(lock, flags | O_CREAT | O_EXCL, 0600);

	*made = fd >= 0;
	if (fd >= 0 && fchmod(fd, 0600)) { /* a umask may have removed too much */
		int e = errno;

		unlink(lock);
		close(fd);
		errno = e;
		return -1;
	}
	if (fd < 0 && errno == EEXIST)
		fd = open(lock, flags);
	/* before the lock is taken: closing any descriptor of the file drops it */
	return fd < 0 ? fd : mw_fd_high(fd);
}

/* True if this is one of mwrap's locks. *bound: its owner has got as far as bind. */
static bool lock_is_ours(int fd, struct stat *st, bool *bound)
{
	char mark[sizeof(LOCK_MARK) - 1];

	if (fstat(fd, st) || !S_ISREG(st->st_mode))
		return false;
	*bound = st->st_size > 0;
	return !*bound || (pread(fd, mark, sizeof(mark), 0) == (ssize_t)sizeof(mark) &&
			   !memcmp(mark, LOCK_MARK, sizeof(mark)));
}

static enum mw_socket_locked take_lock(struct mw_socket_lock *c, const char *path, bool *bound,
				       char err[MW_ERROR_MAX])
{
	struct lock_path l;
	struct stat st;
	bool made;

	lock_path(&l, path);
	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		int fd = open_lock(l.s, &made);

		if (fd < 0 && errno == ENOENT && !made)
			fd = open_lock(l.s, &made); /* removed in between, or no directory */
		if (fd < 0) {
			int e = errno;

			/* another user's lock, such as that of a master that was root */
			if ((e == EACCES || e == EPERM) && !lstat(l.s, &st) && S_ISREG(st.st_mode))
				return MW_SOCKET_LOCK_TAKEN;
			/* options name the socket, not its lock */
			if (e == ENOENT || e == ENOTDIR) {
				snprintf(err, MW_ERROR_MAX, "%.*s: %s",
					 (int)(strrchr(path, '/') ? strrchr(path, '/') - path : 0), path,
					 e == ENOENT ?
						 "no such directory, so there is no server: make it" :
						 "not a directory, so there is no server: choose another path");
				return MW_SOCKET_LOCK_ERROR;
			}
			return failed(err, "can't open its lock", path, e);
		}
		if (!lock_is_ours(fd, &st, bound)) {
			close(fd);
			snprintf(err, MW_ERROR_MAX,
				 "%s: not a lock of mwrap: remove it or choose another path", l.s);
			return MW_SOCKET_LOCK_ERROR;
		}
		if (set_lock(fd)) {
			int e = errno;

			close(fd);
			if (e == EAGAIN || e == EACCES)
				return MW_SOCKET_LOCK_TAKEN;
			return failed(err, "can't lock", l.s, e);
		}
		if (same_file(l.s, st.st_dev, st.st_ino)) {
			lock_is_ours(fd, &st, bound); /* may have changed before we had it */
			c->lock_fd = fd;
			c->lock_dev = st.st_dev;
			c->lock_ino = st.st_ino;
			return MW_SOCKET_LOCK_OURS;
		}
		close(fd); /* its owner has just removed it: retry */
	}
	snprintf(err, MW_ERROR_MAX, "%s: keeps changing: choose another path", l.s);
	return MW_SOCKET_LOCK_ERROR;
}

/* True unless connecting is refused: any other outcome may be a live socket. */
static bool answers(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool yes;

	if (fd < 0)
		return true;
	memcpy(un.sun_path, path, strlen(path) + 1);
	yes = !connect(fd, (struct sockaddr *)&un, sizeof(un)) || errno != ECONNREFUSED;
	close(fd);
	return yes;
}

static enum mw_socket_locked clear_path(const char *path, bool bound, char err[MW_ERROR_MAX])
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? MW_SOCKET_LOCK_OURS : failed(err, "can't look at", path, errno);
	if (!S_ISSOCK(st.st_mode)) {
		snprintf(err, MW_ERROR_MAX, "%s: not a socket: remove it or choose another path", path);
		return MW_SOCKET_LOCK_ERROR;
	}
	if (!bound && answers(path)) {
		snprintf(err, MW_ERROR_MAX,
			 "%s: another program's socket: remove it or choose another path", path);
		return MW_SOCKET_LOCK_ERROR;
	}
	if (unlink(path) && errno != ENOENT)
		return failed(err, "can't replace", path, errno);
	return MW_SOCKET_LOCK_OURS;
}

/* The lock's descriptor, unless the application has closed or reused it. */
static int lock_fd_checked(const struct mw_socket_lock *c)
{
	struct stat st;

	if (c->lock_fd >= 0 && !fstat(c->lock_fd, &st) && st.st_dev == c->lock_dev &&
	    st.st_ino == c->lock_ino)
		return c->lock_fd;
	return -1;
}

/* Reads the number at an offset of the lock's file; 0: none. */
static long number_at(const struct mw_socket_lock *c, off_t at)
{
	char text[32];
	long number = 0;
	ssize_t n = pread(lock_fd_checked(c), text, sizeof(text), at);

	for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9' && i < 9; i++)
		number = number * 10 + (text[i] - '0');
	return number;
}

enum mw_socket_locked mw_socket_lock_take(struct mw_socket_lock *c, const char *path, char err[MW_ERROR_MAX])
{
	bool bound = false;
	enum mw_socket_locked got;

	memset(c, 0, sizeof(*c));
	c->lock_fd = -1;
	got = take_lock(c, path, &bound, err);
	if (got != MW_SOCKET_LOCK_OURS)
		return got;
	snprintf(c->path, sizeof(c->path), "%s", path);
	c->owner = getpid();
	if (bound && number_at(c, sizeof(LOCK_MARK) - 1) == (long)c->owner)
		c->port = mw_socket_lock_port(c);
	got = clear_path(path, bound, err);
	if (got != MW_SOCKET_LOCK_OURS)
		mw_socket_lock_drop(c);
	return got;
}

/* Changes the mode of the bound file only: follows no symlink. */
static int set_mode(const char *path, mode_t mode)
{
	char proc[64];
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), ret;

	if (fd < 0)
		return -1;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	ret = chmod(proc, mode);
	close(fd);
	return ret;
}

/* Says of which namespace the owner's PID is. */
static void note_namespace(const struct mw_socket_lock *c)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)mw_pid_namespace());

	if (pwrite(c->lock_fd, text, (size_t)n, MW_LOCK_NS_AT) < 0)
		return; /* a full disk: it counts as being of ours */
}

int mw_socket_lock_bind(struct mw_socket_lock *c, int fd, bool ruby, char err[MW_ERROR_MAX])
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct stat st;
	char mark[REQUEST_AT];
	int n;

	memcpy(un.sun_path, c->path, strlen(c->path) + 1);
	/* Linux takes the file's mode from the socket, less the umask */
	if (fchmod(fd, 0600) || bind(fd, (struct sockaddr *)&un, sizeof(un))) {
		failed(err, "can't bind", c->path, errno);
		return -1;
	}
	if (lstat(c->path, &st) || !S_ISSOCK(st.st_mode)) {
		snprintf(err, MW_ERROR_MAX, "%s: removed while it was opened", c->path);
		return -1;
	}
	c->dev = st.st_dev;
	c->ino = st.st_ino;
	if ((st.st_mode & 07777) != 0600 && set_mode(c->path, 0600)) {
		failed(err, "can't set its mode", c->path, errno);
		return -1;
	}
	n = snprintf(mark, sizeof(mark), LOCK_MARK "%ld%s\n", (long)c->owner, ruby ? "" : WITHOUT_RUBY);
	if (ftruncate(c->lock_fd, 0) || pwrite(c->lock_fd, mark, (size_t)n, 0) != n)
		return 0; /* a full disk: only a killed owner's socket is judged worse */
	note_namespace(c);
	return 0;
}

/* True if no other process has the path: we have the lock, or no lock of this name exists. */
static bool still_ours(const struct mw_socket_lock *c, const char *lock, int fd)
{
	struct stat st;

	if (lstat(lock, &st))
		return errno == ENOENT; /* a process that makes a new lock finds our socket alive */
	return fd >= 0 && st.st_dev == c->lock_dev && st.st_ino == c->lock_ino && !set_lock(fd);
}

void mw_socket_lock_unlink(const struct mw_socket_lock *c)
{
	struct lock_path l;
	int fd, again = -1;

	if (!c->path[0] || c->owner != getpid())
		return;
	lock_path(&l, c->path);
	fd = lock_fd_checked(c);
	if (fd < 0) /* the lock went with the descriptor */
		fd = again = open(l.s, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (still_ours(c, l.s, fd)) {
		if (c->ino && same_file(c->path, c->dev, c->ino))
			unlink(c->path);
		unlink(l.s);
	}
	if (again >= 0)
		close(again);
}

void mw_socket_lock_drop(struct mw_socket_lock *c)
{
	int fd;

	if (!c->path[0])
		return;
	mw_socket_lock_unlink(c);
	c->path[0] = '\0';
	fd = lock_fd_checked(c);
	c->lock_fd = -1;
	if (fd >= 0)
		close(fd);
}

bool mw_socket_lock_cleanup(const char *path, pid_t pid)
{
	char err[MW_ERROR_MAX];
	struct lock_path l;
	struct mw_socket_lock c;
	struct stat st;

	lock_path(&l, path);
	if (lstat(l.s, &st)) /* taking it would make one */
		return errno == ENOENT;
	/* an empty lock: its owner was killed before it wrote its name, or is about to write it */
	if (!S_ISREG(st.st_mode) ||
	    (!st.st_size && time(NULL) - st.st_mtime < EMPTY_FOR && (pid <= 0 || getpgid(pid) >= 0)))
		return false;
	if (mw_socket_lock_take(&c, path, err) != MW_SOCKET_LOCK_OURS)
		return false;
	mw_socket_lock_drop(&c);
	return true;
}

/* --- another's lock ---------------------------------------------------------------- */

void mw_socket_lock_forget(struct mw_socket_lock *c)
{
	int fd = lock_fd_checked(c);

	c->lock_fd = -1;
	if (fd >= 0)
		close(fd);
}

bool mw_socket_lock_is_free(struct mw_socket_lock *c, const char *path)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct lock_path l;
	struct stat st;

	lock_path(&l, path);
	if (c->lock_fd >= 0 && !same_file(l.s, c->lock_dev, c->lock_ino))
		mw_socket_lock_forget(c);
	if (lock_fd_checked(c) < 0) {
		c->lock_fd =
			mw_fd_high(open(l.s, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
		if (c->lock_fd < 0)
			return errno == ENOENT;
		if (fstat(c->lock_fd, &st))
			return false;
		c->lock_dev = st.st_dev;
		c->lock_ino = st.st_ino;
	}
	return !fcntl(c->lock_fd, F_GETLK, &fl) && fl.l_type == F_UNLCK;
}

bool mw_socket_lock_lacks_ruby(const struct mw_socket_lock *c)
{
	char mark[REQUEST_AT];
	ssize_t n = pread(lock_fd_checked(c), mark, sizeof(mark), 0);

	return n > 0 && memmem(mark, (size_t)n, WITHOUT_RUBY, strlen(WITHOUT_RUBY));
}

void mw_socket_lock_has_ruby(const struct mw_socket_lock *c)
{
	char mark[REQUEST_AT] = { 0 }; /* up to the request */

	snprintf(mark, sizeof(mark), LOCK_MARK "%ld\n", (long)c->owner);
	if (pwrite(lock_fd_checked(c), mark, sizeof(mark), 0) < 0)
		return; /* a full disk: others look more often than needed */
}

void mw_socket_lock_request(const struct mw_socket_lock *c)
{
	char request[32];
	int n = snprintf(request, sizeof(request), "%ld\n", (long)getpid());

	if (pwrite(lock_fd_checked(c), request, (size_t)n, REQUEST_AT) < 0)
		return; /* a full disk: the path stays where it is */
}

pid_t mw_socket_lock_requested(const struct mw_socket_lock *c)
{
	return (pid_t)number_at(c, REQUEST_AT);
}

void mw_socket_lock_set_port(const struct mw_socket_lock *c, uint16_t port)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%u\n", (unsigned)port);

	if (pwrite(lock_fd_checked(c), text, (size_t)n, PORT_AT) < 0)
		return; /* a full disk: a takeover of an unfixed port gets another number */
}

uint16_t mw_socket_lock_port(const struct mw_socket_lock *c)
{
	return (uint16_t)number_at(c, PORT_AT);
}

void mw_socket_lock_hand_over(struct mw_socket_lock *c)
{
	mw_socket_lock_forget(c); /* closing drops the lock */
	c->path[0] = '\0';
}
