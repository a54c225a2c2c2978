/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hold.c - a library that has blocks in its variables, on a thread's stack, and in thread-local ones. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *volatile initialized = (char *)1, *volatile zeroed, *volatile table[64];
static __thread char *volatile local;

void hold_static(size_t size);
void hold_static(size_t size)
{
	initialized = malloc(size);
	zeroed = malloc(size);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		table[i] = malloc(size);
}

/* By a pointer into the middle of the block. */
void hold_inside(size_t size);
void hold_inside(size_t size)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		table[i] = (char *)malloc(size) + size / 2;
}

/* In the calling thread's variable. */
void hold_local(size_t size);
void hold_local(size_t size)
{
	local = malloc(size);
}

static char *handed; /* to the new thread; it takes it away */
static int ready[2];

static void *sleep_with_it(void *unused)
{
	char *volatile mine[16];

	(void)unused;
	for (size_t i = 0; i < 16; i++)
		mine[i] = ((char **)handed)[i];
	memset(handed, 0, 16 * sizeof(char *));
	if (write(ready[1], "x", 1) == 1)
		pause();
	return mine[0];
}

/* 16 blocks that only a native thread's stack has. */
int hold_stack(size_t size);
int hold_stack(size_t size)
{
	char *blocks[16], c;
	pthread_t t;

	for (size_t i = 0; i < 16; i++)
		blocks[i] = malloc(size);
	handed = (char *)blocks;
	if (pipe(ready) || pthread_create(&t, NULL, sleep_with_it, NULL))
		return -1;
	return read(ready[0], &c, 1) == 1 ? 0 : -1;
}
