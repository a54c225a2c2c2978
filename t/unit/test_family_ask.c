/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to other processes' servers, and what is made of answers that no server of ours gives. */
/* uses: @server */
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit.h"
#include "../../src/server/family/ask.h"
#include "../../src/server/family/gather.h"
#include "../../src/shared/sys/times.h"
#include "fake_api.h"

/* --- heads --------------------------------------------------------------------------- */

static struct mw_buf got;

static void note(void *ctx, const char *name, const char *value)
{
	assert_ptr_equal(ctx, &got);
	mw_buf_fmt(&got, "<%s|%s>", name, value);
}

/* The headers of an answer with such a head, without the empty line at its end. */
static void headers_of(const char *head, size_t n, const char *want)
{
	struct mw_ask a = { .fd = -1 };

	mw_buf_free(&got);
	mw_buf_add(&a.answer, head, n);
	mw_buf_str(&a.answer, "\r\n\r\n");
	a.body = a.answer.n;
	mw_buf_str(&a.answer, "Body: is none\r\nof these: \r\n");
	a.answer.p = realloc(a.answer.p, a.answer.n); /* reading on is found */
	a.answer.cap = a.answer.n;
	mw_ask_headers(&a, note, &got);
	mw_buf_add(&got, "", 1);
	assert_string_equal(got.p, want);
	mw_buf_free(&got);
	mw_ask_free(&a);
}

#define HEADERS(head, want) \
	headers_of("HTTP/1.1 200 OK\r\n" head, sizeof("HTTP/1.1 200 OK\r\n" head) - 1, want)

TEST(headers_are_told)
{
	struct mw_ask none = { .fd = -1 };

	HEADERS("Content-Type: text/html; charset=utf-8\r\nVary: *",
		"<Content-Type|text/html; charset=utf-8><Vary|*>");
	HEADERS("A:b\r\nC:   d\r\nE: \t f \t \r\nG:\r\nH: ", "<A|b><C|d><E|f><G|><H|>");
	HEADERS("A: b: c", "<A|b: c>");
	HEADERS("A: \xc3\xbc\xff", "<A|\xc3\xbc\xff>");
	HEADERS("A: b\tc", "<A|b\tc>");
	HEADERS("x!#$%&'*+-.^_`|~09Z: 1", "<x!#$%&'*+-.^_`|~09Z|1>");
	headers_of("HTTP/1.1 200 OK", 15, "");
	mw_ask_headers(&none, note, &got);
	assert_int_equal(got.n, 0);
}

TEST(hostile_heads)
{
	HEADERS("no colon\r\nA: b", "<A|b>");
	HEADERS(": no name\r\nA: b\r\n:", "<A|b>");
	HEADERS("A: b\r\n folded: c\r\n\tfolded: d\r\nE: f", "<A|b><E|f>");
	HEADERS("A B: c\r\nA : d\r\n\"A\": e\r\nA/: f\r\n\xc3\xbc: g\r\n@: h\r\n[: i", "");
	HEADERS("A: b\nSet-Cookie: c\r\nD: e", "<D|e>");
	HEADERS("A: b\rSet-Cookie: c\r\nD: e", "<D|e>");
	HEADERS("A: b\x1b[2J\r\nB: \x7f\r\nD: e", "<D|e>");
	HEADERS("A: b\r\nB: c\0d\r\nD: e", "<A|b>");
	headers_of("\0", 1, "");
	headers_of("", 0, "");
	headers_of("\r\n", 2, "");
	HEADERS("A: b\n\n", "");
	HEADERS("A: b\r\nC: d\r", "<A|b>");
}

/* --- servers --------------------------------------------------------------------------- */

static char dir[] = "/tmp/mwrap-unit-ask-XXXXXX";

static void make_dir(void)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	fake_clear();
	assert_non_null(mkdtemp(dir));
}

static void remove_dir(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

EACH(make_dir, remove_dir);

/* Answers one request with these bytes, in pieces, and closes the connection unless it keeps it. */
struct server {
	char path[108];
	const char *answer;
	size_t n, piece;
	bool keep;
	struct mw_buf heard;
	int fd, connection;
	pthread_t thread;
};

static void *serve(void *arg)
{
	struct server *s = arg;
	char c;

	s->connection = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
	while (s->connection >= 0 &&
	       (s->heard.n < 4 || memcmp(s->heard.p + s->heard.n - 4, "\r\n\r\n", 4))) {
		if (read(s->connection, &c, 1) != 1)
			break;
		mw_buf_add(&s->heard, &c, 1);
	}
	for (size_t done = 0; done < s->n;) {
		size_t n = s->n - done < s->piece ? s->n - done : s->piece;
		ssize_t sent = send(s->connection, s->answer + done, n, MSG_NOSIGNAL);

		if (sent <= 0)
			break;
		done += (size_t)sent;
	}
	if (!s->keep)
		close(s->connection);
	return NULL;
}

static void start(struct server *s, const char *name, const char *answer, size_t n, size_t piece)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	*s = (struct server){ .answer = answer, .n = n, .piece = piece };
	assert_true((size_t)snprintf(s->path, sizeof(s->path), "%s/%s", dir, name) < sizeof(s->path));
	strcpy(un.sun_path, s->path);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(s->fd >= 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&un, sizeof(un)), 0);
	assert_int_equal(listen(s->fd, 5), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void end_server(struct server *s)
{
	assert_int_equal(pthread_join(s->thread, NULL), 0);
	if (s->keep)
		close(s->connection);
	close(s->fd);
	unlink(s->path);
	mw_buf_free(&s->heard);
}

enum { LONG = 60000 }; /* ms; no test waits for so long */

/* An answer is read as this error, or as this body. */
static void answered(const char *answer, size_t n, int error, int status, const char *body)
{
	static const size_t pieces[] = { 1, 7, 100000 };

	for (size_t i = 0; i < 3; i++) {
		struct server s;
		struct mw_ask a;

		start(&s, "s", answer, n, pieces[i]);
		mw_ask_begin(&a, s.path, "GET", "/x?y");
		mw_ask_header(&a, "A", "b");
		mw_ask_header(&a, "Bad", "a\r\nb: c");
		mw_ask_token(&a, "");
		mw_ask_token(&a, "secret");
		mw_ask_all(&a, 1, LONG);
		assert_int_equal(a.error, error);
		assert_int_equal(a.fd, -1);
		if (!error) {
			assert_int_equal(a.status, status);
			assert_int_equal(a.answer.n - a.body, strlen(body));
			assert_memory_equal(a.answer.p + a.body, body, strlen(body));
		}
		mw_ask_free(&a);
		assert_int_equal(pthread_join(s.thread, NULL), 0);
		mw_buf_add(&s.heard, "", 1);
		assert_string_equal(s.heard.p, "GET /x?y HTTP/1.0\r\nA: b\r\nAuthorization: Bearer secret\r\n"
					       "Connection: close\r\n\r\n");
		close(s.fd);
		unlink(s.path);
		mw_buf_free(&s.heard);
	}
}

#define ANSWERED(text, error, status, body) answered(text, sizeof(text) - 1, error, status, body)
#define OK "HTTP/1.0 200 OK\r\n"

TEST(answers)
{
	ANSWERED(OK "\r\nhello", 0, 200, "hello");
	ANSWERED(OK "\r\n", 0, 200, "");
	ANSWERED("HTTP/1.1 404\r\n\r\nno\r\n\r\nmore", 0, 404, "no\r\n\r\nmore");
	ANSWERED(OK "Content-Length: 5\r\n\r\nhello", 0, 200, "hello");
	ANSWERED(OK "Content-Length: x\r\n\r\nhello", 0, 200, "hello");
	ANSWERED("HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n", 0, 304, "");
}

TEST(answers_cut_short)
{
	ANSWERED("", EPROTO, 0, "");
	ANSWERED("HTTP/1.0 2", EPROTO, 0, "");
	ANSWERED(OK, EPROTO, 0, "");
	ANSWERED(OK "A: b\r\n", EPROTO, 0, "");
	ANSWERED(OK "Content-Length: 6\r\n\r\nhello", ECONNRESET, 0, "");
	ANSWERED(OK "A: b\r\ncontent-length: \t6 \r\nC: d\r\n\r\nhello", ECONNRESET, 0, "");
	ANSWERED(OK "Content-Length: 18446744073709551615\r\n\r\n", ECONNRESET, 0, "");
}

TEST(no_http)
{
	static char large[100000];

	ANSWERED("SSH-2.0-OpenSSH_9.2\r\n", EPROTO, 0, "");
	ANSWERED("\r\n\r\n", EPROTO, 0, "");
	ANSWERED("\0\r\n\r\n", EPROTO, 0, "");
	ANSWERED("HTTP/2.0 200 OK\r\n\r\n", EPROTO, 0, "");
	ANSWERED("HTTP/1.1 abc OK\r\n\r\n", EPROTO, 0, "");
	ANSWERED("HTTP/1.1 000 OK\r\n\r\n", EPROTO, 0, "");
	ANSWERED("HTTP/1.1 100 Continue\r\n\r\n", EPROTO, 0, "");
	ANSWERED("HTTP/1.1 999 OK\r\n\r\n", EPROTO, 0, "");
	ANSWERED("HTTP/1.1 2000 OK\r\n\r\n", EPROTO, 0, "");
	ANSWERED("HTTP/1.1/200 OK\r\n\r\n", EPROTO, 0, "");
	ANSWERED("HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", EPROTO, 0, "");
	memset(large, 'a', sizeof(large)); /* a head without an end */
	memcpy(large, OK, sizeof(OK) - 1);
	answered(large, sizeof(large), EPROTO, 0, "");
}

TEST(nobody_there)
{
	static char long_path[200];
	struct server s;
	struct mw_ask a[5];

	memset(long_path, 'x', sizeof(long_path) - 1);
	start(&s, "s", OK "\r\nhere", sizeof(OK "\r\nhere") - 1, 1000);
	mw_ask_begin(&a[0], "/none/s", "GET", "/");
	mw_ask_begin(&a[1], long_path, "GET", "/");
	a[2] = (struct mw_ask){ .fd = -1 }; /* isn't asked */
	mw_ask_begin(&a[3], s.path, "GET", "/");
	mw_ask_begin(&a[4], "/dev/null", "GET", "/");
	mw_ask_all(a, 5, LONG);
	assert_int_equal(a[0].error, ENOENT);
	assert_int_equal(a[1].error, ENAMETOOLONG);
	assert_int_equal(a[2].error, 0);
	assert_int_equal(a[3].error, 0);
	assert_int_equal(a[3].status, 200);
	assert_int_equal(a[4].error, ECONNREFUSED);
	for (int i = 0; i < 5; i++)
		mw_ask_free(&a[i]);
	end_server(&s);
	mw_ask_all(a, 0, LONG);
}

/* One who accepts and says no more is waited for as long as was said. */
TEST(silence)
{
	struct server s;
	struct mw_ask a;

	start(&s, "s", OK, sizeof(OK) - 1, 1000);
	s.keep = true;
	mw_ask_begin(&a, s.path, "GET", "/");
	mw_ask_all(&a, 1, 50);
	assert_int_equal(a.error, ETIMEDOUT);
	assert_int_equal(a.fd, -1);
	mw_ask_free(&a);
	end_server(&s);
}

TEST(a_stream)
{
	static const char text[] = OK "Content-Length: 3\r\n\r\none";
	struct mw_ask a;
	struct server s;
	char more[8];
	size_t n;
	long len;

	start(&s, "s", text, sizeof(text) - 1, 1);
	mw_ask_begin(&a, s.path, "GET", "/live");
	a.stream = true;
	mw_ask_all(&a, 1, LONG);
	assert_int_equal(a.error, 0);
	assert_int_equal(a.status, 200);
	assert_true(a.fd >= 0);
	n = a.answer.n - a.body;
	while (n < 3) {
		len = mw_ask_more(&a, more, sizeof(more), LONG);
		assert_true(len > 0);
		n += (size_t)len;
	}
	assert_int_equal(mw_ask_more(&a, more, sizeof(more), LONG), 0);
	assert_int_equal(mw_ask_more(&a, more, sizeof(more), LONG), 0);
	assert_int_equal(a.fd, -1);
	mw_ask_free(&a);
	end_server(&s);
}

/* --- all of a family ------------------------------------------------------------------ */

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

TEST(replies)
{
	static const char wrong[] = OK "\r\nnot a table\n", missing[] = "HTTP/1.0 404 no\r\n\r\nno\n";
	struct mw_family f = { 0 };
	struct mw_buf table = { 0 };
	struct mw_gathered g;
	struct server s[3];
	uint64_t from;
	int tries = 0;

	strcpy(f.dir, dir);
	fake_stats.live_bytes = 77;
	mw_buf_str(&table, OK "\r\n");
	assert_int_equal(mw_wire_write(&table, &fake_api, MW_WIRE_SELF, NULL, 0), 0);
	for (;;) {
		start(&s[0], "999999997.sock", wrong, sizeof(wrong) - 1, 1000);
		start(&s[1], "999999998.sock", missing, sizeof(missing) - 1, 1000);
		start(&s[2], "999999999.sock", table.p, table.n, 10); /* this process, by another name */
		from = now_ms();
		assert_int_equal(mw_gather(&g, &f, &fake_api, MW_WIRE_SELF, ""), 0);
		if (now_ms() - from < MW_FAMILY_MS || ++tries == 10)
			break;
		/* all answer at once: this process was stopped for that long, and is asked again */
		mw_gathered_free(&g);
		for (int i = 0; i < 3; i++)
			end_server(&s[i]);
	}
	assert_int_equal(g.n, 3); /* one that is heard twice is one */
	assert_int_equal(g.answered, 1);
	assert_int_equal(g.replies[0].pid, getpid());
	assert_int_equal(g.replies[0].wire.stats.live_bytes, 77);
	assert_ptr_equal(g.parts[0].wire, &g.replies[0].wire);
	assert_int_equal(g.replies[1].pid, 999999997);
	assert_int_equal(g.replies[1].error, EPROTO);
	assert_int_equal(g.replies[2].pid, 999999998);
	assert_int_equal(g.replies[2].error, EPROTO);
	mw_gathered_free(&g);
	for (int i = 0; i < 3; i++)
		end_server(&s[i]);
	mw_buf_free(&table);
}

/* Without memory for the own table it is one that doesn't answer; nothing is lost. */
TEST(no_memory)
{
	struct mw_family f = { 0 };
	struct mw_gathered g;

	fake_no_memory = true;
	assert_int_equal(mw_gather(&g, &f, &fake_api, MW_WIRE_ALL, ""), 0);
	assert_int_equal(g.n, 1);
	assert_int_equal(g.answered, 0);
	assert_int_equal(g.replies[0].error, ENOMEM);
	mw_gathered_free(&g);
	assert_int_equal(fake_out, 0);
	fake_no_memory = false;
	fake_row(MW_KIND_RUBY, 5, "/a b.rb:1");
	assert_int_equal(mw_gather(&g, &f, &fake_api, MW_WIRE_AT, "/a%20b.rb:1"), 0);
	assert_int_equal(g.parts[0].wire->n, 1);
	mw_gathered_free(&g);
	assert_int_equal(mw_gather(&g, &f, &fake_api, MW_WIRE_AT, "/a%2"), 0); /* no such place */
	assert_int_equal(g.answered, 1);
	assert_int_equal(g.parts[0].wire->n, 0);
	mw_gathered_free(&g);
}
