/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ask_child.c - forks the child and waits for its answer. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "shared/sys/clock.h"
#include "shared/sys/sys.h"
#include "edge.h"
#include "fail.h"
#include "globals.h"
#include "heap.h"
#include "ruby.h"
#include "run.h"

static pid_t busy; /* acquire, release: the process that has a child under way; a fork copies it */

/* The parent prepares this for the child, and gives it back after the fork. */
struct ready {
	struct mw_heap_pages pages;
	struct mw_areas areas;
	uint8_t wanted[MW_ID_END];
	struct mw_holders_object sampled[MW_HOLDERS_OBJECTS];
	struct mw_globals globals;
	struct mw_walk walk;
	bool unlisted; /* too many objects */
	pid_t pid;     /* -1: not forked; then error has the reason */
	int error;
};

static int add_page(void *start, void *end, size_t slot, void *ctx)
{
	struct ready *r = ctx;
	struct mw_heap_pages *p = &r->pages;
	size_t bytes = (size_t)((char *)end - (char *)start);

	if (!bytes)
		return 0;
	if (p->n == MW_HEAP_PAGES) {
		p->full = true;
		return 1;
	}
	p->v[p->n++] =
		(struct mw_heap_slots){ (uintptr_t)start, (uint32_t)slot, (uint32_t)(bytes / slot), 0 };
	return 0;
}

/* Ruby finishes the collection that is under way. */
static bool list_pages(struct ready *r)
{
	r->walk.api->quiet_enter();
	mw_walk_ruby.rb_objspace_each_objects(add_page, r);
	r->walk.api->quiet_leave();
	if (r->pages.full || !mw_heap_sort(&r->pages))
		return false;
	r->walk.objects_at = (struct mw_ranges){ .n = r->pages.n, .at = mw_heap_range, .of = &r->pages };
	return true;
}

/*
 * Lists the pages of Ruby's heap and forks, where Ruby lets reachable objects be seen. There this thread has the VM's
 * lock: so the child finds it taken by itself, also if there are Ractors, and none of them collects meanwhile. If one
 * did, pages that are listed would go; and `each_objects` sets a flag of Ruby's, not atomically, in a word that
 * collections change. Ruby 3.1 takes the lock only for some objects: there we take it, and nothing else exports these
 * functions. The child never returns.
 */
static void fork_here(mw_ruby_value v, void *ctx)
{
	struct ready *r = ctx;

	(void)v;
	if (r->pid != -1 || r->error || r->unlisted)
		return;
	r->unlisted = !list_pages(r);
	if (r->unlisted)
		return;
	r->pid = (pid_t)mw_sys(SYS_clone, 0, 0, 0, 0, 0); /* without a signal at its end */
	if (r->pid == 0)
		mw_child_run(&r->walk);
	if (r->pid < 0)
		r->error = errno;
}

static void fork_now(struct ready *r)
{
	bool lock = mw_walk_ruby.rb_vm_lock_enter_body && mw_walk_ruby.rb_vm_lock_leave_body;
	sigset_t all, old;
	unsigned level;

	if (lock)
		mw_walk_ruby.rb_vm_lock_enter_body(&level);
	sigfillset(&all);
	mw_sys_sigmask(SIG_SETMASK, &all, &old);
	mw_walk_ruby.rb_objspace_reachable_objects_from(*mw_walk_ruby.rb_cObject, fork_here, r);
	mw_sys_sigmask(SIG_SETMASK, &old, NULL);
	if (lock)
		mw_walk_ruby.rb_vm_lock_leave_body(&level);
}

enum mw_holders_is mw_holders_fail(enum mw_holders_is is, char err[MW_HOLDERS_ERROR], const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(err, MW_HOLDERS_ERROR, fmt, args);
	va_end(args);
	return is;
}

/* GC.enable says whether it was disabled; then it is again. Both take no time in that order. */
static int gc_disabled(void)
{
	bool was;

	if (!mw_walk_ruby.rb_gc_enable || !mw_walk_ruby.rb_gc_disable)
		return -1;
	was = mw_walk_ruby.rb_gc_enable() != 0; /* Qfalse is 0 */
	if (was)
		(void)mw_walk_ruby.rb_gc_disable();
	return was;
}

static void prepare(struct ready *r, const struct mw_api *api, const struct mw_holders_question *q)
{
	mw_walk_ruby_learn();
	api->quiet_enter();
	mw_edge_begin();
	mw_globals_read(&r->globals);
	mw_areas_find(&r->areas, api->main_thread(), (uintptr_t)__builtin_frame_address(0));
	if (q->objects)
		r->walk.n_sampled = (uint32_t)q->objects(r->sampled, MW_HOLDERS_OBJECTS);
	api->quiet_leave();
	for (size_t i = 0; i < q->n; i++)
		if (q->ids[i] < MW_ID_END)
			r->wanted[q->ids[i]] = q->suspect ? q->suspect[i] % MW_SUSPECTS + 1 : 1;
	r->walk.api = api;
	r->walk.areas = &r->areas;
	r->walk.globals = &r->globals;
	r->walk.wanted = q->ids ? r->wanted : NULL;
	r->walk.old = q->old;
	r->walk.young = q->young;
	r->walk.asked = !q->suspect;
	r->walk.sampled = r->sampled;
	r->pid = -1;
}

static enum mw_holders_is begin_child(struct mw_holders_child *c, struct ready *r, const struct mw_api *api,
				      const struct mw_holders_question *q, char err[MW_HOLDERS_ERROR])
{
	prepare(r, api, q);
	c->gc_disabled = gc_disabled();
	r->walk.found = c->found;
	fork_now(r);
	api->quiet_enter();
	mw_edge_end();
	api->quiet_leave();
	if (r->unlisted)
		return mw_holders_fail(MW_HOLDERS_FAILED, err,
				       "holders: too many objects: Ruby has more than 4 billion");
	if (r->pid < 0)
		return mw_holders_fail(MW_HOLDERS_FAILED, err, "holders: can't fork: %s",
				       r->error ? mw_sys_error(r->error) : "Ruby shows no objects");
	c->pid = r->pid;
	c->of = mw_sys_getpid();
	c->unread_stacks = r->areas.unread;
	return MW_HOLDERS_OK;
}

static bool become_busy(void)
{
	pid_t is = __atomic_load_n(&busy, __ATOMIC_RELAXED), me = mw_sys_getpid();

	return is != me &&
	       __atomic_compare_exchange_n(&busy, &is, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void be_free(void)
{
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

enum mw_holders_is mw_holders_begin(struct mw_holders_child *c, const struct mw_api *api,
				    const struct mw_holders_question *q, char err[MW_HOLDERS_ERROR])
{
	const char *missing;
	struct ready *r;
	enum mw_holders_is is;

	*c = (struct mw_holders_child){ .began = mw_now_ns() };
	if (!api->each_live)
		return mw_holders_fail(MW_HOLDERS_UNKNOWN, err,
				       "holders: the tracker isn't in this process");
	if (!mw_walk_ruby_find(&missing))
		return mw_holders_fail(MW_HOLDERS_UNKNOWN, err, "holders: this Ruby lacks %s", missing);
	if (!mw_walk_ruby.ruby_thread_has_gvl_p() || mw_walk_ruby.rb_during_gc())
		return mw_holders_fail(MW_HOLDERS_FAILED, err,
				       "holders: Ruby is collecting garbage: try again");
	if (!become_busy())
		return mw_holders_fail(MW_HOLDERS_BUSY, err,
				       "holders: another search is under way: try again later");
	r = mw_sys_map(sizeof(*r), MAP_PRIVATE);
	c->found = mw_sys_map(sizeof(*c->found), MAP_SHARED);
	is = r && c->found ?
		     begin_child(c, r, api, q, err) :
		     mw_holders_fail(MW_HOLDERS_FAILED, err, "holders: no memory: try again later");
	mw_sys_unmap(r, sizeof(*r));
	c->stop_ns = mw_now_ns() - c->began;
	if (is != MW_HOLDERS_OK) {
		mw_sys_unmap(c->found, sizeof(*c->found));
		be_free();
	} else { /* no forked child of the application's gets it */
		mw_sys(SYS_madvise, mw_sys_ptr(c->found), sizeof(*c->found), MADV_DONTFORK, 0, 0);
	}
	return is;
}

/* --- the answer -------------------------------------------------------------------- */

/* Waits until the child has ended; kills it when its time is over. *status as of waitpid; 0: another took it. */
static enum mw_holders_is await_child_end(struct mw_holders_child *c, const uint32_t *stop, int *status,
					  char err[MW_HOLDERS_ERROR])
{
	uint64_t until = c->began + (uint64_t)MW_HOLDERS_SECONDS * 1000000000;

	*status = 0;
	for (;;) {
		long pid = mw_sys(SYS_wait4, c->pid, mw_sys_ptr(status), __WALL | WNOHANG, 0, 0);

		if (pid == c->pid || (pid < 0 && errno != EINTR))
			return MW_HOLDERS_OK;
		if (mw_now_ns() > until) {
			mw_holders_drop(c);
			return mw_holders_fail(MW_HOLDERS_FAILED, err,
					       "holders: no answer within a minute: try again later");
		}
		if (stop && __atomic_load_n(stop, __ATOMIC_RELAXED))
			return MW_HOLDERS_AGAIN;
		mw_sys_nap();
	}
}

static size_t path_bytes(const char *text, uint32_t n)
{
	const char *p = text;

	while (n--)
		p += strlen(p) + 1;
	return (size_t)(p - text);
}

/* The text of a step; one that names a location is replaced by its name. */
static const char *step_text(const char *text, const struct mw_snapshot *s)
{
	uint32_t id;

	if (*text != MW_FOUND_ID)
		return text;
	id = (uint32_t)strtoul(text + 1, NULL, 10);
	for (size_t i = 0; s && i < s->n; i++)
		if (s->rows[i].id == id)
			return s->rows[i].location;
	return "(other)";
}

static size_t count_steps(const struct mw_findings *f)
{
	size_t n = 0;

	for (uint32_t i = 0; i < f->n; i++)
		n += f->rows[i].n_path;
	return n;
}

/* All in one piece of memory: rows, paths, text of the child, text of locations. */
static bool read_answer(const struct mw_findings *f, const struct mw_snapshot *s, struct mw_holders *h)
{
	size_t steps = count_steps(f), locations = 0, at;
	const char **path;
	char *text;

	for (uint32_t i = 0; i < f->n; i++)
		for (uint32_t k = 0, o = f->rows[i].path; k < f->rows[i].n_path; k++) {
			if (f->text[o] == MW_FOUND_ID)
				locations += strlen(step_text(f->text + o, s)) + 1;
			o += (uint32_t)path_bytes(f->text + o, 1);
		}
	h->rows = malloc(f->n * sizeof(*h->rows) + steps * sizeof(*path) + f->text_n + locations + 1);
	if (!h->rows)
		return false;
	path = (const char **)(void *)(h->rows + f->n);
	text = (char *)(path + steps);
	memcpy(text, f->text, f->text_n);
	at = f->text_n;
	for (uint32_t i = 0; i < f->n; i++) {
		const struct mw_found *r = &f->rows[i];
		const char *p = text + r->path;

		h->rows[i] =
			(struct mw_holder){ r->suspect, r->objects,       r->by,     r->blocks, r->bytes,
					    r->paths,   text + r->holder, r->n_path, path };
		for (uint32_t k = 0; k < r->n_path; k++, p += strlen(p) + 1) {
			*path = p;
			if (*p == MW_FOUND_ID) {
				*path = strcpy(text + at, step_text(p, s));
				at += strlen(*path) + 1;
			}
			path++;
		}
	}
	h->n = f->n;
	h->text = text;
	return true;
}

static enum mw_holders_is read_it(const struct mw_holders_child *c, const struct mw_api *api, int status,
				  struct mw_holders *h, char err[MW_HOLDERS_ERROR])
{
	uint32_t state = __atomic_load_n(&c->found->state, __ATOMIC_ACQUIRE);
	struct mw_snapshot *s;
	struct mw_stats stats;
	bool done;

	if (state == MW_FOUND_NO_MEMORY)
		return mw_holders_fail(MW_HOLDERS_FAILED, err, "holders: no memory: try again later");
	if (state != MW_FOUND_ALL) {
		if (WIFSIGNALED(status))
			return mw_holders_fail(MW_HOLDERS_FAILED, err,
					       "holders: the search was ended by signal %d: try again",
					       WTERMSIG(status));
		return mw_holders_fail(MW_HOLDERS_FAILED, err,
				       "holders: the search ended without a result: try again");
	}
	api->quiet_enter();
	s = api->snapshot();
	done = read_answer(c->found, s, h);
	if (s)
		api->snapshot_free(s);
	api->quiet_leave();
	if (!done)
		return mw_holders_fail(MW_HOLDERS_FAILED, err, "holders: no memory: try again later");
	h->blocks = c->found->blocks;
	h->bytes = c->found->bytes;
	h->sampled = c->found->sampled;
	memcpy(h->suspects, c->found->suspects, sizeof(h->suspects));
	h->n_lost = c->found->n_lost;
	memcpy(h->lost, c->found->lost, sizeof(h->lost));
	h->objects = c->found->objects;
	h->object_bytes = c->found->object_bytes;
	h->gc_disabled = c->gc_disabled;
	h->ns = c->found->ns;
	h->stop_ns = c->stop_ns;
	h->unread_stacks = c->unread_stacks;
	api->stats(&stats);
	h->missing = stats.missing;
	for (size_t i = 0; h->missing && i < h->n; i++)
		if (h->rows[i].by == MW_HELD_NOTHING)
			h->rows[i].holder = "(nothing that the tracker knows)";
	return MW_HOLDERS_OK;
}

static void forget(struct mw_holders_child *c)
{
	mw_sys_unmap(c->found, sizeof(*c->found));
	c->pid = 0;
	be_free();
}

void mw_holders_drop(struct mw_holders_child *c)
{
	int status = 0;

	if (!c->pid || c->of != mw_sys_getpid())
		return;
	mw_sys(SYS_kill, c->pid, SIGKILL, 0, 0, 0);
	while (mw_sys(SYS_wait4, c->pid, mw_sys_ptr(&status), __WALL, 0, 0) < 0 && errno == EINTR)
		;
	forget(c);
}

enum mw_holders_is mw_holders_end(struct mw_holders_child *c, const struct mw_api *api,
				  const uint32_t *stop, struct mw_holders *h, char err[MW_HOLDERS_ERROR])
{
	int status = 0;
	enum mw_holders_is is = await_child_end(c, stop, &status, err);

	*h = (struct mw_holders){ 0 };
	if (is != MW_HOLDERS_OK)
		return is;
	is = read_it(c, api, status, h, err);
	forget(c);
	return is;
}

void mw_holders_free(struct mw_holders *h)
{
	free(h->rows);
	*h = (struct mw_holders){ 0 };
}

const char *mw_held_by_name(enum mw_held_by by)
{
	static const char *const names[] = { "ruby", "native", "garbage", "nothing" };

	return names[by];
}
