/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_file.h - the separate file with a stripped library's symbols, as distributions package it:
 * /usr/lib/debug/.build-id/ab/cdef.debug. Its build ID must be the library's, so its addresses are.
 */
#pragma once

#include "elf_file.h"

/* The folder with .build-id; a test has its own. */
extern const char *mw_debug_folder;

/* Opens that of an open file; -1: there is none. */
int mw_debug_file_open(int fd, const ElfW(Ehdr) *);
