/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates of pages, and percent-encoding of paths. */
/* uses: src/server/http/template.c src/server/http/assets.c src/server/http/message.c src/server/http/params.c .build/web.o src/shared/report/columns.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c */
#include "unit.h"
#include "../../src/server/http/params.h"
#include "../../src/server/http/template.h"

TEST(test_template)
{
	struct mw_buf b = { 0 };
	const struct mw_slot slots[] = { { .name = "base", .text = "<&\"'>{{base}}" } };

	mw_template(&b, "controls.html", slots, 1);
	mw_buf_add(&b, "", 1);
	assert_non_null(strstr(b.p, "action=\"&lt;&amp;&quot;&#39;&gt;{{base}}/reset\""));
	b.n = 0;
	mw_template(&b, "none.html", slots, 1);
	assert_int_equal(b.n, 0);
	mw_buf_free(&b);
}

TEST(test_percent)
{
	struct mw_buf b = { 0 };
	char all[256], out[257];

	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	mw_percent_encode(&b, all + 1, 255);
	for (size_t i = 0; i < b.n; i++)
		assert_non_null(strchr("%-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
				       b.p[i]));
	assert_int_equal(mw_percent_decode(b.p, b.n, b.p, false), 255);
	assert_memory_equal(b.p, all + 1, 255);
	mw_buf_free(&b);
	assert_int_equal(mw_percent_decode("a+b%2b", 6, out, true), 4);
	assert_string_equal(out, "a b+");
	assert_int_equal(mw_percent_decode("a+b", 3, out, false), 3);
	assert_string_equal(out, "a+b");
	for (const char *const *p =
		     (const char *const[]){ "%", "%4", "%g0", "%0g", "a%", "%00", "%%41", NULL };
	     *p; p++)
		assert_int_equal(mw_percent_decode(*p, strlen(*p), out, false), -1);
	assert_int_equal(mw_percent_decode("%41", 2, out, false), -1); /* not past n */
}
