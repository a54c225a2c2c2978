/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * write_trace [--plain] FILE: writes a recording that a text on stdin describes. A line of it is one of
 *
 *   meta JSON, end JSON    the first and the last frame
 *   stream NUMBER          of the lines that follow
 *   at TICKS               of the events that follow
 *   CALL NUMBER ...        an event: its op's name as mwrap-replay text prints it, then ref, size, location, extra,
 *                          as far as the op has them
 *   frame                  ends the stream's frame
 *   lost NUMBER            the stream's frame has lost so many
 *   skip                   ends the stream's frame; the next one's number isn't the next
 *   location ID NAME, sample TICKS RSS HEAP LIVE
 *
 * --plain: frames aren't compressed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/format/event_columns.h"
#include "recording/format/frame.h"

enum { LINE = 1 << 16, LEVEL = 1, EVENTS = 1 << 14 /* of a frame */ };

static const char *const ops[MW_OPS] = { "none",       "malloc",     "free", "calloc",   "aligned",
					 "realloc",    "free_large", "live", "resident", "thread",
					 "thread_end", "trim",       "own" };

struct stream {
	struct mw_columns columns;
	uint8_t columns_memory[MW_COLUMNS_BYTES(EVENTS)];
	struct mw_trace_frame frame;
	bool begun;
};

static FILE *file;
static struct mw_codec codec;
static struct stream **streams;
static size_t n_streams;
static uint8_t contents[MW_FRAME_MOST], room[MW_FRAME_MOST + 4096];

static void fail(const char *what)
{
	fprintf(stderr, "write_trace: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void put(struct mw_trace_frame f, const void *p, size_t n)
{
	size_t whole = mw_frame_write(&codec, &f, p, n, room);

	if (fwrite(room, 1, whole, file) != whole)
		fail("write");
}

static void put_text(unsigned type, const char *text)
{
	put((struct mw_trace_frame){ .type = (uint8_t)type }, text, strlen(text));
}

static struct stream *stream_at(size_t i)
{
	while (n_streams <= i) {
		streams = realloc(streams, (n_streams + 1) * sizeof(*streams));
		if (!streams)
			fail("realloc");
		streams[n_streams++] = NULL;
	}
	if (!streams[i])
		streams[i] = calloc(1, sizeof(**streams));
	if (!streams[i])
		fail("calloc");
	streams[i]->frame.stream = (uint32_t)i;
	return streams[i];
}

static void end_frame(struct stream *s)
{
	if (!s->begun && !s->frame.lost)
		return;
	if (!s->begun)
		mw_columns_begin(&s->columns, false, s->frame.ticks);
	s->frame.type = MW_FRAME_EVENTS;
	s->frame.events = s->columns.events;
	put(s->frame, contents, mw_columns_write(&s->columns, contents));
	s->frame.sequence++;
	s->frame.lost = 0;
	s->begun = false;
}

static void event(struct stream *s, unsigned op, uint64_t ticks, const char *numbers)
{
	struct mw_trace_event e = { .op = (uint8_t)op, .ticks = ticks };
	char *at;

#define NUMBER(has, field)                                                \
	if (has) {                                                        \
		e.field = (__typeof__(e.field))strtoull(numbers, &at, 0); \
		numbers = at;                                             \
	}
	NUMBER(mw_op_has_ref(op), ref)
	NUMBER(mw_op_has_size(op), size)
	NUMBER(mw_op_has_size(op) && op != MW_OP_OWN, location)
	NUMBER(mw_op_has_extra(op), extra)
	if (!s->begun) {
		/* a recorder writes a frame after its events: its ticks are close to theirs */
		s->frame.ticks = ticks;
		mw_columns_use(&s->columns, EVENTS, s->columns_memory);
		mw_columns_begin(&s->columns, false, ticks);
		s->begun = true;
	}
	mw_columns_add(&s->columns, &e);
	if (s->columns.events == EVENTS)
		end_frame(s);
}

static void name(char *rest)
{
	uint32_t head[2];
	char *text;

	head[0] = (uint32_t)strtoul(rest, &text, 0);
	text += *text == ' ';
	head[1] = (uint32_t)strlen(text);
	memcpy(contents, head, sizeof(head));
	memcpy(contents + sizeof(head), text, head[1]);
	put((struct mw_trace_frame){ .type = MW_FRAME_LOCATIONS }, contents, sizeof(head) + head[1]);
}

static void sample(const char *rest)
{
	struct mw_trace_sample s = { 0 };

	if (sscanf(rest, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &s.ticks, &s.rss, &s.heap,
		   &s.live) != 4)
		fail(rest);
	put((struct mw_trace_frame){ .type = MW_FRAME_SAMPLES }, &s, sizeof(s));
}

static void end_frames(void)
{
	for (size_t i = 0; i < n_streams; i++)
		if (streams[i])
			end_frame(streams[i]);
}

static void read_line(char *line, struct stream **s, uint64_t *ticks)
{
	char *rest = line + strcspn(line, " ");

	if (*rest)
		*rest++ = '\0';
	if (!strcmp(line, "meta")) {
		put_text(MW_FRAME_META, rest);
	} else if (!strcmp(line, "end")) {
		end_frames();
		put_text(MW_FRAME_END, rest);
	} else if (!strcmp(line, "stream")) {
		*s = stream_at(strtoul(rest, NULL, 0));
	} else if (!strcmp(line, "at")) {
		*ticks = strtoull(rest, NULL, 0);
	} else if (!strcmp(line, "frame")) {
		end_frame(*s);
	} else if (!strcmp(line, "lost")) {
		(*s)->frame.lost = (uint32_t)strtoul(rest, NULL, 0);
	} else if (!strcmp(line, "skip")) {
		end_frame(*s);
		(*s)->frame.sequence++;
	} else if (!strcmp(line, "location")) {
		name(rest);
	} else if (!strcmp(line, "sample")) {
		sample(rest);
	} else {
		for (unsigned op = 1; op < MW_OPS; op++)
			if (!strcmp(line, ops[op])) {
				event(*s, op, *ticks, rest);
				return;
			}
		errno = EINVAL;
		fail(line);
	}
}

int main(int argc, char **argv)
{
	bool plain = argc == 3 && !strcmp(argv[1], "--plain");
	size_t bytes = plain ? 0 : mw_codec_bytes(LEVEL, true, false);
	void *memory = bytes ? malloc(bytes) : NULL;
	struct stream *s = stream_at(0);
	uint64_t ticks = 0;
	static char line[LINE];

	mw_codec_open(&codec, LEVEL, true, false, memory, bytes);
	if (!plain && !codec.compress)
		fail("libzstd.so.1");
	file = argc > 1 ? fopen(argv[argc - 1], "w") : NULL;
	if (!file || fwrite(MW_TRACE_MAGIC, 1, 8, file) != 8)
		fail("open");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		read_line(line, &s, &ticks);
	}
	end_frames();
	return fclose(file) ? 1 : 0;
}
