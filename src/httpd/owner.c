/* SPDX-License-Identifier: GPL-2.0-or-later */
/* owner.c - taking a family's path over, and giving way. See owner.h. */
#include "owner.h"

#include <string.h>
#include <unistd.h>

#include "server.h"

enum {
	LOOK_MS = 1000,
	WISH_MS = 50,      /* between looks once the owner was told to give way, … */
	WISHES = 60,       /* … so many times */
	PATIENCE_MS = 700  /* a process without Ruby waits that long for one with */
};

static struct {
	char path[MW_SOCKET_PATH]; /* "": nothing is shared */
	struct mw_listener *mine;  /* on the path; NULL: another process's */
	struct mw_listener *old;   /* gave way: still open */
	struct mw_claim watched;   /* another's lock, open for looking at */
	uint64_t next, free_since; /* ms; free_since 0: somebody has it */
	unsigned wishes;           /* looks left at short intervals */
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

/* Another process has the path, or had it. */
static void look_at_other(uint64_t now)
{
	bool is_free, ruby;

	mw_moves_begin();
	is_free = mw_claim_is_free(&owner.watched, owner.path);
	mw_moves_end();
	if (!is_free) {
		owner.free_since = 0;
		if (!owner.wishes && mw_claim_lacks_ruby(&owner.watched) && mw_have_ruby()) {
			mw_claim_wish(&owner.watched);
			owner.wishes = WISHES;
		}
		return;
	}
	ruby = mw_have_ruby();
	if (!owner.free_since)
		owner.free_since = now;
	if (ruby || now - owner.free_since >= PATIENCE_MS)
		take();
}

/* This process has it. */
static void look_at_mine(void)
{
	pid_t wants;

	if (mw_have_ruby())
		return;
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

int mw_owner_look(uint64_t now)
{
	if (!owner.path[0])
		return -1;
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

void mw_owner_end(void)
{
	mw_claim_forget(&owner.watched);
	owner.path[0] = '\0';
	owner.mine = owner.old = NULL;
}

void mw_owner_child(void)
{
	mw_owner_end();
}
