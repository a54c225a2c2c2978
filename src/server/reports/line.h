/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * line.h - a report as one line of JSON on stdout or stderr (report_dir:stdout), for a process without a disk.
 *
 * It has PIPE_BUF bytes at most and is one write(2), so no other line of a pipe gets into it. Rows are those with the
 * most live memory, as many as there is room for.
 */
#pragma once

#include "files.h"

/* The server's thread remembers which file the descriptor (1 or 2) is. */
void mw_report_line_start(int fd);
/* As mw_report_render. */
bool mw_report_line(struct mw_buf *, struct mw_site *, const struct mw_report_about *);
/*
 * 0 or an errno. EAGAIN: the pipe is full. EBADF: the descriptor is another file by now. The writer's thread;
 * it may hang in the kernel.
 */
int mw_report_line_write(int fd, const struct mw_buf *line);
