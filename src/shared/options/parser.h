/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parser.h - the interface of options.c, which takes $MWRAP apart, and keys.c,
 * which sets each option. For these two only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

struct mw_parser {
	struct mw_options *o;
	char *err;                /* MW_ERROR_MAX bytes, the first mistake */
	size_t err_len;
	bool failed;              /* err is complete: later mistakes leave it alone */
	uint64_t seen;            /* one bit for each of mw_keys[] */
	const struct mw_key *key; /* the option being set */
};

struct mw_key {
	const char *name;
	const char *value; /* its form in options.def: "PATH", or all values: "0|1" */
	/*
	 * Takes a value, unquoted and not "". Changes *o only if the value is right,
	 * so the tracker can use everything in *o; else returns mw_option_wrong().
	 */
	bool (*set)(struct mw_parser *, const char *value);
};

/* options.def with the setters of keys.c: 32 options at most, then an entry without a name. */
extern const struct mw_key mw_keys[];

/* The option whose name has these n bytes, or NULL. */
const struct mw_key *mw_key_find(const char *name, size_t n);

/* near.c: the name that these n bytes were meant to be, or NULL. */
const char *mw_key_near(const char *name, size_t n);

/*
 * Checks options against each other, after all are parsed: their order doesn't
 * matter. Takes back those that don't hold together.
 */
void mw_keys_together(struct mw_parser *);

/*
 * Writes `KEY: "INPUT" WHY` about the key being set, or `KEY: WHY` if input is NULL.
 * WHY is "problem: remedy", or the problem alone if the remedy is obvious. Always false.
 */
bool mw_option_wrong(struct mw_parser *, const char *input, const char *why);

/* Writes `KEY: "INPUT" is unknown: use A, B or C`, from "A|B|C". Always false. */
bool mw_option_unknown_word(struct mw_parser *, const char *input, const char *words);
