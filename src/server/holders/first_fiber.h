/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * first_fiber.h - the Fiber with which a thread began, if that is an object: somebody asked for it, or it is Ruby 4.1,
 * where it always is. It has the thread's stack and variables, and is taken for a part of the thread.
 *
 * In the child.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool mw_is_thread(uintptr_t object);
bool mw_is_fiber(uintptr_t object);
/* The thread that began with this Fiber; 0: it is none of these. */
uintptr_t mw_began_with(uintptr_t object);
