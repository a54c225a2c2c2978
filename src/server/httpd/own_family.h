/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_family.h - how relatives reach each other. The server's thread only. */
#pragma once

#include "server/family/family.h"

/* Its token is empty: see endpoint.c. */
const struct mw_family *mw_own_family(void);
/* Sets the path that they share, and the directory of their sockets. Both absolute. */
void mw_own_family_path(const char *path);
void mw_own_family_dir(const char *dir);
