/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * start.c - Mwrap.start and Mwrap.stop: tracking that begins in a running process.
 *
 * The tracker is loaded for good, with the first call of Mwrap.start. It finds the functions that the
 * process calls, and leads their callers to its own (struct mw_api: attach).
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ext.h"
#include "shared/sys/request.h"

enum { PATH = 4096, LINE = PATH + MW_ERROR_MAX };

static atomic_flag busy = ATOMIC_FLAG_INIT; /* Ractors have a lock each */

#define OWN "/mwrap/mwrap_ext.so"

static char folder[PATH]; /* ours is the file OWN in it, the tracker's is beside; "": not known */

/* False if it is another file. */
static bool learn_folder(const char *own)
{
	size_t n = strlen(own), tail = strlen(OWN);

	if (n <= tail || n >= PATH || strcmp(own + n - tail, OWN))
		return false;
	memcpy(folder, own, n - tail); /* the rest is 0 */
	return true;
}

/*
 * A Ruby::Box runs a copy of our file, which has another name, in a folder for temporary files. There anybody
 * may have put a libmwrap.so. Then Ruby knows where the file itself is.
 */
static void find_folder(void)
{
	Dl_info me;
	VALUE found;

	if (dladdr(&busy, &me) && me.dli_fname && learn_folder(me.dli_fname))
		return;
	found = rb_funcall(rb_gv_get("$LOAD_PATH"), rb_intern("resolve_feature_path"), 1,
			   rb_str_new_cstr("mwrap/mwrap_ext"));
	if (RB_TYPE_P(found, T_ARRAY) && RB_TYPE_P(found = rb_ary_entry(found, 1), T_STRING))
		(void)learn_folder(StringValueCStr(found));
	RB_GC_GUARD(found);
}

/* Of a library of the gem. False: a line in err. */
static bool library_path(const char *name, char path[PATH], char err[LINE])
{
	if (!*folder || snprintf(path, PATH, "%s/%s", folder, name) >= PATH) {
		snprintf(err, LINE, "%s: not found: install mwrap again", name);
		return false;
	}
	if (access(path, R_OK) == 0)
		return true;
	snprintf(err, LINE, "%s: not there: run make, or install mwrap again", path);
	return false;
}

static bool tracker_path(char path[PATH], char err[LINE])
{
	return library_path("libmwrap.so", path, err);
}

void *mw_load_untracked(const char *name, char err[MW_ERROR_MAX])
{
	char path[PATH], line[LINE];
	void *lib = library_path(name, path, line) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!lib)
		snprintf(err, MW_ERROR_MAX, "%.200s", *path && access(path, R_OK) == 0 ? dlerror() : line);
	return lib;
}

/* Is tracking on or stopped? It also does what mwrapctl has asked for, if it has. */
static bool has_begun(const struct mw_api *api)
{
	return api && api->version == MW_API_VERSION && api->asked && api->asked();
}

/* The tracker, loaded now. NULL: a line in err. */
static const struct mw_api *load_tracker(char err[LINE])
{
	const struct mw_api *api;
	char path[PATH];
	void *lib;

	if (dlsym(RTLD_DEFAULT, "mwrap_api")) { /* find_tracker() didn't take it */
		snprintf(err, LINE, "the preloaded tracker is of another version: restart the process");
		return NULL;
	}
	if (!tracker_path(path, err))
		return NULL;
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		snprintf(err, LINE, "%s: can't be loaded: %.300s", path, dlerror());
		return NULL;
	}
	api = dlsym(lib, "mwrap_api");
	if (!api || api->version != MW_API_VERSION) {
		snprintf(err, LINE, "%s: of another version: run make, or install mwrap again", path);
		return NULL;
	}
	return api;
}

static bool attach(const char *options, char err[LINE])
{
	const struct mw_api *api = mw_tracker;

	if (api == &mw_no_tracker)
		api = load_tracker(err);
	if (!api)
		return false;
	if (!api->attach(options, err)) {
		if (has_begun(api)) /* by another box's copy */
			mw_tracker_is(api);
		return false;
	}
	mw_tracker_is(api);
	return true;
}

/* A tracker that another Ruby::Box started. */
static void find_started(void)
{
	char path[PATH], err[LINE];
	void *lib = mw_tracker == &mw_no_tracker && tracker_path(path, err) ?
			    dlopen(path, RTLD_NOW | RTLD_NOLOAD) :
			    NULL;
	const struct mw_api *api = lib ? dlsym(lib, "mwrap_api") : NULL;

	if (has_begun(api))
		mw_tracker_is(api);
}

static VALUE learn_code(VALUE ignored)
{
	/* several sizes: an allocator may treat one in its own way */
	static const char *const code[] = { "Mwrap.__send__(:learn_code)",
					    "Mwrap.__send__(:learn_code); Mwrap; nil",
					    "Mwrap.__send__(:learn_code); Mwrap; Mwrap; Mwrap; nil" };

	for (size_t i = 0; i < sizeof(code) / sizeof(*code); i++)
		rb_eval_string(code[i]); /* raises what is pending for this thread */
	return Qnil;
}

/* :nodoc: called by code that was compiled after the start */
static VALUE mwrap_learn_code(VALUE mod)
{
	if (mw_tracker->learn_code)
		mw_tracker->learn_code();
	return Qnil;
}

/* Raises ArgumentError for options that are wrong, or that come too late. */
static void check_options(const char *options)
{
	char err[MW_ERROR_MAX] = "";
	VALUE tmp = Qnil;
	struct mw_options *o = RB_ALLOCV(tmp, sizeof(*o));
	bool right = mw_options_parse(o, options, err), late = right && o->malloc;

	RB_ALLOCV_END(tmp);
	if (late)
		rb_raise(rb_eArgError, "malloc: not for a running process: start it with mwrap");
	if (!right)
		rb_raise(rb_eArgError, "%s", err);
}

/*
 * call-seq:
 *   Mwrap.start -> nil
 *   Mwrap.start(options) -> nil
 *
 * Begins to track this process, which was started without the tracker, from now on: exactly, and at
 * the cost that it has in a process started by mwrap(1). Until then <tt>require "mwrap"</tt> costs
 * nothing.
 *
 *   Mwrap.start("socket:/tmp/mw.sock")
 *
 * +options+ is a String as in the variable +MWRAP+: see mwrap(1). Without it, that variable's options
 * hold, if it is set. The option +malloc+ isn't possible here.
 *
 * Blocks from before the call are in no count, and their frees aren't, either. A realloc of one is an
 * allocation. Ruby's heap pages from before aren't known. Frees of no live block aren't counted
 * (+double_frees+, +unknown_frees+ of Mwrap.stats). Libraries that are loaded later are tracked from
 * the first call of one of their functions on. Other threads may allocate meanwhile. A forked child
 * goes on; a program that it executes isn't tracked.
 *
 * After Mwrap.stop it goes on, with the options of the first call. Blocks that were live at the stop count
 * as freed then, since the tracker may have missed their frees.
 *
 * Raises ArgumentError if +options+ are wrong, or given after the first call; TypeError if they are no
 * String; RuntimeError if the process can't be tracked, or is tracked already.
 */
static VALUE mwrap_start(int argc, VALUE *argv, VALUE mod)
{
	char err[LINE];
	const char *options;
	VALUE text;
	bool done;

	rb_check_arity(argc, 0, 1);
	text = argc ? argv[0] : Qnil;
	if (NIL_P(text))
		options = mw_tracker == &mw_no_tracker ? getenv("MWRAP") : NULL;
	else
		options = StringValueCStr(text);
	check_options(options);
	if (!mw_tracker->attach && mw_tracker != &mw_no_tracker)
		rb_raise(rb_eRuntimeError, "the tracker: can't be started here");
	if (atomic_flag_test_and_set(&busy))
		rb_raise(rb_eRuntimeError, "Mwrap.start: another Ractor is calling it: try again");
	done = attach(options, err);
	atomic_flag_clear(&busy);
	RB_GC_GUARD(text);
	if (!done)
		rb_raise(rb_eRuntimeError, "%s", err);
	return mw_quietly(learn_code, Qnil);
}

/*
 * call-seq: Mwrap.stop -> nil
 *
 * Ends tracking that Mwrap.start began: the process goes on as without it. The counts stay as they are
 * now, and can be read; a server that runs goes on. Mwrap.start continues.
 *
 * Raises RuntimeError in a process that was started by mwrap(1), where Mwrap.pause is what is possible,
 * and if tracking hasn't been started.
 */
static VALUE mwrap_stop(VALUE mod)
{
	char err[LINE];
	bool done;

	if (!mw_tracker->detach)
		rb_raise(rb_eRuntimeError, "the tracker isn't running: call Mwrap.start first");
	if (atomic_flag_test_and_set(&busy))
		rb_raise(rb_eRuntimeError, "Mwrap.stop: another Ractor is calling it: try again");
	done = mw_tracker->detach(err);
	atomic_flag_clear(&busy);
	if (!done)
		rb_raise(rb_eRuntimeError, "%s", err);
	return Qnil;
}

/* Does what mwrapctl asks for, and answers. */
static void do_request(void)
{
	const struct mw_api *api = mw_tracker;
	struct mw_request r;
	char err[LINE];

	if (api == &mw_no_tracker)
		api = load_tracker(err);
	if (has_begun(api))
		mw_tracker_is(api);
	if (!api && mw_request_take(&r))
		mw_request_answer(&r, err);
}

void mw_start_asked(void)
{
	/* another Ractor starts or stops: mwrapctl asks again */
	if (!mw_request_there() || atomic_flag_test_and_set(&busy))
		return;
	do_request();
	atomic_flag_clear(&busy);
}

void mw_init_start(void)
{
	VALUE mod = rb_define_module("Mwrap");

	find_folder();
	find_started();
	rb_define_singleton_method(mod, "start", mwrap_start, -1);
	rb_define_singleton_method(mod, "stop", mwrap_stop, 0);
	rb_define_private_method(rb_singleton_class(mod), "learn_code", mwrap_learn_code, 0);
}
