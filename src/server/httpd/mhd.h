/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mhd.h - see mhd.c. */
#pragma once

struct MHD_Daemon;

/* Starts a daemon that answers requests by the route table; NULL: it can't. */
struct MHD_Daemon *mw_serve_open(void);
