/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plain.h - what bin/mwrap becomes, without Ruby, where nothing is to be said.
 *
 * lib/mwrap/launcher.rb has the rules and all words. The code here only finds that each of its checks passes, and
 * that its answer needs nothing that Ruby alone knows. If in any doubt, it says nothing, and Ruby is asked.
 * This must stay true: where this answers, lib/exe/mwrap would give the same answer and print nothing.
 * t/launcher_plain.t compares the two.
 *
 *   plain.c     the words, the options, the environment, and the answer
 *   command.c   which file a command's name stands for: Executable.find
 *   program.c   will the tracker be loaded into it: Executable#problems
 *   loadable.c  asks the dynamic linker: Linker.check
 *   same_ruby.c      is the Ruby of PATH that of the extension, which can then be loaded
 *
 * Nothing of this process changes, and no descriptor stays open.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "child_output.h"

/* Before a path in LD_PRELOAD, so that only glibc finds it: lib/mwrap/linker.rb. */
#define PLAIN_GLIBC_ONLY "/usr/$LIB/../../../../../.."

/* script: lib/exe/mwrap. If true, *answer is as Ruby's: main.c says how. */
bool plain_answer(const char *script, char **argv, struct said *answer);

/* The path of a regular file that this process may execute. */
bool plain_command(const char *name, char path[PATH_MAX]);

/* Is it a library for glibc, of this program's architecture? */
bool plain_library(const char *path);
/* Is it a program of this architecture, or a script of such, that loads a preloaded library and calls its malloc? */
bool plain_program(const char *path);

/* Does the dynamic linker load these libraries, up to a NULL, into this very program? */
bool plain_loadable(const char *const *libraries);

/* Is `ruby` the one with which this program and the extension were built? */
bool plain_ruby(void);
