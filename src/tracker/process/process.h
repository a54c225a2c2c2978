/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process.h - the tracker in the life of its process: load, fork, exit.
 *
 * At load (constructor) it sets itself up, reads $MWRAP, looks for Ruby, and starts
 * the threads that options ask for. At fork: fork.c has the locks. At exit our threads
 * end before any library's destructor, since they call into libraries. The dump is
 * written as late as possible, after every destructor: our own destructor registers
 * the handler that writes it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "api/api.h"
#include "shared/options/options.h"

extern struct mw_options mw_options; /* read-only after load */
extern const struct mw_api mwrap_api;
extern uint64_t mw_loaded_at;        /* of mw_now_ns */
extern uint64_t mw_resets;           /* relaxed */
extern pid_t mw_forker;              /* the process that forked this one; 0: it was exec'ed */
extern pid_t mw_eldest;              /* the first process of that line of forks; 0: this one */
extern uintptr_t mw_main_thread;     /* the main thread, as pthread_self(); 0: not known */
/* mwrap_api, for files below api.c. Written by the constructor, before any thread of ours begins. */
extern const struct mw_api *mw_api_here;
/* Seconds since load. */
double mw_uptime(void);

/*
 * load.c, for attach.c: what the constructor does in a process that begins with the tracker. False: a
 * line in err; if that is of a wrong option, nothing was done, and it may be called again.
 * mw_load_threads then starts the threads that options ask for.
 */
bool mw_load_joined(const char *options, char *err);
void mw_load_threads(void);

/* fork.c: handles each fork from here on. False: no memory for that; children may count wrongly. */
bool mw_fork_init(void);
/* fork_mark.c. Was this process forked past those handlers? Then it has no thread of ours. Any thread. */
bool mw_fork_missed(void);
/* For fork.c: once, before any fork; and in a child that the handlers have put in order. */
void mw_fork_mark_make(void);
void mw_fork_mark_set(void);
/* fork.c: if it was, does in it what they would have done. Before this process reads the table; one thread. */
void mw_fork_repair(void);

/*
 * before_destructors.c. From now on exit(3) ends all our threads before it calls destructors. A thread
 * of ours calls this when it begins its work, since a handler registered before main would run
 * after destructors. Within a step (own_thread.h): this takes a lock of the C library's.
 */
void mw_end_before_destructors(void);
/* For exit.c, which calls it in mw_exit_init: what ends them. In the constructor. */
void mw_ends_by(void (*end)(void));
void mw_exit_init(void);

/*
 * server.c. start makes the thread that will load and run the server, if an option asks
 * for one. The thread waits until Ruby is up, 5 s at most, or 100 ms without Ruby. go tells
 * it that Ruby is up. Both return at once. before_fork and after_fork belong around the
 * real call; before_fork waits until that moment of mw_now_ns at most.
 */
void mw_server_start(void);
void mw_server_go(void);
/* Its thread must leave: ends its sleep. The recorder's does the same, until mw_recorder_stay. */
void mw_server_wake(void);
void mw_recorder_wake(void);
void mw_recorder_stay(void);
/* Around a call for which it left: keep its file open for the thread that goes on. In the calling thread. */
void mw_recorder_hold(void);
void mw_recorder_let_go(void);
/* See mw_api.server_endpoint, and so on. */
bool mw_server_endpoint(struct mw_family *);
enum mw_site_is mw_server_site(struct mw_site **, unsigned ms);
void mw_server_site_give(void);
/* Loads the server's libraries now, unless they are there already, or nobody here may want them. */
void mw_server_load_all(void);
/* See api.h. */
void mw_server_extended(void);
void *mw_server_load(const char *name, char *err);
void mw_server_before_fork(uint64_t until);
void mw_server_after_fork(int child);
/* Tells it to remove its socket, and waits: 200 ms, or two seconds if a file is being made. */
void mw_server_end(void);
/* After that: the verdict at the end, for the exit dump. NULL: there is none. */
const char *mw_server_said(void);

/*
 * dumper.c, the same for the thread of the periodic dumps. start makes it if an
 * option asks for it and Ruby, if there is one, is up. start_child is called after
 * fork has returned in the child. end waits 200 ms at most, and returns true if no
 * dump is being written; none begins after it.
 */
void mw_dumper_start(void);
void mw_dumper_start_child(void);
void mw_dumper_before_fork(uint64_t until);
void mw_dumper_after_fork(int child);
bool mw_dumper_end(void);

/*
 * recorder.c: see mw_api.record_start. start begins the recording that an option asks for, at load; go tells
 * it that Ruby is up. The next three are as the dumper's. end waits 2 seconds at most for the file.
 */
void mw_recorder_start(void);
void mw_recorder_go(void);
bool mw_recorder_begin(const struct mw_record_how *, char *err);
bool mw_recorder_stop(void);
const struct mw_record_state *mw_recorder_state(void);
void mw_recorder_before_fork(uint64_t until);
void mw_recorder_after_fork(int child);
void mw_recorder_start_child(void);
void mw_recorder_end(void);

/*
 * seconds.c: mw_api.every_second. after_fork and start_child are called in a forked child, as the
 * dumper's. end waits 200 ms at most for a call that is under way; none begins after it.
 */
bool mw_every_second(void (*f)(void));
void mw_seconds_after_fork(void);
void mw_seconds_start_child(void);
void mw_seconds_end(void);
