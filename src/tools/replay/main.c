/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - mwrap-replay COMMAND [OPTION…] FILE: reads recordings of malloc, and plays them. For mwrapctl(1). */
#include <string.h>

#include "commands.h"
#include "play.h"

static int pack(int argc, char **argv)
{
	const char *in = NULL, *out = NULL;
	bool quick = false, progress = false;

	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--progress"))
			progress = true;
		else if (!strcmp(argv[i], "--quick"))
			quick = true;
		else if (!strcmp(argv[i], "-o") && i + 1 < argc)
			out = argv[++i];
		else if (!in && *argv[i] != '-')
			in = argv[i];
		else
			return mw_misused();
	}
	return in && out ? mw_pack(in, out, quick, progress) : mw_misused();
}

static int peak(int argc, char **argv)
{
	bool progress = argc && !strcmp(argv[0], "--progress");

	argc -= progress;
	argv += progress;
	for (int i = 0; i < argc; i++)
		if (*argv[i] == '-')
			return mw_misused();
	return argc ? mw_peak(argv, (size_t)argc, progress) : mw_misused();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *in);
	} readers[] = { { "text", mw_text }, { "heaptrack", mw_heaptrack }, { "info", mw_info } };

	if (argc < 2)
		return mw_misused();
	if (!strcmp(argv[1], "pack"))
		return pack(argc - 2, argv + 2);
	if (!strcmp(argv[1], "peak"))
		return peak(argc - 2, argv + 2);
	if (!strcmp(argv[1], "play"))
		return mw_play(argc - 1, argv + 1);
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
		if (!strcmp(argv[1], readers[i].name))
			return argc == 3 ? readers[i].run(argv[2]) : mw_misused();
	return mw_misused();
}
