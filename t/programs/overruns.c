/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overruns MODE [ARG] - writes past the end of blocks, frees twice, frees what isn't ours.
 *
 * Natively nothing is written past an end: the last bytes of a block's room
 * are the tracker's, which malloc_usable_size() tells. So a tracked run
 * must go as a native one. The tracker's findings are looked up at once, and printed as
 * "# found FUNCTION BLOCKS LAST_SIZE LOCATION".
 */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/time.h>

#include "../lib/found.h"

enum how { NUL, TWO_NULS, ZEROS, ONES, TEXT, HALF, FAR, WAYS };

#define MAKE(name)                         \
	SITE void *name(size_t n)          \
	{                                  \
		void *p = keep(malloc(n)); \
		STAY();                    \
		return p;                  \
	}
MAKE(make_nul)
MAKE(make_two_nuls)
MAKE(make_zeros)
MAKE(make_ones)
MAKE(make_text)
MAKE(make_half)
MAKE(make_far)
MAKE(make_other)
static void *(*const makes[WAYS])(size_t) = { make_nul,  make_two_nuls, make_zeros, make_ones,
					      make_text, make_half,     make_far };
static const char *const names[WAYS] = { "make_nul",  "make_two_nuls", "make_zeros", "make_ones",
					 "make_text", "make_half",     "make_far" };

SITE void *remake(void *p, size_t n)
{
	p = keep(realloc(p, n));
	STAY();
	return p;
}

/* Writes past the n bytes of p; false if that changed nothing, by chance or because nobody looks. */
static bool overrun(char *p, size_t n, enum how how)
{
	static const struct {
		size_t from, n; /* of the tracker's 8 bytes */
		int c;
	} what[WAYS] = { [NUL] = { 0, 1, 0 },     [TWO_NULS] = { 0, 2, 0 }, [ZEROS] = { 0, 4, 0 },
			 [ONES] = { 0, 4, 0xff }, [TEXT] = { 0, 8, 'A' },   [HALF] = { 4, 4, 0 } };
	char *end = p + malloc_usable_size(p), before[8];

	if (!tracker())
		return false;
	memcpy(before, end, 8);
	if (how == FAR) /* all that the block has */
		memset(p + n, 'B', (size_t)(end - p) + 8 - n);
	else
		memset(end + what[how].from, what[how].c, what[how].n);
	return memcmp(before, end, 8) != 0;
}

/* --- one thread -------------------------------------------------------------- */

static const size_t sizes[] = { 1, 16, 24, 32, 100, 496, 1000, 5000, 70000, 200000, 1050000 };
enum { SIZES = sizeof(sizes) / sizeof(*sizes), EACH = 20 };

/* Each way, each size; half of the blocks are left alone. */
static void frees(void)
{
	uint64_t all = 0;

	for (int how = 0; how < WAYS; how++) {
		uint64_t over = 0, last = 0, total = 0, whole = 0;

		for (size_t s = 0; s < SIZES; s++) {
			char *p[EACH];

			for (int i = 0; i < EACH; i++) {
				p[i] = makes[how](sizes[s]);
				memset(p[i], 'x', sizes[s]);
				total += sizes[s];
			}
			for (int i = 0; i < EACH; i++) {
				if (i % 2 == 0 && overrun(p[i], sizes[s], (enum how)how)) {
					over++;
					last = sizes[s];
				}
				whole += p[i][0] == 'x' && p[i][sizes[s] - 1] == 'x';
				errno = 4711;
				free(p[i]);
				if (errno != 4711)
					check(false, "errno is kept");
			}
		}
		all += over;
		expect(names[how], SIZES * EACH, SIZES * EACH, total, 0);
		found_at(names[how], over, last);
		check(whole == SIZES * EACH, "all blocks are whole");
		/* a byte may be right by chance, but not often */
		check(!tracker() || over > SIZES * EACH / 2 * 8 / 10, "most were overwritten, %s",
		      names[how]);
	}
	found_at("make_other", 0, 0);
	found(all, 0, 0);
}

/* To more and to less, in place and not, and the copy is overrun too or isn't. */
static void reallocs(void)
{
	static const size_t to[] = { 1, 40, 64, 200, 10000, 150000, 1050000, 3 << 20 };
	enum { TO = sizeof(to) / sizeof(*to) };
	uint64_t all = 0, again = 0, total = 0, last_again = 0;
	static void *between[WAYS][SIZES][TO]; /* so that not all get the same record */

	for (int how = 0; how < WAYS; how++) {
		uint64_t over = 0, last = 0, first = 0;

		for (size_t s = 0; s < SIZES; s++) {
			for (size_t k = 0; k < TO; k++) {
				size_t n = sizes[s] < to[k] ? sizes[s] : to[k];
				char *p;

				between[how][s][k] = make_other(8);
				p = makes[how](sizes[s]);
				memset(p, 'y', sizes[s]);
				if (overrun(p, sizes[s], (enum how)how)) {
					over++;
					last = sizes[s];
				}
				p = remake(p, to[k]);
				if (!p || p[0] != 'y' || p[n - 1] != 'y')
					check(false, "the block is whole after realloc");
				first += sizes[s];
				total += to[k];
				if (k % 2 && overrun(p, to[k], (enum how)how)) {
					again++;
					last_again = to[k];
				}
				free(p);
			}
		}
		all += over;
		expect(names[how], SIZES * TO, SIZES * TO, first, 0);
		found_at(names[how], over, last);
	}
	for (size_t i = 0; i < WAYS * SIZES * TO; i++)
		free((&between[0][0][0])[i]);
	expect("remake", WAYS * SIZES * TO, WAYS * SIZES * TO, total, 0);
	found_at("remake", again, last_again);
	check(!tracker() || (all > 400 && again > 200), "enough were overwritten");
	found(all + again, 0, 0);
}

/* A realloc that fails leaves the block as it is: it is found when it dies, once. */
static void failing(void)
{
	char *p = make_text(64);
	bool over;

	memset(p, 'z', 64);
	over = overrun(p, 64, TEXT);
	check(remake(p, hide((size_t)PTRDIFF_MAX - 100000)) == NULL, "realloc fails");
	check(remake(p, hide(SIZE_MAX)) == NULL, "realloc fails at once");
	found(0, 0, 0);
	check(p[0] == 'z' && p[63] == 'z', "the block is as it was");
	free(p);
	expect("make_text", 1, 1, 64, 0);
	found_at("make_text", over, 64);
	found(over, 0, 0);
}

/* --- threads and signals --------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 3000 };
static atomic_ulong over_all;

static void *overrun_many(void *arg)
{
	enum how how = (enum how)((size_t)arg % WAYS);
	char *p[8];

	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; k < 8; k++)
			p[k] = make_other(48);
		over_all += overrun(p[i % 8], 48, how);
		for (int k = 0; k < 8; k++)
			free(p[k]);
	}
	return NULL;
}

static void threads(void)
{
	enum { KEPT = 20000 };
	static void *kept[KEPT];
	pthread_t t[THREADS];

	for (int i = 0; i < KEPT; i++)
		kept[i] = keep(make_text(32));
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, overrun_many, (void *)i);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	expect("make_other", THREADS * ROUNDS * 8, THREADS * ROUNDS * 8, THREADS * ROUNDS * 8 * 48, 0);
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
	expect("make_text", KEPT, KEPT, KEPT * 32, 0);
	found_at("make_other", over_all, 48);
	found(over_all, 0, 0);
	check(!tracker() || over_all > THREADS * ROUNDS / 2, "enough were overwritten");
}

static atomic_ulong handled;

static void handler(int sig)
{
	char *p = make_text(80);

	(void)sig;
	over_all += overrun(p, 80, TEXT);
	free(p);
	handled++;
}

static void interrupted(void)
{
	const struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_RESTART };
	unsigned long mine = 0;
	uint64_t calls = 0;

	/* not where the allocator itself is interrupted: that may hold a lock */
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handled < 200) {
		char *p;
		sigset_t alarm, before;

		sigemptyset(&alarm);
		sigaddset(&alarm, SIGALRM);
		pthread_sigmask(SIG_BLOCK, &alarm, &before);
		p = make_other(80);
		mine += overrun(p, 80, HALF);
		free(p);
		calls++;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	found_at("make_text", over_all, 80);
	found_at("make_other", mine, 80);
	found(over_all + mine, 0, 0);
	check(!tracker() || (over_all == handled && mine == calls), "all were overwritten");
}

/* --- others' blocks ------------------------------------------------------------------ */

/* Allocated while this thread isn't tracked: not ours to count, and nothing is wrong. */
static void quiet(void)
{
	const struct mw_api *t = tracker();
	void *p[100];

	for (int i = 0; i < 100; i++) {
		if (t)
			t->quiet_enter();
		p[i] = make_other(100 + (size_t)i);
		if (i % 3 == 0)
			p[i] = remake(p[i], 500);
		if (t)
			t->quiet_leave();
	}
	for (int i = 0; i < 100; i++)
		free(i % 2 ? p[i] : remake(p[i], 1000));
	expect("remake", 50, 50, 50000, 0);
	found(0, 0, 0);
}

/*
 * Where a block was that filled its size class, and so had no tail on some allocators: counted, or not. Each time anew,
 * since what led to that block may lead to the next one.
 */
static void reused(void)
{
	static const size_t filling[] = { 512, 640, 1024, 4096, 8192 };
	enum { FILLING = sizeof(filling) / sizeof(*filling), TIMES = 20 };
	const struct mw_api *t = tracker();
	uint64_t over = 0, last = 0, total = 0;
	void *between[FILLING * TIMES]; /* so that not all get the same record */

	for (size_t i = 0; i < FILLING * TIMES; i++) {
		size_t full = filling[i / TIMES], n = full - 8;
		char *p;

		if (t && i % 2)
			t->quiet_enter();
		free(make_other(full));
		if (t && i % 2)
			t->quiet_leave();
		p = make_nul(n);
		total += n;
		if (overrun(p, n, NUL)) {
			over++;
			last = n;
		}
		free(p);
		between[i] = make_other(8);
	}
	for (size_t i = 0; i < FILLING * TIMES; i++)
		free(between[i]);
	expect("make_nul", FILLING * TIMES, FILLING * TIMES, total, 0);
	found_at("make_nul", over, last);
	found(over, 0, 0);
	check(!t || over > FILLING * TIMES * 8 / 10, "most were overwritten");
}

/* The allocator's own functions, by its file. */
static void *beneath(const char *lib, const char *name)
{
	void *h = dlopen(lib, RTLD_LAZY | RTLD_NOLOAD), *f = h ? dlsym(h, name) : NULL;

	if (!f)
		check(false, "%s has %s", lib, name);
	return f;
}

static void unknown(const char *lib)
{
	void *(*m)(size_t) = (void *(*)(size_t))beneath(lib, "malloc");
	uint64_t n = 0;

	for (size_t s = 0; m && s < SIZES; s++) {
		for (int i = 0; i < 10; i++, n += 2) {
			char *p = m(sizes[s]), *q = m(sizes[s]);

			memset(p, 'p', sizes[s]);
			memset(q, 'q', sizes[s]);
			/* the rests of freed blocks there are no tails */
			memset(p, 'p', malloc_usable_size(p) + (tracker() ? 8 : 0));
			memset(q, 'q', malloc_usable_size(q) + (tracker() ? 8 : 0));
			free(p);
			q = remake(q, 2 * sizes[s]);
			if (q[0] != 'q' || q[sizes[s] - 1] != 'q')
				check(false, "the block is whole after realloc");
			free(q);
		}
	}
	check(n == 2 * SIZES * 10, "all were made");
	found(0, 0, n);
}

/* Freed past us, and their addresses given out anew: no harm. */
static void past(const char *lib)
{
	void (*f)(void *) = (void (*)(void *))beneath(lib, "free");
	void *p[200];

	for (int i = 0; i < 200; i++)
		p[i] = make_text(300);
	for (int i = 0; f && i < 200; i++)
		f(p[i]);
	for (int i = 0; i < 200; i++)
		p[i] = make_other(300);
	for (int i = 0; i < 200; i++)
		free(p[i]);
	expect("make_other", 200, 200, 60000, 0);
	expect("make_text", 200, 0, 60000, 60000);
	found(0, 0, 0);
}

/* Many unknown ones where many live: would take minutes if each were looked for everywhere. */
static void many(const char *lib)
{
	enum { KEPT = 500000, UNKNOWN = 200000 };
	void *(*m)(size_t) = (void *(*)(size_t))beneath(lib, "malloc");
	static void *kept[KEPT];
	char *p;

	for (int i = 0; i < KEPT; i++)
		kept[i] = make_other(16);
	for (int i = 0; m && i < UNKNOWN; i++) {
		p = m(5000);
		memset(p, 'p', malloc_usable_size(p) + (tracker() ? 8 : 0));
		free(p);
	}
	found(0, 0, UNKNOWN);
	/* and a short overrun is found all the same */
	p = make_nul(4000);
	while (tracker() && !overrun(p, 4000, NUL)) {
		free(p);
		p = make_nul(4000);
	}
	free(p);
	found_at("make_nul", tracker() != NULL, 4000);
	found(tracker() != NULL, 0, UNKNOWN);
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
	expect("make_other", KEPT, KEPT, KEPT * 16, 0);
}

/* Made larger in place by a function that nobody interposes. */
static void grown(const char *lib)
{
	size_t (*x)(void *, size_t, size_t, int) =
		(size_t (*)(void *, size_t, size_t, int))beneath(lib, "xallocx");
	int n = 0;

	for (int i = 0; x && i < 50; i++) {
		char *p = make_other(20000);
		size_t was = malloc_usable_size(p), is;

		is = x(p, 120000, 0, 0);
		n += is > was + 8;
		free(p);
	}
	expect("make_other", 50, 50, 50 * 20000, 0);
	check(n > 0, "some did grow");
	found(0, 0, 0);
}

static void twice(const char *size)
{
	size_t n = strtoul(size, NULL, 10);
	char *volatile p = make_other(n);
	void *volatile after = make_other(n); /* or glibc makes p part of the end of its heap */

	memset(p, 'd', n);
	(void)after;
	free(p);
	say("freed\n");
	free(p);
	say("freed again\n");
	if (tracker())
		say("# double %lu unknown %lu overruns %lu\n", stats().double_frees,
		    stats().unknown_frees, stats().overruns);
	_exit(3);
}

/* One overrun, and then it stays, to be asked. */
static void served(void)
{
	char *p = make_text(64), c;

	overrun(p, 64, TEXT);
	free(p);
	say("done\n");
	while (read(0, &c, 1) > 0)
		;
}

/* --- stderr ------------------------------------------------------------------------ */

/* fd 2 as it came, closed, or a file or pipe of the app's own: nothing is written to those. */
static void no_stderr(const char *how)
{
	int fds[2] = { -1, -1 };
	char *p = make_text(64), c;

	if (!strcmp(how, "closed"))
		close(2);
	if (!strcmp(how, "file")) {
		char name[] = "/tmp/mwrap-t-XXXXXX";

		fds[0] = mkstemp(name);
		unlink(name);
		dup2(fds[0], 2);
	}
	if (!strcmp(how, "pipe") && pipe2(fds, O_NONBLOCK) == 0)
		dup2(fds[1], 2);
	for (int i = 0; i < 5; i++) {
		overrun(p, 64, TEXT);
		errno = 4711;
		free(p);
		check(errno == 4711, "errno is kept");
		p = make_text(64);
	}
	if (fds[0] >= 0)
		lseek(fds[0], 0, SEEK_SET);
	check(fds[0] < 0 || read(fds[0], &c, 1) == (fds[1] < 0 ? 0 : -1), "nothing is in what is ours");
	found(tracker() ? 5 : 0, 0, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*plain)(void);
		void (*of)(const char *arg);
	} modes[] = {
		{ "free", frees, NULL },
		{ "realloc", reallocs, NULL },
		{ "failing", failing, NULL },
		{ "threads", threads, NULL },
		{ "interrupted", interrupted, NULL },
		{ "quiet", quiet, NULL },
		{ "reused", reused, NULL },
		{ "served", served, NULL },
		{ "unknown", NULL, unknown },
		{ "past", NULL, past },
		{ "many", NULL, many },
		{ "grown", NULL, grown },
		{ "twice", NULL, twice },
		{ "stderr", NULL, no_stderr },
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (argc < 2 || strcmp(modes[i].name, argv[1]) != 0)
			continue;
		if (modes[i].plain)
			modes[i].plain();
		else
			modes[i].of(argc > 2 ? argv[2] : "");
		return 0;
	}
	return 2;
}
