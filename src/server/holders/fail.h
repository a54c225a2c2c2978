/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fail.h - a refusal with its line of text. */
#pragma once

#include "holders.h"

/* ask_child.c: writes the line into err; returns `is`. */
enum mw_holders_is mw_holders_fail(enum mw_holders_is is, char err[MW_HOLDERS_ERROR], const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
