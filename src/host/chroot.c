/* SPDX-License-Identifier: GPL-2.0-or-later */
/* chroot.c - loads what the server will need, before its files are out of reach. */
#include <errno.h>
#include <unistd.h>

#include "base/compiler.h"
#include "process.h"
#include "real/real.h"

MW_EXPORT int chroot(const char *path)
{
	static int (*next)(const char *);
	int saved = errno;

	if (!next)
		next = (int (*)(const char *))mw_real_next("chroot");
	mw_server_before_chroot();
	errno = saved;
	return next(path);
}
