/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "context.h"

#include <pthread.h>
#include <stddef.h>

static pthread_key_t key;
static bool made;

/* At load: no thread can need it yet, and no child be forked half way through. */
__attribute__((constructor)) static void make_context_key(void)
{
	made = !pthread_key_create(&key, NULL);
}

void *mw_context(void)
{
	return made ? pthread_getspecific(key) : NULL;
}

bool mw_context_set(void *p)
{
	return made && !pthread_setspecific(key, p);
}
