/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * times.h - how long a server waits for clients, relatives and files, in milliseconds.
 *
 * A source that uses one of these includes this file itself: t/swift.mk builds these sources
 * again with MW_SWIFT=5, for tests that wait for such a time. What is installed is never
 * built so, and has no switch for it.
 */
#ifndef MW_BASE_TIMES_H
#define MW_BASE_TIMES_H

#ifndef MW_SWIFT
#define MW_SWIFT 1
#endif

enum {
	/* --- the start --- */
	MW_LATE_MS = 100 / MW_SWIFT, /* without Ruby, and after a fork */

	/* --- clients --- */
	MW_REQUEST_MS = 15000 / MW_SWIFT,   /* for a request, from its first byte to its last */
	MW_LINGER_MS = 3000 / MW_SWIFT, /* of silence, while more is expected of a refused client */
	MW_RESPONSE_MS = 600000 / MW_SWIFT, /* a reader that takes its answer in sips is dropped then */
	MW_STALL_MS = 60000 / MW_SWIFT, /* so is a watcher that takes nothing of what there is for it */
	MW_SILENCE_MS = 15000 / MW_SWIFT, /* on /live; then a comment, for proxies */
	MW_PAUSE_MS = 500 / MW_SWIFT, /* after accept failed for want of descriptors */
	MW_SLOW_MS = 5000 / MW_SWIFT, /* an answer that takes longer may be dropped for others */
	MW_SHUFFLE_MS = 1000 / MW_SWIFT, /* an answer younger than that never is */

	/* --- relatives --- */
	MW_FAMILY_MS = 1500 / MW_SWIFT, /* a process that hasn't answered by then doesn't */
	MW_RELAY_MS = 10000 / MW_SWIFT, /* for one page of one process, which may have much to say */

	/* --- who has the path of a family --- */
	MW_TAKEOVER_LOOK_MS = 1000 / MW_SWIFT,
	MW_TAKEOVER_PATIENCE_MS = 700 / MW_SWIFT, /* a process without Ruby waits that long for one with */
	MW_TAKEOVER_WISH_MS = 50 / MW_SWIFT, /* between looks once the owner was told to give way, … */
	MW_TAKEOVER_WISHED_MS = 10000 / MW_SWIFT, /* … and everybody for who told it so, and lives */

	/* --- what ended processes left --- */
	MW_SWEEP_LOOK_MS = 1000 / MW_SWIFT,
	MW_SWEEP_NAMES_MS =
		2000 / MW_SWIFT, /* where names come and go, as in /tmp, it is read so often at most */
	MW_SWEEP_FULL_MS = 20000 / MW_SWIFT /* without a reason: what looking doesn't see */
};

#endif
