/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token.h - access by the token of token_file. See token.c. */
#pragma once

#include <stdbool.h>

#include "server/http/access.h"
#include "shared/options/options.h"

/* Reads the file of token_file, if given. mw_token_wrong() tells its problem. */
void mw_token_start(const struct mw_options *);
/* Returns NULL, or one line: why no token counts. */
const char *mw_token_wrong(void);
/*
 * Checks whether the file has changed. Logs a new problem if speaks() says that this process does so.
 * Returns true if access that let in present clients has ended.
 */
bool mw_token_refresh(bool (*speaks)(void));
/*
 * In a forked child: true if fd may be the token file that the parent was reading. System calls
 * only.
 */
bool mw_token_is_ours(int fd);
/* The access that it gives. */
struct mw_access *mw_token_access(void);
/* Forgets the token. Also in a forked child. */
void mw_token_forget(void);
