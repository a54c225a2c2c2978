/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The dump at exit: where it goes, in one piece, and that it harms nobody. */
/* uses: src/shared/sys/libc_glibc.c src/shared/sys/log.c src/tracker/dump/dump.c src/shared/report/rows.c src/shared/report/group.c src/shared/report/columns.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c src/shared/report/render.c src/shared/options/options.c src/shared/options/keys.c src/shared/options/near.c src/shared/options/values.c src/shared/options/address.c src/shared/report/heap_page_rows.c src/shared/report/kinds.c src/shared/report/kinded.c src/shared/report/profile.c src/shared/report/profile_make.c src/shared/report/row_index.c src/shared/text/intern.c src/shared/report/location.c */
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
#include "known_columns.h"

static char dir[64], file[128], err[1024];
static const char *said;

static void setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/mwrap-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/dump", dir);
	fake_clear();
}

static void teardown(void)
{
	unlink(file);
	assert_int_equal(rmdir(dir), 0);
}

/* Reads a whole file; NUL-terminated, malloc'ed. */
static char *slurp(const char *path, size_t *n)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	char *s;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	s = malloc((size_t)st.st_size + 1);
	assert_int_equal(read(fd, s, (size_t)st.st_size), st.st_size);
	close(fd);
	s[st.st_size] = 0;
	if (n)
		*n = (size_t)st.st_size;
	return s;
}

static void file_holds(const char *want)
{
	char *s = slurp(file, NULL);

	assert_string_equal(s, want);
	free(s);
}

/* Dumps; what came on stderr is in err. */
static void dump(void)
{
	FILE *f = tmpfile();
	int saved = dup(2);
	ssize_t n;

	assert_non_null(f);
	dup2(fileno(f), 2);
	errno = 4242;
	mw_dump_at_exit(&fake_api, said);
	dup2(saved, 2);
	assert_int_equal(errno, 4242);
	assert_int_equal(fake_out, 0);
	n = pread(fileno(f), err, sizeof(err) - 1, 0);
	err[n > 0 ? n : 0] = 0;
	close(saved);
	fclose(f);
}

static void dump_complains(const char *want)
{
	dump();
	assert_string_equal(err, want);
}

static void use_fd(int fd)
{
	char env[32], why[MW_ERROR_MAX];

	snprintf(env, sizeof(env), "dump_fd:%d", fd);
	assert_true(mw_options_parse(&fake_options, env, why));
}

EACH(setup, teardown);

TEST(not_asked_for)
{
	fake_row(MW_KIND_RUBY, 1, "a:1");
	dump_complains("");
	assert_int_equal(access(file, F_OK), -1);
}

TEST(appends_sorted_rows_to_a_path)
{
	char want[256];
	struct stat st;
	mode_t mask = umask(027);

	fake_row(MW_KIND_RUBY, 10, "a:1");
	fake_row(MW_KIND_RUBY, 30, "b\n:1");
	fake_row(MW_KIND_RUBY, 20, "c\xff:1");
	fake_options.dump_path = file;
	fake_options.file_mode = 0666;
	dump_complains("");
	umask(mask);
	snprintf(want, sizeof(want), "%16d %12d b\\n:1\n%16d %12d c\xff:1\n%16d %12d a:1\n", 30, 1, 20,
		 1, 10, 1);
	file_holds(want);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	fake_n = 1;
	dump_complains("");
	snprintf(want + strlen(want), 64, "%16d %12d a:1\n", 10, 1);
	file_holds(want);
}

/* After the table, by bits; without pages to show there is no line of one. */
TEST(heap_pages_below)
{
	static const struct {
		unsigned mask;
		const char *begins, *ends;
	} kinds[] = {
		{ 1, "              10            1 a:1\n           pages            3 (heap pages)\n",
		  "            lost            0 (heap pages)\n" },
		{ 2, "              10            1 a:1\n  0x7f0000000000            2 (heap page)\n",
		  "  0x7f0000020000            9 (heap page)\n" },
		{ 3, "              10            1 a:1\n           pages            3 (heap pages)\n",
		  "  0x7f0000020000            9 (heap page)\n" },
		{ 5, "           pages            3 (heap pages)\n",
		  "            lost            0 (heap pages)\n" },
		{ 6, "  0x7f0000000000            2 (heap page)\n",
		  "  0x7f0000020000            9 (heap page)\n" },
	};

	fake_row(MW_KIND_RUBY, 10, "a:1");
	fake_options.dump_path = file;
	fake_ruby_heap();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		char *s;
		size_t n, end = strlen(kinds[i].ends);

		fake_options.dump_heap = kinds[i].mask;
		unlink(file);
		dump_complains("");
		s = slurp(file, &n);
		assert_int_equal(strncmp(s, kinds[i].begins, strlen(kinds[i].begins)), 0);
		assert_true(n > end);
		assert_string_equal(s + n - end, kinds[i].ends);
		free(s);
	}
	fake_options.dump_heap = 4; /* nothing, then */
	unlink(file);
	dump_complains("");
	file_holds("");
}

/* The verdict is for text only, and behind all figures. */
TEST(last_line)
{
	fake_row(MW_KIND_RUBY, 1, "a.rb:1");
	fake_options.dump_path = file;
	fake_options.dump_heap = MW_DUMP_HEAP_FIGURES;
	said = "Nothing grows.";
	for (int format = MW_FORMAT_TEXT; format <= MW_FORMAT_JSON; format++) {
		char *s;
		const char *line;

		fake_options.dump_format = (enum mw_format)format;
		if (format != MW_FORMAT_TEXT)
			fake_options.dump_heap = 0;
		dump_complains("");
		s = slurp(file, NULL);
		line = strstr(s, "# Nothing grows.\n");
		assert_int_equal(line != NULL, format == MW_FORMAT_TEXT);
		if (line)
			assert_string_equal(line, "# Nothing grows.\n");
		free(s);
		unlink(file);
	}
	said = NULL;
}

TEST(min_and_format)
{
	static const struct known_row row = { { "11", "1", "0", "11", "11", "1", "", "0", "b:1" } };
	struct mw_buf want = { 0 };

	fake_row(MW_KIND_RUBY, 10, "a:1");
	fake_row(MW_KIND_RUBY, 11, "b:1");
	fake_options.dump_path = file;
	fake_options.dump_min = 10;
	fake_options.dump_format = MW_FORMAT_CSV;
	dump_complains("");
	want_table(&want, MW_FORMAT_CSV, &fake_rows[1], 1, &row);
	mw_buf_add(&want, "", 1);
	file_holds(want.p);
	mw_buf_free(&want);
	fake_options.dump_min = 11;
	fake_options.dump_format = MW_FORMAT_JSON;
	unlink(file);
	dump_complains("");
	file_holds("[]\n");
	fake_options.dump_format = MW_FORMAT_TEXT;
	unlink(file);
	dump_complains("");
	file_holds("");
}

TEST(path_holds_the_pid)
{
	char template[128];

	fake_row(MW_KIND_RUBY, 10, "a:1");
	snprintf(template, sizeof(template), "%s/%%p%%%%", dir);
	snprintf(file, sizeof(file), "%s/%ld%%", dir, (long)getpid());
	fake_options.dump_path = template;
	dump_complains("");
	file_holds("              10            1 a:1\n");
}

TEST(failures_are_one_line)
{
	static char big[5000], want[1024];

	fake_row(MW_KIND_RUBY, 10, "a:1");
	fake_options.dump_path = "/nonexistent/\x1b[31m\n/x";
	dump_complains("mwrap: dump_path /nonexistent/?[31m?/x: No such file or directory\n");
	fake_options.dump_path = dir;
	snprintf(want, sizeof(want), "mwrap: dump_path %s: Is a directory\n", dir);
	dump_complains(want);
	memset(big, 'x', 4000);
	memcpy(big, "/tmp/", 5);
	fake_options.dump_path = big;
	dump();
	assert_memory_equal(err, "mwrap: dump_path ...xxx", 23);
	assert_non_null(strstr(err, "xxx: File name too long\n"));
	memset(big, 'x', 4999);
	dump();
	assert_non_null(strstr(err, ": File name too long\n"));
	fake_options.dump_path = file;
	fake_no_memory = true;
	snprintf(want, sizeof(want), "mwrap: dump_path %s: Cannot allocate memory\n", file);
	dump_complains(want);
}

TEST(fifo_without_reader_is_an_error)
{
	char want[256];

	fake_row(MW_KIND_RUBY, 10, "a:1");
	assert_int_equal(mkfifo(file, 0600), 0);
	fake_options.dump_path = file;
	snprintf(want, sizeof(want), "mwrap: dump_path %s: No such device or address\n", file);
	dump_complains(want);
}

TEST(closed_pipe_sends_no_signal)
{
	int p[2];
	char want[128];
	sigset_t before, after, pending;

	signal(SIGPIPE, SIG_DFL); /* it would end this program */
	fake_row(MW_KIND_RUBY, 10, "a:1");
	assert_int_equal(pipe(p), 0);
	close(p[0]);
	use_fd(p[1]);
	sigprocmask(SIG_SETMASK, NULL, &before);
	snprintf(want, sizeof(want), "mwrap: dump_fd %d: Broken pipe\n", p[1]);
	dump_complains(want);
	sigprocmask(SIG_SETMASK, NULL, &after);
	assert_int_equal(sigismember(&after, SIGPIPE), 0);
	assert_int_equal(sigismember(&after, SIGXFSZ), sigismember(&before, SIGXFSZ));
	sigpending(&pending);
	assert_int_equal(sigismember(&pending, SIGPIPE), 0);
	close(p[1]);
}

TEST(pending_signal_of_the_app_stays)
{
	sigset_t set, pending;
	int sig;

	fake_row(MW_KIND_RUBY, 10, "a:1");
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGPIPE);
	fake_options.dump_path = file;
	dump_complains("");
	sigpending(&pending);
	assert_int_equal(sigismember(&pending, SIGPIPE), 1);
	assert_int_equal(sigwait(&set, &sig), 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

TEST(size_limit_sends_no_signal)
{
	char want[256];
	struct rlimit old, small = { 100, 100 };

	for (int i = 0; i < 8; i++)
		fake_row(MW_KIND_RUBY, 10, "a:1");
	fake_options.dump_path = file;
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_DFL);
	setrlimit(RLIMIT_FSIZE, &small);
	snprintf(want, sizeof(want), "mwrap: dump_path %s: File too large\n", file);
	dump(); /* the line itself is below the limit */
	setrlimit(RLIMIT_FSIZE, &old);
	assert_string_equal(err, want);
	file_holds("              10            1 a:1\n"
		   "              10            1 a:1\n"
		   "              10            1 a:");
}

/* Reads fd to its end in a child, which answers with how much it was, modulo 251. */
static pid_t reader(int fd, int other_end)
{
	pid_t pid = fork();
	char tmp[700];
	size_t sum = 0;
	ssize_t n;

	if (pid)
		return pid;
	close(other_end);
	while ((n = read(fd, tmp, sizeof(tmp))) > 0)
		sum += (size_t)n;
	_exit((int)(sum % 251));
}

TEST(more_than_a_pipe_holds)
{
	static char name[20001];
	int p[2], status;
	size_t bytes = 0;
	pid_t pid;

	memset(name, 'n', sizeof(name) - 1);
	for (int i = 0; i < 64; i++) {
		fake_row(MW_KIND_RUBY, 10, name);
		bytes += 16 + 1 + 12 + 1 + 20000 + 1;
	}
	assert_int_equal(bytes, 1281984);
	for (int nonblock = 0; nonblock < 2; nonblock++) {
		assert_int_equal(pipe(p), 0);
		if (nonblock)
			fcntl(p[1], F_SETFL, O_NONBLOCK);
		pid = reader(p[0], p[1]);
		close(p[0]);
		use_fd(p[1]);
		dump_complains("");
		close(p[1]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), bytes % 251);
	}
}

TEST(descriptor_that_became_another_file)
{
	char want[128];
	int fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600), other;

	assert_true(fd >= 0);
	fake_row(MW_KIND_RUBY, 10, "a:1");
	use_fd(fd);
	dump_complains("");
	file_holds("              10            1 a:1\n");
	other = memfd_create("other", 0);
	assert_int_equal(dup2(other, fd), fd);
	snprintf(want, sizeof(want),
		 "mwrap: dump_fd %d: replaced since the start: nothing was written\n", fd);
	dump_complains(want);
	assert_int_equal(lseek(other, 0, SEEK_END), 0);
	close(other);
	close(fd);
	fake_options.dump_fd = 900; /* fd itself may be in use by the time of the dump */
	dump_complains("mwrap: dump_fd 900: Bad file descriptor\n");
	file_holds("              10            1 a:1\n");
}

/* Each line says which process wrote it: all of a process's are next to each other. */
static void check_pieces(int family, size_t lines)
{
	size_t n, count[32] = { 0 }, seen = 0;
	char *s = slurp(file, &n), *line = s;
	long last = -1;

	while (line < s + n) {
		char *end = strchr(line, '\n');
		long who = strtol(line, NULL, 10) - 1000;

		assert_non_null(end);
		assert_int_equal(end - line, 16 + 1 + 12 + 1 + 6000);
		assert_in_range(who, 0, family - 1);
		if (who != last) {
			assert_int_equal(count[who], 0);
			seen++;
		}
		count[who]++;
		last = who;
		line = end + 1;
	}
	assert_int_equal(seen, family);
	for (int i = 0; i < family; i++)
		assert_int_equal(count[i], lines);
	free(s);
}

/* A family of processes that dumps at the same time, with 384 KB each. */
static void family_dumps(int by_fd)
{
	static char name[6001];
	enum { FAMILY = 12, LINES = 64 };
	int fd = -1, status, go[2];
	char c;

	memset(name, 'n', sizeof(name) - 1);
	if (by_fd) {
		fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
		use_fd(fd);
	} else {
		fake_options.dump_path = file;
	}
	assert_int_equal(pipe(go), 0);
	for (int i = 0; i < FAMILY; i++) {
		if (fork() == 0) {
			close(go[1]);
			for (int k = 0; k < LINES; k++)
				fake_row(MW_KIND_RUBY, 1000 + (uint64_t)i, name);
			if (read(go[0], &c, 1) == 0) /* until all are there */
				mw_dump_at_exit(&fake_api, said);
			_exit(fake_out);
		}
	}
	close(go[0]);
	close(go[1]);
	for (int i = 0; i < FAMILY; i++) {
		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	if (by_fd)
		close(fd);
	check_pieces(FAMILY, LINES);
}

TEST(family_with_one_path)
{
	family_dumps(0);
}

TEST(family_with_one_descriptor)
{
	family_dumps(1);
}

/* Somebody who keeps the file locked delays the dump, but can't prevent it. */
TEST(lock_that_is_never_given_back)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int ready[2], fd;
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		fd = open(file, O_WRONLY | O_CREAT, 0600);
		if (fcntl(fd, F_SETLK, &l) == 0 && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	fake_row(MW_KIND_RUBY, 10, "a:1");
	fake_options.dump_path = file;
	dump_complains("");
	file_holds("              10            1 a:1\n");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
