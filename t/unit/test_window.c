/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When windows open in which new objects are noted, on a made-up Ruby: mw_window_ask. */
/* uses: @server */
#include "unit.h"
#include "../../src/server/objects/ruby_calls.h"
#include "../../src/server/objects/window.h"
#include "../../src/shared/sys/clock.h"

enum { NODE = 56, FIRST = 0x100 };

/* Ruby's list of hooks: those that were removed stay while a TracePoint's block runs. */
static bool block_runs, collects;
static uint64_t windows, hooks, malloc_increase, allocated;
static mw_ruby_value tracepoints = FIRST;
static void (*new_object)(mw_ruby_value, void *);

static void clean(void)
{
	if (block_runs)
		return;
	malloc_increase -= malloc_increase < NODE * hooks ? malloc_increase : NODE * hooks;
	hooks = 0;
}

static mw_ruby_value tracepoint_new(mw_ruby_value thread, uint32_t events,
				    void (*f)(mw_ruby_value, void *), void *data)
{
	(void)thread;
	(void)data;
	if (events & MW_EVENT_NEWOBJ)
		new_object = f;
	return tracepoints++;
}

static mw_ruby_value tracepoint_enable(mw_ruby_value tp)
{
	if (tp != FIRST)
		return 0;
	windows++;
	hooks++;
	malloc_increase += NODE;
	return 0;
}

static mw_ruby_value tracepoint_disable(mw_ruby_value tp)
{
	(void)tp;
	clean();
	return 0;
}

static uintptr_t intern(const char *name)
{
	return (uintptr_t)name;
}

static mw_ruby_value id2sym(uintptr_t id)
{
	return id;
}

static size_t gc_stat(mw_ruby_value key)
{
	if (!strcmp((const char *)key, "malloc_increase_bytes"))
		return malloc_increase;
	return strcmp((const char *)key, "total_allocated_objects") ? 0 : allocated;
}

static mw_ruby_value protect(mw_ruby_value (*f)(mw_ruby_value), mw_ruby_value arg, int *raised)
{
	*raised = 0;
	return f(arg);
}

static mw_ruby_value identity(mw_ruby_value v)
{
	return v;
}

static void *tracearg(mw_ruby_value tp)
{
	return (void *)tp;
}

static mw_ruby_value object(void *arg)
{
	return (mw_ruby_value)arg;
}

static mw_ruby_value wrap(mw_ruby_value class, void *data, const struct mw_ruby_data_type *type)
{
	(void)class;
	(void)data;
	(void)type;
	return 8;
}

static void keep_value(mw_ruby_value *v)
{
	(void)v;
}

static mw_ruby_value none(void)
{
	return 0;
}

static void set_none(mw_ruby_value v)
{
	(void)v;
}

static size_t count(void)
{
	return 1;
}

/* --- the tracker --- */

static bool run_at_once(void (*run)(void *))
{
	run(NULL);
	return true;
}

static bool here_and_now(void (*f)(void *), void *ctx)
{
	f(ctx);
	return true;
}

static uint32_t nowhere(uint32_t *stack)
{
	(void)stack;
	return MW_ID_NOWHERE;
}

static unsigned quiet(void)
{
	return 0;
}

static void *keep(size_t bytes)
{
	return calloc(1, bytes);
}

static const struct mw_api api = {
	.keep = keep,
	.quiet_enter = quiet,
	.quiet_leave = quiet,
	.ask_ruby = run_at_once,
	.while_ruby = here_and_now,
	.object_here = nowhere
};

static void start(void)
{
	mw_walk_ruby.singleton = 1;
	mw_walk_ruby.rb_intern = intern;
	mw_walk_ruby.rb_protect = protect;
	mw_walk_ruby.rb_errinfo = none;
	mw_walk_ruby.rb_set_errinfo = set_none;
	mw_walk_ruby.rb_gc_count = count;
	mw_objects_ruby = (struct mw_objects_ruby){
		.rb_tracepoint_new = tracepoint_new,
		.rb_tracepoint_enable = tracepoint_enable,
		.rb_tracepoint_disable = tracepoint_disable,
		.rb_tracearg_from_tracepoint = tracearg,
		.rb_tracearg_object = object,
		.rb_gc_register_address = keep_value,
		.rb_gc_stat = gc_stat,
		.rb_id2sym = id2sym,
		.rb_data_typed_object_wrap = wrap,
		.rb_gc_latest_gc_info = identity
	};
}

/* Asks for a window, and makes objects in it until it closes. Returns how many opened. */
static uint64_t ask_once(void)
{
	uint64_t before = windows;

	assert_true(mw_window_ask(&api));
	for (int i = 0; windows > before && i < 5000; i++, allocated++) {
		if (collects)
			malloc_increase = 0;
		new_object(FIRST, NULL);
	}
	return windows - before;
}

static uint64_t ask_for(unsigned ms)
{
	uint64_t end = mw_now_ns() + ms * UINT64_C(1000000), n = 0;

	do
		n += ask_once();
	while (mw_now_ns() < end);
	return n;
}

static void each_ask_opens_one(void)
{
	for (int i = 0; i < 20; i++)
		assert_int_equal(ask_once(), 1);
	assert_int_equal(hooks, 0);
}

ALL(start, NULL);

TEST(windows_open_whenever_one_is_asked_for)
{
	each_ask_opens_one();
}

TEST(few_hooks_stay_while_a_block_runs)
{
	block_runs = true;
	assert_in_range(ask_for(400), 1, 6); /* after 0, 50, 150 and 350 ms */
}

TEST(a_collection_in_a_window_ends_no_pause)
{
	collects = true;
	assert_in_range(ask_for(1000), 0, 4);
	collects = false;
}

TEST(windows_open_again_once_no_block_runs)
{
	uint64_t end = mw_now_ns() + UINT64_C(60000000000);

	block_runs = false;
	clean();
	while (!ask_once())
		assert_true(mw_now_ns() < end);
	each_ask_opens_one();
}
