/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_server OPTION... - the HTTP server over a table that is made up.
 *
 * For t/httpd*.t. Loads $MWRAP_HTTPD as the tracker does, and does one
 * thing for each line on stdin, answering with a line on stdout.
 *
 *	socket=PATH socket_dir=DIR listen=HOST:PORT read_only=1 source=0   as in $MWRAP
 *	rows=N     locations (default 20); lives=N blocks live at the first one
 *	fds=N      open N descriptors first
 *	nofile=N   soft RLIMIT_NOFILE
 *	umask=N    octal
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/httpd/httpd.h"

static struct mw_options options = { .dump_fd = -1, .source = true, .socket_mode = 0600, .socket_gid = -1 };
static size_t rows_n = 20, lives_n = 5;
static struct mw_row *rows;
static atomic_int copies, taken, resets, trims;
static atomic_bool paused;
static const struct mw_httpd_api *httpd;
static pthread_t thread;

/* --- the table ------------------------------------------------------------ */

static const char *const special[] = {
	"/srv/app/a.rb:1",
	"/srv/app/<b>&\"'.rb:2",
	"/srv/app/t\tn\nr\rb\\.rb:3",
	"/srv/app/\xff\xfe.rb:4",
	"/srv/app/h\xc3\xbcge.rb:5",
	"/srv/app/data.tsv",
	"/srv/app/data",
	"/usr/lib/libfoo.so(fn+0x1f) [0x7f0012345678]",
	"/srv/app/100% + {{q}}.rb:9",
};
#define SPECIAL_N (sizeof(special) / sizeof(special[0]))

static void make_rows(void)
{
	uint64_t x = 88172645463325252u;

	rows = calloc(rows_n + 1, sizeof(*rows));
	for (size_t i = 0; i < rows_n; i++) {
		struct mw_row *r = &rows[i];
		char *s = NULL;

		if (i < SPECIAL_N)
			s = strdup(special[i]);
		else if (asprintf(&s, "/usr/share/gems/gems/thing-1.%zu/lib/thing/some/part_%zu.rb:%zu",
				  i % 37, i % 911, i) < 0)
			abort();
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		r->location = s;
		r->location_len = (uint32_t)strlen(s);
		r->file_len = (uint32_t)(strrchr(s, ':') ? strrchr(s, ':') - s : (long)strlen(s));
		r->id = (uint32_t)i;
		r->kind = strchr(s, '[') ? MW_KIND_NATIVE : MW_KIND_RUBY;
		r->live = i ? x % 1000 : lives_n;
		r->frees = x >> 8 & 0xffff;
		r->allocations = r->frees + r->live;
		r->live_bytes = r->live * 100;
		r->freed = r->frees * 100;
		r->total = r->live_bytes + r->freed;
		r->growth = i == 2 ? -1234567 : (int64_t)r->live_bytes;
		r->life_sum = r->frees * 3;
		r->life_max = r->frees ? 9 : 0;
		r->overruns = i % 3 == 1 ? i % 5 + 1000 : 0;
		r->overrun_size = r->overruns ? i * 8 : 0;
	}
}

static const struct mw_options *get_options(void)
{
	return &options;
}

static struct mw_snapshot *snapshot(void)
{
	struct mw_snapshot *s = calloc(1, sizeof(*s));

	s->n = rows_n;
	s->rows = malloc((rows_n + 1) * sizeof(*rows));
	memcpy(s->rows, rows, rows_n * sizeof(*rows));
	copies++;
	taken++;
	return s;
}

static void snapshot_free(struct mw_snapshot *s)
{
	free(s->rows);
	free(s);
	copies--;
}

static struct mw_lives *lives(const uint32_t *ids, size_t n)
{
	struct mw_lives *l = malloc(sizeof(*l));

	l->n = n == 1 && ids[0] == 0 ? lives_n : 0;
	l->v = malloc((l->n + 1) * sizeof(*l->v));
	for (size_t i = 0; i < l->n; i++)
		l->v[i] = (struct mw_live){ .addr = 0x100000 + i * 128, .size = 100, .generation = i / 2 };
	copies++;
	return l;
}

static void lives_free(struct mw_lives *l)
{
	free(l->v);
	free(l);
	copies--;
}

static void stats(struct mw_stats *s)
{
	memset(s, 0, sizeof(*s));
	s->life_unit = "gc";
	s->ruby_lookup = "fast";
	s->ruby_why = "";
	s->mode = "ruby";
	s->mode_why = "";
	s->gc_count = "memory";
	s->generation = 1000;
	s->uptime = 4711;
	s->locations = rows_n;
	s->resets = (uint64_t)resets;
	for (size_t i = 0; i < rows_n; i++)
		s->overruns += rows[i].overruns;
	s->double_frees = 7;
	s->unknown_frees = 1234567;
	s->paused = paused;
}

static void heap_sums(struct mw_heap_sums *s)
{
	*s = (struct mw_heap_sums){ .pages = 2500,
				    .bytes = UINT64_C(2500) << 16,
				    .lives = { .n = 4, .sum = 10, .min = 1, .max = 4, .stddev = 1.118034 } };
}

static struct mw_heap *heap(void)
{
	struct mw_heap *h = malloc(sizeof(*h));

	*h = (struct mw_heap){ .generation = 1000, .n = 2500 };
	heap_sums(&h->sums);
	h->v = malloc(h->n * sizeof(*h->v));
	for (size_t i = 0; i < h->n; i++)
		h->v[i] = (struct mw_heap_page){
			.addr = 0x7f0000000000 + (h->n - i) * 65536, .bytes = 65536, .generation = i / 100
		};
	copies++;
	return h;
}

static size_t no_source(const char *name, size_t n, char *to, size_t size)
{
	(void)name;
	(void)n;
	(void)to;
	(void)size;
	return 0;
}

static bool no_server(struct mw_family *endpoint)
{
	(void)endpoint;
	return false;
}

static void heap_free(struct mw_heap *h)
{
	free(h->v);
	free(h);
	copies--;
}

static void reset(void)
{
	resets++;
}

static bool trim(void)
{
	return trims++ % 2 == 0;
}

static void pause_tracking(bool on)
{
	paused = on;
}

static bool is_paused(void)
{
	return paused;
}

static unsigned quiet(void)
{
	return 1;
}

static bool find_row(const char *location, size_t n, struct mw_row *row)
{
	(void)location;
	(void)n;
	(void)row;
	return false;
}

/* As the tracker's, but for the thread of its own. */
static void *load(const char *name, char *err)
{
	char path[4096];
	const char *httpd_path = getenv("MWRAP_HTTPD");
	const char *slash = strrchr(httpd_path, '/');
	void *lib;

	snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - httpd_path), httpd_path, name);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		snprintf(err, MW_ERROR_MAX, "%s: can't be loaded: %.180s", name, dlerror());
	return lib;
}

static const struct mw_api api = {
	.load = load,
	.version = MW_API_VERSION,
	.options = get_options,
	.snapshot = snapshot,
	.snapshot_free = snapshot_free,
	.find = find_row,
	.source = no_source,
	.lives = lives,
	.lives_free = lives_free,
	.stats = stats,
	.reset = reset,
	.trim = trim,
	.pause = pause_tracking,
	.paused = is_paused,
	.quiet_enter = quiet,
	.quiet_leave = quiet,
	.heap_sums = heap_sums,
	.heap = heap,
	.heap_free = heap_free,
	.server_endpoint = no_server,
};

/* --- what the tracker does ------------------------------------------------ */

static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vdprintf(STDOUT_FILENO, fmt, ap);
	va_end(ap);
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

/* How many of our descriptors are sockets, epolls or eventfds, or name a lock, statm or a token. */
static int servers_fds(void)
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
		n += strstr(to, "socket:") || strstr(to, "eventpoll") || strstr(to, "eventfd") ||
		     strstr(to, ".lock") || strstr(to, "statm") || strstr(to, "token");
	}
	if (!dir)
		return -1;
	closedir(dir);
	return n;
}

static void nap(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

/* Forks; the child lets go, says what it still has, then does what is asked. */
static void do_fork(const char *how)
{
	uint32_t moves = httpd->before_fork();
	pid_t pid = fork();

	if (pid)
		return;
	if (strcmp(how, "leaky"))
		httpd->child_after_fork(moves);
	say("child %d has %d\n", (int)getpid(), servers_fds());
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
		uint32_t moves = httpd->before_fork();
		pid_t pid = fork();
		int status = 0;

		if (!pid) {
			httpd->child_after_fork(moves);
			_exit(servers_fds() != 0);
		}
		waitpid(pid, &status, 0);
		bad += status != 0;
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
	} else if (!strcmp(line, "taken")) { /* snapshots so far */
		say("taken %d\n", taken);
	} else if (!strcmp(line, "grow")) { /* the location with that index, by 100 bytes */
		struct mw_row *r = &rows[atol(arg)];

		r->live++, r->allocations++;
		r->live_bytes += 100, r->total += 100, r->growth += 100;
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
