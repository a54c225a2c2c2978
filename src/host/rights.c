/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rights.c - loads what the server will need, before the process may lose sight of the files.
 *
 * Root may change its root directory, or become a user who may not read mwrap's folder. The server
 * loads libmicrohttpd only when its first client connects, which may be later.
 */
#include <errno.h>
#include <unistd.h>

#include "base/compiler.h"
#include "process.h"
#include "real/real.h"

static void before_the_loss(void)
{
	int saved = errno;

	if (geteuid() == 0)
		mw_server_load_all();
	errno = saved;
}

MW_EXPORT int chroot(const char *path)
{
	int (*next)(const char *) = (int (*)(const char *))mw_real_next("chroot");

	before_the_loss();
	return next(path);
}

MW_EXPORT int setuid(uid_t uid)
{
	int (*next)(uid_t) = (int (*)(uid_t))mw_real_next("setuid");

	before_the_loss();
	return next(uid);
}

MW_EXPORT int seteuid(uid_t effective)
{
	int (*next)(uid_t) = (int (*)(uid_t))mw_real_next("seteuid");

	before_the_loss();
	return next(effective);
}

MW_EXPORT int setreuid(uid_t real, uid_t effective)
{
	int (*next)(uid_t, uid_t) = (int (*)(uid_t, uid_t))mw_real_next("setreuid");

	before_the_loss();
	return next(real, effective);
}

MW_EXPORT int setresuid(uid_t real, uid_t effective, uid_t kept)
{
	int (*next)(uid_t, uid_t, uid_t) = (int (*)(uid_t, uid_t, uid_t))mw_real_next("setresuid");

	before_the_loss();
	return next(real, effective, kept);
}
