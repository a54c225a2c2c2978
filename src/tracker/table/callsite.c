/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callsite.c - the table of locations; see callsite.h.
 *
 * It finds and adds locations, and takes them out for retire.c. ids.c gives out their ids, paths.c
 * shares their paths, and maintain.c decides when the table grows and is swept.
 */
#include "callsite.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "shared/sys/libc.h"
#include "shared/sys/sys.h"
#include "ids.h"
#include "maintain.h"
#include "record.h"
#include "shard.h"
#include "symbols.h"

uint32_t mw_epoch_reset;
uint64_t mw_retired;
bool mw_locations_full;
bool mw_texts_full;
uint32_t mw_late;

static struct cds_lfht *sites;
static uint32_t used;    /* relaxed: locations in the table */
static uint32_t created; /* relaxed: locations ever added, or refused */
static char exe[4096];   /* name of the program, for its own addresses */

struct key {
	uint8_t kind;
	const struct mw_path *path, *callers; /* callers: RUBY; else NULL */
	uint64_t at;
};

static int site_match(struct cds_lfht_node *n, const void *key)
{
	const struct mw_callsite *c = caa_container_of(n, struct mw_callsite, node);
	const struct key *k = key;

	mw_take_over(c);
	return c->kind == k->kind && c->path == k->path && c->at == k->at && c->callers == k->callers;
}

static uint32_t key_hash(const struct key *k)
{
	uint64_t seed = (uint64_t)(uintptr_t)k->path + k->kind + 31 * (uint64_t)(uintptr_t)k->callers;

	return (uint32_t)XXH3_64bits_withSeed(&k->at, sizeof(k->at), seed);
}

static uint32_t id_of(const struct cds_lfht_node *n)
{
	return mw_callsite_id(caa_container_of(n, struct mw_callsite, node));
}

/* Counts as a location that was added: a full table must be swept again. */
static uint32_t no_room(void)
{
	mw_set(&mw_locations_full, true);
	mw_add(&created, 1);
	return MW_CS_OTHER;
}

static uint32_t no_text(void)
{
	mw_set(&mw_texts_full, true);
	return no_room();
}

static void drop_texts(const struct key *k)
{
	mw_path_drop((struct mw_path *)(uintptr_t)k->path);
	mw_path_drop((struct mw_path *)(uintptr_t)k->callers);
}

/* k's texts come with references: the location takes them over, or they are dropped. */
static uint32_t site_take(struct key *k)
{
	uint32_t id, hash = key_hash(k);
	struct cds_lfht_node *found;
	struct cds_lfht_iter it;
	struct mw_callsite *c;

	mw_assert(mw_late_any() || mw_get(&mw_late) >= MW_LATE_FORK || /* a fork may end its being counted */
		  mw_self->permit == MW_PERMIT_BUSY); /* no sweep frees what is found */
	cds_lfht_lookup(sites, hash, site_match, k, &it);
	found = cds_lfht_iter_get_node(&it);
	if (found) {
		drop_texts(k);
		return id_of(found);
	}
	id = mw_id_take();
	if (id == MW_CS_NONE) {
		drop_texts(k);
		return no_room();
	}
	c = mw_callsite(id);
	c->chunk = (uint8_t)(id / MW_CS_CHUNK);
	/* a reader may still look at an entry that was begun under this id, and given up */
	mw_set(&c->path, (struct mw_path *)k->path);
	mw_set(&c->callers, (struct mw_path *)k->callers);
	mw_set(&c->at, k->at);
	mw_set(&c->alias, 0);
	mw_set(&c->seen, UINT32_MAX);
	cds_lfht_node_init(&c->node);
	__atomic_store_n(&c->kind, k->kind, __ATOMIC_RELEASE);
	mw_hand_over(c);
	found = cds_lfht_add_unique(sites, hash, site_match, k, &c->node);
	if (found != &c->node) { /* another thread was first */
		mw_set(&c->path, NULL);
		mw_set(&c->callers, NULL);
		drop_texts(k);
		mw_id_give(id);
		return id_of(found);
	}
	mw_add(&used, 1);
	mw_add(&created, 1);
	return id;
}

uint32_t mw_callsite_ruby(const char *path, size_t len, uint64_t line)
{
	return mw_callsite_called(path, len, line, NULL, 0);
}

uint32_t mw_callsite_called(const char *path, size_t len, uint64_t line, const char *callers, size_t n)
{
	struct key k = { .kind = MW_CS_RUBY, .at = line };

	k.path = mw_path_take(path, len);
	k.callers = k.path && n ? mw_path_take(callers, n) : NULL;
	if (k.path && (k.callers || !n))
		return site_take(&k);
	drop_texts(&k);
	return no_text();
}

uint32_t mw_callsite_pending(uintptr_t pc)
{
	struct key k = { .kind = MW_CS_PENDING, .at = pc };

	return site_take(&k);
}

static uint32_t site_known(const struct key *k)
{
	struct cds_lfht_iter it;

	cds_lfht_lookup(sites, key_hash(k), site_match, k, &it);
	return it.node ? id_of(it.node) : MW_CS_NONE;
}

uint32_t mw_callsite_pending_known(uintptr_t pc)
{
	return site_known(&(struct key){ .kind = MW_CS_PENDING, .at = pc });
}

uint32_t mw_callsite_called_known(const char *path, size_t len, uint64_t line, const char *callers, size_t n)
{
	struct key k = { .kind = MW_CS_RUBY, .path = mw_path_known(path, len), .at = line };

	k.callers = n ? mw_path_known(callers, n) : NULL;
	return k.path && (k.callers || !n) ? site_known(&k) : (uint32_t)MW_CS_NONE;
}

const char *mw_module_name(const char *l_name)
{
	return l_name && *l_name ? l_name : exe;
}

uint32_t mw_callsite_native(uintptr_t addr)
{
	struct key k = { .kind = MW_CS_NATIVE, .at = addr };
	struct mw_object o;

	/* takes no lock, unlike dladdr: a thread inside dlopen() holds dladdr's lock */
	if (mw_object_of(addr, &o)) {
		const char *name = mw_module_name(o.map->l_name);
		struct mw_path *module = mw_path_take(name, strlen(name));

		if (!module)
			return no_text();
		mw_set(&module->base, (uintptr_t)o.map->l_addr);
		k.path = module;
		k.at = addr - o.map->l_addr;
	}
	return site_take(&k);
}

uint32_t mw_callsite_real(uint32_t id)
{
	uint32_t to;

	/* a chain is two long at most: pending -> unlinked -> its successor */
	while ((to = __atomic_load_n(&mw_callsite(id)->alias, __ATOMIC_ACQUIRE)))
		id = to;
	return id;
}

uint32_t mw_callsite_shown(uint32_t id)
{
	id = mw_callsite_real(id);
	return mw_get(&mw_callsite(id)->kind) == MW_CS_PENDING ? (uint32_t)MW_CS_UNKNOWN : id;
}

void mw_callsite_resolve(uint32_t pending, uint32_t to)
{
	struct mw_callsite *c = mw_callsite(pending);
	uint32_t none = 0;

	if (pending == to || mw_get(&c->kind) != MW_CS_PENDING)
		return;
	if (__atomic_compare_exchange_n(&c->alias, &none, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
		/* the pc may belong to other code one day: no lookup may find it again */
		if (cds_lfht_del(sites, &c->node) == 0)
			mw_add(&used, (uint32_t)-1);
	}
}

void mw_callsite_unlink(uint32_t id)
{
	if (cds_lfht_del(sites, &mw_callsite(id)->node) == 0)
		mw_add(&used, (uint32_t)-1);
}

uint32_t mw_callsite_relink(uint32_t id)
{
	struct mw_callsite *c = mw_callsite(id);
	struct key k = { c->kind, c->path, c->callers, c->at };
	struct cds_lfht_node *found;

	cds_lfht_node_init(&c->node);
	mw_hand_over(c);
	found = cds_lfht_add_unique(sites, key_hash(&k), site_match, &k, &c->node);
	if (found != &c->node)
		return id_of(found);
	mw_add(&used, 1);
	return id;
}

void mw_callsite_release(uint32_t id)
{
	struct mw_callsite *c = mw_callsite(id);

	mw_symbol_drop(id);
	mw_path_drop(c->callers);
	mw_set(&c->callers, NULL);
	mw_path_drop(c->path);
	mw_set(&c->path, NULL);
	mw_id_give(id);
}

void mw_life_max_raise(uint32_t id, uint32_t epoch, uint32_t life)
{
	struct mw_callsite *c = mw_callsite(id);
	uint32_t from = mw_epoch_from(c);
	uint64_t *max, is, want;

	if (epoch < from)
		return;
	max = &mw_flushed_frees_taken(id)->life_max;
	is = mw_get(max);
	do {
		uint32_t e = (uint32_t)(is >> 32), m = e < from ? 0 : (uint32_t)is;

		want = (uint64_t)(e > epoch ? e : epoch) << 32 | (m > life ? m : life);
	} while (want != is &&
		 !__atomic_compare_exchange_n(max, &is, want, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

uint32_t mw_callsites_used(void)
{
	return mw_get(&used);
}

uint32_t mw_callsites_wanted(void)
{
	return mw_get(&created);
}

void mw_callsites_resize(uint32_t n)
{
	mw_assert(mw_maintenance_mine() && n <= MW_TABLE_BUCKETS_MAX && (n & (n - 1)) == 0);
	cds_lfht_resize(sites, n);
}

const char *mw_callsite_special(uint32_t id)
{
	static const char *const names[MW_CS_FIRST] = {
		[MW_CS_NONE] = "",
		[MW_CS_OTHER] = "(other)",
		[MW_CS_GONE] = "(gone)",
		[MW_CS_UNKNOWN] = "(ruby, line not known)",
		[MW_CS_STARTING] = "(ruby, starting)",
		[MW_CS_JIT] = MW_LOCATION_JIT,
	};

	return names[id < MW_CS_FIRST ? id : MW_CS_NONE];
}

bool mw_callsites_init(void)
{
	long n = mw_sys_readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	if (!mw_records_init() || !mw_ids_ready(0) || !mw_memory_is_there())
		return false;
	for (uint32_t id = MW_CS_OTHER; id < MW_CS_FIRST; id++)
		mw_callsite(id)->kind = MW_CS_SPECIAL;
	sites = mw_rcu_table(MW_TABLE_BUCKETS_FIRST, MW_TABLE_BUCKETS_MAX);
	return sites && mw_paths_init();
}
