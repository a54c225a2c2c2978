/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reload.c A.so B.so [MODE] - two libraries, loaded in turn at the same addresses.
 *
 * The counts of code at an address belong to the library that was there, under the
 * name that it had. A's blocks live on when B is in its place.
 *
 *   (none)    each is closed
 *   stays     but for the last
 *   twice     each is opened twice and closed once, then closed
 *   threads   by two threads, while two others read the table
 */
#include <link.h>

#include "../lib/site.h"

#define ROUNDS 20
static void *block[2 * ROUNDS][3];
static bool stays, twice;

static void *open_library(const char *path)
{
	void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!h) {
		say("NOT OK %s\n", dlerror());
		exit(1);
	}
	return h;
}

static void *(*maker(void *h))(size_t)
{
	void *(*const *make)(size_t) = NULL;

	*(const void **)&make = dlsym(h, "swap_maker");
	return *make;
}

static uintptr_t use(const char *path, size_t k)
{
	void *h = open_library(path);
	void *(*make)(size_t) = maker(h);
	struct link_map *map;
	uintptr_t base;

	dlinfo(h, RTLD_DI_LINKMAP, &map);
	base = map->l_addr;
	block[k][0] = make(100 + k % 2);
	if (twice && open_library(path) == h)
		dlclose(h);
	block[k][1] = make(200 + k % 2);
	block[k][2] = make(300 + k % 2);
	if (!stays || k < 2 * ROUNDS - 1)
		dlclose(h);
	return base;
}

/* --- threads ----------------------------------------------------------------------- */

#define TURNS 300
static _Atomic int busy;
static _Atomic int wrong, named;

static void *take_turns(void *path)
{
	size_t i;

	for (i = 0; i < TURNS; i++) {
		void *h = open_library(path);

		free(maker(h)(500));
		dlclose(h);
	}
	busy--;
	return NULL;
}

/* Is a name the other library's? */
static void look(const struct mw_api *api)
{
	struct mw_snapshot *s = api->snapshot();
	size_t i;

	for (i = 0; s && i < s->n; i++) {
		const char *at = s->rows[i].location;
		bool a = strstr(at, "/swap_a.so(") != NULL, b = strstr(at, "/swap_b.so(") != NULL;

		wrong += (a && strstr(at, "(bravo")) || (b && strstr(at, "(alpha"));
		named += (a && strstr(at, "(alpha+")) || (b && strstr(at, "(bravo+"));
	}
	if (s)
		api->snapshot_free(s);
}

static void *read_on(void *api)
{
	while (busy)
		look(api);
	return NULL;
}

static void in_threads(char **path)
{
	const struct mw_api *api = tracker();
	pthread_t t[4];
	int i;

	busy = 2;
	for (i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, take_turns, path[i]);
	for (i = 2; api && i < 4; i++)
		pthread_create(&t[i], NULL, read_on, (void *)(uintptr_t)api);
	for (i = 0; i < (api ? 4 : 2); i++)
		pthread_join(t[i], NULL);
	if (api)
		look(api);
	check(wrong == 0, "no name of the other's");
	check(!api || named > 0, "and names of their own");
	say("module swap_a.so %d %d %d\n", 2 * TURNS, 2 * TURNS, (500 + 77) * TURNS);
	say("module swap_b.so %d %d %d\n", 2 * TURNS, 2 * TURNS, (500 + 77) * TURNS);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 3 ? argv[3] : "";
	size_t k, same = 0;
	uintptr_t last = 0, base;
	int ends;

	if (argc < 3)
		return 2;
	if (!strcmp(mode, "threads")) {
		in_threads(argv + 1);
		return 0;
	}
	stays = !strcmp(mode, "stays");
	twice = !strcmp(mode, "twice");
	for (k = 0; k < 2 * ROUNDS; k++) {
		base = use(argv[1 + k % 2], k);
		same += base == last;
		last = base;
	}
	for (k = 0; k < 2 * ROUNDS; k++)
		free(block[k][1]);
	check(same > ROUNDS, "they were in the same place");
	for (k = 0; k < 2; k++) {
		ends = ROUNDS; /* also the last one's, at the exit */
		say("module swap_%c.so %d %d %d\n", "ab"[k], 3 * ROUNDS + ends, ROUNDS + ends,
		    (int)(600 + 3 * k) * ROUNDS + 77 * ends);
	}
	return 0;
}
