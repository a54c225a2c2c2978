/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mappings.c - mmap, mmap64 and munmap as an application calls them: before main, in a
 * signal handler, in a forked child, and with all that they refuse. Says each result as
 * something that is the same in every run.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE ((size_t)64 << 10)
#define DATA (MAP_PRIVATE | MAP_ANONYMOUS)
#define BOTH (PROT_READ | PROT_WRITE)

typedef void *(*mapper)(void *, size_t, int, int, int, off_t);

static void *early;
static volatile sig_atomic_t handled;

__attribute__((constructor)) static void before_main(void)
{
	early = mmap(NULL, 2 * PAGE, BOTH, DATA, -1, 0);
}

static void on_signal(int sig)
{
	int e = errno;
	char *p = mmap(NULL, 2 * PAGE, BOTH, DATA, -1, 0);

	if (p != MAP_FAILED) {
		p[0] = (char)sig;
		handled += munmap(p, 2 * PAGE) == 0;
	}
	errno = e;
}

static void say(const char *what, void *p)
{
	if (p == MAP_FAILED)
		printf("%s: %s\n", what, strerrorname_np(errno));
	else
		printf("%s: done, errno %d\n", what, errno);
	errno = 0;
}

static void refused(const char *name, mapper map)
{
	int closed = dup(0);
	void *p;

	printf("%s\n", name);
	close(closed);
	errno = 0;
	say("nothing", map(NULL, 0, BOTH, DATA, -1, 0));
	say("all there is", map(NULL, SIZE_MAX / 2, BOTH, DATA, -1, 0));
	say("no kind", map(NULL, PAGE, BOTH, MAP_ANONYMOUS, -1, 0));
	say("no descriptor", map(NULL, PAGE, BOTH, MAP_PRIVATE, -1, 0));
	say("a closed one", map(NULL, PAGE, BOTH, MAP_PRIVATE, closed, 0));
	say("an odd offset", map(NULL, PAGE, PROT_READ, MAP_PRIVATE, closed, 1));
	errno = 77;
	p = map(NULL, 2 * PAGE, BOTH, DATA, -1, 0);
	say("two pages", p); /* errno is left alone */
	memset(p, 1, 2 * PAGE);
	say("over it", map((char *)p + PAGE, PAGE, PROT_NONE, DATA | MAP_FIXED, -1, 0));
	printf("munmap: %d", munmap(p, 2 * PAGE));
	printf(" %d", munmap((char *)p + 1, PAGE));
	printf(" %s\n", strerrorname_np(errno));
}

/* Each takes and gives back parts as Ruby does for a page of its heap. */
static void *pages(void *bad)
{
	for (int i = 0; i < 2000; i++) {
		char *p = mmap(NULL, 2 * PAGE, BOTH, DATA, -1, 0), *page;

		if (p == MAP_FAILED) {
			__atomic_fetch_add((int *)bad, 1, __ATOMIC_RELAXED);
			break;
		}
		page = (char *)(((uintptr_t)p + PAGE) & ~(PAGE - 1));
		page[0] = page[PAGE - 1] = 1;
		if ((page > p && munmap(p, (size_t)(page - p))) || munmap(page, PAGE) ||
		    (page < p + PAGE && munmap(page + PAGE, (size_t)(p + PAGE - page))))
			__atomic_fetch_add((int *)bad, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(void)
{
	struct rlimit limit = { (size_t)3 << 30, (size_t)3 << 30 };
	pthread_t t[4];
	int bad = 0, status;
	pid_t child;

	printf("before main: %s\n", early == MAP_FAILED ? "no" : "done");
	munmap(early, 2 * PAGE);
	refused("mmap", mmap);
	refused("mmap64", mmap64);
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, pages, &bad);
	for (int i = 0; i < 1000; i++)
		raise(SIGUSR1);
	fflush(stdout);
	child = fork();
	if (!child) {
		pages(&bad);
		_exit(bad);
	}
	waitpid(child, &status, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("handled %d, bad %d, child %d\n", (int)handled, bad, status);
	setrlimit(RLIMIT_AS, &limit);
	say("beyond the limit", mmap(NULL, (size_t)4 << 30, BOTH, DATA, -1, 0));
	return 0;
}
