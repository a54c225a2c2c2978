/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser of $MWRAP. Input: its text. */
#include <arpa/inet.h>
#include <errno.h>

#include "../../src/shared/options/options.h"
#include "fuzz.h"

static struct mw_options one, two;

/* Where in the struct's own text a string lies: by this both can be compared. */
static ptrdiff_t where(const struct mw_options *o, const char *s)
{
	if (!s)
		return -1;
	must(s >= o->text && s < o->text + sizeof(o->text));
	must(memchr(s, '\0', (size_t)(o->text + sizeof(o->text) - s)) != NULL);
	return s - o->text;
}

static void expands(const char *value)
{
	char big[2 * MW_OPTIONS_TEXT_MAX], small[8];
	int n;

	memset(small, 'x', sizeof(small));
	n = mw_options_expand(value, 2147483647L, small, 5);
	must(n >= -1 && n < 5 && strlen(small) == (size_t)(n < 0 ? 0 : n) && small[5] == 'x');
	n = mw_options_expand(value, 1, big, sizeof(big));
	if (!value)
		must(n == -1 && !big[0]);
	else /* a PID of one digit is shorter than %p */
		must(n >= 0 && (size_t)n == strlen(big) && (size_t)n <= strlen(value));
}

static void sane(const struct mw_options *o)
{
	unsigned char addr[16];

	must(o->dump_fd >= -1);
	must(o->dump_format >= MW_FORMAT_TEXT && o->dump_format <= MW_FORMAT_JSON);
	must(memchr(o->listen_host, '\0', sizeof(o->listen_host)) != NULL);
	if (o->listen) {
		bool near = inet_pton(AF_INET, o->listen_host, addr) == 1 ?
				    addr[0] == 127 :
				    inet_pton(AF_INET6, o->listen_host, addr) == 1 &&
					    !memcmp(addr, &in6addr_loopback, 16);

		must(near != o->listen_far && (near || o->token_file));
		must(strpbrk(o->listen_host, ".:") && !strchr(o->listen_host, '%'));
	}
	must((o->socket_mode & ~066u) == 0600 && (o->socket_mode == 0600 || o->socket || o->socket_dir));
	must(o->socket_gid >= -1 && o->socket_gid < UINT32_MAX && (o->socket_gid == -1 || o->socket_group));
	must(!o->socket_group || o->socket || o->socket_dir);
	expands(o->token_file);
	must(!o->socket || !o->socket_dir);
	must(!o->dump_path || o->dump_fd == -1);
	expands(o->socket);
	expands(o->socket_dir);
	expands(o->listen);
	expands(o->dump_path);
}

/* An item that is "token_file" or begins with "token_file:". */
static bool names_token(const char *text)
{
	static const char key[] = "token_file";
	bool start = true;

	for (const char *s = text; *s; s++) {
		if (start && !strncmp(s, key, sizeof(key) - 1) && strchr(":,", s[sizeof(key) - 1]))
			return true; /* strchr() finds the NUL, too */
		start = *s == ',';
		if (*s == '\\' && s[1])
			s++;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = copy_of(data, size), err[2][MW_ERROR_MAX];
	bool good, again;

	memset(&one, 0x55, sizeof(one));
	memset(&two, 0xaa, sizeof(two));
	memset(err, 'x', sizeof(err));
	errno = 4711;
	good = mw_options_parse(&one, text, err[0]);
	must(errno == 4711);
	again = mw_options_parse(&two, text, err[1]);
	must(good == again);
	must(memchr(err[0], '\0', MW_ERROR_MAX) != NULL && !strcmp(err[0], err[1]));
	must(good == !err[0][0]);
	for (const char *p = err[0]; *p; p++)
		must(*p >= ' ' && *p <= '~');
	sane(&one);
	must(where(&one, one.socket) == where(&two, two.socket) &&
	     where(&one, one.socket_dir) == where(&two, two.socket_dir) &&
	     where(&one, one.listen) == where(&two, two.listen) &&
	     where(&one, one.dump_path) == where(&two, two.dump_path) &&
	     where(&one, one.token_file) == where(&two, two.token_file) &&
	     where(&one, one.socket_group) == where(&two, two.socket_group));
	must(one.listen_far == two.listen_far && one.socket_mode == two.socket_mode &&
	     one.socket_gid == two.socket_gid);
	/* an option that names a file with a token, in any way, allows no server without one */
	must(one.token_file || !names_token(text) || (!one.socket && !one.socket_dir && !one.listen));
	must(one.listen_port == two.listen_port && !strcmp(one.listen_host, two.listen_host) &&
	     one.dump_fd == two.dump_fd && one.dump_min == two.dump_min &&
	     one.dump_format == two.dump_format && one.read_only == two.read_only);
	free(text);
	return 0;
}
