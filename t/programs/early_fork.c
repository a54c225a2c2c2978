/* SPDX-License-Identifier: GPL-2.0-or-later */
/* early_fork.c - forks a child at once, and stops itself before its server can start; both then wait for a signal. */
#include <signal.h>
#include <unistd.h>

int main(void)
{
	if (fork() > 0)
		raise(SIGSTOP);
	for (;;)
		pause();
}
