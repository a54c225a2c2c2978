/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options.c - parses $MWRAP; see options.h for the language.
 *
 * Runs in the first microseconds of every process that has the tracker, perhaps
 * before libc is fully set up. So nothing here allocates, prints or uses the
 * locale, and errno stays as it was.
 *
 * options.def lists the options, keys.c sets them, near.c guesses which was meant,
 * values.c and address.c read their values. The same rules hold there.
 */
#include <errno.h>
#include <string.h>

#include "parser.h"

#define SHOWN_MAX 60 /* characters of wrong input to show */
#define BLANKS " \t"  /* that may stand before an option */

/* --- the error line ------------------------------------------------------- */

static void say(struct mw_parser *p, const char *s)
{
	while (*s && p->err_len < MW_ERROR_MAX - 1)
		p->err[p->err_len++] = *s++;
	p->err[p->err_len] = 0;
}

/* Characters that aren't printable ASCII become "?". */
static void say_plain(struct mw_parser *p, const char *s, size_t most)
{
	char c[2] = { 0, 0 };

	for (; *s && most--; s++) {
		c[0] = *s >= 0x20 && *s < 0x7f ? *s : '?';
		say(p, c);
	}
}

/* Writes input in double quotes, shortened. */
static void say_input(struct mw_parser *p, const char *s, size_t n)
{
	say(p, "\"");
	say_plain(p, s, n < SHOWN_MAX ? n : SHOWN_MAX);
	say(p, n > SHOWN_MAX ? "...\"" : "\"");
}

bool mw_option_wrong(struct mw_parser *p, const char *input, const char *why)
{
	if (p->failed)
		return false;
	p->failed = true;
	say(p, p->key->name);
	say(p, ": ");
	if (input) {
		say_input(p, input, strlen(input));
		say(p, " ");
	}
	say(p, why);
	return false;
}

bool mw_option_unknown_word(struct mw_parser *p, const char *input, const char *words)
{
	char c[2] = { 0, 0 };

	if (p->failed)
		return false;
	mw_option_wrong(p, input, "is unknown: use ");
	for (; *words; words++) {
		c[0] = *words;
		say(p, *words != '|' ? c : strchr(words + 1, '|') ? ", " : " or ");
	}
	return false;
}

/* --- items ---------------------------------------------------------------- */

/* A path, ADDRESS:PORT, and KEY=VALUE: writes the form that was meant. False: it is none of them. */
static bool other_form(struct mw_parser *p, const char *item)
{
	size_t n = strcspn(item, "=");
	const struct mw_key *key = item[n] ? mw_key_find(item, n) : NULL;
	bool address = strchr(item, ':') && ((*item >= '0' && *item <= '9') || *item == '[');

	if (*item != '/' && !address && !key)
		return false;
	say_input(p, item, strlen(item));
	say(p, key ? ": has no colon: write " : ": names no option: write ");
	say(p, key ? key->name : address ? "listen" : "socket");
	say(p, ":");
	say_plain(p, key ? item + n + 1 : item, SHOWN_MAX);
	return true;
}

/* item: the name's n bytes, and the value behind a colon. */
static void unknown(struct mw_parser *p, const char *item, size_t n)
{
	const char *near;

	if (p->failed)
		return;
	p->failed = true;
	if (!n) {
		say_input(p, item, strlen(item));
		say(p, ": the name of an option is missing: write KEY:VALUE");
		return;
	}
	if (other_form(p, item))
		return;
	say_input(p, item, n);
	near = mw_key_near(item, n);
	if (near) {
		say(p, ": unknown option: did you mean ");
		say(p, near);
		say(p, "?");
		return;
	}
	say(p, ": unknown option: known are");
	for (const struct mw_key *k = mw_keys; k->name; k++) {
		say(p, k == mw_keys ? " " : ", ");
		say(p, k->name);
	}
}

/* Removes the quoting backslashes, in place. False if the last one quotes nothing. */
static bool unquote(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s == '\\' && !*++s)
			return false;
		*to++ = *s;
	}
	*to = 0;
	return true;
}

/* Does an option begin behind a semicolon? Nothing else divides options than a comma. */
static bool has_semicolon(const char *value)
{
	while ((value = strchr(value, ';'))) {
		value += 1 + strspn(value + 1, BLANKS);
		if (value[strcspn(value, ":;")] == ':' && mw_key_find(value, strcspn(value, ":;")))
			return true;
	}
	return false;
}

/* options.def says so by "..." behind the value's form. */
static bool may_repeat(const struct mw_key *key)
{
	return strstr(key->value, "...");
}

/* One "key:value". Changes item[]; the options keep pointers into it. */
static void parse_item(struct mw_parser *p, char *item)
{
	size_t n = strcspn(item, ":");
	char *value = item[n] ? item + n + 1 : NULL;
	uint64_t bit;

	p->key = mw_key_find(item, n);
	if (!p->key) {
		unknown(p, item, n);
		return;
	}
	bit = UINT64_C(1) << (p->key - mw_keys);
	if (p->seen & bit && !may_repeat(p->key)) {
		mw_option_wrong(p, NULL, "given twice");
		return;
	}
	p->seen |= bit;
	if (!value || !*value)
		mw_option_wrong(p, NULL, "the value is missing");
	else if (has_semicolon(value))
		mw_option_wrong(p, value, "has a semicolon before an option: write a comma there");
	else if (!unquote(value))
		mw_option_wrong(p, NULL, "ends in a backslash: write two for one");
	else
		p->key->set(p, value);
}

/* Ends the item at its comma; returns the next item, or NULL. */
static char *cut_item(char *s)
{
	for (; *s; s++) {
		if (*s == '\\' && s[1]) {
			s++;
		} else if (*s == ',') {
			*s = 0;
			return s + 1;
		}
	}
	return NULL;
}

bool mw_options_parse(struct mw_options *o, const char *env, char err[MW_ERROR_MAX])
{
	struct mw_parser p = { .o = o, .err = err };
	int saved = errno;
	size_t n = env ? strnlen(env, MW_OPTIONS_TEXT_MAX) : 0;
	char *item = o->text;

	/* without `text`: clearing its 16 KiB would cost every process four pages */
	memset(o, 0, offsetof(struct mw_options, text));
	o->dump_fd = -1;
	o->dump_keep = MW_KEEP;
	o->report_every = MW_REPORT_EVERY;
	o->report_keep = MW_REPORT_KEEP;
	o->report_max = MW_REPORT_BYTES;
	o->source = o->history = o->stacks_auto = true;
	o->stacks_rate = MW_STACKS_RATE;
	o->socket_mode = o->file_mode = 0600;
	o->socket_gid = -1;
	o->text[0] = 0;
	err[0] = 0;
	if (n == MW_OPTIONS_TEXT_MAX) {
		say(&p, "MWRAP: too long: 16383 bytes at most");
		return false;
	}
	if (n)
		memcpy(o->text, env, n + 1);
	while (item) {
		char *next = cut_item(item);

		item += strspn(item, BLANKS);
		if (*item)
			parse_item(&p, item);
		item = next;
	}
	mw_keys_together(&p);
	errno = saved;
	return !p.failed;
}

bool mw_option_parse(struct mw_options *o, const char *key, const char *value, char err[MW_ERROR_MAX])
{
	struct mw_parser p = { .o = o, .err = err, .key = mw_key_find(key, strlen(key)) };

	err[0] = 0;
	if (!p.key)
		unknown(&p, key, strlen(key));
	else if (!*value)
		mw_option_wrong(&p, NULL, "the value is missing");
	else
		(void)p.key->set(&p, value);
	return !p.failed;
}

void mw_options_take_server(struct mw_options *o, const struct mw_options *from)
{
	memcpy(o, from, offsetof(struct mw_options, dump_path));
}

bool mw_options_serve(const struct mw_options *o)
{
	return o->socket || o->socket_dir || o->listen;
}

bool mw_options_need_server(const struct mw_options *o)
{
	return mw_options_serve(o) || o->report_dir;
}

static void set_base(char base[MW_BASE_MAX], const char *value)
{
	size_t n = value && value[0] == '/' ? strlen(value) : 0;

	while (n > 1 && value[n - 1] == '/')
		n--;
	if (n >= MW_BASE_MAX)
		n = 0;
	if (n)
		memcpy(base, value, n);
	base[n] = '\0';
}

void mw_options_bases(struct mw_options *o, const char *tmpdir, const char *runtime_dir)
{
	set_base(o->tmpdir, tmpdir);
	set_base(o->runtime_dir, runtime_dir);
}
