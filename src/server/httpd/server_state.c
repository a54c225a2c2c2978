/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server_state.c - the state that all files of the server read. See server_state.h. */
#include "server_state.h"

struct mw_server mw_server;
