/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbolize.c - names native locations when a reader needs them, or their library is closed.
 *
 * A name is kept. It is that of the library that is at the address now. The name
 * counts only if that is the location's own library, and the address the same offset in it.
 */
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "closes.h"
#include "exported.h"
#include "snapshot.h"
#include "symbols.h"
#include "shared/sys/libc.h"

/* Not on the stack: the thread that calls exit() may have only 16 KiB of it. */
struct names {
	uint64_t at, addr;
	struct mw_name symbol;
	char module[4096], text[4096 + MW_NAME_MOST + 64];
};

/*
 * Writes "MODULE(symbol+0x1f) [0x7f..]" into w->text; returns its length. The caller keeps
 * libraries (mw_modules_stay). -1: one is being closed nevertheless, since this thread took too long.
 */
static int native_name(struct names *w)
{
	struct mw_object o;
	uint64_t off = w->at;
	bool known = false;
	uintptr_t at;
	int n;

	if (*w->module && mw_object_of(w->addr, &o) && mw_exported(&o, w->addr, &w->symbol, &at))
		known = w->addr - o.map->l_addr == w->at &&
			strcmp(mw_module_name(o.map->l_name), w->module) == 0;
	if (mw_closing())
		return -1;
	if (known)
		off = w->addr - at;
	if (!*w->module)
		n = snprintf(w->text, sizeof(w->text), "[0x%llx]", (unsigned long long)w->addr);
	else
		n = snprintf(w->text, sizeof(w->text), "%s(%s+0x%llx) [0x%llx]", w->module,
			     known ? w->symbol.text : "", (unsigned long long)off,
			     (unsigned long long)w->addr);
	return n < 0 ? 0 : (size_t)n < sizeof(w->text) ? n : (int)sizeof(w->text) - 1;
}

static const char *module_of(const struct mw_callsite *c)
{
	const struct mw_path *path = mw_get(&c->path);

	return path ? path->text : "";
}

/* A hint, unless it is asked in a read-side section or under the reading lock. */
static bool is_unnamed(uint32_t id)
{
	return __atomic_load_n(&mw_callsite(id)->kind, __ATOMIC_ACQUIRE) == MW_CS_NATIVE && !mw_symbol(id);
}

/*
 * Looks once for each native location. This thread holds no lock meanwhile. False: no memory for the name.
 */
static bool name_native(uint32_t id, struct names *w)
{
	const struct mw_callsite *c = mw_callsite(id);
	char *copy;
	bool unnamed;
	int n;

	mw_rcu_enter();
	unnamed = is_unnamed(id);
	if (unnamed) {
		(void)snprintf(w->module, sizeof(w->module), "%s", module_of(c));
		w->at = mw_get(&c->at);
		w->addr = mw_callsite_addr(mw_get(&c->path), w->at);
	}
	mw_rcu_leave();
	if (!unnamed || !mw_modules_stay())
		return true; /* named, or left for another time */
	n = native_name(w);
	mw_modules_may_go();
	if (n < 0)
		return true;
	copy = mw_symbol_room(id) ? mw_arena_alloc((size_t)n + 1, MW_ARENA_NAME) : NULL;
	if (!copy)
		return false;
	memcpy(copy, w->text, (size_t)n + 1);
	/* the id may have another tenant now, or its name from another reader; in a reset: later */
	if (mw_reading_try()) {
		if (is_unnamed(id) && mw_get(&c->at) == w->at &&
		    strncmp(module_of(c), w->module, sizeof(w->module) - 1) == 0 &&
		    mw_symbol_set(id, copy))
			copy = NULL;
		mw_reading_unlock();
	}
	mw_arena_free(copy, (size_t)n + 1, MW_ARENA_NAME);
	return true;
}

void mw_name_natives(void)
{
	uint32_t end = mw_callsites_end(), id;
	struct names *w = mw_arena_lend(sizeof(*w));

	for (id = MW_CS_FIRST; w && id < end; id++)
		if (is_unnamed(id) && !name_native(id, w))
			break; /* the others won't find memory either: they show no symbol */
	mw_arena_return(w, sizeof(*w));
}

void mw_name_natives_of(const char *module)
{
	uint32_t end = mw_callsites_end(), id;
	const struct mw_path *path;
	struct names *w = NULL;

	mw_rcu_enter();
	path = mw_path_known(module, strlen(module));
	mw_rcu_leave();
	/* path is only compared: it may be freed, and its memory another path's */
	for (id = MW_CS_FIRST; path && id < end; id++) {
		if (!is_unnamed(id) || mw_get(&mw_callsite(id)->path) != path)
			continue;
		if (!w && !(w = mw_arena_lend(sizeof(*w))))
			break;
		if (!name_native(id, w))
			break;
	}
	if (w)
		mw_arena_return(w, sizeof(*w));
}
