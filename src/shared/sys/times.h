/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * times.h - the server's waits for clients, its family and files, in milliseconds.
 *
 * A source that uses one of these includes this file itself: t/tests.mk builds these sources
 * again with MW_SWIFT=5, for tests that wait for one of these times. Installed files are never
 * built with it, and have no switch for it.
 */
#pragma once

#ifndef MW_SWIFT
#define MW_SWIFT 1
#endif

enum {
	/* --- the start --- */
	MW_EXACT_AFTER_S =
		300 / (MW_SWIFT * MW_SWIFT), /* of growth, until counts that are sampled become exact */
	MW_LATE_MS = 100 / MW_SWIFT, /* at most until the start, without Ruby or after a fork */

	/* --- clients --- */
	MW_REQUEST_MS = 15000 / MW_SWIFT, /* for a request, from its first byte to its last */
	MW_LINGER_MS = 3000 / MW_SWIFT, /* silence of a refused client that has more to send */
	MW_RESPONSE_MS = 600000 / MW_SWIFT, /* for reading an answer; a slower reader is dropped */
	MW_STALL_MS = 60000 / MW_SWIFT, /* a watcher that reads nothing for so long is dropped */
	MW_SILENCE_MS = 15000 / MW_SWIFT, /* on /live; then a comment, for proxies */
	MW_RESUME_MS = 10000 / MW_SWIFT, /* for one that polls /live to come back */
	MW_PAUSE_MS = 500 / MW_SWIFT, /* after accept failed for want of descriptors */
	MW_SLOW_MS = 5000 / MW_SWIFT, /* an answer that takes longer may be dropped for others */
	MW_SHUFFLE_MS = 1000 / MW_SWIFT, /* a younger answer is never dropped for others */
	MW_SITE_MS = 2000 / MW_SWIFT, /* MwrapRack waits for the server's history */

	/* --- the family --- */
	MW_FAMILY_MS = 1500 / MW_SWIFT, /* for a process's answer; later ones are left out */
	MW_RELAY_MS = 10000 / MW_SWIFT, /* for one page of one process, perhaps a long one */

	/* --- the family's path: takeover and handover --- */
	MW_TAKEOVER_LOOK_MS = 1000 / MW_SWIFT,
	MW_TAKEOVER_PATIENCE_MS = 700 / MW_SWIFT, /* a process without Ruby waits for a Ruby one */
	MW_TAKEOVER_REQUEST_LOOK_MS = 50 / MW_SWIFT, /* between looks, once a handover was requested */
	MW_TAKEOVER_PORT_MS = 5000 / MW_SWIFT, /* for the port of a process that has ended */
	MW_TAKEOVER_FORKER_MS = 5000 / MW_SWIFT, /* a forked child waits for its parent to request */
	MW_TAKEOVER_REQUESTED_MS = 10000 / MW_SWIFT, /* all others wait for a live requester */

	/* --- files that ended processes left --- */
	MW_CLEANUP_LOOK_MS = 1000 / MW_SWIFT,
	MW_CLEANUP_NAMES_MS =
		2000 / MW_SWIFT, /* between two reads of a directory whose names change, e.g. /tmp */
	MW_CLEANUP_FULL_MS = 20000 / MW_SWIFT /* between full cleanups, for what a look doesn't see */
};
