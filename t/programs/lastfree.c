/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lastfree.c - frees a block that was written past its end after all destructors. */
#include <stdlib.h>
#include <string.h>

int __cxa_atexit(void (*)(void *), void *, void *);

static char *block;

static void last(void *unused)
{
	(void)unused;
	free(block);
}

__attribute__((destructor)) static void after_main(void)
{
	__cxa_atexit(last, NULL, NULL);
}

int main(void)
{
	block = malloc(24);
	memset(block, 'x', 34);
	return 0;
}
