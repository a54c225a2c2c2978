/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_server OPTION... - the HTTP server over a table that is made up (t/lib/fake_table.h).
 *
 * For t/httpd*.t. Loads $MWRAP_HTTPD as the tracker does, and does one
 * thing for each line on stdin, answering with a line on stdout.
 *
 *	socket=PATH socket_dir=DIR listen=HOST:PORT read_only=1 source=0   as in $MWRAP
 *	rows=N     locations (default 20); lives=N blocks live at the first one
 *	fds=N      open N descriptors first
 *	nofile=N   soft RLIMIT_NOFILE
 *	umask=N    octal
 *	trace_max=N   in bytes
 *	gate=1     has blocks and recordings; "gate" makes calls for these, lives and trims wait until "open"
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/server/httpd/httpd.h"
#include "../lib/fake_table.h"

static struct mw_options options = { .dump_fd = -1, .source = true, .socket_mode = 0600, .socket_gid = -1 };
static const struct mw_httpd_api *httpd;
static pthread_t thread;

/* --- what the tracker does ------------------------------------------------ */

static const struct mw_options *get_options(void)
{
	return &options;
}

/* A child must not find the dynamic linker half-way through a load: so a fork waits. */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* As the tracker's, but for the thread of its own. */
static void *load(const char *name, char *err)
{
	char path[4096];
	const char *httpd_path = getenv("MWRAP_HTTPD");
	const char *slash = strrchr(httpd_path, '/');
	void *lib;

	snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - httpd_path), httpd_path, name);
	pthread_mutex_lock(&loading);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		snprintf(err, MW_ERROR_MAX, "%s: can't be loaded: %.180s", name, dlerror());
	pthread_mutex_unlock(&loading);
	return lib;
}

static struct mw_api api = { .load = load, .options = get_options, FAKE_TABLE };

static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vdprintf(STDOUT_FILENO, fmt, ap);
	va_end(ap);
}

static void nap(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

/* --- calls that don't return ------------------------------------------------ */

static atomic_bool shut;
static atomic_int at_gate;
static struct mw_record_state recording = { .is = MW_RECORD_ON, .path = "/made/up.mwtrace" };

static void pass_gate(void)
{
	at_gate++;
	while (shut)
		nap(1);
	at_gate--;
}

static void gated_each_live(void (*f)(const struct mw_live *, void *ctx), void *ctx)
{
	(void)f;
	(void)ctx;
	pass_gate();
}

static struct mw_lives *gated_lives(const uint32_t *ids, size_t n)
{
	pass_gate();
	return lives(ids, n);
}

static bool gated_trim(void)
{
	pass_gate();
	return trim();
}

static uint64_t record_max; /* of the last recording */

static bool gated_start(const struct mw_record_how *how, char *err)
{
	(void)err;
	pass_gate();
	record_max = how->size_max;
	return true;
}

static bool gated_stop(void)
{
	pass_gate();
	return true;
}

static const struct mw_record_state *get_recording(void)
{
	return &recording;
}

static void have_gate(void)
{
	api.each_live = gated_each_live;
	api.lives = gated_lives;
	api.trim = gated_trim;
	api.record_start = gated_start;
	api.record_stop = gated_stop;
	api.record_state = get_recording;
}

static void opened(void)
{
}

static void *serve(void *unused)
{
	char err[MW_ERROR_MAX] = "";

	(void)unused;
	if (httpd->start(&api, opened, err))
		dprintf(STDERR_FILENO, "mwrap: %s\n", err);
	return NULL;
}

static void start(void)
{
	pthread_attr_t a;
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 256 << 10);
	if (pthread_create(&thread, &a, serve, NULL))
		say("no thread\n");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void stop(void)
{
	httpd->stop();
	/* on a busy machine it may be held up, with answers in its hands */
	say("stopped %d\n", httpd->wait_stopped(30000));
}

/* --- looking at descriptors ----------------------------------------------- */

/* How many of our descriptors are sockets, epolls or eventfds, or name a lock, statm or a token. tell: names them. */
static int servers_fds(bool tell)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;
	char to[256];
	int n = 0;

	while (dir && (d = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), d->d_name, to, sizeof(to) - 1);

		if (len < 0)
			continue;
		to[len] = '\0';
		if (strstr(to, "socket:") || strstr(to, "eventpoll") || strstr(to, "eventfd") ||
		    strstr(to, ".lock") || strstr(to, "statm") || strstr(to, "token")) {
			n++;
			if (tell)
				dprintf(STDERR_FILENO, "# a child has %s -> %s\n", d->d_name, to);
		}
	}
	if (!dir)
		return -1;
	closedir(dir);
	return n;
}

/* Also sets what the child passes to child_after_fork(). */
static pid_t fork_when_loaded(uint32_t *moves)
{
	pid_t pid;

	pthread_mutex_lock(&loading);
	*moves = httpd->before_fork();
	pid = fork();
	pthread_mutex_unlock(&loading);
	return pid;
}

/* Forks; the child lets go, says what it still has, then does what is asked. */
static void do_fork(const char *how)
{
	uint32_t moves;
	pid_t pid = fork_when_loaded(&moves);

	if (pid)
		return;
	if (strcmp(how, "leaky"))
		httpd->child_after_fork(moves);
	say("child %d has %d\n", (int)getpid(), servers_fds(false));
	if (!strcmp(how, "serving"))
		start();
	for (int i = 0; i < 600 && getppid() != 1; i++)
		nap(100);
	if (!strcmp(how, "serving"))
		stop();
	else
		nap(60000); /* its test looks at what it has, and ends it */
	_exit(0);
}

/* Forks n times while clients come and go; counts children with something left. */
static void do_forks(int n)
{
	int bad = 0;

	for (int i = 0; i < n; i++) {
		uint32_t moves;
		pid_t pid = fork_when_loaded(&moves);
		int status = 0;

		if (!pid) {
			httpd->child_after_fork(moves);
			_exit(servers_fds(true) != 0);
		}
		waitpid(pid, &status, 0);
		bad += status != 0;
		if (status)
			dprintf(STDERR_FILENO, "# child %d of %d: status %#x\n", i, n, status);
	}
	say("forks %d bad %d\n", n, bad);
}

/* Closes what a daemon closes; then opens a file with each number. */
static void do_close(bool listeners_too)
{
	int opened = 0;

	for (int fd = 3; fd < 20000; fd++) {
		int yes = 0;
		socklen_t len = sizeof(yes);

		if (!listeners_too && (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &len) || yes))
			continue;
		close(fd);
	}
	while (listeners_too && opened < 1200 && open("/dev/null", O_RDWR | O_CLOEXEC) >= 0)
		opened++;
	say("closed\n");
}

/* Are the files that do_close opened still there? */
static void do_files(void)
{
	struct stat null, st;
	int n = 0;

	stat("/dev/null", &null);
	for (int fd = 3; fd < 20000; fd++)
		n += !fstat(fd, &st) && st.st_rdev == null.st_rdev;
	say("files %d\n", n);
}

static void set(const char *key, char *value)
{
	struct rlimit rl;
	char *colon;

	if (!strcmp(key, "socket")) {
		options.socket = value;
	} else if (!strcmp(key, "socket_dir")) {
		options.socket_dir = value;
	} else if (!strcmp(key, "listen")) {
		options.listen = strdup(value);
		colon = strrchr(value, ':');
		*colon = '\0';
		options.listen_port = (uint16_t)atoi(colon + 1);
		value += *value == '[';
		snprintf(options.listen_host, sizeof(options.listen_host), "%.*s",
			 (int)strcspn(value, "]"), value);
		options.listen_far = strncmp(value, "127.", 4) && strncmp(value, "::1]", 4);
	} else if (!strcmp(key, "token_file")) {
		options.token_file = value;
	} else if (!strcmp(key, "socket_mode")) {
		options.socket_mode = (unsigned)strtol(value, NULL, 8);
	} else if (!strcmp(key, "socket_group")) {
		options.socket_group = value;
		options.socket_gid = *value >= '0' && *value <= '9' ? atol(value) : -1;
	} else if (!strcmp(key, "read_only")) {
		options.read_only = true;
	} else if (!strcmp(key, "source")) {
		options.source = *value == '1';
	} else if (!strcmp(key, "rows")) {
		rows_n = (size_t)atol(value);
	} else if (!strcmp(key, "lives")) {
		lives_n = (size_t)atol(value);
	} else if (!strcmp(key, "trace_max")) {
		options.trace_max = (uint64_t)atol(value);
	} else if (!strcmp(key, "gate")) {
		have_gate();
	} else if (!strcmp(key, "umask")) {
		umask((mode_t)strtol(value, NULL, 8));
	} else if (!strcmp(key, "nofile")) {
		getrlimit(RLIMIT_NOFILE, &rl);
		rl.rlim_cur = (rlim_t)atol(value);
		setrlimit(RLIMIT_NOFILE, &rl);
	} else if (!strcmp(key, "fds")) {
		for (int i = 0; i < atoi(value); i++)
			if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
				say("no descriptor\n");
	}
}

static bool command(char *line)
{
	char *arg = line + strcspn(line, " ");
	struct rusage ru;

	if (*arg)
		*arg++ = '\0';
	if (!strcmp(line, "stop")) {
		stop();
	} else if (!strcmp(line, "leave")) { /* as where the server's thread isn't run in time */
		httpd->stop();
		httpd->wait_stopped(0);
		_exit(0);
	} else if (!strcmp(line, "fork")) {
		do_fork(arg);
	} else if (!strcmp(line, "forks")) {
		do_forks(atoi(arg));
	} else if (!strcmp(line, "close")) {
		do_close(!strcmp(arg, "all"));
	} else if (!strcmp(line, "files")) {
		do_files();
	} else if (!strcmp(line, "counts")) {
		say("copies %d resets %d trims %d\n", copies, resets, trims);
	} else if (!strcmp(line, "gate") || !strcmp(line, "open")) {
		shut = *line == 'g';
		say("%s\n", line);
	} else if (!strcmp(line, "waiting")) { /* calls at the gate */
		say("%d\n", at_gate);
	} else if (!strcmp(line, "record_max")) {
		say("%lu\n", record_max);
	} else if (!strcmp(line, "taken")) { /* snapshots so far */
		say("taken %d\n", taken);
	} else if (!strcmp(line, "summed")) { /* how often the counters were summed: by stats, in snapshots */
		say("%d %d\n", summed, taken);
	} else if (!strcmp(line, "grow")) { /* the location with that index, by 100 bytes */
		grow_row((size_t)atol(arg));
		say("grown\n");
	} else if (!strcmp(line, "cpu")) {
		getrusage(RUSAGE_SELF, &ru);
		say("cpu %ld ms\n", (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000 +
					    (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1000);
	} else if (!strcmp(line, "eat")) { /* every descriptor there is */
		int n = 0;

		while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
			n++;
		say("ate %d\n", n);
	} else if (!strcmp(line, "spit")) {
		close_range(20, 40, 0);
		say("spat\n");
	} else {
		return false; /* "exit" */
	}
	return true;
}

int main(int argc, char **argv)
{
	const char *path = getenv("MWRAP_HTTPD");
	void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	char line[256];

	httpd = lib ? dlsym(lib, "mwrap_httpd") : NULL;
	if (!httpd || httpd->version != MW_HTTPD_VERSION) {
		fprintf(stderr, "no server: %s\n", lib ? "no symbol" : dlerror());
		return 1;
	}
	for (int i = 1; i < argc; i++) {
		char *eq = strchr(argv[i], '=');

		if (!eq)
			return 2;
		*eq = '\0';
		set(argv[i], eq + 1);
	}
	if (getenv("TMPDIR") && strlen(getenv("TMPDIR")) < sizeof(options.tmpdir))
		strcpy(options.tmpdir, getenv("TMPDIR"));
	make_rows();
	start();
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!command(line))
			break;
	}
	stop();
	return 0;
}
