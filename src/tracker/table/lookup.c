/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lookup.c - one location's counters, at a cost that doesn't grow with the table's texts. */
#include <string.h>

#include "callers.h"
#include "snapshot.h"

/* The length of PATH in "PATH:LINE" with a line of 1 to 9 digits; 0: s isn't one. */
static size_t split_off_line(const char *s, size_t n, uint64_t *line)
{
	size_t i = n;
	uint64_t scale = 1;

	*line = 0;
	while (i && n - i < 9 && s[i - 1] >= '0' && s[i - 1] <= '9') {
		*line += (uint64_t)(s[--i] - '0') * scale;
		scale *= 10;
	}
	return i > 1 && i < n && s[i] != '0' && s[i - 1] == ':' ? i - 1 : 0;
}

static void sum_of(struct mw_sum *sum, uint32_t id)
{
	struct mw_shard *t;

	memset(sum, 0, sizeof(*sum));
	mw_sum_flushed_frees(sum, id);
	MW_EACH_SHARD(t)
	for (const struct mw_slot *s = mw_slots_begin(t); s < mw_slots_end(t); s++)
		if (mw_get(&s->id) == id)
			mw_sum_slot(sum, t, s);
	mw_sum_allocs_next();
	MW_EACH_SHARD(t)
	for (const struct mw_caller *w = t->callers; w < mw_callers_end(t); w++)
		if (mw_get(&w->id) == id)
			mw_sum_caller(sum, w);
	mw_sum_flushed_allocs(sum, id);
	mw_sum_sampled(sum, id, id + 1);
}

bool mw_row_find(const char *location, size_t n, struct mw_row *row)
{
	uint32_t id = MW_CS_NONE, end, other;
	struct mw_sum sum;
	const char *callers;
	uint64_t line;
	size_t callers_n, len;
	bool any = false;

	n = mw_callers_split(location, n, &callers, &callers_n);
	len = split_off_line(location, n, &line);
	memset(row, 0, sizeof(*row));
	if (!len)
		return false;
	mw_reading_lock(); /* keeps the id's tenant */
	mw_rcu_enter();
	id = mw_callsite_called_known(location, len, line, callers, callers_n);
	mw_rcu_leave();
	if (id != MW_CS_NONE) {
		mw_gate_close();
		sum_of(&sum, id);
		any = mw_row_count(row, id, &sum);
		end = mw_callsites_end();
		for (other = MW_CS_FIRST; other < end; other++) {
			if (other == id || mw_callsite_real(other) != id)
				continue;
			sum_of(&sum, other); /* counted before the line was known */
			any = mw_row_count(row, other, &sum) || any;
		}
		mw_gate_open();
	}
	mw_reading_unlock();
	row->id = id;
	row->kind = MW_KIND_RUBY;
	row->file_len = (uint32_t)len;
	return any;
}

size_t mw_source_find(const char *name, size_t n, char *to, size_t size)
{
	const struct mw_path *p;
	const char *real;
	size_t len = 0;

	mw_rcu_enter(); /* keeps the path, and with it p->real */
	p = mw_path_known(name, n);
	real = p ? __atomic_load_n(&p->real, __ATOMIC_ACQUIRE) : NULL;
	if (real && strlen(real) < size) {
		len = strlen(real);
		memcpy(to, real, len + 1);
	}
	mw_rcu_leave();
	return len;
}

bool mw_row_total(struct mw_row *sum, struct mw_counters *before)
{
	struct mw_sum *sums;
	uint32_t end;

	*sum = (struct mw_row){ 0 };
	mw_reading_lock();
	*before = mw_before_reset();
	sums = mw_sums(&end);
	for (uint32_t id = 1; sums && id < end; id++)
		if (__atomic_load_n(&mw_callsite(id)->kind, __ATOMIC_ACQUIRE) != MW_CS_FREE)
			(void)mw_row_count(sum, id, &sums[id]);
	if (sums)
		mw_sums_free(sums, end);
	mw_reading_unlock();
	return sums != NULL;
}
