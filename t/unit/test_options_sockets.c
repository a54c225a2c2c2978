/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of the server: addresses, sockets' modes and groups, token files, and how long a path may be. */
/* uses: src/shared/options/options.c src/shared/options/keys.c src/shared/options/near.c src/shared/options/values.c src/shared/options/address.c */
#include <limits.h>

#include "unit.h"
#include "given_options.h"

static void no_listen(void)
{
	assert_null(o.listen);
	assert_int_equal(o.listen_port, 0);
	assert_string_equal(o.listen_host, "");
	assert_false(o.listen_far);
}

/* "KEY:/aaa", the value with len bytes in all, ending in tail */
static const char *path_option(const char *key, size_t len, const char *tail)
{
	static char env[MW_OPTIONS_TEXT_MAX];
	size_t n = (size_t)sprintf(env, "%s:/", key);

	memset(env + n, 'a', len - 1 - strlen(tail));
	strcpy(env + n + len - 1 - strlen(tail), tail);
	return env;
}

TEST(addresses)
{
	/* clang-format off */
	static const struct {
		const char *value, *host;
		int port;
	} good[] = {
		{ "127.0.0.1:0", "127.0.0.1", 0 },
		{ "127.0.0.1:65535", "127.0.0.1", 65535 },
		{ "127.1.2.3:80", "127.1.2.3", 80 },
		{ "localhost:8080", "127.0.0.1", 8080 },
		{ "[::1]:8080", "::1", 8080 },
		{ "[0:0:0:0:0:0:0:1]:1", "::1", 1 },
	};
	static const struct {
		const char *value, *host;
	} far[] = {
		{ "0.0.0.0:80", "0.0.0.0" }, { "10.0.0.1:80", "10.0.0.1" }, { "128.0.0.1:80", "128.0.0.1" },
		{ "[::]:80", "::" }, { "[fe80::1]:80", "fe80::1" }, { "[2001:db8::1]:80", "2001:db8::1" },
		{ "126.255.255.255:80", "126.255.255.255" },
	};
	static const char *const bad[] = {
		"*:80", "example.org:80", "127.1:80", "[127.0.0.1]:80", "[localhost]:80",
		"[::ffff:127.0.0.1]:80", "[::ffff:10.0.0.1]:80", "[fe80::1%eth0]:80",
		":80", "[]:80", "127.0.0.1 :80", "localhost.:80", "2130706433:80", "010.0.0.1:80",
	};
	/* clang-format on */
	static const char *const tokens[] = { "", "token_file:/t," };
	char env[128];

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		snprintf(env, sizeof(env), "listen:%s", good[i].value);
		right(env);
		assert_string_equal(o.listen, good[i].value);
		assert_string_equal(o.listen_host, good[i].host);
		assert_int_equal(o.listen_port, good[i].port);
		assert_false(o.listen_far);
	}
	for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++) {
		refused_value("socket:/s,", "listen", far[i].value,
			      "is not loopback: without token_file use 127.0.0.1:PORT, [::1]:PORT or "
			      "localhost:PORT");
		no_listen();
		assert_string_equal(o.socket, "/s");
		for (int last = 0; last < 2; last++) { /* in either order */
			snprintf(env, sizeof(env), "%slisten:%s%s", last ? "" : "token_file:/t,",
				 far[i].value, last ? ",token_file:/t" : "");
			right(env);
			assert_string_equal(o.listen_host, far[i].host);
			assert_int_equal(o.listen_port, 80);
			assert_true(o.listen_far);
			assert_string_equal(o.token_file, "/t");
		}
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		for (int t = 0; t < 2; t++) {
			refused_value(tokens[t], "listen", bad[i],
				      "is not a numeric address: write 127.0.0.1:PORT, [::1]:PORT or "
				      "localhost:PORT");
			no_listen();
		}
	}
}

/* A token that can't be meant opens nothing to anybody. */
TEST(token_files)
{
	/* clang-format off */
	static const char *const wrong[] = {
		"token_file", "token_file:", "token_file:/x%q", "token_file:/x%",
	};
	/* clang-format on */
	static const char *const servers[] = { "socket:/s,listen:[::1]:0,",
					       "socket_dir:/d,listen:0.0.0.0:1," };
	char env[128];

	right("token_file:/run/%p.token,listen:127.0.0.1:0,socket:/s");
	assert_string_equal(o.token_file, "/run/%p.token");
	assert_string_equal(o.socket, "/s");
	right("token_file:/t"); /* for whoever else wants it */
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		for (int k = 0; k < 2; k++) {
			for (int first = 0; first < 2; first++) {
				snprintf(env, sizeof(env), "%s%s%s", first ? wrong[i] : "",
					 first ? "," : servers[k], first ? servers[k] : wrong[i]);
				assert_false(parse(env));
				assert_null(o.token_file);
				assert_null(o.socket);
				assert_null(o.socket_dir);
				no_listen();
			}
		}
	}
	refused("token_file:/a,token_file:/b,listen:0.0.0.0:1", "token_file: given twice");
	assert_string_equal(o.token_file, "/a");
	assert_true(o.listen_far);
	assert_false(parse("socket:/s,token_file:/x\\"));
	assert_null(o.socket);
	assert_false(parse(path_option("token_file", PATH_MAX, "")));
}

TEST(socket_modes)
{
	/* clang-format off */
	static const struct {
		const char *given;
		unsigned mode;
	} good[] = {
		{ "0660", 0660 }, { "660", 0660 }, { "0666", 0666 }, { "600", 0600 }, { "000", 0600 },
		{ "0060", 0660 }, { "0620", 0620 }, { "006", 0606 }, { "0640", 0640 },
	};
	static const char *const wrong[] = {
		"66", "6", "06600", "1660", "2660", "4600", "0770", "0661", "0601", "777", "0o660", "0x66",
		"668", "-660", "rw-", " 660", "660 ", "0660x", "99999999999999",
	};
	/* clang-format on */
	char env[80];

	right("socket:/a");
	assert_int_equal(o.socket_mode, 0600);
	assert_int_equal(o.socket_gid, -1);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		snprintf(env, sizeof(env), "socket_mode:%s,socket_dir:/d", good[i].given);
		right(env);
		assert_int_equal(o.socket_mode, good[i].mode);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		refused_value(
			"socket:/a,", "socket_mode", wrong[i],
			"is not a mode for a socket: write three octal digits of 0, 2, 4 and 6, as in 0660");
		assert_int_equal(o.socket_mode, 0600);
		assert_string_equal(o.socket, "/a");
	}
	refused("socket_mode:660,listen:[::1]:0",
		"socket_mode: there is no socket: add socket:PATH or socket_dir:DIRECTORY");
	assert_int_equal(o.socket_mode, 0600);
	assert_string_equal(o.listen_host, "::1");
}

TEST(socket_groups)
{
	/* clang-format off */
	static const char *const wrong[] = { "a b", "x:y", "a/b", "\\,", "-x", "d\xc3\xa9", "\"" };
	/* clang-format on */
	char env[160];

	right("socket:/a,socket_group:www-data");
	assert_string_equal(o.socket_group, "www-data");
	assert_int_equal(o.socket_gid, -1);
	assert_int_equal(o.socket_mode, 0660); /* what else would it be for */
	right("socket_group:33,socket_mode:0640,socket:/a");
	assert_int_equal(o.socket_gid, 33);
	assert_int_equal(o.socket_mode, 0640);
	right("socket_group:0,socket:/a");
	assert_int_equal(o.socket_gid, 0);
	right("socket_group:4294967294,socket:/a");
	assert_true(o.socket_gid == 4294967294);
	refused("socket:/a,socket_group:4294967295",
		"socket_group: \"4294967295\" is not the number of a group");
	assert_int_equal(o.socket_mode, 0600);
	assert_int_equal(o.socket_gid, -1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(env, sizeof(env), "socket:/a,socket_group:%s", wrong[i]);
		assert_false(parse(env));
		assert_non_null(strstr(err, "is not the name of a group: write its number"));
		assert_null(o.socket_group);
		assert_int_equal(o.socket_mode, 0600);
	}
	refused("socket_group:x,dump_fd:2",
		"socket_group: there is no socket: add socket:PATH or socket_dir:DIRECTORY");
	assert_null(o.socket_group);
}

TEST(addresses_of_wrong_form)
{
	char env[400] = "listen:";

	refused("listen:8080", "listen: \"8080\" has no port: write 127.0.0.1:PORT");
	refused("listen:127.0.0.1", "listen: \"127.0.0.1\" has no port: write 127.0.0.1:PORT");
	refused("listen:[::1]", "listen: \"[::1]\" has no port: write [::1]:PORT");
	refused("listen:[::1]80", "listen: \"[::1]80\" has no port: write [::1]:PORT");
	refused("listen:[::1", "listen: \"[::1\" has no closing bracket: write [::1]:PORT");
	refused("listen:::1:80", "listen: \"::1:80\" needs brackets around the address: write [::1]:PORT");
	refused("listen:127.0.0.1:", "listen: \"127.0.0.1:\" has a wrong port: write 0 to 65535");
	refused("listen:127.0.0.1:65536", "listen: \"127.0.0.1:65536\" has a wrong port: write 0 to 65535");
	refused("listen:127.0.0.1:-1", "listen: \"127.0.0.1:-1\" has a wrong port: write 0 to 65535");
	refused("listen:127.0.0.1:http", "listen: \"127.0.0.1:http\" has a wrong port: write 0 to 65535");
	memset(env + 7, '1', 300);
	strcpy(env + 307, ":80");
	assert_false(parse(env));
	assert_non_null(strstr(err, "11...\" is not a numeric address"));
}

TEST(long_paths)
{
	right(path_option("socket", 99, ""));
	assert_false(parse(path_option("socket", 100, "")));
	assert_non_null(strstr(err, "aaa...\" is too long for a socket: 99 bytes at most"));
	assert_null(o.socket);
	/* a PID of seven digits, so %p is five longer than it looks; %% is one shorter */
	right(path_option("socket", 94, "%p"));
	assert_false(parse(path_option("socket", 95, "%p")));
	right(path_option("socket", 100, "%%"));
	right(path_option("socket_dir", 94, ""));
	assert_false(parse(path_option("socket_dir", 95, "")));
	assert_non_null(strstr(err, "is too long for a socket: 94 bytes at most"));
	right(path_option("dump_path", PATH_MAX - 1, ""));
	assert_false(parse(path_option("dump_path", PATH_MAX, "")));
	assert_false(parse(path_option("dump_path", PATH_MAX - 1, "%p")));
	assert_false(parse(path_option("dump_path", 15000, "")));
}
