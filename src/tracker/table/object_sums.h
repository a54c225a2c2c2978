/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * object_sums.h - Ruby's objects by location, as the server estimates them (server/objects).
 *
 * The tracker counts none of them: it finds the line of an object that is being made, keeps that
 * location in the table while anyone holds it, and adds the published sums to the rows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

/* Holds a location: it isn't retired until as many mw_object_let_go calls. Any thread. */
void mw_object_hold(uint32_t id);
void mw_object_let_go(uint32_t id);
bool mw_objects_held(uint32_t id);

/*
 * From now on these n sums count, by ascending id: at most MW_OBJECT_SUMS, the others are dropped. Each id is held.
 * One thread at a time.
 */
void mw_objects_publish(const struct mw_object_sum *, size_t n);
/* Adds the published sum of an id to a row. False: there is none. Any thread. No lock. */
bool mw_objects_add(struct mw_row *, uint32_t id);
