/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exits.c MODE - the ways in which a process ends.
 *
 * return, exit:  as usual
 * thread:        exit() from a thread that isn't the first
 * last:          main has left by pthread_exit; the last thread's end ends all
 * atexit:        handlers that free and allocate
 * library:       a library's destructor (t/plugins/late.c, loaded before main)
 * running:       threads go on allocating while the process ends
 * _exit, abort:  no handlers run, so there is no dump
 */
#include <sys/resource.h>

#include "../lib/site.h"

static void *block[100];

MALLOC_SITE(early);
MALLOC_SITE(at_end);

static void five(void)
{
	size_t i;

	for (i = 0; i < 5; i++)
		block[i] = early(10);
	free(block[4]);
}

static void tell(void)
{
	expect("early", 5, 1, 50, 40);
}

static void *ender(void *arg)
{
	five();
	tell();
	exit(arg != NULL);
}

static void *outliving(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	five();
	tell();
	return NULL;
}

static void first_handler(void) /* runs last */
{
	free(block[1]);
	block[10] = at_end(33);
	block[11] = at_end(34);
	free(block[11]);
}

static void second_handler(void)
{
	free(block[0]);
	atexit(first_handler); /* a handler may add one */
}

static void *running(void *arg)
{
	while (1) {
		void *p = at_end(100);

		free(p);
		STAY();
	}
	return arg;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	const struct rlimit no_core = { 0, 0 };
	static pthread_t self;
	pthread_t t;
	int i;

	self = pthread_self();
	if (!strcmp(mode, "thread")) {
		pthread_create(&t, NULL, ender, NULL);
		pthread_join(t, NULL);
		return 3;
	}
	if (!strcmp(mode, "last")) {
		pthread_create(&t, NULL, outliving, &self);
		pthread_exit(NULL);
	}
	five();
	if (!strcmp(mode, "atexit")) {
		atexit(second_handler);
		expect("early", 5, 3, 50, 20);
		expect("at_end", 2, 1, 67, 33);
		return 0;
	}
	if (!strcmp(mode, "running")) {
		for (i = 0; i < 4; i++)
			pthread_create(&t, NULL, running, NULL);
		usleep(20000);
	}
	if (!strcmp(mode, "library")) /* what late.so does, its last act included */
		expect("late_make", 10, 10, 550, 0);
	tell();
	if (!strcmp(mode, "_exit"))
		_exit(0);
	if (!strcmp(mode, "abort")) {
		setrlimit(RLIMIT_CORE, &no_core);
		abort();
	}
	if (!strcmp(mode, "exit"))
		exit(0);
	return 0;
}
