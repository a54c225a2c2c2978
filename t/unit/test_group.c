/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of the groups that locations belong to: gems, Ruby's own folders, modules, directories. */
/* uses: src/shared/report/rows.c src/shared/report/group.c src/shared/report/columns.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c src/shared/report/render.c src/shared/report/kinds.c src/shared/report/kinded.c src/shared/report/profile.c src/shared/report/profile_make.c src/shared/report/row_index.c src/shared/text/intern.c src/shared/report/location.c */
#include "unit.h"
#include "fake_api.h"

#define RUBY MW_KIND_RUBY
#define NATIVE MW_KIND_NATIVE
#define SPECIAL MW_KIND_SPECIAL

/* The group of a location that is alone in the table. */
static void group_is(enum mw_group group, enum mw_kind kind, const char *location, const char *want)
{
	const struct mw_query q = { .sort = -1, .group = group };
	struct mw_result res;

	fake_clear();
	fake_row(kind, 1, location);
	assert_int_equal(mw_result_make(&res, &fake_api, &q), 0);
	assert_int_equal(res.n, 1);
	assert_int_equal(res.rows[0].location_len, strlen(want));
	assert_string_equal(res.rows[0].location, want);
	mw_result_free(&res, &fake_api);
	assert_int_equal(fake_out, 0);
}

static void gem_is(enum mw_kind kind, const char *location, const char *want)
{
	group_is(MW_GROUP_GEM, kind, location, want);
}

EACH(fake_clear, NULL);

TEST(groups_by_folder)
{
	group_is(MW_GROUP_DIR, RUBY, "/srv/gems/a-1/lib/a.rb:9", "/srv/gems/a-1/lib");
	group_is(MW_GROUP_DIR, RUBY, "/a.rb:9", "/");
	group_is(MW_GROUP_DIR, RUBY, "a.rb:9", "a.rb");
	group_is(MW_GROUP_DIR, RUBY, "lib/a.rb:9", "lib");
	group_is(MW_GROUP_DIR, RUBY, "(eval at /srv/x/y.rb:3):1", "/srv/x");
	group_is(MW_GROUP_DIR, RUBY, "<internal:kernel>:1", "<internal:kernel>");
	group_is(MW_GROUP_DIR, NATIVE, "/usr/lib/libx.so(f/g+0x1) [0x1]", "/usr/lib");
	group_is(MW_GROUP_DIR, SPECIAL, "(ruby, line/not known)", "(ruby, line/not known)");
}

TEST(groups_by_gem)
{
	gem_is(RUBY, "/var/lib/gems/3.1.0/gems/sinatra-3.0.5/lib/sinatra/base.rb:9", "sinatra-3.0.5");
	gem_is(RUBY, "/srv/app/vendor/bundle/ruby/3.1.0/gems/rack-2.2.4/lib/rack.rb:1", "rack-2.2.4");
	gem_is(RUBY, "/h/.rvm/gems/ruby-3.1.2/gems/net-http-0.3.0/lib/x.rb:1", "net-http-0.3.0");
	gem_is(RUBY, "/g/gems/nokogiri-1.13.0-x86_64-linux/lib/n.rb:1", "nokogiri-1.13.0-x86_64-linux");
	gem_is(RUBY, "/b/ruby/3.1.0/bundler/gems/my-lib-0a1b2c3d4e5f/lib/m.rb:1", "my-lib-0a1b2c3d4e5f");
	gem_is(RUBY, "/b/ruby/3.1.0/bundler/gems/lib-deadbeefcafe/lib/m.rb:1", "lib-deadbeefcafe");
	gem_is(NATIVE, "/g/gems/redcarpet-3.3.2/lib/redcarpet.so(rb_x+0x1) [0x7f]", "redcarpet-3.3.2");
	gem_is(NATIVE, "/g/extensions/x86_64-linux/3.1.0/redcarpet-3.3.2/redcarpet.so(f) [0x1]",
	       "redcarpet-3.3.2");
	gem_is(NATIVE, "/b/bundler/gems/extensions/x86_64-linux/3.3.0/zed-0123abc/zed.so(f) [0x1]",
	       "zed-0123abc");
	gem_is(RUBY, "/srv/gems/app/server.rb:3", "/srv/gems/app");
	gem_is(RUBY, "/srv/gems/my-app/server.rb:3", "/srv/gems/my-app");
	gem_is(RUBY, "/srv/gems/-1/server.rb:3", "/srv/gems/-1");
	gem_is(RUBY, "/srv/gems/rack-1.0:3", "/srv/gems");
}

TEST(groups_of_ruby_itself)
{
	gem_is(RUBY, "/usr/lib/ruby/3.1.0/set.rb:5", "ruby 3.1 stdlib");
	gem_is(RUBY, "/opt/rubies/3.4.5/lib/ruby/3.4.0/json/common.rb:5", "ruby 3.4 stdlib");
	gem_is(NATIVE, "/usr/lib/x86_64-linux-gnu/ruby/3.1.0/stringio.so(f+0x1) [0x1]", "ruby 3.1 stdlib");
	gem_is(RUBY, "/usr/lib/ruby/gems/3.1.0/gems/rbs-2.1.0/lib/rbs.rb:1", "rbs-2.1.0");
	gem_is(RUBY, "/usr/lib/ruby/vendor_ruby/rack/utils.rb:1", "vendor_ruby/rack");
	gem_is(RUBY, "/usr/lib/ruby/vendor_ruby/rack.rb:1", "vendor_ruby/rack");
	gem_is(NATIVE, "/usr/lib/x86_64-linux-gnu/ruby/vendor_ruby/3.1.0/ox.so(f) [0x1]", "vendor_ruby/ox");
	gem_is(RUBY, "/o/lib/ruby/site_ruby/3.3.0/x86_64-linux/bundler/x.rb:1", "site_ruby/bundler");
	gem_is(RUBY, "<internal:kernel>:187", "ruby core");
	gem_is(RUBY, "<internal:/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb>:85",
	       "vendor_ruby/rubygems");
	gem_is(RUBY, "/srv/ruby/3.1.0/x.rb:1", "/srv/ruby/3.1.0");
	gem_is(RUBY, "/usr/lib/ruby/3.1/x.rb:1", "/usr/lib/ruby/3.1");
}

TEST(groups_of_the_rest)
{
	gem_is(NATIVE, "/usr/lib/x86_64-linux-gnu/libc.so.6(strdup+0x1f) [0x7f12]", "libc.so.6");
	gem_is(NATIVE, "ruby(+0x1) [0x55]", "ruby");
	gem_is(RUBY, "/srv/app/models/user.rb:3", "/srv/app/models");
	gem_is(RUBY, "/x.rb:3", "/");
	gem_is(RUBY, "server.rb:3", "server.rb");
	gem_is(RUBY, "-e:1", "-e");
	gem_is(RUBY, "(eval):1", "(eval)");
	gem_is(RUBY, "(eval at /g/gems/erb-4.0/lib/erb.rb:3):1", "erb-4.0");
	gem_is(RUBY, "(eval at (eval at /srv/a/b.rb:3):1):9", "/srv/a");
	gem_is(RUBY, "(eval at :1", "(eval at ");
	gem_is(RUBY, "(eval at ", "(eval at ");
	gem_is(SPECIAL, "(gone)", "(gone)");
	gem_is(RUBY, "", "");
	gem_is(RUBY, "<internal:/:1", "/");
	gem_is(RUBY, "<internal:/>:1", "/");
	gem_is(RUBY, "/gems/", "/gems");
	gem_is(RUBY, "/gems/a-1/", "a-1");
	gem_is(RUBY, "/lib/ruby/vendor_ruby/", "vendor_ruby/");
	gem_is(RUBY, "//", "/");
}
