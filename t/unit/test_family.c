/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Families: which paths are theirs, who is there by the names of sockets, and metrics put together. */
/* uses: @server */
#include <fcntl.h>
#include <unistd.h>

#include "unit.h"
#include "../../src/server/family/family.h"
#include "fake_api.h"

/* --- paths ------------------------------------------------------------------------ */

enum { PID = 12 };

/* rest: NULL: it is answered by the family; else what this process is asked for. */
static void path_is(const char *path, const char *rest)
{
	const char *got = NULL;
	bool wants = mw_family_wants(path, PID, false, &got);

	assert_int_equal(wants, !rest);
	if (rest)
		assert_string_equal(got, rest);
}

EACH(fake_clear, NULL);

TEST(paths_of_the_family)
{
	path_is("/all", NULL);
	path_is("/all/", NULL);
	path_is("/all/each/0.tsv", NULL);
	path_is("/family", NULL);
	path_is("/family.tsv", NULL);
	path_is("/family.csv", NULL);
	path_is("/family.json", NULL);
	path_is("/13", NULL);
	path_is("/13/", NULL);
	path_is("/13/live", NULL);
	path_is("/1/", NULL);
	path_is("/1-4026531836/live", NULL);
	path_is("/12-1/live", NULL); /* the same number in another PID namespace */
	path_is("/12", NULL); /* a folder, wherever it is */
	path_is("/9223372036854775807/", NULL);
}

TEST(paths_of_the_process)
{
	static const char *const others[] = {
		"/",
		"",
		"/allx",
		"/al",
		"/All",
		"/all.tsv",
		"/familyx",
		"/family/",
		"/family/self",
		"/family/table",
		"/family.xml",
		"/family.tsv/",
		"/famil",
		"/12x",
		"/12-/",
		"/12-x/",
		"/12-0/",
		"/12-1-1/",
		"/12x/",
		"/12.tsv",
		"/012/",
		"/0",
		"/-12/",
		"/+12/",
		"/ 12/",
		"12/",
		"/x12/",
		"//12/",
		"/9223372036854775808/",
		"/99999999999999999999999999/",
		"/1e1/"
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		path_is(others[i], others[i]);
	path_is("/12/", "/");
	path_is("/12/each/0", "/each/0");
	path_is("/12//", "//");
	path_is("/12/13/", "/13/");
	path_is("/12/all/", "/all/");
}

/* --- who is there ------------------------------------------------------------------- */

static char dir[] = "/tmp/mwrap-unit-family-XXXXXX";

static void make_dir(void)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	fake_clear();
	assert_non_null(mkdtemp(dir));
}

static void in_dir(char *to, size_t size, const char *name)
{
	int len = snprintf(to, size, "%s/%s", dir, name);

	assert_true(len > 0 && (size_t)len < size);
}

static void remove_dir(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

static void touch(const char *name)
{
	char path[512];
	int fd;

	in_dir(path, sizeof(path), name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static int by_pid(const void *a, const void *b)
{
	const struct mw_member *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* want: "PID NAME\n" of each, by PID */
static void members_are(const struct mw_family *f, const char *want)
{
	size_t n = 99;
	struct mw_member *m = mw_members(f, &n);
	struct mw_buf got = { 0 };

	assert_true(m || !n);
	if (n)
		qsort(m, n, sizeof(*m), by_pid);
	for (size_t i = 0; i < n; i++) {
		assert_memory_equal(m[i].socket, dir, strlen(dir));
		assert_int_equal(m[i].socket[strlen(dir)], '/');
		mw_buf_fmt(&got, "%ld %s\n", m[i].pid, m[i].socket + strlen(dir) + 1);
	}
	mw_buf_add(&got, "", 1);
	assert_string_equal(got.p, want);
	mw_buf_free(&got);
	free(m);
}

EACH(make_dir, remove_dir);

TEST(members_of_a_path)
{
	struct mw_family f = { 0 };

	in_dir(f.path, sizeof(f.path), "m.sock");
	members_are(&f, "");
	touch("m.sock");
	touch("m.sock.lock");
	touch("m.sock.12");
	touch("m.sock.12.lock");
	touch("m.sock.345");
	touch("m.sock.999999999");
	touch("m.sock.1234567890"); /* no PID is so large */
	touch("m.sock.0");
	touch("m.sock.012");
	touch("m.sock.-1");
	touch("m.sock.+1");
	touch("m.sock.1x");
	touch("m.sock.x1");
	touch("m.sock.");
	touch("m.sock..1");
	touch("m.sock_1");
	touch("m.soc");
	touch("m.socks");
	touch("xm.sock.1");
	touch("M.SOCK.1");
	touch("12.sock");
	touch("12");
	members_are(&f, "0 m.sock\n12 m.sock.12\n345 m.sock.345\n999999999 m.sock.999999999\n");
}

TEST(members_of_a_folder)
{
	struct mw_family f = { 0 };

	strcpy(f.dir, dir);
	members_are(&f, "");
	touch("12.sock");
	touch("12.sock.lock");
	touch("7.sock");
	touch(".sock");
	touch("0.sock");
	touch("07.sock");
	touch("x7.sock");
	touch("7x.sock");
	touch("-7.sock");
	touch("7.sockx");
	touch("7.SOCK");
	touch("7.sock.8");
	touch("1234567890.sock");
	touch("7");
	touch("sock");
	members_are(&f, "7 7.sock\n12 12.sock\n");
	/* with a path of its own the folder isn't looked into */
	in_dir(f.path, sizeof(f.path), "m.sock");
	members_are(&f, "");
}

/* The path's own name may hold what names of processes have. */
TEST(a_path_with_numbers)
{
	struct mw_family f = { 0 };

	in_dir(f.path, sizeof(f.path), "m.12");
	touch("m.12");
	touch("m.13");
	touch("m.12.13");
	members_are(&f, "0 m.12\n13 m.12.13\n");
}

TEST(no_more_than_are_asked)
{
	struct mw_family f = { 0 };
	struct mw_member *m;
	char name[32];
	size_t n;

	strcpy(f.dir, dir);
	for (unsigned i = 1; i <= MW_FAMILY_MAX + 100; i++) {
		snprintf(name, sizeof(name), "%u.sock", i);
		touch(name);
	}
	m = mw_members(&f, &n);
	assert_non_null(m);
	assert_int_equal(n, MW_FAMILY_MAX);
	qsort(m, n, sizeof(*m), by_pid);
	for (size_t i = 0; i < n; i++) {
		assert_in_range(m[i].pid, 1, MW_FAMILY_MAX + 100);
		assert_true(!i || m[i].pid > m[i - 1].pid);
	}
	free(m);
}

/* A name that doesn't fit into an address can't be asked, and isn't cut. */
TEST(a_path_too_long)
{
	struct mw_family f = { 0 };
	char want[3 * MW_SOCKET_PATH];
	size_t n;

	in_dir(f.path, sizeof(f.path), "m");
	n = strlen(f.path);
	memset(f.path + n, 'm', sizeof(f.path) - 1 - n - 2);
	f.path[sizeof(f.path) - 3] = '\0'; /* room for ".1" */
	touch(f.path + strlen(dir) + 1);
	snprintf(want, sizeof(want), "%s.1", f.path + strlen(dir) + 1);
	touch(want);
	snprintf(want, sizeof(want), "%s.12", f.path + strlen(dir) + 1);
	touch(want);
	snprintf(want, sizeof(want), "0 %s\n1 %s.1\n", f.path + strlen(dir) + 1, f.path + strlen(dir) + 1);
	members_are(&f, want);
}

TEST(no_folder)
{
	struct mw_family f = { 0 };
	size_t n = 99;

	assert_null(mw_members(&f, &n)); /* nothing was asked for */
	assert_int_equal(n, 0);
	in_dir(f.path, sizeof(f.path), "none/m.sock");
	n = 99;
	assert_null(mw_members(&f, &n));
	assert_int_equal(n, 0);
	touch("file");
	in_dir(f.path, sizeof(f.path), "file/m.sock");
	n = 99;
	assert_null(mw_members(&f, &n));
	assert_int_equal(n, 0);
	f.path[0] = '\0';
	in_dir(f.dir, sizeof(f.dir), "file");
	n = 99;
	assert_null(mw_members(&f, &n));
	assert_int_equal(n, 0);
}

EACH(fake_clear, NULL);

TEST(facts)
{
	struct mw_process_facts f;

	mw_process_facts(getpid(), &f);
	assert_non_null(strstr(f.title, "test_family"));
	assert_true(f.rss >= 4096);
	assert_true(f.age >= 0 && f.age < 100000);
	mw_process_facts(999999999, &f);
	assert_string_equal(f.title, "");
	assert_true(f.rss == 0 && !(f.age > 0 || f.age < 0));
	mw_process_facts(-1, &f);
	assert_string_equal(f.title, "");
}

/* --- metrics ------------------------------------------------------------------------- */

enum { TEXTS = 4 };

/* texts: of processes 11, 12, ...; NULL ends them */
static void merged(const char *const *texts, const char *want)
{
	struct mw_answer p[TEXTS] = { 0 };
	struct mw_buf got = { 0 };
	char *copies[TEXTS];
	size_t n = 0;

	for (; texts[n]; n++) {
		size_t size = strlen(texts[n]);

		assert_true(n < TEXTS);
		copies[n] = malloc(size ? size : 1); /* no NUL, so that reading on is found */
		assert_non_null(copies[n]);
		memcpy(copies[n], texts[n], size);
		p[n] = (struct mw_answer){ .pid = 11 + (long)n, .text = size ? copies[n] : NULL, .n = size };
	}
	mw_scrape_merge(&got, p, n);
	assert_false(got.failed);
	mw_buf_add(&got, "", 1);
	assert_string_equal(got.p, want);
	mw_buf_free(&got);
	while (n)
		free(copies[--n]);
}

#define MERGED(want, ...) merged((const char *const[]){ __VA_ARGS__, NULL }, want)

TEST(samples_are_labelled)
{
	MERGED("# HELP a Of a.\n# TYPE a gauge\na{process=\"11\"} 1\n",
	       "# HELP a Of a.\n# TYPE a gauge\na 1\n");
	MERGED("# HELP a Of a.\na{process=\"11\",b=\"c\"} 1\na{process=\"11\",b=\"{ } \\\" \\n\",d=\"\"} 2.5\n",
	       "# HELP a Of a.\na{b=\"c\"} 1\na{b=\"{ } \\\" \\n\",d=\"\"} 2.5\n");
	MERGED("# HELP a A.\na{process=\"11\"} 1\n", "# HELP a A.\na{} 1\n");
	MERGED("# HELP a A.\na{process=\"11\"}\n", "# HELP a A.\na\n");
	MERGED("# HELP a A.\na{process=\"11\",\n", "# HELP a A.\na{\n");
	MERGED("# HELP a A.\na{process=\"11\"} \n", "# HELP a A.\na \n");
	MERGED("# HELP a A.\n{process=\"11\"} 1\n", "# HELP a A.\n 1\n");
}

/* Lines of one metric stand together, in order of the processes; what is said of it is said once. */
TEST(metrics_stand_together)
{
	MERGED("# HELP a Of a.\n# TYPE a gauge\na{process=\"11\"} 1\na{process=\"12\"} 2\n"
	       "# HELP b Of b.\n# TYPE b gauge\n# UNIT b bytes\nb{process=\"11\",x=\"1\"} 3\nb{process=\"12\",x=\"2\"} 4\n",
	       "# HELP a Of a.\n# TYPE a gauge\na 1\n# HELP b Of b.\n# TYPE b gauge\n# UNIT b bytes\nb{x=\"1\"} 3\n",
	       "# HELP b Another b.\n# TYPE b counter\nb{x=\"2\"} 4\n# HELP a Another a.\na 2\n");
}

TEST(some_have_more)
{
	MERGED("# HELP a A.\na{process=\"11\"} 1\na{process=\"13\"} 3\n# HELP b B.\nb{process=\"11\"} 1\n"
	       "# HELP c C.\nc{process=\"12\"} 2\nc{process=\"13\"} 3\n# HELP d D.\nd{process=\"13\"} 3\n",
	       "# HELP a A.\na 1\n# HELP b B.\nb 1\n", "# HELP c C.\nc 2\n",
	       "# HELP d D.\nd 3\n# HELP c C.\nc 3\n# HELP a A.\na 3\n");
	/* one that has no samples has its comments */
	MERGED("# HELP a A.\n# TYPE a gauge\na{process=\"12\"} 1\n", "# HELP a A.\n# TYPE a gauge\n",
	       "# HELP a A.\n# TYPE a gauge\na 1\n");
}

TEST(names_within_names)
{
	MERGED("# HELP ab AB.\nab{process=\"11\"} 1\nab{process=\"12\"} 4\n"
	       "# HELP a A.\na{process=\"11\"} 2\na{process=\"12\"} 5\n"
	       "# HELP abc ABC.\nabc{process=\"11\"} 3\nabc{process=\"12\"} 6\n",
	       "# HELP ab AB.\nab 1\n# HELP a A.\na 2\n# HELP abc ABC.\nabc 3\n",
	       "# HELP abc ABC.\nabc 6\n# HELP ab AB.\nab 4\n# HELP a A.\na 5\n");
	MERGED("# HELP a\na{process=\"11\"} 2\na{process=\"12\"} 3\n# HELP a_total A.\na_total{process=\"12\"} 1\n",
	       "# HELP a\na 2\n", "# HELP a_total A.\na_total 1\n# HELP a A.\na 3\n");
}

TEST(said_twice)
{
	MERGED("# HELP a A.\na{process=\"11\"} 1\na{process=\"12\"} 4\n# HELP b B.\nb{process=\"11\"} 2\n",
	       "# HELP a A.\na 1\n# HELP b B.\nb 2\n# HELP a A again.\na 3\n",
	       "# HELP a A.\na 4\n# HELP a A.\na 5\n");
}

TEST(ends_of_texts)
{
	MERGED("", "");
	MERGED("", "", "", "");
	MERGED("", "\n\n\n", "# EOF\n");
	MERGED("", "stray 1\n# TYPE stray gauge\n");
	MERGED("", "# HELP ", "# HELP", "#");
	MERGED("# HELP a A.\n", "# HELP a A.");
	MERGED("# HELP a A.\na{process=\"11\"} 1\na{process=\"12\"} 2\n", "# HELP a A.\na 1",
	       "# HELP a A.\na 2");
	MERGED("# HELP a A.\na{process=\"12\"} 2\n", "", "# HELP a A.\na 2\n");
	MERGED("# HELP a A.\na{process=\"11\"} 2\n", "# HELP a A.\na 2\n", "");
	MERGED("# HELP a A.\na{process=\"11\"} 2\na{process=\"11\"} 3\n",
	       "# HELP a A.\n\na 2\n\n\na 3\n\n");
	MERGED("# HELP a A.\na{process=\"11\"} 1\na{process=\"12\"} 2\n", "# HELP a A.\na 1\n# EOF\n",
	       "# HELP a A.\na 2\n# EOF");
	MERGED("# HELP a A.\n# EOFx\na{process=\"11\"} 1\n", "# HELP a A.\n# EOFx\na 1\n# EOF\n");
}
