/* SPDX-License-Identifier: GPL-2.0-or-later */
/* enters.c - a library that calls the program from its constructor: another thread then holds the dynamic linker's lock. */
extern void entered(void) __attribute__((weak));

__attribute__((constructor)) static void enter(void)
{
	if (entered)
		entered();
}
