/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * closer.c HOW MS [PATH] - closes all descriptors from 3 up, MS milliseconds after the start
 * and, given a path, not before there is a socket at it. Files of its own get all those
 * numbers then, and nobody else may read from or write to them.
 *
 * HOW: loop, range (close_range), over (dup2 over what is there), fork (a child does it),
 * few (own files get the first numbers only)
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../lib/site.h"

#define TEXT "this file is the application's own\n"

MALLOC_SITE(before);
MALLOC_SITE(after);

static char name[4096];

static bool is_epoll_wait(long call)
{
#ifdef SYS_epoll_wait
	if (call == SYS_epoll_wait)
		return true;
#endif
	return call == SYS_epoll_pwait;
}

static int own_file(void)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, TEXT, sizeof(TEXT) - 1) != sizeof(TEXT) - 1)
		say("NOT OK own file: %s\n", strerror(errno));
	lseek(fd, 3, SEEK_SET);
	return fd;
}

/* Is a thread in epoll_wait, for some time? Not before that does the server know all its numbers. */
static bool server_sleeps(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	bool sleeps = false;

	while (d && (e = readdir(d))) {
		char file[300];
		unsigned long ms;
		long call;
		FILE *f;

		snprintf(file, sizeof(file), "/proc/self/task/%s/syscall", e->d_name);
		f = fopen(file, "r");
		if (f && fscanf(f, "%ld %*x %*x %*x %lx", &call, &ms) == 2 && ms)
			sleeps |= is_epoll_wait(call);
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return sleeps;
}

static void wait_for(const char *path, unsigned ms)
{
	struct stat st;
	int i;

	usleep(ms * 1000);
	for (i = 0; path && i < 60000 && (lstat(path, &st) || !S_ISSOCK(st.st_mode) || !server_sleeps());
	     i++)
		usleep(1000);
}

/* Ours from 3 to last. */
static void take(const char *how, int last)
{
	int fd, n;

	if (!strcmp(how, "range") && syscall(SYS_close_range, 3u, ~0u, 0u))
		how = "loop";
	if (!strcmp(how, "loop"))
		for (n = 3; n < last; n++)
			close(n);
	fd = own_file();
	for (n = 3; n < last; n++)
		if (n != fd && dup2(fd, n) != n)
			say("NOT OK dup2 to %d: %s\n", n, strerror(errno));
}

/* All of them share one position: a read or write through any would move it. */
static void untouched(int last)
{
	char text[100];
	struct stat a, b;
	int n, bad = 0, closed = 0, there = 3;

	for (n = last - 1; n >= 3; n--) {
		if (fcntl(n, F_GETFD) < 0)
			closed++;
		else
			there = n;
	}
	check(lseek(there, 0, SEEK_CUR) == 3, "nobody read or wrote there");
	stat(name, &a);
	for (n = 3; n < last; n++)
		bad += !fstat(n, &b) && (a.st_ino != b.st_ino || a.st_dev != b.st_dev);
	check(!bad, "none was replaced: %d", bad);
	check(!closed, "none was closed: %d", closed);
	n = (int)pread(there, text, sizeof(text), 0);
	check(n == sizeof(TEXT) - 1 && !memcmp(text, TEXT, sizeof(TEXT) - 1), "the contents are its own");
}

static void closing(const char *how)
{
	struct rlimit r;
	int last, i;

	getrlimit(RLIMIT_NOFILE, &r);
	last = r.rlim_cur > 4096 ? 4096 : (int)r.rlim_cur;
	if (!strcmp(how, "few")) {
		for (i = 3; i < last; i++)
			close(i);
		last = 10;
		how = "over";
	}
	take(how, last);
	for (i = 0; i < 100; i++)
		free(after(100));
	usleep(150000);
	untouched(last);
}

int main(int argc, char **argv)
{
	const char *dir = getenv("DIR");
	int status = -1;
	pid_t pid;

	if (argc < 3 || !dir)
		return 2;
	snprintf(name, sizeof(name), "%s/own", dir);
	(void)before(1000);
	wait_for(argv[3], (unsigned)atoi(argv[2]));
	if (strcmp(argv[1], "fork")) {
		closing(argv[1]);
		expect("after", 100, 100, 10000, 0);
	} else {
		pid = fork();
		if (!pid) {
			closing("loop");
			exit(0);
		}
		waitpid(pid, &status, 0);
		check(!status, "the child");
	}
	expect("before", 1, 0, 1000, 1000);
	return 0;
}
