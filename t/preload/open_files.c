/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * open_files.c - writes, when a process ends, which descriptors it has open.
 *
 * For t/lib/hazard.rb: preloaded beneath the tracker, and alone natively, so that
 * both can be compared. One line is appended to $OPEN_FILES, in one write:
 * the program's name, then NUMBER:TYPE:FLAGS of each descriptor. Allocates nothing, and
 * reads $OPEN_FILES at load, before anybody overwrites the environment.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FDS_MAX 5000

static char path[4096];
static char line[256 * 1024];

__attribute__((constructor)) static void begin(void)
{
	const char *to = getenv("OPEN_FILES");

	if (to && strlen(to) < sizeof(path))
		strcpy(path, to);
}

static const char *type_of(mode_t mode)
{
	return S_ISREG(mode)  ? "file" :
	       S_ISDIR(mode)  ? "dir" :
	       S_ISFIFO(mode) ? "pipe" :
	       S_ISSOCK(mode) ? "socket" :
	       S_ISCHR(mode)  ? "device" :
				"other";
}

__attribute__((destructor)) static void end(void)
{
	char name[16] = "";
	int n, to;

	if (!path[0])
		return;
	prctl(PR_GET_NAME, name); /* argv[0] may be overwritten */
	n = snprintf(line, sizeof(line), "%.15s", name);
	for (int fd = 0; fd < FDS_MAX; fd++) {
		struct stat st;

		if (fstat(fd, &st))
			continue;
		n += snprintf(line + n, sizeof(line) - (size_t)n, " %d:%s:%x:%x", fd, type_of(st.st_mode),
			      (unsigned)fcntl(fd, F_GETFL), (unsigned)fcntl(fd, F_GETFD));
	}
	line[n++] = '\n';
	to = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (to < 0)
		return;
	if (write(to, line, (size_t)n) != n)
		return;
	close(to);
}
