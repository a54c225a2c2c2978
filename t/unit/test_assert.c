/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planted violations end the process by SIGABRT, with a line: of mw_assert, of the order of locks, of the table. */
/* uses: src/shared/sys/libc_glibc.c src/tracker/table/record.c src/tracker/table/row_lists.c src/tracker/table/rcu.c src/tracker/table/reading.c src/tracker/table/closes.c src/tracker/table/caller_cache.c src/tracker/table/heap_pages.c src/tracker/base/arena.c src/tracker/base/wait.c src/tracker/base/own_thread.c src/shared/sys/log.c src/shared/text/intern.c src/shared/text/buf.c src/recording/format/event_columns.c */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "../../src/shared/sys/mutex.h"
#include "../../src/shared/sys/mw_assert.h"
#include "../../src/shared/text/intern.h"
#include "../../src/tracker/base/own_thread.h"
#include "../../src/tracker/table/closes.h"
#include "../../src/tracker/table/row_lists.h"
#include "../../src/tracker/table/snapshot.h"
#include "../../src/tracker/track/admit.h"

/* these sources import them */
uint32_t mw_no_states[32];
__thread struct mw_shard *mw_self __attribute__((tls_model("initial-exec"))) = MW_NONE;
static bool maintains;
bool mw_maintenance_mine(void)
{
	return maintains;
}
void mw_reset(void)
{
}

/* Runs f in a child. It must end by SIGABRT, and say just one line, which has `what` in it. */
static void ends(void (*f)(void), const char *what)
{
	char said[1000];
	size_t n = 0;
	ssize_t r;
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		close(fds[1]);
		f();
		_exit(0);
	}
	close(fds[1]);
	while (n < sizeof(said) - 1 && (r = read(fds[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)r;
	said[n] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!strstr(said, what))
		fail_msg("said \"%s\", not \"%s\"", said, what);
	assert_ptr_equal(strchr(said, '\n'), said + n - 1);
	assert_memory_equal(said, "mwrap: ", 7);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* Runs f in a child, which ends well. */
static void ends_well(void (*f)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		f();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- mw_assert -------------------------------------------------------------------------- */

static void wrong(void)
{
	volatile int two = 2;

	mw_assert(two == 2);
	mw_assert(two == 3);
}

static void on_abort(int sig)
{
	(void)sig;
	_exit(7);
}

/* The app handles SIGABRT, or blocks it: Ruby does the first, and allocates. */
static void handled(void)
{
	sigset_t all;

	signal(SIGABRT, on_abort);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	wrong();
}

static void in_handler(int sig)
{
	(void)sig;
	wrong();
}

static void within_handler(void)
{
	signal(SIGUSR1, in_handler);
	raise(SIGUSR1);
}

TEST(test_assert)
{
	ends(wrong, "test_assert.c:");
	ends(wrong, ": must stay true: two == 3\n");
	ends(handled, "two == 3\n");
	ends(within_handler, "two == 3\n");
}

/* --- ranks ------------------------------------------------------------------------------ */

static pthread_mutex_t site = PTHREAD_MUTEX_INITIALIZER, endpoint = PTHREAD_MUTEX_INITIALIZER;
static struct mw_step step;

static void in_order(void)
{
	mw_mutex_lock(&site, MW_RANK_SERVER_SITE);
	mw_mutex_lock(&endpoint, MW_RANK_ENDPOINT);
	mw_reading_lock();
	mw_reading_unlock();
	mw_mutex_unlock(&endpoint, MW_RANK_ENDPOINT);
	mw_mutex_lock(&endpoint, MW_RANK_ENDPOINT);
	mw_mutex_unlock(&site, MW_RANK_SERVER_SITE); /* in any order */
	mw_mutex_unlock(&endpoint, MW_RANK_ENDPOINT);
	mw_mutex_lock(&site, MW_RANK_SERVER_SITE);
}

static void out_of_order(void)
{
	mw_mutex_lock(&endpoint, MW_RANK_ENDPOINT);
	mw_mutex_lock(&site, MW_RANK_SERVER_SITE);
}

static void twice(void)
{
	mw_reading_lock();
	mw_reading_lock();
}

static void behind_the_table(void)
{
	mw_reading_lock();
	mw_step_begin(&step, MW_RANK_SERVER_STEP);
}

static void not_taken(void)
{
	mw_mutex_unlock(&site, MW_RANK_SERVER_SITE);
}

static void *takes_site(void *unused)
{
	mw_mutex_lock(&site, MW_RANK_SERVER_SITE);
	mw_mutex_unlock(&site, MW_RANK_SERVER_SITE);
	return unused;
}

/* Each thread has its own ranks. */
static void in_threads(void)
{
	pthread_t t;

	mw_mutex_lock(&endpoint, MW_RANK_ENDPOINT);
	pthread_create(&t, NULL, takes_site, NULL);
	pthread_join(t, NULL);
	mw_mutex_unlock(&endpoint, MW_RANK_ENDPOINT);
}

/* A try waits for nobody, but what comes after it may. */
static void after_a_try(void)
{
	mw_mutex_lock(&endpoint, MW_RANK_ENDPOINT);
	assert_true(mw_reading_try());
	mw_mutex_lock(&site, MW_RANK_SERVER_SITE);
}

/* A child has the ranks of the thread that forked. */
static void in_child(void)
{
	int status;

	mw_mutex_lock(&endpoint, MW_RANK_ENDPOINT);
	if (fork() == 0) {
		mw_mutex_renew(&endpoint, MW_RANK_ENDPOINT);
		mw_mutex_lock(&site, MW_RANK_SERVER_SITE);
		_exit(3);
	}
	wait(&status);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 3)
		_exit(1);
	if (fork() == 0)
		mw_mutex_lock(&site, MW_RANK_SERVER_SITE);
	wait(&status);
	mw_assert(!WIFSIGNALED(status));
	_exit(0);
}

/* As a handler that forks does, whatever lies beneath: fork.c. */
static void aside(void)
{
	mw_reading_lock();
	mw_ranks_aside();
	mw_step_before_fork(&step, MW_RANK_SERVER_STEP, 1);
	mw_ranks_aside(); /* another handler's */
	mw_ranks_again();
	mw_step_after_fork(&step, MW_RANK_SERVER_STEP, 0);
	mw_ranks_again();
	mw_reading_unlock();
}

static void aside_out_of_order(void)
{
	mw_ranks_aside();
	mw_step_before_fork(&step, MW_RANK_DUMPER_STEP, 1);
	mw_step_before_fork(&step, MW_RANK_SERVER_STEP, 1);
}

TEST(test_ranks)
{
	ends_well(in_order);
	ends_well(in_threads);
	ends_well(aside);
	ends(out_of_order,
	     "a lock out of order: ENDPOINT (the server's endpoint) is held, SERVER_SITE (the server's "
	     "site) is waited for\n");
	ends(twice, "READING (baselines and tenants) is held, READING");
	ends(behind_the_table, "READING (baselines and tenants) is held, SERVER_STEP");
	ends(after_a_try, "READING (baselines and tenants) is held, SERVER_SITE");
	ends(not_taken, "a lock: SERVER_SITE is left by a thread that doesn't have it\n");
	ends(aside_out_of_order, "DUMPER_STEP (a step of a dump) is held, SERVER_STEP");
}

TEST(test_ranks_after_fork)
{
	int status, fds[2];
	char said[2000] = "";
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		in_child();
	}
	close(fds[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(read(fds[0], said, sizeof(said) - 1) > 0);
	close(fds[0]);
	assert_non_null(strstr(said, "ENDPOINT (the server's endpoint) is held, SERVER_SITE"));
	assert_non_null(strstr(said, "must stay true: !WIFSIGNALED(status)"));
}

/* --- the table -------------------------------------------------------------------------- */

static _Alignas(16) char block[64];
static struct mw_shard *t;

static uint32_t a_record(void)
{
	uint32_t i;

	if (!mw_records_init())
		_exit(1);
	i = mw_record_take();
	if (!i)
		_exit(1);
	return i;
}

static void filled_twice(void)
{
	struct mw_record *r = mw_record_at(a_record());

	mw_record_fill(r, block, 1, MW_CS_FIRST, 0);
	mw_record_fill(r, block, 1, MW_CS_FIRST, 0);
}

static void misaligned(void)
{
	mw_record_fill(mw_record_at(a_record()), block + 8, 1, MW_CS_FIRST, 0);
}

static void index_none(void)
{
	(void)a_record();
	(void)mw_record_at(0);
}

static void live_given(void)
{
	uint32_t i = a_record();

	mw_record_fill(mw_record_at(i), block, 1, MW_CS_FIRST, 0);
	mw_batch_give(i);
}

/* A record that somebody wrote to while it was free. */
static void broken_spare(void)
{
	uint32_t i = a_record();
	struct mw_record *r = mw_record_at(i);

	t = calloc(1, sizeof(*t));
	mw_free_link(r, mw_ref(i + 1), NULL);
	t->spare = r;
	(void)mw_spare_pop(t, r);
}

static void another_ref(void)
{
	uint32_t i = a_record();

	t = calloc(1, sizeof(*t));
	mw_spare_push(t, mw_record_at(i), mw_ref(i + 1));
}

static void not_huge(void)
{
	mw_size_release_huge(mw_size_encode_huge(UINT64_C(1) << 33) + 1);
}

static void leaves_twice(void)
{
	t = calloc(1, sizeof(*t));
	t->known = MW_PERMIT_EPOCH;
	{
		MW_GUARD(t);
		mw_leave(mw_in);
	}
}

static void unhushed(void)
{
	t = calloc(1, sizeof(*t));
	mw_shard_quiet_enter(t);
	mw_shard_quiet_leave(t);
	mw_shard_quiet_leave(t);
}

static void skipped_counts(void)
{
	struct mw_caller w = { .id = MW_CALLER_SKIP };

	mw_caller_alloc(&w, 1);
}

static void no_tail(void)
{
	mw_tail_write(block, sizeof(block), 17);
}

static void behind_rows(void)
{
	struct mw_rows rows = MW_ROWS(uint64_t, 100);

	(void)mw_rows_at(&rows, mw_rows_add(&rows) + 1);
}

static void leaves_section(void)
{
	mw_rcu_enter();
	mw_rcu_leave();
	mw_rcu_leave();
}

static void grace(void)
{
	maintains = true;
	mw_grace_begin();
	maintains = false;
	(void)mw_grace_over();
}

static void libraries_go(void)
{
	mw_modules_may_go();
}

static void shared_as_alone(void)
{
	mw_reading_lock();
	mw_rebasing_unlock();
}

static void no_piece(void)
{
	struct mw_intern pieces = { 0 };
	size_t n;

	(void)mw_interned(&pieces, mw_intern_str(&pieces, "a") + 1, &n);
}

TEST(test_table)
{
	ends(filled_twice, "mw_get(&r->low) == MW_FREE");
	ends(misaligned, "(uintptr_t)p % 16 == 0");
	ends(index_none, "i && i < mw_ref_index(MW_REF_END)");
	ends(live_given, "r->low == MW_FREE");
	ends(broken_spare, "mw_record_at(mw_ref_index(r->ref)) == r");
	ends(another_ref, "mw_record_at(mw_ref_index(ref)) == r");
	ends(not_huge, "huge[field - MW_SIZE_HUGE]");
	ends(leaves_twice, "in.t->permit == MW_PERMIT_BUSY");
	ends(unhushed, "t->quiet");
	ends(skipped_counts, "w->id != MW_CS_MASK");
	ends(no_tail, "ref % 16 == 0");
	ends(behind_rows, "i < r->n");
	ends(leaves_section, "mine.depth");
	ends(grace, "mw_maintenance_mine()");
	ends(libraries_go, "mw_get(&users)");
	ends(shared_as_alone, "mine == ALONE");
	ends(no_piece, "id < t->n");
}
