/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lives.c - plays made-up lives, and prints how right the verdicts about them are.
 *
 *	lives [-n LIVES] [-s SEED] [-l LIFE] [-p PART] [-w WORST] [-t] [-m] [-o] [-e] [-q SECONDS] [-f | -a]
 *
 * -l: one life alone, sentence by sentence. -p: only lives that have the part. -w: how many of the worst are
 * printed. -t: the totals alone, a name and a number each line. -m: the kind that is by the kind that is said.
 * -q: a page is open, which asks each so many seconds, so that each change of kind is counted.
 * -o: with samples of Ruby's objects. -e: each wrong sentence, a line each. -f, -a: in the verdict's place one that
 * always says that nothing grows, or always accuses the largest line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "objects.h"
#include "table.h"

static struct play play;

struct asked {
	uint64_t n, seed, life;
	const char *part;
	size_t worst;
	bool one, totals, matrix, each;
};

static int usage(void)
{
	fprintf(stderr,
		"usage: lives [-n LIVES] [-s SEED] [-l LIFE] [-p PART] [-w WORST] [-t] [-m] [-o] [-e] [-q SECONDS] [-f | -a]\n");
	return 2;
}

static int read_options(struct asked *a, int argc, char **argv)
{
	int c;

	*a = (struct asked){ .n = 500, .seed = 1, .worst = 12 };
	while ((c = getopt(argc, argv, "n:s:l:p:w:q:tmoefa")) != -1)
		switch (c) {
		case 'n':
			a->n = strtoull(optarg, NULL, 10);
			break;
		case 's':
			a->seed = strtoull(optarg, NULL, 10);
			break;
		case 'l':
			a->life = strtoull(optarg, NULL, 10);
			a->one = true;
			break;
		case 'p':
			a->part = optarg;
			break;
		case 'w':
			a->worst = strtoull(optarg, NULL, 10);
			break;
		case 'q':
			play_every = strtod(optarg, NULL);
			break;
		case 't':
			a->totals = true;
			break;
		case 'm':
			a->matrix = true;
			break;
		case 'o':
			objects_on = true;
			break;
		case 'e':
			a->each = true;
			break;
		case 'f':
			play_stub = ALWAYS_FLAT;
			break;
		case 'a':
			play_stub = ALWAYS_LARGEST;
			break;
		default:
			return usage();
		}
	return optind < argc ? usage() : 0;
}

static void play_all(const struct asked *a)
{
	for (uint64_t i = 0; i < a->n; i++) {
		play_life(&play, a->seed, i, a->part);
		table_add(&play);
		matrix_add(&play);
		if (a->each)
			table_print_wrong(&play);
		play_free(&play);
	}
}

int main(int argc, char **argv)
{
	struct asked a;
	int rc = read_options(&a, argc, argv);

	if (rc)
		return rc;
	if (a.part && !life_has_kind(a.part)) {
		fprintf(stderr, "lives: no part is called %s\n", a.part);
		return 2;
	}
	if (a.one) {
		play_life(&play, a.seed, a.life, a.part);
		table_show(&play);
		play_free(&play);
		return 0;
	}
	printf("# seed %llu\n", (unsigned long long)a.seed);
	play_all(&a);
	if (a.totals)
		table_print_totals();
	else if (!a.matrix)
		table_print(a.worst);
	if (a.matrix)
		matrix_print();
	objects_print();
	printf("# %.1f s of CPU\n", (double)clock() / CLOCKS_PER_SEC);
	return 0;
}
