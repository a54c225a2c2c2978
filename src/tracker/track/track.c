/* SPDX-License-Identifier: GPL-2.0-or-later */
/* track.c - what the whole room reads: whether the tracker is on, and which blocks have a tail. */
#include "track.h"

#include "tracker/base/noticed.h"
#include "tracker/real/real.h"
#include "usable.h"

int mw_life = MW_NOT_STARTED;
uintptr_t mw_plain;
bool mw_tails_old;
bool mw_paused, mw_was_paused;

void mw_tails_expect(bool tails)
{
	uintptr_t all = tails ? UINTPTR_MAX : 0;

	mw_set(&mw_plain, mw_real_glibc && !mw_get(&mw_unseen) ? all : 0);
	mw_set(&mw_class_plain, mw_real_classes ? all : 0);
	mw_usable_choose(tails);
}
