/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_mhd default|early|late [SOCKET] - an application that uses libmicrohttpd itself, and wrongly:
 * its handler suspends a connection of a daemon that can't, at which the library panics.
 *
 * It sets no panic handler, or one that says what it was called with and ends the process,
 * before anything else or, once something listens on SOCKET, at last.
 */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static char word[] = "its own word";

static void panic(void *cls, const char *file, unsigned line, const char *why)
{
	(void)line;
	printf("panic: %s, %s, %s\n", (char *)cls, strrchr(file, '/') ? strrchr(file, '/') + 1 : file,
	       why ? "a reason" : "none");
	fflush(stdout);
	_exit(7);
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *c, const char *url, const char *method,
			      const char *version, const char *data, size_t *n, void **ctx)
{
	(void)cls, (void)url, (void)method, (void)version, (void)data, (void)n, (void)ctx;
	puts("asked");
	fflush(stdout);
	MHD_suspend_connection(c);
	puts("NOT OK: no panic");
	return MHD_NO;
}

static void wait_for_server(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	const struct timespec ms = { .tv_nsec = 1000000 };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(un.sun_path, path, sizeof(un.sun_path) - 1);
	while (connect(fd, (struct sockaddr *)&un, sizeof(un)))
		nanosleep(&ms, NULL);
	close(fd);
}

int main(int argc, char **argv)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct MHD_Daemon *d;
	char c;
	int fd;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "early"))
		MHD_set_panic_func(panic, word);
	if (argc > 2)
		wait_for_server(argv[2]);
	if (!strcmp(argv[1], "late"))
		MHD_set_panic_func(panic, word);
	d = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, handle, NULL,
			     MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&in, MHD_OPTION_END);
	if (!d)
		return 3;
	in.sin_port = htons(MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fd, (struct sockaddr *)&in, sizeof(in)) ||
	    write(fd, "GET / HTTP/1.0\r\n\r\n", 18) != 18)
		return 4;
	(void)!read(fd, &c, 1);
	puts("NOT OK: it goes on");
	return 0;
}
