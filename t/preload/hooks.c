/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hooks.c - counts who asks Ruby for a hook, and passes it on: hooks_set() says how many did,
 * hooks_left() how many of rb_add_event_hook's haven't been removed.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

static int asked, left;

int hooks_set(void)
{
	return asked;
}

int hooks_left(void)
{
	return left;
}

#define COUNT(type, name, params, args, count)                     \
	type name params                                           \
	{                                                          \
		static type(*next) params;                         \
                                                                   \
		if (!next)                                         \
			*(void **)&next = dlsym(RTLD_NEXT, #name); \
		count;                                             \
		return next args;                                  \
	}

COUNT(uintptr_t, rb_tracepoint_new, (uintptr_t v, uint32_t e, void (*f)(uintptr_t, void *), void *d),
      (v, e, f, d), asked++)
COUNT(void, rb_add_event_hook, (void (*f)(void), uint32_t e, uintptr_t d), (f, e, d), (asked++, left++))
COUNT(int, rb_remove_event_hook, (void (*f)(void)), (f), left--)
