/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rights.c - a life of calls that change what a thread or the process may do, chosen by a seed.
 *
 * usage: rights SEED [PATH]. Prints each call with its result, and what the main thread may do at the end, which must be
 * the same with the tracker. PATH: waits until that file is there first, so that the tracker's threads exist. It
 * sleeps between calls, and sometimes calls past the C library.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int capset(cap_user_header_t, const cap_user_data_t);

static unsigned some(unsigned n)
{
	return (unsigned)rand() % n;
}

static void say(const char *what, long result)
{
	printf("%s %ld %s\n", what, result, result < 0 ? strerrorname_np(errno) : "");
}

static long set_caps(int raw)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];
	unsigned wish = some(4) ? ~0u : 1u << CAP_SETGID | 1u << CAP_SETUID;

	if (syscall(SYS_capget, &head, data))
		return -1;
	data[0].effective = data[0].permitted & wish;
	data[1].effective = data[1].permitted;
	if (!some(4))
		data[0].permitted &= wish;
	data[0].inheritable = data[1].inheritable = 0;
	data[0].effective &= data[0].permitted;
	return raw ? syscall(SYS_capset, &head, data) : capset(&head, data);
}

static long keep(void)
{
	return some(2) ? prctl(PR_SET_KEEPCAPS, 1L, 0L, 0L, 0L) :
			 prctl(PR_SET_SECUREBITS,
			       SECBIT_KEEP_CAPS | (some(2) ? SECBIT_NO_SETUID_FIXUP : 0), 0L, 0L, 0L);
}

static long another_place(void)
{
	static const int flags[] = { CLONE_NEWUTS,  CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWNET,
				     CLONE_NEWUSER, CLONE_FS,    CLONE_FILES };

	return unshare(flags[some(sizeof(flags) / sizeof(*flags))]);
}

static long own_place(void)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY);
	long r = setns(fd, 0);
	int e = errno;

	close(fd);
	errno = e;
	return r;
}

static const uid_t users[] = { 0, 65534, 12345, (uid_t)-1 };
static uid_t user(void)
{
	return users[some(4)];
}

static void call(void)
{
	gid_t groups[] = { 65534, 4 };

	switch (some(17)) {
	case 0:
		return say("keep", keep());
	case 1:
	case 2:
		return say("setresuid", setresuid(user(), user(), user()));
	case 3:
	case 4:
		return say("setresgid", setresgid(user(), user(), user()));
	case 5:
		return say("capset", set_caps(0));
	case 6:
		return say("capset, raw", set_caps(1));
	case 7:
		return say("setgroups", setgroups(some(3), groups));
	case 8:
		return say("seteuid", seteuid(users[some(3)]));
	case 9:
		return say("setegid", setegid(users[some(3)]));
	case 10:
		return say("setreuid", setreuid(user(), user()));
	case 11:
		return say("setregid", setregid(user(), user()));
	case 12:
		return say("unshare", another_place());
	case 13:
		return say("setns", own_place());
	case 14:
		return say("drop", prctl(PR_CAPBSET_DROP, (long)some(20), 0L, 0L, 0L));
	case 15:
		return say("no new privileges", prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L));
	default:
		return say("initgroups", initgroups("nobody", 65534));
	}
}

static void say_rights(void)
{
	char line[200];
	FILE *f = fopen("/proc/thread-self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Uid", 3) || !strncmp(line, "Gid", 3) || !strncmp(line, "Cap", 3) ||
		    !strncmp(line, "Groups", 6) || !strncmp(line, "NoNew", 5))
			fputs(line, stdout);
	if (f)
		fclose(f);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	srand((unsigned)atoi(argv[1]));
	for (int i = 0; argc > 2 && access(argv[2], F_OK) && i < 3000; i++)
		usleep(10000);
	for (unsigned n = 3 + some(10); n; n--) {
		call();
		free(malloc(some(10000)));
		if (!some(3))
			usleep(some(3000));
	}
	say_rights();
	return 0;
}
