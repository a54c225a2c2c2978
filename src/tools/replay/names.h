/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names.h - the names of a recording's locations, with a number for each that is used.
 *
 * In a recorded file an id may get another name: a name counts for the frames behind it. Frames before an
 * id's first name have that name, too. Numbers go from 1 on, in the order of first use; 0 is no location.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index.h"

struct mw_names;

/* All names in the file. NULL: no memory. */
struct mw_names *mw_names_open(const struct mw_index *);
void mw_names_close(struct mw_names *);
/* The number of a location's id, in the frame that begins at `offset`. An id without a name gets one. */
uint32_t mw_names_number(struct mw_names *, uint32_t id, uint64_t offset);
/* The name of a number that was given out; of 0: "". Not NUL-terminated; may be any bytes. */
const char *mw_names_get(const struct mw_names *, uint32_t number, size_t *len);
/* The highest number that was given out. */
uint32_t mw_names_last(const struct mw_names *);
