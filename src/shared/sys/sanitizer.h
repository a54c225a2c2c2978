/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sanitizer.h - names of sanitizers' runtimes that replace malloc. UBSan's isn't one: it leaves malloc alone. */
#pragma once

#include <stdbool.h>

/* Is this the file of gcc's runtime, or of clang's (libclang_rt.NAME-ARCH.so)? */
bool mw_sanitizer_library(const char *file);
/* Is this the symbol of a runtime that is linked into a program? */
bool mw_sanitizer_symbol(const char *name);
