/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ask.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "shared/sys/clock.h"
#include "server/http/params.h"
#include "family.h"

#define HEAD_MAX ((size_t)64 << 10)

void mw_ask_begin(struct mw_ask *a, const char *socket, const char *method, const char *target)
{
	*a = (struct mw_ask){ .socket = socket, .fd = -1 };
	mw_buf_str(&a->request, method);
	mw_buf_str(&a->request, " ");
	mw_buf_str(&a->request, target);
	mw_buf_str(&a->request, " HTTP/1.0\r\n");
}

void mw_ask_header(struct mw_ask *a, const char *name, const char *value)
{
	for (const char *s = value; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return;
	mw_buf_str(&a->request, name);
	mw_buf_str(&a->request, ": ");
	mw_buf_str(&a->request, value);
	mw_buf_str(&a->request, "\r\n");
}

void mw_ask_token(struct mw_ask *a, const char *token)
{
	if (!*token)
		return;
	mw_buf_str(&a->request, "Authorization: Bearer ");
	mw_buf_str(&a->request, token);
	mw_buf_str(&a->request, "\r\n");
}

static void end_ask(struct mw_ask *a, int error)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	a->error = error;
}

static void open_one(struct mw_ask *a)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t n = strlen(a->socket);

	mw_buf_str(&a->request, "Connection: close\r\n\r\n");
	a->error = a->request.failed ? ENOMEM : n >= sizeof(un.sun_path) ? ENAMETOOLONG : 0;
	if (a->error)
		return;
	memcpy(un.sun_path, a->socket, n + 1);
	a->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Linux connects a Unix socket at once, or fails with EAGAIN: the queue is full */
	if (a->fd < 0 || connect(a->fd, (struct sockaddr *)&un, sizeof(un)))
		end_ask(a, errno);
	else if (!mw_relative_trusted(a->fd))
		end_ask(a, MW_STRANGER);
}

static void send_some(struct mw_ask *a)
{
	ssize_t n =
		send(a->fd, a->request.p + a->sent, a->request.n - a->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n >= 0)
		a->sent += (size_t)n;
	else if (errno != EAGAIN && errno != EINTR)
		end_ask(a, errno);
}

/* The status in "HTTP/1.1 200 ...", of n bytes; 0: anything else. */
static int status_of(const char *head, size_t n)
{
	int status = 0;

	if (n < 12 || memcmp(head, "HTTP/1.", 7) != 0 || head[8] != ' ' || memchr(head, '\0', n))
		return 0;
	for (int i = 9; i < 12; i++) {
		if (head[i] < '0' || head[i] > '9')
			return 0;
		status = status * 10 + (head[i] - '0');
	}
	return status >= 200 && status <= 599 && strchr(" \r", head[12]) ? status : 0;
}

/* Is the head complete? Sets status and body. */
static bool head_is_there(struct mw_ask *a)
{
	const char *p = a->answer.p, *end_of_head;

	if (a->body)
		return true;
	end_of_head = a->answer.n ? memmem(p, a->answer.n, "\r\n\r\n", 4) : NULL;
	if (!end_of_head)
		return false;
	a->body = (size_t)(end_of_head - p) + 4;
	a->status = status_of(p, a->body);
	return true;
}

/* Is the body shorter than Content-Length? The process then died meanwhile. */
static bool cut_short(const struct mw_ask *a)
{
	static const char name[] = "\r\nContent-Length:";
	const char *s = a->answer.p, *end_of_head = s + a->body - 4;
	uint64_t length;
	size_t n;

	if (a->status == 204 || a->status == 304) /* no body; the length is that of a 200 */
		return false;
	while ((s = memmem(s, (size_t)(end_of_head - s), "\r\n", 2)) && s < end_of_head) {
		if ((size_t)(end_of_head - s) >= sizeof(name) && !strncasecmp(s, name, sizeof(name) - 1)) {
			s += sizeof(name) - 1;
			s += strspn(s, " \t"); /* a line's end follows */
			n = strcspn(s, " \t\r");
			return mw_parse_u64(s, n, &length) && a->answer.n - a->body < length;
		}
		s += 2;
	}
	return false;
}

static void read_some(struct mw_ask *a)
{
	char piece[32 << 10];
	ssize_t n = recv(a->fd, piece, sizeof(piece), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		end_ask(a, errno);
		return;
	}
	mw_buf_add(&a->answer, piece, (size_t)n);
	if (a->answer.failed)
		end_ask(a, ENOMEM);
	else if (!head_is_there(a))
		a->answer.n > HEAD_MAX || !n ? end_ask(a, EPROTO) : (void)0;
	else if (!a->status)
		end_ask(a, EPROTO);
	else if (!n)
		end_ask(a, cut_short(a) ? ECONNRESET : 0);
	else if (a->answer.n > MW_FAMILY_BYTES)
		end_ask(a, EFBIG);
}

static bool waits(const struct mw_ask *a)
{
	return a->fd >= 0 && !(a->stream && a->body);
}

enum {
	LOOK_MS = 20
}; /* how late it notices that it must leave: the app's change of its user waits for that */
bool (*mw_ask_leaving)(void);

static bool must_leave(void)
{
	return mw_ask_leaving && mw_ask_leaving();
}

static void run_asks_until(struct mw_ask *asks, size_t n, struct pollfd *p, uint64_t until)
{
	for (;;) {
		uint64_t now = mw_now_ms();
		nfds_t used = 0;

		for (size_t i = 0; i < n; i++) {
			if (!waits(&asks[i]))
				continue;
			p[used].fd = asks[i].fd;
			p[used].events = asks[i].sent < asks[i].request.n ? POLLOUT : POLLIN;
			p[used++].revents = 0;
		}
		if (!used || now >= until || must_leave())
			return;
		if (poll(p, used, until - now < LOOK_MS ? (int)(until - now) : LOOK_MS) < 0 &&
		    errno != EINTR)
			return;
		used = 0;
		for (size_t i = 0; i < n; i++) {
			struct mw_ask *a = &asks[i];

			if (!waits(a))
				continue;
			if (!p[used++].revents)
				continue;
			if (a->sent < a->request.n)
				send_some(a);
			else
				read_some(a);
		}
	}
}

void mw_ask_all(struct mw_ask *asks, size_t n, unsigned ms)
{
	struct pollfd *p = calloc(n + 1, sizeof(*p));
	uint64_t until = mw_now_ms() + ms;

	for (size_t i = 0; i < n; i++) {
		if (!asks[i].socket)
			continue;
		if (p)
			open_one(&asks[i]);
		else
			asks[i].error = ENOMEM;
	}
	if (p)
		run_asks_until(asks, n, p, until);
	for (size_t i = 0; i < n; i++)
		if (waits(&asks[i]))
			end_ask(&asks[i], must_leave() ? ECANCELED : ETIMEDOUT);
	free(p);
}

long mw_ask_more(struct mw_ask *a, char *to, size_t size, unsigned ms)
{
	struct pollfd p = { .fd = a->fd, .events = POLLIN };
	ssize_t n;

	if (a->fd < 0)
		return 0;
	if (poll(&p, 1, (int)ms) <= 0)
		return -1;
	n = recv(a->fd, to, size, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -1;
	if (n <= 0)
		end_ask(a, n ? errno : 0);
	return n > 0 ? (long)n : 0;
}

void mw_ask_free(struct mw_ask *a)
{
	end_ask(a, a->error);
	mw_buf_free(&a->request);
	mw_buf_free(&a->answer);
}

/* Is it a valid header name, and a value without control characters? */
static bool sensible(const char *name, const char *value)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";
	const char *s;

	for (s = name; *s; s++)
		if (!((*s | 0x20) >= 'a' && (*s | 0x20) <= 'z') && !(*s >= '0' && *s <= '9') &&
		    !strchr(marks, *s))
			return false;
	for (; *value; value++)
		if (((unsigned char)*value < 0x20 && *value != '\t') || *value == 0x7f)
			return false;
	return s > name;
}

void mw_ask_headers(struct mw_ask *a, void (*each)(void *, const char *, const char *), void *ctx)
{
	char *p = a->answer.p;
	char *end = a->body ? p + strnlen(p, a->body) : NULL; /* a NUL ends the head, too */
	char *line = end ? memmem(p, (size_t)(end - p), "\r\n", 2) : NULL, *eol, *colon, *value;

	if (!line)
		return;
	for (line += 2; line < end; line = eol + 2) {
		eol = memmem(line, (size_t)(end - line), "\r\n", 2);
		if (!eol || eol == line)
			return;
		*eol = '\0';
		colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = '\0';
		value = colon + 1 + strspn(colon + 1, " \t");
		for (char *s = eol; s > value && (s[-1] == ' ' || s[-1] == '\t');)
			*--s = '\0';
		if (sensible(line, value))
			each(ctx, line, value);
	}
}
