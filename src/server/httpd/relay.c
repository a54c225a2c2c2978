/* SPDX-License-Identifier: GPL-2.0-or-later */
/* relay.c - answers requests outside the server's thread. See relay.h. */
#include "relay.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "shared/sys/clock.h"
#include "shared/sys/mutex.h"
#include "shared/sys/own_descriptors.h"
#include "server/family/ask.h"
#include "server/family/family.h"
#include "connections.h"
#include "server/httpd/library/library.h"
#include "loop.h"
#include "own_family.h"
#include "own_site.h"
#include "server_state.h"

enum {
	STACK = 512 * 1024, /* as the server's */
	QUEUE_MAX = 256 * 1024,  /* bytes of a stream that wait for the client */
	PIECE = 16 * 1024
};

struct mw_job {
	struct mw_job *next;     /* the server's list; its thread only */
	struct MHD_Connection *mc;
	struct mw_conn *conn;
	bool suspended;          /* the server's thread only */
	bool waits;              /* it is this process's answer; written before the thread begins */
	bool ripe;               /* mw_route_after() was called; the server's thread only */
	bool taken;              /* the response was handed out; the server's thread only */
	_Atomic unsigned owners;
	atomic_bool answered;    /* release: `res` is there, and the thread no longer touches it */
	atomic_bool gone;        /* the rest isn't wanted */
	/* the request, all in `text`: headers as name, value, name, value ... */
	struct mw_request req;
	struct mw_buf text;
	size_t headers_at;
	const struct mw_api *api;
	struct mw_family family;
	int wake;                /* the eventfd; -1: wakes nobody */
	struct mw_response res;
	/* a stream, under the lock: bytes received and not yet sent */
	pthread_mutex_t lock;
	struct mw_buf queue;
	bool ended;
};

static struct mw_job *jobs;
static unsigned jobs_n;

static void let_relay_job_go(struct mw_job *j)
{
	if (atomic_fetch_sub(&j->owners, 1) > 1)
		return;
	mw_route_drop(&j->res);
	mw_response_free(&j->res);
	mw_buf_free(&j->text);
	mw_buf_free(&j->queue);
	free(j);
}

/* --- the thread ------------------------------------------------------------------------ */

static void wake_for_job(const struct mw_job *j)
{
	const uint64_t one = 1;

	/* the counter is full: it wakes anyway */
	if (j->wake >= 0 && write(j->wake, &one, sizeof(one)) < 0)
		return;
}

static void nap_ms(long ms)
{
	struct timespec ts = { .tv_nsec = ms * 1000000 };

	nanosleep(&ts, NULL);
}

/* Appends a piece to the queue; waits while it is full (backpressure of a slow client). */
static void queue(struct mw_job *j, const char *piece, size_t n)
{
	bool full = true;

	while (full && !atomic_load(&j->gone)) {
		mw_mutex_lock(&j->lock, MW_RANK_RELAY);
		full = j->queue.n > QUEUE_MAX;
		if (!full)
			mw_buf_add(&j->queue, piece, n);
		if (j->queue.failed)
			j->ended = true;
		mw_mutex_unlock(&j->lock, MW_RANK_RELAY);
		if (full)
			nap_ms(50);
	}
}

static void pass_on(struct mw_job *j, struct mw_ask *from)
{
	char piece[PIECE];
	long n = -1;

	while (n && !atomic_load(&j->gone)) {
		n = mw_ask_more(from, piece, sizeof(piece), 1000);
		if (n > 0) {
			queue(j, piece, (size_t)n);
			wake_for_job(j);
		}
	}
	mw_mutex_lock(&j->lock, MW_RANK_RELAY);
	j->ended = true;
	mw_mutex_unlock(&j->lock, MW_RANK_RELAY);
	wake_for_job(j);
}

static void *run_relay_job(void *arg)
{
	struct mw_job *j = arg;
	struct mw_ask *relay;

	if (!mw_own_descriptors(j->wake))
		j->wake = -1;
	if (j->waits)
		mw_route(j->api, &j->req, &j->res);
	else
		mw_family_answer(&j->family, j->api, &j->req, &j->res);
	relay = j->res.relay;
	atomic_store(&j->answered, true);
	wake_for_job(j);
	if (relay) {
		pass_on(j, relay);
		mw_ask_free(relay);
		free(relay);
	}
	let_relay_job_go(j);
	return NULL;
}

/* --- the request's copy ------------------------------------------------------------------- */

static const char *copied_header(void *ctx, const char *name)
{
	const struct mw_job *j = ctx;
	const char *s = j->text.p + j->headers_at, *end = j->text.p + j->text.n;

	while (s < end) {
		const char *value = s + strlen(s) + 1;

		if (!strcasecmp(s, name))
			return value;
		s = value + strlen(value) + 1;
	}
	return NULL;
}

static enum MHD_Result copy_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct mw_buf *b = cls;

	(void)kind;
	if (value) {
		mw_buf_add(b, name, strlen(name) + 1);
		mw_buf_add(b, value, strlen(value) + 1);
	}
	return MHD_YES;
}

static size_t keep_string(struct mw_buf *b, const char *s)
{
	size_t at = b->n;

	mw_buf_add(b, s ? s : "", strlen(s ? s : "") + 1);
	return at;
}

static const char *kept(const struct mw_job *j, const char *s, size_t at)
{
	return s ? j->text.p + at : NULL;
}

static bool copy_request(struct mw_job *j, const struct mw_request *req)
{
	const char *const from[] = { req->method, req->path,  req->query,
				     req->base,   req->mount, req->no_post };
	enum { N = sizeof(from) / sizeof(*from) };
	size_t at[N];

	for (size_t i = 0; i < N; i++)
		at[i] = keep_string(&j->text, from[i]);
	j->headers_at = j->text.n;
	mw_mhd->get_connection_values(j->mc, MHD_HEADER_KIND, copy_header, &j->text);
	if (j->text.failed)
		return false;
	/*
	 * Not a copy of *req: whatever isn't here would point to memory of the connection, which may go first.
	 * Site and access belong to the server's thread.
	 */
	j->req = (struct mw_request){
		.method = kept(j, from[0], at[0]),
		.path = kept(j, from[1], at[1]),
		.query = kept(j, from[2], at[2]),
		.base = kept(j, from[3], at[3]),
		.mount = kept(j, from[4], at[4]),
		.no_post = kept(j, from[5], at[5]),
		.ask_who = req->ask_who,
		.relatives = req->relatives,
		.peer = req->peer,
		.header = copied_header,
		.ctx = j,
		.let_in = true, /* mhd.c has asked mw_route_refuses() */
		.poll = req->poll,
	};
	j->waits = j->req.later = mw_route_waits(&j->req);
	return true;
}

/* --- the server's side ---------------------------------------------------------------------- */

struct mw_job *mw_relay_begin(struct MHD_Connection *mc, struct mw_conn *c, const struct mw_request *req)
{
	struct mw_job *j = jobs_n < MW_JOBS_MAX ? calloc(1, sizeof(*j)) : NULL;

	if (!j)
		return NULL;
	j->mc = mc;
	j->conn = c;
	j->owners = 2;
	j->api = mw_server.api;
	j->family = *mw_own_family();
	if (req->access) /* relatives require it, too */
		snprintf(j->family.token, sizeof(j->family.token), "%.*s", (int)req->access->token_n,
			 req->access->token);
	j->wake = mw_loop_wake_fd();
	pthread_mutex_init(&j->lock, NULL);
	if (!copy_request(j, req) || j->api->thread_start(run_relay_job, j, STACK)) {
		j->owners = 1;
		let_relay_job_go(j);
		return NULL;
	}
	j->next = jobs;
	jobs = j;
	jobs_n++;
	j->suspended = true;
	mw_mhd->suspend_connection(mc);
	return j;
}

struct mw_response *mw_relay_response(struct mw_job *j)
{
	if (j->taken || !(j->waits ? j->ripe : atomic_load(&j->answered)))
		return NULL;
	j->taken = true;
	return &j->res;
}

static void resume_client(struct mw_job *j)
{
	if (!j->suspended)
		return;
	j->suspended = false;
	mw_mhd->resume_connection(j->mc);
}

static ssize_t read_stream(void *cls, uint64_t pos, char *to, size_t max)
{
	struct mw_job *j = cls;
	size_t n;
	bool ended;

	(void)pos;
	if (j->conn)
		j->conn->since = mw_now_ms(); /* it reads */
	mw_mutex_lock(&j->lock, MW_RANK_RELAY);
	n = j->queue.n < max ? j->queue.n : max;
	if (n) {
		memcpy(to, j->queue.p, n);
		memmove(j->queue.p, j->queue.p + n, j->queue.n - n);
		j->queue.n -= n;
	}
	ended = j->ended;
	mw_mutex_unlock(&j->lock, MW_RANK_RELAY);
	if (n)
		return (ssize_t)n;
	if (ended || atomic_load(&j->gone))
		return MHD_CONTENT_READER_END_OF_STREAM;
	j->suspended = true;
	mw_mhd->suspend_connection(j->mc);
	return 0;
}

struct MHD_Response *mw_relay_stream(struct mw_job *j)
{
	/* body: what came with the head; the thread may have added to the queue meanwhile */
	mw_mutex_lock(&j->lock, MW_RANK_RELAY);
	mw_buf_add(&j->res.body, j->queue.p, j->queue.n);
	mw_buf_free(&j->queue);
	j->queue = j->res.body;
	j->res.body = (struct mw_buf){ 0 };
	mw_mutex_unlock(&j->lock, MW_RANK_RELAY);
	if (j->conn) {
		(void)mw_conn_hear_of_end(j->conn);
		mw_mhd->set_connection_option(j->mc, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
		mw_conn_phase(j->conn, MW_CONN_WATCHING, mw_now_ms());
	}
	return mw_mhd->create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, read_stream, j, NULL);
}

void mw_relay_end(struct mw_job *j)
{
	for (struct mw_job **p = &jobs; *p; p = &(*p)->next) {
		if (*p == j) {
			*p = j->next;
			jobs_n--;
			break;
		}
	}
	atomic_store(&j->gone, true);
	let_relay_job_go(j);
}

static bool has_more(struct mw_job *j)
{
	bool more;

	if (!j->taken)
		return j->ripe || (!j->waits && atomic_load(&j->answered));
	mw_mutex_lock(&j->lock, MW_RANK_RELAY);
	more = j->queue.n || j->ended;
	mw_mutex_unlock(&j->lock, MW_RANK_RELAY);
	return more || atomic_load(&j->gone);
}

/* Here and not in mw_relay_response: what was done is an event also if its client has gone. */
static void ripen(struct mw_job *j)
{
	if (!j->waits || j->ripe || !atomic_load(&j->answered))
		return;
	j->ripe = true;
	mw_route_after(j->api, &j->req, &j->res, mw_own_site());
}

void mw_relay_run(void)
{
	for (struct mw_job *j = jobs; j; j = j->next) {
		ripen(j);
		if (j->suspended && has_more(j))
			resume_client(j);
	}
}

void mw_relay_hangup(struct mw_conn *c)
{
	for (struct mw_job *j = jobs; j; j = j->next)
		if (j->conn == c && c->phase == MW_CONN_WATCHING)
			atomic_store(&j->gone, true);
}

bool mw_relay_waits(const struct mw_conn *c)
{
	for (const struct mw_job *j = jobs; j; j = j->next)
		if (j->conn == c)
			return j->suspended;
	return false;
}

void mw_relay_close(void)
{
	for (struct mw_job *j = jobs; j; j = j->next) {
		atomic_store(&j->gone, true);
		resume_client(j);
	}
}

void mw_relay_reset(void)
{
	jobs = NULL;
	jobs_n = 0;
}
