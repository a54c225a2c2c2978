/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rights.c - calls that change what this process, or a thread of it, may do.
 *
 * Root may change its root directory, or become a user who may not read mwrap's folder. The server
 * loads libmicrohttpd only when its first client connects, which may be later, and the extension loads the
 * server's library when it needs that first. So they are loaded before.
 *
 * The kernel keeps users, groups, capabilities, namespaces and the flags of prctl(2) for each thread. During such a
 * call our threads don't exist, and after it they begin anew, as threads of the caller (tracker/base/own_thread.h). So the
 * C library finds in no thread what the app's own threads lack, and unshare(2) finds one thread where the
 * app has one. Rights that a thread other than the main one changes for itself alone don't concern ours.
 *
 * Seccomp filters aren't among these calls: ours would get a filter that was made for the app's thread.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "shared/sys/compiler.h"
#include "shared/sys/sys.h"
#include "process.h"
#include "tracker/real/real.h"
#include "threads.h"

static void before_the_loss(void)
{
	int saved = errno;

	mw_real_init();
	if (geteuid() == 0)
		mw_server_load_all();
	errno = saved;
}

static bool is_main_thread(void)
{
	return mw_sys(SYS_gettid, 0, 0, 0, 0, 0) == mw_sys_getpid();
}

/* The result of a call, without own threads if `when`. */
#define ALONE(when, call)                                  \
	__extension__({                                    \
		bool some_;                                \
		int result_;                               \
                                                           \
		before_the_loss();                         \
		some_ = (when) && mw_host_threads_leave(); \
		result_ = (call);                          \
		if (some_)                                 \
			mw_host_threads_back();            \
		result_;                                   \
	})

MW_EXPORT int chroot(const char *path)
{
	before_the_loss();
	return mw_next.chroot(path);
}

/* --- for all threads of the process ---------------------------------------------------------- */

MW_EXPORT int setuid(uid_t uid)
{
	return ALONE(true, mw_next.setuid(uid));
}

MW_EXPORT int setgid(gid_t gid)
{
	return ALONE(true, mw_next.setgid(gid));
}

MW_EXPORT int seteuid(uid_t effective)
{
	return ALONE(true, mw_next.seteuid(effective));
}

MW_EXPORT int setegid(gid_t effective)
{
	return ALONE(true, mw_next.setegid(effective));
}

MW_EXPORT int setreuid(uid_t real, uid_t effective)
{
	return ALONE(true, mw_next.setreuid(real, effective));
}

MW_EXPORT int setregid(gid_t real, gid_t effective)
{
	return ALONE(true, mw_next.setregid(real, effective));
}

MW_EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved)
{
	return ALONE(true, mw_next.setresuid(real, effective, saved));
}

MW_EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved)
{
	return ALONE(true, mw_next.setresgid(real, effective, saved));
}

MW_EXPORT int setgroups(size_t n, const gid_t *groups)
{
	return ALONE(true, mw_next.setgroups(n, groups));
}

MW_EXPORT int initgroups(const char *user, gid_t group)
{
	return ALONE(true, mw_next.initgroups(user, group));
}

/* --- for the calling thread ------------------------------------------------------------------- */

int capset(cap_user_header_t, const cap_user_data_t);
MW_EXPORT int capset(cap_user_header_t header, const cap_user_data_t data)
{
	return ALONE(is_main_thread(), mw_next.capset(header, data));
}

MW_EXPORT int unshare(int flags)
{
	return ALONE(is_main_thread(), mw_next.unshare(flags));
}

MW_EXPORT int setns(int fd, int kind)
{
	return ALONE(is_main_thread(), mw_next.setns(fd, kind));
}

/* Is it one of those that change what the thread may do? The others don't concern us, and may be frequent. */
static bool changes_rights(int option)
{
	return option == PR_SET_KEEPCAPS || option == PR_SET_SECUREBITS || option == PR_CAPBSET_DROP ||
	       option == PR_CAP_AMBIENT || option == PR_SET_NO_NEW_PRIVS;
}

/* Allocators name their memory by it, while they are set up: nothing may be looked up then, which allocates. */
static int next_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	if (mw_likely(mw_next.prctl != NULL))
		return mw_next.prctl(option, a, b, c, d);
	return (int)mw_sys(SYS_prctl, option, (long)a, (long)b, (long)c, (long)d);
}

/* As the C library's own, it passes on five arguments, of which the caller may have given fewer. */
int mw_prctl(int, unsigned long, unsigned long, unsigned long, unsigned long) __asm__("prctl");
MW_EXPORT int mw_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	if (!changes_rights(option))
		return next_prctl(option, a, b, c, d);
	return ALONE(is_main_thread(), next_prctl(option, a, b, c, d));
}
