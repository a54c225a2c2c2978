/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c - POST /report: asks for a report (server/reports), which the server's thread begins within a second. */
#include <string.h>

#include "pages.h"

void mw_page_report(struct mw_call *call)
{
	const char *dir = call->api->options()->report_dir;
	struct mw_buf line = { 0 };

	if (!dir) {
		mw_reply(call, 409,
			 "report: no directory is known: start the process with report_dir:DIRECTORY");
		return;
	}
	call->req->site->report_asked = true;
	mw_buf_str(&line, call->api->options()->report_fd ? "report: is being written to " :
							    "report: is being written into ");
	mw_buf_utf8(&line, dir, strlen(dir));
	mw_done_text(call, &line);
	mw_buf_free(&line);
}
