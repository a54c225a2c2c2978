/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * endpoint.c - what other threads may know of the server: how relatives are reached, and the token
 * that they require.
 *
 * It is a copy, since the server's state belongs to the server's thread. The lock is held only while
 * copying.
 */
#include "endpoint.h"

#include <pthread.h>
#include <string.h>

#include "server/family/family.h"
#include "server/http/access.h"
#include "listen.h"
#include "server.h"
#include "token.h"

static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mw_family endpoint; /* under the lock */
static bool known;     /* under the lock: a server runs */

void mw_endpoint_tell(void)
{
	const struct mw_access *access = mw_token_access();
	struct mw_family now = *mw_listen_family();

	if (mw_server.api->options()->token_file)
		memcpy(now.token, access->token, access->token_n);
	pthread_mutex_lock(&lock);
	endpoint = now;
	known = true;
	pthread_mutex_unlock(&lock);
	explicit_bzero(now.token, sizeof(now.token));
}

void mw_endpoint_end(void)
{
	pthread_mutex_lock(&lock);
	known = false;
	explicit_bzero(&endpoint, sizeof(endpoint));
	pthread_mutex_unlock(&lock);
}

bool mw_endpoint_get(struct mw_family *to)
{
	bool yes;

	pthread_mutex_lock(&lock);
	*to = endpoint;
	yes = known;
	pthread_mutex_unlock(&lock);
	return yes;
}

void mw_endpoint_child(void)
{
	memcpy(&lock, &fresh, sizeof(lock));
	known = false;
	explicit_bzero(&endpoint, sizeof(endpoint));
}
