/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * news.cc - a library whose blocks come by new, and is asked for their room, changed and freed by malloc's relatives, as by
 * one who knows that both have one heap.
 */
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <string>
#include <vector>

extern "C" int news_wrong()
{
	int wrong = 0;

	for (int i = 1; i < 500; i++) {
		std::vector<std::string> strings(i % 30, std::string(i, 'x'));
		char *p = new char[i];
		auto *aligned = new (std::align_val_t(64)) char[64];
		size_t room = malloc_usable_size(p);

		wrong += room < (size_t)i || strings.size() != (size_t)i % 30;
		memset(p, i, room);
		p = (char *)realloc(p, 2 * i);
		wrong += p[0] != (char)i || p[i - 1] != (char)i;
		if (i & 1)
			free(p);
		else
			operator delete[](p);
		operator delete[](aligned, std::align_val_t(64));
	}
	return wrong;
}
