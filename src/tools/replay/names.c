/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "names.h"

enum { IDS = 1 << MW_EVENT_SIZE_SHIFT, NO_NAME = 32 };

/* A name that an id has from a frame on. */
struct name {
	uint64_t offset; /* of the frame that has it */
	size_t text;  /* in `texts` */
	uint32_t len;
	uint32_t number; /* 0: not used yet */
	uint32_t next; /* the id's next name, by offset; 0: none. Else its place in `names`, from 1 on */
};

struct mw_names {
	struct mw_array names, texts;
	struct mw_array used; /* uint32_t: the place in `names` of each number, from number 1 on */
	uint32_t first[IDS], last[IDS];
};

static struct name *name_at(const struct mw_names *t, uint32_t place)
{
	return (struct name *)t->names.p + place - 1;
}

static bool keep_name(struct mw_names *t, uint32_t id, uint64_t offset, const void *text, size_t len)
{
	struct name *before = t->last[id] ? name_at(t, t->last[id]) : NULL;
	size_t from = t->texts.n;

	/* it was only written again */
	if (before && before->len == len && !memcmp((char *)t->texts.p + before->text, text, len))
		return true;
	while (t->texts.room - t->texts.n < len || !t->texts.p) {
		t->texts.n = t->texts.room;
		if (!mw_array_more(&t->texts, 1))
			return false;
		t->texts.n = from;
	}
	if (t->names.n >= UINT32_MAX || !mw_array_more(&t->names, sizeof(struct name)))
		return false;
	memcpy((char *)t->texts.p + from, text, len);
	t->texts.n += len;
	((struct name *)t->names.p)[t->names.n++] =
		(struct name){ .offset = offset, .text = from, .len = (uint32_t)len };
	if (t->last[id])
		name_at(t, t->last[id])->next = (uint32_t)t->names.n;
	else
		t->first[id] = (uint32_t)t->names.n;
	t->last[id] = (uint32_t)t->names.n;
	return true;
}

static bool read_frame(struct mw_names *t, const struct mw_index *x, const struct mw_at *a, uint8_t *room)
{
	const uint8_t *p = mw_index_read(x, a, room), *end = p + a->raw;

	while (p && end - p >= 8) {
		uint32_t id, len;

		memcpy(&id, p, sizeof(id));
		memcpy(&len, p + sizeof(id), sizeof(len));
		p += 8;
		if (len > (size_t)(end - p))
			break;
		if (id < IDS && !keep_name(t, id, a->offset, p, len))
			return false;
		p += len;
	}
	return true;
}

struct mw_names *mw_names_open(const struct mw_index *x)
{
	struct mw_names *t = mw_mem(sizeof(*t));
	uint8_t *room = mw_mem(MW_FRAME_MOST);
	size_t n;
	const struct mw_at *frames = mw_index_frames(x, &n);
	bool good = t && room;

	for (size_t i = 0; good && i < n; i++)
		if (frames[i].type == MW_FRAME_LOCATIONS)
			good = read_frame(t, x, &frames[i], room);
	mw_mem_free(room, MW_FRAME_MOST);
	if (good)
		return t;
	if (t)
		mw_names_close(t);
	return NULL;
}

void mw_names_close(struct mw_names *t)
{
	mw_array_free(&t->names, sizeof(struct name));
	mw_array_free(&t->texts, 1);
	mw_array_free(&t->used, sizeof(uint32_t));
	mw_mem_free(t, sizeof(*t));
}

uint32_t mw_names_number(struct mw_names *t, uint32_t id, uint64_t offset)
{
	char none[NO_NAME];
	struct name *name;
	uint32_t place = id < IDS ? t->first[id] : 0;

	if (!place) {
		if (!id || id >= IDS ||
		    !keep_name(t, id, offset, none,
			       (size_t)snprintf(none, sizeof(none), "(location %u)", id)))
			return 0;
		place = t->first[id];
	}
	while (name_at(t, place)->next && name_at(t, name_at(t, place)->next)->offset < offset)
		place = name_at(t, place)->next;
	name = name_at(t, place);
	if (!name->number) {
		if (!mw_array_more(&t->used, sizeof(uint32_t)))
			return 0;
		((uint32_t *)t->used.p)[t->used.n++] = place;
		name->number = (uint32_t)t->used.n;
	}
	return name->number;
}

const char *mw_names_get(const struct mw_names *t, uint32_t number, size_t *len)
{
	const struct name *name;

	*len = 0;
	if (!number || number > t->used.n)
		return "";
	name = name_at(t, ((const uint32_t *)t->used.p)[number - 1]);
	*len = name->len;
	return (const char *)t->texts.p + name->text;
}

uint32_t mw_names_last(const struct mw_names *t)
{
	return (uint32_t)t->used.n;
}
