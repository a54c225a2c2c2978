/* SPDX-License-Identifier: GPL-2.0-or-later */
/* version.h - the one place in C that says which mwrap this is. */
#pragma once

#define MWRAP_VERSION "4.0.0"
