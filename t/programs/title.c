/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * title.c - setproctitle as it is done by hand: the arguments and the environment, one
 * piece of memory, are overwritten to the last byte, after a copy was made or not.
 */
#include <sys/wait.h>

#include "../lib/site.h"

extern char **environ;

MALLOC_SITE(before);
MALLOC_SITE(after);

static void show(void)
{
	char text[200];
	FILE *f = fopen("/proc/self/cmdline", "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	say("%s %zu\n", text, n);
}

int main(int argc, char **argv)
{
	static char *const none[] = { NULL };
	char *start = argv[0], *end = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
	bool copy = argc > 1 && !strcmp(argv[1], "copy");
	char **e = environ;
	pid_t pid;
	int status = -1;

	(void)before(100);
	while (*e) {
		if (*e == end)
			end += strlen(*e) + 1;
		e++;
	}
	if (copy) {
		for (e = environ; *e; e++)
			*e = strdup(*e);
	} else {
		environ = (char **)none;
	}
	memset(start, 'T', (size_t)(end - start) - 1);
	setenv("MWRAP", "dump_path:/nonexistent/x,socket:/nonexistent/y", 1);
	(void)after(200);
	pid = fork();
	if (!pid) {
		free(before(50));
		expect_child("before", (struct expected){ 2, 1, 150, 1, 100, 0 });
		exit(3);
	}
	waitpid(pid, &status, 0);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 3, "a child");
	show();
	expect("before", 1, 0, 100, 100);
	expect("after", 1, 0, 200, 200);
	return 0;
}
