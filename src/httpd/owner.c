/* SPDX-License-Identifier: GPL-2.0-or-later */
/* owner.c - taking a family's path over, and giving way. See owner.h. */
#include "owner.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server.h"

enum {
	LOOK_MS = 1000,
	WISH_MS = 50,      /* between looks once the owner was told to give way, … */
	WISHES = 60,       /* … so many times */
	PATIENCE_MS = 700, /* a process without Ruby waits that long for one with */
	WISHED_MS = 10000, /* … and everybody for who told the owner to give way, and lives */
	SWEEP_MS = 20000,
	SWEEP_STACK = 128 * 1024
};

static struct {
	char path[MW_SOCKET_PATH]; /* "": nothing is shared */
	struct mw_listener *mine;  /* on the path; NULL: another process's */
	struct mw_listener *old;   /* gave way: still open */
	struct mw_claim watched;   /* another's lock, open for looking at */
	uint64_t next, free_since; /* ms; free_since 0: somebody has it */
	unsigned wishes;           /* looks left at short intervals */
	uint64_t sweep;            /* ms; when to look for what killed processes left; 0: not set */
} owner = { .watched.lock_fd = -1 };

void mw_owner_begin(const char *path, struct mw_listener *l)
{
	mw_owner_end();
	strcpy(owner.path, path);
	owner.mine = !strcmp(l->claim.path, path) ? l : NULL;
	owner.next = 0;
	owner.free_since = 0;
	owner.wishes = 0;
}

static void take(void)
{
	/* first: closing another descriptor of the file would drop the lock again */
	mw_moves_begin();
	mw_claim_forget(&owner.watched);
	mw_moves_end();
	owner.mine = mw_listen_take(owner.path); /* NULL: another one was first */
}

/* No other process that lives has told a process without Ruby to give way to it. */
static bool nobody_else_wants(void)
{
	pid_t wants = mw_claim_wished(&owner.watched);

	return wants <= 0 || wants == getpid() || getpgid(wants) < 0;
}

/*
 * Another process has the path, or had it. Of processes with Ruby behind a shell the first one
 * gets it, a server's master: not one of its workers, which may be there before the shell has looked.
 */
static void look_at_other(uint64_t now)
{
	bool is_free, wished;

	mw_moves_begin();
	is_free = mw_claim_is_free(&owner.watched, owner.path);
	mw_moves_end();
	if (!is_free) {
		owner.free_since = 0;
		if (!owner.wishes && mw_claim_lacks_ruby(&owner.watched) && mw_have_ruby() &&
		    nobody_else_wants()) {
			mw_claim_wish(&owner.watched);
			owner.wishes = WISHES;
		}
		return;
	}
	wished = !nobody_else_wants();
	if (!owner.free_since)
		owner.free_since = now;
	if ((mw_have_ruby() && !wished) || now - owner.free_since >= (wished ? WISHED_MS : PATIENCE_MS))
		take();
}

/* This process has it. */
static void look_at_mine(void)
{
	pid_t wants;

	if (mw_have_ruby()) {
		if (mw_claim_lacks_ruby(&owner.mine->claim)) /* it came after the server */
			mw_claim_has_ruby(&owner.mine->claim);
		return;
	}
	wants = mw_claim_wished(&owner.mine->claim);
	/* getpgid: does it live? */
	if (wants <= 0 || getpgid(wants) < 0 || !mw_listen_beside(owner.path))
		return;
	mw_moves_begin();
	mw_claim_yield(&owner.mine->claim);
	mw_moves_end();
	owner.old = owner.mine;
	owner.mine = NULL;
}

/*
 * Processes that are killed leave their sockets' files. A process whose PID is somebody's
 * again keeps its name until that one ends. In a thread with a table of descriptors of
 * its own, so that a child that is forked meanwhile gets none of those opened here.
 */
static void *sweep(void *unused)
{
	struct mw_member *m;
	size_t n;

	(void)unused;
	mw_server.api->quiet_enter(); /* for good */
	if (!mw_own_descriptors(-1))
		return NULL;
	m = mw_members_locks(&mw_server.family, &n);
	for (size_t i = 0; i < n; i++)
		if (m[i].pid && getpgid((pid_t)m[i].pid) < 0 && errno == ESRCH)
			mw_claim_sweep(m[i].socket);
	free(m);
	return NULL;
}

static void begin_sweep(void)
{
	pthread_attr_t a;
	pthread_t t;

	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&a, SWEEP_STACK);
	(void)pthread_create(&t, &a, sweep, NULL); /* no thread: next time */
	pthread_attr_destroy(&a);
}

/* Whoever has the family's path does it; in a directory, everybody. Returns ms to the next one. */
static int look_for_dead(uint64_t now)
{
	if (!owner.sweep)
		owner.sweep = now + SWEEP_MS;
	if (now >= owner.sweep) {
		if (owner.mine || mw_server.family.dir[0])
			begin_sweep();
		owner.sweep = now + SWEEP_MS;
	}
	return (int)(owner.sweep - now);
}

static int look_at_path(uint64_t now)
{
	if (!owner.path[0])
		return SWEEP_MS;
	if (now < owner.next)
		return (int)(owner.next - now);
	if (owner.old) {
		mw_listen_end(owner.old);
		owner.old = NULL;
	} else if (owner.mine) {
		look_at_mine();
	} else {
		look_at_other(now);
	}
	if (owner.wishes)
		owner.wishes--;
	owner.next = now + (owner.free_since            ? PATIENCE_MS :
			    owner.wishes && !owner.mine ? WISH_MS :
							  LOOK_MS);
	return (int)(owner.next - now);
}

int mw_owner_look(uint64_t now)
{
	int path, dead;

	if (!owner.path[0] && !mw_server.family.dir[0])
		return -1;
	path = look_at_path(now);
	dead = look_for_dead(now);
	return path < dead ? path : dead;
}

void mw_owner_end(void)
{
	owner.sweep = 0;
	mw_claim_forget(&owner.watched);
	owner.path[0] = '\0';
	owner.mine = owner.old = NULL;
}

void mw_owner_child(void)
{
	mw_owner_end();
}
