/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * locks.c - preloaded beneath the tracker: counts calls that take a lock of the C
 * library's.
 *
 * A fork doesn't wait for those locks. A child never gets a lock that the server's
 * thread holds at that moment. At exit a line for each function that was
 * called is written to the file $LOCKS_SEEN: its name, the calls by the main
 * thread, the calls by all others. Those of others count from the main thread's
 * first strerror(): while the server is being loaded, fork waits.
 */
#include <dlfcn.h>
#include <grp.h>
#include <locale.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct seen {
	const char *name;
	_Atomic unsigned by_main, by_others;
};

static _Atomic bool begun;

static void note(struct seen *s)
{
	if (getpid() == (pid_t)syscall(SYS_gettid)) {
		s->by_main++;
		if (!strcmp(s->name, "strerror"))
			begun = true;
	} else if (begun) {
		s->by_others++;
	}
}

/* clang-format off */
#define FOR_EACH(X)                                                                            \
	X(char *, strerror, (int e), (e))                                                      \
	X(char *, setlocale, (int category, const char *name), (category, name))               \
	X(locale_t, newlocale, (int mask, const char *name, locale_t base), (mask, name, base)) \
	X(struct tm *, gmtime, (const time_t *t), (t))                                         \
	X(struct tm *, gmtime_r, (const time_t *t, struct tm *tm), (t, tm))                    \
	X(struct tm *, localtime, (const time_t *t), (t))                                      \
	X(struct tm *, localtime_r, (const time_t *t, struct tm *tm), (t, tm))                 \
	X(time_t, mktime, (struct tm *tm), (tm))                                               \
	X(struct passwd *, getpwnam, (const char *name), (name))                               \
	X(struct passwd *, getpwuid, (uid_t uid), (uid))                                       \
	X(struct group *, getgrnam, (const char *name), (name))                                \
	X(struct group *, getgrgid, (gid_t gid), (gid))
/* clang-format on */

#define X(type, fn, params, args)                                     \
	static struct seen seen_##fn = { .name = #fn };               \
	type fn params                                                \
	{                                                             \
		static type(*_Atomic next) params;                    \
                                                                      \
		if (!next)                                            \
			next = (type(*) params)dlsym(RTLD_NEXT, #fn); \
		note(&seen_##fn);                                     \
		return next args;                                     \
	}
FOR_EACH(X)
#undef X

#define X(type, fn, params, args) &seen_##fn,
static struct seen *const all[] = { FOR_EACH(X) };
#undef X

__attribute__((destructor)) static void say(void)
{
	const char *path = getenv("LOCKS_SEEN");
	FILE *f = path ? fopen(path, "a") : NULL;

	for (size_t i = 0; f && i < sizeof(all) / sizeof(*all); i++)
		if (all[i]->by_main || all[i]->by_others)
			fprintf(f, "%s %u %u\n", all[i]->name, all[i]->by_main, all[i]->by_others);
	if (f)
		fclose(f);
}
