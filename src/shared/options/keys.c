/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keys.c - sets each option of options.def: see parser.h.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "parser.h"
#include "values.h"

/* The position of a value among the option's values in options.def. */
static bool one_of(struct mw_parser *p, const char *value, size_t *at)
{
	const char *words = p->key->value, *s = words;
	size_t n;

	for (*at = 0;; ++*at, s += n + 1) {
		n = strcspn(s, "|");
		if (strlen(value) == n && !memcmp(s, value, n))
			return true;
		if (!s[n])
			return mw_option_unknown_word(p, value, words);
	}
}

/* Sets an option of two words to the second one or not. */
#define EITHER(key, field)                                            \
	static bool set_##key(struct mw_parser *p, const char *value) \
	{                                                             \
		size_t at;                                            \
                                                                      \
		if (!one_of(p, value, &at))                           \
			return false;                                 \
		p->o->field = at != 0;                                \
		return true;                                          \
	}
EITHER(trace_full, trace_drop)
EITHER(trace_clock, trace_fine)
EITHER(read_only, read_only)
EITHER(source, source)
EITHER(counts, sampled)
EITHER(exact, exact_growth)
EITHER(proof, proof_off)
EITHER(history, history)

/* True if the path, expanded for any PID, is shorter than `room` bytes. */
static bool path_fits(struct mw_parser *p, const char *value, size_t room, const char *too_long)
{
	for (const char *s = value; (s = strchr(s, '%')); s += 2) {
		if (s[1] != 'p' && s[1] != '%')
			return mw_option_wrong(p, value,
					       "has a % that mwrap can't expand: write %p for "
					       "the PID, %% for a percent sign");
	}
	if (mw_value_longest(value) >= room)
		return mw_option_wrong(p, value, too_long);
	return true;
}

#define SUN_PATH_SIZE sizeof(((struct sockaddr_un *)0)->sun_path)

static bool set_socket(struct mw_parser *p, const char *value)
{
	if (p->o->socket_dir)
		return mw_option_wrong(p, NULL, "not together with socket_dir");
	if (!path_fits(p, value, SUN_PATH_SIZE - strlen(".4194304"),
		       "is too long for a socket: 99 bytes at most, as \".PID\" may be added"))
		return false;
	p->o->socket = value;
	return true;
}

static bool set_socket_dir(struct mw_parser *p, const char *value)
{
	if (p->o->socket)
		return mw_option_wrong(p, NULL, "not together with socket");
	if (!path_fits(p, value, SUN_PATH_SIZE - strlen("/4194304.sock"),
		       "is too long for a socket: 94 bytes at most, as \"/PID.sock\" is added"))
		return false;
	p->o->socket_dir = value;
	return true;
}

static bool set_dump_path(struct mw_parser *p, const char *value)
{
	if (p->o->dump_fd >= 0)
		return mw_option_wrong(p, NULL, "not together with dump_fd");
	if (!path_fits(p, value, PATH_MAX, "is too long for a path"))
		return false;
	p->o->dump_path = value;
	return true;
}

static bool set_dump_fd(struct mw_parser *p, const char *value)
{
	uint64_t v;
	int flags;
	struct stat st;

	if (p->o->dump_path)
		return mw_option_wrong(p, NULL, "not together with dump_path");
	if (!mw_value_number(value, INT_MAX, &v))
		return mw_option_wrong(p, value, "is not the number of a file descriptor");
	flags = fcntl((int)v, F_GETFL);
	if (flags < 0 || fstat((int)v, &st) < 0)
		return mw_option_wrong(p, value, "is not an open file descriptor");
	if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH))
		return mw_option_wrong(p, value, "is not open for writing");
	p->o->dump_fd = (int)v;
	p->o->dump_dev = st.st_dev;
	p->o->dump_ino = st.st_ino;
	return true;
}

static bool set_dump_min(struct mw_parser *p, const char *value)
{
	if (!mw_value_number(value, UINT64_MAX, &p->o->dump_min))
		return mw_option_wrong(p, value, "is not a number of bytes: write digits only, below 2^64");
	return true;
}

static bool set_dump_format(struct mw_parser *p, const char *value)
{
	/* in the order of options.def */
	static const enum mw_format formats[] = { MW_FORMAT_TEXT, MW_FORMAT_TSV, MW_FORMAT_CSV,
						  MW_FORMAT_JSON };
	size_t i;

	if (!one_of(p, value, &i))
		return false;
	p->o->dump_format = formats[i];
	return true;
}

static bool set_dump_heap(struct mw_parser *p, const char *value)
{
	uint64_t v;

	if (!mw_value_number(value, MW_DUMP_HEAP_FIGURES | MW_DUMP_HEAP_PAGES | MW_DUMP_HEAP_ONLY, &v))
		return mw_option_wrong(p, value,
				       "is unknown: add up 1 (summary of Ruby's heap pages), "
				       "2 (each of them) and 4 (nothing else)");
	p->o->dump_heap = (unsigned)v;
	return true;
}

/* A number from 1 to max. */
static bool from_one(struct mw_parser *p, const char *value, uint64_t max, uint64_t *out, const char *why)
{
	uint64_t v;

	if (!mw_value_number(value, max, &v) || !v)
		return mw_option_wrong(p, value, why);
	*out = v;
	return true;
}

static bool set_dump_every(struct mw_parser *p, const char *value)
{
	return from_one(p, value, MW_EVERY_MAX, &p->o->dump_every,
			"is not a number of seconds: write digits only, from 1 to 31536000");
}

static bool set_dump_keep(struct mw_parser *p, const char *value)
{
	return from_one(p, value, MW_KEEP_MAX, &p->o->dump_keep,
			"is not a number of files: write digits only, from 1 to 1000");
}

static bool set_trace_path(struct mw_parser *p, const char *value)
{
	if (!path_fits(p, value, PATH_MAX - MW_SNAPSHOT_ROOM,
		       "is too long for a path: PID and a number may be added"))
		return false;
	p->o->trace_path = value;
	return true;
}

static bool bytes(struct mw_parser *p, const char *value, uint64_t *to)
{
	if (!mw_value_bytes(value, to))
		return mw_option_wrong(p, value,
				       "is not a number of bytes: write digits, then k, m, g or nothing");
	return true;
}

static bool set_trace_max(struct mw_parser *p, const char *value)
{
	return bytes(p, value, &p->o->trace_max);
}

static bool set_trace_seconds(struct mw_parser *p, const char *value)
{
	return from_one(p, value, MW_EVERY_MAX, &p->o->trace_seconds,
			"is not a number of seconds: write digits only, from 1 to 31536000");
}

static bool set_memory_max(struct mw_parser *p, const char *value)
{
	return bytes(p, value, &p->o->memory_max);
}

static bool set_stacks(struct mw_parser *p, const char *value)
{
	p->o->stacks_auto = !strcmp(value, "auto");
	p->o->stacks_rate = p->o->stacks_auto ? MW_STACKS_RATE : 0;
	if (p->o->stacks_auto || !strcmp(value, "off") || mw_value_bytes(value, &p->o->stacks_rate))
		return true;
	return mw_option_wrong(
		p, value, "is not auto, off or a number of bytes: write digits, then k, m, g or nothing");
}

static bool set_sample(struct mw_parser *p, const char *value)
{
	if (mw_value_bytes(value, &p->o->sample) && p->o->sample)
		return true;
	p->o->sample = 0;
	return mw_option_wrong(p, value, "is not a number of bytes: write digits, then k, m, g or nothing");
}

static bool set_bt(struct mw_parser *p, const char *value)
{
	uint64_t v;

	if (!mw_value_number(value, MW_CALLERS_MOST, &v))
		return mw_option_wrong(p, value,
				       "is not a number of callers: write digits only, from 0 to 16");
	p->o->bt = (unsigned)v;
	return true;
}

/* The launcher finds the allocator, before anything runs. The tracker does nothing with it. */
static bool set_malloc(struct mw_parser *p, const char *value)
{
	size_t at;

	if (!one_of(p, value, &at))
		return false;
	p->o->malloc = value;
	return true;
}

static bool set_objects(struct mw_parser *p, const char *value)
{
	size_t at;

	if (!one_of(p, value, &at))
		return false;
	p->o->objects = (unsigned)at;
	return true;
}

static bool set_children(struct mw_parser *p, const char *value)
{
	size_t at;

	if (!one_of(p, value, &at))
		return false;
	p->o->children_all = true;
	return true;
}

static bool set_listen(struct mw_parser *p, const char *value)
{
	char host[sizeof(p->o->listen_host)];
	const char *why =
		mw_value_address(value, host, sizeof(host), &p->o->listen_port, &p->o->listen_far);

	if (why)
		return mw_option_wrong(p, value, why);
	strcpy(p->o->listen_host, host);
	p->o->listen = value;
	return true;
}

static bool set_token_file(struct mw_parser *p, const char *value)
{
	if (!path_fits(p, value, PATH_MAX, "is too long for a path"))
		return false;
	p->o->token_file = value;
	return true;
}

static bool set_file_mode(struct mw_parser *p, const char *value)
{
	if (!mw_value_mode(value, &p->o->file_mode))
		return mw_option_wrong(
			p, value,
			"is not a mode for a file: write three octal digits of 0, 2, 4 and 6, as in 0640");
	return true;
}

static bool set_socket_mode(struct mw_parser *p, const char *value)
{
	if (!mw_value_mode(value, &p->o->socket_mode))
		return mw_option_wrong(
			p, value,
			"is not a mode for a socket: write three octal digits of 0, 2, 4 and 6, as in 0660");
	return true;
}

/* --- reports ----------------------------------------------------------------- */

static bool set_report_dir(struct mw_parser *p, const char *value)
{
	if (!path_fits(p, value, PATH_MAX - MW_REPORT_ROOM,
		       "is too long for a path: names of reports are added to it"))
		return false;
	p->o->report_dir = value;
	p->o->report_fd = !strcmp(value, "stdout") ? 1 : !strcmp(value, "stderr") ? 2 : 0;
	return true;
}

/* False: it is none of these. */
static bool read_when(const char *value, struct mw_report_at *at)
{
	static const char *const words[] = { "growth", "oom", "exit" };
	size_t n = strlen(value);
	char digits[3] = "";

	*at = (struct mw_report_at){ .text = value };
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(value, words[i])) {
			at->cause = MW_REPORT_GROWTH + (enum mw_report_cause)i;
			return true;
		}
	if (value[n - 1] == '%') {
		memcpy(digits, value, n > 1 && n < 4 ? n - 1 : 0);
		at->cause = MW_REPORT_SHARE;
		return mw_value_number(digits, 99, &at->value) && at->value;
	}
	at->cause = MW_REPORT_RSS;
	return mw_value_bytes(value, &at->value);
}

static bool set_report_at(struct mw_parser *p, const char *value)
{
	struct mw_report_at at;

	if (!read_when(value, &at))
		return mw_option_wrong(
			p, value,
			"is not a moment: write a share of the limit (90%), RSS (1500m), growth, oom or exit");
	if (p->o->report_at_n == MW_REPORT_AT_MAX)
		return mw_option_wrong(p, value, "is one too many: 8 at most");
	p->o->report_at[p->o->report_at_n++] = at;
	return true;
}

static bool set_report_every(struct mw_parser *p, const char *value)
{
	return from_one(p, value, MW_EVERY_MAX, &p->o->report_every,
			"is not a number of seconds: write digits only, from 1 to 31536000");
}

static bool set_report_keep(struct mw_parser *p, const char *value)
{
	return from_one(p, value, MW_KEEP_MAX, &p->o->report_keep,
			"is not a number of reports: write digits only, from 1 to 1000");
}

static bool set_report_max(struct mw_parser *p, const char *value)
{
	return bytes(p, value, &p->o->report_max);
}

static bool set_report_command(struct mw_parser *p, const char *value)
{
	if (value[0] != '/')
		return mw_option_wrong(p, value,
				       "is not an absolute path: the program's directory is missing");
	if (strlen(value) >= PATH_MAX)
		return mw_option_wrong(p, value, "is too long for a path");
	p->o->report_command = value;
	return true;
}

/* The launcher or the server's thread looks a name up; here it isn't possible. */
static bool set_socket_group(struct mw_parser *p, const char *value)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$";
	size_t n = strlen(value), digits = strspn(value, "0123456789");
	uint64_t gid;

	/* the largest number means "leave the group as it is" */
	if (digits == n && !mw_value_number(value, UINT32_MAX - 1, &gid))
		return mw_option_wrong(p, value, "is not the number of a group");
	if (n > 64 || strspn(value, letters) != n || value[0] == '-')
		return mw_option_wrong(p, value, "is not the name of a group: write its number");
	p->o->socket_group = value;
	p->o->socket_gid = digits == n ? (int64_t)gid : -1;
	return true;
}

static bool set_label(struct mw_parser *p, const char *value)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t n = strspn(value, letters);

	if (!n || value[n] != '=' || (value[0] >= '0' && value[0] <= '9') || n > MW_LABEL_NAME_MAX ||
	    !value[n + 1] || strlen(value + n + 1) > MW_LABEL_VALUE_MAX)
		return mw_option_wrong(p, value, "is no label: write NAME=VALUE, as in version=1.2");
	if (!strncmp(value, "__", 2) || !strncmp(value, "process=", 8))
		return mw_option_wrong(p, value, "has a name that is taken: write another one");
	if (p->o->labels_n == MW_LABELS_MAX)
		return mw_option_wrong(p, value, "is one too many: 8 at most");
	for (unsigned i = 0; i < p->o->labels_n; i++)
		if (!strncmp(p->o->labels[i], value, n + 1))
			return mw_option_wrong(p, value,
					       "has a name that was given before: write another one");
	p->o->labels[p->o->labels_n++] = value;
	return true;
}

const struct mw_key mw_keys[] = {
#define OPTION(key, show, value, group, help, manual) { #key, value, set_##key },
#include "api/options.def"
#undef OPTION
	{ NULL, NULL, NULL },
};
_Static_assert(sizeof(mw_keys) / sizeof(*mw_keys) <= 65, "each option has a bit in mw_parser.seen");

const struct mw_key *mw_key_find(const char *name, size_t n)
{
	for (const struct mw_key *k = mw_keys; k->name; k++) {
		if (strlen(k->name) == n && !memcmp(k->name, name, n))
			return k;
	}
	return NULL;
}

/* Makes this the key being set again, for mw_option_wrong(). */
static void about(struct mw_parser *p, const char *key)
{
	p->key = mw_key_find(key, strlen(key));
}

static bool was_given(const struct mw_parser *p, const char *key)
{
	return p->seen & UINT64_C(1) << (mw_key_find(key, strlen(key)) - mw_keys);
}

/* dump_heap needs text: each other format is one table, or one value. */
static void heap_in_text(struct mw_parser *p)
{
	if (!p->o->dump_heap || p->o->dump_format == MW_FORMAT_TEXT)
		return;
	p->o->dump_heap = 0;
	about(p, "dump_heap");
	mw_option_wrong(p, NULL, "dump_format is not text: leave one of them out");
}

static void every_has_a_path(struct mw_parser *p)
{
	const char *path = p->o->dump_path;

	if (!p->o->dump_every || (path && mw_value_longest(path) < PATH_MAX - MW_SNAPSHOT_ROOM))
		return;
	p->o->dump_every = 0;
	about(p, "dump_every");
	mw_option_wrong(p, NULL,
			path ? "dump_path is too long: PID and time are added to it" :
			       "dump_path is missing: add dump_path:PATH");
}

/* The usual moments; or the other options have nothing to say. */
static void reports_together(struct mw_parser *p)
{
	static const char *const others[] = { "report_at", "report_every", "report_keep", "report_max",
					      "report_command" };
	static const struct mw_report_at usual[] = { { MW_REPORT_SHARE, 90, "90%" },
						     { MW_REPORT_GROWTH, 0, "growth" },
						     { MW_REPORT_OOM, 0, "oom" } };

	if (p->o->report_fd && p->o->report_command) {
		p->o->report_command = NULL;
		about(p, "report_command");
		mw_option_wrong(p, NULL, "a line has no path: name a directory by report_dir");
	}
	if (p->o->report_dir) {
		if (!p->o->report_at_n) {
			memcpy(p->o->report_at, usual, sizeof(usual));
			p->o->report_at_n = sizeof(usual) / sizeof(*usual);
		}
		return;
	}
	p->o->report_at_n = 0;
	p->o->report_command = NULL;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (was_given(p, others[i]) && !was_given(p, "report_dir")) {
			about(p, others[i]);
			mw_option_wrong(p, NULL, "report_dir is missing: add report_dir:DIRECTORY");
		}
}

static void no_listen(struct mw_options *o)
{
	o->listen = NULL;
	o->listen_host[0] = 0;
	o->listen_port = 0;
	o->listen_far = false;
}

/* Checks the options of access together. An option that is wrong closes access; it never opens it. */
static void access_together(struct mw_parser *p)
{
	struct mw_options *o = p->o;

	if (o->listen_far && !o->token_file) {
		about(p, "listen");
		mw_option_wrong(p, o->listen,
				"is not loopback: without token_file use 127.0.0.1:PORT, [::1]:PORT or "
				"localhost:PORT");
		no_listen(o);
	}
	if (was_given(p, "token_file") && !o->token_file) { /* its value was wrong */
		o->socket = o->socket_dir = NULL;
		no_listen(o);
	}
	if (o->socket || o->socket_dir) {
		if (o->socket_group && !was_given(p, "socket_mode"))
			o->socket_mode = 0660;
		return;
	}
	if (was_given(p, "socket_mode") || o->socket_group) {
		about(p, was_given(p, "socket_mode") ? "socket_mode" : "socket_group");
		mw_option_wrong(p, NULL, "there is no socket: add socket:PATH or socket_dir:DIRECTORY");
	}
	o->socket_mode = 0600;
	o->socket_group = NULL;
	o->socket_gid = -1;
}

void mw_keys_together(struct mw_parser *p)
{
	heap_in_text(p);
	every_has_a_path(p);
	access_together(p);
	reports_together(p);
}
