/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read_profile_tree.h - the tree of the made-up profile, read back from its JSON. */
#pragma once

#include <stdio.h>

#include "made_up_profile.h"

/* A tree as the page reads it; the arrays have n entries each. */
struct tree {
	struct mw_buf json;
	size_t n;
	long long *frame, *depth, *value, *samples, *width; /* width: NULL unless by growth */
	long long total, pruned;
};

static long long member(const struct tree *t, const char *name)
{
	char key[32];
	const char *at;

	(void)snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(t->json.p, key);
	assert_non_null(at);
	return strtoll(at + strlen(key), NULL, 10);
}

/* The list of that name, *n numbers, malloc'ed; NULL: there is none. */
static long long *numbers(const struct tree *t, const char *name, size_t *n)
{
	long long *v = NULL;
	char key[32], *at;

	(void)snprintf(key, sizeof(key), "\n\"%s\":[", name);
	at = strstr(t->json.p, key);
	if (!at)
		return NULL;
	at += strlen(key);
	for (*n = 0;; at++) {
		if (!(*n & (*n - 1)))
			v = realloc(v, (*n * 2 + 1) * sizeof(*v));
		v[(*n)++] = strtoll(at, &at, 10);
		if (*at != ',')
			break;
	}
	assert_int_equal(*at, ']');
	return v;
}

/* Of t->json. */
static void read_arrays(struct tree *t, const struct mw_profile_view *view)
{
	size_t n;

	text_of(&t->json);
	t->frame = numbers(t, "frame", &t->n);
	t->depth = numbers(t, "depth", &n);
	assert_int_equal(n, t->n);
	t->value = numbers(t, "value", &n);
	assert_int_equal(n, t->n);
	t->samples = numbers(t, "samples_of", &n);
	assert_int_equal(n, t->n);
	t->width = numbers(t, "width", &n);
	assert_int_equal(n, t->n);
	assert_true((view->by == MW_VIEW_GROWTH) == (t->width != NULL));
	t->total = member(t, "total");
	t->pruned = member(t, "pruned");
	assert_int_equal(t->frame[0], -1);
	assert_int_equal(t->depth[0], 0);
	assert_true(t->value[0] == t->total);
}

static void read_tree(struct tree *t, const struct mw_profile_view *view)
{
	*t = (struct tree){ 0 };
	mw_profile_tree(&t->json, &made, view);
	read_arrays(t, view);
}

static void free_tree(struct tree *t)
{
	mw_buf_free(&t->json);
	free(t->frame);
	free(t->depth);
	free(t->value);
	free(t->samples);
	free(t->width);
}

/* The values that decide whether a node stays. */
static const long long *widths(const struct tree *t)
{
	return t->width ? t->width : t->value;
}

/* The number of node i's parent. */
static size_t parent(const struct tree *t, size_t i)
{
	size_t p = i;

	assert_true(i > 0 && t->depth[i] >= 1 && t->depth[i] <= t->depth[i - 1] + 1);
	do
		p--;
	while (t->depth[p] >= t->depth[i]);
	assert_int_equal(t->depth[p], t->depth[i] - 1);
	return p;
}
