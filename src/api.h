/*
 * api.h - what the tracker offers to code outside it.
 *
 * The preloaded tracker (libmwrap.so) exports one data symbol besides the
 * functions that it interposes: `mwrap_api`, a table of function pointers.
 * The HTTP server gets it when the tracker starts it; the Ruby extension
 * looks it up with dlsym(RTLD_DEFAULT, "mwrap_api") and works, answering
 * zeros, when it is not there.
 *
 * Rules for callers:
 *  - Everything returned is a copy. No call returns with a lock or an RCU
 *    read-side section held, so callers may block, sort, write to clients
 *    or run Ruby code with what they got.
 *  - Calls allocate, and therefore track, nothing: each enters quiet mode by
 *    itself. What the caller allocates is tracked as anybody's is, unless
 *    the caller is inside quiet_enter()/quiet_leave().
 *  - Any thread may call, with or without the GVL; never a signal handler,
 *    and never between fork() and exec() in a child of a threaded process.
 *  - "NULL: no memory" is an answer that callers handle.
 */
#ifndef MW_API_H
#define MW_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MW_API_VERSION 8u

struct mw_options;

enum mw_kind {
	MW_KIND_RUBY,   /* location is "PATH:LINE" */
	MW_KIND_NATIVE, /* location is "MODULE(symbol+0x1f) [0x7f..]" */
	MW_KIND_SPECIAL /* "(other)", "(gone)", "(ruby, line not known)", "(ruby, starting)" */
};

/* One location: its counters at the moment of the snapshot. */
struct mw_row {
	/* since the last reset, or the start of the process */
	uint64_t total;       /* bytes allocated */
	uint64_t allocations; /* calls */
	uint64_t frees;       /* calls; after a reset it may exceed allocations */
	uint64_t freed;       /* bytes freed */
	uint64_t life_sum;    /* lifespans of the freed, see mw_stats.life_unit */
	uint64_t life_max;
	int64_t growth;       /* bytes: live_bytes now less at the reset (or fork) */
	/* now, whatever was reset */
	uint64_t live_bytes;
	uint64_t live;        /* blocks */
	/* since the start, whatever was reset; see mw_stats.overruns */
	uint64_t overruns;    /* blocks of this location found written past their end */
	uint64_t overrun_size; /* bytes asked for, of the last of them; 0: none */
	/*
	 * How much of the first ones a forked process was born with: it is in
	 * its parent's, too. Zeros where no server is asked for.
	 */
	struct {
		uint64_t total, allocations, frees, freed, life_sum;
	} born;
	/* where; bytes as the system has them, not necessarily UTF-8 */
	const char *location; /* NUL-terminated, owned by the snapshot */
	uint32_t location_len;
	uint32_t file_len;    /* how much of `location` names the file or module */
	uint64_t at;          /* RUBY: the line; NATIVE: the offset in its module */
	uint32_t id;          /* for lives(); stable while anything is live there */
	enum mw_kind kind;
	uint32_t processes;   /* of a family's sum: how many know it; else 0 */
};

struct mw_snapshot {
	size_t n;
	struct mw_row *rows; /* in no particular order; every location used */
	bool family;         /* a sum over processes: not the tracker's, but src/family's */
};

/* One live allocation. */
struct mw_live {
	uintptr_t addr;
	uint64_t size;       /* bytes asked for */
	uint64_t generation; /* at allocation: GC.count, or bytes allocated */
	uint32_t id;         /* its location */
};

struct mw_lives {
	size_t n;
	struct mw_live *v;
};

struct mw_stats {
	uint64_t total, allocations, freed, frees; /* sums over all rows */
	uint64_t live_bytes, live;
	uint64_t locations, locations_max; /* in the table now; its ceiling */
	uint64_t retired;         /* locations folded into "(gone)" so far */
	uint64_t generation;      /* now */
	const char *life_unit;    /* "gc" or "bytes": what lifespans count */
	const char *ruby_lookup;  /* "fast", "public", "starting", "ended" or "none" */
	const char *ruby_why;     /* why "public" is in use, or "" */
	/*
	 * What malloc and free take for granted: "ruby" (the C library's allocator, lines found the
	 * fast way, GC.count read), "bytes" (that allocator, and no Ruby), or "none", the slow
	 * way, and why, or "". How GC.count is read: "memory", "call" of Ruby's function,
	 * "starting" (0 until Ruby is up), "ended" (as it was then) or "none" (no Ruby).
	 */
	const char *mode, *mode_why, *gc_count;
	uint64_t tracker_bytes;   /* memory held for the tracker's own tables: arena.h */
	uint64_t memory_max;      /* its ceiling, 0: none; arena.h says what that covers */
	/* for want of memory, or at a ceiling; once true, they stay true */
	bool locations_full;      /* a location found no room: it is in "(other)" */
	bool records_full;        /* a live block found none: it is in `lost` */
	bool threads_full;        /* a thread did: its calls count at their native callers */
	bool paused;              /* see mw_api.pause */
	uint64_t lost;            /* live records that could not be had */
	/*
	 * Since the start, whatever was reset. A block whose last bytes, which
	 * are the tracker's, were overwritten is found at its free or realloc:
	 * an overrun. It is freed, and counted as freed, as any other. A free
	 * of no live block is passed on: a double one if it looks as if a block
	 * of the tracker's had been there, else an unknown one (a block
	 * that another allocator made, or none at all).
	 */
	uint64_t overruns, double_frees, unknown_frees;
	uint64_t heap_bytes;      /* Ruby's heap pages, if heap_known */
	bool heap_known;
	const char *ruby;         /* its version, "3.4.5"; NULL: no Ruby, or not known */
	double uptime;            /* seconds */
	long forker;              /* the process that this one was forked from; 0: it was exec'ed */
	long eldest;              /* the first one of that line of forks; 0: this one */
	uint64_t resets;
	uint32_t processes;       /* a family's sum: of how many; else 0 */
	/*
	 * As the first four, but since the start, whatever was reset: they never go back. A
	 * forked child goes on from its parent's. False: no memory to add them up, and they are 0.
	 */
	bool ever_known;
	uint64_t ever_total, ever_allocations, ever_freed, ever_frees;
};

/* Spans of time in generations (GC.count). Of none, all are 0. */
struct mw_spans {
	uint64_t n, sum, min, max;
	double stddev; /* of the whole population, not of a sample */
};

/* Ruby's heap pages, since the start, whatever was reset. */
struct mw_heap_sums {
	uint64_t pages, bytes;  /* live now; of the bytes, only what the objects have */
	uint64_t lost;          /* pages for which there was no memory: in no other number */
	struct mw_spans lives;  /* of pages that died: n of them */
	struct mw_spans deaths; /* from a page's death to the next one at its address: n resurrections */
};

/* One live page. */
struct mw_heap_page {
	uintptr_t addr;
	uint64_t bytes;
	uint64_t generation; /* of its birth */
};

struct mw_heap {
	struct mw_heap_sums sums;
	uint64_t generation; /* now */
	size_t n; /* sums.pages */
	struct mw_heap_page *v; /* in no particular order */
};

/* Where the server finds its relatives, and they it: see src/family/family.h. */
struct mw_server_endpoint {
	char path[108]; /* of the option `socket`, absolute, or instead of it for `listen`; "": none is shared */
	char dir[108]; /* of `socket_dir`, absolute; "": not given */
	char token[513]; /* what they want to hear, "": nothing */
};

/* What libmicrohttpd calls when it can't go on. */
typedef void (*mw_panic_fn)(void *cls, const char *file, unsigned line, const char *why);

struct mw_api {
	uint32_t version; /* MW_API_VERSION of the tracker */

	const struct mw_options *(*options)(void); /* never NULL */

	/* All locations; NULL: no memory. Free with snapshot_free. */
	struct mw_snapshot *(*snapshot)(void);
	void (*snapshot_free)(struct mw_snapshot *);

	/*
	 * The row of a Ruby location as it is shown, "PATH:LINE", without its
	 * text, for much less than a snapshot costs. False: there is none by
	 * exactly that name; one that is shown escaped may be in a snapshot.
	 */
	bool (*find)(const char *location, size_t n, struct mw_row *);

	/*
	 * The absolute path of the file that Ruby itself read code from which it
	 * calls by these n bytes, with a NUL, into to[size]; returns its length. 0:
	 * there is none (any code can be evaluated under any name), or no room.
	 */
	size_t (*source)(const char *name, size_t n, char *to, size_t size);

	/*
	 * The live allocations of the n locations ids[], all if ids is NULL.
	 * Blocks freed meanwhile may be missing or present; none is torn.
	 * NULL: no memory. Free with lives_free.
	 */
	struct mw_lives *(*lives)(const uint32_t *ids, size_t n);
	void (*lives_free)(struct mw_lives *);

	void (*stats)(struct mw_stats *);

	/* Counters start again from zero; live blocks stay known. */
	void (*reset)(void);

	/* malloc_trim(3): true if memory was given back. */
	bool (*trim)(void);

	/*
	 * Tracking off (true) or on (false), for the whole process. What is
	 * allocated while it is off is not counted, then or later; a realloc
	 * then is the free of a known block. What is live stays known, and its
	 * frees are counted. Calls under way at this moment count before or
	 * after it. A forked child inherits it.
	 */
	void (*pause)(bool on);
	bool (*paused)(void);

	/*
	 * This thread's allocations are not tracked until the same number of
	 * quiet_leave()s. Both return the depth after the call.
	 */
	unsigned (*quiet_enter)(void);
	unsigned (*quiet_leave)(void);
	/*
	 * The same as a switch, beside that depth: this thread's allocations are not
	 * tracked while it is on. For code that a thread leaves and comes back to in
	 * other ways than calls are left, as Fibers are.
	 */
	void (*hush)(bool on);

	/* Ruby's heap pages: zeros where there are none, or none can be seen. */
	void (*heap_sums)(struct mw_heap_sums *);
	/* These and the live pages, at one moment. NULL: no memory. Free with heap_free. */
	struct mw_heap *(*heap)(void);
	void (*heap_free)(struct mw_heap *);

	/* False, and zeros: there is no server in this process, or none yet. */
	bool (*server_endpoint)(struct mw_server_endpoint *);

	/*
	 * libmicrohttpd calls `ours` in a panic from now on: `set` is its MHD_set_panic_func(), past
	 * ours of the same name. panic_pass() then does what the application set; false: nothing.
	 */
	void (*panic_take)(void (*set)(mw_panic_fn, void *), mw_panic_fn ours);
	bool (*panic_pass)(const char *file, unsigned line, const char *why);
};

#endif
