/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h - the last maps, each under a number, so that the parts which a reader asks for one by one are
 * of the same moment. They are freed after MW_MAPS_SECONDS: in a process that nobody looks at there is none.
 *
 * The owner of a server's site has them: one thread at a time.
 */
#pragma once

#include "memory/map.h"

enum { MW_MAPS = 4, MW_MAPS_SECONDS = 60 };

struct mw_maps {
	struct mw_kept_map {
		struct mw_map *map; /* owned; NULL: none */
		uint32_t id;
		double at; /* uptime */
	} v[MW_MAPS];
	uint32_t last; /* id */
	uint32_t aged; /* id: up to this one they say nothing of now */
};

/* Keeps a map, which is the store's from now on; the oldest one goes if there are MW_MAPS. Returns its id. */
uint32_t mw_maps_keep(struct mw_maps *, struct mw_map *, double now);
/* Valid until the next call of mw_maps_keep or mw_maps_tidy. NULL: it is gone. */
const struct mw_map *mw_maps_find(const struct mw_maps *, uint32_t id);
/* The newest one, if it is younger than so many seconds, and than the last mw_maps_age; else NULL. */
const struct mw_map *mw_maps_newest(const struct mw_maps *, double now, double seconds);
/* From now on those that are kept say nothing of now: a trim changed what is in memory. */
void mw_maps_age(struct mw_maps *);
/* Frees those that are too old; all: every one. */
void mw_maps_tidy(struct mw_maps *, double now, bool all);
