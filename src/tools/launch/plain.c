/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shared/options/options.h"
#include "shared/sys/request.h"
#include "shared/sys/sanitizer.h"

static const char tracker_name[] = "libmwrap.so";

/* Options without what Ruby replaces or looks up. */
struct wanted {
	const char *text; /* NULL: none */
	bool server, named;
};

/* The objects beside each other in lib/, as they are preloaded. */
struct objects {
	char tracker[PATH_MAX], httpd[PATH_MAX], mhd[PATH_MAX], extension[PATH_MAX];
};

/* False: something changes Ruby, the launcher in it, or the number of processes. */
static bool plain_surroundings(void)
{
	static const char *const names[] = { "MWRAP_LAUNCH", "RUBYOPT", "RUBYLIB", "LISTEN_PID",
					     "LISTEN_FDS" };
	struct rlimit most;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (getenv(names[i]))
			return false;
	return !getrlimit(RLIMIT_NPROC, &most) && most.rlim_cur;
}

/* Does the option at `item`, before a comma or the end, have a relative path? The launcher completes it. */
static bool is_relative(const char *item)
{
	static const struct {
		const char *key, *value;
	} options[] = {
#define OPTION(key, show, value, group, help, manual) { #key, value },
#include "api/options.def"
#undef OPTION
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		size_t n = strlen(options[i].key);

		if (!strncmp(item, options[i].key, n) && item[n] == ':')
			return item[n + 1] != '/' && (!strcmp(options[i].value, "PATH") ||
						      !strcmp(options[i].value, "DIRECTORY"));
	}
	return false;
}

static bool plain_options(struct wanted *w)
{
	static struct mw_options o;
	char err[MW_ERROR_MAX];

	w->text = getenv("MWRAP");
	if (!w->text)
		return !isatty(STDERR_FILENO); /* the launcher says that there is no server */
	/* what a backslash quotes may be a comma, or the beginning of a path */
	if (!mw_options_parse(&o, w->text, err) || strchr(w->text, '\\') || o.malloc ||
	    (o.socket_group && o.socket_gid < 0))
		return false;
	for (const char *item = w->text; item; item = strchr(item, ',')) {
		item += *item == ',';
		if (*item == ' ' || *item == '\t' || is_relative(item))
			return false;
	}
	w->server = mw_options_need_server(&o);
	w->named = w->server || o.dump_every;
	return w->server || !isatty(STDERR_FILENO);
}

/* LIB/NAME; false: too long. */
static bool beside(const char *lib, const char *name, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/%s", lib, name) < PATH_MAX;
}

static bool cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = 0;
	return slash && slash != path;
}

/* script is LIB/exe/mwrap. */
static bool find_objects(const char *script, struct objects *o)
{
	char lib[PATH_MAX], path[PATH_MAX];

	if (!realpath(script, lib) || !cut_last(lib) || !cut_last(lib) ||
	    !beside(lib, tracker_name, path) || !realpath(path, o->tracker) ||
	    !beside(lib, "mwrap/mwrap_ext.so", o->extension))
		return false;
	strcpy(lib, o->tracker);
	return cut_last(lib) && beside(lib, "libmwrap_httpd.so", o->httpd) &&
	       beside(lib, "libmwrap_mhd.so", o->mhd);
}

/* Can the tracker be preloaded, and the server if it is wanted? Would Ruby load the extension? */
static bool plain_objects(const struct objects *o, bool server)
{
	const char *paths[] = { o->tracker, NULL, NULL, NULL };
	size_t n = 1;

	if (strpbrk(o->tracker, " :$") || !plain_library(o->tracker) || !plain_library(o->extension))
		return false;
	if (server && !access(o->httpd, F_OK))
		paths[n++] = o->httpd;
	if (server && !access(o->mhd, F_OK))
		paths[n++] = o->mhd;
	return plain_ruby() && plain_loadable(paths);
}

static void put_answer_field(FILE *to, const char *name, const char *value)
{
	fprintf(to, value ? "%s=%s" : "%s", name, value);
	fputc(0, to);
}

/* The other preloaded libraries, behind a colon each. False: a copy of the tracker, or a sanitizer. */
static bool preload_others(FILE *to)
{
	const char *s = getenv("LD_PRELOAD");

	for (size_t n; s && *(s += strspn(s, " :")); s += n) {
		char path[PATH_MAX];
		const char *slash, *name;

		n = strcspn(s, " :");
		if (snprintf(path, sizeof(path), "%.*s", (int)n, s) >= PATH_MAX)
			return false;
		slash = strrchr(path, '/');
		name = slash ? slash + 1 : path;
		if (!*name || !strcmp(name, tracker_name) || !strcmp(name, "mwrap.so") ||
		    mw_sanitizer_library(name))
			return false;
		fprintf(to, ":%s", path);
	}
	return true;
}

/* Identifies this process, and so COMMAND's: src/tracker/process/named.h. */
static bool name_process(FILE *to, bool named)
{
	uint64_t start = named ? mw_start_ticks() : 0;

	if (named)
		fprintf(to, "MWRAP_PID=%ld.%llu", (long)getpid(), (unsigned long long)start);
	else
		fputs("MWRAP_PID", to);
	fputc(0, to);
	return start || !named;
}

static bool write_answer(FILE *to, const char *path, const char *tracker, const struct wanted *w,
			 char **words)
{
	fputs(path, to);
	fprintf(to, "%cLD_PRELOAD=%s%s", 0, PLAIN_GLIBC_ONLY, tracker);
	if (!preload_others(to))
		return false;
	fputc(0, to);
	put_answer_field(to, "MWRAP", w->text);
	if (!name_process(to, w->named))
		return false;
	fputc(0, to);
	for (; *words; words++)
		put_answer_field(to, *words, NULL);
	return true;
}

bool plain_answer(const char *script, char **argv, struct said *answer)
{
	static struct objects objects;
	char path[PATH_MAX];
	struct wanted w = { 0 };
	FILE *to;
	bool is;

	/* an empty word is no command, and one with a dash is an option */
	if (!argv[0] || !argv[1] || !*argv[1] || *argv[1] == '-' || !plain_surroundings() ||
	    !plain_options(&w) || !plain_command(argv[1], path) || !plain_program(path) ||
	    !find_objects(script, &objects) || !plain_objects(&objects, w.server))
		return false;
	to = open_memstream(&answer->text, &answer->n);
	if (!to)
		return false;
	is = write_answer(to, path, objects.tracker, &w, argv + 1);
	return !fclose(to) && is;
}
