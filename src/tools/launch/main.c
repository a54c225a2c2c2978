/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main.c - bin/mwrap and bin/mwrapctl: start lib/exe/mwrap or lib/exe/mwrapctl in Ruby.
 *
 * A process that becomes COMMAND must not have been Ruby's: Ruby clears the signal mask, forgets that
 * SIGCHLD was ignored, and opens closed descriptors 0 to 2. None of that can be seen later. So a child runs
 * Ruby. It says what to exec, and this process changes nothing of itself but its environment.
 *
 * The answer, in lib/mwrap/launcher.rb: fields that end with a NUL. The first is the program's path. Then come
 * changes of the environment, NAME=VALUE or NAME to unset it, up to an empty field. The rest are COMMAND's words.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAILED = 2, NOT_EXECUTABLE = 126, NOT_FOUND = 127, SIGNALLED = 128 };

struct answer {
	char *text;
	size_t n;
};

static const char *called; /* "mwrap" or "mwrapctl" */

/* Finds lib/exe/NAME beside the folder of this program, bin/NAME. */
static bool find_script(char script[PATH_MAX])
{
	static char self[PATH_MAX];
	char *slash;

	/* the second way is for a system without /proc: a script's interpreter gets the script's name there */
	if (!realpath("/proc/self/exe", self) && !realpath((const char *)getauxval(AT_EXECFN), self))
		return false;
	slash = strrchr(self, '/');
	*slash = 0;
	called = slash + 1;
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = 0;
	return snprintf(script, PATH_MAX, "%s/lib/exe/%s", self, called) < PATH_MAX;
}

/* Becomes Ruby, with the same words. */
static int run_ruby(char *script, char **argv)
{
	size_t n = 0;
	char **words;
	int e;

	while (argv[n])
		n++;
	words = calloc(n + 2, sizeof(*words));
	if (words) {
		words[0] = (char[]){ "ruby" };
		words[1] = script;
		memcpy(words + 2, argv + 1, n * sizeof(*words)); /* and the NULL */
		execvp("ruby", words);
	}
	e = errno;
	fprintf(stderr, "mwrap: ruby: %s: install Ruby 3.1 or newer, or add its folder to PATH\n",
		strerror(e));
	return e == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

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

/* In the child: Ruby is a child of this one again, since exec makes SIGCHLD the signal at a process's end. */
static int ask_ruby(pid_t asks, int to, char *script, char **argv)
{
	char text[32];
	int status;
	pid_t ruby;

	signal(SIGCHLD, SIG_DFL); /* else there is no status */
	ruby = fork();
	if (ruby < 0)
		fprintf(stderr, "mwrap: ruby: can't be started: %s\n", strerror(errno));
	if (ruby == 0) {
		snprintf(text, sizeof(text), "%ld:%d", (long)asks, to);
		if (setenv("MWRAP_LAUNCH", text, 1) || fcntl(to, F_SETFD, 0))
			return FAILED;
		return run_ruby(script, argv);
	}
	close(to);
	if (ruby < 0 || waitpid(ruby, &status, 0) != ruby)
		return FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status);
}

static bool read_all(int fd, struct answer *a)
{
	size_t room = 0;
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

static char *next_field(char *field)
{
	return field + strlen(field) + 1;
}

static void change_environment(const char *field)
{
	const char *value = strchr(field, '=');
	char *name = strndup(field, value ? (size_t)(value - field) : strlen(field));

	if (name && value)
		setenv(name, value + 1, 1);
	else if (name)
		unsetenv(name);
	free(name);
}

/* Returns only if it can't. */
static int become(const struct answer *a)
{
	char **words = calloc(a->n + 1, sizeof(*words)), *field = a->text, *end = a->text + a->n;
	const char *path = field;
	size_t n = 0;
	int e;

	if (!words || !a->n || end[-1])
		return FAILED;
	for (field = next_field(field); field < end && *field; field = next_field(field))
		change_environment(field);
	for (field++; field < end; field = next_field(field))
		words[n++] = field;
	if (n)
		execvp(path, words);
	e = errno;
	if (e == ENOENT)
		fprintf(stderr, "mwrap: %s: its interpreter is missing\n", words[0]);
	else
		fprintf(stderr, "mwrap: %s: %s\n", words[0], strerror(e));
	return e == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

/* Asks Ruby what to become. *forked: it was asked, and the exit status is returned. */
static int ask(char *script, char **argv, bool *forked)
{
	struct answer a = { 0 };
	int fds[2], status;
	pid_t me = getpid(), child;
	bool read;

	if (!open_pipe(fds))
		return FAILED;
	/* without a signal at its end, since a blocked SIGCHLD would stay pending */
	child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (child == 0)
		_exit(ask_ruby(me, fds[1], script, argv));
	close(fds[1]);
	*forked = child > 0;
	read = *forked && read_all(fds[0], &a);
	close(fds[0]);
	if (!*forked)
		return FAILED;
	if (waitpid(child, &status, __WALL) != child || !WIFEXITED(status))
		return FAILED;
	if (!read || WEXITSTATUS(status) || !a.n)
		return WEXITSTATUS(status);
	return become(&a);
}

int main(int argc, char **argv)
{
	static char script[PATH_MAX];
	bool forked = false;
	int status;

	if (!find_script(script)) {
		fprintf(stderr, "mwrap: its own folder: can't be found: mount /proc\n");
		return FAILED;
	}
	if (!strcmp(called, "mwrap") || (argc > 1 && !strcmp(argv[1], "record"))) {
		status = ask(script, argv, &forked);
		if (forked)
			return status;
		/* there may be no child; if this fails, Ruby finds out slowly */
		setenv("MWRAP_LAUNCH", "alone", 1);
	}
	return run_ruby(script, argv);
}
