/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loads_news.c - loads the plugin news, and says "fine" if it finds nothing wrong. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*wrong)(void) = lib ? (int (*)(void))dlsym(lib, "news_wrong") : NULL;

	if (!wrong)
		return 2;
	puts(wrong() ? "wrong" : "fine");
	return 0;
}
