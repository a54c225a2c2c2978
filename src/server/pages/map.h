/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map.h - the pages of the memory map: /map, /map.json and what is below /map/.
 *
 * A map is made for /map and /map.json, and kept for MW_MAPS_SECONDS under an id; its tiles are of that
 * moment. All of these belong to one process's own server: others answer 503.
 */
#pragma once

#include "server/memory/store.h"
#include "pages.h"

/* map_words.c: what a map says, as plain text. */

/* "215 MB is in memory. ..." */
void mw_map_sentence(struct mw_buf *, const struct mw_map *);
/* Calls say with each advice, which is text with a NUL; none if there is nothing to do. */
void mw_map_advice(const struct mw_map *, void (*say)(void *ctx, const char *text), void *ctx);

/* "thread arena 3" */
void mw_map_panel_title(const struct mw_map_panel *, const struct mw_map *, char to[48]);

/*
 * Adds the map's reason to a verdict of that kind, on a line of its own with its newline: why memory is free but
 * kept, or what mapped it. Nothing for other kinds.
 */
void mw_map_on_verdict(struct mw_buf *, const struct mw_map *, enum mw_verdict_kind);
/* Does the map add something to that kind? */
bool mw_map_explains(enum mw_verdict_kind);

/* map_json.c: the whole answer of /map.json. */
void mw_map_json(struct mw_buf *, const struct mw_map *, uint32_t id, const struct mw_site *);
/* The map as a member of /verdict.json: {"parts":[...],"trim":{...},"lines":[...],"mappings":[...]}, few of each. */
void mw_map_verdict_json(struct mw_buf *, const struct mw_map *);
/* "bytes":...,"least_bytes":...,"milliseconds":...; null: not known */
void mw_map_trim_json(struct mw_buf *, const struct mw_map_trim *);

/* map_page.c: the page of /map. */
void mw_map_page_reply(struct mw_call *, const struct mw_map *);

/* The figures of /family/map besides the parts, as their names: "rss_bytes" ...; NULL ends them. */
extern const char *const mw_map_figures[];
/* All figures in lines, "NAME BYTES": for /all/map.json. */
void mw_map_lines_of_text(struct mw_buf *, const struct mw_map *);

/* map.c */

/* A map of now, which the site keeps. NULL: no memory; *id is its id. ruby: as in mw_map_make. */
const struct mw_map *mw_site_map(struct mw_site *, const struct mw_map_ruby *ruby, uint32_t *id);
/* The newest map that the site keeps, or one of now. NULL: no memory. */
const struct mw_map *mw_site_some_map(struct mw_site *);
