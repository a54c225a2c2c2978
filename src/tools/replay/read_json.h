/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read_json.h - reads a recording's META and END: is a text JSON, and the numbers of its keys.
 *
 * Values are pieces of the text. Anybody may have written the text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is the text one JSON object, and nothing but white space around it? */
bool mw_json_object(const char *text);
/* The value of an object's key; text begins with the object. NULL: no such key, or no JSON. *n: its length. */
const char *mw_json_get(const char *text, const char *key, size_t *n);
/* The same of a whole number. False: none. */
bool mw_json_get_u64(const char *text, const char *key, uint64_t *v);
