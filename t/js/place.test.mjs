// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from "node:test";
import assert from "node:assert/strict";
import { fileLength, fileOf, dirOf, gemOf, pieces, shortId } from "../../web/src/place.js";

const row = (location, kind = "ruby") => ({ location, kind, fileLength: fileLength(location, -1, kind) });

test("gems are those of the server's group=gem", () => {
	const cases = [
		["/usr/share/gems/gems/redcarpet-3.3.2/lib/redcarpet.rb:51", "redcarpet-3.3.2"],
		["/opt/gems/ruby-3.1.2/gems/rack-3.1.8/lib/rack.rb:1", "rack-3.1.8"],
		["/b/bundler/gems/rails-0123abcd/lib/x.rb:1", "rails-0123abcd"],
		["/usr/lib/ruby/3.1.0/set.rb:9", "ruby 3.1 stdlib"],
		["/usr/lib/x86_64-linux-gnu/ruby/3.1.0/json/ext.rb:9", "ruby 3.1 stdlib"],
		["/usr/lib/ruby/vendor_ruby/rubygems/version.rb:3", "vendor_ruby/rubygems"],
		["/usr/lib/ruby/vendor_ruby/3.1.0/did_you_mean.rb:3", "vendor_ruby/did_you_mean"],
		["<internal:array>:3", "ruby core"],
		["/srv/app/app/models/user.rb:3", "/srv/app/app/models"],
		["/x.rb:1", "/"],
		["script.rb:1", "script.rb"],
		["(eval at /srv/app/a.rb:7):1", "/srv/app"],
		["/srv/gems/notagem/x.rb:1", "/srv/gems/notagem"],
	];
	for (const [location, gem] of cases)
		assert.equal(gemOf(row(location)), gem, location);
	assert.equal(gemOf(row("/usr/lib/libc.so.6(getdelim+0x7c) [0x7f]", "native")), "libc.so.6");
	assert.equal(gemOf(row("(other)", "special")), "(other)");
	assert.equal(gemOf(row("/g/extensions/x86_64-linux/3.1.0/nio4r-2.7.5/nio4r_ext.so(a+0x1)", "native")), "nio4r-2.7.5");
});

test("files and folders", () => {
	assert.equal(fileOf(row("/a/b.rb:12")), "/a/b.rb");
	assert.equal(dirOf(row("/a/b.rb:12")), "/a");
	assert.equal(dirOf(row("/b.rb:12")), "/");
	assert.equal(fileOf(row("no line")), "no line");
	assert.equal(fileOf({ location: ":1", kind: "ruby", fileLength: 0 }), ":1");
});

test("the server's length of the file counts bytes", () => {
	assert.equal(fileLength("/a/b.rb:12", 7, "ruby"), 7);
	assert.equal(fileLength("/é/b.rb:12", 8, "ruby"), 7);
	assert.equal(fileLength("/é.so(f+0x1)", 6, "native"), 5);
	assert.equal(fileLength("/a", 99, "ruby"), 2);
});

test("a location in pieces is the location", () => {
	assert.deepEqual(pieces("/g/gems/rack-3/lib/rack.rb:5", 26), ["/g/gems/", "rack-3/lib/", "rack.rb:5"]);
	assert.deepEqual(pieces("/srv/a.rb:5", 9), ["/srv/", "", "a.rb:5"]);
	assert.deepEqual(pieces("x", 1), ["", "", "x"]);
	for (const s of ["", "/", "/gems/", "a/gems/b", "/srv/\n/x:1"])
		assert.equal(pieces(s, s.length).join(""), s);
});

// t/unit/test_at.c has the same of the server
test("a short id is the server's", () => {
	const cases = [["a:1", "~b6a2a12c8721c05f"], ["/srv/app/lib/some/where/far/away.rb:4711", "~34ee972c1ec1e46a"],
		["/usr/lib/libfoo.so(bar+0x1f) [0x7f0000001234]", "~b076bd53ae7c8388"], ["/usr/lib/libfoo.so(bar+0x1f)", "~b076bd53ae7c8388"],
		["/srv/h\u00fc\u20ac.rb:7", "~1210da941f2869a8"], ["", "~02cc5d050b2cb792"], ["0123456789abcdef", "~c2c45b69f31fe1cf"],
		["0123456789abcdef0123456789abcdef!", "~0c66a739dbe07aa9"]];
	for (const [location, id] of cases)
		assert.equal(shortId(location), id, location);
});
