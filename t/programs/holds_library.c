/* SPDX-License-Identifier: GPL-2.0-or-later */
/* holds_library.c LIBRARY - lets it allocate 300 times, says so, and ends at the next line, without destructors. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *(*work)(size_t) = NULL;

	if (library)
		*(void **)&work = dlsym(library, "work");
	if (!work)
		return 1;
	for (int i = 0; i < 300; i++)
		work(80000);
	puts("ready");
	fflush(stdout);
	(void)getchar();
	_exit(0);
}
