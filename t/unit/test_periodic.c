/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The periodic dumps: their names, how many stay, that each is whole from the first moment. */
/* uses: src/shared/sys/libc_glibc.c src/tracker/dump/periodic.c src/shared/text/utc.c src/shared/sys/log.c src/tracker/dump/dump.c src/shared/report/rows.c src/shared/report/group.c src/shared/report/columns.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c src/shared/report/render.c src/shared/options/options.c src/shared/options/keys.c src/shared/options/near.c src/shared/options/values.c src/shared/options/address.c src/shared/report/heap_page_rows.c src/shared/report/kinds.c src/shared/report/kinded.c src/shared/report/profile.c src/shared/report/profile_make.c src/shared/report/row_index.c src/shared/text/intern.c src/shared/report/location.c */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "fake_api.h"

enum { BIG = 6 << 20 };

static char dir[64], base[160];
static struct mw_buf text;

struct names {
	char v[64][128];
	int n;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Everything in dir, hidden or not, sorted. */
static struct names listed(void)
{
	struct names l = { .n = 0 };
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)) && l.n < 64)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			snprintf(l.v[l.n++], sizeof(l.v[0]), "%.127s", e->d_name);
	if (d)
		closedir(d);
	qsort(l.v, (size_t)l.n, sizeof(l.v[0]), by_name);
	return l;
}

static void setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/mwrap-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	fake_clear();
	snprintf(base, sizeof(base), "%s/d", dir);
	fake_options.dump_path = base;
	fake_options.dump_every = 1;
	fake_options.dump_keep = 3;
	mw_periodic_child(); /* forgets what an earlier test wrote */
}

static void teardown(void)
{
	struct names l = listed();
	char path[256];

	mw_buf_free(&text);
	for (int i = 0; i < l.n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, l.v[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(dir), 0);
}

static void render(void)
{
	mw_buf_free(&text);
	assert_true(mw_periodic_render(&text, &fake_api));
	assert_int_equal(fake_out, 0);
}

static void write_one(void)
{
	assert_int_equal(mw_periodic_write(&text, &fake_options, false), 0);
}

/* "d.PID.20260131T235959Z" */
static void is_name(const char *name, const char *prefix)
{
	const char *s = name + strlen(prefix);

	assert_memory_equal(name, prefix, strlen(prefix));
	assert_int_equal(strlen(s), 17);
	assert_int_equal(s[0], '.');
	assert_int_equal(s[9], 'T');
	assert_int_equal(s[16], 'Z');
	assert_int_equal(strspn(s + 1, "0123456789"), 8);
	assert_int_equal(strspn(s + 10, "0123456789"), 6);
}

EACH(setup, teardown);

TEST(names)
{
	char prefix[64], now[32], env[256], why[MW_ERROR_MAX];
	time_t before = time(NULL), after;
	struct timespec precise; /* time() may be behind by a tick of the clock */
	struct names l;
	struct tm tm;

	render();
	write_one();
	clock_gettime(CLOCK_REALTIME, &precise);
	after = precise.tv_sec;
	l = listed();
	assert_int_equal(l.n, 1);
	snprintf(prefix, sizeof(prefix), "d.%d", (int)getpid());
	is_name(l.v[0], prefix);
	strftime(now, sizeof(now), "%Y%m%dT%H%M%SZ", gmtime_r(&before, &tm));
	assert_true(strcmp(l.v[0] + strlen(prefix) + 1, now) >= 0);
	strftime(now, sizeof(now), "%Y%m%dT%H%M%SZ", gmtime_r(&after, &tm));
	assert_true(strcmp(l.v[0] + strlen(prefix) + 1, now) <= 0);
	mw_periodic_remove(&fake_options);
	assert_int_equal(listed().n, 0);
	/* the PID once is enough; %%p is none */
	snprintf(env, sizeof(env), "dump_path:%s/a%%p.tsv,dump_every:1", dir);
	assert_true(mw_options_parse(&fake_options, env, why));
	write_one();
	snprintf(prefix, sizeof(prefix), "a%d.tsv", (int)getpid());
	l = listed();
	assert_int_equal(l.n, 1);
	is_name(l.v[0], prefix);
	mw_periodic_remove(&fake_options);
	snprintf(env, sizeof(env), "dump_path:%s/a%%%%p,dump_every:1", dir);
	assert_true(mw_options_parse(&fake_options, env, why));
	write_one();
	snprintf(prefix, sizeof(prefix), "a%%p.%d", (int)getpid());
	l = listed();
	assert_int_equal(l.n, 1);
	is_name(l.v[0], prefix);
}

/* The row with most live bytes comes first, not that with the largest total; dump_min and the form apply. */
TEST(rows)
{
	fake_row(MW_KIND_RUBY, 1000, "garbage:1")->live_bytes = 10;
	fake_row(MW_KIND_RUBY, 500, "leak:2");
	fake_row(MW_KIND_RUBY, 3, "little:3");
	fake_options.dump_min = 5;
	render();
	assert_int_equal(text.n, 2 * 31 + 15);
	assert_memory_equal(text.p, "             500            1 leak:2\n", 37);
	fake_options.dump_format = MW_FORMAT_JSON;
	render();
	assert_int_equal(text.p[0], '[');
	assert_non_null(memmem(text.p, text.n, "leak:2", 6));
	fake_no_memory = true;
	assert_false(mw_periodic_render(&text, &fake_api));
}

/* The last ones stay, in the order of their names; none has another's name in the same second. */
TEST(keeps_the_last)
{
	struct names l, before;

	fake_row(MW_KIND_RUBY, 1, "a:1");
	render();
	fake_options.dump_keep = 4;
	for (int i = 1; i <= 12; i++) {
		before = listed();
		write_one();
		l = listed();
		assert_int_equal(l.n, i < 4 ? i : 4);
		if (before.n)
			assert_true(strcmp(l.v[l.n - 1], before.v[before.n - 1]) > 0);
		if (i > 4)
			assert_string_equal(l.v[0], before.v[1]);
	}
	fake_options.dump_keep = 1;
	write_one();
	assert_int_equal(listed().n, 1);
	mw_periodic_remove(&fake_options);
	assert_int_equal(listed().n, 0);
}

/* Only what this process wrote is removed. */
TEST(leaves_others_alone)
{
	char other[256];
	int fd;

	fake_row(MW_KIND_RUBY, 1, "a:1");
	render();
	snprintf(other, sizeof(other), "%s/d.%d.20000101T000000Z", dir, (int)getpid());
	fd = open(other, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	fake_options.dump_keep = 2;
	for (int i = 0; i < 5; i++)
		write_one();
	assert_int_equal(listed().n, 3);
	mw_periodic_child();
	mw_periodic_remove(&fake_options);
	assert_int_equal(listed().n, 3); /* a child's hands are off */
	assert_int_equal(access(other, F_OK), 0);
}

/* A reader that looks at everything all the time, while fifty are written. */
static int poll_until(const volatile int *ended, volatile int *seen, size_t want)
{
	while (!*ended) {
		struct names l = listed();

		for (int i = 0; i < l.n; i++) {
			char path[256];
			struct stat st;
			int fd;

			if (l.v[i][0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", dir, l.v[i]);
			fd = open(path, O_RDONLY);
			if (fd < 0)
				continue; /* removed meanwhile: one of the old ones */
			if (fstat(fd, &st) < 0 || (size_t)st.st_size != want)
				return 1;
			close(fd);
			++*seen;
		}
	}
	return 0;
}

TEST(no_half_file_is_ever_seen)
{
	const struct timespec ms = { .tv_nsec = 2000000 };
	/* so big that writing it takes long enough to be caught at it */
	struct mw_buf big = { .p = malloc(BIG), .n = BIG, .cap = BIG };
	int *ended = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	volatile int *seen = ended + 1;
	int status;
	pid_t pid;

	assert_non_null(big.p);
	memset(big.p, 'x', BIG);
	pid = fork();
	if (pid == 0)
		_exit(poll_until(ended, seen, BIG));
	/* a reader that has ended, for it saw a half one, is noticed below */
	for (int i = 0; i < 50 || (*seen < 50 && waitpid(pid, &status, WNOHANG) == 0); i++) {
		assert_int_equal(mw_periodic_write(&big, &fake_options, false), 0);
		nanosleep(&ms, NULL); /* so that the reader sees each */
	}
	*ended = 1;
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(listed().n, 3);
	munmap(ended, 4096);
	mw_buf_free(&big);
}

/* --- what goes wrong -------------------------------------------------------- */

/* mw_periodic_complain prints `want`. */
static void complains(int e, const char *want)
{
	FILE *f = tmpfile();
	int saved = dup(2);
	char got[512];
	ssize_t n;

	assert_non_null(f);
	dup2(fileno(f), 2);
	mw_periodic_complain(e, &fake_options);
	dup2(saved, 2);
	close(saved);
	n = pread(fileno(f), got, sizeof(got) - 1, 0);
	got[n > 0 ? n : 0] = 0;
	fclose(f);
	assert_string_equal(got, want);
}

TEST(errors)
{
	char want[256], blocker[128];
	int fd;

	fake_row(MW_KIND_RUBY, 1, "a:1");
	render();
	snprintf(base, sizeof(base), "%s/no/d", dir);
	assert_int_equal(mw_periodic_write(&text, &fake_options, false), ENOENT);
	snprintf(blocker, sizeof(blocker), "%s/file", dir);
	fd = open(blocker, O_CREAT | O_WRONLY, 0600);
	close(fd);
	snprintf(base, sizeof(base), "%s/file/d", dir);
	assert_int_equal(mw_periodic_write(&text, &fake_options, false), ENOTDIR);
	snprintf(want, sizeof(want), "mwrap: dump_every %s: Not a directory\n", base);
	complains(ENOTDIR, want);
	complains(ENOTDIR, ""); /* once */
	snprintf(want, sizeof(want), "mwrap: dump_every %s: No such file or directory\n", base);
	complains(ENOENT, want);
	complains(ENOENT, "");
	/* and it goes on when it can */
	snprintf(base, sizeof(base), "%s/d", dir);
	write_one();
	assert_int_equal(listed().n, 2);
	mw_periodic_remove(&fake_options);
}

/* A name that is too long for the file system, and one that is taken. */
TEST(names_that_fail)
{
	fake_row(MW_KIND_RUBY, 1, "a:1");
	render();
	fake_options.dump_path = memset(malloc(6000), 'y', 5999);
	((char *)(uintptr_t)fake_options.dump_path)[5999] = 0;
	assert_int_equal(mw_periodic_write(&text, &fake_options, false), ENAMETOOLONG);
	((char *)(uintptr_t)fake_options.dump_path)[300] = 0;
	assert_int_equal(mw_periodic_write(&text, &fake_options, false), ENAMETOOLONG);
	free((char *)(uintptr_t)fake_options.dump_path);
	assert_int_equal(listed().n, 0);
}

/* The disk is full in the middle of one: nothing is left of it, the last whole one is. */
TEST(full)
{
	struct rlimit was, little = { 2000, 2000 };
	struct names l;
	void (*old)(int);

	fake_row(MW_KIND_RUBY, 1, "a:1");
	render();
	write_one();
	l = listed();
	for (int i = 0; i < 60; i++)
		fake_row(MW_KIND_RUBY, 100, "/a/rather/long/path/to/a/file/in/some/gem.rb:1");
	render();
	assert_true(text.n > 2000);
	old = signal(SIGXFSZ, SIG_IGN); /* the tracker's thread blocks it */
	getrlimit(RLIMIT_FSIZE, &was);
	little.rlim_max = was.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	assert_int_equal(mw_periodic_write(&text, &fake_options, false), EFBIG);
	setrlimit(RLIMIT_FSIZE, &was);
	signal(SIGXFSZ, old);
	assert_int_equal(listed().n, 1);
	assert_string_equal(listed().v[0], l.v[0]);
	write_one();
	assert_int_equal(listed().n, 2);
}

/* In the app's table of descriptors: none is left open, none below 3 is used. */
TEST(descriptors)
{
	int before, after, in = dup(0);

	fake_row(MW_KIND_RUBY, 1, "a:1");
	render();
	before = dup(1);
	close(before);
	close(0);
	assert_int_equal(mw_periodic_write(&text, &fake_options, true), 0);
	assert_int_equal(fcntl(0, F_GETFD), -1);
	dup2(in, 0);
	close(in);
	after = dup(1);
	close(after);
	assert_true(after <= before);
	assert_int_equal(listed().n, 1);
}
