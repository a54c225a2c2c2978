/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * half_loaded.c - forks in the last moment of another thread's dlopen. usage: half_loaded HOLD ENTERS CHILDREN
 *
 * glibc enters a library with thread-local variables into its tables, and then makes their generation one more. A child
 * that is forked in between ends as soon as a thread begins in it. The moment is some microseconds long. So this writes
 * that word itself, while another thread is in its dlopen of ENTERS: it finds it in the linker's variables, as the word that
 * becomes one more with each dlopen of HOLD and with each dlclose.
 *
 * Every second child is forked with the right word. Each calls fork itself. They live until a line comes, and the parent then
 * prints what is wrong with them. "not found": the word.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t inside;

/* The constructor's thread stays in its dlopen until the children have begun. */
void entered(void);
void entered(void)
{
	pthread_barrier_wait(&inside);
	pthread_barrier_wait(&inside);
}

static void *load(void *library)
{
	dlopen(library, RTLD_NOW);
	return NULL;
}

static size_t *find(const char *plugin)
{
	const ElfW(Sym) *s = NULL;
	char *all = dlsym(RTLD_DEFAULT, "_rtld_global"), *before;
	size_t *found = NULL;
	Dl_info i;

	if (!all || !dladdr1(all, &i, (void **)&s, RTLD_DL_SYMENT) || !s)
		return NULL;
	before = malloc(s->st_size);
	memcpy(before, all, s->st_size);
	for (int k = 0; k < 3; k++)
		dlclose(dlopen(plugin, RTLD_NOW));
	for (size_t at = 0; at + sizeof(size_t) <= s->st_size; at += sizeof(size_t)) {
		size_t was, is;

		memcpy(&was, before + at, sizeof(was));
		memcpy(&is, all + at, sizeof(is));
		if (is == was + 6)
			found = (size_t *)(void *)(all + at);
	}
	free(before);
	return found;
}

/* Lives as long as the parent, and so does its child. No call of its own needs the linker. */
static void child(int until)
{
	char c;
	pid_t pid = fork();
	int status = 0;

	free(malloc(1000));
	while (read(until, &c, 1) > 0)
		;
	if (pid == 0)
		_exit(0);
	_exit(waitpid(pid, &status, 0) == pid && wait(NULL) < 0 ? status != 0 : 2);
}

int main(int argc, char **argv)
{
	size_t *word = find(argv[1]);
	int n = atoi(argv[3]), lives[2];
	pid_t pids[64];
	pthread_t t;

	if (!word || argc < 4 || pipe(lives)) {
		puts("not found");
		return 1;
	}
	dlopen(argv[1], RTLD_NOW); /* in the tables: the last one that was entered */
	pthread_barrier_init(&inside, NULL, 2);
	pthread_create(&t, NULL, load, argv[2]);
	pthread_barrier_wait(&inside);
	for (int i = 0; i < n && i < 64; i++) {
		*word -= i & 1;
		pids[i] = fork();
		if (pids[i] == 0) {
			close(lives[1]);
			child(lives[0]);
		}
		*word += i & 1;
	}
	pthread_barrier_wait(&inside);
	pthread_join(t, NULL);
	for (int i = 0; i < n && i < 64; i++)
		printf("%s%d", i ? " " : "", pids[i]);
	puts("");
	fflush(stdout);
	(void)getchar();
	close(lives[1]);
	for (int i = 0; i < n && i < 64; i++) {
		int status;

		if (waitpid(pids[i], &status, 0) != pids[i] || status)
			printf("%d: %x\n", i, status);
	}
	return 0;
}
