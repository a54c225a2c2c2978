/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * group.c - the file, folder or gem of a location, and sums over those.
 *
 * The shape of the path alone decides: it works on another machine's paths and
 * asks neither Ruby nor the file system. The rules are in report.h. Of several
 * .../gems/NAME-VERSION/ in a path the last one counts, because some version
 * managers keep all gems in .../gems/ruby-X.Y.Z/.
 */
#include <stdlib.h>
#include <string.h>

#include "kinded.h"
#include "report.h"

enum how { /* the form of the name around the key's text */
	   AS_IS,
	   STDLIB, /* text is "3.1" */
	   VENDOR_RUBY,
	   SITE_RUBY,
	   CORE
};

struct text {
	const char *p;
	size_t n;
};

struct key {
	struct text text; /* a piece of the location */
	enum how how;
};

struct member {
	struct key key;
	const struct mw_row *row;
};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool text_is(struct text t, const char *s)
{
	return t.n == strlen(s) && !memcmp(t.p, s, t.n);
}

static bool starts(struct text t, const char *s)
{
	return t.n >= strlen(s) && !memcmp(t.p, s, strlen(s));
}

/* --- paths ---------------------------------------------------------------- */

/*
 * Moves *c, a component of path, to the next one; c->p is NULL at first. False
 * at the last one, which is the file, not a folder.
 */
static bool next_folder(struct text path, struct text *c)
{
	const char *end = path.p + path.n;
	const char *from = c->p ? c->p + c->n + 1 : path.p;
	const char *slash = from < end ? memchr(from, '/', (size_t)(end - from)) : NULL;

	if (!slash)
		return false;
	c->p = from;
	c->n = (size_t)(slash - from);
	return true;
}

/* "rack-2.2.4", "nokogiri-1.13-x86_64-linux", or bundler's "rack-0123abcd". */
static bool is_gem(struct text t)
{
	const char *hash = memrchr(t.p, '-', t.n);
	size_t n = hash ? (size_t)(t.p + t.n - hash) - 1 : 0;

	for (size_t i = 1; i + 1 < t.n; i++) {
		if (t.p[i] == '-' && digit(t.p[i + 1]))
			return true;
	}
	if (n < 7 || hash == t.p)
		return false;
	for (size_t i = 1; i <= n; i++) {
		if (!digit(hash[i]) && !(hash[i] >= 'a' && hash[i] <= 'f'))
			return false;
	}
	return true;
}

/* .../gems/GEM/... or .../extensions/PLATFORM/ABI/GEM/... */
static bool find_gem(struct text path, struct key *key)
{
	struct text c = { NULL, 0 };
	unsigned in_gems = 0, in_extensions = 0; /* folders since that one, itself included */
	bool found = false;

	while (next_folder(path, &c)) {
		if ((in_gems == 1 || in_extensions == 3) && is_gem(c)) {
			key->text = c;
			found = true;
		}
		in_gems = text_is(c, "gems");
		in_extensions = text_is(c, "extensions") ? 1 : in_extensions ? in_extensions + 1 : 0;
	}
	return found;
}

/* "3.1.0": the length of "3.1", or 0. */
static size_t abi_version(struct text t)
{
	size_t i = 0, dots = 0, len = 0;

	for (; i < t.n; i++) {
		if (t.p[i] == '.' && i && digit(t.p[i - 1])) {
			if (++dots == 2)
				len = i;
		} else if (!digit(t.p[i])) {
			return 0;
		}
	}
	return dots == 2 && digit(t.p[t.n - 1]) ? len : 0;
}

/*
 * The library's name: the first component behind the folder c that is neither an ABI version nor a
 * platform. A file counts without ".rb" and the like.
 */
static struct text library(struct text path, struct text c)
{
	const char *end = path.p + path.n, *dot;
	struct text name = c;

	while (next_folder(path, &c)) {
		name = c;
		if (!abi_version(c) && !memmem(c.p, c.n, "-linux", 6))
			return name;
	}
	name.p = name.p + name.n + 1;
	name.n = (size_t)(end - name.p);
	dot = memchr(name.p, '.', name.n);
	if (dot && dot > name.p)
		name.n = (size_t)(dot - name.p);
	return name;
}

/* .../lib/ruby/3.1.0/..., .../lib/ARCH/ruby/3.1.0/..., and Ruby's two other folders. */
static bool find_ruby_lib(struct text path, struct key *key)
{
	struct text c = { NULL, 0 };
	unsigned after_lib = 0; /* folders since "lib", itself included */
	bool in_ruby = false;

	while (next_folder(path, &c)) {
		size_t n = abi_version(c);

		if (in_ruby && n) {
			*key = (struct key){ { c.p, n }, STDLIB };
			return true;
		}
		if (in_ruby && (text_is(c, "vendor_ruby") || text_is(c, "site_ruby"))) {
			*key = (struct key){ library(path, c),
					     text_is(c, "site_ruby") ? SITE_RUBY : VENDOR_RUBY };
			return true;
		}
		in_ruby = text_is(c, "ruby") && (after_lib == 1 || after_lib == 2);
		after_lib = text_is(c, "lib") ? 1 : after_lib ? after_lib + 1 : 0;
	}
	return false;
}

/* --- keys ----------------------------------------------------------------- */

static struct text file_of(const struct mw_row *r)
{
	uint32_t n = r->file_len && r->file_len <= r->location_len ? r->file_len : r->location_len;

	return (struct text){ r->location, n };
}

/* The path within "(eval at PATH:LINE)" and "<internal:PATH>", else `file` itself. */
static struct text inner_path(struct text file)
{
	static const char eval[] = "(eval at ", internal[] = "<internal:/";
	struct text t = file;
	const char *colon;

	while (starts(t, eval)) {
		t.p += strlen(eval);
		t.n -= strlen(eval);
		colon = memrchr(t.p, ':', t.n);
		if (colon && colon > t.p)
			t.n = (size_t)(colon - t.p);
	}
	if (starts(t, internal)) {
		t.p += strlen(internal) - 1;
		t.n -= strlen(internal) - 1;
		if (t.p[t.n - 1] == '>')
			t.n--;
	}
	return t.n ? t : file;
}

static struct key gem_key(const struct mw_row *r)
{
	struct text path = inner_path(file_of(r));
	struct key key = { path, AS_IS };
	const char *slash;

	if (r->kind == MW_KIND_SPECIAL || find_gem(path, &key) || find_ruby_lib(path, &key))
		return key;
	if (starts(path, "<internal:"))
		return (struct key){ { path.p, 0 }, CORE };
	slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	if (!slash)
		return key;
	if (r->kind == MW_KIND_NATIVE)
		key.text = (struct text){ slash + 1, (size_t)(path.p + path.n - slash) - 1 };
	else /* "/x.rb" is in "/" */
		key.text.n = slash > path.p ? (size_t)(slash - path.p) : 1;
	return key;
}

/* The folder of a file or module; a name without a folder stands for itself. */
static struct key dir_key(const struct mw_row *r)
{
	struct text path = inner_path(file_of(r));
	const char *slash = r->kind != MW_KIND_SPECIAL && path.n ? memrchr(path.p, '/', path.n) : NULL;

	if (slash) /* "/x.rb" is in "/" */
		path.n = slash > path.p ? (size_t)(slash - path.p) : 1;
	return (struct key){ path, AS_IS };
}

static struct key key_of(const struct mw_row *r, enum mw_group group)
{
	if (group == MW_GROUP_GEM)
		return gem_key(r);
	if (group == MW_GROUP_DIR)
		return dir_key(r);
	if (group == MW_GROUP_FILE)
		return (struct key){ file_of(r), AS_IS };
	if (group == MW_GROUP_KIND) {
		const char *kind = r->top_kind ? r->top_kind : MW_NO_STACK;

		return (struct key){ { kind, strlen(kind) }, AS_IS };
	}
	return (struct key){ { r->location, r->location_len }, AS_IS };
}

static void add_name(struct mw_buf *b, const struct key *k)
{
	static const char *const before[] = { "", "ruby ", "vendor_ruby/", "site_ruby/", "ruby core" };

	mw_buf_str(b, before[k->how]);
	mw_buf_add(b, k->text.p, k->text.n);
	if (k->how == STDLIB)
		mw_buf_str(b, " stdlib");
}

void mw_group_name(struct mw_buf *b, const struct mw_row *r, enum mw_group group)
{
	struct key k = key_of(r, group);

	add_name(b, &k);
}

/* --- sums ----------------------------------------------------------------- */

static int key_cmp(const struct key *a, const struct key *b)
{
	size_t n = a->text.n < b->text.n ? a->text.n : b->text.n;
	int c = n ? memcmp(a->text.p, b->text.p, n) : 0;

	if (a->how != b->how)
		return a->how < b->how ? -1 : 1;
	return c ? c : (a->text.n > b->text.n) - (a->text.n < b->text.n);
}

static int member_cmp(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return key_cmp(&x->key, &y->key);
}

/* Sums members[n], sorted by key; returns the number of groups. */
static size_t sum_groups(struct mw_row *groups, struct mw_buf *names, const struct member *members,
			 size_t n, struct mw_kinded *kinds)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		if (!i || key_cmp(&members[i - 1].key, &members[i].key)) {
			struct mw_row *g = &groups[used++];
			size_t from = names->n;

			*g = (struct mw_row){ .id = MW_ID_NONE, .kind = members[i].row->kind };
			add_name(names, &members[i].key);
			g->location_len = g->file_len = (uint32_t)(names->n - from);
			mw_buf_add(names, "", 1);
		}
		mw_row_add(&groups[used - 1], members[i].row);
		if (!kinds)
			continue;
		mw_kinded_add(kinds, members[i].row);
		if (i + 1 == n || key_cmp(&members[i].key, &members[i + 1].key))
			mw_kinded_end(kinds, &groups[used - 1]);
	}
	return used;
}

struct mw_row *mw_group_rows(const struct mw_row *const *lines, size_t *n, enum mw_group group,
			     char **names, struct mw_kinded *kinds)
{
	struct member *members = calloc(*n + 1, sizeof(*members));
	struct mw_row *groups = calloc(*n + 1, sizeof(*groups));
	struct mw_buf buf = { 0 };
	size_t at = 0;

	if (!members || !groups)
		goto fail;
	for (size_t i = 0; i < *n; i++)
		members[i] = (struct member){ key_of(lines[i], group), lines[i] };
	qsort(members, *n, sizeof(*members), member_cmp);
	*n = sum_groups(groups, &buf, members, *n, kinds);
	if (buf.failed)
		goto fail;
	/* after the last add: the buffer moves while it grows */
	for (size_t i = 0; i < *n; i++) {
		groups[i].location = buf.p + at;
		at += groups[i].location_len + 1;
	}
	free(members);
	*names = buf.p;
	return groups;
fail:
	mw_buf_free(&buf);
	free(members);
	free(groups);
	return NULL;
}
