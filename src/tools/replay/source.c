/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "read_json.h"
#include "source.h"

static bool no_memory(char *err)
{
	snprintf(err, MW_REPLAY_ERROR, "%s", strerror(ENOMEM));
	return false;
}

static bool open_packed(struct mw_source *s, const char *path, char *err)
{
	s->packed = mw_packed_open(path, err);
	if (!s->packed)
		return false;
	s->index = mw_packed_index(s->packed);
	s->ticks_per_second = mw_packed_sums(s->packed)->ticks_per_second;
	s->names = mw_names_open(s->index);
	return s->names || no_memory(err);
}

static bool open_recorded(struct mw_source *s, char *err)
{
	s->index = &s->own;
	s->names = mw_names_open(s->index);
	if (!s->names)
		return no_memory(err);
	s->merge = mw_merge_open(s->index, s->names, err);
	if (!s->merge)
		return false;
	s->ticks_per_second = mw_merge_sums(s->merge)->ticks_per_second;
	return true;
}

bool mw_source_open(struct mw_source *s, const char *path, char *err)
{
	size_t n;
	bool good;

	*s = (struct mw_source){ 0 };
	if (!mw_index_open(&s->own, path, err))
		return false;
	if (mw_json_get(s->own.meta.s, "packed", &n)) {
		mw_index_close(&s->own);
		good = open_packed(s, path, err);
	} else {
		good = open_recorded(s, err);
	}
	if (!good)
		mw_source_close(s);
	return good;
}

void mw_source_close(struct mw_source *s)
{
	if (s->merge)
		mw_merge_close(s->merge);
	if (s->names)
		mw_names_close(s->names);
	if (s->packed)
		mw_packed_close(s->packed);
	if (s->own.map)
		mw_index_close(&s->own);
	*s = (struct mw_source){ 0 };
}

bool mw_source_next(struct mw_source *s, struct mw_packed_event *e, char *err)
{
	if (s->merge)
		return mw_merge_next(s->merge, e, err);
	if (!mw_packed_next(s->packed, e, err))
		return false;
	if (mw_op_has_size(e->is.op) && e->is.op != MW_OP_OWN)
		e->is.location = mw_names_number(s->names, e->is.location, UINT64_MAX);
	return true;
}

void mw_source_report(struct mw_source *s, const char *path)
{
	char line[MW_REPLAY_ERROR];
	const struct mw_merge_sums *sums;

	mw_index_trouble(s->index, line);
	if (*line)
		fprintf(stderr, "mwrap-replay: %s: %s\n", path, line);
	if (!s->merge)
		return;
	sums = mw_merge_sums(s->merge);
	if (sums->missing)
		fprintf(stderr, "mwrap-replay: %s: %llu frames of events are missing or broken\n", path,
			(unsigned long long)sums->missing);
	if (sums->lost)
		fprintf(stderr, "mwrap-replay: %s: %llu events were lost as they were recorded\n", path,
			(unsigned long long)sums->lost);
	if (sums->full)
		fprintf(stderr, "mwrap-replay: %s: it has more than %u blocks: the rest is left out\n",
			path, UINT32_MAX);
}
