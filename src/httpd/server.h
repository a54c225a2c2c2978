/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.h - the server's state and what its files offer each other.
 *
 * There is one server, `mw_server`, in static memory. Only the server's thread
 * writes it, but for `stop_asked`, and but for a forked child, in which no
 * server's thread exists.
 *
 * A forked child starts with a copy of this state taken at any instruction
 * of the server's thread, and with descriptors that the kernel copied a
 * little earlier. So that it can close what it inherited:
 *  - a descriptor is written down right after the call that made it and
 *    forgotten right before the call that closes it;
 *  - `moves` is odd around both, and another number afterwards: if it changed
 *    between fork's beginning and the copy, or is odd, the child searches all
 *    its descriptors instead of trusting the notes;
 *  - a socket is closed only if its local address is one of ours: the number
 *    alone may be the application's by now.
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
#include "socket_lock.h"
#include "httpd.h"

struct MHD_Daemon;
struct MHD_Connection;
struct MHD_Response;

#define MW_CONNECTIONS_MAX 64
#define MW_LINGERS_MAX 16 /* a quarter of all connections at most */
#define MW_WATCHERS_MAX 8 /* of /live, and half of all connections at most */
/* socket or socket_dir, the path of `listen`, its port, and a path taken over and given away */
#define MW_LISTENERS_MAX 6

/* Clients that wait cost nothing of ours; a full queue fails who connects without blocking. */
#define MW_BACKLOG 1024

/* Bytes of answers waiting for slow readers; beyond, others are told 503. */
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
	uint64_t paused_until;  /* ms; accept failed for want of descriptors */
	struct sockaddr_storage addr; /* what accepted sockets are bound to */
	socklen_t addr_len;
	struct mw_socket_lock claim;  /* of a Unix socket */
};

enum mw_conn_phase {
	MW_CONN_WAITING,   /* for a whole request */
	MW_CONN_ANSWERING, /* the answer is on its way */
	MW_CONN_WATCHING   /* the answer has no end: live.c */
};

struct mw_conn {
	int fd; /* -1: slot is free */
	bool tcp;
	bool dropped;           /* shut down; libmicrohttpd will close it */
	uint32_t over;          /* `moves` when the last request, read whole, had its answer */
	enum mw_conn_phase phase;
	uint64_t since;         /* ms; when the phase began, or a watcher last read */
	uint64_t turn;          /* grows with each phase of any connection */
};

/* A connection that is over but for what the client still sends: linger.c */
struct mw_linger {
	int fd;   /* -1: free */
	uint64_t until;         /* ms; unless something comes */
	uint64_t latest;        /* ms; in any case */
	uint64_t left;          /* bytes that may still come */
};

_Static_assert(MW_CONNECTIONS_MAX / 4 <= MW_LINGERS_MAX, "a place for each");

struct mw_server {
	_Atomic int state;      /* enum mw_server_state; also a futex */
	atomic_bool stop_asked;
	atomic_bool opening; /* files are being made, or removed: the process's end waits for that */
	_Atomic uint32_t moves; /* of descriptors: odd during one */
	atomic_bool forked; /* this process is a child of one with a server */
	pid_t pid;
	_Atomic pid_t tid; /* of the server's thread; 0: there is none. Panics ask for it */
	const struct mw_api *api;
	struct MHD_Daemon *daemon;
	_Atomic int epfd; /* ours: listeners, evfd, mhd_epfd */
	_Atomic int evfd; /* wakes the loop */
	int mhd_epfd; /* libmicrohttpd's: connections */
	int fd_base; /* our descriptors are moved to this number or above */
	unsigned listeners_n;
	struct mw_listener listeners[MW_LISTENERS_MAX];
	unsigned conns_max;
	struct mw_conn conns[MW_CONNECTIONS_MAX];
	struct mw_linger lingers[MW_LINGERS_MAX];
	size_t held;            /* bytes of answers that exist */
	int statm;              /* /proc/self/statm, kept open: -1 where there is none */
	dev_t statm_dev;        /* what it is, */
	ino_t statm_ino;        /* since the application may use its number */
	struct mw_family family; /* where relatives listen: listen.c */
	struct mw_site site;
	struct mw_access access; /* of the token that token_file has; token.c */
};
extern struct mw_server mw_server;

/*
 * Around the making of sockets' files, after the server's state is "running". False: the
 * process ends, and none is made any more. Either that is seen here, or wait_stopped() sees `opening`.
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

/* Around whatever makes or closes descriptors; a second begin changes nothing. */
static inline void mw_moves_begin(void)
{
	atomic_store(&mw_server.moves, atomic_load(&mw_server.moves) | 1);
}

static inline void mw_moves_end(void)
{
	atomic_store(&mw_server.moves, (atomic_load(&mw_server.moves) | 1) + 1);
}

/* httpd.c */

/* What errno's value means, in English; static. */
const char *mw_strerror(int);
/*
 * Moves fd, which the caller owns, to a number that scripts and select()
 * don't use. Returns the new number, or fd if there is none free.
 */
int mw_fd_high(int fd);
/* Accepts connections at l from now on. 0, or -1. */
int mw_loop_watch(struct mw_listener *l);
/* Is `statm` what was opened? System calls only. */
bool mw_statm_is_ours(void);

/* listen.c */

/* Opens what the options name; the number of listeners, 0 with a line in err. */
unsigned mw_listen_all(const struct mw_options *, char err[MW_ERROR_MAX]);
/*
 * Listens, while the loop runs, on a family's path that nobody has, or beside it. NULL: it can't,
 * or another process was first.
 */
struct mw_listener *mw_listen_take(const char *path);
struct mw_listener *mw_listen_beside(const char *path);
/* A slot that nothing was ever in; NULL: there is none left. */
struct mw_listener *mw_listen_slot(void);
/* Is there a Ruby in this process, or about to be? */
bool mw_have_ruby(void);
/* Closes one whose claim was given away; its connections go on. */
void mw_listen_end(struct mw_listener *);
/* Removes our socket files and their locks. Any thread; the first does it. */
void mw_listen_unlink(void);
/* True if fd is a socket bound to the address of one of our listeners. */
bool mw_listen_is_ours(int fd);

/* `path` made absolute, as it was from where the first server was started. 0; -1: a line in err. */
int mw_listen_absolute(const char *path, char *out, size_t size, char err[MW_ERROR_MAX]);

/* token.c */

/* Reads the file that token_file names, if any. What is wrong with it: mw_token_wrong(). */
void mw_token_start(const struct mw_options *);
/* NULL, or one line that says why no token counts. */
const char *mw_token_wrong(void);
/* Looks whether the file has changed. True: who is being served was let in by what has ended. */
bool mw_token_refresh(void);
/* In a forked child: is this the file, as the parent was just reading it? System calls only. */
bool mw_token_is_ours(int fd);
/* In a forked child: forgets the token. */
void mw_token_child(void);

/* socket_mode.c */

/*
 * Gives a bound socket's file the mode and the group that the options name. While that
 * can't be done it stays as it is, 0600: one line on stderr. Only what is still the same file is touched.
 */
void mw_socket_open_up(const struct mw_socket_lock *, const struct mw_options *);
/* The same for a directory that was made for sockets, by its descriptor's path. */
void mw_socket_dir_open_up(const char *dir, const struct mw_options *);
/* The number of a group by its name, from a file such as /etc/group; -1: it isn't there. */
int64_t mw_group_find(const char *file, const char *name);

/* conns.c */

/* Takes what waits at a listener, up to a bound. */
void mw_connections_accept(struct mw_listener *, uint64_t now);
/* Drops connections past their deadline. Returns ms to the next, -1: none. */
int mw_connections_expire(uint64_t now);
/* Drops the longest-answering connection but `but`, if it is slow. */
void mw_connections_drop_slow(const struct mw_conn *but, uint64_t now);
struct mw_conn *mw_conn_of(int fd);
void mw_conn_phase(struct mw_conn *, enum mw_conn_phase, uint64_t now);
void mw_connections_reset(void);

/* linger.c */

/* libmicrohttpd closes this connection: if the client still sends, it is listened to for a while. */
void mw_linger(const struct mw_conn *, uint64_t now);
/* Something came. */
void mw_linger_read(struct mw_linger *, uint64_t now);
/* Ends those whose time is over. Milliseconds to the next; -1: none. */
int mw_linger_due(uint64_t now);
/* Ends all. */
void mw_linger_close(void);
/* Forgets all: a forked child, which has closed them. */
void mw_linger_reset(void);

/* live.c */

/*
 * The answer without an end for a request of /live; the watcher takes *first,
 * with which it begins. NULL: there are as many watchers as there may be, or no memory.
 */
struct MHD_Response *mw_live_open(struct MHD_Connection *, struct mw_conn *, struct mw_buf *first);
/* Ticks if it is time to, before MHD_run(). */
void mw_live_run(uint64_t now);
/* Milliseconds to what mw_live_run has to do next; -1: nothing. */
int mw_live_due(uint64_t now);
/* The other end of a watcher's connection may be closed. */
void mw_live_hangup(struct mw_conn *);
/* Has this watcher read all there was for it? */
bool mw_live_waits(const struct mw_conn *);
/* Ends all, before MHD_stop_daemon(). */
void mw_live_close(void);
/* Forgets all, whose memory is lost: a forked child, or a daemon that isn't stopped. */
void mw_live_reset(void);

/* place.c: see mw_api.server_endpoint */

/* Tells other threads where the server is, and the token, anew after a change. */
void mw_endpoint_tell(void);
/* There is no server any more. */
void mw_endpoint_end(void);
/* Any thread. */
bool mw_endpoint_get(struct mw_server_endpoint *);
/* In a forked child. */
void mw_endpoint_child(void);

/* serve.c */

/* The daemon, serving from mw_server's connections; NULL if it can't be had. */
struct MHD_Daemon *mw_serve_open(void);

/* child.c: see mw_httpd_api */
uint32_t mw_child_before_fork(void);
void mw_child_after_fork(uint32_t moves);

#endif
