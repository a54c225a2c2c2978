/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys.h"

static struct stat at_load; /* st_mode == 0: descriptor 2 was closed */

static void put_char(struct mw_line *l, char c)
{
	if (l->n < sizeof(l->s) - 1) /* room for the newline */
		l->s[l->n++] = (unsigned char)c < 0x20 || c == 0x7f ? '?' : c;
}

void mw_line_text(struct mw_line *l, const char *s)
{
	while (*s)
		put_char(l, *s++);
}

void mw_line_end_of(struct mw_line *l, const char *s, size_t n)
{
	enum { ENOUGH = 300 };

	if (n > ENOUGH) {
		mw_line_text(l, "...");
		s += n - ENOUGH;
		n = ENOUGH;
	}
	while (n--)
		put_char(l, *s++);
}

void mw_line_u64(struct mw_line *l, uint64_t v, unsigned base)
{
	char digits[20];
	size_t n = 0;

	do
		digits[n++] = "0123456789abcdef"[v % base];
	while (v /= base);
	while (n)
		put_char(l, digits[--n]);
}

void mw_log_init(void)
{
	int e = errno;

	if (mw_sys_fstat(STDERR_FILENO, &at_load) != 0)
		memset(&at_load, 0, sizeof(at_load));
	errno = e;
}

bool mw_is_still_output(int fd, const struct stat *before)
{
	struct stat now;
	int flags;

	if (mw_sys_fstat(fd, &now) != 0)
		return false;
	if (before->st_mode && now.st_dev == before->st_dev && now.st_ino == before->st_ino)
		return true;
	flags = mw_sys_fcntl(fd, F_GETFL, 0);
	return S_ISCHR(now.st_mode) || (S_ISREG(now.st_mode) && flags >= 0 && flags & O_APPEND);
}

/* Takes the signals of `held` that came meanwhile; those that were pending before stay. */
static void take_back(sigset_t *held, const sigset_t *waited)
{
	static const int sigs[] = { SIGPIPE, SIGXFSZ };

	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++)
		if (sigismember(waited, sigs[i]))
			sigdelset(held, sigs[i]);
	while (mw_sys_sigtake(held))
		;
}

/* Waits for room in a pipe for `ms` milliseconds at most. */
static bool write_line(const struct iovec *parts, int n, int ms)
{
	struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };
	sigset_t held, before, waited;
	ssize_t w;

	/* a pipe that polls as writable has room for so short a line */
	if (mw_sys_poll(&fd, 1, ms) != 1 || fd.revents != POLLOUT)
		return false;
	sigemptyset(&held);
	sigaddset(&held, SIGPIPE);
	sigaddset(&held, SIGXFSZ);
	sigaddset(&held, SIGTTOU); /* held, it doesn't stop a background process that writes */
	mw_sys_sigpending(&waited);
	mw_sys_sigmask(SIG_BLOCK, &held, &before);
	w = mw_sys_writev(STDERR_FILENO, parts, n);
	if (w < 0 && (errno == EPIPE || errno == EFBIG)) {
		sigdelset(&held, SIGTTOU);
		take_back(&held, &waited);
	}
	mw_sys_sigmask(SIG_SETMASK, &before, NULL);
	return w > 0;
}

static char prefix[] = "mwrap: ";

/* Ends the line, and points the two parts at the prefix and the line. */
static void end_line(struct mw_line *l, struct iovec parts[2])
{
	l->s[l->n] = '\n';
	parts[0] = (struct iovec){ prefix, sizeof(prefix) - 1 };
	parts[1] = (struct iovec){ l->s, l->n + 1 };
}

static bool log_within(struct mw_line *l, int ms)
{
	struct iovec parts[2];
	int e = errno, cancel;
	bool done;

	end_line(l, parts);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	done = write_line(parts, 2, ms);
	pthread_setcancelstate(cancel, NULL);
	errno = e;
	return done;
}

bool mw_log_try(struct mw_line *l)
{
	int e = errno;
	bool done = mw_is_still_output(STDERR_FILENO, &at_load) && log_within(l, 0);

	errno = e;
	return done;
}

void mw_log_line(struct mw_line *l)
{
	enum { PATIENCE_MS = 50 };

	(void)log_within(l, PATIENCE_MS); /* a failure can't be reported */
}

void mw_log(const char *fmt, ...)
{
	struct mw_line l = { .n = 0 };
	char text[sizeof(l.s)];
	int e = errno;
	va_list ap;

	va_start(ap, fmt);
	if (vsnprintf(text, sizeof(text), fmt, ap) >= 0)
		mw_line_text(&l, text);
	va_end(ap);
	errno = e;
	mw_log_line(&l);
}

bool mw_log_first(struct mw_log_told *told, int err)
{
	uint64_t bit = UINT64_C(1) << (err & 63), *word = &told->v[err >> 6 & 3];
	bool first = !(*word & bit);

	*word |= bit;
	return first;
}
