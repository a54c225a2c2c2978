/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paths.c - the names of files and modules: see paths.h. Lock-free.
 *
 * A path without references never gets one again: a thread that finds a dying path looks it up,
 * or adds it, once more.
 */
#include "paths.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracker/base/arena.h"

enum { BUCKETS = 256 }; /* fixed */

static struct cds_lfht *paths;
static struct mw_path *dead; /* stack; any thread pushes; taken as a whole */
/*
 * The path that was taken last: new lines come in rows of one file. Stored (release) while its taker holds it, and cleared
 * when its last reference goes: so what is read here (acquire) is freed no sooner than what a lookup finds.
 */
static struct mw_path *last;

struct text {
	const char *p;
	size_t n;
};

uint32_t mw_text_hash(const char *text, size_t n)
{
	return (uint32_t)XXH3_64bits(text, n);
}

static int path_match(struct cds_lfht_node *n, const void *key)
{
	const struct mw_path *p = caa_container_of(n, struct mw_path, node);
	const struct text *k = key;

	mw_take_over(p);
	return p->len == k->n && mw_get(&p->refs) && memcmp(p->text, k->p, k->n) == 0;
}

/* Takes a reference unless the path is dying. */
static bool path_hold(struct mw_path *p)
{
	uint32_t r = mw_get(&p->refs);

	while (r)
		if (__atomic_compare_exchange_n(&p->refs, &r, r + 1, true, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return true;
	return false;
}

struct mw_path *mw_path_known(const char *text, size_t n)
{
	struct text key = { text, n };
	struct cds_lfht_iter it;

	cds_lfht_lookup(paths, mw_text_hash(text, n), path_match, &key, &it);
	return it.node ? caa_container_of(it.node, struct mw_path, node) : NULL;
}

/* With a reference; NULL: it is another one. */
static struct mw_path *take_last(const struct text *key)
{
	struct mw_path *p = __atomic_load_n(&last, __ATOMIC_ACQUIRE);

	return p && path_match(&p->node, key) && path_hold(p) ? p : NULL;
}

static struct mw_path *look_up_or_add(const struct text *key)
{
	const char *text = key->p;
	size_t n = key->n;
	uint32_t hash = mw_text_hash(text, n);
	struct cds_lfht_node *found;
	struct cds_lfht_iter it;
	struct mw_path *p = NULL, *mine = NULL;

	for (;;) {
		if (!mine) {
			cds_lfht_lookup(paths, hash, path_match, key, &it);
			found = cds_lfht_iter_get_node(&it);
		} else {
			mw_hand_over(mine);
			found = cds_lfht_add_unique(paths, hash, path_match, key, &mine->node);
			if (found == &mine->node)
				return mine;
		}
		if (found) {
			p = caa_container_of(found, struct mw_path, node);
			if (path_hold(p))
				break;
			continue; /* died meanwhile: it doesn't match any more */
		}
		mine = mw_arena_alloc(sizeof(*mine) + n + 1, MW_ARENA_LOCATION);
		if (!mine)
			return NULL;
		cds_lfht_node_init(&mine->node);
		mine->refs = 1;
		mine->len = (uint32_t)n;
		mine->base = 0;
		mine->real = NULL;
		memcpy(mine->text, text, n);
		mine->text[n] = '\0';
	}
	if (mine)
		mw_arena_free(mine, sizeof(*mine) + n + 1, MW_ARENA_LOCATION);
	return p;
}

struct mw_path *mw_path_take(const char *text, size_t n)
{
	struct text key = { text, n };
	struct mw_path *p = take_last(&key);

	if (p)
		return p;
	p = look_up_or_add(&key);
	if (p)
		__atomic_store_n(&last, p, __ATOMIC_RELEASE);
	return p;
}

void mw_path_read_from(struct mw_path *p, const char *real)
{
	const char *none = NULL, *keep = p->text;
	size_t n = strlen(real) + 1;
	char *copy = NULL;

	if (strcmp(real, p->text)) {
		keep = copy = mw_arena_alloc(n, MW_ARENA_LOCATION);
		if (!copy)
			return; /* asked again at the next new caller there */
		memcpy(copy, real, n);
	}
	if (!__atomic_compare_exchange_n(&p->real, &none, keep, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED) &&
	    copy)
		mw_arena_free(copy, n, MW_ARENA_LOCATION); /* another thread was first */
}

static void bury(struct mw_path *p)
{
	p->next_dead = mw_get(&dead);
	while (!__atomic_compare_exchange_n(&dead, &p->next_dead, p, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

void mw_path_drop(struct mw_path *p)
{
	struct mw_path *was = p;

	if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
		return;
	(void)__atomic_compare_exchange_n(&last, &was, NULL, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	(void)cds_lfht_del(paths, &p->node);
	bury(p);
}

struct mw_path *mw_paths_dead(void)
{
	return __atomic_exchange_n(&dead, NULL, __ATOMIC_ACQUIRE);
}

struct mw_path *mw_paths_free(struct mw_path *p, uint32_t n)
{
	while (p && n--) {
		struct mw_path *next = p->next_dead;

		if (p->real && p->real != p->text)
			mw_arena_free((char *)(uintptr_t)p->real, strlen(p->real) + 1, MW_ARENA_LOCATION);
		mw_arena_free(p, sizeof(*p) + p->len + 1, MW_ARENA_LOCATION);
		p = next;
	}
	return p;
}

void mw_paths_dead_again(struct mw_path *p)
{
	while (p) {
		struct mw_path *next = p->next_dead;

		bury(p);
		p = next;
	}
}

bool mw_paths_init(void)
{
	paths = mw_rcu_table(BUCKETS, BUCKETS);
	return paths != NULL;
}
