/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run_command.h - runs report_command with a report's path.
 *
 * The app must neither get a SIGCHLD for it nor find it in a wait(2). Any program that is exec'ed sends that signal to
 * its parent. So the parent is a process between, which clone(2) makes without such a signal: it shares the
 * app's memory, runs system calls only, and ends with the program, with the app, or after 10 minutes.
 * mw_command_reap finds it by __WCLONE, which no other wait does.
 */
#pragma once

#include <stdbool.h>

/* Returns at once: 0 or an errno. The program's environment is the one with which this process began, untracked. */
int mw_command_run(const char *program, const char *report);
/* Takes the process between, if it has ended. False: it runs. */
bool mw_command_reap(void);
/* In a forked child: it isn't ours. */
void mw_command_child(void);
