/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outcome.c - what a command says as it fails, and its exit status. See commands.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"

static const char *const usage[] = {
	"usage: mwrap-replay pack [--quick] [--progress] RECORDING -o PACKED",
	"       mwrap-replay text FILE",
	"       mwrap-replay heaptrack FILE",
	"       mwrap-replay info FILE",
	"       mwrap-replay peak [--progress] PACKED...",
	"       mwrap-replay play [--pace] [--as-recorded] PACKED",
};

int mw_complain(const char *path, const char *problem)
{
	fflush(stdout);
	fprintf(stderr, "mwrap-replay: %s: %s\n", path, problem);
	return 1;
}

int mw_finish_output(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return mw_complain("the output", strerror(errno));
}

int mw_misused(void)
{
	for (size_t i = 0; i < sizeof(usage) / sizeof(*usage); i++)
		fprintf(stderr, "%s\n", usage[i]);
	return 2;
}
