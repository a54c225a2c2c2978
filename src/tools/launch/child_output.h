/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child_output.h - what a child says before it ends. Of the child nothing is left: no signal, nothing to wait for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Zeroed: nothing. Its owner frees the text. */
struct said {
	char *text; /* not NUL-terminated */
	size_t n;
};

/*
 * Runs `does` in a child, which says something by the descriptor `to`, above 2 and closed on exec. False: there
 * could be no child. *status: what `does` returned; -1: a signal ended it, or what it said is incomplete.
 */
bool child_says(int (*does)(void *with, int to), void *with, struct said *, int *status);

/*
 * For `does`, if it would exec: runs `becomes` in a child of that child, since exec makes SIGCHLD the signal at a
 * process's end. Returns its exit status as shells do; -1, and errno: there could be no child.
 */
int child_becomes(int (*becomes)(void *with, int to), void *with, int to);
