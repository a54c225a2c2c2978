/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * endpoint.c - what other threads may know of the server: how relatives are reached, and the token
 * that they require.
 *
 * It is a copy, since mw_server belongs to the server's thread. The lock is held only while
 * copying.
 */
#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "server.h"

static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mw_server_endpoint place; /* under the lock */
static bool known;     /* under the lock: a server runs */

static_assert(sizeof(place.path) == MW_SOCKET_PATH && sizeof(place.dir) == MW_SOCKET_PATH,
	      "as in mw_family");
static_assert(sizeof(place.token) == sizeof(mw_server.family.token), "as in mw_family");

void mw_endpoint_tell(void)
{
	struct mw_server_endpoint now = { 0 };

	memcpy(now.path, mw_server.family.path, sizeof(now.path));
	memcpy(now.dir, mw_server.family.dir, sizeof(now.dir));
	if (mw_server.api->options()->token_file)
		memcpy(now.token, mw_server.access.token, mw_server.access.token_n);
	pthread_mutex_lock(&lock);
	place = now;
	known = true;
	pthread_mutex_unlock(&lock);
	explicit_bzero(now.token, sizeof(now.token));
}

void mw_endpoint_end(void)
{
	pthread_mutex_lock(&lock);
	known = false;
	explicit_bzero(&place, sizeof(place));
	pthread_mutex_unlock(&lock);
}

bool mw_endpoint_get(struct mw_server_endpoint *to)
{
	bool yes;

	pthread_mutex_lock(&lock);
	*to = place;
	yes = known;
	pthread_mutex_unlock(&lock);
	return yes;
}

void mw_endpoint_child(void)
{
	memcpy(&lock, &fresh, sizeof(lock));
	known = false;
	explicit_bzero(&place, sizeof(place));
}
