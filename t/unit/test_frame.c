/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames, with zstd and without: what is written is read; a changed bit and a cut are noticed. */
/* uses: src/recording/format/frame.c */

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "unit.h"
#include "../../src/recording/format/frame.h"

enum { LEVEL = 3, HEADER = sizeof(struct mw_trace_frame) };

static const struct mw_codec none;
static uint8_t contents[MW_FRAME_PACKED_MOST], file[MW_FRAME_PACKED_MOST + HEADER],
	room[MW_FRAME_PACKED_MOST];

static struct mw_codec with_zstd(void)
{
	size_t bytes = mw_codec_bytes(LEVEL, true, true);
	void *memory = test_malloc(bytes);
	struct mw_codec c;

	assert_true(bytes > 0);
	memset(memory, 0xa5, bytes);
	mw_codec_open(&c, LEVEL, true, true, memory, bytes);
	assert_non_null(c.compress);
	assert_non_null(c.expand);
	return c;
}

static void done(struct mw_codec *c)
{
	test_free(c->compress); /* the first context is where the memory begins */
}

static void fill(size_t n, bool random)
{
	for (size_t i = 0; i < n; i++)
		contents[i] =
			random ? (uint8_t)(i * UINT64_C(0x9e3779b97f4a7c15) >> 40) : (uint8_t)(i / 64);
	for (size_t i = 0; random && i < n; i++)
		contents[i] ^= (uint8_t)rand();
}

static size_t write_one(const struct mw_codec *c, size_t n)
{
	struct mw_trace_frame f = {
		.type = MW_FRAME_EVENTS, .stream = 3, .sequence = 4, .events = 5, .lost = 6, .ticks = 7
	};
	size_t whole = mw_frame_write(c, &f, contents, n, file);

	assert_true(f.stored <= n);
	assert_int_equal(f.raw, n);
	assert_int_equal(whole, HEADER + f.stored);
	return whole;
}

static void read_one(const struct mw_codec *c, size_t whole, size_t n)
{
	struct mw_trace_frame f;
	const uint8_t *got;
	size_t next;

	memset(room, 0, n);
	assert_int_equal(mw_frame_read(c, file, whole, &f, &got, room, &next), MW_FRAME_OK);
	assert_int_equal(next, whole);
	assert_int_equal(f.raw, n);
	assert_memory_equal(got, contents, n);
	assert_int_equal(f.type, MW_FRAME_EVENTS);
	assert_int_equal(f.stream * 10000 + f.sequence * 1000 + f.events * 100 + f.lost * 10 + f.ticks,
			 34567);
}

TEST(test_lengths)
{
	const size_t lengths[] = { 0, 1, 2, 100, 5000, MW_FRAME_MOST };
	struct mw_codec zstd = with_zstd();

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		for (int random = 0; random < 2; random++) {
			fill(lengths[i], random);
			assert_int_equal(write_one(&none, lengths[i]), HEADER + lengths[i]);
			read_one(&none, HEADER + lengths[i], lengths[i]);
			read_one(&zstd, write_one(&zstd, lengths[i]), lengths[i]);
		}
	done(&zstd);
}

/* A packed frame may be longer than another one; none is longer than that. */
TEST(test_the_longest)
{
	struct mw_trace_frame f, long_one = { .type = MW_FRAME_PACKED };
	const uint8_t *got;
	size_t n = mw_frame_write(&none, &long_one, contents, MW_FRAME_PACKED_MOST, file), next;

	assert_int_equal(mw_frame_read(&none, file, n, &f, &got, room, &next), MW_FRAME_OK);
	assert_int_equal(next, HEADER + MW_FRAME_PACKED_MOST);
	long_one.type = MW_FRAME_EVENTS;
	n = mw_frame_write(&none, &long_one, contents, MW_FRAME_MOST + 1, file);
	assert_int_equal(mw_frame_read(&none, file, n, &f, &got, room, &next), MW_FRAME_BROKEN);
	((struct mw_trace_frame *)(void *)file)->type = MW_FRAME_PACKED;
	((struct mw_trace_frame *)(void *)file)->raw = MW_FRAME_PACKED_MOST + 1;
	assert_int_equal(mw_frame_read(&none, file, n, &f, &got, room, &next), MW_FRAME_BROKEN);
}

TEST(test_compressed_if_that_is_shorter)
{
	struct mw_codec zstd = with_zstd();

	fill(5000, false);
	assert_true(write_one(&zstd, 5000) < HEADER + 500);
	fill(5000, true);
	assert_int_equal(write_one(&zstd, 5000), HEADER + 5000);
	done(&zstd);
}

TEST(test_without_zstd)
{
	struct mw_codec zstd = with_zstd(), small;
	struct mw_trace_frame f;
	const uint8_t *got;
	size_t whole, next;
	uint64_t memory[64];

	fill(5000, false);
	whole = write_one(&zstd, 5000);
	assert_int_equal(mw_frame_read(&none, file, whole, &f, &got, room, &next), MW_FRAME_NO_ZSTD);
	assert_int_equal(next, whole);
	/* too little memory is as no library */
	mw_codec_open(&small, LEVEL, true, true, memory, sizeof(memory));
	assert_null(small.compress);
	assert_null(small.expand);
	mw_codec_open(&small, LEVEL, true, true, NULL, 0);
	assert_null(small.zstd);
	assert_int_equal(write_one(&small, 5000), HEADER + 5000);
	done(&zstd);
}

TEST(test_checked_without_room)
{
	struct mw_codec zstd = with_zstd();
	struct mw_trace_frame f;
	const uint8_t *got;
	size_t whole, next;

	fill(5000, false);
	whole = write_one(&zstd, 5000);
	assert_int_equal(mw_frame_read(&zstd, file, whole, &f, &got, NULL, &next), MW_FRAME_OK);
	assert_null(got);
	file[whole - 1] ^= 1;
	assert_int_equal(mw_frame_read(&zstd, file, whole, &f, &got, NULL, &next), MW_FRAME_BROKEN);
	done(&zstd);
}

TEST(test_each_cut_and_each_bit)
{
	struct mw_codec zstd = with_zstd();
	struct mw_trace_frame f;
	const uint8_t *got;
	size_t next;

	fill(600, false);
	for (int compressed = 0; compressed < 2; compressed++) {
		size_t whole = write_one(compressed ? &zstd : &none, 600);

		for (size_t i = 0; i < whole; i++) {
			uint8_t *cut = test_malloc(i + 1);

			memcpy(cut, file, i);
			assert_int_equal(mw_frame_read(&zstd, cut, i, &f, &got, room, &next), MW_FRAME_CUT);
			test_free(cut);
		}
		for (size_t i = 0; i < whole * 8; i++) {
			file[i / 8] ^= (uint8_t)(1 << i % 8);
			assert_int_not_equal(mw_frame_read(&zstd, file, whole, &f, &got, room, &next),
					     MW_FRAME_OK);
			file[i / 8] ^= (uint8_t)(1 << i % 8);
		}
		read_one(&zstd, whole, 600);
	}
	done(&zstd);
}

/* A header may promise more or less than a right zstd frame has. */
TEST(test_contents_of_another_length)
{
	struct mw_codec zstd = with_zstd();
	struct mw_trace_frame f = { .type = MW_FRAME_EVENTS };
	const uint8_t *got;
	size_t whole, next;

	fill(5000, false);
	whole = write_one(&zstd, 5000);
	memcpy(contents, file + HEADER, whole - HEADER);
	/* as it is, not compressed again: and then told to be so */
	for (uint32_t raw = 4999; raw <= 5001; raw++) {
		uint8_t *small = test_malloc(raw);
		size_t n = mw_frame_write(&none, &f, contents, whole - HEADER, file);

		f.flags = MW_FRAME_ZSTD;
		f.raw = raw;
		f.check = XXH3_64bits_withSeed(contents, whole - HEADER, XXH3_64bits(&f, HEADER - 8));
		memcpy(file, &f, HEADER);
		assert_int_equal(mw_frame_read(&zstd, file, n, &f, &got, small, &next),
				 raw == 5000 ? MW_FRAME_OK : MW_FRAME_BROKEN);
		test_free(small);
		f = (struct mw_trace_frame){ .type = MW_FRAME_EVENTS };
	}
	done(&zstd);
}
