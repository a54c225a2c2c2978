/* SPDX-License-Identifier: GPL-2.0-or-later */
/* leaky.c - leaks 100 KB a second at one place, and uses ten times as much at another, until its stdin ends. */
#include "../lib/site.h"

#include <poll.h>

MALLOC_SITE(leaks);
MALLOC_SITE(uses);

int main(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	char *used[10] = { 0 };

	for (unsigned i = 0; poll(&in, 1, 100) <= 0; i++) {
		char *p = leaks(10000);

		if (!p)
			return 1;
		memset(p, 1, 10000);
		free(used[i % 10]);
		used[i % 10] = uses(100000);
	}
	return 0;
}
