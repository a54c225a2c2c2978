/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_shown.c - see profile_shown.h.
 *
 * A stack is start-up if it loads code: `require` or `load` is in it, or a step that does the same. A program runs under
 * `load` too, if it is a gem's: bin/puma is loaded by the script that RubyGems wrote, maybe by Bundler. So only
 * what the innermost such program called is looked at. Its file has no ending, other than one that is required.
 */
#include "profile_shown.h"

#include <stdlib.h>
#include <string.h>

#include "shared/report/sums.h"
#include "shared/text/intern.h"

enum role { PLAIN, LOADS, PROGRAM };

static const char *const steps[] = {
	"Kernel#require",
	"Kernel.require",
	"Kernel#require_relative",
	"Kernel.require_relative",
	"Kernel#load",
	"Kernel.load",
	"<internal:gem_prelude>",
	"Gem.activate_bin_path",
	"Gem.bin_path",
	"Bundler.setup",
	"Bundler.require",
	"Puma::Configuration#load",
	"Rack::Builder.load_file",
	"Rack::Builder.parse_file",
	"ruby_options", /* of libruby: what Ruby does before it runs the program */
	"(ruby, starting)",
};

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && !strcmp(s + n - k, end);
}

/* bin/rails requires its commands, and the server is one. */
static bool is_program(const char *file)
{
	return *file && (!ends_in(file, ".rb") || ends_in(file, "/rails/commands.rb"));
}

static enum role role_of(const struct mw_profile_frame *f)
{
	if (!strcmp(f->name, "<top (required)>"))
		return is_program(f->file) ? PROGRAM : LOADS;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (!strcmp(f->name, steps[i]))
			return LOADS;
	return PLAIN;
}

/* --- frames that stand for others --------------------------------------------------------- */

#define DROPPED UINT32_MAX

/* For each frame, what stands for it, or DROPPED, and its role. */
struct plan {
	struct mw_profile *p;
	const struct mw_profile_shown *shown;
	uint32_t *to;
	unsigned char *roles;
	uint32_t no_ruby; /* a frame for stacks without one of Ruby; 0: not made yet */
	size_t room;      /* of p->frames */
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "libruby-3.1.so.3.1(+0xd8484)" in /usr/lib/libruby-3.1.so.3.1; a location has the whole path there */
static bool is_unnamed(const struct mw_profile_frame *f)
{
	const char *file = last_part(f->file), *name = last_part(f->name);
	size_t n = strlen(file);

	return f->kind == MW_KIND_NATIVE && n && !strncmp(name, file, n) && !strncmp(name + n, "(+0x", 4);
}

/* The length of "libruby" in "libruby-3.1.so.3.1" */
static size_t library_name(const char *file)
{
	const char *so = strstr(file, ".so");
	size_t n = so && so > file ? (size_t)(so - file) : strlen(file), digits = n;

	while (digits && strchr("0123456789.", file[digits - 1]))
		digits--;
	return digits > 1 && digits < n && file[digits - 1] == '-' ? digits - 1 : n;
}

/* The number of one more frame; 0: no memory. Number 0 is never one of those. */
static uint32_t add_frame(struct plan *l, const struct mw_profile_frame *f)
{
	struct mw_profile *p = l->p;
	struct mw_profile_frame *more;

	if (p->n_frames + 1 >= l->room) {
		l->room = (p->n_frames + 1) * 2;
		more = l->room < UINT32_MAX ? realloc(p->frames, l->room * sizeof(*more)) : NULL;
		if (!more)
			return 0;
		p->frames = more;
	}
	p->frames[p->n_frames] = *f;
	return (uint32_t)p->n_frames++;
}

/* "libruby, internal" for an unnamed frame. Its address is that of the first. 0: no memory. */
static uint32_t add_folded(struct plan *l, const struct mw_profile_frame *of)
{
	struct mw_profile_frame folded = *of;
	const char *file = last_part(of->file);
	size_t n = library_name(file);
	char *name = mw_profile_keep(l->p, n + sizeof(", internal"));

	if (!name)
		return 0;
	memcpy(name, file, n);
	memcpy(name + n, ", internal", sizeof(", internal"));
	folded.name = name;
	return add_frame(l, &folded);
}

/* Makes the unnamed frames of a library one. */
static bool fold(struct plan *l, size_t n)
{
	struct mw_intern files = { 0 };
	uint32_t *folded = calloc(n + 1, sizeof(*folded));
	bool good = folded;

	for (size_t i = 0; good && i < n; i++) {
		uint32_t file;

		if (!is_unnamed(&l->p->frames[i]))
			continue;
		file = mw_intern_str(&files, l->p->frames[i].file);
		good = !files.failed;
		if (good && !folded[file]) {
			folded[file] = add_folded(l, &l->p->frames[i]);
			good = folded[file];
		}
		if (good)
			l->to[i] = folded[file];
	}
	mw_intern_free(&files);
	free(folded);
	return good;
}

/* Methods in C are Ruby's, too: they have no address. Nor has a function's location, but a file. */
static bool is_of_ruby(const struct mw_profile_frame *f)
{
	return f->kind != MW_KIND_NATIVE || (!f->address && !*f->file);
}

static bool plan_make(struct plan *l)
{
	size_t n = l->p->n_frames;

	l->room = n;
	l->to = calloc(n + 1, sizeof(*l->to));
	l->roles = calloc(n + 1, 1);
	if (!l->to || !l->roles)
		return false;
	for (size_t i = 0; i < n; i++) {
		l->roles[i] = (unsigned char)role_of(&l->p->frames[i]);
		l->to[i] = l->shown->frames != MW_FRAMES_RUBY || is_of_ruby(&l->p->frames[i]) ?
				   (uint32_t)i :
				   DROPPED;
	}
	if (l->shown->frames == MW_FRAMES_RUBY) {
		l->no_ruby = add_frame(l, &(struct mw_profile_frame){ .name = "(native code alone)",
								      .file = "",
								      .kind = MW_KIND_SPECIAL });
		return l->no_ruby;
	}
	return l->shown->frames == MW_FRAMES_ALL || fold(l, n);
}

/* --- stacks ------------------------------------------------------------------------------- */

/* How many frames, from the innermost one on, the program called; at least 1. 0: it loads code. */
static uint32_t beyond_startup(const struct plan *l, const struct mw_profile_stack *s)
{
	for (uint32_t i = 0; i < s->depth; i++) {
		enum role role = l->roles[s->frames[i]];

		if (role == LOADS)
			return 0;
		if (role == PROGRAM)
			return i ? i : 1;
	}
	return s->depth;
}

/* The frames that are shown of the first `depth`; false: no memory. */
static bool show_frames(const struct plan *l, struct mw_profile_stack *s, uint32_t depth)
{
	uint32_t *frames = mw_profile_keep(l->p, (depth + 1) * sizeof(*frames)), n = 0;

	if (!frames)
		return false;
	for (uint32_t i = 0; i < depth; i++) {
		uint32_t to = l->to[s->frames[i]];

		/* equal only if it stands for several: else a method calls itself */
		if (to != DROPPED && !(n && to != s->frames[i] && frames[n - 1] == to))
			frames[n++] = to;
	}
	if (!n)
		frames[n++] = l->no_ruby;
	s->frames = frames;
	s->depth = n;
	return true;
}

static void leave_out(struct mw_profile_shown *shown, const struct mw_profile_stack *s)
{
	if (shown->row != MW_ROW_ALL && shown->row != s->row)
		return;
	for (int by = 0; by < MW_BY_N; by++)
		shown->bytes[by] = mw_sum_u64(shown->bytes[by], s->bytes[by]);
	shown->growth = mw_sum_i64(shown->growth, s->growth);
}

bool mw_profile_show(struct mw_profile *p, struct mw_profile_shown *shown)
{
	struct plan l = { .p = p, .shown = shown };
	bool good = plan_make(&l);
	size_t n = 0;

	for (size_t i = 0; good && i < p->n_stacks; i++) {
		struct mw_profile_stack s = p->stacks[i];
		uint32_t depth = shown->no_startup ? beyond_startup(&l, &s) : s.depth;

		if (!depth) {
			leave_out(shown, &s);
			continue;
		}
		good = show_frames(&l, &s, depth);
		p->stacks[n++] = s;
	}
	free(l.to);
	free(l.roles);
	p->n_stacks = n;
	mw_profile_sum_samples(p);
	return good;
}
