/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parser.h - between options.c, which takes $MWRAP apart, and keys.c, which
 * sets each option; for them alone.
 */
#ifndef MW_OPTIONS_PARSER_H
#define MW_OPTIONS_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

struct mw_parser {
	struct mw_options *o;
	char *err;                /* MW_ERROR_MAX bytes, the first mistake */
	size_t err_len;
	bool failed;              /* err is complete: later mistakes don't change it */
	unsigned seen;            /* one bit for each of mw_keys[] */
	const struct mw_key *key; /* being set */
};

struct mw_key {
	const char *name;
	const char *value; /* its form in options.def: "PATH", or the only values, "0|1" */
	/*
	 * Takes a value, unquoted and not "". Changes *o only when the value is
	 * right, so that whatever is in *o can be used; else returns
	 * mw_option_wrong().
	 */
	bool (*set)(struct mw_parser *, const char *value);
};

/* options.def with the setters of keys.c: 32 options at most, then one without a name. */
extern const struct mw_key mw_keys[];

/* The option whose name has these n bytes, or NULL. */
const struct mw_key *mw_key_find(const char *name, size_t n);

/*
 * What only holds together, in whatever order it was given; once all is parsed.
 * Takes back what doesn't.
 */
void mw_keys_together(struct mw_parser *);

/*
 * `KEY: "INPUT" WHY`, or `KEY: WHY` without input (NULL), of the key being set. WHY is
 * "problem: remedy", or the problem alone where that says what to do. Always false.
 */
bool mw_option_wrong(struct mw_parser *, const char *input, const char *why);

/* `KEY: "INPUT" is unknown: use A, B or C`, from "A|B|C". Always false. */
bool mw_option_unknown_word(struct mw_parser *, const char *input, const char *words);

#endif
