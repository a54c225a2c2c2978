/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "prover.h"

#include <stdlib.h>
#include <unistd.h>

#include "shared/sys/own_descriptors.h"
#include "loop.h"

enum { STACK = 512 * 1024 }; /* as the server's */

struct proof {
	_Atomic unsigned owners; /* the server's thread, and its own; the last one frees it */
	atomic_bool answered; /* release: the answer is there, and the thread no longer touches it */
	const struct mw_api *api;
	int wake; /* the eventfd; -1: wakes nobody */
	struct mw_suspects suspects;
};

static struct proof *proof; /* NULL: none is under way */

static void let_proof_go(struct proof *p)
{
	if (atomic_fetch_sub(&p->owners, 1) > 1)
		return;
	mw_suspects_free(&p->suspects);
	free(p);
}

static void *run_proof(void *arg)
{
	struct proof *p = arg;
	const uint64_t one = 1;

	if (!mw_own_descriptors(p->wake))
		p->wake = -1;
	mw_suspects_ask(&p->suspects, p->api);
	atomic_store(&p->answered, true);
	if (p->wake >= 0 && write(p->wake, &one, sizeof(one)) < 0)
		p->wake = -1; /* the counter is full: it wakes anyway */
	let_proof_go(p);
	return NULL;
}

static void begin_proof(struct mw_site *s)
{
	struct mw_suspects q;
	struct proof *p;

	if (!mw_site_suspects(s, &q))
		return;
	p = malloc(sizeof(*p));
	if (!p) {
		q.is = MW_HOLDERS_FAILED;
		mw_site_proved(s, &q);
		mw_suspects_free(&q);
		return;
	}
	*p = (struct proof){ .owners = 2, .api = s->api, .wake = mw_loop_wake_fd(), .suspects = q };
	if (s->api->thread_start(run_proof, p, STACK)) {
		p->suspects.is = MW_HOLDERS_FAILED;
		mw_site_proved(s, &p->suspects);
		p->owners = 1;
		let_proof_go(p);
		return;
	}
	proof = p;
}

void mw_prover_run(struct mw_site *s)
{
	s->proofs.able = true;
	if (!proof) {
		begin_proof(s);
	} else if (atomic_load(&proof->answered)) {
		mw_site_proved(s, &proof->suspects);
		mw_prover_close();
	}
}

void mw_prover_close(void)
{
	if (proof)
		let_proof_go(proof);
	proof = NULL;
}

void mw_prover_reset(void)
{
	proof = NULL;
}
