/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * objects.h - Ruby's own objects by line: which lines made the objects that stay.
 *
 * Small objects live in Ruby's heap, and no malloc is called for them. So a sample of all new objects is
 * noted, in short windows, and forgotten when they die. A sample that outlives some collections stays for
 * good, and stands for all others of its kind.
 *
 * Windows (window.c). A thread of ours asks Ruby for a job now and then, by the CPU time that the process
 * takes, and after some seconds if that is hardly any. The job, with the GVL, enables a tracepoint for new objects. Its
 * hook skips some by chance, notes some, and asks for the job again, which disables the tracepoint. Ruby's fast way runs
 * untouched outside of windows.
 *
 * Weights. Ruby counts all new objects exactly. Each noted one stands for those made since the last window, divided by
 * the noted ones. So a rate that changes is no bias.
 *
 * Deaths (deaths.h). From Ruby 3.4 on a hook runs when a collection has marked, and forgets each noted object that it
 * will free. No slot is used again before that. If a collection went by unseen, all that it could have freed is forgotten.
 * Up to 3.3 noted objects have an object_id, and the job looks which ones still have theirs.
 *
 * Must stay true:
 *  - Samples change with the GVL and under Ruby's lock of the VM alone: in these hooks, and in the job while no window is
 *    open. So writers need no lock. Readers copy, and look if the copy is whole (samples.h).
 *  - No hook allocates, in Ruby's heap or from malloc, or calls Ruby code.
 *  - Each sample holds its location (api.h: object_here).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "server/holders/holders.h"

/*
 * Once a second, by the owner of the site: begins when Ruby is up, goes on in a forked child, and publishes
 * the sums that rows show. up: seconds of uptime. Nothing if the option is off.
 */
void mw_objects_second(const struct mw_api *, uint32_t up);

/*
 * The tracker as the objects show it: a location's live bytes are those of its objects' slots, as of the last second.
 * For curves; its rows are the tracker's. NULL: none were published. The owner of the site.
 */
const struct mw_api *mw_objects_api(void);

/* For a search for holders, with the GVL: the samples that stay, `most` at most. It allocates. */
size_t mw_objects_for_holders(struct mw_holders_object *, size_t most);

struct mw_objects_state {
	const char *is; /* "on", "starting", "off", "unavailable" */
	const char *why; /* of the last: a text that stays; else "" */
	uint64_t noted; /* objects, since the start */
	uint64_t samples; /* of these, alive as far as is known */
	uint64_t ns; /* that threads spent on it, estimated */
	uint64_t missed; /* collections that went by unseen */
};
void mw_objects_state(const struct mw_api *, struct mw_objects_state *);

/* The classes of a line's objects that stay, most first. */
struct mw_object_class {
	const char *name; /* stays */
	uint32_t samples;
	uint64_t objects, bytes;
};
/* At most `most` of these ids' classes; returns how many. Any thread but a hook's. */
size_t mw_objects_classes(const uint32_t *ids, size_t n, struct mw_object_class *, size_t most);

/* A sample that stays, and what it stands for. */
struct mw_object_stay {
	uint32_t id, born; /* its location; second of uptime */
	uint32_t window; /* its number: the samples of one are likely to be alike */
	double bytes; /* slots in Ruby's heap */
	const char *class; /* stays; "": not known */
};
/* All of them, malloc'ed; NULL: no memory, or *n is 0. */
struct mw_object_stay *mw_objects_stays(size_t *n);
