/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * busy_number.c PATH - dup2 and dup3 to a number at which another thread is opening a file.
 *
 * The file is a FIFO at PATH: its reader's open() lasts until there is a writer. The writer comes
 * once the main thread sleeps in the call. Natively the call fails at once with EBUSY.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../lib/site.h"

static const char *path;
static atomic_int reader, ended;

/* The system call in which the thread sleeps; -1: it runs. */
static long sleeps_in(int thread)
{
	char file[64];
	long call = -1;
	FILE *f;

	snprintf(file, sizeof(file), "/proc/self/task/%d/syscall", thread);
	f = fopen(file, "r");
	if (f && fscanf(f, "%ld", &call) != 1)
		call = -1;
	if (f)
		fclose(f);
	return call;
}

static void *read_fifo(void *fd)
{
	atomic_store(&reader, (int)syscall(SYS_gettid));
	*(int *)fd = open(path, O_RDONLY);
	return NULL;
}

static void *write_fifo(void *unused)
{
	int fd;
	long call;

	(void)unused;
	do {
		usleep(1000);
		call = sleeps_in(getpid());
	} while (!atomic_load(&ended) && call != SYS_nanosleep && call != SYS_clock_nanosleep);
	fd = open(path, O_WRONLY);
	close(fd);
	return NULL;
}

static void try(const char *name, int flags)
{
	pthread_t r, w;
	int from = open("/dev/null", O_RDONLY), number = dup(from), opened = -1, got;

	close(number);
	atomic_store(&reader, 0);
	atomic_store(&ended, 0);
	pthread_create(&r, NULL, read_fifo, &opened);
	while (!atomic_load(&reader) || sleeps_in(atomic_load(&reader)) != SYS_openat)
		usleep(1000);
	check(syscall(SYS_dup3, from, number, 0) < 0 && errno == EBUSY, "%s: the number is being opened",
	      name);
	pthread_create(&w, NULL, write_fifo, NULL);
	errno = 77;
	got = flags < 0 ? dup2(from, number) : dup3(from, number, flags);
	check(got == number && errno == 77, "%s gives %s", name, got < 0 ? strerror(errno) : "the number");
	atomic_store(&ended, 1);
	pthread_join(w, NULL);
	pthread_join(r, NULL);
	check(opened == number, "%s: it was the number of the FIFO", name);
	close(number);
	close(from);
}

int main(int argc, char **argv)
{
	if (argc < 2 || mkfifo(argv[1], 0600))
		return 2;
	path = argv[1];
	try("dup2", -1);
	try("dup3", O_CLOEXEC);
	check(dup2(-1, 5) < 0 && errno == EBADF, "EBADF");
	check(dup2(1, 1) == 1, "a number to itself");
	check(dup3(1, 1, 0) < 0 && errno == EINVAL, "not by dup3");
	return 0;
}
