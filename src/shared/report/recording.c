/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recording.c - how far a recording is, as JSON. */
#include "report.h"
#include "shared/text/json.h"

const char *mw_record_reason_name(enum mw_record_reason r)
{
	static const char *const names[] = { "stop", "exit", "size", "seconds", "disk", "error" };

	return names[r];
}

static void put_text_or_null(struct mw_buf *b, const char *name, const char *value)
{
	mw_json_str(b, name, *value ? value : NULL);
}

static uint64_t get_figure(const uint64_t *value)
{
	return __atomic_load_n(value, __ATOMIC_RELAXED);
}

void mw_render_recording(struct mw_buf *b, const struct mw_record_state *s, uint64_t now_ns)
{
	static const struct mw_record_state none;
	uint32_t is = s ? __atomic_load_n(&s->is, __ATOMIC_ACQUIRE) : (uint32_t)MW_RECORD_NONE;
	bool on = is == MW_RECORD_STARTING || is == MW_RECORD_ON, ended = is == MW_RECORD_ENDED;
	uint64_t end;

	if (!s)
		s = &none;
	end = ended ? get_figure(&s->end_ns) : now_ns;
	mw_buf_str(b, "{");
	mw_json_bool(b, "recording", on);
	put_text_or_null(b, "path", is == MW_RECORD_ON || ended ? s->path : "");
	mw_json_seconds(b, "seconds",
			is == MW_RECORD_NONE || end < s->begin_ns ? 0 : (double)(end - s->begin_ns) / 1e9);
	mw_json_u64(b, "events", get_figure(&s->events));
	mw_json_u64(b, "lost", get_figure(&s->lost));
	mw_json_u64(b, "bytes", get_figure(&s->bytes));
	put_text_or_null(b, "reason",
			 ended ? mw_record_reason_name((enum mw_record_reason)__atomic_load_n(
					 &s->reason, __ATOMIC_RELAXED)) :
				 "");
	put_text_or_null(b, "why", ended ? s->why : "");
	mw_buf_str(b, "}\n");
}
