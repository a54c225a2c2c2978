/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * endpoint.c - the server's facts that other threads may read: how relatives are reached, and the token
 * that they require.
 *
 * It is a copy, since the server's state belongs to the server's thread. The lock is held only while
 * copying.
 */
#include "endpoint.h"

#include <pthread.h>
#include <string.h>

#include "server/family/family.h"
#include "shared/sys/mutex.h"
#include "own_family.h"
#include "server_state.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mw_family endpoint; /* under the lock */
static bool known;     /* under the lock: a server runs */

void mw_endpoint_tell(const struct mw_access *access)
{
	struct mw_family now = *mw_own_family();

	if (mw_server.api->options()->token_file)
		memcpy(now.token, access->token, access->token_n);
	mw_mutex_lock(&lock, MW_RANK_ENDPOINT);
	endpoint = now;
	known = true;
	mw_mutex_unlock(&lock, MW_RANK_ENDPOINT);
	explicit_bzero(now.token, sizeof(now.token));
}

void mw_endpoint_end(void)
{
	mw_mutex_lock(&lock, MW_RANK_ENDPOINT);
	known = false;
	explicit_bzero(&endpoint, sizeof(endpoint));
	mw_mutex_unlock(&lock, MW_RANK_ENDPOINT);
}

bool mw_endpoint_get(struct mw_family *to)
{
	bool yes;

	mw_mutex_lock(&lock, MW_RANK_ENDPOINT);
	*to = endpoint;
	yes = known;
	mw_mutex_unlock(&lock, MW_RANK_ENDPOINT);
	return yes;
}

void mw_endpoint_child(void)
{
	mw_mutex_renew(&lock, MW_RANK_ENDPOINT);
	known = false;
	explicit_bzero(&endpoint, sizeof(endpoint));
}
