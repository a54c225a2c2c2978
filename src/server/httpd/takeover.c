/* SPDX-License-Identifier: GPL-2.0-or-later */
/* takeover.c - takes a family's path over, and hands it over. See takeover.h. */
#include "takeover.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shared/sys/log.h"
#include "shared/sys/sys.h"
#include "shared/sys/times.h"
#include "server/family/family.h"
#include "ancestors.h"
#include "listeners.h"
#include "own_family.h"
#include "server_state.h"
#include "socket_lock.h"
#include "cleanup.h"
#include "tcp.h"
#include "unix_socket.h"

enum {
	REQUEST_LOOKS = 60, /* short-interval looks after a request for the path */
	PORT_TRIES = 20 /* short-interval tries for the port of a path taken over */
};

static struct {
	char path[MW_SOCKET_PATH]; /* "": nothing is shared */
	struct mw_listener *mine;  /* on the path; NULL: another process has it */
	struct mw_listener *old;   /* its path was handed over; still open */
	struct mw_socket_lock watched;   /* another process's lock, open for looking at */
	uint64_t next, free_since; /* ms; free_since 0: a process has the path */
	uint64_t wanted_since;     /* ms; of the first look at an owner without Ruby; 0: none */
	unsigned quick_looks;      /* short-interval looks left */
	struct mw_listener *port;  /* of `listen`, ours now or earlier; NULL: never had */
	uint16_t number;           /* of the family's port; 0: not known */
	bool no_port;              /* opening it failed, and that was logged: no retry */
	uint64_t port_since;       /* ms; of the first try that failed; 0: none */
	bool port_told;            /* that was logged; tries go on */
} owner = { .watched.lock_fd = -1 };

void mw_takeover_begin(const char *path, struct mw_listener *l)
{
	mw_takeover_end();
	strcpy(owner.path, path);
	owner.mine = !strcmp(l->socket_lock.path, path) ? l : NULL;
	owner.next = 0;
	owner.free_since = 0;
	owner.wanted_since = 0;
	owner.quick_looks = 0;
	owner.port = NULL;
	owner.number = 0;
	owner.no_port = false;
	owner.port_since = 0;
	owner.port_told = false;
}

const char *mw_takeover_path(void)
{
	return owner.path;
}

bool mw_takeover_speaks(void)
{
	return owner.path[0] ? owner.mine != NULL : !mw_ancestor_served();
}

bool mw_takeover_has_port(uint16_t *known)
{
	*known = owner.mine ? owner.mine->socket_lock.port : 0;
	return mw_takeover_speaks();
}

void mw_takeover_port(struct mw_listener *l)
{
	owner.port = l;
	if (!l) {
		owner.no_port = true;
		return;
	}
	owner.number = mw_listener_port(&l->addr);
	if (owner.mine)
		mw_socket_lock_set_port(&owner.mine->socket_lock, owner.number);
}

static bool lacks_port(void)
{
	return mw_server.api->options()->listen && !owner.no_port && !(owner.port && owner.port->fd >= 0);
}

/*
 * The process with the path opens the port; its former owner may still be about to close it. If
 * it isn't closed for long, it may be another family's: that is logged.
 */
static void look_at_port(uint64_t now)
{
	const struct mw_options *o = mw_server.api->options();
	struct mw_listener *l;

	if (!lacks_port())
		return;
	l = mw_tcp_take(owner.port, owner.number);
	if (l) {
		mw_takeover_port(l);
		owner.port_since = 0;
	} else if (!owner.port_since) {
		owner.port_since = now;
	} else if (errno && !owner.port_told && now - owner.port_since >= MW_TAKEOVER_PORT_MS) {
		owner.port_told = true;
		mw_log("%.100s: can't listen: %s", o->listen, mw_sys_error(errno));
	}
}

static void take_owner_path(uint64_t now)
{
	/* first: closing another descriptor of the file later would drop the lock again */
	mw_moves_begin();
	mw_socket_lock_forget(&owner.watched);
	mw_moves_end();
	owner.mine = mw_unix_take(owner.path); /* NULL: another process was first */
	if (owner.mine)
		owner.free_since = 0;
	if (owner.mine && lacks_port()) {
		owner.quick_looks = PORT_TRIES;
		look_at_port(now);
	}
}

/* True if no other live process has requested the path from an owner without Ruby. */
static bool nobody_else_wants(void)
{
	pid_t wants = mw_socket_lock_requested(&owner.watched);

	return wants <= 0 || wants == getpid() || getpgid(wants) < 0;
}

/* True if the process that forked this one lives and has had little time to request the path. */
static bool forker_is_first(uint64_t now)
{
	if (!owner.wanted_since)
		owner.wanted_since = now;
	return mw_forker_lives() && now - owner.wanted_since < MW_TAKEOVER_FORKER_MS;
}

/* ms for which the path must have been free before this process takes it. requested: another one wants it. */
static uint64_t patience(bool requested)
{
	if (requested)
		return MW_TAKEOVER_REQUESTED_MS;
	if (mw_forker_lives())
		return 2 * MW_TAKEOVER_PATIENCE_MS;
	return mw_have_ruby() ? 0 : MW_TAKEOVER_PATIENCE_MS;
}

/*
 * Another process has the path, or had it. Behind a shell, the first process with Ruby gets it: a
 * server's master, not one of its workers. These may look before the shell or the master does.
 */
static void look_at_other(uint64_t now)
{
	bool is_free, requested;

	mw_moves_begin();
	is_free = mw_socket_lock_is_free(&owner.watched, owner.path);
	mw_moves_end();
	if (!is_free) {
		uint16_t port = mw_socket_lock_port(&owner.watched);

		owner.number = port ? port : owner.number;
		owner.free_since = 0;
		if (!owner.quick_looks && mw_socket_lock_lacks_ruby(&owner.watched) && mw_have_ruby() &&
		    nobody_else_wants() && !forker_is_first(now)) {
			mw_socket_lock_request(&owner.watched);
			owner.quick_looks = REQUEST_LOOKS;
		}
		return;
	}
	requested = !nobody_else_wants();
	if (!owner.free_since)
		owner.free_since = now;
	if (now - owner.free_since >= patience(requested))
		take_owner_path(now);
}

/* This process has the path. */
static void look_at_mine(uint64_t now)
{
	pid_t wants;

	look_at_port(now);
	if (mw_have_ruby()) {
		if (mw_socket_lock_lacks_ruby(&owner.mine->socket_lock)) /* Ruby came after the server */
			mw_socket_lock_has_ruby(&owner.mine->socket_lock);
		return;
	}
	wants = mw_socket_lock_requested(&owner.mine->socket_lock);
	/* getpgid: does it live? */
	if (wants <= 0 || getpgid(wants) < 0 || !mw_unix_beside(owner.path))
		return;
	mw_moves_begin();
	mw_socket_lock_hand_over(&owner.mine->socket_lock);
	mw_moves_end();
	owner.old = owner.mine;
	owner.mine = NULL;
	if (owner.port)
		mw_listener_end(owner.port);
	owner.quick_looks = 0;
}

/* True if this process waits for the path, or for its port. */
static bool waits(void)
{
	return !owner.mine || lacks_port();
}

static int look_at_path(uint64_t now)
{
	if (!owner.path[0])
		return MW_TAKEOVER_LOOK_MS;
	if (now < owner.next)
		return (int)(owner.next - now);
	if (owner.old) {
		mw_listener_end(owner.old);
		owner.old = NULL;
	} else if (owner.mine) {
		look_at_mine(now);
	} else {
		look_at_other(now);
	}
	if (owner.quick_looks)
		owner.quick_looks--;
	owner.next = now + (owner.free_since             ? MW_TAKEOVER_PATIENCE_MS :
			    owner.quick_looks && waits() ? MW_TAKEOVER_REQUEST_LOOK_MS :
							   MW_TAKEOVER_LOOK_MS);
	return (int)(owner.next - now);
}

int mw_takeover_look(uint64_t now)
{
	int ms;

	if (!owner.path[0] && !mw_own_family()->dir[0])
		return -1;
	ms = look_at_path(now);
	if (owner.mine || mw_own_family()->dir[0])
		mw_cleanup_look(owner.mine ? owner.path : "", mw_own_family()->dir, now);
	return ms < MW_TAKEOVER_LOOK_MS ? ms : MW_TAKEOVER_LOOK_MS;
}

void mw_takeover_cleanup(void)
{
	bool is_free = owner.path[0] && !owner.mine && mw_socket_lock_is_free(&owner.watched, owner.path);

	/* its owner was killed, and no process has taken it over yet */
	if (is_free) {
		mw_socket_lock_forget(&owner.watched);
		(void)mw_socket_lock_cleanup(owner.path, 0);
	}
	if (owner.mine || is_free || mw_own_family()->dir[0])
		mw_cleanup_now(owner.mine || is_free ? owner.path : "", mw_own_family()->dir);
}

void mw_takeover_end(void)
{
	mw_cleanup_end();
	mw_socket_lock_forget(&owner.watched);
	owner.path[0] = '\0';
	owner.mine = owner.old = owner.port = NULL;
}

void mw_takeover_child(void)
{
	mw_cleanup_child();
	mw_takeover_end();
}
