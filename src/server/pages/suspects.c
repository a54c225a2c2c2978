/* SPDX-License-Identifier: GPL-2.0-or-later */
/* suspects.c - see suspects.h. */
#include "suspects.h"

#include <stdlib.h>
#include <string.h>

#include "server/history/limit.h"
#include "server/objects/objects.h"
#include "site.h"

enum {
	/* that something has risen: a cache that fills is full by then, or known to be large */
	RISEN_SECONDS = 90,
	AGAIN_SECONDS = 60, /* after an attempt that failed */
	SHARE = 1000        /* the child takes 1/SHARE of a CPU at most */
};
_Static_assert((int)MW_SUSPECTS == (int)MW_VERDICT_SUSPECTS, "a proof answers all that a verdict asks");
#define PROOF_RSS ((double)((uint64_t)4 << 30))
#define UNKNOWN __builtin_nan("")

/* --- may one be made? --------------------------------------------------------------- */

static bool has_room(double rss)
{
	struct mw_limits now;

	if (rss > PROOF_RSS)
		return false;
	mw_limits_read(&now);
	return now.room > (uint64_t)rss / 4;
}

static const char *never(const struct mw_site *s)
{
	if (s->api->options()->proof_off)
		return "proofs are off";
	if (!strcmp(s->stats.ruby_lookup ? s->stats.ruby_lookup : "none", "none"))
		return "Ruby's frames can't be read here";
	if (!s->proofs.able)
		return "mwrap's own server doesn't run here";
	if (s->proofs.never || !s->curves.on || !s->api->each_live)
		return "this process can't be asked";
	return NULL;
}

static bool is_due(struct mw_site *s)
{
	const struct mw_proofs *p = &s->proofs;
	const struct mw_point *last = mw_history_last(&s->history);
	double now = mw_site_uptime(s);

	if (never(s) || p->under_way || now < p->next || now - s->said.since < RISEN_SECONDS || !last ||
	    last->rss == MW_KIB_UNKNOWN)
		return false;
	s->proofs.crowded = !has_room((double)last->rss * 1024); /* the last check: it reads files */
	if (!s->proofs.crowded)
		return true;
	s->proofs.next = now + AGAIN_SECONDS;
	strcpy(s->proofs.why,
	       "proofs: none is made while the process is above 4 GB, or its cgroup is nearly full");
	return false;
}

const char *mw_site_no_proof(const struct mw_site *s)
{
	const char *why = never(s);

	return why || !s->proofs.crowded ? why : "the process is above 4 GB, or its cgroup is nearly full";
}

/* --- the question -------------------------------------------------------------------- */

/* The moment, at `at` or before, at which the generation that was then the present one began. */
static void find_old(const struct mw_site *s, struct mw_suspects *q, double since, double at)
{
	struct mw_history_grid g = mw_history_finest(&s->history, since);

	q->old_t = UNKNOWN;
	for (uint32_t i = 0; i < g.n; i++) {
		const struct mw_point *p = mw_history_at(&g, i);

		if (p->t > at || p->gcs == MW_KIB_UNKNOWN)
			break;
		if (p->t >= since && p->gcs != q->old) {
			q->old = p->gcs;
			q->old_t = p->t;
		}
	}
}

/* The bytes of a location at a time, or just before; NaN: not known. */
static double bytes_at(struct mw_site *s, const char *location, size_t len, double since, double t)
{
	struct mw_curve_set set;
	double bytes = UNKNOWN;

	if (mw_curves_read_one(&s->curves, location, len, since, mw_site_uptime(s), MW_CURVES_POINTS, &set))
		return UNKNOWN;
	for (size_t i = 0; set.n && i < set.v[0].n && set.v[0].t[i] <= t; i++)
		bytes = (double)set.v[0].bytes[i];
	mw_curves_free_set(&set);
	return bytes;
}

static bool add_suspect(struct mw_site *s, struct mw_suspects *q, const char *location, uint32_t len,
			double since)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return false;
	memcpy(copy, location, len);
	copy[len] = '\0';
	q->v[q->n].location = copy;
	q->v[q->n].len = len;
	q->v[q->n++].old_bytes = q->old_t == q->old_t ? bytes_at(s, copy, len, since, q->old_t) : UNKNOWN;
	return true;
}

bool mw_site_suspects(struct mw_site *s, struct mw_suspects *q)
{
	const struct mw_said *said = &s->said;
	bool all = true;

	*q = (struct mw_suspects){ 0 };
	if (mw_site_uptime(s) >= s->proofs.look) { /* also if nobody asks for it: the journal has it */
		s->proofs.look = mw_site_uptime(s) + MW_PROOF_LOOK_SECONDS;
		(void)mw_site_said(s);
	}
	q->made = said->made != s->proofs.made_of ? said->made : 0;
	if ((!said->suspects_n && !q->made) || !is_due(s))
		return false;
	q->t = mw_site_uptime(s);
	find_old(s, q, said->since, said->since + (q->t - said->since) / 2);
	for (size_t i = 0; all && i < said->suspects_n && i < MW_SUSPECTS; i++)
		all = add_suspect(s, q, said->suspects[i], (uint32_t)strlen(said->suspects[i]),
				  said->since);
	if (!all) {
		mw_suspects_free(q);
		return false;
	}
	s->proofs.under_way = true;
	return true;
}

/* --- asking, in another thread ------------------------------------------------------- */

static bool find_ids(const struct mw_suspects *q, const struct mw_snapshot *s, struct mw_buf *ids,
		     struct mw_buf *suspect)
{
	for (size_t i = 0; i < q->n; i++) {
		const struct mw_row *row = mw_location_find(s, q->v[i].location, q->v[i].len);

		if (row)
			mw_location_ids(s, row, ids);
		while (!ids->failed && !suspect->failed && suspect->n < ids->n / sizeof(uint32_t))
			mw_buf_add(suspect, &(char){ (char)i }, 1);
	}
	return ids->n && !ids->failed && !suspect->failed;
}

/* Adds the line that made objects, unless it is one of the suspects, or there is no room for one more. */
static void add_made(struct mw_suspects *q, struct mw_buf *ids, struct mw_buf *suspect)
{
	const uint32_t *id = (const uint32_t *)(const void *)ids->p;

	for (size_t i = 0; i < suspect->n; i++)
		if (id[i] == q->made) {
			q->made_as = (uint8_t)suspect->p[i];
			return;
		}
	q->made_as = (uint32_t)q->n;
	if (q->n == MW_SUSPECTS)
		return;
	mw_buf_add(ids, &q->made, sizeof(q->made));
	mw_buf_add(suspect, &(char){ (char)q->made_as }, 1);
}

void mw_suspects_ask(struct mw_suspects *q, const struct mw_api *api)
{
	struct mw_snapshot *s = api->snapshot();
	struct mw_buf ids = { 0 }, suspect = { 0 };
	bool found = s && find_ids(q, s, &ids, &suspect);
	struct mw_holders_question of;

	if (q->made) {
		add_made(q, &ids, &suspect);
		found = !ids.failed && !suspect.failed;
	}
	of = (struct mw_holders_question){ .ids = (const uint32_t *)(const void *)ids.p,
					   .n = ids.n / sizeof(uint32_t),
					   .suspect = (const uint8_t *)suspect.p,
					   .old = q->old,
					   .objects = q->made ? mw_objects_for_holders : NULL };

	if (s)
		api->snapshot_free(s);
	q->is = MW_HOLDERS_FAILED;
	if (found)
		q->is = mw_holders_ask(api, &of, &q->holders, q->err);
	mw_buf_free(&ids);
	mw_buf_free(&suspect);
}

/* --- the answer ---------------------------------------------------------------------- */

/* The owner of most of the suspect's blocks, or objects. */
static void name_owner(const struct mw_holders *h, uint32_t suspect, bool objects,
		       char owner[MW_HELD_OWNER])
{
	const struct mw_holder *most = NULL;

	for (size_t i = 0; i < h->n; i++)
		if (h->rows[i].suspect == suspect && h->rows[i].objects == objects &&
		    h->rows[i].by <= MW_HELD_NATIVE && (!most || h->rows[i].bytes > most->bytes))
			most = &h->rows[i];
	if (most)
		mw_owner_name(most, owner, MW_HELD_OWNER);
}

static void take_one(struct mw_site *s, const struct mw_suspects *q, uint32_t i)
{
	const struct mw_suspected *of = &q->holders.suspects[i];
	struct mw_held held = {
		.t = q->t,
		.location = q->v[i].location,
		.len = q->v[i].len,
		.blocks = of->blocks,
		.kept = of->by[MW_HELD_RUBY] + of->by[MW_HELD_NATIVE],
		.garbage = of->by[MW_HELD_GARBAGE],
		.lost = of->by[MW_HELD_NOTHING],
		.unclear = of->wrapped,
		.old_t = q->v[i].old_bytes == q->v[i].old_bytes ? q->old_t : UNKNOWN,
		.old_bytes = q->v[i].old_bytes,
		.old_kept = (double)(of->old_by[MW_HELD_RUBY] + of->old_by[MW_HELD_NATIVE] +
				     of->old_by[MW_HELD_NOTHING])
	};

	/* what an unknown block leads to isn't lost, and may be garbage */
	if (q->holders.missing) {
		held.garbage += held.lost;
		held.unclear += held.lost;
		held.old_kept -= (double)of->old_by[MW_HELD_NOTHING];
		held.lost = 0;
	}
	name_owner(&q->holders, i, false, held.owner);
	(void)mw_helds_add(&s->proofs.helds, &held);
}

void mw_site_proved(struct mw_site *s, struct mw_suspects *q)
{
	struct mw_proofs *p = &s->proofs;
	double cost = (double)q->holders.ns / 1e9 * SHARE;

	p->under_way = false;
	p->next = mw_site_uptime(s) + AGAIN_SECONDS;
	if (q->is != MW_HOLDERS_OK) {
		p->never = q->is == MW_HOLDERS_UNKNOWN;
		memcpy(p->why, q->err, sizeof(p->why));
		return;
	}
	p->next = q->t + (cost > MW_PROOF_SECONDS ? cost : MW_PROOF_SECONDS);
	p->why[0] = '\0';
	p->made++;
	p->ns += q->holders.ns;
	p->stop_ns += q->holders.stop_ns;
	p->gc_disabled = q->holders.gc_disabled;
	p->gc_t = q->t;
	for (uint32_t i = 0; i < q->n; i++)
		take_one(s, q, i);
	if (q->holders.objects)
		mw_helds_add_heap(&p->helds, q->t, q->holders.object_bytes);
	if (q->made) {
		p->made_of = q->made;
		p->made_owner[0] = '\0';
		name_owner(&q->holders, q->made_as, true, p->made_owner);
	}
	s->said.stale = true;
}

void mw_suspects_free(struct mw_suspects *q)
{
	for (size_t i = 0; i < q->n; i++)
		free(q->v[i].location);
	mw_holders_free(&q->holders);
	*q = (struct mw_suspects){ 0 };
}
