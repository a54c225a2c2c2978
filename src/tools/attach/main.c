/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main.c - mwrap-inject PID LIBRARY MILLISECONDS: makes a Ruby process without the gem load the tracker.
 *
 * For mwrapctl(1), which has written what the process must do (shared/sys/request.h). LIBRARY is
 * libmwrap.so, as the process sees it. Prints how many times its main thread stopped, and for how many
 * microseconds: at most, and as seen from here. Exits with 1 after one line on stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#if MW_INJECT_CAN

#include <time.h>
#include <unistd.h>

#include "api/api.h"

enum { AGAIN_MS = 15, PAGE = 4096 };

struct plan {
	struct mw_there there;
	struct mw_visit visit; /* as it is to be there */
	uintptr_t code, data, entry;
	struct mw_trace_time longest;
	unsigned stops;
};

static bool refuse_visit(char *err, const char *line)
{
	snprintf(err, MW_THERE_ERROR, "%s", line);
	return false;
}

/* --- what is there --------------------------------------------------------------------- */

static const struct mw_object *find_ruby(const struct mw_there *t)
{
	for (const struct mw_object *o = t->objects; o < t->objects + t->n_objects; o++)
		if (mw_there_symbol(t, o, MW_MACHINE_ONE) ||
		    mw_there_symbol(t, o, "rb_postponed_job_trigger"))
			return o;
	return NULL;
}

static bool find_functions(struct plan *p, char *err)
{
	const struct mw_there *t = &p->there;
	const struct mw_object *ruby = find_ruby(t), *libc = mw_there_named(t, "libc.so.6");
	uintptr_t complex, vm, up = 0, one = ruby ? mw_there_symbol(t, ruby, MW_MACHINE_ONE) : 0;

	struct {
		const struct mw_object *in;
		const char *name;
		void *to;
		bool may_lack;
	} wanted[] = {
		{ ruby, "rb_postponed_job_preregister", &p->visit.preregister, one != 0 },
		{ ruby, "rb_postponed_job_trigger", &p->visit.trigger, one != 0 },
		{ ruby, "ruby_native_thread_p", &p->visit.native_thread_p, false },
		{ libc, "__errno_location", &p->visit.errno_location, false },
		{ libc, "dlopen", &p->visit.dlopen, false },
		{ libc, "dlsym", &p->visit.dlsym, false },
		{ libc, "dlerror", &p->visit.dlerror, false },
	};

	if (!t->n_objects)
		return refuse_visit(err, "the program is not 64-bit: it can't be tracked");
	if (!ruby)
		return refuse_visit(err, "Ruby does not run in this process: start it with mwrap");
	if (!libc)
		return refuse_visit(err, "the program does not use glibc: it can't be tracked");
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		uintptr_t found = mw_there_symbol(t, wanted[i].in, wanted[i].name);

		if (!found && !wanted[i].may_lack)
			return refuse_visit(err,
					    wanted[i].in == libc ?
						    "the process's glibc is too old: mwrap needs 2.35" :
						    "this build of Ruby is unknown: start it with mwrap");
		memcpy(wanted[i].to, &found, sizeof(found));
	}
	memcpy(&p->visit.register_one, &one, sizeof(one));
	complex = mw_there_symbol(t, ruby, "rb_cComplex");
	if (!complex || !mw_there_read(t, complex, &up, sizeof(up)) || !up)
		return refuse_visit(err, "Ruby is still starting there: try again");
	vm = mw_there_symbol(t, ruby, "ruby_current_vm_ptr");
	if (!vm)
		vm = mw_machine_vm(t, ruby);
	if (!vm)
		return refuse_visit(
			err, "Ruby is shutting down there, or its build is unknown: start it with mwrap");
	memcpy(&p->visit.vm, &vm, sizeof(vm));
	if (!mw_machine_context(t, ruby, &p->visit))
		return refuse_visit(err, "this build of Ruby is unknown: start it with mwrap");
	p->visit.ruby = ruby->code;
	p->visit.ruby_end = ruby->code_end;
	return true;
}

/* --- room ------------------------------------------------------------------------------ */

static size_t code_size(void)
{
	return (size_t)(__stop_mw_visit - __start_mw_visit);
}

/* Reads the rest of the page at `end`, which nothing uses, into is[PAGE]. 0: too short. */
static uintptr_t rest_of_page(const struct mw_there *t, uintptr_t end, size_t n, bool executable, char *is)
{
	uintptr_t at = (end + 15) & ~(uintptr_t)15;
	const struct mw_mapping *m = end ? mw_there_mapping(t, end - 1) : NULL;

	if (!m || m->executable != executable || m->writable == executable ||
	    at / PAGE != (end - 1) / PAGE || at % PAGE + n > PAGE || !mw_there_read(t, at, is, n))
		return 0;
	return at;
}

static bool is_empty(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

/* The code, but for its first word, which is the address of the data. */
static bool is_code(const char *bytes)
{
	return memcmp(bytes + sizeof(uint64_t), __start_mw_visit + sizeof(uint64_t),
		      code_size() - sizeof(uint64_t)) == 0;
}

/* The dynamic linker uses the rest of its own pages. */
static bool may_use(const struct mw_object *o)
{
	return strncmp(o->name, "ld-", 3) != 0;
}

/* The heap begins behind the program's data: in a later page, unless the system doesn't randomise it. */
static bool is_heap(const struct mw_there *t, const struct mw_object *o)
{
	enum { START_BRK = 47, BEHIND_NAME = 3 };
	char path[64], text[2048];
	unsigned long long start = 0;
	const char *s;
	size_t n;
	FILE *f;

	if (o != t->objects)
		return false;
	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)t->pid);
	f = fopen(path, "re");
	n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = 0;
	s = strrchr(text, ')');
	for (int field = BEHIND_NAME - 1; s && field < START_BRK; field++)
		if ((s = strchr(s, ' ')))
			s++;
	return !s || sscanf(s, "%llu", &start) != 1 ||
	       start < ((o->data_end + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
}

/* The room that an earlier visit took, or the first that is empty. */
static bool find_room(struct plan *p, char *err)
{
	const struct mw_there *t = &p->there;
	char is[PAGE];

	for (const struct mw_object *o = t->objects; o < t->objects + t->n_objects; o++) {
		uintptr_t at;

		if (!may_use(o))
			continue;
		at = rest_of_page(t, o->code_end, code_size(), true, is);
		if (at && is_code(is)) {
			p->code = at;
			memcpy(&p->data, is, sizeof(p->data));
			return true;
		}
		if (at && !p->code && is_empty(is, code_size()))
			p->code = at;
		at = rest_of_page(t, o->data_end, sizeof(p->visit), false, is);
		if (at && !p->data && is_empty(is, sizeof(p->visit)) && !is_heap(t, o))
			p->data = at;
	}
	return (p->code && p->data) ||
	       refuse_visit(err, "its libraries have no unused bytes to write to: start it with mwrap");
}

/* --- what is written there --------------------------------------------------------------- */

static bool fill_visit(struct plan *p, const char *library, char *err)
{
	struct mw_visit *v = &p->visit;
	uintptr_t job = p->code + (uintptr_t)(mw_visit_job - __start_mw_visit);

	if (strlen(library) >= sizeof(v->path))
		return refuse_visit(err, "libmwrap.so: its path is too long: install mwrap elsewhere");
	strcpy(v->path, library);
	strcpy(v->symbol, "mwrap_api");
	memcpy(&v->job, &job, sizeof(job));
	v->version = MW_API_VERSION;
	v->version_at = offsetof(struct mw_api, version);
	v->asked_at = offsetof(struct mw_api, asked);
	p->entry = p->code + (uintptr_t)(mw_visit_entry - __start_mw_visit);
	return mw_machine_measure(v, err);
}

/* Nothing there runs or reads any of it yet, or what it reads stays as it is. */
static bool write_visit(struct plan *p, char *err)
{
	char code[PAGE];

	memcpy(code, __start_mw_visit, code_size());
	memcpy(code, &p->data, sizeof(p->data));
	return (mw_there_write(&p->there, p->data, &p->visit, sizeof(p->visit)) &&
		mw_there_write(&p->there, p->code, code, code_size())) ||
	       refuse_visit(err,
			    "its memory can't be written: see the kernel's lockdown and proc_mem.force_override");
}

/* Exec may have come between. */
static bool is_code_there(const struct plan *p)
{
	char is[PAGE];

	return mw_there_read(&p->there, p->code, is, code_size()) && is_code(is);
}

/* --- the visit --------------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint32_t state_of(const struct plan *p)
{
	uint32_t state = MW_VISIT_NEW;

	(void)mw_there_read(&p->there, p->data + offsetof(struct mw_visit, state), &state, sizeof(state));
	return state;
}

static bool visit_once(struct plan *p, char *err)
{
	struct mw_trace_time time = { 0 };

	if (!is_code_there(p))
		return refuse_visit(err, "it ran another program meanwhile: try again");
	switch (mw_trace_visit(&p->there, p->entry, p->visit.save_bytes, &time, err)) {
	case MW_TRACE_REFUSED:
		return false;
	case MW_TRACE_DONE:
		p->stops++;
		break;
	case MW_TRACE_AGAIN:
		break;
	}
	if (time.most > p->longest.most)
		p->longest = time;
	return true;
}

static void withdraw(const struct plan *p)
{
	const uint32_t yes = 1;

	(void)mw_there_write(&p->there, p->data + offsetof(struct mw_visit, withdrawn), &yes, sizeof(yes));
}

static bool explain(const struct plan *p, uint32_t state, char *err)
{
	char why[sizeof(p->visit.error)] = "";

	switch (state) {
	case MW_VISIT_ENDS:
		return refuse_visit(err, "the process is ending: name another one");
	case MW_VISIT_NO_RUBY:
		return refuse_visit(err, "Ruby does not run in its main thread: start it with mwrap");
	case MW_VISIT_FULL:
		return refuse_visit(err, "Ruby's queue of jobs is full there: try again");
	case MW_VISIT_VERSION:
		return refuse_visit(err, "its tracker is of another version: restart the process");
	default:
		(void)mw_there_read(&p->there, p->data + offsetof(struct mw_visit, error), why,
				    sizeof(why));
		why[sizeof(why) - 1] = 0;
		snprintf(err, MW_THERE_ERROR, "libmwrap.so: can't be loaded there: %s", why);
		return false;
	}
}

static bool set_wake(const struct plan *p, char *err)
{
	const uint32_t yes = 1;

	return mw_there_write(&p->there, p->data + offsetof(struct mw_visit, wake), &yes, sizeof(yes)) ||
	       refuse_visit(err, "its memory can't be written any more: see whether it has ended");
}

/* Until the job runs. A thread that went to sleep before it saw the job is woken again. */
static bool wait_for_job(struct plan *p, uint64_t ms, char *err)
{
	uint64_t end = now_ms() + ms, again = now_ms() + AGAIN_MS;

	for (;;) {
		uint32_t state = state_of(p);

		if (state == MW_VISIT_LOADED)
			return true;
		if (state > MW_VISIT_LOADED)
			return explain(p, state, err);
		if (now_ms() >= end) {
			withdraw(p);
			return refuse_visit(
				err,
				"Ruby reached no safe point, so the request was withdrawn: see what its main thread waits for");
		}
		if (state < MW_VISIT_RUNS && now_ms() >= again) {
			if (!set_wake(p, err) || !visit_once(p, err)) {
				withdraw(p);
				return false;
			}
			again = now_ms() + AGAIN_MS;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
	}
}

static bool visit(struct plan *p, char **argv, char *err)
{
	return mw_there_open(&p->there, (pid_t)atol(argv[1]), err) && find_functions(p, err) &&
	       find_room(p, err) && fill_visit(p, argv[2], err) && write_visit(p, err) &&
	       visit_once(p, err) && wait_for_job(p, strtoull(argv[3], NULL, 10), err);
}

int main(int argc, char **argv)
{
	static struct plan p;
	char err[MW_THERE_ERROR] = "";

	if (argc != 4) {
		fprintf(stderr, "mwrap-inject: for mwrapctl only: run mwrapctl attach\n");
		return 2;
	}
	if (!visit(&p, argv, err)) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	printf("%u %llu %llu\n", p.stops, (unsigned long long)(p.longest.most / 1000),
	       (unsigned long long)(p.longest.seen / 1000));
	return 0;
}

#else

int main(void)
{
	fprintf(stderr,
		"attach needs x86-64 or arm64: put the gem into the Gemfile, or start it with mwrap\n");
	return 1;
}

#endif
