/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recorder.c - a recording in this process: its thread, its begin at load or when somebody asks, its end.
 *
 * A recording that an option asks for begins at load: events flow into buffers while nobody writes. Its
 * thread loads the writer once Ruby is up, or after 100 ms without Ruby or in a forked child (which may be
 * about to exec), and the file appears then. A program that ends before that has a file if it is the one
 * that the user named.
 *
 * A forked child gets a recording of its own if its parent had one: a file of its own, which begins with
 * the blocks that live.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <dlfcn.h>

#include "shared/sys/libc.h"
#include "shared/sys/clock.h"
#include "shared/sys/log.h"
#include "shared/sys/own_descriptors.h"
#include "tracker/base/noticed.h"
#include "tracker/base/own_thread.h"
#include "shared/sys/sys.h"
#include "shared/sys/times.h"
#include "load_sibling.h"
#include "tracker/caller/ruby/frame.h"
#include "named.h"
#include "process.h"
#include "tracker/real/real.h"
#include "recording/writer/record.h"
#include "tracker/table/snapshot.h"
#include "threads.h"
#include "tracker/track/admit.h"
#include "tracker/track/events.h"

enum {
	STACK = 512 * 1024,
	RUBY_MS = 5000,
	START_MS = 2000,
	STOP_MS = 3000,
	EXIT_MS = 2000,
	TAKE_MS = 1000,
	TICK_MS = 4
};
enum { GO_ON, STOP, EXIT, LEAVE }; /* values of `stop` */

/* Of this recording and the one before, which a reader may still look at. */
static struct mw_record_state states[2];
static struct mw_record_state *state = &states[0]; /* release */
static struct mw_record_job job;
static char path[PATH_MAX];
static uint32_t stop;    /* futex; release */
static uint32_t go;      /* Ruby is up; release */
static struct mw_step loading;
static uint32_t starting; /* somebody starts a recording: one at a time */
static bool again;        /* in a forked child: the parent recorded */
static bool forked;
static uint64_t go_by;    /* the writer is loaded then at the latest; 0: not known yet. The thread's */
static bool late;         /* the thread waits before it makes a file */
static bool kept;         /* the thread left in the middle of a recording */
/* The file, for a thread that goes on: its user may not be allowed to open it. Open between hold and let_go. */
static int held = -1;
static uint32_t held_taken; /* the thread has it in a table of its own; release */
static bool named; /* the program that the user named */
static struct mw_record_how how; /* of the recording, its path without expansion */
static char how_path[PATH_MAX];

/* --- the tracker's side of the writer --------------------------------------------------- */

_Static_assert(sizeof(struct mw_events_piece) == sizeof(struct mw_record_piece), "the same");

static bool take_piece(struct mw_record_piece *to, bool partly)
{
	struct mw_events_piece piece;

	if (!mw_events_take(&piece, partly))
		return false;
	*to = (struct mw_record_piece){ piece.words, piece.n, piece.stream, piece.lost, piece.whole };
	return true;
}

static void done(const struct mw_record_piece *piece)
{
	mw_events_done(&(struct mw_events_piece){ .whole = piece->whole });
}

static void set_clock(uint32_t ticks)
{
	mw_set(&mw_events_clock, ticks);
}

static const struct mw_record_source source = {
	.begin = mw_events_begin,
	.end = mw_events_end,
	.take = take_piece,
	.done = done,
	.dropped = mw_events_dropped,
	.counter = mw_events_counter,
	.clock = set_clock,
	.shown = mw_callsite_shown,
	.pages = mw_event_pages,
};

/* --- its thread -------------------------------------------------------------------------- */

static void loaded(void)
{
	mw_step_end(&loading, MW_RANK_RECORDER_STEP);
}

static void ended(enum mw_record_reason reason, const char *why)
{
	if (why)
		snprintf(state->why, sizeof(state->why), "%s", why);
	mw_set(&state->reason, reason);
	if (*state->why)
		mw_log("trace_path: %s: %s", *state->path ? state->path : path, state->why);
	__atomic_store_n(&state->is, MW_RECORD_ENDED, __ATOMIC_RELEASE);
}

enum waited { WAITED, LEFT, NOT_WANTED };

/* Until the writer may be loaded. NOT_WANTED: the process ends, and nobody needs a file. */
static enum waited wait_for_go(void)
{
	bool ruby = mw_get(&mw_ruby.how) == MW_RUBY_STARTING && !forked;
	uint32_t said;

	if (!go_by)
		go_by = mw_now_ns() + (ruby ? RUBY_MS : MW_LATE_MS) * UINT64_C(1000000);
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE) && mw_now_ns() < go_by) {
		said = __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
		if (said == LEAVE) {
			go_by = 0; /* a program that changes what it may do is still at its start */
			return LEFT;
		}
		if (said)
			return named && !forked ? WAITED : NOT_WANTED;
		set_clock((uint32_t)mw_events_counter());
		mw_sys_futex_wait(&stop, GO_ON, TICK_MS * UINT64_C(1000000));
	}
	return WAITED;
}

static const struct mw_record_api *load_writer(char err[MW_ERROR_MAX])
{
	static const struct mw_record_api *had;
	void *lib;

	if (had)
		return had;
	lib = job.own_descriptors ? mw_load_sibling_here("libmwrap_record.so", err) :
				    mw_load_sibling("libmwrap_record.so", err);
	had = lib ? dlsym(lib, "mwrap_record") : NULL;
	if (lib && (!had || had->version != MW_RECORD_VERSION)) {
		snprintf(err, MW_ERROR_MAX, "libmwrap_record.so: of another version: run make");
		had = NULL;
	}
	return had;
}

static void give_up(enum mw_record_reason reason, const char *why)
{
	if (job.begun)
		(void)mw_events_end();
	ended(reason, why);
}

/* True: it left. */
static bool record(void)
{
	const struct mw_record_api *writer;
	enum waited waited = WAITED;
	char err[MW_ERROR_MAX] = "";

	job.own_descriptors = mw_own_descriptors(held);
	job.file = job.own_descriptors ? held : -1;
	__atomic_store_n(&held_taken, 1, __ATOMIC_RELEASE);
	if (late && !kept)
		waited = wait_for_go();
	if (waited == LEFT)
		return true;
	if (waited == NOT_WANTED) {
		give_up(MW_RECORD_EXIT, NULL);
		return false;
	}
	mw_step_begin(&loading, MW_RANK_RECORDER_STEP);
	mw_end_before_destructors();
	writer = load_writer(err);
	if (!writer) {
		loaded();
		give_up(MW_RECORD_ERROR, err);
		return false;
	}
	kept = writer->run(&job, kept);
	if (!kept) {
		mw_events_reset();
		ended((enum mw_record_reason)mw_get(&state->reason), NULL);
	}
	return kept;
}

struct mw_host_thread mw_recorder_thread = {
	.run = record, .stack = STACK, .failed = "the recorder's thread: can't be created"
};

/* --- begin and end --------------------------------------------------------------------- */

/* Where to, for this process. False: the path is too long. */
static bool expand(void)
{
	long pid = mw_sys_getpid();
	int n = mw_options_expand(how_path, pid, path, sizeof(path));

	/* without the PID in its name a child needs another one */
	if (n > 0 && forked && !strstr(how_path, "%p"))
		n += snprintf(path + n, sizeof(path) - (size_t)n, ".%ld", pid);
	return n > 0 && n < (int)sizeof(path) - 8;
}

static void prepare(void)
{
	uint64_t now = mw_now_ns();

	struct mw_record_state *next = &states[state == &states[0]];

	memset(next, 0, sizeof(*next));
	__atomic_store_n(&state, next, __ATOMIC_RELEASE);
	state->begin_ns = now;
	job = (struct mw_record_job){
		.api = mw_api_here,
		.source = &source,
		.path = path,
		.allocator_version = mw_real_glibc ? mw_glibc_version() : "",
		.size_max = how.size_max,
		.seconds_max = how.seconds_max,
		.fine = how.fine,
		.wait = how.wait,
		.tail = MW_TAIL,
		.untailed = mw_real_classes ? MW_BESIDE : 0,
		.untailed_128 = mw_class_small_ends,
		.untailed_1024 = mw_class_ends,
		.begin_ns = now,
		.begin_ticks = mw_events_counter(),
		.loaded = loaded,
		.stop = &stop,
		.state = state,
	};
	mw_set(&stop, GO_ON);
	__atomic_store_n(&state->is, MW_RECORD_STARTING, __ATOMIC_RELEASE);
}

/* False: an errno in *error. */
static bool start_recorder(bool wait, int *error)
{
	late = wait;
	kept = false;
	go_by = 0;
	*error = mw_host_thread_start(&mw_recorder_thread);
	if (*error)
		ended(MW_RECORD_ERROR, "its thread can't be created");
	return !*error;
}

static void set_how(const struct mw_record_how *h)
{
	how = *h;
	snprintf(how_path, sizeof(how_path), "%s", h->path);
	how.path = how_path;
}

/* Blocks that lived before the first event. */
static void event_live(const struct mw_live *l, void *ctx)
{
	(void)ctx;
	mw_event(mw_state(), MW_OP_LIVE, mw_ref(l->ref), l->size, l->id, l->addr);
}

static void begin_events(void)
{
	struct mw_shard *t = mw_state();

	if (!t || !mw_events_begin(job.fine, job.wait))
		return;
	job.begun = true;
	set_clock((uint32_t)job.begin_ticks);
	MW_GUARD(t);
	mw_lives_each(event_live, NULL);
}

void mw_recorder_start(void)
{
	int error;

	if (!mw_options.trace_path || mw_life != MW_ON || !mw_may_have_threads())
		return;
	if (mw_options.sampled) {
		mw_log("trace_path: with counts:sampled most calls aren't seen: no recording is made");
		return;
	}
	mw_quiet_enter();
	named = mw_named();
	set_how(&(struct mw_record_how){ .path = mw_options.trace_path,
					 .size_max = mw_options.trace_max,
					 .seconds_max = mw_options.trace_seconds,
					 .fine = mw_options.trace_fine,
					 .wait = !mw_options.trace_drop });
	if (expand()) {
		prepare();
		begin_events();
		(void)start_recorder(true, &error);
	}
	mw_quiet_leave();
}

void mw_recorder_go(void)
{
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
}

static bool is_over(void)
{
	return !mw_host_thread_exists(&mw_recorder_thread);
}

static bool wait_until_over(unsigned ms)
{
	for (unsigned i = 0; i < ms && !is_over() && !mw_own_must_leave(); i++)
		mw_nap();
	return is_over();
}

static void say_stop(uint32_t which)
{
	__atomic_store_n(&stop, which, __ATOMIC_RELEASE);
	mw_sys_futex_wake(&stop);
}

void mw_recorder_wake(void)
{
	uint32_t is = GO_ON;

	if (__atomic_compare_exchange_n(&stop, &is, LEAVE, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		mw_sys_futex_wake(&stop);
}

void mw_recorder_stay(void)
{
	uint32_t is = LEAVE;

	(void)__atomic_compare_exchange_n(&stop, &is, GO_ON, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void mw_recorder_hold(void)
{
	enum { HIGH = 200 }; /* the application's lowest numbers stay free */
	int fd;

	if (mw_get(&mw_recorder_thread.is) != MW_THREAD_LEFT || !kept || held >= 0)
		return;
	mw_set(&held_taken, 0);
	fd = mw_sys_open(state->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0);
	held = fd < 0 ? -1 : mw_sys_fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
	if (fd >= 0)
		mw_sys_close(fd);
}

void mw_recorder_let_go(void)
{
	if (held < 0)
		return;
	for (int i = 0; i < TAKE_MS && mw_host_thread_exists(&mw_recorder_thread) &&
			!__atomic_load_n(&held_taken, __ATOMIC_ACQUIRE);
	     i++)
		mw_nap();
	mw_sys_close(held);
	held = -1;
}

static bool started(const struct mw_record_how *h, char *err)
{
	char named_path[PATH_MAX];
	struct mw_record_how with = *h;
	uint32_t is;
	int error;

	if (!is_over()) {
		snprintf(err, MW_ERROR_MAX, "a recording is under way already: stop it first");
		return false;
	}
	if (!h->path) {
		snprintf(named_path, sizeof(named_path), "%s/mwrap.%%p.mwtrace",
			 *mw_options.tmpdir ? mw_options.tmpdir : "/tmp");
		with.path = named_path;
	}
	set_how(&with);
	if (!expand()) {
		snprintf(err, MW_ERROR_MAX, "path: has a %% that can't be expanded, or is too long");
		return false;
	}
	prepare();
	if (!start_recorder(false, &error)) {
		snprintf(err, MW_ERROR_MAX, "%s: %s", mw_recorder_thread.failed,
			 mw_own_thread_refused(error));
		return false;
	}
	for (int i = 0; i < START_MS && mw_get(&state->is) == MW_RECORD_STARTING && !mw_own_must_leave();
	     i++)
		mw_nap();
	is = __atomic_load_n(&state->is, __ATOMIC_ACQUIRE);
	if (is == MW_RECORD_STARTING) {
		snprintf(err, MW_ERROR_MAX,
			 "%.100s: did not begin within 2 seconds: ask /trace.json later", path);
		return false;
	}
	if (is == MW_RECORD_ON || !*state->why) /* or it has ended already, as it should */
		return true;
	snprintf(err, MW_ERROR_MAX, "%.100s: %.200s", path, state->why);
	return false;
}

bool mw_recorder_begin(const struct mw_record_how *h, char *err)
{
	bool ok;

	if (mw_life != MW_ON) {
		snprintf(err, MW_ERROR_MAX, "nothing is tracked in this process");
		return false;
	}
	if (mw_get(&mw_sampled)) {
		snprintf(err, MW_ERROR_MAX,
			 "the recording: most calls aren't seen while allocations are sampled: run mwrapctl exact first");
		return false;
	}
	if (__atomic_exchange_n(&starting, 1, __ATOMIC_ACQUIRE)) {
		snprintf(err, MW_ERROR_MAX, "a recording is being started already");
		return false;
	}
	mw_quiet_enter();
	ok = started(h, err);
	mw_quiet_leave();
	__atomic_store_n(&starting, 0, __ATOMIC_RELEASE);
	return ok;
}

bool mw_recorder_stop(void)
{
	if (is_over())
		return false;
	say_stop(STOP);
	return wait_until_over(STOP_MS);
}

const struct mw_record_state *mw_recorder_state(void)
{
	struct mw_record_state *s = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
	uint32_t is = __atomic_load_n(&s->is, __ATOMIC_ACQUIRE);

	if (is == MW_RECORD_ON) {
		uint64_t was = mw_get(&s->lost), now = mw_events_dropped();

		/* the last word is the recorder's thread's: if it ends meanwhile, `now` may be 0 */
		if (now > was)
			(void)__atomic_compare_exchange_n(&s->lost, &was, now, false, __ATOMIC_RELAXED,
							  __ATOMIC_RELAXED);
	}
	return is == MW_RECORD_NONE ? NULL : s;
}

void mw_recorder_end(void)
{
	if (is_over())
		return;
	say_stop(EXIT);
	(void)wait_until_over(EXIT_MS);
}

/* --- fork -------------------------------------------------------------------------------- */

void mw_recorder_before_fork(uint64_t until)
{
	mw_step_before_fork(&loading, MW_RANK_RECORDER_STEP, until);
}

/* In a forked child, before mw_host_threads_child. */
static bool was_recording(void)
{
	uint32_t is = mw_get(&mw_recorder_thread.is);

	return is == MW_THREAD_RUNS || is == MW_THREAD_LEFT;
}

void mw_recorder_after_fork(int child)
{
	mw_step_after_fork(&loading, MW_RANK_RECORDER_STEP, child);
	if (!child)
		return;
	forked = true;
	again = was_recording() && (!mw_get(&stop) || mw_get(&stop) == LEAVE);
	starting = 0;
	go = 1;
	state->is = MW_RECORD_NONE;
	if (mw_get(&mw_events_on)) {
		mw_events_reset();
		mw_permit_record(false);
		mw_mode_choose();
	}
}

void mw_recorder_start_child(void)
{
	int error;

	if (!again)
		return;
	again = false;
	mw_quiet_enter();
	if (expand()) {
		prepare();
		go = 0;
		(void)start_recorder(true, &error);
	}
	mw_quiet_leave();
}
