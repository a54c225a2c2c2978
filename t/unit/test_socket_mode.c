/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups by name, which the server reads itself, and a socket's file that is opened up. */
/* uses: src/shared/sys/libc_glibc.c src/server/httpd/socket_mode.c */
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "../../src/server/httpd/socket_mode.h"

static char dir[] = "/tmp/mwrap-uXXXXXX", path[64];
static char said[1024];

static bool child; /* of a process that told it */

bool mw_ancestor_served(void)
{
	return child;
}

void mw_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
}

static void setup(void)
{
	said[0] = '\0';
}

static int64_t find_in(const char *text, size_t n, const char *name)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	return mw_group_find(path, name);
}

static int64_t find(const char *text, const char *name)
{
	return find_in(text, strlen(text), name);
}

EACH(setup, NULL);

TEST(groups)
{
	static const char text[] =
		"root:x:0:\n# a word\n\nwww:x:33:a,b,www-data\nwww-data:x:34:\n:x:9:\n"
		"bad:x:nine:\nhalf:x\nmax:x:4294967294:\nmore:x:4294967295:\nnone:x::\n"
		"huge:x:99999999999999999999:\nneg:x:-1:\ntwice:*:7:\ntwice:*:8:\n+::0:\nlast:!:77";
	static const struct {
		const char *name;
		int64_t gid;
	} cases[] = {
		{ "root", 0 },  { "www", 33 },       { "www-data", 34 },    { "ww", -1 },
		{ "www-", -1 }, { "www-data-", -1 }, { "a", -1 },           { "x", -1 },
		{ "33", -1 },   { "bad", -1 },       { "half", -1 },        { "max", 4294967294 },
		{ "more", -1 }, { "none", -1 },      { "huge", -1 },        { "neg", -1 },
		{ "twice", 7 }, { "last", 77 },      { "nobody-here", -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(find(text, cases[i].name), cases[i].gid);
	assert_int_equal(mw_group_find("/nowhere/at/all", "root"), -1);
	assert_int_equal(mw_group_find(dir, "root"), -1);
	assert_int_equal(mw_group_find("/dev/null", "root"), -1);
	assert_int_equal(mw_group_find("/etc/group", "root"), 0);
}

/* Longer than what is read at once, at every offset; a NUL in it; no end of line. */
TEST(groups_in_odd_files)
{
	char *text = calloc(1, 200000);
	size_t n;

	for (size_t pad = 1000; pad < 1050; pad++) {
		n = (size_t)sprintf(text, "%0*d:x:5:\nwanted:x:4711:", (int)pad, 7);
		assert_int_equal(find_in(text, n, "wanted"), 4711);
		n = (size_t)sprintf(text, "wanted:%0*d:4711:m\n", (int)pad, 7);
		assert_int_equal(find_in(text, n, "wanted"), 4711);
	}
	memset(text, 'm', 199000);
	memcpy(text, "a:x:1:", 6);
	strcpy(text + 199000, "\nb:x:2:\n");
	assert_int_equal(find(text, "b"), 2);
	assert_int_equal(find_in("b\0\0\0:x:1:\nb:x:2:\n", 18, "b"), 2);
	assert_int_equal(find_in("b\0:x:1:\n", 8, "b"), -1);
	free(text);
}

static struct mw_socket_lock made(void)
{
	struct mw_socket_lock c = { .lock_fd = -1 };
	struct stat st;

	unlink(path);
	find("", "x");
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(stat(path, &st), 0);
	c.dev = st.st_dev;
	c.ino = st.st_ino;
	strcpy(c.path, path);
	return c;
}

static unsigned mode_of(const char *file)
{
	struct stat st;

	assert_int_equal(lstat(file, &st), 0);
	return st.st_mode & 07777;
}

TEST(modes)
{
	static struct mw_options o = { .socket_gid = -1 };
	char other[80];
	struct mw_socket_lock c = made();

	o.socket_mode = 0600;
	mw_socket_open_up(&c, &o);
	assert_int_equal(mode_of(path), 0600);
	o.socket_mode = 0662;
	mw_socket_open_up(&c, &o);
	assert_int_equal(mode_of(path), 0662);
	assert_string_equal(said, "");
	/* a group that isn't there: all stays closed, whatever the mode */
	c = made();
	o.socket_group = "no-such-group-here";
	mw_socket_open_up(&c, &o);
	assert_int_equal(mode_of(path), 0600);
	assert_non_null(strstr(said, "stays closed to others: no group no-such-group-here"));
	/* our own group, which anybody may name */
	o.socket_group = "own";
	o.socket_gid = (int64_t)getegid();
	mw_socket_open_up(&c, &o);
	assert_int_equal(mode_of(path), 0662);
	/* a file in its place, or at the end of a link, is left alone */
	c = made();
	snprintf(other, sizeof(other), "%s/other", dir);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	mw_socket_open_up(&c, &o);
	assert_int_equal(mode_of(other), 0600);
	assert_non_null(strstr(said, "stays closed to others: another file has taken its place"));
	unlink(path);
	mw_socket_open_up(&c, &o);
	assert_non_null(strstr(said, "can't look at it (No such file or directory)"));
	unlink(other);
}

TEST(directories)
{
	static const unsigned modes[][2] = {
		{ 0600, 0700 }, { 0660, 0750 }, { 0640, 0750 },
		{ 0620, 0750 }, { 0602, 0705 }, { 0666, 0755 },
	};
	static struct mw_options o = { .socket_gid = -1 };
	char sub[80];

	snprintf(sub, sizeof(sub), "%s/sub", dir);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		assert_int_equal(mkdir(sub, 0700), 0);
		o.socket_mode = modes[i][0];
		mw_socket_dir_open_up(sub, &o);
		assert_int_equal(mode_of(sub), modes[i][1]);
		assert_int_equal(rmdir(sub), 0);
	}
	assert_string_equal(said, "");
}

static void begin(void)
{
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
}

static void end(void)
{
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

ALL(begin, end);
