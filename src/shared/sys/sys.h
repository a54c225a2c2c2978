/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys.h - system calls that the tracker makes itself.
 *
 * Other preloads interpose the C library's functions of files, clocks and signals
 * (libfaketime: fstat, poll, nanosleep, clock_gettime, getpid). The exit dump runs after their
 * destructors, and the first call may come before their constructors: their functions must not
 * be called then. Nor may a clock that is set wrong on purpose end a wait. So code that runs so
 * early or late, or waits, calls the kernel.
 *
 * Results are those of the C library's functions: -1 and errno on failure. None is a
 * cancellation point. The kernel's 8 bytes come first in a sigset_t.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "libc.h"

enum { MW_SYS_SIGSET = 8 };

/* 4 KiB on x86-64; 4, 16 or 64 KiB on arm64, as the kernel was built. Any thread, a signal handler too. */
static inline size_t mw_page_size(void)
{
	return getauxval(AT_PAGESZ);
}

/*
 * Makes a system call by itself on x86-64 and arm64; some preloads interpose syscall(2), too. The
 * kernel's result: -4095 to -1 is an error's number, negated. There it calls nothing, and is always
 * inline: mwrapctl's helper copies code that uses it into other processes.
 */
static inline __attribute__((always_inline)) long mw_sys_plain(long number, long a, long b, long c,
							       long d, long e)
{
#if defined(__x86_64__) && !defined(__ILP32__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return r;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
	return x0;
#else
	long r = syscall(number, a, b, c, d, e);

	return r == -1 ? -errno : r;
#endif
}

static inline long mw_sys(long number, long a, long b, long c, long d, long e)
{
	long r = mw_sys_plain(number, a, b, c, d, e);

	if (r < 0 && r >= -4095) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

static inline __attribute__((always_inline)) long mw_sys_ptr(const volatile void *p)
{
	return (long)(uintptr_t)p;
}

/*
 * Can the 4 bytes at p, a multiple of 4, be read at this moment? A wait while a word has a value that it hardly
 * ever has: the kernel reads the word, and the wait is over at once. No sandbox refuses futex(2) to a program with
 * threads. errno is kept.
 */
static inline bool mw_sys_reads(uintptr_t p)
{
	enum { UNLIKELY = 0x6d77b5e3 };
	const struct timespec none = { 0 };
	long r = mw_sys_plain(SYS_futex, (long)p, FUTEX_WAIT_PRIVATE, UNLIKELY, mw_sys_ptr(&none), 0);

	return r == 0 || r == -EAGAIN || r == -ETIMEDOUT || r == -EINTR;
}

/* --- memory ----------------------------------------------------------------- */

/* Zeroed memory of so many bytes; NULL: none, and errno says why. how: MAP_PRIVATE or MAP_SHARED. Nothing counts it. */
static inline void *mw_sys_map(size_t bytes, int how)
{
	/* syscall(2), for the sixth argument */
	long p = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
			 how | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);

	return p == -1 ? NULL : (void *)p; // NOLINT(performance-no-int-to-ptr)
}

/* p may be NULL. */
static inline void mw_sys_unmap(void *p, size_t bytes)
{
	if (p)
		mw_sys(SYS_munmap, mw_sys_ptr(p), (long)bytes, 0, 0, 0);
}

/* --- files ------------------------------------------------------------------ */

static inline int mw_sys_open(const char *path, int flags, mode_t mode)
{
	return (int)mw_sys(SYS_openat, AT_FDCWD, mw_sys_ptr(path), flags, (long)mode, 0);
}

static inline ssize_t mw_sys_readlink(const char *path, char *to, size_t n)
{
	return mw_sys(SYS_readlinkat, AT_FDCWD, mw_sys_ptr(path), mw_sys_ptr(to), (long)n, 0);
}

static inline int mw_sys_close(int fd)
{
	return (int)mw_sys(SYS_close, fd, 0, 0, 0, 0);
}

static inline ssize_t mw_sys_read(int fd, void *to, size_t n)
{
	return mw_sys(SYS_read, fd, mw_sys_ptr(to), (long)n, 0, 0);
}

static inline ssize_t mw_sys_write(int fd, const void *from, size_t n)
{
	return mw_sys(SYS_write, fd, mw_sys_ptr(from), (long)n, 0, 0);
}

/* The kernel ignores the sixth argument, since there is no address. */
static inline ssize_t mw_sys_send(int fd, const void *from, size_t n, int flags)
{
	return mw_sys(SYS_sendto, fd, mw_sys_ptr(from), (long)n, flags, 0);
}

static inline ssize_t mw_sys_writev(int fd, const struct iovec *parts, int n)
{
	return mw_sys(SYS_writev, fd, mw_sys_ptr(parts), n, 0, 0);
}

/* On machines of 64 bits the C library's struct is the kernel's. */
static inline int mw_sys_fstat(int fd, struct stat *st)
{
	return (int)mw_sys(SYS_fstat, fd, mw_sys_ptr(st), 0, 0, 0);
}

static inline int mw_sys_fcntl(int fd, int what, long arg)
{
	return (int)mw_sys(SYS_fcntl, fd, what, arg, 0, 0);
}

static inline int mw_sys_unlink(const char *path)
{
	return (int)mw_sys(SYS_unlinkat, AT_FDCWD, mw_sys_ptr(path), 0, 0, 0);
}

/* ms < 0: no limit */
static inline int mw_sys_poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	return (int)mw_sys(SYS_ppoll, mw_sys_ptr(fds), (long)n, ms < 0 ? 0 : mw_sys_ptr(&t), 0,
			   MW_SYS_SIGSET);
}

/* --- time -------------------------------------------------------------------- */

static inline struct timespec mw_sys_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };
}

/* For clock.h only. */
static inline void mw_sys_clock(clockid_t clock, struct timespec *t)
{
	if (mw_sys(SYS_clock_gettime, clock, mw_sys_ptr(t), 0, 0, 0) != 0)
		*t = (struct timespec){ 0 };
}

/* Sleeps for a millisecond, or until a signal. */
static inline void mw_sys_nap(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	(void)mw_sys(SYS_nanosleep, mw_sys_ptr(&ms), 0, 0, 0, 0);
}

/* Sleeps until that moment of CLOCK_MONOTONIC; false: a signal came first. */
static inline bool mw_sys_sleep_until(uint64_t ns)
{
	const struct timespec t = mw_sys_timespec(ns);

	return mw_sys(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, mw_sys_ptr(&t), 0, 0) == 0;
}

/* Waits until *word isn't `is`, a wake comes, or ns have passed; may also end for no reason. */
static inline void mw_sys_futex_wait(const uint32_t *word, uint32_t is, uint64_t ns)
{
	const struct timespec t = mw_sys_timespec(ns);

	(void)mw_sys(SYS_futex, mw_sys_ptr(word), FUTEX_WAIT_PRIVATE, (long)is, mw_sys_ptr(&t), 0);
}

static inline void mw_sys_futex_wake(const uint32_t *word)
{
	(void)mw_sys(SYS_futex, mw_sys_ptr(word), FUTEX_WAKE_PRIVATE, INT32_MAX, 0, 0);
}

/* --- signals, of the calling thread -------------------------------------------- */

static inline void mw_sys_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	if (old)
		(void)sigemptyset(old);
	(void)mw_sys(SYS_rt_sigprocmask, how, mw_sys_ptr(set), mw_sys_ptr(old), MW_SYS_SIGSET, 0);
}

static inline void mw_sys_sigpending(sigset_t *set)
{
	(void)sigemptyset(set);
	(void)mw_sys(SYS_rt_sigpending, mw_sys_ptr(set), MW_SYS_SIGSET, 0, 0, 0);
}

/* Takes one pending signal of `set`, without waiting; false: none is pending. */
static inline bool mw_sys_sigtake(const sigset_t *set)
{
	const struct timespec now = { 0 };

	return mw_sys(SYS_rt_sigtimedwait, mw_sys_ptr(set), 0, mw_sys_ptr(&now), MW_SYS_SIGSET, 0) > 0;
}

/* --- this process, this thread --------------------------------------------------- */

static inline pid_t mw_sys_getpid(void)
{
	return (pid_t)mw_sys(SYS_getpid, 0, 0, 0, 0, 0);
}

/*
 * An error's text, never translated. strerror() and strerror_r() take the lock on the locale:
 * a fork could come while an own thread holds it.
 */
static inline const char *mw_sys_error(int e)
{
	const char *text = mw_libc_error(e);

	return text ? text : "Unknown error";
}

/* Sets the name of this thread, as top -H shows it: at most 15 characters. */
static inline void mw_sys_name_thread(const char *name)
{
	(void)mw_sys(SYS_prctl, PR_SET_NAME, mw_sys_ptr(name), 0, 0, 0);
}
