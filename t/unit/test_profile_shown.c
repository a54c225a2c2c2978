/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which frames and stacks of a profile are shown: native ones folded, Ruby's alone, without start-up. */
/* uses: src/server/report/profile_shown.c src/shared/report/profile.c src/server/report/collapsed.c src/shared/text/intern.c src/shared/report/location.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c */
#include "unit.h"
#include "made_up_profile.h"
#include "../../src/server/report/profile_shown.h"

EACH(fake_clear, made_end);

#define RUBY_SO "/usr/lib/libruby-3.1.so.3.1"

static void begin(void)
{
	fake_row(MW_KIND_RUBY, 1, "/srv/a.rb:1");
	fake_row(MW_KIND_RUBY, 1, "/srv/b.rb:1");
	made_begin();
	made_frame_at(MW_KIND_SPECIAL, "(none)", "", 0, 0); /* number 0, as in a real one */
}

static uint32_t ruby(const char *name)
{
	return made_frame_at(MW_KIND_RUBY, name, "/srv/a.rb", 1, 0);
}

static uint32_t native(const char *name, const char *file)
{
	static uint64_t address = 0x7f0000;

	return made_frame_at(MW_KIND_NATIVE, name, file, 0, ++address);
}

static uint32_t top(const char *file)
{
	return made_frame_at(MW_KIND_RUBY, "<top (required)>", file, 0, 0);
}

static void shows(const struct mw_profile_shown *how, const char *want)
{
	struct mw_profile_shown shown = *how;
	struct mw_buf b = { 0 };

	assert_true(mw_profile_show(&made, &shown));
	mw_profile_collapsed(&b, &made, MW_BY_LIVE);
	assert_string_equal(text_of(&b), want);
	mw_buf_free(&b);
}

static void made_native(void)
{
	uint32_t run, run2, map, x, y, z, other, named, executable, gz;

	begin();
	run = ruby("run");
	run2 = ruby("run");
	map = made_frame_at(MW_KIND_NATIVE, "Array#map", "", 0, 0);
	x = native("libruby-3.1.so.3.1(+0x1)", RUBY_SO);
	y = native(RUBY_SO "(+0x2)", RUBY_SO); /* a location's own frame */
	z = native("libruby-3.1.so.3.1(+0x3)", RUBY_SO);
	other = native("parser.so(+0x1)", "/gems/json/parser.so");
	named = native("rb_ary_push", RUBY_SO);
	executable = native("ruby3.1(+0x4)", "/usr/bin/ruby3.1");
	gz = native("libz.so.1(x)", "/lib/libz.so.1"); /* not an offset */
	MADE_STACK(1, z, x, run);
	MADE_STACK(2, x, y, run);
	MADE_STACK(4, x, named, z, y, map, run);
	MADE_STACK(8, x, other, x, run);
	MADE_STACK(16, y);
	MADE_STACK(32, executable, gz);
	MADE_STACK(64, run, run, run2); /* calls itself */
}

TEST(unnamed_frames_of_a_library_are_one)
{
	made_native();
	shows(&(struct mw_profile_shown){ .row = MW_ROW_ALL },
	      "run;libruby, internal 3\n"
	      "run;Array#map;libruby, internal;rb_ary_push;libruby, internal 4\n"
	      "run;libruby, internal;parser, internal;libruby, internal 8\n"
	      "libruby, internal 16\n"
	      "libz.so.1(x);ruby3.1, internal 32\n"
	      "run;run;run 64\n");
	/* the file stays, for its colour and for its group */
	for (size_t i = 0; i < made.n_stacks; i++)
		for (uint32_t k = 0; k < made.stacks[i].depth; k++)
			assert_true(made.stacks[i].frames[k] < made.n_frames);
	assert_string_equal(made.frames[made.stacks[0].frames[0]].file, RUBY_SO);
	assert_int_equal(made.stacks[0].frames[0], made.stacks[4].frames[0]);
}

TEST(of_ruby_alone)
{
	made_native();
	shows(&(struct mw_profile_shown){ .frames = MW_FRAMES_RUBY, .row = MW_ROW_ALL },
	      "run 11\n"
	      "run;Array#map 4\n"
	      "(native code alone) 48\n"
	      "run;run;run 64\n");
}

TEST(all_as_they_are)
{
	made_native();
	shows(&(struct mw_profile_shown){ .frames = MW_FRAMES_ALL, .row = MW_ROW_ALL },
	      "run;libruby-3.1.so.3.1(+0x1);libruby-3.1.so.3.1(+0x3) 1\n"
	      "run;" RUBY_SO "(+0x2);libruby-3.1.so.3.1(+0x1) 2\n"
	      "run;Array#map;" RUBY_SO
	      "(+0x2);libruby-3.1.so.3.1(+0x3);rb_ary_push;libruby-3.1.so.3.1(+0x1) 4\n"
	      "run;libruby-3.1.so.3.1(+0x1);parser.so(+0x1);libruby-3.1.so.3.1(+0x1) 8\n" RUBY_SO
	      "(+0x2) 16\n"
	      "libz.so.1(x);ruby3.1(+0x4) 32\n"
	      "run;run;run 64\n");
}

static void made_startup(void)
{
	uint32_t main_frame, load, require, bin, exe, lib, commands, invoke, serve, thread, start;

	begin();
	main_frame = ruby("<main>");
	load = made_frame_at(MW_KIND_NATIVE, "Kernel#load", "", 0, 0);
	require = ruby("Kernel#require");
	bin = top("/usr/bin/bundle");
	exe = top("/g/gems/puma-6.6.1/bin/puma");
	lib = top("/g/gems/puma-6.6.1/lib/puma.rb");
	commands = top("/g/gems/railties-7.1/lib/rails/commands.rb");
	invoke = ruby("Rails::Command.invoke");
	serve = ruby("serve");
	thread = ruby("block in serve");
	start = made_frame_at(MW_KIND_SPECIAL, "(ruby, starting)", "", 0, 0);
	MADE_STACK(1, main_frame);
	MADE_STACK(2, require, main_frame)->growth = -7;
	MADE_STACK(4, lib, require, exe, load, main_frame);
	/* Bundler loads bin/puma */
	MADE_STACK(8, serve, exe, load, bin, load, main_frame);
	MADE_STACK(16, lib, require, exe, load, bin, load, main_frame)->row = 1;
	MADE_STACK(32, exe, load, main_frame);
	MADE_STACK(64, serve, invoke, commands, require, main_frame);
	MADE_STACK(128, require, invoke, commands, require, main_frame);
	MADE_STACK(256, thread);
	MADE_STACK(512, load, thread);
	MADE_STACK(1024, start);
}

TEST(without_startup)
{
	struct mw_profile_shown shown = { .no_startup = true, .row = MW_ROW_ALL };

	made_startup();
	shows(&shown, "<main> 1\n"
		      "serve 8\n"
		      "<top (required)> 32\n"
		      "Rails::Command.invoke;serve 64\n"
		      "block in serve 256\n");
}

TEST(bytes_left_out_are_counted)
{
	struct mw_profile_shown shown = { .no_startup = true, .row = MW_ROW_ALL };

	made_startup();
	assert_true(mw_profile_show(&made, &shown));
	assert_int_equal(shown.bytes[MW_BY_LIVE], 2 + 4 + 16 + 128 + 512 + 1024);
	assert_int_equal(shown.bytes[MW_BY_TOTAL], shown.bytes[MW_BY_LIVE]);
	assert_int_equal(shown.growth, -7 + 4 + 16 + 128 + 512 + 1024);
	assert_int_equal(made.samples[MW_BY_LIVE], 5);
	made_end();
	fake_clear();

	made_startup();
	shown = (struct mw_profile_shown){ .no_startup = true, .row = 1 };
	assert_true(mw_profile_show(&made, &shown));
	assert_int_equal(shown.bytes[MW_BY_LIVE], 16);
}
