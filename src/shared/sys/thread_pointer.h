/* SPDX-License-Identifier: GPL-2.0-or-later */
/* thread_pointer.h - the address from which the compiler counts a thread's variables. */
#pragma once

#include <stdint.h>

static inline uintptr_t mw_thread_pointer(void)
{
#if defined(__x86_64__)
	uintptr_t tp;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
#else
	return (uintptr_t)__builtin_thread_pointer();
#endif
}
