/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call_b.c - call_a.c once more, with other names. */
#define a_takes b_takes
#define a_calls b_calls
#include "call_a.c"
