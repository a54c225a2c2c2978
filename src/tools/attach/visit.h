/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * visit.h - the code that runs in a process without the gem, and what it knows.
 *
 * mwrap-inject copies the section mw_visit to unused bytes at the end of a library's code there, and
 * struct mw_visit to such bytes at the end of a library's data. It calls no function of this program and has
 * no data of its own, so that it runs anywhere.
 *
 * mw_visit_entry runs in the main thread, which was led there from any instruction, like a signal
 * handler. It changes no register, and nothing remembers where the thread was but its own stack. On x86-64 the
 * address to which it returns is MW_VISIT_SKIP bytes below where the thread's stack was: what lies between may be a
 * leaf function's. On arm64 a signal's frame is there. So mwrap-inject may end at any moment, or visit again.
 * It asks Ruby, by what is safe in a signal handler, to call the job at a safe point. If no thread comes
 * to one, a second visit wakes the main thread (shared/sys/ruby_wake.h).
 *
 * The job runs in a Ruby thread, with the GVL, outside malloc: it loads the tracker, which does what
 * mwrapctl asks for (shared/sys/request.h).
 */
#ifndef MW_INJECT_VISIT_H
#define MW_INJECT_VISIT_H

#include <stdint.h>

#if (defined(__x86_64__) && !defined(__ILP32__)) || defined(__aarch64__)
#define MW_INJECT_CAN 1
#else
#define MW_INJECT_CAN 0
#endif

enum { MW_VISIT_SKIP = 128 + 8 };

enum mw_visit_state {
	MW_VISIT_NEW,
	MW_VISIT_ASKED,   /* Ruby will call the job */
	MW_VISIT_RUNS,    /* it does */
	MW_VISIT_LOADED,  /* the tracker is there, and is called */
	MW_VISIT_ENDS,    /* Ruby's VM has gone */
	MW_VISIT_NO_RUBY, /* the main thread isn't Ruby's */
	MW_VISIT_FULL,    /* Ruby takes no job */
	MW_VISIT_ERROR,   /* `error` says why the tracker can't be loaded */
	MW_VISIT_VERSION, /* another version of it is there */
};

struct mw_visit {
	uint32_t state; /* enum mw_visit_state; written there, relaxed */
	uint32_t withdrawn; /* written here: the job does nothing */
	/* functions there */
	int (*native_thread_p)(void);
	int (*register_one)(unsigned flags, void (*job)(void *), void *data); /* NULL: gone, from 4.1 on */
	void (*job)(void *);
	int *(*errno_location)(void);
	void *(*dlopen)(const char *path, int mode);
	void *(*dlsym)(void *library, const char *name);
	char *(*dlerror)(void);
	uintptr_t ruby, ruby_end; /* Ruby's code */
	void *const *vm; /* where Ruby has its VM; NULL there: it has gone */
	uint64_t save_mask, save_bytes; /* of XSAVE */
	/* the calling thread's context: a thread-local pointer; NULL there: the VM goes just now */
	void **(*tls_get_addr)(const void *index);
	const void *context_index;
	int64_t context_at; /* without that: from the thread pointer; 0: not known */
	/* without register_one; the first is lock-free, too */
	unsigned (*preregister)(unsigned flags, void (*job)(void *), void *data);
	void (*trigger)(unsigned handle);
	uint32_t wake; /* written here; 0: the thread sleeps on */
	uint32_t version, version_at, asked_at; /* of struct mw_api */
	char symbol[16];
	char error[200];
	char path[512];
};

/* The section, from the linker */
extern const char __start_mw_visit[], __stop_mw_visit[];
extern const char mw_visit_entry[], mw_visit_job[];
/* Within the section: the address of the struct there. */
extern const char mw_visit_of[];

#endif
