/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * failing.c - preloaded beneath the tracker: calls that fail when told to.
 *
 * Allocations: the application names the one that is to fail, by asking for the
 * priority of a process that there can't be, which any language can:
 *
 *   getpriority(PRIO_PROCESS, 0x60000000 + n)  the n-th allocation call from now on
 *   getpriority(PRIO_PROCESS, 0x50000000 + n)  that and the next, by which Ruby tries again
 *   getpriority(PRIO_PROCESS, 0x70000000 + n)  that and each one after it
 *
 * n = 0 ends it; all return how many were asked for since the last time. Only
 * the application's count: the tracker's own, made in quiet mode, don't, so n is
 * the same with and without the tracker. A failing call leaves things as the C
 * library does. $FAILING_OWN=N fails the tracker's N-th own allocation instead.
 *
 * $FAILING=NAME:N fails the N-th call of NAME that the tracker or its server
 * makes, and $FAILING=NAME:N+ that and each one after it, also of liburcu and
 * libmicrohttpd. (liburcu ends the process when it gets no memory; the tracker
 * looks whether there is some before, so it is the one who meets the failure.) NAME is one of those below.
 * How many calls there were is written to the file $FAILING_SEEN at exit.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../src/api/api.h"

void *memalign(size_t align, size_t n);
void *pvalloc(size_t n);
size_t malloc_usable_size(void *p);

/* All at once, before a dlsym that fails: the next one would free its message. */
/* clang-format off */
#define FOR_EACH_NEXT(X)                                                           \
	X(malloc) X(calloc) X(realloc) X(free) X(memalign) X(aligned_alloc)        \
	X(posix_memalign) X(valloc) X(pvalloc) X(malloc_usable_size)               \
	X(getpriority) X(mmap) X(socket) X(bind) X(listen) X(epoll_create1)        \
	X(epoll_ctl) X(pthread_create) X(dlopen) X(pthread_key_create)
/* clang-format on */
#define X(name) static __typeof__(&name) next_##name;
FOR_EACH_NEXT(X)
#undef X

static void find(void)
{
#define X(name) *(void **)&next_##name = dlsym(RTLD_NEXT, #name);
	FOR_EACH_NEXT(X)
#undef X
}

/* clang-format off */
#define NEXT(name)                                    \
	__typeof__(&name) next = next_##name;         \
	if (!next)                                    \
		next = (find(), next_##name)
/* clang-format on */

/* --- allocations ---------------------------------------------------------------- */

static const struct mw_api *api;
static _Atomic unsigned asked, fails_at;
static _Atomic unsigned fails_n;
static _Atomic bool ready;
static _Atomic unsigned own_asked;
static unsigned own_at;

static bool is_own(void)
{
	unsigned depth;

	if (!api)
		return false;
	depth = api->quiet_enter();
	api->quiet_leave();
	return depth > 1;
}

/* Is this the one? */
static bool fails(void)
{
	unsigned at = fails_at, i;

	if (!ready)
		return false;
	if (is_own())
		return own_at && ++own_asked == own_at;
	i = ++asked;
	return at && i >= at && i - at < fails_n;
}

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

void *malloc(size_t n)
{
	NEXT(malloc);
	return fails() ? no_memory() : next(n);
}

void *calloc(size_t n, size_t m)
{
	NEXT(calloc);
	return fails() ? no_memory() : next(n, m);
}

void *realloc(void *p, size_t n)
{
	NEXT(realloc);
	return n && fails() ? no_memory() : next(p, n);
}

void *reallocarray(void *p, size_t n, size_t m)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, m, &bytes))
		return no_memory();
	return realloc(p, bytes);
}

void free(void *p)
{
	NEXT(free);
	next(p);
}

void *memalign(size_t align, size_t n)
{
	NEXT(memalign);
	return fails() ? no_memory() : next(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	NEXT(aligned_alloc);
	return fails() ? no_memory() : next(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
	NEXT(posix_memalign);
	return fails() ? ENOMEM : next(out, align, n);
}

void *valloc(size_t n)
{
	NEXT(valloc);
	return fails() ? no_memory() : next(n);
}

void *pvalloc(size_t n)
{
	NEXT(pvalloc);
	return fails() ? no_memory() : next(n);
}

/* Only so that the whole family comes from one object. */
size_t malloc_usable_size(void *p)
{
	NEXT(malloc_usable_size);
	return next(p);
}

/* glibc's declaration of `which` is an enum, musl's an int. */
int getpriority(__priority_which_t which, id_t who)
{
	int since;
	NEXT(getpriority);

	if (which != PRIO_PROCESS || who < 0x50000000)
		return next(which, who);
	since = (int)asked;
	fails_at = 0;
	asked = 0;
	fails_n = who >= 0x70000000 ? UINT32_MAX : who >= 0x60000000 ? 1 : 2;
	fails_at = who & 0xfffffff;
	return since;
}

/* --- other calls ------------------------------------------------------------------- */

static char what[32];
static unsigned what_at;
static bool what_on;
static _Atomic unsigned what_seen;

enum whose { OTHERS, OURS, LIBRARYS };

static enum whose whose(const void *caller)
{
	struct dl_find_object o;
	const char *name;

	if (_dl_find_object((void *)(uintptr_t)caller, &o) || !o.dlfo_link_map)
		return OTHERS;
	name = strrchr(o.dlfo_link_map->l_name, '/');
	if (name && !strncmp(name, "/libmwrap", 9))
		return OURS;
	return name && (!strncmp(name, "/liburcu", 8) || !strncmp(name, "/libmicrohttpd", 14)) ?
		       LIBRARYS :
		       OTHERS;
}

static bool call_fails(const char *name, const void *caller)
{
	unsigned i;

	if (strcmp(name, what))
		return false;
	switch (whose(caller)) {
	case OTHERS:
		return false;
	case LIBRARYS:
		return what_on && what_seen >= what_at;
	case OURS:
		break;
	}
	i = ++what_seen;
	return i == what_at || (i > what_at && what_on && what_at);
}

/* clang-format off */
#define CALL(result, name, params, args, error, failed)                   \
	__attribute__((noinline)) result name params                      \
	{                                                                 \
		NEXT(name);                                               \
		if (call_fails(#name, __builtin_return_address(0))) {     \
			errno = error;                                    \
			return failed;                                    \
		}                                                         \
		return next args;                                         \
	}

CALL(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t off), (at, n, prot, flags, fd, off),
     ENOMEM, MAP_FAILED)
CALL(int, socket, (int family, int type, int protocol), (family, type, protocol), EMFILE, -1)
CALL(int, bind, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n), EACCES, -1)
CALL(int, listen, (int fd, int n), (fd, n), EADDRINUSE, -1)
CALL(int, epoll_create1, (int flags), (flags), EMFILE, -1)
CALL(int, epoll_ctl, (int ep, int op, int fd, struct epoll_event *e), (ep, op, fd, e), ENOSPC, -1)
CALL(int, pthread_create, (pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *arg), (t, a, run, arg),
     EAGAIN, EAGAIN)
CALL(int, pthread_key_create, (pthread_key_t *key, void (*end)(void *)), (key, end), EAGAIN, EAGAIN)
/* clang-format on */

/* RTLD_NOLOAD: loads nothing, as for the kernel's own object */
__attribute__((noinline)) void *dlopen(const char *file, int flags)
{
	NEXT(dlopen);
	if (!(flags & RTLD_NOLOAD) && call_fails("dlopen", __builtin_return_address(0))) {
		errno = ENOMEM;
		return NULL;
	}
	return next(file, flags);
}

__attribute__((constructor)) static void start(void)
{
	const char *own = getenv("FAILING_OWN"), *w = getenv("FAILING");
	char plus = 0;

	find();
	api = dlsym(RTLD_DEFAULT, "mwrap_api");
	own_at = own ? (unsigned)atoi(own) : 0;
	if (w && sscanf(w, "%31[^:]:%u%c", what, &what_at, &plus) >= 2)
		what_on = plus == '+';
	ready = true;
}

__attribute__((destructor)) static void end(void)
{
	const char *to = getenv("FAILING_SEEN");
	int fd = to ? open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%u %u\n", (unsigned)what_seen, (unsigned)own_asked);
	close(fd);
}
