/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * play.h - mwrap-replay play: a packed recording's calls, made again under whatever allocator serves
 * this process.
 *
 *	play [--pace] [--as-recorded] FILE
 *
 * --pace         sleeps, so that calls come at the recorded times. Else they come at once, and the allocator is only
 *                told that time: play_time.h
 * --as-recorded  asks for as many bytes as the tracker did: with its tails
 *
 * Writes a JSON object a line to stdout:
 *
 *	{"recorded":{"at":S,"heap":B,"rss":B,"live":B}}   each recorded sample, before anything is played
 *	{"progress":0.25}                                 ten times a second at most
 *	{"at":S,"rss":B,"live":B}                         at the time of each recorded sample
 *	{"result":{...}}                                  once, last
 *
 * S is seconds since the recording began. rss is what malloc has in memory, in bytes. live is
 * what the app asked for, without tails. Of more than MW_PLAY_SAMPLES_MOST samples every second, third, … counts. A recording without
 * samples is sampled at MW_PLAY_SAMPLES_MADE moments.
 *
 * The result: peak_rss and mean_rss (bytes, over time), cpu_seconds (in the allocator's functions), events, births, threads,
 * failed (allocations) and malloc (the allocator's name and version).
 */
#pragma once

enum { MW_PLAY_SAMPLES_MOST = 4000, MW_PLAY_SAMPLES_MADE = 200 };

/* argv[0] is "play". Returns the exit status: 1 after a line on stderr, 2 if the words are wrong. */
int mw_play(int argc, char **argv);
