/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of many rows over many ticks. A model of a client takes the events in
 * and must end with what the table has, whatever came between.
 */
/* uses: @server */
#include "unit.h"
#include "watched_journal.h"

enum { IDS = 9000 };

static struct mw_row many[IDS];
static char names[IDS][16];
static size_t many_n;

static struct mw_snapshot *many_snapshot(void)
{
	struct mw_snapshot *s = malloc(sizeof(*s));

	s->n = many_n;
	/* with the texts behind them, since names[] changes */
	s->rows = malloc(sizeof(many) + sizeof(names));
	memcpy(s->rows, many, sizeof(many));
	memcpy(s->rows + IDS, names, sizeof(names));
	for (size_t i = 0; i < s->n; i++)
		s->rows[i].location = (char *)(s->rows + IDS) + (many[i].location - names[0]);
	fake_out++;
	return s;
}

static struct mw_api many_api(void)
{
	struct mw_api api = fake_api;

	api.snapshot = many_snapshot;
	return api;
}

static struct mw_row many_row(uint32_t id, unsigned version)
{
	snprintf(names[id], sizeof(names[id]), "/f%u.rb:%u", id, version);
	return (struct mw_row){ .id = id,
				.total = 1,
				.growth = (int64_t)(id * 7919u % IDS),
				.location = names[id],
				.location_len = (uint32_t)strlen(names[id]),
				.kind = MW_KIND_RUBY };
}

/* A client's knowledge: by id, the total and the version in the name; 0: nothing. */
static struct {
	unsigned long total, version;
} known[IDS];

/* Takes out.p in as the page does. */
static size_t apply(void)
{
	const char *p = strstr(out.p, "\"rows\":["), *gone = strstr(out.p, "\"gone\":[");
	size_t n = 0;

	assert_true(p && gone && gone > p);
	if (strstr(out.p, "\"all\":true"))
		memset(known, 0, sizeof(known));
	for (gone += 8; *gone != ']'; gone += *gone == ',')
		known[strtoul(gone, (char **)(uintptr_t)&gone, 10)].total = 0;
	for (p += 8; *p == '['; p += p[0] == ',') {
		unsigned long id, total;
		const char *end = strchr(p, ']'), *name = memchr(p, '"', (size_t)(end - p));

		assert_int_equal(sscanf(p, "[%lu,%lu", &id, &total), 2);
		assert_true(id < IDS);
		if (name)
			known[id].version = strtoul(strchr(name, ':') + 1, NULL, 10);
		else
			assert_true(known[id].total); /* a short row is of one that is known */
		known[id].total = total;
		n++;
		p = end + 1;
	}
	assert_true(n <= MW_EVENT_ROWS);
	return n;
}

static void is_as_the_table(void)
{
	static bool there[IDS];

	memset(there, 0, sizeof(there));
	for (size_t i = 0; i < many_n; i++) {
		uint32_t id = many[i].id;

		there[id] = true;
		assert_int_equal(known[id].total, many[i].total);
		assert_int_equal(known[id].version, strtoul(strchr(names[id], ':') + 1, NULL, 10));
	}
	for (uint32_t id = 0; id < IDS; id++)
		assert_true(there[id] || !known[id].total);
}

EACH(setup, teardown);

TEST(a_first_tick_in_chunks_most_growth_first)
{
	struct mw_api api = many_api();
	int64_t least = INT64_MAX, most = INT64_MIN;
	size_t n, sum = 0;
	unsigned events = 0;

	memset(known, 0, sizeof(known));
	for (many_n = 0; many_n < IDS; many_n++)
		many[many_n] = many_row((uint32_t)many_n, 1);
	assert_int_equal(mw_journal_tick(&j, &api, &mark), 0);
	while (event_of(&c)) {
		assert_int_equal(strstr(out.p, "\"all\":true") != NULL, events == 0);
		n = apply();
		sum += n;
		events++;
		assert_int_equal(strstr(out.p, "\"more\":true") != NULL, sum < IDS);
		if (events > 1)
			continue;
		assert_int_equal(n, MW_EVENT_ROWS);
		for (uint32_t id = 0; id < IDS; id++) {
			if (known[id].total && many[id].growth < least)
				least = many[id].growth;
			if (!known[id].total && many[id].growth > most)
				most = many[id].growth;
		}
		assert_true(least > most);
	}
	assert_int_equal(sum, IDS);
	assert_int_equal(events, (IDS + MW_EVENT_ROWS - 1) / MW_EVENT_ROWS);
	is_as_the_table();
}

/* Ticks come in the middle of what is being sent; rows come, change, go, and are replaced. */
TEST(ticks_between_events)
{
	struct mw_api api = many_api();
	unsigned version = 2, seed = 1, promised = 0, last;

	memset(known, 0, sizeof(known));
	many_n = 0;
	for (int round = 0; round < UNIT_TIMES(400); round++) {
		for (int i = 0; i < 300; i++) {
			uint32_t what = (seed = seed * 1103515245 + 12345) >> 16 & 7;
			size_t at = many_n ? (seed = seed * 1103515245 + 12345) / 65536 % many_n : 0;

			if ((what < 3 || !many_n) && many_n < IDS - 1) {
				static bool used[IDS];
				uint32_t id = 0;

				memset(used, 0, sizeof(used));
				for (size_t k = 0; k < many_n; k++)
					used[many[k].id] = true;
				while (used[id])
					id++;
				many[many_n++] = many_row(id, version++);
				i += 10; /* that was slow */
			} else if (what < 6) {
				many[at].total++;
			} else if (what == 6) {
				many[at] = many[--many_n];
			} else {
				many[at] = many_row(many[at].id, version++);
			}
		}
		if (round == 0)
			for (uint32_t id = 0; many_n < 6000; id++)
				many[many_n] = many_row((uint32_t)many_n, version++), many_n++;
		assert_int_equal(mw_journal_tick(&j, &api, &mark), 0);
		last = 0;
		for (int e = 0; e < round % 3 && event_of(&c); e++) {
			(void)apply();
			last = strstr(out.p, "\"more\":true") != NULL;
			promised += last;
		}
	}
	while (event_of(&c)) {
		(void)apply();
		last = strstr(out.p, "\"more\":true") != NULL;
	}
	assert_false(last); /* what was promised came */
	assert_true(promised > 3);
	is_as_the_table();
	gets_nothing(&c);
}

TEST(a_promise_is_kept_when_the_rows_go)
{
	struct mw_api api = many_api();

	for (many_n = 0; many_n < 3000; many_n++)
		many[many_n] = many_row((uint32_t)many_n, 1);
	assert_int_equal(mw_journal_tick(&j, &api, &mark), 0);
	assert_true(event_of(&c));
	assert_non_null(strstr(out.p, "\"more\":true"));
	many_n = 0;
	assert_int_equal(mw_journal_tick(&j, &api, &mark), 0);
	gets(&c, EVENT("false", "false", "", ""));
	assert_true(event_of(&c)); /* and then that they went */
	assert_non_null(strstr(out.p, "\"gone\":[0,1,2,"));
	gets_nothing(&c);
}
