/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dump.c - the dump at exit.
 *
 * It runs late, while other threads may still work, in every process of a
 * family that appends to one file. Invariants:
 *  - Each process's dump is in one piece: one write(2) on an O_APPEND
 *    descriptor, and a lock around it in case the kernel takes only a part.
 *    The lock is the per-process kind (F_SETLK): forked processes share the
 *    open file of dump_fd, and with it any lock of the other kinds.
 *  - The process still ends as it would have: writing delivers no signal, no
 *    wait for a reader or a lock is endless, and a dump_fd that has become
 *    another file stays untouched.
 *  - System calls go through sys.h: other libraries interpose libc's functions,
 *    and their destructors have run.
 */
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "shared/sys/clock.h"
#include "shared/sys/log.h"
#include "shared/sys/sys.h"
#include "dump.h"
#include "shared/report/heap_page_rows.h"

#define LOCK_WAIT_MS 2000   /* then the dump is written without the lock */
#define WRITE_WAIT_MS 2000  /* without any progress; then the dump is cut off */
#define WRITE_ALL_MS 20000  /* for a reader that is slow */

struct target {
	int fd;
	bool opened; /* here, from dump_path */
	const char *key;
	char name[PATH_MAX];
};

/* --- messages ------------------------------------------------------------- */

void mw_dump_complain(const char *key, const char *name, const char *reason)
{
	struct mw_line l = { .n = 0 };

	mw_line_text(&l, key);
	mw_line_text(&l, " ");
	mw_line_end_of(&l, name, strlen(name)); /* a path's end says more than its beginning */
	mw_line_text(&l, ": ");
	mw_line_text(&l, reason);
	mw_log_line(&l);
}

void mw_dump_complain_errno(const char *key, const char *name, int err)
{
	mw_dump_complain(key, name, mw_sys_error(err));
}

static void complain(const struct target *t, const char *reason)
{
	mw_dump_complain(t->key, t->name, reason);
}

static void complain_errno(const struct target *t, int err)
{
	mw_dump_complain_errno(t->key, t->name, err);
}

/* --- where to ------------------------------------------------------------- */

/* Of the path itself, not of what a link leads to. */
static bool owner_and_mode(const char *path, struct stat *st)
{
	int fd = mw_sys_open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	bool known = fd >= 0 && mw_sys_fstat(fd, st) == 0;

	if (fd >= 0)
		mw_sys_close(fd);
	return known;
}

/*
 * Something of another user in a directory like /tmp: a link may lead to any file of ours, and a file's owner
 * would read the dump. This is the rule of fs.protected_symlinks, protected_regular and protected_fifos, which may
 * be off. The sticky bit keeps others from replacing what is ours or root's between this look and the opening.
 */
static bool planted(const char *path, const struct stat *st)
{
	struct stat dir;
	char above[PATH_MAX + 2];
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;

	if (st->st_uid == geteuid() ||
	    (!S_ISLNK(st->st_mode) && !S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode)))
		return false;
	memcpy(above, path, n);
	memcpy(above + n, ".", 2);
	return owner_and_mode(above, &dir) && (dir.st_mode & S_ISVTX) && (dir.st_mode & S_IWOTH) &&
	       dir.st_uid != st->st_uid;
}

/*
 * A descriptor, or -1 with errno. EAGAIN: what is there changed between the look and the opening. A new file is
 * made exclusively, and a file that is there isn't made: nothing that wasn't looked at is opened.
 */
static int open_once(const char *path, mode_t mode)
{
	struct stat st;
	bool there = owner_and_mode(path, &st);
	int make = !there ? O_CREAT | O_EXCL : S_ISLNK(st.st_mode) ? O_CREAT : 0, fd;

	if (there && planted(path, &st)) {
		errno = EACCES;
		return -1;
	}
	/* O_NONBLOCK: a FIFO without a reader is an error, not an endless wait */
	fd = mw_sys_open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | make, mode);
	if (fd < 0 &&
	    (errno == EINTR || (errno == EEXIST && !there) || (errno == ENOENT && there && !make)))
		errno = EAGAIN;
	return fd;
}

#define OPENS 100 /* another process may make and remove it again and again */

static bool open_path(struct target *t, const struct mw_options *o)
{
	t->key = "dump_path";
	if (mw_options_expand(o->dump_path, mw_sys_getpid(), t->name, sizeof(t->name)) < 0) {
		complain_errno(t, ENAMETOOLONG);
		return false;
	}
	for (int i = 0; t->fd < 0 && i < OPENS; i++) {
		t->fd = open_once(t->name, (mode_t)o->file_mode);
		if (t->fd < 0 && errno != EAGAIN)
			break;
	}
	if (t->fd < 0) {
		complain_errno(t, errno);
		return false;
	}
	t->opened = true;
	return true;
}

static bool check_fd(struct target *t, const struct mw_options *o)
{
	struct stat st;

	t->key = "dump_fd";
	t->fd = o->dump_fd;
	mw_options_expand("%p", o->dump_fd, t->name, sizeof(t->name)); /* the number in digits */
	if (mw_sys_fstat(t->fd, &st) < 0) {
		complain_errno(t, errno);
		return false;
	}
	if (st.st_dev != o->dump_dev || st.st_ino != o->dump_ino) {
		complain(t, "replaced since the start: nothing was written");
		return false;
	}
	return true;
}

/* --- writing -------------------------------------------------------------- */

static int set_lock(int fd, short type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET };

	return mw_sys_fcntl(fd, F_SETLK, mw_sys_ptr(&l));
}

/* Waits for other processes, LOCK_WAIT_MS at most; goes on if the file can't be locked. */
static void lock(int fd)
{
	for (int i = 0; i < LOCK_WAIT_MS; i++) {
		if (set_lock(fd, F_WRLCK) == 0 || (errno != EAGAIN && errno != EACCES && errno != EINTR))
			return;
		mw_sys_nap();
	}
}

/* Waits until fd is writable, WRITE_WAIT_MS at most, but not beyond a moment of mw_now_ms: 0 or an errno. */
static int wait_writable(int fd, uint64_t until)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	uint64_t now = mw_now_ms(), left = now < until ? until - now : 0;
	int n = mw_sys_poll(&p, 1, left < WRITE_WAIT_MS ? (int)left : WRITE_WAIT_MS);

	if (n < 0)
		return errno == EINTR ? 0 : errno;
	return n ? 0 : ETIMEDOUT;
}

/* A descriptor of the same pipe or terminal that never blocks, though the application's does. -1: none. */
static int never_blocking(int fd)
{
	char path[32] = "/proc/self/fd/", digits[12];
	size_t at = strlen(path), n = 0;

	for (unsigned v = (unsigned)fd; v || !n; v /= 10)
		digits[n++] = (char)('0' + v % 10);
	while (n)
		path[at++] = digits[--n];
	path[at] = '\0';
	return mw_sys_open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
}

static ssize_t send_some(int fd, const void *s, size_t n)
{
	return mw_sys_send(fd, s, n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int write_pieces(mw_write *write_some, int fd, const char *s, size_t n)
{
	uint64_t until = mw_now_ms() + WRITE_ALL_MS;

	while (n) {
		int err = wait_writable(fd, until);
		ssize_t w;

		if (err)
			return err;
		w = write_some(fd, s, n < PIPE_BUF ? n : PIPE_BUF);
		if (w == 0)
			return EIO;
		if (w < 0 && errno != EINTR && errno != EAGAIN)
			return errno;
		s += w > 0 ? w : 0;
		n -= w > 0 ? (size_t)w : 0;
	}
	return 0;
}

static int write_file(mw_write *write_some, int fd, const char *s, size_t n)
{
	while (n) {
		ssize_t w = write_some(fd, s, n);

		if (w == 0)
			return EIO;
		if (w < 0 && errno != EINTR)
			return errno;
		s += w > 0 ? w : 0;
		n -= w > 0 ? (size_t)w : 0;
	}
	return 0;
}

/*
 * Writes all n bytes: to a file in one piece, to a pipe or the like in pieces
 * that it takes without blocking. Another process may fill a pipe between our look and our
 * write, so the descriptor never blocks. 0 or an errno.
 */
int mw_dump_write(mw_write *write_some, int fd, const char *s, size_t n)
{
	struct stat st;
	int copy, err;

	if (mw_sys_fstat(fd, &st) != 0)
		return errno;
	if (S_ISREG(st.st_mode))
		return write_file(write_some, fd, s, n);
	if (S_ISSOCK(st.st_mode))
		return write_pieces(send_some, fd, s, n);
	copy = never_blocking(fd);
	err = write_pieces(write_some, copy >= 0 ? copy : fd, s, n);
	if (copy >= 0)
		mw_sys_close(copy);
	return err;
}

/*
 * Blocks the signals that writing can cause in this thread; *pending has those
 * that were pending before. With SIGTTOU blocked a terminal takes the output of
 * a background process instead of stopping it.
 */
static void hold_signals(sigset_t *held, sigset_t *before, sigset_t *pending)
{
	sigemptyset(held);
	sigaddset(held, SIGPIPE);
	sigaddset(held, SIGXFSZ);
	sigaddset(held, SIGTTOU);
	mw_sys_sigpending(pending);
	mw_sys_sigmask(SIG_BLOCK, held, before);
}

/* Consumes the signals that writing caused, and no others. */
static void release_signals(sigset_t *held, const sigset_t *before, const sigset_t *pending)
{
	static const int sigs[] = { SIGPIPE, SIGXFSZ, SIGTTOU };

	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++) {
		if (sigismember(pending, sigs[i]))
			sigdelset(held, sigs[i]);
	}
	while (mw_sys_sigtake(held))
		;
	mw_sys_sigmask(SIG_SETMASK, before, NULL);
}

static bool deliver(const struct target *t, const struct mw_buf *b)
{
	sigset_t held, before, pending;
	int err;

	hold_signals(&held, &before, &pending);
	lock(t->fd);
	err = mw_dump_write(mw_sys_write, t->fd, b->p, b->n);
	set_lock(t->fd, F_UNLCK);
	if (err == ETIMEDOUT)
		complain(t, "nobody reads it: the dump was cut off");
	else if (err)
		complain_errno(t, err);
	release_signals(&held, &before, &pending);
	return !err;
}

static bool render_table(struct mw_buf *b, const struct mw_api *api, const struct mw_options *o, int sort)
{
	struct mw_query q = { .min = o->dump_min, .sort = sort };
	struct mw_result res;

	if (mw_result_make(&res, api, &q))
		return false;
	mw_render(b, &res, o->dump_format);
	mw_result_free(&res, api);
	return true;
}

static bool render_heap(struct mw_buf *b, const struct mw_api *api, unsigned mask)
{
	struct mw_heap_list l;

	if (mw_heap_list_make(&l, api, 0, 0))
		return false;
	mw_render_heap_text(b, &l, mask);
	mw_heap_list_free(&l, api);
	return true;
}

bool mw_dump_render(struct mw_buf *b, const struct mw_api *api, int sort)
{
	const struct mw_options *o = api->options();

	if (!(o->dump_heap & MW_DUMP_HEAP_ONLY) && !render_table(b, api, o, sort))
		return false;
	if (o->dump_heap && !render_heap(b, api, o->dump_heap))
		return false;
	return !b->failed;
}

/* Behind "# ": the first column of a table isn't a number there. */
static void add_last_line(struct mw_buf *b, const struct mw_options *o, const char *said)
{
	if (!said || o->dump_format != MW_FORMAT_TEXT)
		return;
	mw_buf_str(b, "# ");
	mw_buf_str(b, said);
	mw_buf_str(b, "\n");
}

static bool dump(const struct mw_api *api, const struct mw_options *o, const char *said)
{
	static struct target t; /* once in a process; too big for a small thread's stack */
	struct mw_buf b = { 0 };
	bool done = false, rendered;

	t = (struct target){ .fd = -1 };

	if (o->dump_path ? !open_path(&t, o) : !check_fd(&t, o))
		return false;
	rendered = mw_dump_render(&b, api, -1);
	add_last_line(&b, o, said);
	if (!rendered || b.failed)
		complain_errno(&t, ENOMEM);
	else
		done = !b.n || deliver(&t, &b);
	mw_buf_free(&b);
	if (t.opened)
		mw_sys_close(t.fd);
	return done;
}

bool mw_dump_at_exit(const struct mw_api *api, const char *said)
{
	const struct mw_options *o = api->options();
	int saved = errno, cancel;
	bool done;

	if (!o->dump_path && o->dump_fd < 0)
		return true;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	api->quiet_enter();
	done = dump(api, o, said);
	api->quiet_leave();
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return done;
}
