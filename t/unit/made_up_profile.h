/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_up_profile.h - profiles that a test fills, and what it reads back from their JSON. */
#pragma once

#include "fake_api.h"
#include "../../src/shared/report/profile.h"

static struct mw_profile made;
static uint64_t made_random = 88172645463325252u;

static inline uint64_t any_number(void)
{
	made_random ^= made_random << 13;
	made_random ^= made_random >> 7;
	made_random ^= made_random << 17;
	return made_random * 2685821657736338717u;
}

static inline uint64_t below(uint64_t n)
{
	return (any_number() >> 11) % n;
}

/* Of the rows that there are. */
static inline void made_begin(void)
{
	made = (struct mw_profile){
		.snapshot = fake_snapshot(), .rate = 524288, .start = 1700000000, .now = 1700000012.25
	};
}

static inline void made_end(void)
{
	mw_profile_free(&made, &fake_api);
	assert_null(made.frames);
	assert_null(made.stacks);
	assert_null(made.memory);
	assert_int_equal(fake_out, 0);
}

static inline uint32_t made_frame_at(enum mw_kind kind, const char *name, const char *file,
				     uint32_t line, uint64_t address)
{
	made.frames = realloc(made.frames, (made.n_frames + 1) * sizeof(*made.frames));
	made.frames[made.n_frames] = (struct mw_profile_frame){ name, file, line, address, kind };
	return (uint32_t)made.n_frames++;
}

static inline uint32_t made_frame(const char *name)
{
	return made_frame_at(MW_KIND_RUBY, name, "/srv/app/a.rb", 1, 0);
}

static inline const uint32_t *made_list(const uint32_t *frames, uint32_t depth)
{
	uint32_t *copy = mw_profile_keep(&made, depth * sizeof(*copy));

	memcpy(copy, frames, depth * sizeof(*copy));
	return copy;
}

/* A stack of row 0 with that many bytes, live and in total; its last frame is the outermost. */
static inline struct mw_profile_stack *made_stack(uint64_t bytes, uint32_t depth, const uint32_t *frames)
{
	if (!(made.n_stacks & (made.n_stacks - 1)))
		made.stacks = realloc(made.stacks, (made.n_stacks * 2 + 1) * sizeof(*made.stacks));
	made.stacks[made.n_stacks] = (struct mw_profile_stack){
		.frames = made_list(frames, depth),
		.depth = depth,
		.bytes = { bytes, bytes },
		.blocks = { 1, 1 },
		.samples = { 1, 2 },
		.growth = (int64_t)bytes,
	};
	return &made.stacks[made.n_stacks++];
}
#define MADE_STACK(bytes, ...)                                                    \
	made_stack(bytes, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
		   (const uint32_t[]){ __VA_ARGS__ })

/* The samples of one stack of a row; its frame is 0. */
static inline struct mw_profile_sampled made_sample(uint32_t row, double live, double total)
{
	static const uint32_t frame = 0;

	return (struct mw_profile_sampled){
		.frames = &frame,
		.depth = 1,
		.row = row,
		.bytes = { live, total },
		.blocks = { live / 100, total / 100 },
		.samples = { live > 0, 1 },
	};
}

/* The buffer as a string; it stays the buffer's. */
static inline char *text_of(struct mw_buf *b)
{
	mw_buf_add(b, "", 1);
	assert_false(b->failed);
	b->n--;
	return b->p;
}
