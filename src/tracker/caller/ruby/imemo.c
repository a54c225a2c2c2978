/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "imemo.h"

#include "look.h"
#include "safe_read.h"

enum {
	T_MASK = 0x1f,
	T_IMEMO = 0x1a,
	IMEMO_SHIFT = 12,
	IMEMO_MASK = 15,
	IMEMO_METHOD = 6,
	IMEMO_ISEQ = 7
};

static bool is_imemo(uintptr_t v, uintptr_t type)
{
	uintptr_t flags;

	return mw_pointer_like(v) && mw_peek(v, &flags) && (flags & T_MASK) == T_IMEMO &&
	       (flags >> IMEMO_SHIFT & IMEMO_MASK) == type;
}

bool mw_ruby_is_method(uintptr_t v)
{
	return is_imemo(v, IMEMO_METHOD);
}

bool mw_ruby_is_iseq(uintptr_t v)
{
	return is_imemo(v, IMEMO_ISEQ);
}
