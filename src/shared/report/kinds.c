/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kinds.c - from a stack's frames to the kind of its memory. See kinds.h. */
#include <stdlib.h>
#include <string.h>

#include "kinds.h"

struct pattern {
	const char *text;
	struct mw_clue clue;
};

/* clang-format off */
static const struct pattern functions[] = {
#define OWNER(text, kind) { text, { MW_CLUE_OWNER, MW_OF_##kind } },
#define CALL(text, kind) { text, { MW_CLUE_SURE, MW_OF_##kind } },
#define HINT(text, kind) { text, { MW_CLUE_HINT, MW_OF_##kind } },
#define PASS(text) { text, { MW_CLUE_NONE, 0 } },
#include "kinds.def"
#undef OWNER
#undef CALL
#undef HINT
#undef PASS
};

static const struct pattern methods[] = {
#define METHOD(text, kind) { text, { MW_CLUE_SURE, MW_OF_##kind } },
#define METHOD_HINT(text, kind) { text, { MW_CLUE_METHOD_HINT, MW_OF_##kind } },
#include "kinds.def"
#undef METHOD
#undef METHOD_HINT
};

static const char *const texts[] = {
#define KIND(name, text) text,
#include "kinds.def"
#undef KIND
};
/* clang-format on */

/* Libraries that allocate for those that call them. */
static const char *const passing[] = {
	"libc.so*",    "libc-*",       "libc.musl*",   "ld-musl*",    "libstdc++*",  "libgcc_s*",
	"libpthread*", "ld-linux*",    "libm.so*",     "libdl.so*",   "linux-vdso*", "libmwrap*",
	"mwrap_ext*",  "libjemalloc*", "libmimalloc*", "libtcmalloc*"
};

static bool fits(const char *pattern, const char *s, size_t n)
{
	size_t len = strlen(pattern);

	if (len && pattern[len - 1] == '*')
		return n >= len - 1 && !memcmp(pattern, s, len - 1);
	return n == len && !memcmp(pattern, s, n);
}

static struct mw_clue look_up(const struct pattern *p, size_t patterns, const char *name, size_t n)
{
	for (size_t i = 0; i < patterns; i++)
		if (fits(p[i].text, name, n))
			return p[i].clue;
	return (struct mw_clue){ MW_CLUE_NONE, 0 };
}

/* --- files -------------------------------------------------------------------- */

struct piece {
	const char *p;
	size_t n;
};

static struct piece last_part(struct piece path)
{
	const char *slash = memrchr(path.p, '/', path.n);

	return slash ? (struct piece){ slash + 1, (size_t)(path.p + path.n - slash) - 1 } : path;
}

static bool is_ruby(struct piece name)
{
	return fits("libruby*", name.p, name.n) || fits("ruby*", name.p, name.n);
}

static bool passes(struct piece name)
{
	for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++)
		if (fits(passing[i], name.p, name.n))
			return true;
	return false;
}

/* musl is its own dynamic linker: a program names it as that, and so does Alpine's file. */
static bool is_libc(struct piece name)
{
	return fits("libc*", name.p, name.n) || fits("ld-musl*", name.p, name.n);
}

static bool is_version(struct piece part)
{
	size_t dots = 0;

	for (size_t i = 0; i < part.n; i++) {
		dots += part.p[i] == '.';
		if (part.p[i] != '.' && (part.p[i] < '0' || part.p[i] > '9'))
			return false;
	}
	return dots == 2;
}

/*
 * An extension is named as `require` does: by what follows the last folder "lib" or "3.1.0", and the
 * platform's. A library elsewhere is named by its file.
 */
static struct piece file_name(struct piece path)
{
	const char *end = path.p + path.n, *from = path.p, *slash, *name = last_part(path).p;
	bool extension = path.n > 3 && !memcmp(end - 3, ".so", 3);

	while (extension && (slash = memchr(from, '/', (size_t)(end - from)))) {
		struct piece part = { from, (size_t)(slash - from) };
		bool lib = part.n == 3 && !memcmp(part.p, "lib", 3);

		from = slash + 1;
		if (lib || is_version(part) || memmem(part.p, part.n, "-linux", 6))
			name = from;
	}
	return (struct piece){ name, (size_t)(end - name) };
}

/* The kind of an extension or a library: its number; new if there was none of that name yet. */
static uint32_t kind_of_name(struct mw_clues *c, struct piece name)
{
	char text[MW_KIND_TEXT];
	size_t n = name.n < sizeof(text) - 1 ? name.n : sizeof(text) - 1;

	name.p += name.n - n; /* its end says most */
	for (size_t i = 0; i < n; i++) {
		unsigned char b = (unsigned char)name.p[i];

		text[i] = b > ' ' && b < 127 && !strchr("\"',<>&\\", b) ? (char)b : '_';
	}
	text[n] = '\0';
	return mw_intern(&c->texts, text, n + 1);
}

uint32_t mw_kind_of_file(struct mw_clues *c, const char *file, size_t file_len)
{
	struct piece path = { file, file_len }, name = last_part(path);

	if (!name.n || is_ruby(name))
		return MW_OF_OTHER;
	return passes(name) ? MW_OF_LIBC : kind_of_name(c, file_name(path));
}

/* --- frames ------------------------------------------------------------------- */

static struct mw_clue clue_of_native(struct mw_clues *c, const struct mw_profile_frame *f)
{
	struct piece path = { f->file, strlen(f->file) }, name = last_part(path);

	if (is_ruby(name))
		return look_up(functions, sizeof(functions) / sizeof(*functions), f->name,
			       strcspn(f->name, ".")); /* "f.part.0", as compilers cut them up */
	if (!name.n)
		return (struct mw_clue){ MW_CLUE_NONE, 0 };
	if (passes(name))
		return (struct mw_clue){ is_libc(name) ? MW_CLUE_HINT : MW_CLUE_NONE, MW_OF_LIBC };
	return (struct mw_clue){ MW_CLUE_SURE, kind_of_name(c, file_name(path)) };
}

/* A method in C has no file; a native function without one has that name. */
static bool is_method(const struct mw_profile_frame *f)
{
	return f->kind == MW_KIND_NATIVE && !*f->file && strcmp(f->name, "(native code)") != 0;
}

static struct mw_clue clue_of(struct mw_clues *c, const struct mw_profile_frame *f)
{
	struct mw_clue clue;

	if (f->kind == MW_KIND_NATIVE && !is_method(f))
		return clue_of_native(c, f);
	if (f->kind != MW_KIND_NATIVE)
		return (struct mw_clue){ MW_CLUE_END, 0 };
	clue = look_up(methods, sizeof(methods) / sizeof(*methods), f->name, strlen(f->name));
	return clue.is != MW_CLUE_NONE ? clue : (struct mw_clue){ MW_CLUE_END, 0 };
}

bool mw_clues_make(struct mw_clues *c, size_t frames)
{
	*c = (struct mw_clues){ 0 };
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		(void)mw_intern(&c->texts, texts[i], strlen(texts[i]) + 1);
	c->of = calloc(frames + 1, sizeof(*c->of));
	return c->of && !c->texts.failed;
}

void mw_clues_free(struct mw_clues *c)
{
	mw_intern_free(&c->texts);
	free(c->of);
	c->of = NULL;
}

uint32_t mw_kind_of(struct mw_clues *c, const struct mw_profile_frame *all, const uint32_t *frames,
		    uint32_t depth)
{
	uint32_t sure = UINT32_MAX, hint = UINT32_MAX;

	for (uint32_t i = 0; i < depth; i++) {
		struct mw_clue *clue = &c->of[frames[i]];

		if (clue->is == MW_CLUE_UNKNOWN)
			*clue = clue_of(c, &all[frames[i]]);
		if (clue->is == MW_CLUE_OWNER)
			return clue->kind;
		if (clue->is == MW_CLUE_SURE && sure == UINT32_MAX)
			sure = clue->kind;
		if ((clue->is == MW_CLUE_HINT || clue->is == MW_CLUE_METHOD_HINT) && hint == UINT32_MAX)
			hint = clue->kind;
		if (clue->is == MW_CLUE_END || clue->is == MW_CLUE_METHOD_HINT ||
		    is_method(&all[frames[i]]))
			break;
	}
	return sure != UINT32_MAX ? sure : hint != UINT32_MAX ? hint : (uint32_t)MW_OF_OTHER;
}
