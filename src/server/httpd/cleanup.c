/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shared/sys/clock.h"
#include "shared/sys/namespace.h"
#include "shared/sys/own_descriptors.h"
#include "shared/sys/times.h"
#include "server/family/family.h"
#include "rundir.h"
#include "server_state.h"
#include "socket_lock.h"

enum {
	LATELY_S = 2,    /* file times have the resolution of kernel ticks, or of seconds */
	STACK = 128 * 1024
};

/* A relative that had a lock when the directory was read. */
struct known {
	pid_t pid;
	uint64_t image; /* its program, 0: not known. Another one after exec may have no server */
};

static struct {
	uint64_t next, last; /* ms; of the next look, of the last cleanup */
	uint64_t full;       /* ms; of the last cleanup that included ended families */
	bool names;          /* names have changed since the last cleanup */
	struct timespec changed[2]; /* mtimes of the directories of path and dir before reading */
	/* the thread owns these while busy, else the server's thread does */
	atomic_bool busy; /* release: the fields below are complete */
	struct mw_family where[2]; /* path alone, dir alone */
	char others[MW_SOCKET_PATH]; /* where ended families may have left files; "": nowhere */
	struct known known[MW_FAMILY_MAX];
	size_t known_n;
} cleanup;

static uint64_t image_of(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%ld/exe", (long)pid);
	return stat(path, &st) ? 0 : (uint64_t)st.st_ino ^ (uint64_t)st.st_dev << 48;
}

/* Is its number of this PID namespace? Of another one nothing here tells whether it lives. */
static bool is_here(const struct mw_member *m)
{
	uint64_t ns;
	long pid;

	return !mw_member_identify(m, &pid, &ns) || !ns || ns == mw_pid_namespace();
}

static void cleanup_one(const struct mw_family *f)
{
	size_t n;
	struct mw_member *m = mw_members_locks(f, &n);

	for (size_t i = 0; i < n; i++) {
		pid_t pid = (pid_t)m[i].pid;

		if (!pid || (pid == getpid() && is_here(&m[i])) || mw_socket_lock_cleanup(m[i].socket, pid))
			continue;
		if (cleanup.known_n < MW_FAMILY_MAX && is_here(&m[i]))
			cleanup.known[cleanup.known_n++] = (struct known){ pid, image_of(pid) };
	}
	free(m);
}

/* Removes every mwrap socket in a directory whose lock no process holds, of any family. */
static void cleanup_all(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[MW_SOCKET_PATH];
		size_t n = strlen(e->d_name);
		const char *dot;

		if (n <= 5 || strcmp(e->d_name + n - 5, ".lock") ||
		    snprintf(path, sizeof(path), "%s/%.*s", dir, (int)n - 5, e->d_name) >=
			    (int)sizeof(path))
			continue;
		/* PORT-KEY-PID, PORT-KEY-PID.PID */
		dot = strrchr(path, '.');
		dot = dot && dot > strrchr(path, '-') ? dot : strrchr(path, '-');
		(void)mw_socket_lock_cleanup(path, dot ? (pid_t)atol(dot + 1) : 0);
	}
	if (d)
		closedir(d);
}

static void *run_cleanup(void *unused)
{
	(void)unused;
	cleanup.known_n = 0;
	if (mw_own_descriptors(-1)) {
		cleanup_one(&cleanup.where[0]);
		cleanup_one(&cleanup.where[1]);
		if (cleanup.others[0])
			cleanup_all(cleanup.others);
	}
	atomic_store_explicit(&cleanup.busy, false, memory_order_release);
	return NULL;
}

static void set_where(const char *path, const char *dir)
{
	memset(cleanup.where, 0, sizeof(cleanup.where));
	strcpy(cleanup.where[0].path, path);
	strcpy(cleanup.where[1].dir, dir);
}

static void begin_cleanup(const char *path, const char *dir)
{
	set_where(path, dir);
	atomic_store(&cleanup.busy, true);
	if (mw_server.api->thread_start(run_cleanup, NULL, STACK)) {
		cleanup.last = cleanup.full = 0; /* retried at the next look */
		atomic_store(&cleanup.busy, false);
	}
}

/* True if a name has come or gone since the last look, or too recently for mtime to tell. */
static bool changed(const char *dir, struct timespec *seen)
{
	time_t now;
	struct stat st;
	bool same;

	if (!dir[0] || stat(dir, &st))
		return false;
	same = st.st_mtim.tv_sec == seen->tv_sec && st.st_mtim.tv_nsec == seen->tv_nsec;
	*seen = st.st_mtim;
	now = mw_unix_time();
	return !same || (now >= st.st_mtim.tv_sec && now - st.st_mtim.tv_sec <= LATELY_S);
}

/* True if a known relative has ended or become another program. */
static bool somebody_left(void)
{
	for (size_t i = 0; i < cleanup.known_n; i++) {
		const struct known *k = &cleanup.known[i];

		if ((getpgid(k->pid) < 0 && errno == ESRCH) || image_of(k->pid) != k->image)
			return true;
	}
	return false;
}

static void folder_of(const char *path, char out[MW_SOCKET_PATH])
{
	const char *slash = strrchr(path, '/');

	snprintf(out, MW_SOCKET_PATH, "%.*s", slash ? (int)(slash - path) + 1 : 0, path);
}

void mw_cleanup_look(const char *path, const char *dir, uint64_t now)
{
	char folder[MW_SOCKET_PATH];
	uint64_t since;

	if (now < cleanup.next)
		return;
	cleanup.next = now + MW_CLEANUP_LOOK_MS;
	if (atomic_load_explicit(&cleanup.busy, memory_order_acquire))
		return;
	folder_of(path, folder);
	cleanup.names |= changed(folder, &cleanup.changed[0]);
	cleanup.names |= changed(dir, &cleanup.changed[1]);
	since = now - cleanup.last;
	if (cleanup.last && since < MW_CLEANUP_FULL_MS &&
	    !(cleanup.names && since >= MW_CLEANUP_NAMES_MS) && !somebody_left())
		return;
	cleanup.others[0] = '\0';
	/* again and again: a member of a killed family may end long after our start */
	if (path[0] && !strcmp(path, mw_rundir_kept()) &&
	    (!cleanup.full || now - cleanup.full >= MW_CLEANUP_FULL_MS)) {
		folder_of(path, cleanup.others);
		cleanup.full = now;
	}
	cleanup.last = now;
	cleanup.names = false;
	begin_cleanup(path, dir);
}

void mw_cleanup_now(const char *path, const char *dir)
{
	struct mw_family where[2] = { 0 };

	strcpy(where[0].path, path);
	strcpy(where[1].dir, dir);
	for (int i = 0; i < 2; i++) {
		size_t n;
		struct mw_member *m = mw_members_locks(&where[i], &n);

		for (size_t k = 0; k < n; k++)
			if (m[k].pid &&
			    (m[k].pid != (long)getpid() || (m[k].ns && m[k].ns != mw_pid_namespace())))
				(void)mw_socket_lock_cleanup(m[k].socket, (pid_t)m[k].pid);
		free(m);
	}
}

void mw_cleanup_rundir(void)
{
	char dir[MW_SOCKET_PATH];

	if (mw_rundir_dir(dir))
		cleanup_all(dir);
	mw_rundir_remove();
}

void mw_cleanup_end(void)
{
	cleanup.next = cleanup.last = cleanup.full = 0;
	memset(cleanup.changed, 0, sizeof(cleanup.changed));
}

void mw_cleanup_child(void)
{
	mw_cleanup_end();
	cleanup.known_n = 0;
	atomic_store(&cleanup.busy, false); /* the thread doesn't exist in a child */
}
