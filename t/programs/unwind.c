/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind.c LIBRARY.so - threads that load and unload a library, walk the list of what is
 * loaded and allocate on the way, and take backtraces, all at once: the dynamic
 * linker's locks are held in every order that an allocation may find them in.
 */
#include <execinfo.h>
#include <link.h>

#include "../lib/site.h"

#define ROUNDS 200

static const char *library;
static _Atomic uint64_t walked;

MALLOC_SITE(while_walking);
MALLOC_SITE(beside);

static int each(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size, (void)arg;
	free(while_walking(33));
	walked++;
	return 0;
}

static void *walk(void *arg)
{
	size_t i;

	for (i = 0; i < ROUNDS; i++)
		dl_iterate_phdr(each, NULL);
	return arg;
}

static void *load(void *arg)
{
	size_t i;

	for (i = 0; i < ROUNDS; i++) {
		void *h = dlopen(library, RTLD_NOW | RTLD_LOCAL);
		void *(*const *make)(size_t);

		if (!h) {
			say("NOT OK %s\n", dlerror());
			break;
		}
		*(const void **)&make = dlsym(h, "swap_maker");
		free((*make)(10));
		dlclose(h);
	}
	return arg;
}

static void *trace(void *arg)
{
	void *frame[32];
	size_t i;

	for (i = 0; i < ROUNDS; i++) {
		char **names = backtrace_symbols(frame, backtrace(frame, 32));

		free(names);
		free(beside(44));
	}
	return arg;
}

int main(int argc, char **argv)
{
	static void *(*const work[])(void *) = { walk, load, trace, walk, load, trace };
	pthread_t t[6];
	size_t i;

	if (argc < 2)
		return 2;
	library = argv[1];
	alarm(120); /* a deadlock ends it, and shows */
	for (i = 0; i < 6; i++)
		pthread_create(&t[i], NULL, work[i], NULL);
	for (i = 0; i < 6; i++)
		pthread_join(t[i], NULL);
	check(walked >= 2 * ROUNDS, "walked");
	say("# %d expect while_walking %lu %lu %lu 0 0 0\n", (int)getpid(), walked, walked, 33 * walked);
	expect("beside", 2 * ROUNDS, 2 * ROUNDS, 2 * 44 * ROUNDS, 0);
	return 0;
}
