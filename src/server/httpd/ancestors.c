/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ancestors.c - see ancestors.h. Allocates nothing. */
#include "ancestors.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/family/family.h"
#include "server_state.h"

#define VALUE_MAX 4096 /* bytes of MWRAP that are compared */

void mw_ancestors(struct mw_ancestors *a)
{
	long pid = (long)getpid();

	a->n = 0;
	while (pid > 0 && a->n < MW_ANCESTORS_MAX) {
		a->pid[a->n++] = pid;
		pid = mw_parent_of(pid);
	}
}

static int open_proc(long pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/%s", pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* True if `text` is anywhere in the file. */
static bool contains(int fd, const char *text)
{
	char buf[4096];
	size_t kept = 0, want = strlen(text);
	ssize_t n;

	while ((n = read(fd, buf + kept, sizeof(buf) - kept)) > 0) {
		size_t all = kept + (size_t)n;

		if (memmem(buf, all, text, want))
			return true;
		kept = all < want ? all : want - 1; /* the end may be the text's beginning */
		memmove(buf, buf + all - kept, kept);
	}
	return false;
}

/* Reads the value of MWRAP that the process was started with. False: not there (any more). */
static bool options_of(long pid, char value[VALUE_MAX])
{
	static const char name[] = "MWRAP=";
	size_t at = 0, n = 0; /* bytes of the name that match; of the value */
	char buf[1024];
	bool start = true, found = false;
	int fd = open_proc(pid, "environ");
	ssize_t got;

	while (fd >= 0 && !found && (got = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < got && !found; i++) {
			if (at == sizeof(name) - 1) {
				if (n < VALUE_MAX - 1)
					value[n++] = buf[i];
				found = !buf[i];
			} else if (start && buf[i] == name[at]) {
				at++;
			} else {
				at = 0;
				start = !buf[i];
			}
		}
	}
	if (fd >= 0)
		close(fd);
	value[n] = '\0';
	return found;
}

static bool same_options(long pid)
{
	char own[VALUE_MAX], other[VALUE_MAX];

	return !options_of((long)getpid(), own) || !options_of(pid, other) || !strcmp(own, other);
}

bool mw_ancestor_has(long pid, const char *file)
{
	int fd = open_proc(pid, "maps");
	bool has = fd >= 0 && contains(fd, file);

	if (fd >= 0)
		close(fd);
	return has && same_options(pid);
}

bool mw_forker_lives(void)
{
	struct mw_stats s;

	mw_server.api->stats(&s);
	return s.forker > 0 && s.forker == getppid();
}

static bool served(void)
{
	struct mw_ancestors a;
	struct mw_stats s;

	if (atomic_load(&mw_server.forked))
		return true;
	mw_server.api->stats(&s);
	if (s.forker > 0 && getpgid((pid_t)s.forker) >= 0) /* its server starts about now */
		return true;
	mw_ancestors(&a);
	for (size_t i = 1; i < a.n; i++)
		if (mw_ancestor_has(a.pid[i], "/libmwrap_httpd.so"))
			return true;
	return false;
}

bool mw_ancestor_served(void)
{
	static pid_t known_of;
	static bool known;

	if (known_of != getpid()) {
		known = served();
		known_of = getpid();
	}
	return known;
}
