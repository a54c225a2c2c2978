/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api.h - the tracker's functions for the server and the extension.
 *
 * The preloaded tracker (libmwrap.so) exports one data symbol besides the functions that it
 * interposes: `mwrap_api`, a table of function pointers. The tracker hands it to the HTTP server
 * at its start. The Ruby extension looks it up with dlsym(RTLD_DEFAULT, "mwrap_api"). Without the
 * symbol the extension still works, and answers zeros.
 *
 * Rules for callers:
 *  - Each result is a copy. No call but server_site returns with a lock or an RCU read-side
 *    section held. So callers may block, sort, write to clients or run Ruby code with a result.
 *  - A call that allocates enters quiet mode by itself, but for live_sums_free: its own allocations
 *    aren't tracked. The caller's allocations, those of each_live's function included, are tracked, unless
 *    the caller is inside quiet_enter()/quiet_leave().
 *  - Any thread may call, with or without the GVL. A signal handler must not call, nor a child
 *    of a threaded process between fork() and exec().
 *  - "NULL: no memory" is an answer that callers handle.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MW_API_VERSION 30u

/*
 * The ids of a process's locations are below it: in rows, live blocks and events. Tables by id have so
 * many entries. Where a word has bits for an id, a static assertion says that they are enough. The
 * rows of a family's sum have other ids: their numbers.
 */
#define MW_ID_END 131072u
#define MW_ID_NOWHERE 0u /* no location has it */
#define MW_ID_JIT 5u /* of MW_LOCATION_JIT */

struct mw_options; /* shared/options/options.h */
struct mw_family;  /* server/family/family.h */
struct mw_site;    /* server/pages/site.h */

enum mw_kind {
	MW_KIND_RUBY,   /* location is "PATH:LINE", with callers "PATH:LINE < PATH:LINE ..." */
	MW_KIND_NATIVE, /* location is "MODULE(symbol+0x1f) [0x7f..]" */
	MW_KIND_SPECIAL /* such as "(other)" or "(ruby, starting)": callsite.h has all */
};

/* The location of what Ruby's compilers allocate, YJIT and ZJIT. */
#define MW_LOCATION_JIT "(ruby, JIT compiler)"

/* One location, with its counters at the moment of the snapshot. */
struct mw_row {
	/* since the last reset, or the start of the process */
	uint64_t total;       /* bytes allocated */
	uint64_t allocations; /* calls */
	uint64_t frees;       /* calls; after a reset it may exceed allocations */
	uint64_t freed;       /* bytes freed */
	uint64_t life_sum;    /* lifespans of the freed, see mw_stats.life_unit */
	uint64_t life_max;
	int64_t growth;       /* bytes: live_bytes now less live_bytes at the reset (or fork) */
	/* now; a reset doesn't change these */
	uint64_t live_bytes;
	uint64_t live;        /* blocks */
	uint64_t peak_bytes;  /* live here when all live memory was highest: mw_stats.peak_bytes */
	/* of what is live, that was sampled: see mw_api.count. 0: every block was counted */
	uint64_t live_samples;
	uint64_t live_variance; /* of live_bytes, in KiB squared */
	/* since the start; a reset doesn't change these; see mw_stats.overruns */
	uint64_t overruns;    /* blocks of this location found written past their end */
	uint64_t overrun_size; /* bytes asked for, of the last of them; 0: none */
	uint64_t wrong_sizes; /* blocks of this location that were freed with a wrong size */
	uint64_t asked_size, given_size; /* bytes, of the last of these */
	/*
	 * Ruby objects that were made here and stay, estimated from samples (server/objects); a reset doesn't
	 * change these. Their slots in Ruby's heap, not what they have from malloc. Zeros: no sample.
	 */
	uint64_t objects, object_bytes;
	uint64_t object_samples; /* that this rests on */
	uint64_t object_variance; /* of `objects` */
	/*
	 * Fork baseline: the part of the first counters that a forked process inherited. Its
	 * parent counts that part, too. Zeros if no option asks for a server.
	 */
	struct {
		uint64_t total, allocations, frees, freed, life_sum;
	} fork_baseline;
	/* location; bytes as the system has them, not necessarily UTF-8 */
	const char *location; /* NUL-terminated, owned by the snapshot */
	uint32_t location_len;
	uint32_t file_len;    /* how much of `location` names the file or module */
	uint64_t at;          /* RUBY: the line; NATIVE: the offset in its module */
	uint32_t id;          /* for lives(); stable while anything is live there */
	enum mw_kind kind;
	uint32_t processes;   /* in a family's sum: processes that know the location; else 0 */
	/* the kind of most of its bytes: set by a reader (shared/report/kinded.h); NULL: none asked */
	const char *top_kind; /* "string" */
	uint32_t top_share;   /* of 1,000; 0: nothing is known */
	uint32_t kind_samples; /* that this rests on */
};

/* A location's part of Ruby's objects, as in struct mw_row. */
struct mw_object_sum {
	uint32_t id, samples;
	uint64_t objects, bytes;
	uint64_t variance; /* of `objects` */
};
/* One stack's samples of objects, and the objects that they stand for. */
struct mw_object_stack {
	uint32_t id, stack, samples;
	double objects, bytes;
};
enum { MW_OBJECT_SUMS = 2048 }; /* locations with such a sum, at most */

struct mw_snapshot {
	size_t n;
	struct mw_row *rows; /* in no particular order; every location used */
	bool family;         /* a sum over processes, made by src/server/family, not by the tracker */
	bool kinds;          /* the rows' kinds are set */
};

/* One live allocation. */
struct mw_live {
	uintptr_t addr;
	uint64_t size;       /* bytes asked for */
	uint64_t generation; /* at allocation: GC.count, or bytes allocated */
	uint32_t id;         /* its location */
	uint32_t ref; /* a number that no other live block has: from each_live only, else 0 */
};

struct mw_lives {
	size_t n;
	struct mw_live *v;
};

/* Where malloc's live blocks are. */
struct mw_places {
	bool arenas; /* glibc's allocator: its arenas are recognised by their place */
	size_t n;
	struct mw_live *v; /* the large blocks, by address */
	/* multiples of 64 MiB from which on there is a smaller block, by address */
	size_t windows_n;
	uintptr_t windows[256];
	/* the thread pointers of threads that allocated, by address: each lies at its stack's end */
	size_t threads_n;
	uintptr_t threads[1024];
};
#define MW_PLACES_WINDOW ((uintptr_t)64 << 20)

/*
 * Live bytes by id, without names. Each id has one tenant at a time: another stamp means another
 * tenant. An id without a location, and one that is shown as another, has 0 bytes.
 */
struct mw_live_sum {
	uint64_t bytes;
	uint32_t stamp;
};
struct mw_live_sums {
	uint32_t end;          /* one past the highest id */
	struct mw_live_sum *v; /* by id; v[0] is unused */
	size_t size;           /* bytes of memory there */
};

/* Blocks may live that are in no row, and that no each_live shows. The first reason that holds. */
enum mw_missing {
	MW_MISSING_NONE,    /* all are known */
	MW_MISSING_SAMPLED, /* allocations are sampled: few blocks are known */
	MW_MISSING_ONCE,    /* they were sampled for a while */
	MW_MISSING_BEFORE,  /* tracking began in a process that ran already */
	MW_MISSING_PAUSED,  /* tracking was off for a while */
	MW_MISSING_MEMORY   /* the tracker had no memory for their records */
};

/* Uses of the tracker's memory. */
enum mw_held_for {
	MW_HELD_LOCATIONS,
	MW_HELD_RECORDS, /* of live blocks */
	MW_HELD_THREADS,
	MW_HELD_HISTORY,
	MW_HELD_STACKS,
	MW_HELD_NAMES,
	MW_HELD_TABLES_N,
	MW_HELD_SERVER = MW_HELD_TABLES_N, /* blocks of its threads */
	MW_HELD_TAILS, /* at the ends of live blocks; some of these had room for it */
	MW_HELD_N
};

struct mw_stats {
	uint64_t total, allocations, freed, frees; /* sums over all rows */
	uint64_t live_bytes, live;
	uint64_t locations, locations_max; /* in the table now; the table's ceiling */
	uint64_t retired;         /* locations folded into "(gone)" so far */
	uint64_t generation;      /* now */
	const char *life_unit;    /* "gc" or "bytes": what lifespans count */
	const char *ruby_lookup;  /* "fast", "public", "starting", "ended" or "none" */
	const char *ruby_why;     /* why "public" is in use, or "" */
	/*
	 * mode: "ruby" (lines are found the fast way, and GC.count is read), "bytes" (no Ruby) or
	 * "none" (the slow way).
	 * mode_why: the reason for "none", or "".
	 * gc_count, how GC.count is read: "memory", "call" (of Ruby's function),
	 * "starting" (0 until Ruby is up), "ended" (its last value) or "none" (no Ruby).
	 */
	const char *mode, *mode_why, *gc_count;
	/*
	 * Where the blocks of Ruby's compilers count, YJIT's and ZJIT's own: "apart" (in MW_LOCATION_JIT), "lines"
	 * (each at the line for which it was made) or "none" (no compiler has begun).
	 */
	const char *ruby_jit;
	/*
	 * What tracking takes here. clocked_*: of some calls, whose time was taken: how many, and the tracker's own part of
	 * it, in ns (tracker/track/clocked.h). own_threads_ns: CPU time of the tracker's threads.
	 * held: bytes by use, whose first ones are tracker_bytes.
	 */
	uint64_t clocked_allocs, clocked_frees;
	double clocked_alloc_ns, clocked_free_ns;
	uint64_t own_threads_ns;
	uint64_t held[MW_HELD_N];
	uint64_t tracker_bytes;   /* memory held for the tracker's own tables: arena.h */
	uint64_t memory_max;      /* ceiling of tracker_bytes, 0: none; arena.h: its extent */
	/* no memory, or a ceiling was reached; once true, they stay true */
	bool locations_full;      /* a location found no room: it is in "(other)" */
	bool records_full;        /* a live block found no record: it is in `lost` */
	bool threads_full;        /* a thread found no shard: its calls count at native callers */
	/*
	 * Bytes live when they were most since the reset, as far as somebody looked: each reading of
	 * these looks (tracker/table/peak.h). And when that was, in seconds of uptime. 0: nobody looked yet.
	 */
	uint64_t peak_bytes;
	double peak_uptime;
	bool paused;              /* see mw_api.pause */
	bool sampled;             /* allocations are sampled now: see mw_api.count */
	uint64_t sample_rate;     /* bytes from sample to sample, if they are */
	uint64_t live_samples;    /* live blocks that stand for others; 0: all figures are exact */
	uint64_t live_error;      /* bytes by which live_bytes may be off, in 19 of 20 cases */
	uint64_t lost;            /* live blocks without a record */
	enum mw_missing missing;  /* why live blocks may be in no row */
	/*
	 * Since the start; a reset doesn't change these.
	 *  - overruns: blocks whose last bytes, the tracker's tail, were overwritten. free or
	 *    realloc finds them. They are freed, and counted as freed, as any other.
	 *  - double_frees: frees of no live block, where a tracked block seems to have been.
	 *  - unknown_frees: other frees of no live block: another allocator's block, or none.
	 *  - wrong_sizes: blocks whose sized free (C++'s operator delete) had another size than was
	 *    asked for.
	 * A free of no live block is passed on.
	 */
	uint64_t overruns, double_frees, unknown_frees, wrong_sizes;
	uint64_t heap_bytes;      /* Ruby's heap pages, if heap_known */
	bool heap_known;
	const char *ruby;         /* its version, "3.4.5"; NULL: no Ruby, or not known */
	double uptime;            /* seconds since tracking began */
	const char *how;          /* "preload"; of one that ran already "started", "attached" */
	double since;             /* age of the process when tracking began, in seconds; 0: preload */
	long forker;              /* pid of the process that forked this one; 0: it was exec'ed */
	long eldest;              /* pid of the first one of that line of forks; 0: this one */
	uint64_t resets;
	uint32_t processes;       /* in a family's sum: number of processes; else 0 */
	uint32_t sampling;        /* in a family's sum: how many of them are `sampled` */
	/*
	 * As the first four, but since the start: a reset doesn't change them, and they never go
	 * back. A forked child goes on from its parent's numbers. ever_known is false, and they
	 * are 0, if there was no memory to add them up.
	 */
	bool ever_known;
	uint64_t ever_total, ever_allocations, ever_freed, ever_frees;
	/* the stacks that are kept; all since the start, but the first two */
	uint64_t stacks_rate;      /* mean bytes from sample to sample, now; 0: none are taken */
	uint64_t stacks;           /* now */
	uint64_t stacks_samples;
	uint64_t stacks_first;     /* stacks taken at a location without one: not samples */
	uint64_t stacks_dropped;   /* samples lost: two threads at once, or no room */
	uint64_t stacks_folded; /* stacks that found no room: their samples count without a caller */
	uint64_t stacks_ns; /* ns that threads spent on it */
	uint32_t bt; /* Ruby callers kept with each location, now; 0: none */
	/*
	 * Bytes of malloc's blocks that lived when tracking began, last, with what malloc needs for each: in
	 * no other number. 0: preload. Not known of other allocators than glibc's, and above 1 GiB of RSS.
	 */
	bool before_known;
	uint64_t before_bytes;
};

/* Spans of time in generations (GC.count). Without any span, all fields are 0. */
struct mw_spans {
	uint64_t n, sum, min, max;
	double stddev; /* of the whole population, not of a sample */
};

/* Ruby's heap pages since the start; a reset doesn't change these. */
struct mw_heap_sums {
	uint64_t pages, bytes; /* live now; the bytes are those of the objects only */
	uint64_t lost; /* pages without an entry for want of memory: in no other number */
	struct mw_spans lives; /* n pages that died */
	struct mw_spans deaths; /* from a page's death to the next page at its address: n spans */
};

/* One live page. */
struct mw_heap_page {
	uintptr_t addr;
	uint64_t bytes;
	uint64_t generation; /* at its birth */
};

struct mw_heap {
	struct mw_heap_sums sums;
	uint64_t generation; /* now */
	bool whole; /* false: some from before tracking may be missing */
	size_t n; /* sums.pages */
	struct mw_heap_page *v; /* in no particular order */
};

/* libmicrohttpd calls it when it can't go on. */
typedef void (*mw_panic_fn)(void *cls, const char *file, unsigned line, const char *why);

/* A frame of the sampled stacks. */
struct mw_stacked_frame {
	const char *name; /* bytes, with a NUL; "": not known (yet) */
	const char *file; /* of Ruby code; the module of native code; "" */
	uint32_t line; /* 0: not known */
	uint64_t address; /* of native code; else 0 */
	enum mw_kind kind; /* NATIVE: a C function or a method that is one */
};

/* A stack of sampled allocations of one location, and what its samples stand for. */
struct mw_stacked {
	uint32_t id; /* the location's, as in struct mw_row */
	uint32_t first, depth; /* frames[chain[first]] is the innermost; 0: the location without a caller */
	double bytes, blocks; /* allocated since the reset */
	double live_bytes, live_blocks; /* of these, and of those before, live now */
	double ever; /* bytes since the start; above 0 if the stack was only seen */
	uint32_t samples, live_samples;
	double born_bytes; /* of the live ones, those that were born in the range asked for */
	uint32_t born_samples;
	double objects,
		object_bytes; /* of Ruby's that stay, made at the location: those whose stacks were kept */
	uint32_t object_samples;
	uint32_t label; /* frames[label] has the name of what the thread worked at; 0: it had none */
};

struct mw_stacks {
	size_t n, n_frames, n_chain;
	struct mw_stacked *v;
	struct mw_stacked_frame *frames;
	uint32_t *chain;
	char *texts;
	uint64_t rate; /* mean bytes from sample to sample, now; 0: sampling is off */
	size_t bytes[4]; /* of these four pieces of memory */
};

/* How calls are to be recorded. */
struct mw_record_how {
	const char *path; /* absolute, with %p for the PID; NULL: mwrap.PID.mwtrace in $TMPDIR or /tmp */
	uint64_t size_max, seconds_max; /* bytes of the file; 0: no limit */
	bool fine; /* a fine clock */
	bool wait; /* threads wait for a slow disk, up to 50 ms for each 64 KiB, before events are dropped */
};

enum mw_record_is { MW_RECORD_NONE, MW_RECORD_STARTING, MW_RECORD_ON, MW_RECORD_ENDED };
enum mw_record_reason {
	MW_RECORD_STOP, /* asked for */
	MW_RECORD_EXIT,
	MW_RECORD_SIZE,
	MW_RECORD_SECONDS,
	MW_RECORD_DISK, /* full, or another error of the file */
	MW_RECORD_ERROR
};

/* A recording, as far as it is. The recorder's thread writes it: relaxed words but for `is`. */
struct mw_record_state {
	uint32_t is; /* enum mw_record_is; release */
	uint32_t reason; /* once it has ended: enum mw_record_reason */
	uint64_t events, bytes;
	uint64_t lost; /* while it goes on, record_state counts them: the recorder's thread may wait for a disk */
	uint64_t begin_ns, end_ns; /* of CLOCK_MONOTONIC */
	char path[4096]; /* of the file; written before `is` is ON */
	char why[384]; /* of an error; written before `is` is ENDED; "" */
};

/* server_site's answers. */
enum mw_site_is {
	MW_SITE_TAKEN,
	MW_SITE_BUSY, /* not in time: its server starts, is busy, or isn't run */
	MW_SITE_NONE /* no server runs in this process, nor will one */
};

struct mw_api {
	uint32_t version; /* MW_API_VERSION of the tracker */

	const struct mw_options *(*options)(void); /* never NULL */

	/* All locations; NULL: no memory. Free with snapshot_free. */
	struct mw_snapshot *(*snapshot)(void);
	void (*snapshot_free)(struct mw_snapshot *);

	/*
	 * The row of a Ruby location as it is shown, "PATH:LINE", without its text. Costs much
	 * less than a snapshot. False: no location has exactly that name. A snapshot may have
	 * one that is shown escaped.
	 */
	bool (*find)(const char *location, size_t n, struct mw_row *);

	/*
	 * Ruby names code by these n bytes, and read it from a file. Writes that file's
	 * absolute path, with a NUL, into to[size]; returns the path's length.
	 * 0: no room, or no file (any code can be evaluated under any name).
	 */
	size_t (*source)(const char *name, size_t n, char *to, size_t size);

	/*
	 * The live allocations of the n locations ids[], or all if ids is NULL.
	 * Blocks freed meanwhile may be missing or present; none is torn.
	 * NULL: no memory. Free with lives_free.
	 */
	struct mw_lives *(*lives)(const uint32_t *ids, size_t n);
	void (*lives_free)(struct mw_lives *);

	/*
	 * The live blocks of `least` bytes or more, and where smaller ones are. NULL: no memory.
	 * Free with places_free.
	 */
	struct mw_places *(*places)(uint64_t least);
	void (*places_free)(struct mw_places *);

	/* False: no memory, and zeros. Free with live_sums_free. Much cheaper than a snapshot. */
	bool (*live_sums)(struct mw_live_sums *);
	void (*live_sums_free)(struct mw_live_sums *);

	/*
	 * Zeroed memory for good, for the history, counted as the tracker's own. NULL: no memory,
	 * or memory_max leaves none: the history gets at most an eighth of it.
	 */
	void *(*keep)(size_t bytes);

	/*
	 * Calls f each second, in a quiet thread of the tracker's, until the process ends. A forked
	 * child goes on with that. For one f in a process: the first one counts. False: there is
	 * no memory for it.
	 */
	bool (*every_second)(void (*f)(void));

	/*
	 * The sampled stacks. from, to: a range of time, in whole seconds of uptime, `to` excluded; it
	 * matters for born_bytes and born_samples only. NULL: no memory. Free with stacks_free.
	 */
	struct mw_stacks *(*stacks)(uint32_t from, uint32_t to);
	void (*stacks_free)(struct mw_stacks *);

	void (*stats)(struct mw_stats *);
	/*
	 * Ruby's major collections since its start: GC.stat(:major_gc_count), and those of them that
	 * are surely done. False: not known. The owner of the server's site asks, nobody else. May be
	 * NULL.
	 */
	bool (*majors)(uint32_t *begun, uint32_t *done);

	/*
	 * For tests: true: forgets the peak, and watches it so that no step of a thread is missed, until a call
	 * with false. One caller at a time. False: it can't, since the tracker is off or counts samples.
	 */
	bool (*watch_peak)(bool on);

	/* Counters start again from zero; live blocks stay known. */
	void (*reset)(void);

	/*
	 * malloc_trim(3), or what another allocator has for that: true if memory may have been given back.
	 * It may hold the allocator's locks for long.
	 */
	bool (*trim)(void);

	/*
	 * Tracking off (true) or on (false), for the whole process. While it is off:
	 *  - allocations are not counted, then or later;
	 *  - a realloc counts as the free of a known block;
	 *  - live blocks stay known, and their frees are counted.
	 * Calls under way at this moment count before or after it. A forked child inherits it.
	 */
	void (*pause)(bool on);
	bool (*paused)(void);
	/*
	 * Counts every block from now on (exactly), or samples allocations: then `rate` is the mean number of bytes from
	 * sample to sample, 0: that of the stacks. Blocks that live stay in the table, sampled ones as estimates. Any
	 * thread but a signal handler's; other threads' calls pass through for milliseconds, uncounted. False: a thread
	 * is within the tracker and doesn't get on, or a recording is running; nothing is changed.
	 */
	bool (*count)(bool exactly, uint64_t rate);

	/*
	 * In a process that loaded the tracker itself, after its start: begins to track, or goes on
	 * after detach. options: as in $MWRAP, or NULL. err has MW_ERROR_MAX bytes. False: a line in err,
	 * and nothing is tracked. detach: the process runs as without the tracker, the tables stay as
	 * they are; what lives then counts as freed when attach goes on. Both with Ruby's lock. May be
	 * NULL.
	 */
	bool (*attach)(const char *options, char *err);
	bool (*detach)(char *err);
	/*
	 * Called by Ruby code that was compiled after attach: the tracker looks how this Ruby keeps
	 * code. Until then it doesn't remember the lines of code from before. May be NULL.
	 */
	void (*learn_code)(void);

	/* Ruby callers kept with each new allocation's location: 0 to 16 */
	void (*set_bt)(unsigned callers);
	/* As the option stacks: mean bytes from sample to sample, 0: none; automatic: at first. */
	void (*set_stacks)(uint64_t rate, bool automatic);

	/*
	 * This thread's allocations are not tracked until as many quiet_leave()s as
	 * quiet_enter()s. Both return the depth after the call.
	 */
	unsigned (*quiet_enter)(void);
	unsigned (*quiet_leave)(void);
	/*
	 * The same as a switch, in addition to that depth: this thread's allocations are not
	 * tracked while it is on. For Fibers and other code that a thread leaves and re-enters
	 * without a return.
	 */
	void (*hush)(bool on);
	/*
	 * The number of a label (tracker/table/labels.h), which stays; 0: the empty one, none. label_set: this thread works
	 * at that from now on; returns the label before. Stacks that are sampled meanwhile have the label.
	 */
	uint32_t (*label_of)(const char *text, size_t n);
	uint32_t (*label_set)(uint32_t label);

	/*
	 * Starts run(arg) in a detached thread of the tracker's kind, or in one that is waited for: quiet, all signals
	 * blocked. `stack` is in bytes. They return 0, or an errno. leaving: such a thread must end soon, since
	 * the app makes a call during which none may exist (tracker/base/own_thread.h).
	 */
	int (*thread_start)(void *(*run)(void *), void *arg, size_t stack);
	int (*thread_run)(void *(*run)(void *), void *arg, size_t stack, void **result);
	bool (*leaving)(void);
	/* Such a thread sleeps until that moment of CLOCK_MONOTONIC, in ns. False: it must end. */
	bool (*sleep_until)(uint64_t ns);

	/*
	 * ask_ruby: Ruby calls run(NULL) in one of its threads, with the GVL, where Ruby code may run anyway. Any thread, also in
	 * a hook of Ruby's. False: it takes no such job, or its code has ended. A job that was asked for before may still run
	 * after that, while Ruby ends its threads: it sets no hook then (while_ruby). May be NULL.
	 * while_ruby: f(ctx) here and now, for a moment in which Ruby doesn't end: f may call functions of Ruby's that only
	 * read, and in a job any. Any thread. False: Ruby isn't there, or has ended. May be NULL.
	 *
	 * For the sampling of Ruby's objects (server/objects). object_here: the location of the Ruby code that the
	 * calling thread runs, with the GVL and outside of a collection; MW_ID_NOWHERE: none, or the thread is in the tracker
	 * or quiet. stack: who called it, unless it is NULL; 0: that isn't kept. It allocates nothing of Ruby's. The
	 * location isn't retired, nor is the stack forgotten, until as many object_gone calls.
	 * objects: these sums, by ascending id, count in rows from now on, and those of stacks in stacks; each id is
	 * held. One thread at a time, in quiet.
	 */
	bool (*ask_ruby)(void (*run)(void *));
	bool (*while_ruby)(void (*f)(void *), void *ctx);
	uint32_t (*object_here)(uint32_t *stack);
	void (*object_gone)(uint32_t id, uint32_t stack);
	void (*objects)(const struct mw_object_sum *, size_t n, const struct mw_object_stack *,
			size_t stacks);

	/* Ruby's heap pages: zeros if there are none, or none can be seen. */
	void (*heap_sums)(struct mw_heap_sums *);
	/* The sums and the live pages, at one moment. NULL: no memory. Free with heap_free. It waits for no other thread's work. */
	struct mw_heap *(*heap)(void);
	void (*heap_free)(struct mw_heap *);

	/* How the server's family is reached. False: no server runs in this process, or not yet. */
	bool (*server_endpoint)(struct mw_family *);

	/*
	 * Takes the server's site for this thread, with its point of this second, until
	 * server_site_give. Others, also the server's thread, wait meanwhile. Waits `ms`
	 * milliseconds at most. The caller is in quiet mode. In between it calls nothing of Ruby's.
	 */
	enum mw_site_is (*server_site)(struct mw_site **, unsigned ms);
	void (*server_site_give)(void);

	/*
	 * Loads a shared object from the tracker's folder, for good, as the server itself was loaded:
	 * in a thread of its own, and a fork waits meanwhile. The server's thread only. Returns
	 * dlopen's handle; NULL: a line in err, which has MW_ERROR_MAX bytes.
	 */
	void *(*load)(const char *name, char *err);
	/*
	 * The same in the calling thread, as Ruby loads an extension, for a thread with Ruby's lock: no other
	 * thread of Ruby's forks meanwhile. A child that another thread forks loads nothing more. The caller is
	 * in quiet mode. NULL: no tracker.
	 */
	void *(*load_here)(const char *name, char *err);
	/*
	 * This process has the extension: it may want the server's library later, when it can't read the
	 * tracker's folder any more. So that is loaded before, as for a server (tracker/process/rights.c). A
	 * forked child inherits it. May be NULL.
	 */
	void (*extended)(void);

	/*
	 * panic_take: libmicrohttpd calls `ours` in a panic from now on. `set` is the library's
	 * own MHD_set_panic_func(), not the tracker's hook of that name.
	 * panic_pass: calls the handler that the application set; false: it set none.
	 */
	void (*panic_take)(void (*set)(mw_panic_fn, void *), mw_panic_fn ours);
	bool (*panic_pass)(const char *file, unsigned line, const char *why);

	/*
	 * Calls f with each live allocation. Takes no lock and no memory. f may do neither. It and
	 * live_leads are the functions here that a child may call that was made by clone() past all atfork
	 * handlers. NULL: no tracker.
	 */
	void (*each_live)(void (*f)(const struct mw_live *, void *ctx), void *ctx);
	/*
	 * Is the block the last one that was allocated there? False also if it has nothing behind it that says so.
	 * room: bytes from its start that can be read. In a process where nothing allocates.
	 */
	bool (*live_leads)(const struct mw_live *, size_t room);
	/* The main thread, as its pthread_self(); 0: not known. */
	uintptr_t (*main_thread)(void);

	/*
	 * In a process that loaded the tracker itself: begins to track, or stops, if mwrapctl(1) asks for
	 * that, and answers it. False: tracking has never begun. With Ruby's lock. May be NULL.
	 */
	bool (*asked)(void);

	/* "glibc", "jemalloc", "mimalloc" or "tcmalloc"; "": another one. May be NULL. */
	const char *(*allocator)(void);
	/* Calls f with each piece of the tracker's own memory, in no order. May be NULL. */
	void (*each_own)(void (*f)(uintptr_t start, size_t bytes, void *ctx), void *ctx);
	/*
	 * Calls f with anonymous memory of 64 KiB and more that the application mapped itself, and the location
	 * of the call, in no order. Some of it may be gone. Takes no lock. May be NULL.
	 */
	void (*each_mapping)(void (*f)(uintptr_t start, size_t bytes, uint32_t id, void *ctx), void *ctx);

	/*
	 * Records each call of malloc and its relatives, from now on, into a new file. Waits up to 2 seconds for it.
	 * False: a line in err, which has MW_ERROR_MAX bytes, and nothing is recorded. May be NULL.
	 */
	bool (*record_start)(const struct mw_record_how *, char *err);
	/* Ends the recording, and waits up to 3 seconds for its file. False: not in time, or there is none. */
	bool (*record_stop)(void);
	/* The recording that is under way, or the last one. NULL: there was none. */
	const struct mw_record_state *(*record_state)(void);
};
