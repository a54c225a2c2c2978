/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The native unwinder, compared with libgcc's _Unwind_Backtrace: on stacks of functions that
 * several compilers built with several options (t/unwound), in random order and depth; on
 * the stacks of threads, coroutines and signal handlers; while libraries come and go.
 */
/* uses: src/shared/sys/libc_glibc.c src/tracker/caller/unwind.c src/tracker/caller/cfi.c src/tracker/caller/cfi_find.c src/tracker/table/closes.c src/tracker/table/caller_cache.c */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "unit.h"
#include "../../src/tracker/caller/unwind.h"
#include "../../src/tracker/table/closes.h"
#include "unwound.h"

#define SITE __attribute__((noinline))

static shape all[1024];
static size_t all_n;

/* The frames of one walk, and libgcc's. Each thread has its own. */
struct seen {
	struct truth truth;
	uintptr_t pcs[MOST];
	size_t n;
	struct mw_unwind u;
	size_t walks, wrong, frames;
	enum mw_unwind_end end; /* besides MW_UNWIND_OUTERMOST */
};

/* The innermost address is in this function for both, after another call. */
static SITE void look(struct walk *w)
{
	struct seen *s = w->looked;
	bool same;

	errno = 4711;
	s->u = (struct mw_unwind){ 0 };
	s->n = mw_unwind(&s->u, s->pcs, MOST);
	same = errno == 4711;
	TRUTH(&s->truth);
	same = same && s->n == s->truth.n && s->n > 1 &&
	       (s->u.why == MW_UNWIND_OUTERMOST || s->u.why == s->end) &&
	       memcmp(s->pcs + 1, s->truth.pcs + 1, (s->n - 1) * sizeof(*s->pcs)) == 0;
	s->walks++;
	s->frames += s->n;
	if (same || s->wrong++)
		return;
	print_message("# %zu frames, libgcc's %zu; it ended for %d\n", s->n, s->truth.n, s->u.why);
	for (size_t i = 1; i < s->n || i < s->truth.n; i++)
		if (i >= s->n || i >= s->truth.n || s->pcs[i] != s->truth.pcs[i]) {
			Dl_info d = { 0 };

			dladdr((void *)s->truth.pcs[i - 1], &d);
			print_message("# frame %zu: %#zx, libgcc's %#zx; inside of it: %#zx, %s(%s)\n",
				      i, i < s->n ? (size_t)s->pcs[i] : 0,
				      i < s->truth.n ? (size_t)s->truth.pcs[i] : 0,
				      (size_t)s->truth.pcs[i - 1], d.dli_fname, d.dli_sname);
			break;
		}
}

static uint64_t next(struct walk *w)
{
	if (!w->left) {
		w->look(w);
		return 1;
	}
	w->left--;
	return all[some(w, (uint32_t)all_n)](w);
}

static SITE uint64_t one_stack(struct seen *s, uint64_t seed)
{
	struct walk w = { next, look, seed * 0x9e3779b97f4a7c15u, 0, s };

	w.left = some(&w, 48);
	return next(&w) + 1;
}

static struct seen *seen_new(void)
{
	struct seen *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	return s;
}

/* Ends one thing that went through stacks. */
static void all_same(struct seen *s, size_t walks, const char *what)
{
	printf("# %s: %zu stacks, %zu frames\n", what, s->walks, s->frames);
	assert_int_equal(s->wrong, 0);
	assert_int_equal(s->walks, walks);
	free(s);
}

TEST(each_shape)
{
	struct seen *s = seen_new();

	for (size_t i = 0; i < all_n; i++)
		for (uint64_t seed = 0; seed < 8; seed++) {
			struct walk w = { next, look, seed * 0x9e3779b97f4a7c15u, 0, s };

			all[i](&w);
		}
	all_same(s, all_n * 8, "each shape alone");
}

TEST(random_stacks)
{
	struct seen *s = seen_new();

	for (uint64_t i = 0; i < 5000; i++)
		one_stack(s, i);
	all_same(s, 5000, "random");
}

static SITE uint64_t down(struct walk *w, unsigned depth)
{
	uint64_t r;

	w->look(w);
	r = depth ? down(w, depth - 1) : 0;
	HERE_AFTER(r);
	return r + 1;
}

TEST(every_depth)
{
	struct seen *s = seen_new();
	struct walk w = { NULL, look, 0, 0, s };

	down(&w, 600);
	all_same(s, 601, "every depth");
}

static void *stacks_of_thread(void *arg)
{
	struct seen *s = arg;

	for (uint64_t i = 0; i < 500; i++)
		one_stack(s, i * 4 + (uintptr_t)s);
	return NULL;
}

static int going;

static void *forgets(void *arg)
{
	while (__atomic_load_n(&going, __ATOMIC_RELAXED)) {
		mw_unwind_forget();
		usleep(50);
	}
	return arg;
}

TEST(threads_that_share_the_rows)
{
	struct seen *s[4];
	pthread_t t[4], f;

	__atomic_store_n(&going, 1, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&f, NULL, forgets, NULL), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, stacks_of_thread, s[i] = seen_new()), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	__atomic_store_n(&going, 0, __ATOMIC_RELAXED);
	pthread_join(f, NULL);
	for (int i = 0; i < 4; i++)
		all_same(s[i], 500, "a thread");
}

static ucontext_t outside, inside;
static struct seen *of_coroutine;

static void coroutine(void)
{
	for (uint64_t i = 0; i < 50; i++) {
		one_stack(of_coroutine, i);
		swapcontext(&inside, &outside);
	}
}

/* the stack lies below this one, as a Fiber's: the walk doesn't leave it */
TEST(coroutines)
{
	size_t bytes = 4 << 20;
	void *stack = malloc(bytes);

	of_coroutine = seen_new();
	of_coroutine->end = MW_UNWIND_NO_CFI; /* it returns to a function's first instruction */
	assert_int_equal(getcontext(&inside), 0);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = bytes;
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	for (int i = 0; i < 50; i++)
		swapcontext(&outside, &inside);
	all_same(of_coroutine, 50, "a coroutine");
	free(stack);
}

TEST(a_forked_child)
{
	struct seen *s = seen_new();
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		for (uint64_t i = 0; i < 50; i++)
			one_stack(s, i);
		_exit(s->wrong || s->walks != 50);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	free(s);
}

static struct seen *of_handler;

static SITE void prefix(struct walk *w)
{
	struct seen *s = w->looked;

	s->u = (struct mw_unwind){ 0 };
	s->n = mw_unwind(&s->u, s->pcs, MOST);
	TRUTH(&s->truth);
}

static void handler(int signal)
{
	struct walk w = { NULL, prefix, 0, 0, of_handler };

	(void)signal;
	prefix(&w);
}

static void a_signal_handler(int flags)
{
	stack_t old, alternate = { .ss_size = 1 << 20, .ss_sp = malloc(1 << 20) };
	struct sigaction a = { .sa_handler = handler, .sa_flags = flags }, was;
	struct seen *s = of_handler = seen_new();

	assert_int_equal(sigaltstack(&alternate, &old), 0);
	assert_int_equal(sigaction(SIGUSR1, &a, &was), 0);
	raise(SIGUSR1);
	assert_int_equal(sigaction(SIGUSR1, &was, NULL), 0);
	assert_int_equal(sigaltstack(&old, NULL), 0);
	/* prefix, handler, the C library's return from it; libgcc's goes on */
	assert_in_range(s->n, 2, 6); /* sanitizers have frames of their own */
	assert_in_range(s->truth.n, s->n + 2, MOST);
	assert_memory_equal(s->pcs + 1, s->truth.pcs + 1, (s->n - 1) * sizeof(*s->pcs));
#if defined(__x86_64__)
	assert_int_equal(s->u.why, MW_UNWIND_SIGNAL);
#else
	assert_true(s->u.why == MW_UNWIND_SIGNAL || s->u.why == MW_UNWIND_NO_CFI); /* the kernel's */
#endif
	free(s);
	free(alternate.ss_sp);
}

TEST(signal_handlers)
{
	a_signal_handler(0);
	a_signal_handler(SA_ONSTACK);
}

/* Its CFA may be beyond a row; then the walk ends there, and not before. */
TEST(a_frame_that_is_not_understood)
{
	void *handles[64];
	size_t n = unwound_open("c*_O*", handles, 64), whole = 0, ended = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t (*realigned)(struct walk *) =
			(uint64_t (*)(struct walk *))dlsym(handles[i], "realigned");
		struct seen *s = seen_new();
		struct walk w = { next, prefix, i, 0, s };

		if (realigned) {
			realigned(&w);
			assert_in_range(s->n, 3, s->truth.n);
			assert_memory_equal(s->pcs + 1, s->truth.pcs + 1, (s->n - 1) * sizeof(*s->pcs));
			if (s->u.why == MW_UNWIND_OUTERMOST) {
				assert_int_equal(s->n, s->truth.n);
				whole++;
			} else {
				assert_int_equal(s->u.why, MW_UNWIND_RULE);
				ended++;
			}
		}
		free(s);
		dlclose(handles[i]);
	}
	printf("# realigned frames: %zu left, %zu not understood\n", whole, ended);
	assert_in_range(whole + ended, 5, 64);
}

static SITE void limits_at_bottom(struct walk *w)
{
	uintptr_t full[MOST], some_of[MOST + 1];
	struct mw_unwind u = { 0 };
	struct seen *s = w->looked;
	size_t n, i;

	for (i = 0; i < 5; i++) {
		if (i == 2)
			u.from = full[6];
		if (i == 3)
			u = (struct mw_unwind){ .stop_start = full[9], .stop_end = full[9] + 1 };
		if (i == 4)
			u = (struct mw_unwind){ .from = 4711, .stop_start = 4711, .stop_end = 4712 };
		some_of[7] = 4711;
		n = mw_unwind(&u, i ? some_of : full, i == 1 ? 7 : MOST);
		switch (i) {
		case 0:
			s->n = n;
			assert_in_range(n, 20, MOST);
			continue;
		case 1:
			assert_int_equal(n, 7);
			assert_int_equal(u.why, MW_UNWIND_LIMIT);
			assert_int_equal(some_of[7], 4711);
			break;
		case 2:
			assert_int_equal(n, s->n - 6);
			assert_int_equal(u.why, MW_UNWIND_OUTERMOST);
			assert_memory_equal(some_of, full + 6, n * sizeof(*full));
			continue;
		case 3:
			assert_int_equal(n, 10);
			assert_int_equal(u.why, MW_UNWIND_STOP);
			break;
		case 4:
			assert_int_equal(n, s->n);
			assert_int_equal(u.why, MW_UNWIND_OUTERMOST);
			break;
		}
		assert_memory_equal(some_of + 1, full + 1, (n - 1) * sizeof(*full));
	}
	s->walks++;
}

/* different calls of one function, so that no address is there twice */
static SITE uint64_t twenty(struct walk *w, unsigned n)
{
	uint64_t r;

#define LEVEL(i)                      \
	case i:                       \
		r = twenty(w, i - 1); \
		HERE_AFTER(r);        \
		return r + i
	switch (n) {
		LEVEL(1);
		LEVEL(2);
		LEVEL(3);
		LEVEL(4);
		LEVEL(5);
		LEVEL(6);
		LEVEL(7);
		LEVEL(8);
		LEVEL(9);
		LEVEL(10);
		LEVEL(11);
		LEVEL(12);
		LEVEL(13);
		LEVEL(14);
		LEVEL(15);
		LEVEL(16);
		LEVEL(17);
		LEVEL(18);
		LEVEL(19);
		LEVEL(20);
	}
	w->look(w);
	return 0;
}

TEST(where_to_begin_and_end)
{
	struct seen *s = seen_new();
	struct walk w = { NULL, limits_at_bottom, 0, 0, s };

	twenty(&w, 20);
	assert_int_equal(s->walks, 1);
	free(s);
}

/* The library's function at one address, with frames of this size; `at` 0: wherever it comes. */
static shape moved_in(const char *name, void **handle, uintptr_t at)
{
	shape f;

	*handle = dlopen(unwound_path(name), RTLD_NOW | RTLD_LOCAL);
	assert_non_null(*handle);
	f = (shape)dlsym(*handle, "through");
	assert_non_null(f);
	if (at)
		assert_true((uintptr_t)f == at); /* the linker takes the hole that is free */
	return f;
}

static uint64_t only_look(struct walk *w)
{
	w->look(w);
	return 0;
}

/* Room above, so that even a stale row reads this stack. */
static SITE uint64_t with_room(shape f, struct walk *w)
{
	volatile char room[16384];

	room[0] = room[sizeof(room) - 1] = 1;
	return f(w) + (uint64_t)room[0];
}

TEST(another_library_at_the_address)
{
	struct seen *s = seen_new();
	struct walk w = { only_look, look, 0, 0, s }, p = { only_look, prefix, 0, 0, s };
	uintptr_t at;
	void *h;
	shape f;

	f = moved_in("far", &h, 0);
	at = (uintptr_t)f;
	with_room(f, &w);
	dlclose(h);
	f = moved_in("near", &h, at);
	with_room(f, &p); /* the stale row is found: else this test would show nothing */
	assert_true(s->n != s->truth.n ||
		    memcmp(s->pcs + 1, s->truth.pcs + 1, (s->n - 1) * sizeof(*s->pcs)) != 0);
	mw_unwind_forget();
	with_room(f, &w);
	/* rows that are seen while a close is under way aren't kept */
	mw_close_begin();
	mw_unwind_forget();
	with_room(f, &w);
	dlclose(h);
	f = moved_in("far", &h, at);
	with_room(f, &w);
	dlclose(h);
	mw_close_end();
	f = moved_in("near", &h, at);
	with_room(f, &w);
	dlclose(h);
	all_same(s, 5, "a library at another's address");
}

static void load(void)
{
	void *handles[64];
	size_t n;

	n = unwound_open("c*_*", handles, 64);
	for (size_t i = 0; i < n; i++) {
		const struct shape_list *l = dlsym(handles[i], "shapes");

		for (size_t k = 0; l && k < l->n && all_n < sizeof(all) / sizeof(*all); k++)
			all[all_n++] = l->of[k];
	}
	assert_true(all_n >= 100);
}

ALL(load, NULL);
