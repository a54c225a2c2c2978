/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.c BLOCKS - memory that many live blocks take.
 *
 * Sizes from 16 to 1023 bytes, as many from 16 to 31 as from 32 to 63, from 64 to
 * 127 and so on: 250 bytes on average. Every byte is written. Writes "rss N", the
 * peak of the resident set in kB, to the file that BENCH_OUT names.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

int main(int argc, char **argv)
{
	const char *path = getenv("BENCH_OUT");
	long n = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
	uint32_t seed = 1;
	struct rusage u;
	FILE *out;

	if (n < 1)
		return 2;
	for (long i = 0; i < n; i++) {
		size_t size;
		void *p;

		seed = seed * 1664525u + 1013904223u;
		size = (size_t)16 << (seed >> 16) % 6;
		size += (seed >> 20) % size;
		p = malloc(size);
		if (!p)
			return 1;
		memset(p, 1, size);
	}
	getrusage(RUSAGE_SELF, &u);
	out = path ? fopen(path, "w") : stdout;
	if (!out)
		return 1;
	fprintf(out, "rss %ld\n", u.ru_maxrss);
	return fclose(out) ? 1 : 0;
}
