/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store.h"

static void drop_kept_map(struct mw_kept_map *k)
{
	mw_map_free(k->map);
	*k = (struct mw_kept_map){ 0 };
}

uint32_t mw_maps_keep(struct mw_maps *s, struct mw_map *map, double now)
{
	struct mw_kept_map *to = &s->v[0];

	for (int i = 0; i < MW_MAPS; i++)
		if (!s->v[i].map || (to->map && s->v[i].id < to->id))
			to = &s->v[i];
	drop_kept_map(to);
	*to = (struct mw_kept_map){ map, ++s->last, now };
	return s->last;
}

const struct mw_map *mw_maps_find(const struct mw_maps *s, uint32_t id)
{
	for (int i = 0; i < MW_MAPS; i++)
		if (s->v[i].map && s->v[i].id == id)
			return s->v[i].map;
	return NULL;
}

const struct mw_map *mw_maps_newest(const struct mw_maps *s, double now, double seconds)
{
	const struct mw_kept_map *newest = NULL;

	for (int i = 0; i < MW_MAPS; i++)
		if (s->v[i].map && (!newest || s->v[i].id > newest->id))
			newest = &s->v[i];
	return newest && newest->id > s->aged && now < newest->at + seconds ? newest->map : NULL;
}

void mw_maps_age(struct mw_maps *s)
{
	s->aged = s->last;
}

void mw_maps_tidy(struct mw_maps *s, double now, bool all)
{
	for (int i = 0; i < MW_MAPS; i++)
		if (s->v[i].map && (all || now >= s->v[i].at + MW_MAPS_SECONDS))
			drop_kept_map(&s->v[i]);
}
