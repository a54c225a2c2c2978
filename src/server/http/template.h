/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * template.h - templates of web/: HTML with {{name}} for each slot.
 *
 * A slot is text, which mw_template() escapes, or a function, which writes HTML
 * and escapes its own values. A slot with neither stays empty. A name without a
 * slot writes nothing; a test checks that none is left.
 */
#pragma once

#include <stddef.h>

#include "shared/text/buf.h"

struct mw_slot {
	const char *name;
	const char *text;                        /* or NULL, and then: */
	void (*fill)(struct mw_buf *, void *ctx); /* or NULL */
	void *ctx;
};

/* Appends the template of that name ("at.html"), filled in; nothing if there is none. */
void mw_template(struct mw_buf *, const char *file, const struct mw_slot *slots, size_t n);
