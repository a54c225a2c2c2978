/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gone.c - a preload that can't be called any more when its destructor has run, as libfaketime:
 * it passes on functions of files, clocks, waiting and signals, and then ends the process with
 * SIGILL, with the name of the function that was called on stderr.
 */
#include <dlfcn.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

static bool gone;

/* By itself: syscall(2) is one of those. */
static void tell(const char *s)
{
#if defined(__x86_64__)
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(SYS_write), "D"(2), "S"(s), "d"(strlen(s))
			 : "rcx", "r11", "memory");
#else
	(void)s;
#endif
}

static void *next_of(void *next, const char *name, const char *line)
{
	if (__atomic_load_n(&gone, __ATOMIC_ACQUIRE)) {
		tell(line);
		__builtin_trap();
	}
	return next ? next : dlsym(RTLD_NEXT, name);
}

#define PASS(type, name, params, args)                                              \
	type name params;                                                           \
	type name params                                                            \
	{                                                                           \
		static type(*next) params;                                          \
                                                                                    \
		next = next_of((void *)next, #name, "gone: " #name " is called\n"); \
		return next args;                                                   \
	}

PASS(int, close, (int fd), (fd))
PASS(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n))
PASS(ssize_t, pread, (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
PASS(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))
PASS(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
PASS(int, stat, (const char *path, struct stat *st), (path, st))
PASS(int, fstat, (int fd, struct stat *st), (fd, st))
PASS(int, lstat, (const char *path, struct stat *st), (path, st))
PASS(int, unlink, (const char *path), (path))
PASS(int, rename, (const char *from, const char *to), (from, to))
PASS(int, poll, (struct pollfd * p, nfds_t n, int ms), (p, n, ms))
PASS(int, ppoll, (struct pollfd * p, nfds_t n, const struct timespec *t, const sigset_t *s), (p, n, t, s))
PASS(int, epoll_wait, (int fd, struct epoll_event *e, int n, int ms), (fd, e, n, ms))
PASS(int, clock_gettime, (clockid_t c, struct timespec *t), (c, t))
PASS(time_t, time, (time_t *t), (t))
PASS(int, gettimeofday, (struct timeval * t, void *z), (t, z))
PASS(int, nanosleep, (const struct timespec *t, struct timespec *left), (t, left))
PASS(int, clock_nanosleep, (clockid_t c, int how, const struct timespec *t, struct timespec *left),
     (c, how, t, left))
PASS(int, usleep, (unsigned us), (us))
PASS(pid_t, getpid, (void), ())
PASS(int, sigpending, (sigset_t * s), (s))
PASS(int, sigtimedwait, (const sigset_t *s, siginfo_t *i, const struct timespec *t), (s, i, t))
PASS(int, pthread_sigmask, (int how, const sigset_t *s, sigset_t *old), (how, s, old))
PASS(int, sem_wait, (sem_t * s), (s))
PASS(int, sem_timedwait, (sem_t * s, const struct timespec *t), (s, t))
PASS(int, sem_clockwait, (sem_t * s, clockid_t c, const struct timespec *t), (s, c, t))
PASS(char *, strerror_r, (int e, char *p, size_t n), (e, p, n))

/* Those with an argument that may not be there: on these machines it can be passed on all the same. */
#define PASS_ONE_MORE(name, params, args, last)                                                    \
	int name params                                                                            \
	{                                                                                          \
		static int(*next) params;                                                          \
		va_list more;                                                                      \
		long arg;                                                                          \
                                                                                                   \
		next = (int(*) params)next_of((void *)next, #name, "gone: " #name " is called\n"); \
		va_start(more, last);                                                              \
		arg = va_arg(more, long);                                                          \
		va_end(more);                                                                      \
		return next args;                                                                  \
	}

int open(const char *path, int flags, ...);
int open64(const char *path, int flags, ...);
int openat(int dir, const char *path, int flags, ...);
int fcntl(int fd, int what, ...);
int fcntl64(int fd, int what, ...);
PASS_ONE_MORE(open, (const char *path, int flags, ...), (path, flags, arg), flags)
PASS_ONE_MORE(open64, (const char *path, int flags, ...), (path, flags, arg), flags)
PASS_ONE_MORE(openat, (int dir, const char *path, int flags, ...), (dir, path, flags, arg), flags)
PASS_ONE_MORE(fcntl, (int fd, int what, ...), (fd, what, arg), what)
PASS_ONE_MORE(fcntl64, (int fd, int what, ...), (fd, what, arg), what)

long syscall(long number, ...)
{
	static long (*next)(long, ...);
	va_list more;
	long a[6];

	next = (long (*)(long, ...))next_of((void *)next, "syscall", "gone: syscall is called\n");
	va_start(more, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(more, long);
	va_end(more);
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

__attribute__((destructor)) static void end(void)
{
	__atomic_store_n(&gone, true, __ATOMIC_RELEASE);
}
