/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "index.h"
#include "read_json.h"

enum { MAGIC = sizeof(MW_TRACE_MAGIC) - 1 };
/* At most this number of bytes is checked without a find: a file of nothing but beginnings of frames comes to an end. */
#define VAIN_MOST (UINT64_C(1) << 28)

static bool fail_index(char *err, const char *problem)
{
	snprintf(err, MW_REPLAY_ERROR, "%s", problem);
	return false;
}

static bool map_file(struct mw_index *x, const char *path, char *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *p = MAP_FAILED;

	if (fd < 0)
		return fail_index(err, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return fail_index(err, "not a file");
	}
	x->bytes = (uint64_t)st.st_size;
	if (x->bytes > MAGIC)
		p = mmap(NULL, x->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (x->bytes > MAGIC && p == MAP_FAILED)
		return fail_index(err, strerror(errno));
	if (p == MAP_FAILED || memcmp(p, MW_TRACE_MAGIC, MAGIC) != 0) {
		if (p != MAP_FAILED)
			munmap(p, x->bytes);
		return fail_index(err, "not a recording");
	}
	x->map = p;
	return true;
}

/* --- the walk -------------------------------------------------------------------------- */

/* The next place from `at` on where a frame may begin; the file's end: nowhere. */
static uint64_t candidate(const struct mw_index *x, uint64_t at)
{
	static const uint32_t magic = MW_FRAME_MAGIC;
	const uint8_t *p = NULL;

	if (at < x->bytes)
		p = memmem(x->map + at, x->bytes - at, &magic, sizeof(magic));
	return p ? (uint64_t)(p - x->map) : x->bytes;
}

static bool note_frame(struct mw_index *x, uint64_t offset, const struct mw_trace_frame *f)
{
	struct mw_at *frames;

	if (!mw_array_more(&x->frames, sizeof(*frames)))
		return false;
	frames = x->frames.p;
	frames[x->frames.n++] = (struct mw_at){
		.offset = offset,
		.ticks = f->ticks,
		.stream = f->stream,
		.sequence = f->sequence,
		.events = f->events,
		.lost = f->lost,
		.raw = f->raw,
		.type = f->type
	};
	return true;
}

static bool walk_frames(struct mw_index *x, char *err)
{
	uint64_t at = MAGIC, whole_until = MAGIC, vain = 0;

	while (at < x->bytes) {
		struct mw_trace_frame f = { 0 };
		const uint8_t *contents;
		size_t whole;

		switch (mw_frame_read(&x->codec, x->map + at, x->bytes - at, &f, &contents, NULL, &whole)) {
		case MW_FRAME_OK:
			x->broken += at - whole_until;
			if (!note_frame(x, at, &f))
				return fail_index(err, strerror(ENOMEM));
			at = whole_until = at + whole;
			continue;
		case MW_FRAME_NO_ZSTD:
			return fail_index(
				err,
				"it is compressed, and there is no libzstd.so.1: install zstd's library (Debian: libzstd1)");
		case MW_FRAME_BROKEN:
			vain += f.magic == MW_FRAME_MAGIC && f.stored <= MW_FRAME_PACKED_MOST ? f.stored : 0;
			break;
		case MW_FRAME_CUT:
			break;
		}
		at = vain > VAIN_MOST ? x->bytes : candidate(x, at + 1);
	}
	x->cut = x->bytes - whole_until;
	return x->frames.n || fail_index(err, "no whole frame in it");
}

/* --- what is kept ---------------------------------------------------------------------- */

/* One thread takes all samples: one that is earlier than the one before is wrong. */
static bool keep_samples(struct mw_index *x, const uint8_t *contents, size_t bytes)
{
	struct mw_trace_sample s, *samples;

	for (; bytes >= sizeof(s); contents += sizeof(s), bytes -= sizeof(s)) {
		memcpy(&s, contents, sizeof(s));
		samples = x->samples.p;
		if (x->samples.n && s.ticks < samples[x->samples.n - 1].ticks)
			continue;
		if (!mw_array_more(&x->samples, sizeof(s)))
			return false;
		samples = x->samples.p;
		samples[x->samples.n++] = s;
	}
	return true;
}

/* A text that is JSON, with a NUL behind it. */
static bool keep_json(struct mw_text *text, const uint8_t *contents, size_t bytes)
{
	text->s = mw_mem(bytes + 1);
	if (!text->s)
		return false;
	text->bytes = bytes + 1;
	memcpy(text->s, contents, bytes);
	if (!mw_json_object(text->s))
		*text->s = '\0';
	else
		strrchr(text->s, '}')[1] = '\0';
	return true;
}

static bool keep_contents(struct mw_index *x, uint8_t *room)
{
	const struct mw_at *a = x->frames.p, *end = a + x->frames.n;

	for (; a < end; a++) {
		const uint8_t *p;
		bool good = true;

		if (a->type != MW_FRAME_META && a->type != MW_FRAME_END && a->type != MW_FRAME_SAMPLES)
			continue;
		p = mw_index_read(x, a, room);
		if (!p)
			continue;
		if (a->type == MW_FRAME_SAMPLES)
			good = keep_samples(x, p, a->raw);
		else if (a->type == MW_FRAME_META && !x->meta.s)
			good = keep_json(&x->meta, p, a->raw);
		else if (a->type == MW_FRAME_END && !x->end.s)
			good = keep_json(&x->end, p, a->raw);
		if (!good)
			return false;
	}
	if ((!x->meta.s && !keep_json(&x->meta, room, 0)) || (!x->end.s && !keep_json(&x->end, room, 0)))
		return false;
	return true;
}

bool mw_index_open(struct mw_index *x, const char *path, char *err)
{
	uint8_t *room;
	bool good;

	*x = (struct mw_index){ 0 };
	if (!map_file(x, path, err))
		return false;
	x->codec_bytes = mw_codec_bytes(0, false, true);
	x->codec_memory = x->codec_bytes ? mw_mem(x->codec_bytes) : NULL;
	mw_codec_open(&x->codec, 0, false, true, x->codec_memory, x->codec_memory ? x->codec_bytes : 0);
	room = mw_mem(MW_FRAME_MOST);
	good = room && walk_frames(x, err) &&
	       (keep_contents(x, room) || fail_index(err, strerror(ENOMEM)));
	if (!room)
		fail_index(err, strerror(ENOMEM));
	mw_mem_free(room, MW_FRAME_MOST);
	if (!good)
		mw_index_close(x);
	return good;
}

void mw_index_close(struct mw_index *x)
{
	mw_mem_free(x->meta.s, x->meta.bytes);
	mw_mem_free(x->end.s, x->end.bytes);
	mw_array_free(&x->frames, sizeof(struct mw_at));
	mw_array_free(&x->samples, sizeof(struct mw_trace_sample));
	mw_mem_free(x->codec_memory, x->codec_bytes);
	munmap((void *)(uintptr_t)x->map, x->bytes);
	*x = (struct mw_index){ 0 };
}

const uint8_t *mw_index_read(const struct mw_index *x, const struct mw_at *a, uint8_t *room)
{
	struct mw_trace_frame f;
	const uint8_t *contents;
	size_t whole;

	if (mw_frame_read(&x->codec, x->map + a->offset, x->bytes - a->offset, &f, &contents, room,
			  &whole) != MW_FRAME_OK ||
	    f.raw != a->raw)
		return NULL;
	return contents;
}

void mw_index_trouble(const struct mw_index *x, char *line)
{
	*line = '\0';
	if (x->broken)
		snprintf(line, MW_REPLAY_ERROR, "%llu bytes in it are broken: they are left out",
			 (unsigned long long)(x->broken + x->cut));
	else if (x->cut)
		snprintf(line, MW_REPLAY_ERROR,
			 "its last %llu bytes aren't a whole frame: they are left out",
			 (unsigned long long)x->cut);
}
