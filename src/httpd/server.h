/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.h - the server's state, and what its files offer each other.
 *
 * There is one server, `mw_server`, in static memory. Only the server's thread writes it. Two
 * exceptions: any thread writes `stop_asked`; in a forked child there is no server's thread.
 *
 * A forked child starts with a copy of this state, taken at any instruction of the server's thread.
 * The kernel copied the descriptors a little earlier. The child can close what it inherited because
 * of these rules:
 *  - the server notes a descriptor right after the call that made it, and forgets it right before
 *    the call that closes it;
 *  - `moves` is odd around both, and another number afterwards. If it changed between fork's
 *    beginning and the copy, or is odd, the child distrusts the notes and searches all its
 *    descriptors;
 *  - the child closes a socket only if its local address is one of ours: the application may have
 *    reused the number.
 */
#ifndef MW_HTTPD_SERVER_H
#define MW_HTTPD_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/log.h"
#include "family/family.h"
#include "http/access.h"
#include "pages/site.h"
#include "report/live/proc_file.h"
#include "socket_lock.h"
#include "httpd.h"

struct MHD_Daemon;
struct MHD_Connection;
struct MHD_Response;

#define MW_CONNECTIONS_MAX 64
#define MW_LINGERS_MAX 16 /* at most a quarter of all connections */
/* socket or socket_dir, the path of `listen`, its port, a path taken over, a path handed over */
#define MW_LISTENERS_MAX 6

/* Waiting clients cost us nothing; a full queue fails clients that connect without blocking. */
#define MW_BACKLOG 1024

/* Bytes of answers that wait for slow readers; beyond this, others get 503. */
#define MW_HELD_MAX ((size_t)32 << 20)

enum mw_server_state {
	MW_SERVER_NONE,    /* never started, or a forked child */
	MW_SERVER_RUNNING, /* start() is being executed */
	MW_SERVER_ENDED,   /* start() has returned */
	MW_SERVER_PARKED   /* libmicrohttpd panicked; the thread sleeps for ever */
};

struct mw_listener {
	int fd; /* -1: not open */
	bool tcp;
	uint64_t paused_until;  /* ms; accept ran out of descriptors */
	struct sockaddr_storage addr; /* the local address of accepted sockets */
	socklen_t addr_len;
	struct mw_socket_lock socket_lock; /* of a Unix socket */
};

enum mw_conn_phase {
	MW_CONN_WAITING,   /* for a complete request */
	MW_CONN_ANSWERING, /* the answer is being sent */
	MW_CONN_WATCHING   /* the answer is a stream: live.c, relay.c */
};

struct mw_conn {
	int fd; /* -1: slot is free */
	bool tcp;
	bool dropped;           /* shut down; libmicrohttpd will close it */
	uint32_t over;          /* `moves` when the last request, read whole, was answered */
	enum mw_conn_phase phase;
	uint64_t since;         /* ms; when the phase began, or the watcher last read */
	uint64_t turn;          /* grows with each phase of any connection */
};

struct mw_server {
	_Atomic int state;      /* enum mw_server_state; also a futex */
	atomic_bool stop_asked;
	atomic_bool opening; /* files are being made or removed; the process's end waits for it */
	_Atomic uint32_t moves; /* odd while descriptors are made or closed */
	atomic_bool forked; /* this process was forked from one with a server */
	pid_t pid;
	_Atomic pid_t tid; /* of the server's thread; 0: none. Panics ask for it */
	const struct mw_api *api;
	struct MHD_Daemon *daemon; /* NULL: no client has come yet */
	_Atomic int epfd; /* ours: listeners, evfd, mhd_epfd */
	_Atomic int evfd; /* wakes the loop */
	int mhd_epfd; /* libmicrohttpd's: connections; -1: no daemon */
	int fd_base; /* our descriptors are moved to this number or above */
	unsigned listeners_n;
	struct mw_listener listeners[MW_LISTENERS_MAX];
	unsigned conns_max;
	struct mw_conn conns[MW_CONNECTIONS_MAX];
	struct mw_proc_file statm, smaps; /* of /proc/self */
	struct mw_family family; /* how relatives are reached: listen.c */
	struct mw_site site;
	struct mw_access access; /* access by the token of token_file; token.c */
};
extern struct mw_server mw_server;

/*
 * Brackets the making of socket files, after the state is "running". Returns false if the process
 * ends: make no more files. Either this sees stop_asked, or wait_stopped() sees `opening`.
 */
static inline bool mw_opening_begin(void)
{
	atomic_store(&mw_server.opening, true);
	return !atomic_load(&mw_server.stop_asked);
}

static inline void mw_opening_end(void)
{
	atomic_store(&mw_server.opening, false);
}

/* Bracket code that makes or closes descriptors; a second begin changes nothing. */
static inline void mw_moves_begin(void)
{
	atomic_store(&mw_server.moves, atomic_load(&mw_server.moves) | 1);
}

static inline void mw_moves_end(void)
{
	atomic_store(&mw_server.moves, (atomic_load(&mw_server.moves) | 1) + 1);
}

/* httpd.c */

/*
 * Moves fd, which the caller owns, to a number that scripts and select() don't use. Returns the new
 * number, or fd if none is free.
 */
int mw_fd_high(int fd);
/*
 * Before a client is accepted: loads libmicrohttpd and starts the daemon, unless that was done.
 * Returns 0; -1: a line in err, and the next client may try again.
 */
int mw_serve_begin(char err[MW_ERROR_MAX]);
/* Accepts connections at l from now on. Returns 0, or -1. */
int mw_loop_watch(struct mw_listener *l);

/* listen.c */

/* Opens what the options name. Returns the number of listeners, or 0 with a line in err. */
unsigned mw_listen_all(const struct mw_options *, char err[MW_ERROR_MAX]);
/*
 * Listens, while the loop runs, on a family's path that is free, or on a path with this PID added.
 * Returns NULL if that fails, or if another process was first.
 */
struct mw_listener *mw_listen_take(const char *path);
struct mw_listener *mw_listen_beside(const char *path);
/* Returns a slot that was never used; NULL: none is left. */
struct mw_listener *mw_listen_slot(void);
/* True if this process has Ruby, or is about to. */
bool mw_have_ruby(void);
/* Closes a listener whose path or port was handed over; its connections go on. */
void mw_listen_end(struct mw_listener *);
/* Removes our socket files and their locks. Any thread; the first call does it. */
void mw_listen_unlink(void);
/* True if fd is a socket bound to the address of one of our listeners. */
bool mw_listen_is_ours(int fd);

/*
 * Makes `path` absolute, from the first server's working directory. Returns 0; -1: a line in err.
 */
int mw_listen_absolute(const char *path, char *out, size_t size, char err[MW_ERROR_MAX]);

/* token.c */

/* Reads the file of token_file, if given. mw_token_wrong() tells its problem. */
void mw_token_start(const struct mw_options *);
/* Returns NULL, or one line: why no token counts. */
const char *mw_token_wrong(void);
/*
 * Checks whether the file has changed. Returns true if access that let in present clients has
 * ended.
 */
bool mw_token_refresh(void);
/*
 * In a forked child: true if fd may be the token file that the parent was reading. System calls
 * only.
 */
bool mw_token_is_ours(int fd);
/* In a forked child: forgets the token. */
void mw_token_child(void);

/* socket_mode.c */

/*
 * Gives a bound socket's file the mode and the group of the options. On failure the mode stays
 * 0600, with one line on stderr. Touches only the file that was bound.
 */
void mw_socket_open_up(const struct mw_socket_lock *, const struct mw_options *);
/* The same for a directory made for sockets, by its descriptor's path. */
void mw_socket_dir_open_up(const char *dir, const struct mw_options *);
/* Finds a group's number by its name, in a file such as /etc/group; -1: no such group. */
int64_t mw_group_find(const char *file, const char *name);

/* connections.c */

/* Accepts waiting connections at a listener, up to a bound. */
void mw_connections_accept(struct mw_listener *, uint64_t now);
/* Drops connections past their deadline. Returns ms to the next, -1: none. */
int mw_connections_expire(uint64_t now);
/* Drops the connection that has been answering longest, except `but`, if it is slow. */
void mw_connections_drop_slow(const struct mw_conn *but, uint64_t now);
struct mw_conn *mw_conn_of(int fd);
void mw_conn_phase(struct mw_conn *, enum mw_conn_phase, uint64_t now);
void mw_connections_reset(void);

/* linger.c */

/* Keeps a connection that libmicrohttpd closes open for a while, if the client still sends. */
void mw_linger(const struct mw_conn *, uint64_t now);
/* If the event is about a linger: something came, and is discarded. */
void mw_linger_event(const void *about, uint64_t now);
/* Ends those past their deadline. Returns milliseconds to the next; -1: none. */
int mw_linger_due(uint64_t now);
/* Ends all. */
void mw_linger_close(void);
/* At the start: there are none. */
void mw_linger_reset(void);
/* In a forked child: passes each inherited descriptor. */
void mw_linger_inherited(void (*close_it)(int fd));

/* live.c */

/*
 * Makes the stream for a request of /live. The watcher takes over *first and begins with it.
 * Returns NULL if there are too many watchers, or no memory.
 */
struct MHD_Response *mw_live_open(struct MHD_Connection *, struct mw_conn *, struct mw_buf *first,
				  bool *gzip);
/* Ticks if one is due, before MHD_run(). */
void mw_live_run(uint64_t now);
/* Returns milliseconds to the next work of mw_live_run; -1: none. */
int mw_live_due(uint64_t now);
/* The client of a watcher's connection may have closed it. */
void mw_live_hangup(struct mw_conn *);
/* True if this watcher has read everything it was sent. */
bool mw_live_waits(const struct mw_conn *);
/* Ends all, before MHD_stop_daemon(). */
void mw_live_close(void);
/* Forgets all; their memory is lost. For a forked child, or a daemon that isn't stopped. */
void mw_live_reset(void);

/* endpoint.c: see mw_api.server_endpoint */

/* Publishes the endpoint and the token to other threads, anew after a change. */
void mw_endpoint_tell(void);
/* No server runs any more. */
void mw_endpoint_end(void);
/* Any thread. */
bool mw_endpoint_get(struct mw_family *);
/* In a forked child. */
void mw_endpoint_child(void);

/* exit_verdict.c */

/* Any thread; a forked child: there are none. */
void mw_exit_verdict_reset(void);
/* Keeps the server's last verdict, if the exit dump has room for it. */
void mw_exit_verdict_keep(struct mw_site *);
/* See mw_httpd_api. Any thread. */
const char *mw_exit_verdict(void);

/* mhd.c */

/* Starts the daemon, which serves mw_server's connections; NULL: it can't. */
struct MHD_Daemon *mw_serve_open(void);

/* after_fork.c: see mw_httpd_api */
uint32_t mw_child_before_fork(void);
void mw_child_after_fork(uint32_t moves);

#endif
