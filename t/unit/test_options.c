/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser of $MWRAP: what it takes, what it refuses, and with which words. */
/* uses: src/shared/options/options.c src/shared/options/keys.c src/shared/options/near.c src/shared/options/values.c src/shared/options/address.c */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "given_options.h"

TEST(nothing_given)
{
	static const char *const envs[] = { NULL, "", ",", ",,," };

	for (size_t i = 0; i < sizeof(envs) / sizeof(*envs); i++) {
		right(envs[i]);
		assert_null(o.socket);
		assert_null(o.socket_dir);
		assert_null(o.listen);
		assert_null(o.dump_path);
		assert_int_equal(o.dump_fd, -1);
		assert_int_equal(o.dump_min, 0);
		assert_int_equal(o.dump_format, MW_FORMAT_TEXT);
		assert_null(o.malloc);
		assert_int_equal(o.dump_every, 0);
		assert_int_equal(o.dump_keep, 3);
		assert_int_equal(o.memory_max, 0);
		assert_false(o.read_only);
		assert_false(o.children_all);
		assert_true(o.source);
		assert_int_equal(o.proof_off, 0);
	}
}

TEST(all_given)
{
	right("socket:/tmp/a.sock,listen:127.0.0.1:8080,dump_path:/tmp/d.%p,"
	      "dump_min:4096,dump_format:json,read_only:1");
	assert_string_equal(o.socket, "/tmp/a.sock");
	assert_string_equal(o.listen, "127.0.0.1:8080");
	assert_string_equal(o.listen_host, "127.0.0.1");
	assert_int_equal(o.listen_port, 8080);
	assert_string_equal(o.dump_path, "/tmp/d.%p");
	assert_int_equal(o.dump_min, 4096);
	assert_int_equal(o.dump_format, MW_FORMAT_JSON);
	assert_true(o.read_only);
	right("socket_dir:/run/app,dump_fd:2,read_only:0,dump_format:csv,");
	assert_string_equal(o.socket_dir, "/run/app");
	assert_int_equal(o.dump_fd, 2);
	assert_false(o.read_only);
	assert_int_equal(o.dump_format, MW_FORMAT_CSV);
	right(",,dump_format:tsv,,");
	assert_int_equal(o.dump_format, MW_FORMAT_TSV);
}

TEST(values_hold_colons_and_quoted_commas)
{
	right("socket:/a:b\\,c\\\\d\\e,,dump_path:x\\,y:\\,");
	assert_string_equal(o.socket, "/a:b,c\\de");
	assert_string_equal(o.dump_path, "x,y:,");
	refused("dump_path:x\\", "dump_path: ends in a backslash: write two for one");
	assert_null(o.dump_path);
}

TEST(file_modes)
{
	static const char *const wrong[] = { "0", "888", "0700", "640x", "1640", "-60" };

	right("");
	assert_int_equal(o.file_mode, 0600);
	right("file_mode:0640,dump_path:/a");
	assert_int_equal(o.file_mode, 0640);
	right("file_mode:044,dump_path:/a");
	assert_int_equal(o.file_mode, 0644);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		refused_value(
			"", "file_mode", wrong[i],
			"is not a mode for a file: write three octal digits of 0, 2, 4 and 6, as in 0640");
}

/* Options that there are follow. */
static void unknown(const char *env, const char *shown)
{
	static const char known[] =
#define OPTION(key, show, value, group, help, manual) #key ", "
#include "../../src/api/options.def"
#undef OPTION
		;
	char line[MW_ERROR_MAX];

	snprintf(line, sizeof(line), "\"%s\": unknown option: known are %.*s", shown,
		 (int)sizeof(known) - (int)sizeof(", "), known);
	refused(env, line);
}

TEST(unknown_options)
{
	char many[2001];

	unknown("1", "1");
	unknown("sock\x1b[2J\n\xff:x", "sock?[2J??");
	refused(":x", "\":x\": the name of an option is missing: write KEY:VALUE");
	/* a part of a key and a longer key are other keys */
	assert_false(parse("sock:/x"));
	assert_false(parse("socket_:/x"));
	memset(many, 'k', sizeof(many) - 1);
	many[2000] = 0;
	assert_false(parse(many));
	assert_non_null(strstr(err, "kkk...\": unknown option: known are socket"));
	assert_non_null(strstr(err, ", children"));
}

TEST(did_you_mean)
{
	refused("sokcet:/x", "\"sokcet\": unknown option: did you mean socket?");
	refused("sockt:/x", "\"sockt\": unknown option: did you mean socket?");
	refused("dump_fromat:tsv", "\"dump_fromat\": unknown option: did you mean dump_format?");
	refused("socket_dri:/x", "\"socket_dri\": unknown option: did you mean socket_dir?");
	refused("bt_:1", "\"bt_\": unknown option: did you mean bt?");
	/* two slips in four letters are another word, and so is a name that is too long to be one */
	unknown("bits:1", "bits");
	unknown("socketsocketsocketsocket:/x", "socketsocketsocketsocket");
}

TEST(forms_that_were_meant)
{
	refused("/tmp/mw.sock", "\"/tmp/mw.sock\": names no option: write socket:/tmp/mw.sock");
	refused("127.0.0.1:80", "\"127.0.0.1:80\": names no option: write listen:127.0.0.1:80");
	refused("[::1]:80", "\"[::1]:80\": names no option: write listen:[::1]:80");
	refused("socket=/tmp/mw.sock", "\"socket=/tmp/mw.sock\": has no colon: write socket:/tmp/mw.sock");
	refused("socket:/a;stacks:off",
		"socket: \"/a;stacks:off\" has a semicolon before an option: write a comma there");
	refused("bt:1; stacks:off",
		"bt: \"1; stacks:off\" has a semicolon before an option: write a comma there");
	right("socket:/a;b");
	assert_string_equal(o.socket, "/a;b");
}

TEST(blanks_before_an_option)
{
	right(" read_only:1, \tsocket:/a b , ,bt:2");
	assert_true(o.read_only);
	assert_string_equal(o.socket, "/a b ");
	assert_int_equal(o.bt, 2);
	refused("dump_min: 1", "dump_min: \" 1\" is not a number of bytes: write digits only, below 2^64");
}

TEST(missing_and_twice)
{
	refused("socket", "socket: the value is missing");
	refused("socket:", "socket: the value is missing");
	refused("socket:,read_only:1", "socket: the value is missing");
	assert_true(o.read_only);
	refused("socket:/a,socket:/b", "socket: given twice");
	assert_string_equal(o.socket, "/a");
	refused("dump_min:1,dump_min:1", "dump_min: given twice");
}

TEST(labels)
{
	assert_true(parse(""));
	assert_int_equal(o.labels_n, 0);
	assert_true(parse("label:version=1.2,label:_a9=x=y\\,z"));
	assert_int_equal(o.labels_n, 2);
	assert_string_equal(o.labels[0], "version=1.2");
	assert_string_equal(o.labels[1], "_a9=x=y,z");
	refused("label:version", "label: \"version\" is no label: write NAME=VALUE, as in version=1.2");
	refused("label:version=", "label: \"version=\" is no label: write NAME=VALUE, as in version=1.2");
	refused("label:9a=1", "label: \"9a=1\" is no label: write NAME=VALUE, as in version=1.2");
	refused("label:a-b=1", "label: \"a-b=1\" is no label: write NAME=VALUE, as in version=1.2");
	refused("label:__name__=1", "label: \"__name__=1\" has a name that is taken: write another one");
	refused("label:process=1", "label: \"process=1\" has a name that is taken: write another one");
	refused("label:a=1,label:a=2",
		"label: \"a=2\" has a name that was given before: write another one");
	assert_int_equal(o.labels_n, 1);
	assert_true(parse("label:a=1,label:ab=2"));
	refused("label:a=1,label:b=1,label:c=1,label:d=1,label:e=1,label:f=1,label:g=1,label:h=1,label:i=1",
		"label: \"i=1\" is one too many: 8 at most");
	assert_int_equal(o.labels_n, 8);
}

TEST(dump_heap)
{
	right("");
	assert_int_equal(o.dump_heap, 0);
	right("dump_heap:3");
	assert_int_equal(o.dump_heap, 3);
	right("dump_heap:7,dump_format:text");
	assert_int_equal(o.dump_heap, 7);
	right("dump_heap:0,dump_format:tsv");
	refused("dump_heap:8",
		"dump_heap: \"8\" is unknown: add up 1 (summary of Ruby's heap pages), 2 (each of "
		"them) and 4 (nothing else)");
	assert_int_equal(o.dump_heap, 0);
	assert_false(parse("dump_heap:-1"));
	assert_false(parse("dump_heap:0x1"));
	assert_false(parse("dump_heap:18446744073709551617"));
	refused("dump_heap:1,dump_format:json",
		"dump_heap: dump_format is not text: leave one of them out");
	assert_int_equal(o.dump_heap, 0);
	assert_int_equal(o.dump_format, MW_FORMAT_JSON);
	assert_false(parse("dump_format:csv,dump_heap:4"));
}

TEST(options_that_exclude_each_other)
{
	refused("socket:/a,socket_dir:/b", "socket_dir: not together with socket");
	assert_string_equal(o.socket, "/a");
	assert_null(o.socket_dir);
	refused("socket_dir:/b,socket:/a", "socket: not together with socket_dir");
	assert_string_equal(o.socket_dir, "/b");
	assert_null(o.socket);
	refused("dump_path:/a,dump_fd:2", "dump_fd: not together with dump_path");
	assert_string_equal(o.dump_path, "/a");
	assert_int_equal(o.dump_fd, -1);
	refused("dump_fd:2,dump_path:/a", "dump_path: not together with dump_fd");
	assert_int_equal(o.dump_fd, 2);
	assert_null(o.dump_path);
}

TEST(periodic_dumps)
{
	static const char *const wrong[] = { "0", "00", "1.5", "1s", "-1", "x", "31536001", " 1" };
	static const char *const wrong_keep[] = { "0", "1001", "all", "-3", "3 " };
	char env[PATH_MAX + 64];

	right("dump_path:/a,dump_every:60");
	assert_int_equal(o.dump_every, 60);
	assert_int_equal(o.dump_keep, 3);
	right("dump_keep:1000,dump_every:31536000,dump_path:/a");
	assert_int_equal(o.dump_every, 31536000);
	assert_int_equal(o.dump_keep, 1000);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		refused_value("dump_path:/a,", "dump_every", wrong[i],
			      "is not a number of seconds: "
			      "write digits only, from 1 to 31536000");
		assert_int_equal(o.dump_every, 0);
		assert_string_equal(o.dump_path, "/a");
	}
	for (size_t i = 0; i < sizeof(wrong_keep) / sizeof(*wrong_keep); i++) {
		refused_value("dump_path:/a,dump_every:1,", "dump_keep", wrong_keep[i],
			      "is not a number of files: "
			      "write digits only, from 1 to 1000");
		assert_int_equal(o.dump_keep, 3);
		assert_int_equal(o.dump_every, 1);
	}
	refused("dump_every:5", "dump_every: dump_path is missing: add dump_path:PATH");
	assert_int_equal(o.dump_every, 0);
	refused("dump_every:5,dump_fd:2", "dump_every: dump_path is missing: add dump_path:PATH");
	assert_int_equal(o.dump_fd, 2);
	/* the added text must fit, too */
	snprintf(env, sizeof(env), "dump_every:1,dump_path:%0*d", PATH_MAX - MW_SNAPSHOT_ROOM - 1, 0);
	right(env);
	snprintf(env, sizeof(env), "dump_every:1,dump_path:%0*d", PATH_MAX - MW_SNAPSHOT_ROOM, 0);
	refused(env, "dump_every: dump_path is too long: PID and time are added to it");
	assert_int_equal(o.dump_every, 0);
	assert_non_null(o.dump_path);
}

TEST(recordings)
{
	right("");
	assert_null(o.trace_path);
	assert_false(o.trace_drop || o.trace_fine);
	right("trace_path:/tmp/a.%p.mwtrace,trace_max:2g,trace_seconds:600,trace_full:drop,trace_clock:fine");
	assert_string_equal(o.trace_path, "/tmp/a.%p.mwtrace");
	assert_true(o.trace_max == 2147483648 && o.trace_seconds == 600 && o.trace_drop && o.trace_fine);
	right("trace_full:wait,trace_clock:coarse");
	assert_false(o.trace_drop || o.trace_fine);
	refused_value("", "trace_seconds", "0",
		      "is not a number of seconds: write digits only, from 1 to 31536000");
	refused_value("", "trace_full", "block", "is unknown: use wait or drop");
}

TEST(ceilings)
{
	/* clang-format off */
	static const struct {
		const char *given;
		uint64_t bytes;
	} sizes[] = {
		{ "1", 1 }, { "100k", 102400 }, { "64m", 67108864 }, { "64M", 67108864 },
		{ "2G", 2147483648 }, { "1K", 1024 }, { "9223372036854775807", INT64_MAX },
		{ "8388607m", 8388607ull << 20 },
	};
	static const char *const wrong[] = {
		"0", "0k", "k", "m", "1kb", "1.5m", "-1", "1 m", "1t", "9223372036854775808",
		"9007199254740992k", "8388608t", "99999999999999999999999999999999999m", "1km", "+1",
	};
	/* clang-format on */
	char env[80];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		snprintf(env, sizeof(env), "memory_max:%s", sizes[i].given);
		right(env);
		assert_true(o.memory_max == sizes[i].bytes);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		refused_value("", "memory_max", wrong[i],
			      "is not a number of bytes: "
			      "write digits, then k, m, g or nothing");
		assert_int_equal(o.memory_max, 0);
	}
}

TEST(allocators)
{
	static const char *const names[] = { "jemalloc", "mimalloc", "tcmalloc" };
	static const char *const wrong[] = {
		"glibc",
		"Jemalloc",
		"jemalloc2",
		"mi",
		"jemalloc|mimalloc",
		"|",
		"/usr/lib/libjemalloc.so.2"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char env[80];

		snprintf(env, sizeof(env), "malloc:%s", names[i]);
		right(env);
		assert_string_equal(o.malloc, names[i]);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		refused_value("", "malloc", wrong[i], "is unknown: use jemalloc, mimalloc or tcmalloc");
		assert_null(o.malloc);
	}
}

TEST(counts)
{
	static const char *const wrong[] = { "", "Sampled", "1", "sample" };
	static const char *const no_rate[] = { "0", "x", "-1", "1t", "1.5k" };

	right("counts:sampled,sample:128k,exact:growth");
	assert_int_equal(o.sampled, 1);
	assert_int_equal(o.sample, 128 << 10);
	assert_int_equal(o.exact_growth, 1);
	right("counts:exact,exact:asked");
	assert_int_equal(o.sampled | o.exact_growth, 0);
	assert_int_equal(o.sample, 0);
	for (size_t i = 1; i < sizeof(wrong) / sizeof(*wrong); i++) {
		refused_value("", "counts", wrong[i], "is unknown: use exact or sampled");
		refused_value("", "exact", wrong[i], "is unknown: use asked or growth");
	}
	for (size_t i = 0; i < sizeof(no_rate) / sizeof(*no_rate); i++)
		refused_value("", "sample", no_rate[i],
			      "is not a number of bytes: write digits, then k, m, g or nothing");
}

TEST(proof)
{
	static const char *const wrong[] = { "on", "0", "OFF", "auto|off", "auto " };

	right("proof:off");
	assert_int_equal(o.proof_off, 1);
	right("proof:auto");
	assert_int_equal(o.proof_off, 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		refused_value("", "proof", wrong[i], "is unknown: use auto or off");
}

TEST(objects)
{
	static const char *const wrong[] = { "1", "0", "OFF", "auto|on|off", "on " };

	right("");
	assert_int_equal(o.objects, MW_OBJECTS_AUTO);
	right("objects:on");
	assert_int_equal(o.objects, MW_OBJECTS_ON);
	right("objects:off");
	assert_int_equal(o.objects, MW_OBJECTS_OFF);
	right("objects:auto");
	assert_int_equal(o.objects, MW_OBJECTS_AUTO);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		refused_value("", "objects", wrong[i], "is unknown: use auto, on or off");
}

TEST(children)
{
	static const char *const wrong[] = { "none", "ALL", "all ", "1", "0", "all:all" };

	right("children:all");
	assert_true(o.children_all);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		refused_value("", "children", wrong[i], "is unknown: use all");
		assert_false(o.children_all);
	}
	refused("children:", "children: the value is missing");
	refused("children:all,children:all", "children: given twice");
}

TEST(numbers)
{
	/* clang-format off */
	static const char *const wrong[] = {
		"-1", "+1", " 1", "1 ", "1k", "0x10", "1.0", "18446744073709551616",
		"99999999999999999999999", "1e3",
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		refused_value("", "dump_min", wrong[i],
			      "is not a number of bytes: "
			      "write digits only, below 2^64");
		assert_int_equal(o.dump_min, 0);
	}
	right("dump_min:18446744073709551615");
	assert_true(o.dump_min == UINT64_MAX);
	right("dump_min:007");
	assert_int_equal(o.dump_min, 7);
	refused("source:2", "source: \"2\" is unknown: use 0 or 1");
	assert_true(o.source);
	right("source:0");
	assert_false(o.source);
	right("source:1");
	assert_true(o.source);
	refused("history:2", "history: \"2\" is unknown: use 0 or 1");
	assert_true(o.history);
	right("history:0");
	assert_false(o.history);
	refused("read_only:2", "read_only: \"2\" is unknown: use 0 or 1");
	refused("read_only:true", "read_only: \"true\" is unknown: use 0 or 1");
	refused("read_only:10", "read_only: \"10\" is unknown: use 0 or 1");
	assert_false(o.read_only);
	refused("dump_format:xml", "dump_format: \"xml\" is unknown: use text, tsv, csv or json");
	refused("dump_format:TSV", "dump_format: \"TSV\" is unknown: use text, tsv, csv or json");
}

TEST(dump_fds)
{
	char env[64], want[128];
	int p[2];
	struct stat st;

	refused("dump_fd:-1", "dump_fd: \"-1\" is not the number of a file descriptor");
	refused("dump_fd:2147483648", "dump_fd: \"2147483648\" is not the number of a file descriptor");
	refused("dump_fd:2147483647", "dump_fd: \"2147483647\" is not an open file descriptor");
	assert_int_equal(o.dump_fd, -1);
	assert_int_equal(pipe(p), 0);
	snprintf(env, sizeof(env), "dump_fd:%d", p[0]);
	snprintf(want, sizeof(want), "dump_fd: \"%d\" is not open for writing", p[0]);
	refused(env, want);
	snprintf(env, sizeof(env), "dump_fd:%d", p[1]);
	right(env);
	assert_int_equal(o.dump_fd, p[1]);
	assert_int_equal(fstat(p[1], &st), 0);
	assert_true(o.dump_dev == st.st_dev && o.dump_ino == st.st_ino);
	close(p[0]);
	close(p[1]);
	assert_false(parse(env));
}

TEST(percent_signs)
{
	static const char why[] =
		" has a % that mwrap can't expand: write %p for the PID, %% for a percent sign";
	char want[256];

	right("dump_path:/%p/%%p/%%%p");
	snprintf(want, sizeof(want), "dump_path: \"/x%%d\"%s", why);
	refused("dump_path:/x%d", want);
	snprintf(want, sizeof(want), "socket: \"/x%%\"%s", why);
	refused("socket:/x%", want);
	snprintf(want, sizeof(want), "socket_dir: \"/x%%%%%%\"%s", why);
	refused("socket_dir:/x%%%", want);
}

TEST(callers)
{
	static const char why[] = "is not a number of callers: write digits only, from 0 to 16";
	static const char *const wrong[] = { "17", "-1", "+4", "4 ", "0x4", "4294967296" };
	char want[256], env[64];

	right("bt:0");
	assert_int_equal(o.bt, 0);
	right("bt:16");
	assert_int_equal(o.bt, 16);
	refused("bt:", "bt: the value is missing");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(env, sizeof(env), "bt:%s", wrong[i]);
		snprintf(want, sizeof(want), "bt: \"%s\" %s", wrong[i], why);
		refused(env, want);
		assert_int_equal(o.bt, 0);
		/* later, by itself: the same line */
		assert_false(mw_option_parse(&o, "bt", wrong[i], err));
		assert_string_equal(err, want);
	}
	assert_true(mw_option_parse(&o, "bt", "5", err));
	assert_int_equal(o.bt, 5);
	assert_string_equal(err, "");
	assert_false(mw_option_parse(&o, "bt", "", err));
	assert_string_equal(err, "bt: the value is missing");
	assert_false(mw_option_parse(&o, "no", "1", err));
	assert_memory_equal(err, "\"no\": unknown option", strlen("\"no\": unknown option"));
}

TEST(too_much_text)
{
	static char env[MW_OPTIONS_TEXT_MAX + 2];

	memset(env, ',', sizeof(env) - 1);
	memcpy(env, "read_only:1", 11);
	refused(env, "MWRAP: too long: 16383 bytes at most");
	assert_false(o.read_only);
	env[MW_OPTIONS_TEXT_MAX] = 0;
	assert_false(parse(env));
	env[MW_OPTIONS_TEXT_MAX - 1] = 0;
	right(env);
	assert_true(o.read_only);
}

TEST(first_mistake_is_told_the_rest_goes_on)
{
	refused("dump_min:x,foo:1,listen:0.0.0.0:1,socket:/s,dump_format:json,read_only:9",
		"dump_min: \"x\" is not a number of bytes: write digits only, below 2^64");
	assert_string_equal(o.socket, "/s");
	assert_int_equal(o.dump_format, MW_FORMAT_JSON);
	assert_null(o.listen);
	assert_int_equal(o.dump_min, 0);
	assert_false(o.read_only);
}

TEST(expanding)
{
	char out[16];

	assert_int_equal(mw_options_expand("a%p%%b", 4194304, out, sizeof(out)), 10);
	assert_string_equal(out, "a4194304%b");
	assert_int_equal(mw_options_expand("%%p", 1, out, sizeof(out)), 2);
	assert_string_equal(out, "%p");
	assert_int_equal(mw_options_expand("", 1, out, sizeof(out)), 0);
	assert_string_equal(out, "");
	assert_int_equal(mw_options_expand("%p", 0, out, 2), 1);
	assert_string_equal(out, "0");
	assert_int_equal(mw_options_expand("%p", 12, out, 2), -1);
	assert_string_equal(out, "");
	assert_int_equal(mw_options_expand("123456789012345", 1, out, 16), 15);
	assert_int_equal(mw_options_expand("1234567890123456", 1, out, 16), -1);
	assert_int_equal(mw_options_expand(NULL, 1, out, 16), -1);
	out[0] = 'z';
	assert_int_equal(mw_options_expand("a", 1, out, 0), -1);
	assert_int_equal(out[0], 'z');
}

/* Every short text over the characters that mean something: no crash, err well formed. */
TEST(any_text)
{
	static const char set[] = "s:,\\%\xff";
	char env[32] = "socket:";
	unsigned n, done = 0;

	for (n = 0; n < 6 * 6 * 6 * 6 * 6 * 6; n++) {
		unsigned v = n;

		for (size_t i = 0; i < 6; i++, v /= 6)
			env[7 + i] = set[v % 6];
		env[13] = 0;
		parse(env);
		parse(env + 7);
		done++;
	}
	assert_int_equal(done, 46656);
}

TEST(reports)
{
	static const char *const wrong[] = { "0%", "100%", "%", "9x%", "1500q", "grow", "-5m", "090%" };

	right("report_dir:/var/mwrap,report_at:90%,report_at:1500m,report_at:growth,report_at:exit");
	assert_int_equal(o.report_at_n, 4);
	assert_int_equal(o.report_at[0].cause, MW_REPORT_SHARE);
	assert_int_equal(o.report_at[0].value, 90);
	assert_int_equal(o.report_at[1].cause, MW_REPORT_RSS);
	assert_int_equal(o.report_at[1].value, UINT64_C(1500) << 20);
	assert_int_equal(o.report_at[2].cause, MW_REPORT_GROWTH);
	assert_int_equal(o.report_at[3].cause, MW_REPORT_EXIT);
	assert_int_equal(o.report_every, 600);
	assert_int_equal(o.report_keep, 5);
	assert_int_equal(o.report_max, 64 << 20);
	assert_true(mw_options_need_server(&o));
	right("report_dir:/var/mwrap");
	assert_int_equal(o.report_at_n, 3);
	assert_string_equal(o.report_at[0].text, "90%");
	assert_int_equal(o.report_at[2].cause, MW_REPORT_OOM);
	right("report_dir:/v,report_every:60,report_keep:9,report_max:1g,report_command:/bin/up");
	assert_int_equal(o.report_every, 60);
	assert_int_equal(o.report_keep, 9);
	assert_int_equal(o.report_max, 1 << 30);
	assert_string_equal(o.report_command, "/bin/up");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		refused_value(
			"report_dir:/v,", "report_at", wrong[i],
			"is not a moment: write a share of the limit (90%), RSS (1500m), growth, oom or exit");
	refused("report_dir:/v,report_at:1%,report_at:2%,report_at:3%,report_at:4%,report_at:5%,report_at:6%,"
		"report_at:7%,report_at:8%,report_at:9%",
		"report_at: \"9%\" is one too many: 8 at most");
	refused_value("report_dir:/v,", "report_command", "up",
		      "is not an absolute path: the program's directory is missing");
	right("report_dir:stderr,report_at:exit");
	refused("report_dir:stdout,report_command:/bin/up",
		"report_command: a line has no path: name a directory by report_dir");
	refused("report_at:90%", "report_at: report_dir is missing: add report_dir:DIRECTORY");
	assert_int_equal(o.report_at_n, 0);
	refused("report_command:/bin/up",
		"report_command: report_dir is missing: add report_dir:DIRECTORY");
	assert_null(o.report_command);
}
