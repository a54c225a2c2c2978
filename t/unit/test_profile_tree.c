/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of a profile's stacks for the flame graph: its sums, its order, and what is left out. */
/* uses: src/shared/report/profile.c src/server/report/profile_tree.c src/server/report/profile_tree_json.c src/server/report/pprof.c src/server/report/collapsed.c src/shared/text/intern.c src/shared/report/group.c src/shared/report/rows.c src/shared/report/columns.c src/shared/report/location.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c src/shared/report/kinds.c src/shared/report/kinded.c src/shared/report/profile_make.c src/shared/report/row_index.c */
#include <pthread.h>

#include "unit.h"
#include "read_profile_tree.h"

/* --- known trees ---------------------------------------------------------- */

static void tree_is(const struct mw_profile_view *view, const char *want)
{
	struct mw_buf b = { 0 };

	mw_profile_tree(&b, &made, view);
	assert_string_equal(text_of(&b), want);
	mw_buf_free(&b);
}

/* Two locations, a gem's code and a C function; no stack of the last row. */
static void made_known(void)
{
	uint32_t main_frame, run, parse, native, other;

	fake_row(MW_KIND_RUBY, 1, "/srv/app/\"a\".rb:1");
	fake_row(MW_KIND_SPECIAL, 1, "(other)");
	fake_row(MW_KIND_RUBY, 1, "/srv/b.rb:1");
	made_begin();
	main_frame = made_frame_at(MW_KIND_RUBY, "<main>", "/srv/app/a.rb", 9, 0);
	run = made_frame_at(MW_KIND_RUBY, "run", "/srv/app/a.rb", 3, 0);
	parse = made_frame_at(MW_KIND_RUBY, "parse\xff", "/g/gems/json-2.9.1/lib/json.rb", 5, 0);
	made_frame("in no stack");
	native = made_frame_at(MW_KIND_NATIVE, "f", "", 0, 0x7f00);
	other = made_frame_at(MW_KIND_SPECIAL, "(other)", "", 0, 0);
	MADE_STACK(10, parse, run, main_frame)->growth = -4;
	MADE_STACK(20, native, run, main_frame)->growth = 0;
	MADE_STACK(5, run, main_frame)->bytes[MW_BY_TOTAL] = 50;
	MADE_STACK(0, main_frame)->bytes[MW_BY_TOTAL] = 1;
	MADE_STACK(7, other)->row = 1;
}

EACH(fake_clear, made_end);

TEST(a_known_tree)
{
	const struct mw_profile_view all = { .by = MW_VIEW_LIVE, .row = MW_ROW_ALL, .most = 100 };
	struct mw_profile_view view = all;

	made_known();
	tree_is(&view,
		"\"by\":\"live\",\"inverted\":false,\"location\":null,\"total\":42,\"samples\":4,"
		"\"rate\":524288,\"pruned\":0,\n"
		"\"names\":[\"\\u003cmain\\u003e\",\"run\",\"f\",\"parse\xef\xbf\xbd\",\"(other)\"],\n"
		"\"files\":[\"/srv/app/a.rb\",\"/g/gems/json-2.9.1/lib/json.rb\"],\n"
		"\"groups\":[\"/srv/app\",\"(file not known)\",\"json-2.9.1\",\"(other)\"],\n"
		"\"frames\":[[0,0,9,0,0],[1,0,3,0,0],[2,-1,0,1,1],[3,1,5,2,0],[4,-1,0,3,2]],\n"
		"\"frame\":[-1,0,1,2,3,4],\n"
		"\"depth\":[0,1,2,3,3,1],\n"
		"\"value\":[42,35,35,20,10,7],\n"
		"\"samples_of\":[4,3,3,1,1,1]");
	view = (struct mw_profile_view){ .by = MW_VIEW_TOTAL, .inverted = true, .row = 0, .most = 3 };
	tree_is(&view,
		"\"by\":\"total\",\"inverted\":true,\"location\":\"/srv/app/\\\"a\\\".rb:1\","
		"\"total\":81,\"samples\":8,\"rate\":524288,\"pruned\":7,\n"
		"\"names\":[\"run\",\"\\u003cmain\\u003e\"],\n"
		"\"files\":[\"/srv/app/a.rb\"],\n"
		"\"groups\":[\"/srv/app\"],\n"
		"\"frames\":[[0,0,3,0,0],[1,0,9,0,0]],\n"
		"\"frame\":[-1,0,1],\n"
		"\"depth\":[0,1,2],\n"
		"\"value\":[81,50,50],\n"
		"\"samples_of\":[8,2,2]");
	view = (struct mw_profile_view){ .by = MW_VIEW_GROWTH, .row = 0, .most = 100 };
	tree_is(&view,
		"\"by\":\"growth\",\"inverted\":false,\"location\":\"/srv/app/\\\"a\\\".rb:1\","
		"\"total\":1,\"samples\":2,\"rate\":524288,\"pruned\":0,\n"
		"\"names\":[\"\\u003cmain\\u003e\",\"run\",\"parse\xef\xbf\xbd\"],\n"
		"\"files\":[\"/srv/app/a.rb\",\"/g/gems/json-2.9.1/lib/json.rb\"],\n"
		"\"groups\":[\"/srv/app\",\"json-2.9.1\"],\n"
		"\"frames\":[[0,0,9,0,0],[1,0,3,0,0],[2,1,5,1,0]],\n"
		"\"frame\":[-1,0,1,2],\n"
		"\"depth\":[0,1,2,3],\n"
		"\"value\":[1,1,1,-4],\n"
		"\"samples_of\":[2,2,2,1],\n"
		"\"width\":[9,9,9,4]");
}

TEST(of_nothing_a_root_is_left)
{
	const struct mw_profile_view view = { .by = MW_VIEW_LIVE, .row = 2, .most = 0 };
	const char *want =
		"\"by\":\"live\",\"inverted\":false,\"location\":\"/srv/b.rb:1\",\"total\":0,"
		"\"samples\":0,\"rate\":524288,\"pruned\":0,\n"
		"\"names\":[],\n\"files\":[],\n\"groups\":[],\n\"frames\":[],\n"
		"\"frame\":[-1],\n\"depth\":[0],\n\"value\":[0],\n\"samples_of\":[0]";

	made_known();
	tree_is(&view, want);
	made_end();
	fake_clear();
	fake_row(MW_KIND_RUBY, 1, "/srv/a.rb:1");
	fake_row(MW_KIND_RUBY, 1, "/srv/a.rb:2");
	fake_row(MW_KIND_RUBY, 1, "/srv/b.rb:1");
	made_begin(); /* not even a frame */
	tree_is(&view, want);
}

/* Sums stop at the largest value, and are still those of a tree. */
TEST(huge_sums)
{
	struct tree t;

	fake_row(MW_KIND_RUBY, 1, "/srv/a.rb:1");
	made_begin();
	made_frame("a");
	made_frame("b");
	MADE_STACK(UINT64_MAX, 1, 0)->growth = INT64_MIN;
	MADE_STACK(UINT64_MAX, 0)->growth = INT64_MIN;
	MADE_STACK(UINT64_MAX, 1)->growth = -1;
	read_tree(&t, &(struct mw_profile_view){ .by = MW_VIEW_LIVE, .row = MW_ROW_ALL, .most = 9 });
	assert_int_equal(t.n, 4);
	for (size_t i = 0; i < t.n; i++)
		assert_true(t.value[i] == INT64_MAX);
	free_tree(&t);
	read_tree(&t, &(struct mw_profile_view){ .by = MW_VIEW_GROWTH, .row = MW_ROW_ALL, .most = 9 });
	assert_true(t.total == INT64_MIN);
	assert_true(t.value[1] == -1 && t.value[2] == INT64_MIN && t.value[3] == INT64_MIN);
	free_tree(&t);
}

/* --- random trees --------------------------------------------------------- */

enum { ROUNDS = UNIT_TIMES(600), FRAMES = 7 };

static void made_randomly(void)
{
	static const char *const names[FRAMES] = { "a", "b", "b", "a", "c", "d", "e" };
	uint32_t frames[12];

	fake_clear();
	fake_row(MW_KIND_RUBY, 1, "/srv/a.rb:1");
	fake_row(MW_KIND_RUBY, 1, "/srv/b.rb:1");
	made_begin();
	for (int i = 0; i < FRAMES; i++)
		made_frame_at(MW_KIND_RUBY, names[i], i & 1 ? "/srv/b.rb" : "/srv/a.rb", below(3), 0);
	for (uint64_t n = below(60); n; n--) {
		uint32_t depth = 1 + (uint32_t)below(12);
		struct mw_profile_stack *s;

		for (uint32_t i = 0; i < depth; i++)
			frames[i] = (uint32_t)below(FRAMES);
		s = made_stack(below(4) ? below(1000) : below(3), depth, frames);
		s->bytes[MW_BY_TOTAL] = below(5);
		s->growth = (int64_t)below(21) - 10;
		s->row = (uint32_t)below(2);
	}
}

static struct mw_profile_view any_view(void)
{
	return (struct mw_profile_view){ .by = below(3),
					 .inverted = below(2),
					 .row = below(2) ? MW_ROW_ALL : (uint32_t)below(2),
					 .most = SIZE_MAX };
}

/* Names, lines and files of the profile's frames differ from neighbour to neighbour or are equal. */
static long long figure(const struct mw_profile_stack *s, const struct mw_profile_view *view, bool width)
{
	if (view->by == MW_VIEW_GROWTH)
		return width && s->growth < 0 ? -s->growth : s->growth;
	return (long long)s->bytes[view->by == MW_VIEW_LIVE ? MW_BY_LIVE : MW_BY_TOTAL];
}

/* By the profile's index; the JSON lists frames in the order in which they come in it. */
static long long index_of(const struct tree *t, long long frame)
{
	const char *at = strstr(t->json.p, "\"frames\":[");
	long long name, file, line;

	at += strlen("\"frames\":[");
	for (long long i = 0; i < frame; i++)
		at = strchr(at, ']') + 2;
	assert_int_equal(sscanf(at, "[%lld,%lld,%lld,", &name, &file, &line), 3);
	for (uint32_t i = 0; i < made.n_frames; i++) {
		const char *names = strstr(t->json.p, "\"names\":["),
			   *files = strstr(t->json.p, "\"files\":[");

		/* names have one letter, files nine */
		if (names[9 + 4 * name + 1] == *made.frames[i].name && made.frames[i].line == line &&
		    !strncmp(files + 9 + 12 * file + 1, made.frames[i].file, 9))
			return i;
	}
	fail();
	return -1;
}

/* Are frames a and b of the profile the same by all that is shown? */
static bool alike(uint32_t a, uint32_t b)
{
	const struct mw_profile_frame *x = &made.frames[a], *y = &made.frames[b];

	return !strcmp(x->name, y->name) && !strcmp(x->file, y->file) && x->line == y->line;
}

/* The sum of all stacks that begin as the path to node i does, slowly. */
static void node_is_right(const struct tree *t, const struct mw_profile_view *view, size_t i)
{
	uint32_t path[16], depth = (uint32_t)t->depth[i];
	long long value = 0, width = 0, samples = 0;

	for (size_t at = i; at; at = parent(t, at))
		path[t->depth[at] - 1] = (uint32_t)index_of(t, t->frame[at]);
	for (size_t k = 0; k < made.n_stacks; k++) {
		const struct mw_profile_stack *s = &made.stacks[k];
		bool below_it = s->depth >= depth && (view->row == MW_ROW_ALL || view->row == s->row);

		for (uint32_t d = 0; d < depth && below_it; d++)
			below_it = alike(path[d], s->frames[view->inverted ? d : s->depth - 1 - d]);
		if (!below_it || !figure(s, view, true))
			continue;
		value += figure(s, view, false);
		width += figure(s, view, true);
		samples += s->samples[view->by == MW_VIEW_TOTAL ? MW_BY_TOTAL : MW_BY_LIVE];
	}
	assert_true(t->value[i] == value);
	assert_true(t->samples[i] == samples);
	assert_true(widths(t)[i] == width);
}

static bool frames_differ(void)
{
	for (uint32_t a = 0; a < made.n_frames; a++)
		for (uint32_t b = 0; b < a; b++)
			if (alike(a, b))
				return false;
	return true;
}

TEST(each_node_is_the_sum_of_its_stacks)
{
	int right = 0;

	while (right < ROUNDS) {
		const struct mw_profile_view view = any_view();
		struct tree t;

		made_randomly();
		if (frames_differ()) { /* or nodes are apart that look the same */
			read_tree(&t, &view);
			assert_int_equal(t.pruned, 0);
			for (size_t i = 0; i < t.n; i++)
				node_is_right(&t, &view, i);
			free_tree(&t);
			right++;
		}
		made_end();
	}
}

static int largest_first(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return (x < y) - (x > y);
}

/* Children are less than their parents, in order, and each node's children are below it only once. */
static void is_a_tree(const struct tree *t)
{
	long long *rest = malloc(t->n * sizeof(*rest)), *last = malloc(t->n * sizeof(*last));

	for (size_t i = 0; i < t->n; i++) {
		size_t p = i ? parent(t, i) : 0;

		rest[i] = widths(t)[i];
		last[i] = INT64_MAX;
		if (!i)
			continue;
		rest[p] -= widths(t)[i];
		assert_true(rest[p] >= 0);
		assert_true(t->value[i] <= last[p]);
		last[p] = t->value[i];
	}
	free(rest);
	free(last);
}

TEST(the_largest_nodes_stay)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct mw_profile_view view = any_view();
		struct tree all, some;
		long long *sorted, *stayed;

		made_randomly();
		read_tree(&all, &view);
		is_a_tree(&all);
		view.most = 1 + below(all.n + 3);
		read_tree(&some, &view);
		is_a_tree(&some);
		assert_int_equal(some.n, view.most < all.n ? view.most : all.n);
		assert_int_equal(some.n + (size_t)some.pruned, all.n);
		assert_true(some.total == all.total);
		sorted = malloc(all.n * sizeof(*sorted));
		stayed = malloc(some.n * sizeof(*stayed));
		memcpy(sorted, widths(&all), all.n * sizeof(*sorted));
		memcpy(stayed, widths(&some), some.n * sizeof(*stayed));
		qsort(sorted, all.n, sizeof(*sorted), largest_first);
		qsort(stayed, some.n, sizeof(*stayed), largest_first);
		assert_memory_equal(sorted, stayed, some.n * sizeof(*stayed));
		free(sorted);
		free(stayed);
		free_tree(&all);
		free_tree(&some);
		made_end();
	}
}

TEST(equal_values_by_name_file_and_line)
{
	fake_row(MW_KIND_RUBY, 1, "/srv/a.rb:1");
	made_begin();
	MADE_STACK(1, made_frame_at(MW_KIND_RUBY, "b", "/b.rb", 1, 0));
	MADE_STACK(1, made_frame_at(MW_KIND_RUBY, "b", "/a.rb", 2, 0));
	MADE_STACK(1, made_frame_at(MW_KIND_RUBY, "b", "/a.rb", 1, 0));
	MADE_STACK(1, made_frame_at(MW_KIND_RUBY, "a", "/c.rb", 9, 0));
	MADE_STACK(2, made_frame_at(MW_KIND_RUBY, "c", "/c.rb", 9, 0));
	for (size_t most = 2; most < 8; most++) {
		struct mw_profile_view view = { .by = MW_VIEW_LIVE, .row = MW_ROW_ALL, .most = most };
		struct tree t;

		read_tree(&t, &view);
		/* the first of equal ones stay */
		if (most == 4)
			assert_non_null(strstr(
				t.json.p,
				"\"names\":[\"c\",\"b\"],\n\"files\":[\"/c.rb\",\"/a.rb\",\"/b.rb\"]"));
		if (most == 7)
			assert_non_null(strstr(t.json.p, "\"frames\":[[0,0,9,0,0],[1,0,9,0,0],[2,1,1,0,0],"
							 "[2,1,2,0,0],[2,2,1,0,0]]"));
		free_tree(&t);
	}
}

/* --- large ones ----------------------------------------------------------- */

enum { DEEP = 10000, SMALL_STACK = 256 << 10, MANY = 100000 };

static const struct mw_profile_view deep_views[] = {
	{ .by = MW_VIEW_LIVE, .row = MW_ROW_ALL, .most = 20000 },
	{ .by = MW_VIEW_LIVE, .row = MW_ROW_ALL, .most = 20000, .inverted = true },
};

/* Into bufs[5]. No assertion: cmocka's are for the main thread. */
static void *all_forms(void *bufs)
{
	struct mw_buf *b = bufs;

	mw_profile_tree(&b[0], &made, &deep_views[0]);
	mw_profile_tree(&b[1], &made, &deep_views[1]);
	mw_profile_collapsed(&b[2], &made, MW_BY_LIVE);
	mw_profile_speedscope(&b[3], &made, "deep");
	mw_profile_pprof(&b[4], &made, MW_BY_LIVE);
	return bufs;
}

/* As deep as Ruby's stacks get, on the stack of a thread of the server. */
TEST(deep_stacks)
{
	static uint32_t frames[DEEP];
	struct mw_buf bufs[5] = { 0 };
	struct tree t;
	void *done = NULL;
	pthread_attr_t attr;
	pthread_t thread;

	fake_row(MW_KIND_RUBY, 1, "/srv/a.rb:1");
	made_begin();
	made_frame("g");
	made_frame("f");
	MADE_STACK(1, 1);
	made_stack(4, DEEP, frames);
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, SMALL_STACK), 0);
	assert_int_equal(pthread_create(&thread, &attr, all_forms, bufs), 0);
	assert_int_equal(pthread_join(thread, &done), 0);
	assert_ptr_equal(done, bufs);
	assert_int_equal(pthread_attr_destroy(&attr), 0);
	for (int i = 0; i < 2; i++) {
		t = (struct tree){ .json = bufs[i] };
		read_arrays(&t, &deep_views[i]);
		assert_int_equal(t.n, DEEP + 2);
		assert_int_equal(t.depth[DEEP], DEEP);
		assert_int_equal(t.value[DEEP], 4);
		free_tree(&t);
	}
	assert_int_equal(bufs[2].n, 2 * DEEP - 1 + strlen(" 4\nf 1\n"));
	assert_int_equal(strncmp(text_of(&bufs[2]), "f 1\ng;g;", 8), 0);
	assert_string_equal(text_of(&bufs[3]) + bufs[3].n - 5, "5}]}\n"); /* endValue */
	assert_false(bufs[4].failed);
	assert_true(bufs[4].n > DEEP);
	for (int i = 2; i < 5; i++)
		mw_buf_free(&bufs[i]);
}

/* A step that is quadratic in them would take longer than t/unit.t waits. */
TEST(many_stacks)
{
	struct mw_profile_view view = { .by = MW_VIEW_LIVE, .row = MW_ROW_ALL, .most = 20000 };
	struct mw_profile_sampled *sampled = calloc(MANY, sizeof(*sampled));
	static char names[1000][8];
	uint64_t sum = 0;
	struct tree t;

	fake_row(MW_KIND_RUBY, UINT32_MAX, "/srv/a.rb:1")->live_bytes = 5000000000;
	made_begin();
	for (unsigned i = 0; i < 1000; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "f%u", i);
		made_frame(names[i]);
	}
	for (size_t i = 0; i < MANY; i++) {
		uint32_t frames[12];

		for (int f = 0; f < 12; f++)
			frames[f] = (uint32_t)below(1000);
		sampled[i] = (struct mw_profile_sampled){ .frames = made_list(frames, 12),
							  .depth = 12,
							  .bytes = { (double)below(100), 1 },
							  .samples = { 1, 1 } };
	}
	assert_true(mw_profile_calibrate(&made, sampled, MANY));
	assert_int_equal(made.n_stacks, MANY);
	for (size_t i = 0; i < MANY; i++)
		sum += made.stacks[i].bytes[MW_BY_LIVE];
	assert_int_equal(sum, 5000000000);
	read_tree(&t, &view);
	assert_int_equal(t.n, 20000);
	assert_int_equal(t.total, 5000000000);
	assert_true(t.pruned > 800000);
	is_a_tree(&t);
	free_tree(&t);
	free(sampled);
}
