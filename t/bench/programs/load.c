/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load.c - HTTP requests to 127.0.0.1, each over a connection of its own, as a
 * proxy's usually are: with connections that are kept open, what Puma waits for
 * on idle ones would be measured. PATHs are asked for in turn.
 *
 *   load count PORT CLIENTS REQUESTS PATH...
 *     CLIENTS at a time, each as fast as the answers come; writes "rate N"
 *     (requests a second)
 *   load open PORT CLIENTS RATE SECONDS PATH...
 *     at random times (seeded), RATE a second on average, whether or not the
 *     earlier ones were answered, up to CLIENTS of them; writes "sent N", and
 *     "p50 N", "p99 N", "max N" in milliseconds, counted from when a request was
 *     due: time that it waited for a client is in it
 *   load look SOCKET RATE SECONDS PATH
 *     one client of a Unix socket, RATE times a second at regular times; writes "sent N"
 *
 * Any answer but 200 ends it with status 1.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS_MAX = 256 };

static struct {
	const char *socket; /* or NULL, and a port */
	uint16_t port;
	char **paths;
	long n_paths, n;
	double *due;  /* seconds from the start; NULL: at once */
	double *took; /* seconds */
	double start;
	long next; /* atomic */
} g;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noreturn)) static void die(const char *why)
{
	fprintf(stderr, "load: %s\n", why);
	exit(1);
}

static int connection_to_socket(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (strlen(g.socket) >= sizeof(a.sun_path))
		die("a socket's path that is too long");
	strcpy(a.sun_path, g.socket);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)))
		die("can't connect to the socket");
	return fd;
}

static int connection(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(g.port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)))
		die("can't connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static bool send_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno != EINTR)
			return false;
		if (w > 0) {
			p += w;
			n -= (size_t)w;
		}
	}
	return true;
}

static void request(const char *path)
{
	char text[1024], got[65536], start[12];
	int n = snprintf(text, sizeof(text),
			 "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", path);
	int fd = g.socket ? connection_to_socket() : connection();
	size_t have = 0;
	ssize_t r;

	if (n >= (int)sizeof(text))
		die("a path that is too long");
	if (!send_all(fd, text, (size_t)n))
		die("a request can't be sent");
	while ((r = read(fd, got, sizeof(got))) > 0) {
		for (ssize_t i = 0; i < r && have < sizeof(start); i++)
			start[have++] = got[i];
	}
	if (r < 0)
		die("an answer broke off");
	if (have < sizeof(start) || memcmp(start + 8, " 200", 4) != 0) {
		fprintf(stderr, "load: %s: \"%.*s\"\n", path, (int)have, start);
		die("an answer that isn't 200");
	}
	close(fd);
}

static void wait_until(double when)
{
	struct timespec t = { .tv_sec = (time_t)when };

	t.tv_nsec = (long)((when - (double)t.tv_sec) * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void *work(void *arg)
{
	long i;

	while ((i = __atomic_fetch_add(&g.next, 1, __ATOMIC_RELAXED)) < g.n) {
		double from = now();

		if (g.due) {
			from = g.start + g.due[i];
			wait_until(from);
		}
		request(g.paths[i % g.n_paths]);
		g.took[i] = now() - from;
	}
	return arg;
}

/* Times with exponential gaps. */
static void schedule(double rate)
{
	double at = 0;

	srand48(1);
	g.due = calloc((size_t)g.n, sizeof(*g.due));
	if (!g.due)
		die("no memory");
	for (long i = 0; i < g.n; i++) {
		at += -log(1 - drand48()) / rate;
		g.due[i] = at;
	}
}

static int look(char **argv)
{
	double rate = atof(argv[1]);

	g.socket = argv[0];
	g.n = (long)(rate * atof(argv[2]));
	g.start = now();
	for (long i = 0; i < g.n; i++) {
		wait_until(g.start + (double)i / rate);
		request(argv[3]);
	}
	printf("sent %ld\n", g.n);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[CLIENTS_MAX];
	bool open = argc > 1 && strcmp(argv[1], "open") == 0;
	int first = open ? 6 : 5;
	long clients;

	if (argc == 6 && strcmp(argv[1], "look") == 0)
		return look(argv + 2);
	if (argc <= first)
		return 2;
	g.port = (uint16_t)atoi(argv[2]);
	clients = strtol(argv[3], NULL, 10);
	g.paths = argv + first;
	g.n_paths = argc - first;
	g.n = open ? (long)(atof(argv[4]) * atof(argv[5])) : strtol(argv[4], NULL, 10);
	if (clients < 1 || clients > CLIENTS_MAX || g.n < 1)
		return 2;
	g.took = calloc((size_t)g.n, sizeof(*g.took));
	if (!g.took)
		return 1;
	if (open)
		schedule(atof(argv[4]));
	g.start = now();
	for (long i = 0; i < clients; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			die("no thread");
	for (long i = 0; i < clients; i++)
		pthread_join(threads[i], NULL);
	if (!open) {
		printf("rate %.3f\n", (double)g.n / (now() - g.start));
		return 0;
	}
	qsort(g.took, (size_t)g.n, sizeof(double), by_value);
	printf("sent %ld\np50 %.3f\np99 %.3f\nmax %.3f\n", g.n, g.took[g.n / 2] * 1e3,
	       g.took[g.n * 99 / 100] * 1e3, g.took[g.n - 1] * 1e3);
	return 0;
}
