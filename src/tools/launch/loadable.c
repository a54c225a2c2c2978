/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loadable.c - asks the dynamic linker to load our shared objects into this very program, and to run nothing of it:
 * ld.so(8), LD_TRACE_LOADED_OBJECTS. With LD_WARN it reports missing symbols as well.
 *
 * It prints a line for each object that it has loaded, "\tNAME => PATH (ADDRESS)" or "\tPATH (ADDRESS)". Any other
 * line is a problem. An object that it finds twice has one line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plain.h"

static int become_traced(void *with, int to)
{
	char *argv[] = { (char[]){ "mwrap" }, (char[]){ "--version" }, NULL };

	unsetenv("MWRAP");
	if (setenv("LD_PRELOAD", with, 1) || setenv("LD_TRACE_LOADED_OBJECTS", "1", 1) ||
	    setenv("LD_WARN", "1", 1) || dup2(to, STDOUT_FILENO) < 0 || dup2(to, STDERR_FILENO) < 0)
		return 1;
	execv("/proc/self/exe", argv);
	return 1;
}

static int ask_linker(void *with, int to)
{
	return child_becomes(become_traced, with, to) ? 1 : 0;
}

/* "TRACKER:...:TRACKER for glibc only"; to be freed; NULL: no memory */
static char *preload_all(const char *const *libraries)
{
	char *text = NULL;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	if (!to)
		return NULL;
	for (size_t i = 0; libraries[i]; i++)
		fprintf(to, "%s:", libraries[i]);
	fprintf(to, "%s%s", PLAIN_GLIBC_ONLY, libraries[0]);
	return fclose(to) ? NULL : text;
}

/* Removes the address from the line of an object that was loaded. False: another line. */
static bool cut_address(char *line)
{
	char *address = strstr(line, " (0x");

	if (*line != '\t' || !address || strchr(address, ')') != address + strlen(address) - 1)
		return false;
	*address = 0;
	return true;
}

/* Changes the text. Is each line of it that of a loaded object, and are all of these among them? */
static bool all_loaded(char *text, const char *const *libraries)
{
	size_t wanted = 0, found = 0;
	char *rest, *line = strtok_r(text, "\n", &rest);

	while (libraries[wanted])
		wanted++;
	for (; line; line = strtok_r(NULL, "\n", &rest)) {
		if (!cut_address(line))
			return false;
		for (size_t i = 0; libraries[i]; i++)
			found += !strcmp(line + 1, libraries[i]);
	}
	return found == wanted;
}

bool plain_loadable(const char *const *libraries)
{
	struct said said = { 0 };
	char *preload = preload_all(libraries), *text = NULL;
	int status;
	bool is = preload && child_says(ask_linker, preload, &said, &status) && !status;

	if (is)
		text = strndup(said.text, said.n);
	is = text && all_loaded(text, libraries);
	free(text);
	free(said.text);
	free(preload);
	return is;
}
