/* SPDX-License-Identifier: GPL-2.0-or-later */
/* after_fork.h - see after_fork.c, and mw_httpd_api for both. */
#pragma once

#include <stdint.h>

uint32_t mw_child_before_fork(void);
void mw_child_after_fork(uint32_t moves);
