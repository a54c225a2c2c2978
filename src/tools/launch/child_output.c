/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "child_output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIGNALLED = 128 };

/* Moves a descriptor out of 0 to 2, which may be closed. */
static int move_up(int fd)
{
	int up = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	close(fd);
	return up;
}

static bool open_pipe(int fds[2])
{
	if (pipe2(fds, O_CLOEXEC))
		return false;
	fds[0] = move_up(fds[0]);
	fds[1] = move_up(fds[1]);
	if (fds[0] >= 0 && fds[1] >= 0)
		return true;
	close(fds[0]);
	close(fds[1]);
	return false;
}

static bool read_all(int fd, struct said *a)
{
	size_t room = a->n;
	ssize_t n;

	for (;;) {
		if (a->n == room) {
			char *more = realloc(a->text, room = room * 2 + 4096);

			if (!more)
				return false;
			a->text = more;
		}
		n = read(fd, a->text + a->n, room - a->n);
		if (n == 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
		a->n += n > 0 ? (size_t)n : 0;
	}
}

bool child_says(int (*does)(void *with, int to), void *with, struct said *said, int *status)
{
	int fds[2], ended;
	pid_t child;
	bool read;

	if (!open_pipe(fds))
		return false;
	/* without a signal at its end, since a blocked SIGCHLD would stay pending */
	child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (child == 0)
		_exit(does(with, fds[1]));
	close(fds[1]);
	read = child > 0 && read_all(fds[0], said);
	close(fds[0]);
	if (child < 0)
		return false;
	if (waitpid(child, &ended, __WALL) != child || !WIFEXITED(ended))
		*status = -1;
	else
		*status = read || WEXITSTATUS(ended) ? WEXITSTATUS(ended) : -1;
	return true;
}

int child_becomes(int (*becomes)(void *with, int to), void *with, int to)
{
	int status;
	pid_t child;

	signal(SIGCHLD, SIG_DFL); /* else there is no status */
	child = fork();
	if (child == 0)
		_exit(becomes(with, to));
	close(to);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status);
}
