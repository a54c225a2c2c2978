/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.c - what native locations are called: asked for when somebody reads, and kept. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "read.h"

/* "MODULE(symbol+0x1f) [0x7f..]" into out; returns its length. */
static int native_name(char *out, size_t size, const char *module, uint64_t at, uint64_t addr)
{
	const char *symbol = NULL;
	uint64_t off = at;
	Dl_info i;
	int n;

	/* the module may be gone, and another one mapped in its place */
	if (*module && dladdr((void *)(uintptr_t)addr, &i) && i.dli_sname &&
	    (uintptr_t)i.dli_fbase <= addr && addr - (uintptr_t)i.dli_saddr < at + 1) {
		symbol = i.dli_sname;
		off = addr - (uintptr_t)i.dli_saddr;
	}
	if (!*module)
		n = snprintf(out, size, "[0x%llx]", (unsigned long long)addr);
	else
		n = snprintf(out, size, "%s(%s+0x%llx) [0x%llx]", module, symbol ? symbol : "",
			     (unsigned long long)off, (unsigned long long)addr);
	return n < 0 ? 0 : (size_t)n < size ? n : (int)size - 1;
}

/* Not on the stack: a thread of 16 KiB may be the one that calls exit(). */
struct names {
	char module[4096], text[4096 + 1024];
};

/*
 * Asks the dynamic linker once for each native location, holding nothing:
 * it takes a lock that a thread in dlopen() holds, for as long as that takes. False: no memory for the name.
 */
static bool name_native(struct mw_callsite *c, struct names *w)
{
	uint64_t at = 0, addr = 0;
	char *copy, *none = NULL;
	int n = -1;

	mw_rcu_enter();
	if (__atomic_load_n(&c->kind, __ATOMIC_ACQUIRE) == MW_CS_NATIVE) {
		const struct mw_path *path = mw_get(&c->path);

		n = snprintf(w->module, sizeof(w->module), "%s", path ? path->text : "");
		at = mw_get(&c->at);
		addr = mw_get(&c->addr);
	}
	mw_rcu_leave();
	if (n < 0)
		return true;
	n = native_name(w->text, sizeof(w->text), w->module, at, addr);
	copy = mw_own_alloc((size_t)n + 1, MW_OWN_NAME);
	if (!copy)
		return false;
	memcpy(copy, w->text, (size_t)n + 1);
	mw_reading_lock(); /* the id may have another tenant by now */
	if (mw_get(&c->kind) == MW_CS_NATIVE && mw_get(&c->addr) == addr && mw_get(&c->at) == at &&
	    __atomic_compare_exchange_n(&c->symbol, &none, copy, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		copy = NULL; /* else another reader was first */
	mw_reading_unlock();
	mw_own_free(copy, (size_t)n + 1);
	return true;
}

void mw_name_natives(void)
{
	uint32_t end = mw_callsites_end(), id;
	struct names *w = mw_own_lend(sizeof(*w));

	for (id = MW_CS_FIRST; w && id < end; id++) {
		struct mw_callsite *c = mw_callsite(id);

		if (mw_get(&c->kind) == MW_CS_NATIVE && !mw_get(&c->symbol) && !name_native(c, w))
			break; /* the others won't find memory either: shown without */
	}
	mw_own_return(w, sizeof(*w));
}
