/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.c - the thread that loads and runs the HTTP server.
 *
 * Loading takes milliseconds, so the server's own thread does it, and late: once
 * Ruby's VM is up, or after 100 ms in a process without Ruby or in a forked child
 * (which may be about to exec). `sh` and `git` end before that.
 *
 * Fork: a child must not find the dynamic linker half-way through a load. So fork
 * waits for the step `loading`, which ends when the server's sockets are open. The
 * child inherits no thread. It closes the server's descriptors that it inherited, at
 * once.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "server/httpd/httpd.h"
#include "shared/sys/clock.h"
#include "shared/sys/log.h"
#include "shared/sys/sys.h"
#include "shared/sys/times.h"
#include "load_sibling.h"
#include "named.h"
#include "tracker/base/own_thread.h"
#include "process.h"
#include "threads.h"
#include "tracker/caller/ruby/frame.h"
#include "tracker/track/track.h"

enum {
	RUBY_MS = 5000,        /* start even if the VM isn't up yet */
	END_MS = 200,
	GO_LOOK_MS = 10,       /* how late it notices that Ruby is up */
	STACK = 512 * 1024
};

#define HTTPD "libmwrap_httpd.so"

static uint32_t go;       /* 1 when Ruby is up; release */
static const struct mw_httpd_api *httpd; /* once loaded: release */
static uint32_t ending;   /* the process exits: start no server */
static struct mw_step loading;
static bool forked;
static uint32_t extended; /* this process, if it has the extension; a child of vfork is another one; relaxed */
static const char *said; /* see mw_server_said; the server's static memory */
/* the result of httpd's before_fork() in this thread; 1: no server was there */
static __thread uint32_t before_fork __attribute__((tls_model("initial-exec")));

static bool wanted(void)
{
	return mw_options_need_server(&mw_options);
}

/*
 * False: it must leave first. A program that changes what it may do is still at its start, and may soon become
 * another one: the wait then begins anew.
 */
static bool wait_for_go(void)
{
	bool ruby = mw_get(&mw_ruby.how) == MW_RUBY_STARTING && !forked;
	uint64_t now = mw_now_ns(), until = now + (ruby ? RUBY_MS : MW_LATE_MS) * UINT64_C(1000000);
	uint64_t nap = GO_LOOK_MS * UINT64_C(1000000);

	for (; !__atomic_load_n(&go, __ATOMIC_ACQUIRE) && now < until; now = mw_now_ns())
		if (!mw_own_sleep_until(until - now < nap ? until : now + nap))
			return false;
	return !mw_own_must_leave();
}

void *mw_server_load(const char *name, char *err)
{
	void *lib;

	mw_step_begin(&loading, MW_RANK_SERVER_STEP);
	lib = mw_load_sibling(name, err);
	mw_step_end(&loading, MW_RANK_SERVER_STEP);
	return lib;
}

void mw_server_extended(void)
{
	mw_set(&extended, (uint32_t)mw_sys_getpid());
}

void mw_server_load_all(void)
{
	bool serves = mw_host_thread_exists(&mw_server_thread);
	char err[MW_ERROR_MAX];

	if (!serves && mw_get(&extended) != (uint32_t)mw_sys_getpid())
		return;
	/* loaded for good: a later dlopen finds them by their names. A failure shows there, too */
	mw_quiet_enter();
	(void)mw_load_sibling_here(HTTPD, err);
	if (serves)
		(void)mw_load_sibling_here("libmwrap_mhd.so", err);
	mw_quiet_leave();
}

static const struct mw_httpd_api *load_httpd(char err[MW_ERROR_MAX])
{
	void *lib = mw_load_sibling(HTTPD, err);
	const struct mw_httpd_api *h = lib ? dlsym(lib, "mwrap_httpd") : NULL;

	if (lib && (!h || h->version != MW_HTTPD_VERSION)) {
		snprintf(err, MW_ERROR_MAX, "libmwrap_httpd.so: of another version: run make");
		h = NULL;
	}
	return h;
}

static void opened(void)
{
	mw_step_end(&loading, MW_RANK_SERVER_STEP);
}

static bool serve(void)
{
	const struct mw_httpd_api *h = __atomic_load_n(&httpd, __ATOMIC_ACQUIRE);
	char err[MW_ERROR_MAX] = "";
	int is = MW_HTTPD_ENDED;
	bool late;

	if (!wait_for_go())
		return true;
	if (__atomic_load_n(&ending, __ATOMIC_ACQUIRE))
		return false;
	mw_step_begin(&loading, MW_RANK_SERVER_STEP);
	mw_end_before_destructors();
	if (!h) {
		h = load_httpd(err);
		__atomic_store_n(&httpd, h, __ATOMIC_SEQ_CST);
	}
	/* either we see `ending`, or mw_server_end sees `httpd` and tells us to stop */
	late = __atomic_load_n(&ending, __ATOMIC_SEQ_CST) != 0;
	if (!h || late)
		opened();
	if (!late)
		is = h ? h->start(mw_api_here, opened, err) : MW_HTTPD_FAILED;
	/* a forked child says nothing if loading fails: its parent has said it */
	if (is == MW_HTTPD_FAILED && (h || !forked))
		mw_log("%s", err);
	return is == MW_HTTPD_LEFT;
}

/* Its thread left, and can't be created again: its sockets are closed. */
static void lost(void)
{
	const struct mw_httpd_api *h = __atomic_load_n(&httpd, __ATOMIC_ACQUIRE);
	char err[MW_ERROR_MAX];

	if (!h)
		return;
	mw_quiet_enter();
	h->stop();
	mw_step_begin(&loading, MW_RANK_SERVER_STEP);
	(void)h->start(mw_api_here, opened, err);
	mw_quiet_leave();
}

struct mw_host_thread mw_server_thread = {
	.run = serve, .stack = STACK, .failed = "the server's thread: can't be created", .lost = lost
};

void mw_server_start(void)
{
	if (wanted() && mw_may_have_threads())
		(void)mw_host_thread_start(&mw_server_thread);
}

void mw_server_go(void)
{
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
}

void mw_server_wake(void)
{
	const struct mw_httpd_api *h = __atomic_load_n(&httpd, __ATOMIC_ACQUIRE);

	if (h)
		h->wake();
}

bool mw_server_endpoint(struct mw_family *endpoint)
{
	const struct mw_httpd_api *h = __atomic_load_n(&httpd, __ATOMIC_ACQUIRE);
	bool is;

	if (!h)
		return false;
	mw_quiet_enter();
	is = h->endpoint(endpoint);
	mw_quiet_leave();
	return is;
}

enum mw_site_is mw_server_site(struct mw_site **site, unsigned ms)
{
	uint64_t now = mw_now_ns(), until = now + ms * UINT64_C(1000000);

	for (;; now = mw_now_ns()) {
		const struct mw_httpd_api *h = __atomic_load_n(&httpd, __ATOMIC_ACQUIRE);
		unsigned left = now < until ? (unsigned)((until - now) / 1000000) : 0;

		if (!mw_host_thread_exists(&mw_server_thread))
			return MW_SITE_NONE;
		if (h && h->site(site, left))
			return MW_SITE_TAKEN;
		if (h && h->parked())
			return MW_SITE_NONE;
		if (now >= until)
			return MW_SITE_BUSY;
		mw_nap();
	}
}

void mw_server_site_give(void)
{
	__atomic_load_n(&httpd, __ATOMIC_ACQUIRE)->site_give();
}

void mw_server_before_fork(uint64_t until)
{
	const struct mw_httpd_api *h;

	mw_step_before_fork(&loading, MW_RANK_SERVER_STEP, until);
	h = __atomic_load_n(&httpd, __ATOMIC_ACQUIRE);
	before_fork = h ? h->before_fork() : 1;
}

void mw_server_after_fork(int child)
{
	const struct mw_httpd_api *h = __atomic_load_n(&httpd, __ATOMIC_ACQUIRE);

	mw_step_after_fork(&loading, MW_RANK_SERVER_STEP, child);
	if (!child)
		return;
	forked = true;
	if (mw_get(&extended))
		mw_server_extended();
	go = 0;
	said = NULL;
	if (h)
		h->child_after_fork(before_fork);
}

void mw_server_end(void)
{
	const struct mw_httpd_api *h;

	__atomic_store_n(&ending, 1, __ATOMIC_SEQ_CST);
	h = __atomic_load_n(&httpd, __ATOMIC_SEQ_CST);
	if (h && mw_host_thread_exists(&mw_server_thread)) {
		mw_quiet_enter();
		h->stop();
		(void)h->wait_stopped(END_MS);
		said = h->exit_verdict();
		mw_quiet_leave();
	}
}

const char *mw_server_said(void)
{
	return said;
}
