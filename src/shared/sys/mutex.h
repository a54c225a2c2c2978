/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mutex.h - a mutex that forked children renew, with its rank (ranks.h). */
#pragma once

#include <pthread.h>
#include <string.h>

#include "ranks.h"

static inline void mw_mutex_lock(pthread_mutex_t *m, enum mw_rank rank)
{
	mw_rank_wait(rank);
	pthread_mutex_lock(m);
	mw_rank_took(rank);
}

static inline void mw_mutex_unlock(pthread_mutex_t *m, enum mw_rank rank)
{
	mw_rank_left(rank);
	pthread_mutex_unlock(m);
}

/* In a forked child: another thread may have had it at the fork. It is free from here on. */
static inline void mw_mutex_renew(pthread_mutex_t *m, enum mw_rank rank)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	mw_rank_lost(rank);
	memcpy(m, &fresh, sizeof(*m));
}
