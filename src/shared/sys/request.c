/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "request.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "namespace.h"
#include "sys.h"

/* The decimal number at s, or 0 without one. */
static uint64_t leading_number(const char *s)
{
	uint64_t v = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		v = v * 10 + (uint64_t)(*s - '0');
	return v;
}

/* Its beginning; false: it isn't there. */
static bool read_file_head(const char *path, char *text, size_t size)
{
	int fd = mw_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = fd < 0 ? -1 : mw_sys_read(fd, text, size - 1);

	if (fd >= 0)
		mw_sys_close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

int64_t mw_boot_offset_s(void)
{
	char text[256];
	const char *s = read_file_head("/proc/self/timens_offsets", text, sizeof(text)) ?
				strstr(text, "boottime") :
				NULL;

	if (!s)
		return 0;
	s += strcspn(s, "-0123456789");
	return *s == '-' ? -(int64_t)leading_number(s + 1) : (int64_t)leading_number(s);
}

uint64_t mw_start_ticks(void)
{
	enum { FIELD = 22, BEHIND_NAME = 3 };
	char text[512];
	const char *s;

	if (!read_file_head("/proc/self/stat", text, sizeof(text)))
		return 0;
	s = strrchr(text, ')'); /* a program's name may hold any character */
	for (int field = BEHIND_NAME - 1; s && field < FIELD; field++)
		if ((s = strchr(s, ' ')))
			s++;
	return s ? leading_number(s) - (uint64_t)(mw_boot_offset_s() * sysconf(_SC_CLK_TCK)) : 0;
}

/* The directory, if it is private. -1: it isn't, or there is none. */
static int open_directory(void)
{
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/tmp/mwrap-%u", (unsigned)geteuid());
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 077))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static const char *file(const struct mw_request *r, const char *end, char path[MW_REQUEST_NAME + 16])
{
	snprintf(path, MW_REQUEST_NAME + 16, "%s.%s", r->name, end);
	return path;
}

/* The file's text. False: it isn't ours or root's, or has no request. */
static bool read_request(struct mw_request *r, const char *taken)
{
	struct stat st;
	char *text;
	ssize_t n = -1;
	int fd = openat(r->dir, taken, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !(st.st_mode & 077) &&
	    (st.st_uid == geteuid() || st.st_uid == 0))
		n = read(fd, r->options, sizeof(r->options) - 1);
	close(fd);
	if (n <= 0 || memchr(r->options, 0, (size_t)n))
		return false;
	r->options[n] = 0;
	text = strchr(r->options, '\n');
	if (!text)
		return false;
	*text++ = 0;
	r->stop = strcmp(r->options, "stop") == 0;
	if (!r->stop && strcmp(r->options, "start") != 0)
		return false;
	memmove(r->options, text, strlen(text) + 1);
	return true;
}

static void name_request(struct mw_request *r)
{
	snprintf(r->name, sizeof(r->name), "attach-%ld-%llu-%llu", (long)getpid(),
		 (unsigned long long)mw_start_ticks(), (unsigned long long)mw_pid_namespace());
}

bool mw_request_there(void)
{
	struct mw_request r;
	char ask[MW_REQUEST_NAME + 16];
	int e = errno;
	bool there = false;

	r.dir = open_directory();
	if (r.dir >= 0) {
		name_request(&r);
		there = faccessat(r.dir, file(&r, "ask", ask), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
		close(r.dir);
	}
	errno = e;
	return there;
}

bool mw_request_take(struct mw_request *r)
{
	char ask[MW_REQUEST_NAME + 16], taken[MW_REQUEST_NAME + 16];
	bool is = false;
	int e = errno;

	r->dir = open_directory();
	if (r->dir >= 0) {
		name_request(r);
		if (renameat(r->dir, file(r, "ask", ask), r->dir, file(r, "taken", taken)) == 0) {
			is = read_request(r, taken);
			if (!is)
				(void)unlinkat(r->dir, taken, 0);
		}
		if (!is)
			close(r->dir);
	}
	errno = e;
	return is;
}

void mw_request_answer(struct mw_request *r, const char *line)
{
	char taken[MW_REQUEST_NAME + 16], answer[MW_REQUEST_NAME + 16];
	int e = errno;
	int fd = openat(r->dir, file(r, "taken", taken), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	size_t n = strlen(line);

	/* whole, or not at all */
	if (fd >= 0 && write(fd, line, n) == (ssize_t)n)
		(void)renameat(r->dir, taken, r->dir, file(r, "answer", answer));
	if (fd >= 0)
		close(fd);
	close(r->dir);
	errno = e;
}
