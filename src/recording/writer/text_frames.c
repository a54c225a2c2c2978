/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text_frames.c - the frames of a recording that are texts. See writer.h. */
#include <string.h>
#include <unistd.h>

#include "shared/sys/sys.h"
#include "shared/report/report.h"
#include "writer.h"
#include "shared/text/json.h"

extern char **environ;

enum { NAME_MOST = 64 << 10 }; /* bytes; longer ones stay without a name */

static bool text_frame(struct mw_writer *w, unsigned type, struct mw_buf *b)
{
	struct mw_trace_frame f = { .type = (uint8_t)type, .ticks = w->ticks };
	bool ok = !b->failed && b->n <= MW_FRAME_MOST && mw_writer_frame(w, &f, b->p, b->n);

	mw_buf_free(b);
	return ok;
}

/* --- META ----------------------------------------------------------------------------- */

static void command(struct mw_buf *b)
{
	char line[4096];
	int fd = mw_sys_open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = fd >= 0 ? mw_sys_read(fd, line, sizeof(line)) : 0;

	if (fd >= 0)
		mw_sys_close(fd);
	while (n > 0 && !line[n - 1])
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (!line[i])
			line[i] = ' ';
	mw_json_text(b, "command", line, n > 0 ? (size_t)n : 0);
}

/* Variables that set an allocator. */
static void environment(struct mw_buf *b)
{
	static const char *const prefixes[] = {
		"MALLOC_", "GLIBC_TUNABLES=", "_RJEM_MALLOC_CONF=", "MIMALLOC_", "TCMALLOC_"
	};

	mw_json_open(b, "environment", '{');
	for (char **e = environ; e && *e; e++) {
		const char *equals = strchr(*e, '=');

		for (size_t i = 0; equals && i < sizeof(prefixes) / sizeof(*prefixes); i++) {
			if (strncmp(*e, prefixes[i], strlen(prefixes[i])) != 0)
				continue;
			mw_json_text(b, NULL, *e, (size_t)(equals - *e));
			mw_buf_str(b, ":");
			mw_json_str(b, NULL, equals + 1);
		}
	}
	mw_buf_str(b, "}");
}

bool mw_writer_meta(struct mw_writer *w)
{
	const struct mw_record_job *job = w->job;
	struct mw_stats stats;
	struct mw_buf b = { 0 };

	job->api->stats(&stats);
	mw_buf_str(&b, "{");
	mw_json_u64(&b, "version", 1);
	mw_json_u64(&b, "pid", (uint64_t)mw_sys_getpid());
	mw_json_u64(&b, "ppid", (uint64_t)getppid());
	command(&b);
	mw_json_key(&b, "started");
	mw_buf_fmt(&b, "%llu.%06u", (unsigned long long)(w->unix_begin_us / 1000000),
		   (unsigned)(w->unix_begin_us % 1000000));
	mw_json_u64(&b, "begin_ticks", w->begin_ticks);
	mw_json_u64(&b, "ticks_per_second", w->ticks_per_second);
	mw_json_str(&b, "clock", job->fine ? "fine" : "coarse");
	mw_json_str(&b, "allocator", job->api->allocator ? job->api->allocator() : "");
	mw_json_str(&b, "allocator_version", job->allocator_version);
	environment(&b);
	mw_json_u64(&b, "page_size", mw_page_size());
	mw_json_u64(&b, "processors", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	mw_json_str(&b, "ruby", stats.ruby);
	mw_json_u64(&b, "tail", job->tail);
	mw_json_u64(&b, "untailed", job->untailed);
	mw_json_u64(&b, "untailed_128", job->untailed_128);
	mw_json_u64(&b, "untailed_1024", job->untailed_1024);
	mw_json_bool(&b, "from_start", job->begun);
	mw_buf_str(&b, "}");
	return text_frame(w, MW_FRAME_META, &b);
}

bool mw_writer_end(struct mw_writer *w, enum mw_record_reason reason, const char *why)
{
	struct mw_buf b = { 0 };

	mw_buf_str(&b, "{");
	mw_json_str(&b, "reason", mw_record_reason_name(reason));
	mw_json_str(&b, "why", why);
	mw_json_u64(&b, "events", w->events);
	mw_json_u64(&b, "lost", w->lost);
	mw_json_u64(&b, "bytes", w->file.bytes);
	mw_buf_str(&b, "}");
	return text_frame(w, MW_FRAME_END, &b);
}

/* --- names of locations ---------------------------------------------------------------- */

/* Memory of malloc's would show in the samples: the names are gathered in w->contents. */
static bool write_names(struct mw_writer *w, size_t bytes)
{
	struct mw_trace_frame f = { .type = MW_FRAME_LOCATIONS, .ticks = w->ticks };

	return !bytes || mw_writer_frame(w, &f, w->contents, bytes);
}

static size_t put_name(uint8_t *to, uint32_t id, const struct mw_row *r)
{
	uint32_t head[2] = { id, r->location_len };

	memcpy(to, head, sizeof(head));
	memcpy(to + sizeof(head), r->location, r->location_len);
	return sizeof(head) + r->location_len;
}

/* The row of an event's location; NULL: it has no name yet. */
static const struct mw_row *row_of(const struct mw_writer *w, const struct mw_snapshot *s, uint32_t id)
{
	uint32_t row = w->rows[w->job->source->shown(id) % MW_ID_END];

	return row && s->rows[row - 1].location_len <= NAME_MOST ? &s->rows[row - 1] : NULL;
}

static bool name_all(struct mw_writer *w, const struct mw_snapshot *s)
{
	size_t used = 0;

	memset(w->rows, 0, sizeof(w->rows));
	for (size_t i = 0; i < s->n; i++)
		w->rows[s->rows[i].id % MW_ID_END] = (uint32_t)i + 1;
	w->unnamed = false;
	for (uint32_t id = 1; id < MW_ID_END; id++) {
		uint8_t bit = (uint8_t)(1u << id % 8);
		const struct mw_row *r;

		if (!(w->seen[id / 8] & ~w->named[id / 8] & bit))
			continue;
		r = row_of(w, s, id);
		if (!r) {
			w->unnamed = true;
			continue;
		}
		w->named[id / 8] |= bit;
		used += put_name(w->contents + used, id, r);
		if (used <= sizeof(w->contents) - NAME_MOST - 8)
			continue;
		if (!write_names(w, used))
			return false;
		used = 0;
	}
	return write_names(w, used);
}

bool mw_writer_names(struct mw_writer *w)
{
	struct mw_snapshot *s = w->unnamed ? w->job->api->snapshot() : NULL;
	bool ok = !s || name_all(w, s); /* without memory now: perhaps later */

	if (s)
		w->job->api->snapshot_free(s);
	return ok;
}
