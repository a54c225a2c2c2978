/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings, which anybody may have written. The input is a file's bytes behind "raw" and a newline; or pieces
 * between lines of "---", each a frame that is whole:
 *
 *   TYPE STREAM SEQUENCE EVENTS LOST TICKS
 *   and its contents, any bytes
 */
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../src/tools/replay/read_json.h"
#include "../../src/tools/replay/merge.h"
#include "../../src/tools/replay/packed.h"
#include "fuzz.h"

enum { MOST = 1 << 17 };

static char path[64];
static int file = -1;
static uint8_t room[MW_FRAME_MOST + 4096];
/* for each birth: 0: it doesn't live; else its slot + 1 */
static uint32_t *lives;

static void put(const void *p, size_t n)
{
	must(write(file, p, n) == (ssize_t)n);
}

static void put_frame(const char *p, size_t n)
{
	static const struct mw_codec none;
	struct mw_trace_frame f = { 0 };
	const char *line;
	size_t len = line_of(&p, &n, &line);
	char *head = copy_of(line, len);
	unsigned type = 0;

	sscanf(head, "%u %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64, &type, &f.stream,
	       &f.sequence, &f.events, &f.lost, &f.ticks);
	free(head);
	f.type = (uint8_t)type;
	put(room, mw_frame_write(&none, &f, p, n < MW_FRAME_MOST ? n : MW_FRAME_MOST, room));
}

static void make_file(const char *p, size_t n)
{
	must(ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0);
	if (n >= 4 && !memcmp(p, "raw\n", 4)) {
		put(p + 4, n - 4);
		return;
	}
	put(MW_TRACE_MAGIC, 8);
	for (;;) {
		const char *end = n ? memmem(p, n, "\n---\n", 5) : NULL;
		size_t size = end ? (size_t)(end - p) : n;

		put_frame(p, size);
		if (!end)
			return;
		p += size + 5;
		n -= size + 5;
	}
}

/* --- what is true of any events ---------------------------------------------------------- */

struct seen {
	uint64_t events, births, live, ticks;
};

static void is_line(const char *err)
{
	must(*err && !strchr(err, '\n'));
}

/* False: there are too many births to be looked at. */
static bool sound(struct seen *s, const struct mw_packed_event *e, bool slots)
{
	unsigned op = e->is.op;
	uint64_t ends = op == MW_OP_REALLOC                        ? e->from :
			op == MW_OP_FREE || op == MW_OP_FREE_LARGE ? e->is.ref :
								     0;

	must(op > MW_OP_NONE && op < MW_OPS && op != MW_OP_THREAD);
	must(e->is.ticks >= s->ticks && e->is.location < 1u << MW_EVENT_SIZE_SHIFT);
	must(!e->from == (op != MW_OP_REALLOC));
	s->ticks = e->is.ticks;
	s->events++;
	if (ends) {
		must(ends <= s->births && lives[ends]);
		must(!slots || lives[ends] == e->slot + 1);
		lives[ends] = 0;
		s->live--;
	}
	if (op == MW_OP_RESIDENT)
		must(e->is.ref <= s->births && lives[e->is.ref]);
	if (mw_op_is_birth(op)) {
		must(e->is.ref == ++s->births && e->is.size < UINT64_C(1) << (64 - MW_EVENT_SIZE_SHIFT));
		if (s->births >= MOST)
			return false;
		lives[s->births] = e->slot + 1;
		s->live++;
	}
	return true;
}

static void read_recorded(void)
{
	char err[MW_REPLAY_ERROR] = "";
	struct mw_index x;
	struct mw_names *names;
	struct mw_merge *m;
	struct mw_packed_event e;
	struct seen s = { 0 };

	if (!mw_index_open(&x, path, err)) {
		is_line(err);
		return;
	}
	must(!*x.meta.s || mw_json_object(x.meta.s));
	mw_index_trouble(&x, err);
	must(!strchr(err, '\n'));
	names = mw_names_open(&x);
	must(names != NULL);
	m = mw_merge_open(&x, names, err);
	must(m != NULL);
	while (mw_merge_next(m, &e, err) && sound(&s, &e, false)) {
		const struct mw_merge_sums *sums = mw_merge_sums(m);
		size_t n;

		must(e.thread < sums->threads && sums->events == s.events && sums->births == s.births);
		must(sums->live == s.live && sums->live_most >= s.live && sums->last == s.ticks);
		must(!mw_op_has_size(e.is.op) || e.is.location <= mw_names_last(names));
		mw_names_get(names, e.is.location, &n);
	}
	must(!*err);
	mw_merge_close(m);
	mw_names_close(names);
	mw_index_close(&x);
}

static void read_packed(void)
{
	char err[MW_REPLAY_ERROR] = "";
	struct mw_packed *p = mw_packed_open(path, err);
	const struct mw_packed_sums *sums;
	struct mw_packed_event e;
	struct seen s = { 0 };

	if (!p) {
		is_line(err);
		return;
	}
	sums = mw_packed_sums(p);
	must(sums->ticks_per_second > 0);
	while (mw_packed_next(p, &e, err) && sound(&s, &e, true)) {
		must(e.thread < sums->threads || (!e.thread && !sums->threads));
		must(s.live <= sums->live_most && s.births <= sums->births);
		must(!mw_op_has_ref(e.is.op) || e.slot < sums->live_most);
		must(e.pages == UINT64_MAX || e.is.size >= MW_TRACE_LARGE);
	}
	must(!strchr(err, '\n'));
	must(!mw_packed_next(p, &e, err) || s.births >= MOST);
	mw_packed_close(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (file < 0) {
		file = memfd_create("trace", MFD_CLOEXEC);
		must(file >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
		lives = calloc(MOST + 1, sizeof(*lives));
		must(lives != NULL);
	}
	make_file((const char *)data, size);
	memset(lives, 0, (MOST + 1) * sizeof(*lives));
	read_recorded();
	memset(lives, 0, (MOST + 1) * sizeof(*lives));
	read_packed();
	return 0;
}
