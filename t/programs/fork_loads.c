/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fork_loads.c - forks while other threads load and unload libraries. usage: fork_loads SEED CHILDREN PLUGIN [PATH]
 *
 * Children live for some time, so that threads of the tracker begin in them, and end by _exit(2) or become another program,
 * some as another user: they call nothing that natively waits for the dynamic linker. Prints "bad N" of those that ended
 * otherwise. PATH: waits until that file is there first.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *plugin;
static volatile int over;

static void *load(void *unused)
{
	while (!over) {
		void *lib = dlopen(plugin, RTLD_NOW);

		if (lib)
			dlclose(lib);
	}
	return unused;
}

static void child(int how)
{
	free(malloc(1000));
	if (how == 0)
		usleep(250000);
	if (how == 1 && setuid(getuid())) /* as natively, it needs no lock of the linker */
		_exit(3);
	if (how == 2)
		execl("/bin/true", "true", (char *)NULL);
	_exit(0);
}

/* Ends within 20 seconds, with 0. */
static int ends_well(pid_t pid)
{
	int status = 0;

	for (int i = 0; i < 2000; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status == 0;
		usleep(10000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return 0;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[2]), bad = 0;
	pthread_t threads[2];
	pid_t pids[256];

	srand((unsigned)atoi(argv[1]));
	plugin = argv[3];
	while (argc > 4 && access(argv[4], F_OK))
		usleep(1000);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, load, NULL);
	usleep(20000);
	for (int i = 0; i < n && i < 256; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			child(rand() % 3);
		usleep((useconds_t)(rand() % 2000));
	}
	for (int i = 0; i < n && i < 256; i++)
		bad += !ends_well(pids[i]);
	over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("bad %d\n", bad);
	return 0;
}
