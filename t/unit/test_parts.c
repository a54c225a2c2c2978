/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RSS's parts: what mappings are for, by texts of /proc/self/smaps; when it is read. */
/* uses: @server */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "../../src/server/history/parts.h"
#include "../../src/shared/sys/thread_pointer.h"

#define KB UINT64_C(1024)
#define MB (KB * 1024)

/* --- texts: a line for each mapping, made longer as the kernel writes it ------------- */

/* "FROM-TO PERM RSS ANONYMOUS NAME", addresses in hex, sizes in kB. Behind PERM an n: no huge pages; a g: guards, too */
static char *smaps(const char *const *lines)
{
	static char text[65536];
	char *to = text;

	*to = '\0';
	for (; *lines; lines++) {
		char range[64], perm[8], name[3000] = "";
		unsigned rss, anonymous;

		assert_true(sscanf(*lines, "%63s %7s %u %u %2999[^\n]", range, perm, &rss, &anonymous,
				   name) >= 4);
		to += sprintf(
			to,
			"%s %.4s 00000000 00:00 0 %s%s\n"
			"Size:               1234 kB\nKernelPageSize:        4 kB\nMMUPageSize:           4 kB\n"
			"Rss:            %8u kB\nPss:                   7 kB\nPss_Dirty:             7 kB\n"
			"Private_Dirty:         7 kB\nReferenced:            7 kB\nAnonymous:      %8u kB\n"
			"AnonHugePages:         0 kB\nSwap:                  3 kB\nVmFlags: rd wr mr mw me ac%s\n",
			range, perm, *name ? "                         " : "", name, rss, anonymous,
			perm[4] == 'n' ? " nh" :
			perm[4] == 'g' ? " gu nh" :
					 "");
	}
	return text;
}

struct text {
	const char *p;
	size_t n, step;
	bool fails;
};

static long next_piece(void *ctx, char *to, size_t n)
{
	struct text *t = ctx;

	if (n > t->step)
		n = t->step;
	if (n > t->n)
		n = t->n;
	if (!n && t->fails)
		return -1;
	memcpy(to, t->p, n);
	t->p += n;
	t->n -= n;
	return (long)n;
}

static struct mw_smaps m;

static void reads(const char *const *lines, const struct mw_places *places)
{
	static const size_t steps[] = { 4096, 1, 7, 100 };
	struct mw_smaps first = { 0 };

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		char *s = smaps(lines);
		struct text t = { s, strlen(s), steps[i], false };

		assert_true(mw_smaps_read(&m, next_piece, &t, places));
		if (i)
			assert_memory_equal(&m, &first, sizeof(m)); /* wherever a piece ends */
		first = m;
	}
}

static struct mw_live large[8];
static struct mw_places places;

static void setup(void)
{
	memset(&places, 0, sizeof(places));
	places.arenas = true;
	places.v = large;
}

static void block(uintptr_t addr, uint64_t size)
{
	large[places.n++] = (struct mw_live){ .addr = addr, .size = size };
}

EACH(setup, NULL);

TEST(plain)
{
	static const char *const lines[] = {
		"5566cafe0000-5566cafe1000 r-xp 4 0 /usr/bin/app",
		"5566cafe1000-5566cafe2000 rw-p 8 4 /usr/bin/app", /* .data: 4 kB are a private copy */
		"5566cafe2000-5566caff0000 rw-p 16 16", /* .bss */
		"5566cb000000-5566cb100000 rw-p 1000 1000 [heap]",
		"7f1000000000-7f1000400000 rw-p 300 300",
		"7f1000500000-7f1000600000 rw-s 64 0 /dev/zero (deleted)",
		"7f1000600000-7f1000700000 rw-p 12 12 [anon:Ruby:something]",
		"7f1000700000-7f1000800000 rw-s 11 0 [anon_shmem:x]",
		"7ffc00000000-7ffc00021000 rw-p 132 132 [stack]",
		"7ffc00030000-7ffc00032000 r-xp 4 0 [vdso]",
		NULL
	};

	reads(lines, &places);
	assert_int_equal(m.files, (4 + 4 + 64 + 11 + 4) * KB);
	assert_int_equal(m.arenas, 1000 * KB);
	assert_int_equal(m.stacks, 132 * KB);
	assert_int_equal(m.anon, (4 + 16 + 300 + 12) * KB);
	assert_int_equal(m.large + m.outside + m.outside_n, 0);
}

TEST(arenas_by_their_shape)
{
	static const char *const lines[] = {
		/* a part of 64 MiB in use, the rest without access */
		"7f5000000000-7f5000521000 rw-p 5000 5000", "7f5000521000-7f5004000000 ---p 0 0",
		/* any mapping of that size */
		"7f5008000000-7f500c000000 rw-p 60000 60000",
		/* joined to memory below it: 4 of 16 MiB are an arena's */
		"7f5013400000-7f5014400000 rw-p 16000 16000", "7f5014400000-7f5018000000 ---p 0 0",
		/* not at a multiple of 64 MiB, though of its size */
		"7f5020001000-7f5024001000 rw-p 100 100",
		/* a guard that ends there is no arena's end: it would have begun before this mapping */
		"7f502fff0000-7f502ffff000 rw-p 40 40", "7f502ffff000-7f5030000000 ---p 0 0", NULL
	};

	reads(lines, NULL);
	assert_int_equal(m.arenas, (5000 + 4000) * KB);
	assert_int_equal(m.anon, (60000 + 12000 + 100 + 40) * KB);
	assert_int_equal(m.stacks, 0);
}

TEST(arenas_by_the_blocks_in_them)
{
	static const char *const lines[] = { /* a full arena, joined to 64 MiB of mmap above it */
					     "7f5008000000-7f5010000000 rw-p 100000 100000",
					     "7f5020000000-7f5020100000 rw-p 1000 1000", NULL
	};

	places.windows[0] = 0x7f5008000000;
	places.windows_n = 1;
	reads(lines, &places);
	assert_int_equal(m.arenas, 50000 * KB);
	assert_int_equal(m.anon, 51000 * KB);
}

TEST(stacks_have_a_guard)
{
	static const char *const lines[] = {
		"7f6000000000-7f6000001000 ---p 0 0", "7f6000001000-7f6000801000 rw-p 90 90",
		"7f6000801000-7f6000802000 ---p 0 0",
		"7f6000802000-7f6001002000 rw-p 80 80", /* right above */
		"7f6002000000-7f6002020000 ---p 0 0",
		"7f6002020000-7f6002820000 rw-p 70 70", /* 128 KiB: no guard */
		"7f6003000000-7f6003001000 ---p 0 0", "7f6003002000-7f6003802000 rw-p 60 60", /* a gap */
		"7f6004000000-7f6004001000 ---p 0 0", "7f6004001000-7f6018001000 rw-p 50 50", /* too large */
		"7f6019000000-7f6019001000 r--p 0 0", "7f6019001000-7f6019801000 rw-p 40 40", /* readable */
		/* the last of an arena is no guard for what follows */
		"7f6024000000-7f6027fff000 rw-p 500 500", "7f6027fff000-7f6028000000 ---p 0 0",
		"7f6028000000-7f6028100000 rw-p 30 30", NULL
	};

	reads(lines, &places);
	assert_int_equal(m.stacks, 170 * KB);
	assert_int_equal(m.arenas, 500 * KB);
	assert_int_equal(m.anon, (70 + 60 + 50 + 40 + 30) * KB);
}

/* What was mapped for stacks, as the kernel says. Neighbours of one kind are one mapping. */
TEST(stacks_without_a_guard)
{
	static const char *const lines[] = {
		"7f6000000000-7f6000801000 rw-pn 90 90",     "7f6000801000-7f6000901000 rw-p 12 12",
		"7f6000901000-7f6010901000 rw-pn 80 80", /* 32 stacks */
		"7f7000000000-7f7000200000 rw-pn 1024 1024", /* a block */
		"7f8000000000-7f8000801000 r--pn 40 40",     NULL
	};

	block(0x7f7000000010, 1020 * KB);
	reads(lines, &places);
	assert_int_equal(m.stacks, 170 * KB);
	assert_int_equal(m.anon, (12 + 1024 + 40) * KB);
}

/* jemalloc's memory may be flagged as that for stacks is. */
TEST(stacks_beside_another_allocator)
{
	static const char *const lines[] = { "7f6000000000-7f6000801000 rw-pn 90 90",
					     "7f6000901000-7f6010901000 rw-pg 80 80", NULL };

	places.arenas = false;
	reads(lines, &places);
	assert_int_equal(m.stacks, 80 * KB);
	assert_int_equal(m.anon, 90 * KB);
}

TEST(large_blocks_have_their_own_mapping)
{
	static const char *const lines[] = {
		"556600000000-556600100000 rw-p 1000 1000 [heap]",
		"7f5000000000-7f5000521000 rw-p 5000 5000",
		"7f5000521000-7f5004000000 ---p 0 0",
		"7f7000000000-7f7000100000 rw-p 1024 1024", /* one block, and nothing else */
		"7f7000200000-7f7006600000 rw-p 100 100", /* a block of 100 MB, nearly untouched */
		"7f7008000000-7f7008100000 rw-p 700 700", /* a block, and other memory beside it */
		NULL
	};

	block(0x556600001010, 200 * KB); /* in [heap]: the threshold may have gone up */
	block(0x7f5000100010, 300 * KB); /* in an arena */
	block(0x7f7000000010, 1020 * KB);
	block(0x7f7000200010, 100 * MB);
	block(0x7f7008000010, 200 * KB);
	reads(lines, &places);
	assert_int_equal(m.arenas, 6000 * KB);
	assert_int_equal(m.anon, (1024 + 100 + 700) * KB);
	assert_int_equal(m.large, (1020 + 100 + 200) * KB);
	assert_int_equal(m.outside, 100 * MB + 1220 * KB);
	assert_int_equal(m.outside_n, 3);
}

TEST(a_long_name)
{
	char line[3000];
	const char *const lines[] = { line, "7f7000000000-7f7000100000 rw-p 10 10", NULL };

	memset(line, 'x', sizeof(line));
	memcpy(line, "5566cafe0000-5566cafe1000 r-xp 4 0 /", 36);
	line[2999] = '\0';
	reads(lines, NULL);
	assert_int_equal(m.files, 4 * KB);
	assert_int_equal(m.anon, 10 * KB);
}

TEST(what_is_no_smaps)
{
	static const char *const texts[] = {
		"", "\n\n", "hello\n", "1-0 rw-p 0 0 0\n", "12-z rw-p\n", "ff-fff\n"
	};
	static const char *const one[] = { "7f7000000000-7f7000100000 rw-p 10 10", NULL };
	struct text t;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		t = (struct text){ texts[i], strlen(texts[i]), 4096, false };
		assert_false(mw_smaps_read(&m, next_piece, &t, NULL));
	}
	t = (struct text){ smaps(one), strlen(smaps(one)), 4096, true };
	assert_false(mw_smaps_read(&m, next_piece, &t, NULL));
}

/* Random texts of the right kind, cut anywhere, and with bytes changed: no more than no answer. */
TEST(anything)
{
	static const char *const lines[] = { "7f5000000000-7f5000521000 rw-p 5000 5000",
					     "7f5000521000-7f5004000000 ---p 0 0",
					     "5566cb000000-5566cb100000 rw-p 1000 1000 [heap]", NULL };
	unsigned seed = 4711;

	block(0x7f5000100010, 300 * KB);
	places.windows[places.windows_n++] = 0x7f5000000000;
	for (int i = 0; i < 2000; i++) {
		char *s = smaps(lines);
		size_t n = strlen(s);
		struct text t;

		for (int k = 0; k < 4; k++)
			s[rand_r(&seed) % n] = (char)(rand_r(&seed) % 256);
		t = (struct text){ s, rand_r(&seed) % n, 1 + rand_r(&seed) % 500, false };
		(void)mw_smaps_read(&m, next_piece, &t, &places);
	}
}

static bool in_file(const char *name, uint64_t *kb)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	bool found = false;

	while (!found && fgets(line, sizeof(line), f))
		found = !strncmp(line, name, strlen(name)) && sscanf(line + strlen(name), "%lu", kb) == 1;
	fclose(f);
	return found;
}

/* This very process: the parts of smaps are its RSS, and statm agrees. */
TEST(this_process)
{
	uint64_t rss_kb, sum, step = 48 * MB;
	char *p = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC),
	    statm = open("/proc/self/statm", O_RDONLY);
	struct mw_rss rss;
	struct mw_smaps before;

	assert_true(p != MAP_FAILED);
	assert_true(mw_smaps_read_fd(&before, fd, NULL));
	memset(p, 1, step);
	assert_true(mw_smaps_read_fd(&m, fd, NULL));
	/* AddressSanitizer reads an eighth as much beside it; some kernels make pages of their own of that */
	assert_true(m.anon - before.anon >= step && m.anon - before.anon < step + step / 8 + 2 * MB);
	assert_true(mw_rss_read(statm, &rss));
	assert_true(in_file("VmRSS:", &rss_kb));
	sum = m.files + m.arenas + m.stacks + m.anon;
	assert_true(sum + 4 * MB > rss_kb * KB && sum < rss_kb * KB + 4 * MB);
	assert_true(rss.bytes + 4 * MB > sum && rss.bytes < sum + 4 * MB);
	assert_true(rss.files + 4 * MB > m.files && rss.files < m.files + 4 * MB);
	munmap(p, step);
	close(fd);
	close(statm);
}

struct stack {
	pthread_barrier_t both;
	uintptr_t pointer;
};

static void *on_stack(void *arg)
{
	struct stack *s = arg;

	s->pointer = mw_thread_pointer();
	pthread_barrier_wait(&s->both);
	pthread_barrier_wait(&s->both);
	return NULL;
}

/* A thread's stack above a guard, joined to memory of the app's. Only the thread's pointer tells them apart. */
TEST(an_apps_mapping_above_a_stack)
{
	const size_t guard = 64 * KB, stack = 512 * KB, app = 24 * MB;
	char *p = mmap(NULL, guard + stack + app, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
	struct mw_smaps unknown;
	struct stack s;
	pthread_attr_t attr;
	pthread_t thread;

	assert_true(p != MAP_FAILED && fd >= 0);
	assert_int_equal(mprotect(p, guard, PROT_NONE), 0);
	/* many small pages, as the whole is less certain: a huge one would hold the stack, too */
	assert_int_equal(madvise(p, guard + stack + app, MADV_NOHUGEPAGE), 0);
	memset(p + guard + stack, 1, app);
	pthread_barrier_init(&s.both, NULL, 2);
	pthread_attr_init(&attr);
	assert_int_equal(pthread_attr_setstack(&attr, p + guard, stack), 0);
	assert_int_equal(pthread_create(&thread, &attr, on_stack, &s), 0);
	pthread_barrier_wait(&s.both);
	places.arenas = false; /* else memory without huge pages is for stacks */
	assert_true(mw_smaps_read_fd(&unknown, fd, &places));
	places.threads[places.threads_n++] = s.pointer;
	assert_true(mw_smaps_read_fd(&m, fd, &places));
	assert_true(unknown.stacks >= app);
	assert_true(m.stacks < app / 2);
	assert_true(m.anon > unknown.anon + app - stack && m.anon < unknown.anon + app + stack);
	pthread_barrier_wait(&s.both);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&s.both);
	munmap(p, guard + stack + app);
	close(fd);
}

/* --- when it is read ------------------------------------------------------------------- */

static unsigned readings;

static struct mw_places *get_places(uint64_t least)
{
	struct mw_places *p = calloc(1, sizeof(*p));

	assert_true(least <= 128 * KB);
	p->arenas = places.arenas;
	readings++;
	return p;
}

static void free_places(struct mw_places *p)
{
	free(p);
}

static const struct mw_api api = { .places = get_places, .places_free = free_places };

static uint32_t second_of(struct mw_parts *parts, int fd, uint32_t t, uint32_t rss)
{
	struct mw_stats stats = { 0 };
	struct mw_point p = { .t = t, .rss = rss };

	mw_parts_second(parts, &api, &stats, fd, &p);
	return p.free;
}

TEST(it_is_read_if_rss_changed)
{
	struct mw_parts parts = { 0 };
	int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
	uint32_t next;

	readings = 0;
	assert_int_equal(second_of(&parts, -1, 1, 1000000), MW_KIB_UNKNOWN);
	assert_int_not_equal(second_of(&parts, fd, 2, 1000000), MW_KIB_UNKNOWN);
	assert_int_equal(readings, 1);
	parts.next = 12; /* as if the reading had cost little, also on a slow machine */
	for (uint32_t t = 3; t < 12; t++)
		assert_int_not_equal(second_of(&parts, fd, t, 2000000), MW_KIB_UNKNOWN);
	assert_int_equal(readings, 1); /* too early */
	second_of(&parts, fd, 12, 1009000);
	assert_int_equal(readings, 1); /* 9 MB of 1 GB: no change */
	second_of(&parts, fd, 13, 1012000);
	assert_int_equal(readings, 2);
	parts.next = 23;
	second_of(&parts, fd, 72, 1012001);
	assert_int_equal(readings, 2);
	second_of(&parts, fd, 73, 1012001);
	assert_int_equal(readings, 3); /* after a minute in any case */
	/* it costs no more than its share */
	next = parts.next;
	assert_true(next >= 83 && (uint64_t)(next - 73) >= parts.cost * MW_PARTS_SHARE / 1000000000);
	close(fd);
}

TEST(parts_of_a_process)
{
	struct mw_parts parts = { 0 };
	struct mw_stats stats = { .live_bytes = 0, .tracker_bytes = 0 };
	struct mw_point p = { .t = 5, .rss = 5000 }, q = p;
	char *text = smaps((const char *const[]){ "556600000000-556600400000 rw-p 3000 3000 [heap]",
						  "7f7000200000-7f7000600000 rw-p 2000 2000", NULL });
	int fd = memfd_create("smaps", 0);

	assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	stats.live_bytes = 1000 * KB;
	stats.live = 1024; /* blocks: 24 KiB of overhead */
	stats.heap_known = true;
	stats.heap_bytes = 640 * KB;
	stats.tracker_bytes = 200 * KB;
	stats.held[MW_HELD_SERVER] = 100 * KB; /* pages' blocks aren't the application's */
	mw_parts_second(&parts, &api, &stats, fd, &p);
	assert_int_equal(p.free, 3000 - 1000 - 24);
	assert_int_equal(p.anon, 2000 - 640 - 300);
	assert_int_equal(p.stacks, 0);
	/* RSS is the same, so there is no reading: what is live now isn't free */
	stats.live_bytes = 1500 * KB;
	p.t++;
	mw_parts_second(&parts, &api, &stats, fd, &p);
	assert_int_equal(p.free, 3000 - 1500 - 24);
	stats.live_bytes = 9000 * KB;
	p.t++;
	mw_parts_second(&parts, &api, &stats, fd, &p);
	assert_int_equal(p.free, 0);
	stats.live_bytes = 1000 * KB;
	/* another allocator: what is free can't be told */
	places.arenas = false;
	parts = (struct mw_parts){ 0 };
	mw_parts_second(&parts, &api, &stats, fd, &q);
	assert_int_equal(q.free, MW_KIB_UNKNOWN);
	assert_int_equal(q.anon, 5000 - 1000 - 640 - 300);
	/* never less than nothing */
	stats.live_bytes = 100 * MB;
	parts = (struct mw_parts){ 0 };
	mw_parts_second(&parts, &api, &stats, fd, &q);
	assert_int_equal(q.anon, 0);
	close(fd);
}
