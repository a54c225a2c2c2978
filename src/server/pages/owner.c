/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owner.c - the name of what keeps some blocks, for a sentence.
 *
 * A path goes from a root over named steps ($queue, Audit::LOG, App.@cache, Thread[:requests]) to the holder.
 * Names are what a reader can look for, so they are told, and the container behind the last of them.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "suspects.h"

enum { NAMES = 3 }; /* in one sentence */

/* Where a step's own name begins: "::LOG", ".@cache", "[:requests]", "$queue"; NULL: it has none. */
static const char *step_name(const char *step)
{
	const char *constant = NULL, *s;

	if (step[0] == '$')
		return step;
	if ((s = strstr(step, ".@")))
		return s;
	if ((s = strstr(step, "[:")))
		return s;
	for (s = step; (s = strstr(s, "::")); s += 2)
		constant = s;
	return constant;
}

/* The part of a step that is told: all of a constant but Object's, and of a variable what comes after its dot. */
static const char *told(const char *step, const char *name, bool first)
{
	if (!strncmp(step, "Object::", 8))
		return step + 8;
	return first || name[0] == ':' || name[0] == '$' ? step : name + (name[0] == '.');
}

static void append(char *to, size_t size, const char *text)
{
	size_t n = strlen(to);

	if (n + 1 < size)
		snprintf(to + n, size - n, "%s", text);
}

/* "an Array", "a Hash"; what is in parentheses is Ruby's own and has no article. */
static void append_container(char *to, size_t size, const char *what)
{
	char word[100];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(what, ".[ \xc3"), what);
	if (!isalpha((unsigned char)word[0]))
		return;
	append(to, size, strchr("AEIOU", word[0]) ? ", an " : ", a ");
	append(to, size, word);
}

/* Without names the path's own end is all there is. */
static void append_end(const struct mw_holder *h, char *to, size_t size)
{
	size_t from = h->n_path > NAMES ? h->n_path - NAMES : 0;

	if (h->n_path && !strcmp(h->path[h->n_path - 1], "Thread")) {
		append(to, size, "threads that live");
		return;
	}
	if (h->n_path && !strcmp(h->path[h->n_path - 1], "RubyVM")) {
		append(to, size, "tables of Ruby's own");
		return;
	}
	for (size_t i = 0; i + 1 < h->n_path; i++)
		if (!strcmp(h->path[i], "Thread")) {
			append(to, size, "a variable of a Thread");
			/* the one that it runs */
			i += i + 2 < h->n_path && !strcmp(h->path[i + 1], "Fiber");
			append_container(to, size, h->path[i + 1]);
			return;
		}
	for (size_t i = from; i < h->n_path; i++) {
		append(to, size, i > from ? " \xe2\x86\x92 " : "");
		append(to, size, h->path[i]);
	}
	if (!h->n_path)
		append(to, size, h->holder);
}

void mw_owner_name(const struct mw_holder *h, char *to, size_t size)
{
	size_t names = 0, last = 0;

	to[0] = '\0';
	for (size_t i = 0; i < h->n_path && names < NAMES; i++) {
		const char *name = step_name(h->path[i]);

		/* a class on the way to another is no owner: "vm", "Object::Store", "Store.@items" is Store.@items */
		if (!name || (i + 1 < h->n_path && name[0] == ':' && !names &&
			      !strncmp(h->path[i + 1], told(h->path[i], name, true),
				       strlen(told(h->path[i], name, true))) &&
			      step_name(h->path[i + 1])))
			continue;
		append(to, size, names ? " \xe2\x86\x92 " : "");
		append(to, size, told(h->path[i], name, !names));
		names++;
		last = i;
	}
	if (!names)
		append_end(h, to, size);
	else if (last + 1 < h->n_path)
		append_container(to, size, h->path[last + 1]);
}
