/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rack_passage.c - passes the stream of another process of the family through the application's
 * server to a watcher: for lib/mwrap/rack/passage.rb.
 *
 * The server gives the client's connection away. A thread, not Ruby's, takes it over into its own
 * descriptor table. It asks the other process, and passes the stream on until either side ends it.
 * The application holds nothing for it: no descriptor, no Ruby thread. Neither does a child that it
 * forks.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/sys/own_descriptors.h"
#include "rack.h"

#define PASSAGES_MAX 8u
#define STACK ((size_t)256 << 10)
#define STALL_MS 60000 /* ms; a client that reads nothing for this long is dropped */
#define PIECE 16384

/* The number of passages, and their process: a forked child has none. */
static atomic_uint passages;
static _Atomic pid_t whose;

struct passage {
	struct mw_family family;
	struct mw_request req; /* its strings are in `text` */
	struct mw_buf text;
	int fd;       /* the client's connection; the thread's own copy */
	sem_t copied; /* posted when the thread has its copy */
	bool ok;      /* written before that */
	bool waited;  /* atomic: the starter no longer uses `copied` */
};

/* --- the thread ------------------------------------------------------------------------ */

static bool send_all(int fd, const char *p, size_t n)
{
	while (n) {
		struct pollfd w = { .fd = fd, .events = POLLOUT };
		ssize_t sent = send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent >= 0) {
			p += sent;
			n -= (size_t)sent;
		} else if (errno != EINTR && (errno != EAGAIN || poll(&w, 1, STALL_MS) <= 0)) {
			return false;
		}
	}
	return true;
}

/* True if the client ended the connection, or sent unexpected bytes. */
static bool client_gone(int fd)
{
	struct pollfd r = { .fd = fd, .events = POLLIN | POLLRDHUP };

	return poll(&r, 1, 0) != 0;
}

static void pass_on(struct mw_ask *from, int fd)
{
	char piece[PIECE];
	long n = -1;

	while (n && !client_gone(fd)) {
		n = mw_offers->ask_more(from, piece, sizeof(piece), 1000);
		if (n > 0 && !send_all(fd, piece, (size_t)n))
			return;
	}
}

static void *run_passage(void *arg)
{
	struct passage *p = arg;
	struct mw_response res;

	p->ok = mw_own_descriptors(p->fd);
	if (!p->ok) {
		sem_post(&p->copied); /* the waiting thread frees it */
		return NULL;
	}
	sem_post(&p->copied);
	mw_offers->family_answer(&p->family, mw_tracker, &p->req, &res);
	if (res.relay) {
		if (send_all(p->fd, res.body.p, res.body.n))
			pass_on(res.relay, p->fd);
		mw_offers->ask_free(res.relay);
		free(res.relay);
	}
	mw_offers->response_free(&res);
	atomic_fetch_sub(&passages, 1); /* before the client can know of the end */
	close(p->fd);
	while (!__atomic_load_n(&p->waited, __ATOMIC_ACQUIRE))
		sched_yield();
	sem_destroy(&p->copied);
	mw_buf_free(&p->text);
	free(p);
	return NULL;
}

/* --- starting it ------------------------------------------------------------------------- */

static bool take_seat(void)
{
	pid_t pid = getpid();

	if (atomic_exchange(&whose, pid) != pid)
		atomic_store(&passages, 0);
	if (atomic_fetch_add(&passages, 1) < PASSAGES_MAX)
		return true;
	atomic_fetch_sub(&passages, 1);
	return false;
}

static bool start_thread(struct passage *p)
{
	/* no signal may come there: Ruby's handlers need Ruby's descriptors */
	if (mw_tracker->thread_start(run_passage, p, STACK))
		return false;
	while (sem_wait(&p->copied) && errno == EINTR)
		;
	return p->ok;
}

static size_t keep_string(struct mw_buf *b, VALUE s)
{
	size_t at = b->n;

	mw_buf_add(b, RSTRING_PTR(s), (size_t)RSTRING_LEN(s));
	mw_buf_add(b, "", 1);
	return at;
}

static struct passage *make_passage(int fd, VALUE path, VALUE query, VALUE base, VALUE no_post)
{
	struct passage *p = calloc(1, sizeof(*p));
	size_t path_at, query_at, base_at, no_post_at = 0;

	if (!p)
		return NULL;
	path_at = keep_string(&p->text, path);
	query_at = keep_string(&p->text, query);
	base_at = keep_string(&p->text, base);
	if (!NIL_P(no_post))
		no_post_at = keep_string(&p->text, no_post);
	p->fd = fd;
	sem_init(&p->copied, 0, 0);
	if (!p->text.failed && mw_rack_family(&p->family)) {
		p->req = (struct mw_request){ .method = "GET",
					      .path = p->text.p + path_at,
					      .query = p->text.p + query_at,
					      .base = p->text.p + base_at,
					      .no_post = no_post_at ? p->text.p + no_post_at : NULL,
					      .peer = MW_PEER_RACK };
		return p;
	}
	mw_buf_free(&p->text);
	free(p);
	return NULL;
}

/*
 * :nodoc: pass(fileno, path, query, base, no_post) -> bool: sends the stream of another process to
 * that connection from now on. The caller can close its own descriptor. no_post: nil, or why the
 * watcher may change nothing. False: it can't start, or there are too many.
 */
static VALUE pages_pass(VALUE mod, VALUE fileno, VALUE path, VALUE query, VALUE base, VALUE no_post)
{
	int fd = NUM2INT(fileno);
	struct passage *p;
	bool ok = false;

	mw_offers_need();
	StringValueCStr(path);
	StringValueCStr(query);
	StringValueCStr(base);
	if (!NIL_P(no_post))
		StringValueCStr(no_post);
	mw_tracker->quiet_enter();
	p = make_passage(fd, path, query, base, no_post);
	if (p && take_seat()) {
		ok = start_thread(p);
		if (!ok)
			atomic_fetch_sub(&passages, 1);
	}
	if (ok) {
		__atomic_store_n(&p->waited, true, __ATOMIC_RELEASE);
	} else if (p) {
		sem_destroy(&p->copied);
		mw_buf_free(&p->text);
		free(p);
	}
	mw_tracker->quiet_leave();
	RB_GC_GUARD(path);
	RB_GC_GUARD(query);
	RB_GC_GUARD(base);
	RB_GC_GUARD(no_post);
	return ok ? Qtrue : Qfalse;
}

/* :nodoc: passage?(path) -> bool; nil: it is one, but there are too many already */
static VALUE pages_passage_p(VALUE mod, VALUE path)
{
	struct mw_family f = { 0 };
	const char *s = StringValueCStr(path);
	bool is;

	mw_offers_need();
	mw_tracker->quiet_enter();
	/* without own descriptor tables, pieces of the stream do instead: rack_family.c */
	is = mw_can_own_descriptors() && mw_rack_family(&f) &&
	     mw_offers->family_streams(&f, s, (long)getpid());
	mw_tracker->quiet_leave();
	explicit_bzero(&f, sizeof(f));
	if (is && atomic_load(&whose) == getpid() && atomic_load(&passages) >= PASSAGES_MAX)
		return Qnil;
	return is ? Qtrue : Qfalse;
}

void mw_init_rack_passage(VALUE pages)
{
	rb_define_singleton_method(pages, "pass", pages_pass, 5);
	rb_define_singleton_method(pages, "passage?", pages_passage_p, 1);
}
