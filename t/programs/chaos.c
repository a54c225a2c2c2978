/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chaos.c SEED A.so B.so - the application of t/stress/chaos.rb: 50 threads that never stop.
 *
 * They allocate, free each other's blocks, start and end threads, fork, exec, and load and unload
 * two libraries. Each keeps a ledger of what it allocated and freed at each function of `names`. Lines on stdin:
 *
 *   hold    parks all threads, then prints the ledger: "ledger FUNCTION ALLOCATIONS FREES TOTAL FREED"
 *   go      lets them go on
 *   maybe   the tracker may be paused from now on: what is allocated belongs to no function of the ledger
 *   sure    it isn't any more
 *   end     parks them, and exits
 *
 * A block that has other bytes than its owner wrote, and a child that ends badly, is a fault ("NOT OK").
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../lib/site.h"

enum { MALLOC, CALLOC, REALLOC, ALIGNED, THREAD, ALPHA, BRAVO, SITES, MAYBE = SITES };
static const char *const names[SITES] = { "chaos_malloc",  "chaos_calloc", "chaos_realloc",
					  "chaos_aligned", "chaos_thread", "alpha",
					  "bravo" };

#define ALLOCATORS 44
#define LOADERS 2
#define FORKERS 2
#define STARTERS 2
#define WORKERS (ALLOCATORS + LOADERS + FORKERS + STARTERS)
#define SLOTS 128
#define SHARED 512
#define CHILDREN 3 /* at a time, for each forker */

struct ledger {
	uint64_t allocations[SITES + 1], frees[SITES + 1], total[SITES + 1], freed[SITES + 1];
};

struct slot {
	unsigned char *p;
	size_t size;
	int site;
	atomic_flag taken; /* of the shared ones */
};

struct worker {
	pthread_t thread;
	void (*step)(struct worker *);
	uint64_t random;
	bool maybe; /* in this step */
	_Atomic uint64_t steps;
	_Atomic bool parked;
	struct ledger sums; /* its own thread's; main reads it while it is parked */
	struct slot slots[SLOTS];
	pid_t child[CHILDREN];
};

static struct worker workers[WORKERS];
static struct slot shared[SHARED];
static _Atomic bool hold, maybe;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER; /* main has it while they are parked */
static const char *library[2];
/* glibc's loader keeps its lock through a fork: the child of a fork in the middle of dlopen couldn't exit. */
static pthread_rwlock_t loader = PTHREAD_RWLOCK_INITIALIZER; /* shared: loads; exclusive: forks */

/* The children's counts, in shared memory. `pauses` is odd while a pause is under way. */
static struct {
	_Atomic uint64_t pauses, exact, wrong, unsure, ended, threads, loads;
} *told;

/* --- where it allocates ------------------------------------------------------------ */

MALLOC_SITE(chaos_malloc);
SITE void *chaos_calloc(size_t n)
{
	return keep(calloc(1, n));
}
REALLOC_SITE(chaos_realloc);
SITE void *chaos_aligned(size_t n)
{
	void *p = NULL;

	return posix_memalign(&p, 64, n) ? NULL : keep(p);
}
MALLOC_SITE(chaos_thread);
MALLOC_SITE(chaos_child);
REALLOC_SITE(chaos_maybe);

/* --- blocks ------------------------------------------------------------------------ */

static uint64_t draw(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random >> 16;
}

/* Most are small, a few go to mmap. */
static size_t draw_size(struct worker *w)
{
	uint64_t r = draw(w);

	if (r % 4096 == 0)
		return draw(w) % (1 << 20);
	return r % 64 == 0 ? draw(w) % 40000 : draw(w) % 600;
}

static unsigned char mark_of(const unsigned char *p, size_t n)
{
	return (unsigned char)(((uintptr_t)p >> 4) * 31 + n);
}

static void mark(struct slot *s)
{
	if (s->size)
		s->p[0] = s->p[s->size - 1] = mark_of(s->p, s->size);
}

static void check_mark(const struct slot *s)
{
	unsigned char want = mark_of(s->p, s->size);

	if (s->size && (s->p[0] != want || s->p[s->size - 1] != want))
		say("NOT OK a block of %zu bytes has other bytes than its owner's\n", s->size);
}

static void allocated(struct worker *w, struct slot *s, void *p, size_t n, int site)
{
	s->p = p;
	if (!p) {
		say("NOT OK no memory for %zu bytes\n", n);
		return;
	}
	s->size = n;
	s->site = site;
	mark(s);
	w->sums.allocations[site]++;
	w->sums.total[site] += n;
}

static void freed(struct worker *w, const struct slot *s)
{
	w->sums.frees[s->site]++;
	w->sums.freed[s->site] += s->size;
}

static void drop(struct worker *w, struct slot *s)
{
	if (!s->p)
		return;
	check_mark(s);
	freed(w, s);
	free(s->p);
	s->p = NULL;
}

static void make(struct worker *w, struct slot *s)
{
	size_t n = draw_size(w);
	uint64_t r = draw(w);
	int site = w->maybe ? MAYBE : r % 8 == 0 ? CALLOC : r % 8 == 1 ? ALIGNED : MALLOC;
	void *p = site == MAYBE   ? chaos_maybe(NULL, n) :
		  site == CALLOC  ? chaos_calloc(n) :
		  site == ALIGNED ? chaos_aligned(n) :
				    chaos_malloc(n);

	if (p && site == CALLOC && n && (((char *)p)[0] || ((char *)p)[n - 1]))
		say("NOT OK calloc's block isn't zeroed\n");
	allocated(w, s, p, n, site);
}

static void resize(struct worker *w, struct slot *s)
{
	struct slot old = *s;
	size_t n = 1 + draw_size(w); /* realloc to 0 frees */
	void *p;

	check_mark(s);
	p = w->maybe ? chaos_maybe(s->p, n) : chaos_realloc(s->p, n);
	if (p)
		freed(w, &old);
	allocated(w, s, p, n, w->maybe ? MAYBE : REALLOC);
}

static void use(struct worker *w, struct slot *s)
{
	if (!s->p)
		make(w, s);
	else if (draw(w) % 4)
		drop(w, s);
	else
		resize(w, s);
}

/* --- what the threads do ------------------------------------------------------------- */

static void map_something(void)
{
	size_t n = 128 << 10;
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || munmap(p, n))
		say("NOT OK mmap\n");
}

static void allocate(struct worker *w)
{
	for (int i = 0; i < 256; i++) {
		uint64_t r = draw(w);
		struct slot *s = &shared[r / 8 % SHARED];

		if (r % 8)
			use(w, &w->slots[r / 8 % SLOTS]);
		else if (!atomic_flag_test_and_set(&s->taken)) {
			use(w, s);
			atomic_flag_clear(&s->taken);
		}
	}
	if (draw(w) % 512 == 0)
		map_something();
	if (draw(w) % 16 == 0)
		usleep((useconds_t)(draw(w) % 5000));
}

static void *short_life(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &w->slots[i];
		size_t n = draw_size(w);

		drop(w, s);
		if (!w->maybe)
			allocated(w, s, chaos_thread(n), n, THREAD);
	}
	return NULL;
}

/* One at a time has its starter's ledger and slots. */
static void start_threads(struct worker *w)
{
	pthread_t t;

	if (pthread_create(&t, NULL, short_life, w))
		say("NOT OK pthread_create\n");
	else
		pthread_join(t, NULL);
	told->threads++;
	usleep((useconds_t)(draw(w) % 3000));
}

static void load_and_use(struct worker *w, struct slot *s, int b)
{
	void *(*const *make_block)(size_t) = NULL;
	size_t n = draw_size(w);
	void *h = dlopen(library[b], RTLD_NOW | RTLD_LOCAL);

	if (h)
		*(const void **)&make_block = dlsym(h, "swap_maker");
	if (!make_block) {
		say("NOT OK %s\n", dlerror());
		return;
	}
	drop(w, s);
	if (!w->maybe)
		allocated(w, s, (*make_block)(n), n, b ? BRAVO : ALPHA);
	dlclose(h);
}

static void load(struct worker *w)
{
	struct slot *s = &w->slots[draw(w) % SLOTS];

	pthread_rwlock_rdlock(&loader);
	load_and_use(w, s, (int)(draw(w) % 2));
	pthread_rwlock_unlock(&loader);
	told->loads++;
	usleep((useconds_t)(draw(w) % 3000));
}

/* --- children ------------------------------------------------------------------------ */

#define BLOCKS 100

/* The child's table has what its only thread made, and nothing more, at a place of its own. */
static void child_looks(uint64_t pauses, size_t live, uint64_t bytes)
{
	const struct mw_api *api = tracker();
	struct mw_snapshot *s = api ? api->snapshot() : NULL;
	struct mw_row sum = sum_at(s, "chaos_child", NULL);
	bool right = s && sum.live == live && sum.live_bytes == bytes;

	if (s)
		api->snapshot_free(s);
	if (!api || pauses % 2 || pauses != told->pauses)
		told->unsure++;
	else if (right)
		told->exact++;
	else {
		told->wrong++;
		say("NOT OK child: %lu blocks and %lu bytes in the table, not %zu and %lu\n", sum.live,
		    sum.live_bytes, live, bytes);
	}
}

static void child(struct worker *w)
{
	uint64_t pauses = told->pauses, kind = draw(w) % 4, bytes = 0;
	void *block[BLOCKS];

	alarm(120); /* a deadlock ends it, and shows */
	for (size_t i = 0; i < BLOCKS; i++)
		block[i] = chaos_child(i + 1);
	for (size_t i = 0; i < BLOCKS; i += 2)
		free(block[i]);
	for (size_t i = 1; i < BLOCKS; i += 2)
		bytes += i + 1;
	if (kind == 0)
		usleep((useconds_t)(draw(w) % 2000000)); /* with a server */
	child_looks(pauses, BLOCKS / 2, bytes);
	if (kind == 1)
		execl("/proc/self/exe", "chaos", "leaf", (char *)NULL);
	if (kind == 2)
		_exit(0);
	exit(0);
}

static void reap(pid_t *pid, int flags)
{
	int status = 0;
	pid_t got = waitpid(*pid, &status, flags);

	if (!got)
		return;
	if (got != *pid || status)
		say("NOT OK child %d ended with %d\n", (int)*pid, status);
	told->ended++;
	*pid = 0;
}

static void fork_children(struct worker *w)
{
	for (int i = 0; i < CHILDREN; i++) {
		if (w->child[i])
			reap(&w->child[i], WNOHANG);
		else {
			draw(w); /* the next child draws something else */
			pthread_rwlock_wrlock(&loader);
			w->child[i] = fork();
			if (!w->child[i])
				child(w);
			pthread_rwlock_unlock(&loader);
			if (w->child[i] < 0) {
				say("NOT OK fork: %s\n", strerror(errno));
				w->child[i] = 0;
			}
		}
		usleep((useconds_t)(draw(w) % 50000));
	}
}

/* --- main ---------------------------------------------------------------------------- */

static void *work(void *arg)
{
	struct worker *w = arg;

	for (;;) {
		w->steps++;
		w->maybe = maybe; /* after the step was counted: see wait_a_step */
		if (hold) {
			w->parked = true;
			pthread_mutex_lock(&held); /* until `go` */
			pthread_mutex_unlock(&held);
			w->parked = false;
		} else
			w->step(w);
	}
	return NULL;
}

/* Until each thread has begun a step after this call, or is parked. */
static void wait_a_step(void)
{
	for (int i = 0; i < WORKERS; i++)
		for (uint64_t n = workers[i].steps; workers[i].steps == n && !workers[i].parked;)
			usleep(200);
}

static void park(void)
{
	if (!hold)
		pthread_mutex_lock(&held);
	hold = true;
	for (int i = 0; i < WORKERS; i++)
		while (!workers[i].parked)
			usleep(200);
}

static void print_ledger(void)
{
	for (int site = 0; site < SITES; site++) {
		uint64_t sum[4] = { 0 };

		for (int i = 0; i < WORKERS; i++) {
			const struct ledger *l = &workers[i].sums;

			sum[0] += l->allocations[site];
			sum[1] += l->frees[site];
			sum[2] += l->total[site];
			sum[3] += l->freed[site];
		}
		say("ledger %s %lu %lu %lu %lu\n", names[site], sum[0], sum[1], sum[2], sum[3]);
	}
	say("did %lu %lu %lu %lu %lu %lu\n", told->ended, told->exact, told->wrong, told->unsure,
	    told->threads, told->loads);
}

static void obey(const char *line)
{
	if (!strcmp(line, "hold")) {
		park();
		print_ledger();
	} else if (!strcmp(line, "go")) {
		hold = false;
		pthread_mutex_unlock(&held);
	} else if (!strcmp(line, "maybe")) {
		told->pauses++;
		maybe = true;
		wait_a_step();
	} else if (!strcmp(line, "sure")) {
		maybe = false;
		told->pauses++;
	}
	say("done\n");
}

static void start(uint64_t seed)
{
	static void (*const steps[])(struct worker *) = { load,          load,          fork_children,
							  fork_children, start_threads, start_threads };

	for (int i = 0; i < WORKERS; i++) {
		struct worker *w = &workers[i];

		w->random = (seed + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i * 0xbf58476d1ce4e5b9u;
		w->step = i < ALLOCATORS ? allocate : steps[i - ALLOCATORS];
		if (pthread_create(&w->thread, NULL, work, w))
			say("NOT OK pthread_create\n");
	}
}

static void finish(void)
{
	park();
	for (int i = 0; i < WORKERS; i++)
		for (int k = 0; k < CHILDREN; k++)
			if (workers[i].child[k])
				reap(&workers[i].child[k], 0);
	print_ledger();
	say("done\n");
	exit(0);
}

int main(int argc, char **argv)
{
	char line[64];

	if (argc != 4)
		return argc == 2 ? 0 : 2; /* leaf */
	library[0] = argv[2];
	library[1] = argv[3];
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	start(strtoul(argv[1], NULL, 10));
	say("done\n");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!strcmp(line, "end"))
			finish();
		obey(line);
	}
	return 3;
}
