/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thread.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/*
 * Buckets: few at first, so that `true` pays for few; grown by maintain().
 * Not beyond 8192: liburcu starts threads to grow a table further.
 */
enum { BUCKETS_FIRST = 256, BUCKETS_MAX = 8192, PATH_BUCKETS = 256 };

struct mw_callsite *mw_cs_chunks[MW_CS_MAX / MW_CS_CHUNK];
uint64_t mw_epoch_high __attribute__((aligned(64))) = (uint64_t)1 << 32; /* the first of MW_HOT */
uint32_t mw_epoch_reset;
uint64_t mw_retired;
bool mw_locations_full;
uint32_t mw_late_ops;

static struct cds_lfht *sites, *paths;
static uint32_t next_id = MW_CS_FIRST; /* never used yet */
static uint32_t ids_max = MW_CS_MAX;   /* relaxed: less where memory ended before */
static uint64_t free_ids;              /* tag << 32 | first free id */
static uint32_t used;                  /* relaxed: locations in the table */
static uint32_t created;               /* relaxed: locations ever added, or wanted in vain */
static uint32_t buckets = BUCKETS_FIRST; /* written under mw_maintenance */
static uint32_t maintenance;
static bool texts_full;                /* relaxed: since the last sweep no room was found for some path */
static char exe[4096];                 /* name of the program, for its own addresses */

/* --- ids --------------------------------------------------------------------- */

static bool id_chunk_ready(uint32_t id)
{
	struct mw_callsite *empty = NULL, *chunk;
	size_t bytes = sizeof(*chunk) * MW_CS_CHUNK;

	if (__atomic_load_n(&mw_cs_chunks[id / MW_CS_CHUNK], __ATOMIC_ACQUIRE))
		return true;
	/* a reset must not fail for want of memory: its part is set aside here */
	if (!mw_own_set_aside(MW_CS_BASES, MW_OWN_LOCATION))
		goto none;
	chunk = mw_own_grow(bytes, MW_OWN_LOCATION);
	if (!chunk) {
		mw_own_put_back(MW_CS_BASES);
		goto none;
	}
	if (!__atomic_compare_exchange_n(&mw_cs_chunks[id / MW_CS_CHUNK], &empty, chunk, false,
					 __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
		mw_own_unmap(chunk, bytes);
		mw_own_put_back(MW_CS_BASES);
	}
	mw_set(&ids_max, MW_CS_MAX);
	return true;
none:
	if (__atomic_load_n(&mw_cs_chunks[id / MW_CS_CHUNK], __ATOMIC_ACQUIRE))
		return true; /* another thread had the last that there was */
	mw_set(&ids_max, id / MW_CS_CHUNK * MW_CS_CHUNK);
	return false;
}

static uint32_t id_take(void)
{
	uint64_t top = __atomic_load_n(&free_ids, __ATOMIC_ACQUIRE), next;
	uint32_t id;

	while ((uint32_t)top) {
		next = ((top >> 32) + 1) << 32 | mw_get(&mw_callsite((uint32_t)top)->next_free);
		if (__atomic_compare_exchange_n(&free_ids, &top, next, true,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return (uint32_t)top;
	}
	id = mw_get(&next_id);
	do {
		if (id >= MW_CS_MAX || !id_chunk_ready(id))
			return MW_CS_NONE;
	} while (!__atomic_compare_exchange_n(&next_id, &id, id + 1, true,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return id;
}

static void id_give(uint32_t id)
{
	uint64_t top = mw_get(&free_ids), head;

	__atomic_store_n(&mw_callsite(id)->kind, MW_CS_FREE, __ATOMIC_RELEASE);
	do {
		mw_set(&mw_callsite(id)->next_free, (uint32_t)top);
		head = ((top >> 32) + 1) << 32 | id;
	} while (!__atomic_compare_exchange_n(&free_ids, &top, head, true,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

/* --- paths: counted, found by their text --------------------------------------- */

struct text {
	const char *p;
	size_t n;
};

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
		if (__atomic_compare_exchange_n(&p->refs, &r, r + 1, true,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return true;
	return false;
}

static struct mw_path *path_take(const char *text, size_t n)
{
	struct text key = { text, n };
	uint32_t hash = (uint32_t)XXH3_64bits(text, n);
	struct cds_lfht_node *found;
	struct cds_lfht_iter it;
	struct mw_path *p = NULL, *mine = NULL;

	for (;;) {
		if (!mine) {
			cds_lfht_lookup(paths, hash, path_match, &key, &it);
			found = cds_lfht_iter_get_node(&it);
		} else {
			mw_hand_over(mine);
			found = cds_lfht_add_unique(paths, hash, path_match, &key, &mine->node);
			if (found == &mine->node)
				return mine;
		}
		if (found) {
			p = caa_container_of(found, struct mw_path, node);
			if (path_hold(p))
				break;
			continue; /* died meanwhile: it doesn't match any more */
		}
		mine = mw_own_alloc(sizeof(*mine) + n + 1, MW_OWN_LOCATION);
		if (!mine) {
			mw_set(&mw_locations_full, true);
			return NULL;
		}
		cds_lfht_node_init(&mine->node);
		mine->hash = hash;
		mine->refs = 1;
		mine->len = (uint32_t)n;
		memcpy(mine->text, text, n);
		mine->text[n] = '\0';
	}
	if (mine)
		mw_own_free(mine, sizeof(*mine) + n + 1);
	return p;
}

static struct mw_path *dead; /* stack; pushed by anybody, taken whole */

static void bury(struct mw_path *p)
{
	p->next_dead = mw_get(&dead);
	while (!__atomic_compare_exchange_n(&dead, &p->next_dead, p, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

/* Drops a reference; the last one takes the path out of the table. */
static void path_drop(struct mw_path *p)
{
	if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
		return;
	(void)cds_lfht_del(paths, &p->node);
	bury(p);
}

struct mw_path *mw_paths_dead(void)
{
	return __atomic_exchange_n(&dead, NULL, __ATOMIC_ACQUIRE);
}

void mw_paths_free(struct mw_path *p)
{
	while (p) {
		struct mw_path *next = p->next_dead;

		mw_own_free(p, sizeof(*p) + p->len + 1);
		p = next;
	}
}

void mw_paths_dead_again(struct mw_path *p)
{
	while (p) {
		struct mw_path *next = p->next_dead;

		bury(p);
		p = next;
	}
}

/* --- locations ------------------------------------------------------------------ */

struct key {
	uint8_t kind;
	const struct mw_path *path;
	uint64_t at;
};

static int site_match(struct cds_lfht_node *n, const void *key)
{
	const struct mw_callsite *c = caa_container_of(n, struct mw_callsite, node);
	const struct key *k = key;

	mw_take_over(c);
	return c->kind == k->kind && c->path == k->path && c->at == k->at;
}

static uint32_t key_hash(const struct key *k)
{
	return (uint32_t)XXH3_64bits_withSeed(&k->at, sizeof(k->at),
					      (uint64_t)(uintptr_t)k->path + k->kind);
}

/* Counts as one that was made: a table where nothing fits must be swept again. */
static uint32_t no_room(void)
{
	mw_set(&mw_locations_full, true);
	mw_add(&created, 1);
	return MW_CS_OTHER;
}

static uint32_t no_text(void)
{
	mw_set(&texts_full, true);
	return no_room();
}

/* k->path comes with a reference, which the location takes over. */
static uint32_t site_take(struct key *k, uintptr_t addr)
{
	uint32_t id, hash = key_hash(k);
	struct cds_lfht_node *found;
	struct cds_lfht_iter it;
	struct mw_callsite *c;

	cds_lfht_lookup(sites, hash, site_match, k, &it);
	found = cds_lfht_iter_get_node(&it);
	if (found) {
		path_drop((struct mw_path *)k->path);
		return caa_container_of(found, struct mw_callsite, node)->id;
	}
	id = id_take();
	if (id == MW_CS_NONE) {
		path_drop((struct mw_path *)k->path);
		return no_room();
	}
	c = mw_callsite(id);
	c->id = id;
	/* a reader may still look at what was begun under this id, and given up */
	mw_set(&c->path, (struct mw_path *)k->path);
	mw_set(&c->at, k->at);
	mw_set(&c->addr, addr);
	c->hash = hash;
	mw_set(&c->alias, 0);
	mw_set(&c->seen, UINT32_MAX);
	cds_lfht_node_init(&c->node);
	__atomic_store_n(&c->kind, k->kind, __ATOMIC_RELEASE);
	mw_hand_over(c);
	found = cds_lfht_add_unique(sites, hash, site_match, k, &c->node);
	if (found != &c->node) { /* another thread was first */
		path_drop(c->path);
		mw_set(&c->path, NULL);
		id_give(id);
		return caa_container_of(found, struct mw_callsite, node)->id;
	}
	mw_add(&used, 1);
	mw_add(&created, 1);
	return id;
}

uint32_t mw_callsite_ruby(const char *path, size_t len, uint64_t line)
{
	struct key k = { MW_CS_RUBY, NULL, line };

	k.path = path_take(path, len);
	return k.path ? site_take(&k, 0) : no_text();
}

uint32_t mw_callsite_pending(uintptr_t pc)
{
	struct key k = { MW_CS_PENDING, NULL, pc };

	return site_take(&k, 0);
}

static uint32_t site_known(const struct key *k)
{
	struct cds_lfht_iter it;

	cds_lfht_lookup(sites, key_hash(k), site_match, k, &it);
	return it.node ? caa_container_of(it.node, struct mw_callsite, node)->id : MW_CS_NONE;
}

uint32_t mw_callsite_pending_known(uintptr_t pc)
{
	return site_known(&(struct key){ MW_CS_PENDING, NULL, pc });
}

uint32_t mw_callsite_ruby_known(const char *path, size_t len, uint64_t line)
{
	struct text key = { path, len };
	struct cds_lfht_iter it;

	cds_lfht_lookup(paths, (uint32_t)XXH3_64bits(path, len), path_match, &key, &it);
	if (!it.node)
		return MW_CS_NONE;
	return site_known(&(struct key){ MW_CS_RUBY, caa_container_of(it.node, struct mw_path, node),
					 line });
}

uint32_t mw_callsite_native(uintptr_t addr)
{
	struct key k = { MW_CS_NATIVE, NULL, addr };
	struct dl_find_object o;

	/* takes no lock, unlike dladdr, whose lock a thread inside dlopen() holds */
	if (_dl_find_object((void *)addr, &o) == 0 && o.dlfo_link_map) {
		const char *name = o.dlfo_link_map->l_name;

		if (!name || !*name)
			name = exe;
		k.path = path_take(name, strlen(name));
		if (!k.path)
			return no_text();
		k.at = addr - o.dlfo_link_map->l_addr;
	}
	return site_take(&k, addr);
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
	if (__atomic_compare_exchange_n(&c->alias, &none, to, false, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED)) {
		/* the pc may belong to other code one day: not to be found again */
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
	struct key k = { c->kind, c->path, c->at };
	struct cds_lfht_node *found;

	cds_lfht_node_init(&c->node);
	mw_hand_over(c);
	found = cds_lfht_add_unique(sites, c->hash, site_match, &k, &c->node);
	if (found != &c->node)
		return caa_container_of(found, struct mw_callsite, node)->id;
	mw_add(&used, 1);
	return id;
}

void mw_callsite_release(uint32_t id)
{
	struct mw_callsite *c = mw_callsite(id);

	if (c->symbol)
		mw_own_free(c->symbol, strlen(c->symbol) + 1);
	mw_set(&c->symbol, NULL);
	path_drop(c->path);
	mw_set(&c->path, NULL);
	id_give(id);
}

void mw_life_max_raise(uint32_t id, uint32_t epoch, uint32_t life)
{
	struct mw_callsite *c = mw_callsite(id);
	uint64_t is = mw_get(&c->life_max), want;
	uint32_t from = mw_epoch_from(c);

	if (epoch < from)
		return;
	do {
		uint32_t e = (uint32_t)(is >> 32), m = e < from ? 0 : (uint32_t)is;

		want = (uint64_t)(e > epoch ? e : epoch) << 32 | (m > life ? m : life);
	} while (want != is &&
		 !__atomic_compare_exchange_n(&c->life_max, &is, want, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
}

uint32_t mw_callsites_end(void)
{
	return __atomic_load_n(&next_id, __ATOMIC_ACQUIRE);
}

uint32_t mw_callsites_max(void)
{
	return mw_get(&ids_max);
}

uint32_t mw_callsites_used(void)
{
	return mw_get(&used);
}

/* --- set-up and upkeep ------------------------------------------------------------ */

/*
 * liburcu abort()s when it finds no memory, here for its tables, their
 * buckets and its registry: look first.
 */
static bool memory_is_there(void)
{
	void *p = mw_own_lend(1 << 20);

	mw_own_return(p, 1 << 20);
	return p != NULL;
}

bool mw_callsites_init(void)
{
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	if (!id_chunk_ready(0) || !memory_is_there())
		return false;
	for (uint32_t id = MW_CS_OTHER; id < MW_CS_FIRST; id++) {
		mw_callsite(id)->kind = MW_CS_SPECIAL;
		mw_callsite(id)->id = id;
	}
	/* no flags: either of them would start threads in the host */
	sites = cds_lfht_new(BUCKETS_FIRST, 1, BUCKETS_MAX, 0, NULL);
	paths = cds_lfht_new(PATH_BUCKETS, 1, PATH_BUCKETS, 0, NULL);
	return sites && paths;
}

static __thread bool maintains __attribute__((tls_model("initial-exec")));

bool mw_maintenance_try(void)
{
	if (mw_get(&maintenance))
		return false;
	maintains = true; /* before and after: see mw_reading_mine */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!__atomic_exchange_n(&maintenance, 1, __ATOMIC_ACQUIRE))
		return true;
	maintains = false;
	return false;
}

void mw_maintenance_end(void)
{
	__atomic_store_n(&maintenance, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	maintains = false;
}

bool mw_maintenance_mine(void)
{
	return maintains;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void mw_callsites_maintain(void)
{
	static uint32_t swept; /* under maintenance: `created` at the last sweep */
	static uint64_t rest;  /* ms: not before; a full table's callers all ask */
	uint32_t n = mw_get(&used), c = mw_get(&created), max = mw_callsites_max();
	bool crowded = n > 2 * mw_get(&buckets) && mw_get(&buckets) < BUCKETS_MAX;
	bool sweep = (n > max / 2 || mw_get(&texts_full)) && c - mw_get(&swept) > max / 16;
	bool full = n >= max - max / 128 || mw_get(&texts_full);
	struct mw_thread *t = mw_state();
	int cancel;

	if (!(crowded || sweep) || (!crowded && full && now_ms() < mw_get(&rest)) ||
	    !mw_maintenance_try())
		return;
	/* growing and waiting call libc, which may be cancelled there, and
	   allocate what is ours */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (t)
		mw_set(&t->hush, t->hush + MW_QUIET);
	if (memory_is_there()) {
		if (crowded) {
			mw_set(&buckets, mw_get(&buckets) * 4 > BUCKETS_MAX ? BUCKETS_MAX
									    : mw_get(&buckets) * 4);
			cds_lfht_resize(sites, mw_get(&buckets));
		}
		if (sweep) {
			mw_set(&swept, c);
			mw_retire(n > max / 4 * 3 || mw_get(&texts_full));
			mw_set(&texts_full, false);
			mw_set(&rest, now_ms() + 200);
		}
	}
	if (t)
		mw_set(&t->hush, t->hush - MW_QUIET);
	mw_maintenance_end();
	pthread_setcancelstate(cancel, NULL);
}
