/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dlfcn.h>
#include <endian.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "frame.h"

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "headers are written as they are in memory");
_Static_assert(sizeof(struct mw_trace_frame) == 48, "the file's form");

enum { HEADER = sizeof(struct mw_trace_frame) };

/* As in zstd.h; those that work in given memory are exported, though its section for static linking has them. */
struct mw_zstd {
	size_t (*compress_bytes)(int level); /* ZSTD_estimateCCtxSize */
	size_t (*expand_bytes)(void); /* ZSTD_estimateDCtxSize */
	void *(*new_compress)(void *memory, size_t bytes);
	void *(*new_expand)(void *memory, size_t bytes);
	size_t (*compress)(void *context, void *to, size_t room, const void *from, size_t n, int level);
	size_t (*expand)(void *context, void *to, size_t room, const void *from, size_t n);
	unsigned (*failed)(size_t code);
};

/* dlsym's result is copied: C has no cast from an object to a function. */
static bool load_zstd(struct mw_zstd *z)
{
	const struct {
		const char *name;
		void *to;
	} functions[] = {
		{ "ZSTD_estimateCCtxSize", &z->compress_bytes },
		{ "ZSTD_estimateDCtxSize", &z->expand_bytes },
		{ "ZSTD_initStaticCCtx", &z->new_compress },
		{ "ZSTD_initStaticDCtx", &z->new_expand },
		{ "ZSTD_compressCCtx", &z->compress },
		{ "ZSTD_decompressDCtx", &z->expand },
		{ "ZSTD_isError", &z->failed },
	};
	void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *f = dlsym(library, functions[i].name);

		if (!f)
			return false;
		memcpy(functions[i].to, &f, sizeof(f));
	}
	return true;
}

/*
 * The library, or NULL. It is loaded once: a forked child finds it, and doesn't call the dynamic linker, which
 * another thread of its parent may have left in the middle of a load.
 */
static const struct mw_zstd *zstd(void)
{
	enum { UNKNOWN, ABSENT, LOADED };
	static struct mw_zstd library; /* several threads may write the same at once */
	static int is; /* release */
	int now = __atomic_load_n(&is, __ATOMIC_ACQUIRE);

	if (now == UNKNOWN) {
		struct mw_zstd z;

		now = load_zstd(&z) ? LOADED : ABSENT;
		if (now == LOADED)
			library = z;
		__atomic_store_n(&is, now, __ATOMIC_RELEASE);
	}
	return now == LOADED ? &library : NULL;
}

static size_t rounded(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

size_t mw_codec_bytes(int level, bool compress, bool expand)
{
	const struct mw_zstd *z = zstd();

	if (!z)
		return 0;
	return (compress ? rounded(z->compress_bytes(level)) : 0) +
	       (expand ? rounded(z->expand_bytes()) : 0);
}

void mw_codec_open(struct mw_codec *c, int level, bool compress, bool expand, void *memory, size_t bytes)
{
	const struct mw_zstd *z = memory ? zstd() : NULL;
	size_t at = 0, n;

	*c = (struct mw_codec){ .level = level, .zstd = z };
	if (z && compress) {
		n = rounded(z->compress_bytes(level));
		if (n <= bytes - at)
			c->compress = z->new_compress((uint8_t *)memory + at, n);
		at += c->compress ? n : 0;
	}
	if (z && expand) {
		n = rounded(z->expand_bytes());
		if (n <= bytes - at)
			c->expand = z->new_expand((uint8_t *)memory + at, n);
	}
}

static uint64_t check_of(const struct mw_trace_frame *f, const void *stored)
{
	uint64_t seed = XXH3_64bits(f, offsetof(struct mw_trace_frame, check));

	return XXH3_64bits_withSeed(stored, f->stored, seed);
}

size_t mw_frame_write(const struct mw_codec *c, struct mw_trace_frame *f, const void *contents,
		      size_t raw, uint8_t *to)
{
	size_t stored = 0;

	f->magic = MW_FRAME_MAGIC;
	f->flags = 0;
	f->zero = 0;
	f->raw = f->stored = (uint32_t)raw;
	/* room for less than the contents: what doesn't become shorter fails, and is stored as it is */
	if (c->compress && raw > 1)
		stored = c->zstd->compress(c->compress, to + HEADER, raw - 1, contents, raw, c->level);
	if (stored && !c->zstd->failed(stored)) {
		f->flags = MW_FRAME_ZSTD;
		f->stored = (uint32_t)stored;
	} else if (raw) {
		memcpy(to + HEADER, contents, raw);
	}
	f->check = check_of(f, to + HEADER);
	memcpy(to, f, HEADER);
	return HEADER + f->stored;
}

enum mw_frame_is mw_frame_read(const struct mw_codec *c, const uint8_t *at, size_t bytes,
			       struct mw_trace_frame *f, const uint8_t **contents, uint8_t *room,
			       size_t *whole)
{
	const uint8_t *stored = at + HEADER;
	size_t n;

	if (bytes < HEADER)
		return MW_FRAME_CUT;
	memcpy(f, at, HEADER);
	if (f->magic != MW_FRAME_MAGIC || f->stored > f->raw ||
	    f->raw > (f->type == MW_FRAME_PACKED ? MW_FRAME_PACKED_MOST : MW_FRAME_MOST))
		return MW_FRAME_BROKEN;
	if (f->stored > bytes - HEADER)
		return MW_FRAME_CUT;
	if (f->check != check_of(f, stored))
		return MW_FRAME_BROKEN;
	*whole = HEADER + f->stored;
	*contents = stored;
	if (!(f->flags & MW_FRAME_ZSTD))
		return f->stored == f->raw ? MW_FRAME_OK : MW_FRAME_BROKEN;
	*contents = room;
	if (!c->expand)
		return MW_FRAME_NO_ZSTD;
	if (!room)
		return MW_FRAME_OK;
	n = c->zstd->expand(c->expand, room, f->raw, stored, f->stored);
	return !c->zstd->failed(n) && n == f->raw ? MW_FRAME_OK : MW_FRAME_BROKEN;
}
