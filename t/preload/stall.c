/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stall.c - a machine that keeps the tracker's server from running. While the file
 * $STALL_WHILE exists, a call doesn't return in a thread of the tracker's (its name is
 * "mwrap"): with $STALL_AT=mmap that of 2 MiB and more, as
 * when counters are copied; with $STALL_AT=membarrier that system call, as in a reset.
 * Each time that one begins to wait, "stalled\n" is appended to $STALL_SAYS.
 *
 * The tracker interposes mmap, and calls the next one's. All its other calls go straight to the C library, so
 * a filter of the kernel's asks a thread of this object about each membarrier.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MUCH = 2 << 20, HELD = 8 };

static char while_there[512], says[512];
static bool at_membarrier;

static bool is_stalled(void)
{
	return *while_there && access(while_there, F_OK) == 0;
}

static void tell(void)
{
	int log = open(says, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (log < 0 || write(log, "stalled\n", 8) != 8)
		abort();
	close(log);
}

/* --- mmap --------------------------------------------------------------------------- */

static void stall(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int e = errno;

	if (is_stalled())
		tell();
	while (is_stalled())
		nanosleep(&ms, NULL);
	errno = e;
}

static bool is_trackers(void)
{
	char name[16] = "";

	return *while_there && !prctl(PR_GET_NAME, name) && !strcmp(name, "mwrap");
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	if (!at_membarrier && n >= MUCH && flags & MAP_ANONYMOUS && is_trackers())
		stall();
	return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, off);
}

/* --- membarrier --------------------------------------------------------------------- */

static bool is_of_tracker(pid_t tid)
{
	char path[40], name[16] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, name, sizeof(name) - 1) < 0)
		abort();
	close(fd);
	return !strcmp(name, "mwrap\n");
}

static void let_go(int filter, uint64_t id)
{
	struct seccomp_notif_resp answer = { .id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	(void)ioctl(filter, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* ENOENT: the thread is gone */
}

static void *hold(void *arg)
{
	struct pollfd asked = { .fd = (int)(intptr_t)arg, .events = POLLIN };
	uint64_t held[HELD];
	size_t n = 0;

	while (true) {
		struct seccomp_notif call = { .id = 0 };

		if (n && !is_stalled())
			while (n)
				let_go(asked.fd, held[--n]);
		if (poll(&asked, 1, n ? 1 : -1) <= 0 ||
		    ioctl(asked.fd, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
			continue;
		if (n < HELD && is_stalled() && is_of_tracker((pid_t)call.pid)) {
			held[n++] = call.id;
			tell();
		} else {
			let_go(asked.fd, call.id);
		}
	}
	return NULL;
}

static void ask_about_membarrier(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };
	pthread_t t;
	long fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		abort();
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
	if (fd < 0 || pthread_create(&t, NULL, hold, (void *)(intptr_t)fd) != 0)
		abort();
}

__attribute__((constructor)) static void start(void)
{
	const char *a = getenv("STALL_WHILE"), *b = getenv("STALL_SAYS");

	at_membarrier = getenv("STALL_AT") && !strcmp(getenv("STALL_AT"), "membarrier");
	snprintf(while_there, sizeof(while_there), "%s", a ? a : "");
	snprintf(says, sizeof(says), "%s", b ? b : "");
	if (at_membarrier)
		ask_about_membarrier();
}
