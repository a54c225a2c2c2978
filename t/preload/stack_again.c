/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_again.c - beneath the tracker: counts what the C library frees while a thread begins another one.
 *
 * When it uses an ended thread's stack again, glibc frees the memory of that thread's variables which a library loaded at
 * run time has. It clears its pointers to them a moment later: the child of a fork in between frees them again.
 * t/programs/starts_threads.c asks for the count by its weak function.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

void __libc_free(void *);

static __thread volatile int beginning __attribute__((tls_model("initial-exec")));
static _Atomic int freed;

int freed_by_starts(void)
{
	return atomic_load(&freed);
}

void free(void *p)
{
	if (p && beginning)
		atomic_fetch_add(&freed, 1);
	__libc_free(p);
}

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int ret;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
	beginning++;
	ret = next(t, attr, run, arg);
	beginning--;
	return ret;
}
