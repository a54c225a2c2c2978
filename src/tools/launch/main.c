/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main.c - bin/mwrap and bin/mwrapctl: start lib/exe/mwrap or lib/exe/mwrapctl in Ruby.
 *
 * A process that becomes COMMAND must not have been Ruby's: Ruby clears the signal mask, forgets that
 * SIGCHLD was ignored, and opens closed descriptors 0 to 2. None of that can be seen later. So a child runs
 * Ruby. It says what to exec, and this process changes nothing of itself but its environment. Where there is
 * nothing to be said, it finds the answer itself: plain.h.
 *
 * The answer, in lib/mwrap/launcher.rb: fields that end with a NUL. The first is the program's path. Then come
 * changes of the environment, NAME=VALUE or NAME to unset it, up to an empty field. The rest are COMMAND's words.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "child_output.h"
#include "plain.h"

enum { FAILED = 2, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

/* A child's question to Ruby. */
struct question {
	pid_t asks;
	char *script, **argv;
};

static const char *called; /* "mwrap" or "mwrapctl" */
static bool without_gems; /* Ruby needs none: it finds the extension, and loads nothing that a user wants in it */

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
	if (!strcmp(called, "mwrap") && !getenv("RUBYOPT"))
		without_gems = snprintf(script, PATH_MAX, "%s/lib/mwrap/mwrap_ext.so", self) < PATH_MAX &&
			       !access(script, R_OK);
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
	words = calloc(n + 3, sizeof(*words));
	if (words) {
		words[0] = (char[]){ "ruby" };
		words[1] = (char[]){ "--disable=gems" };
		words[1 + without_gems] = script;
		memcpy(words + 2 + without_gems, argv + 1, n * sizeof(*words)); /* and the NULL */
		execvp("ruby", words);
	}
	e = errno;
	fprintf(stderr, "mwrap: ruby: %s: install Ruby 3.1 or newer, or add its folder to PATH\n",
		strerror(e));
	return e == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

static int become_ruby(void *with, int to)
{
	const struct question *q = with;
	char text[32];

	snprintf(text, sizeof(text), "%ld:%d", (long)q->asks, to);
	if (setenv("MWRAP_LAUNCH", text, 1) || fcntl(to, F_SETFD, 0))
		return FAILED;
	return run_ruby(q->script, q->argv);
}

static int ask_ruby(void *with, int to)
{
	int status = child_becomes(become_ruby, with, to);

	if (status >= 0)
		return status;
	fprintf(stderr, "mwrap: ruby: can't be started: %s\n", strerror(errno));
	return FAILED;
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
static int become(const struct said *a)
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
static int ask_what_to_become(char *script, char **argv, bool *forked)
{
	struct said a = { 0 };
	struct question q = { getpid(), script, argv };
	int status;

	*forked = child_says(ask_ruby, &q, &a, &status);
	if (!*forked || status < 0)
		return FAILED;
	return status || !a.n ? status : become(&a);
}

int main(int argc, char **argv)
{
	static char script[PATH_MAX];
	struct said plain = { 0 };
	bool forked = false;
	int status;

	if (!find_script(script)) {
		fprintf(stderr, "mwrap: its own folder: can't be found: mount /proc\n");
		return FAILED;
	}
	if (!strcmp(called, "mwrap") && plain_answer(script, argv, &plain))
		return become(&plain);
	if (!strcmp(called, "mwrap") || (argc > 1 && !strcmp(argv[1], "record"))) {
		status = ask_what_to_become(script, argv, &forked);
		if (forked)
			return status;
		/* there may be no child; if this fails, Ruby finds out slowly */
		setenv("MWRAP_LAUNCH", "alone", 1);
	}
	return run_ruby(script, argv);
}
