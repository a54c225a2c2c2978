/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rundir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/sys/sys.h"
#include "server/family/family.h"
#include "ancestors.h"
#include "server_state.h"

/* The longest text behind BASE: "/mwrap-UID/PORT-KEY-PID.PID.lock" */
#define TAIL_MAX (sizeof("/mwrap-4294967295/65535-0123456789abcdef-4194304.4194304.lock") - 1)

static char kept[MW_SOCKET_PATH]; /* also in a forked child */

static const char *base(unsigned i, const struct mw_options *o)
{
	const char *const all[] = { o->tmpdir, "/tmp", o->runtime_dir, "/dev/shm" };

	return i < sizeof(all) / sizeof(*all) ? all[i] : NULL;
}

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	while (n--)
		h = (h ^ *p++) * UINT64_C(1099511628211); /* FNV-1a */
	return h;
}

static uint64_t mix_namespace(uint64_t h, const char *name)
{
	struct stat st;
	ino_t ino = stat(name, &st) ? 0 : st.st_ino;

	return mix(h, &ino, sizeof(ino));
}

/* "PORT-KEY-" */
static void prefix(const struct mw_options *o, char out[32])
{
	uint64_t h = mix(UINT64_C(14695981039346656037), o->listen_host, strlen(o->listen_host));

	h = mix_namespace(mix_namespace(h, "/proc/self/ns/pid"), "/proc/self/ns/net");
	snprintf(out, 32, "%u-%016llx-", (unsigned)o->listen_port, (unsigned long long)h);
}

/* BASE/mwrap-UID, if it is ours. make: makes it if missing. Returns 0, or -1 with errno. */
static int directory(const char *in, bool make, char out[MW_SOCKET_PATH])
{
	struct stat st;

	if (in[0] != '/' || strlen(in) + TAIL_MAX >= MW_SOCKET_PATH) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(out, MW_SOCKET_PATH, "%s/mwrap-%u", in, (unsigned)geteuid());
	if (make && mkdir(out, 0700) && errno != EEXIST)
		return -1;
	if (lstat(out, &st))
		return -1;
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077))
		return 0;
	errno = EEXIST;
	return -1;
}

/* --- a family that there is ------------------------------------------------------------- */

/*
 * Ranks a relative: 0 is this process, then its ancestors, then its descendants. -1: none of these.
 */
static int nearness(const struct mw_ancestors *a, long pid)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->pid[i] == pid)
			return (int)i;
	for (int i = 0; i < MW_ANCESTORS_MAX && pid > 1; i++) {
		pid = mw_parent_of(pid);
		if (pid == a->pid[0])
			return MW_ANCESTORS_MAX + i;
	}
	return -1;
}

/* Reads a number that anything may follow; 0: none. */
static long leading_number(const char *s, const char **rest)
{
	char *end;
	long n = *s >= '1' && *s <= '9' ? strtol(s, &end, 10) : 0;

	*rest = n ? end : s;
	return n;
}

/* Finds the first process of the nearest family in `dir`; 0: there is none. */
static long family_in(const char *dir, const char *with, const struct mw_ancestors *a)
{
	size_t n = strlen(with);
	long found = 0;
	int best = -1;
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		const char *rest;
		long first, member;
		int near;

		if (strncmp(e->d_name, with, n) || !(first = leading_number(e->d_name + n, &rest)))
			continue;
		member = *rest == '.' ? leading_number(rest + 1, &rest) : 0;
		near = nearness(a, member ? member : first);
		if (near >= 0 && (best < 0 || near < best)) {
			best = near;
			found = first;
		}
	}
	if (d)
		closedir(d);
	return found;
}

/* Chooses the first process of a family that is new, or that no name tells of. */
static long first_of(const struct mw_ancestors *a)
{
	struct mw_stats s;
	long first;

	mw_server.api->stats(&s);
	first = s.eldest > 0 ? s.eldest : (long)getpid();
	for (size_t i = 1; i < a->n; i++)
		if (mw_ancestor_has(a->pid[i], "/libmwrap.so"))
			first = a->pid[i];
	return first;
}

/* --- the paths --------------------------------------------------------------------------- */

static void join_socket_path(char path[MW_SOCKET_PATH], const char *dir, const char *with, long first)
{
	/* directory() has seen that it fits */
	if (snprintf(path, MW_SOCKET_PATH, "%s/%s%ld", dir, with, first) >= (int)MW_SOCKET_PATH)
		path[0] = '\0';
}

int mw_rundir_path(unsigned i, const struct mw_options *o, char path[MW_SOCKET_PATH],
		   char err[MW_ERROR_MAX])
{
	char dir[MW_SOCKET_PATH], with[32];
	struct mw_ancestors a;
	const char *in;

	if (i == 0) { /* the path that this process or its parent had */
		if (!kept[0])
			return -1;
		strcpy(path, kept);
		*strrchr(path, '/') = '\0';
		(void)mkdir(path, 0700); /* the last process to end may have removed it */
		strcpy(path, kept);
		return 0;
	}
	prefix(o, with);
	mw_ancestors(&a);
	if (i == 1) {
		for (unsigned k = 0; (in = base(k, o)); k++) {
			long first = directory(in, false, dir) ? 0 : family_in(dir, with, &a);

			if (first) {
				join_socket_path(path, dir, with, first);
				return 0;
			}
		}
		return -1;
	}
	in = base(i - 2, o);
	if (!in)
		return 1;
	if (!in[0])
		return -1;
	if (directory(in, true, dir)) {
		snprintf(err, MW_ERROR_MAX, "%.80s/mwrap-%u: can't hold the family's sockets: %s", in,
			 (unsigned)geteuid(),
			 errno == EEXIST ? "not this user's own, of mode 0700" : mw_sys_error(errno));
		return -1;
	}
	join_socket_path(path, dir, with, first_of(&a));
	return 0;
}

void mw_rundir_keep(const char *path)
{
	snprintf(kept, sizeof(kept), "%s", path);
}

const char *mw_rundir_kept(void)
{
	return kept;
}

bool mw_rundir_dir(char dir[MW_SOCKET_PATH])
{
	if (!kept[0])
		return false;
	strcpy(dir, kept);
	*strrchr(dir, '/') = '\0';
	return true;
}

void mw_rundir_remove(void)
{
	char dir[MW_SOCKET_PATH];

	if (mw_rundir_dir(dir))
		(void)rmdir(dir); /* fails if others need it: then it isn't empty */
}
