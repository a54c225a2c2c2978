/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * token.c - the file that the option token_file names: read when the server starts, and again after
 * each change.
 *
 * Its first line is the token. It must be a regular file that only its owner can read and write.
 * While that isn't so, or it has no token, no token counts; each problem is logged once on stderr.
 * So removing the file locks everybody out. Replacing it (best by mv, in one step) ends the access
 * that the old token gave.
 *
 * Called by the server's thread, except what is for a forked child. Allocates nothing.
 */
#include "token.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shared/sys/clock.h"
#include "shared/sys/log.h"
#include "shared/sys/sys.h"
#include "server/http/access.h"
#include "absolute.h"
#include "endpoint.h"
#include "server_state.h"

/*
 * s; a file that changed this recently may change again without a trace: times have the resolution
 * of the kernel's ticks, or of seconds on some file systems.
 */
#define LATELY_S 3

#define OPENED 8u

static struct {
	char path[PATH_MAX]; /* absolute; "": the option isn't given */
	char wrong[MW_ERROR_MAX]; /* the problem; "": none */
	struct stat seen;    /* the file's state when it was read; all zero: it was missing */
	uint32_t ended;      /* given.ended as mw_token_refresh() saw it last */
	/*
	 * The files opened last. A fork copies the descriptors a little before the memory: a
	 * descriptor in the child may count as closed in here, and others as opened since.
	 */
	struct {
		dev_t dev;
		ino_t ino;
	} opened[OPENED];
	unsigned opened_n; /* in all */
} file;

static struct mw_access given; /* by the token */

static void wrong(const char *why)
{
	snprintf(file.wrong, sizeof(file.wrong), "token_file: %.120s %s", file.path, why);
}

static void wrong_errno(int e)
{
	snprintf(file.wrong, sizeof(file.wrong), "token_file: %.120s can't be read: %s", file.path,
		 mw_sys_error(e));
}

/* Finds the token at the start of a file. Returns its length, 0: there is none. */
static size_t token_in(const char *text, size_t n)
{
	const char *nl = memchr(text, '\n', n);

	n = nl ? (size_t)(nl - text) : n;
	return mw_token_valid(text, n) ? n : 0;
}

/* Reads a little more than the longest token. Returns the length, or -1 with errno. */
static ssize_t read_some(int fd, char *text, size_t size)
{
	size_t got = 0;
	ssize_t n;

	do {
		n = read(fd, text + got, size - got);
		got += n > 0 ? (size_t)n : 0;
	} while ((n > 0 && got < size) || (n < 0 && errno == EINTR));
	return n < 0 ? -1 : (ssize_t)got;
}

/*
 * Another user's file in a directory like /tmp, where anybody can make one of that name, and so choose our token.
 * Elsewhere it is fine: root may serve by a token that is the deploying user's.
 */
static bool is_planted(const struct stat *st)
{
	const char *slash = strrchr(file.path, '/');
	size_t n = slash ? (size_t)(slash - file.path) + 1 : 0;
	char dir[PATH_MAX + 2];
	struct stat above;

	if (st->st_uid == geteuid() || n >= PATH_MAX)
		return false;
	memcpy(dir, file.path, n);
	memcpy(dir + n, ".", 2);
	return stat(dir, &above) == 0 && above.st_mode & S_ISVTX && above.st_mode & S_IWOTH &&
	       above.st_uid != st->st_uid;
}

static void take_token(int fd, const struct stat *st)
{
	char text[MW_TOKEN_MAX + 2];
	ssize_t got;
	size_t n;

	if (!S_ISREG(st->st_mode)) {
		wrong("isn't a regular file");
	} else if (st->st_mode & 077) {
		snprintf(file.wrong, sizeof(file.wrong),
			 "token_file: %.120s is open to others (mode %04o): chmod 600 it", file.path,
			 (unsigned)(st->st_mode & 07777));
	} else if (is_planted(st)) {
		snprintf(file.wrong, sizeof(file.wrong),
			 "token_file: %.120s is another user's file in a shared directory: move it",
			 file.path);
	} else if ((got = read_some(fd, text, sizeof(text))) < 0) {
		wrong_errno(errno);
	} else {
		n = token_in(text, (size_t)got);
		if (n) {
			file.wrong[0] = '\0';
			mw_access_token(&given, text, n);
		} else {
			wrong("has no token: the first line must be 16 to 512 printable ASCII "
			      "characters without spaces");
		}
		explicit_bzero(text, sizeof(text));
	}
}

/* st: from stat(2). A pipe is never opened, and so can't block us. */
static void read_token_file(const struct stat *st)
{
	struct stat now;
	int fd;

	if (!S_ISREG(st->st_mode)) {
		wrong("isn't a regular file");
		return;
	}
	file.opened[file.opened_n % OPENED].dev = st->st_dev;
	file.opened[file.opened_n % OPENED].ino = st->st_ino;
	atomic_signal_fence(memory_order_seq_cst); /* before the descriptor exists */
	file.opened_n++;
	fd = open(file.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &now))
		wrong_errno(errno);
	else
		take_token(fd, &now);
	if (fd >= 0)
		close(fd);
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool unchanged(const struct stat *st)
{
	const struct stat *seen = &file.seen;
	time_t now;

	if (st->st_dev != seen->st_dev || st->st_ino != seen->st_ino || st->st_mode != seen->st_mode ||
	    st->st_size != seen->st_size || !same_time(st->st_mtim, seen->st_mtim) ||
	    !same_time(st->st_ctim, seen->st_ctim))
		return false;
	now = mw_unix_time();
	return now < st->st_ctim.tv_sec || now - st->st_ctim.tv_sec > LATELY_S;
}

/* Reads the file if it has changed. */
static void look_at_token_file(void)
{
	struct stat st;

	if (stat(file.path, &st)) {
		memset(&file.seen, 0, sizeof(file.seen));
		wrong_errno(errno);
	} else if (!unchanged(&st)) {
		file.seen = st;
		read_token_file(&st);
	}
	if (file.wrong[0])
		mw_access_token(&given, "", 0);
}

void mw_token_start(const struct mw_options *o)
{
	char path[PATH_MAX];

	memset(&file, 0, sizeof(file));
	mw_access_forget(&given);
	if (!o->token_file)
		return;
	if (mw_options_expand(o->token_file, (long)getpid(), path, sizeof(path)) < 0) {
		snprintf(file.wrong, sizeof(file.wrong), "token_file: too long for a path");
		return;
	}
	if (mw_absolute(path, file.path, sizeof(file.path), file.wrong)) {
		file.path[0] = '\0';
		return;
	}
	look_at_token_file();
	file.ended = given.ended;
}

const char *mw_token_wrong(void)
{
	return file.wrong[0] ? file.wrong : NULL;
}

bool mw_token_refresh(bool (*speaks)(void))
{
	char before[sizeof(file.wrong)];
	bool ended;

	if (!file.path[0])
		return false;
	memcpy(before, file.wrong, sizeof(before));
	mw_moves_begin();
	look_at_token_file();
	mw_moves_end();
	if (file.wrong[0] && strcmp(before, file.wrong) && speaks())
		mw_log("%s. Every request is refused until this is right", file.wrong);
	mw_access_expire(&given);
	ended = file.ended != given.ended;
	file.ended = given.ended;
	mw_endpoint_tell(&given);
	return ended;
}

bool mw_token_is_ours(int fd)
{
	struct stat st;

	/* the application may have the same file open, but hardly with these flags */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !(fcntl(fd, F_GETFL) & O_NONBLOCK) ||
	    !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
		return false;
	for (unsigned i = 0; i < OPENED && i < file.opened_n; i++)
		if (st.st_dev == file.opened[i].dev && st.st_ino == file.opened[i].ino)
			return true;
	return false;
}

struct mw_access *mw_token_access(void)
{
	return &given;
}

void mw_token_forget(void)
{
	mw_access_forget(&given);
}
