/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report_thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "run_command.h"
#include "files.h"
#include "line.h"
#include "shared/options/options.h"
#include "shared/sys/clock.h"
#include "shared/sys/own_descriptors.h"

enum { STACK = 512 * 1024 /* as the server's */, POLL_MS = 2 };
enum turn { WRITERS, SERVERS };

struct mw_report_job {
	_Atomic unsigned owners;
	_Atomic int turn; /* whose file and text are; release */
	atomic_bool dropped; /* the server's thread gives nothing more */
	atomic_bool over; /* release: result is whole */
	const struct mw_api *api;
	const struct mw_options *options;
	int wake;
	int file;
	struct mw_buf text;
	char app[MW_REPORT_APP], dir[PATH_MAX];
	struct mw_report_result result;
	struct mw_folder folder; /* the report's thread's */
};

static void let_report_job_go(struct mw_report_job *j)
{
	if (atomic_fetch_sub(&j->owners, 1) > 1)
		return;
	mw_buf_free(&j->text);
	free(j);
}

static void wake_for_report(struct mw_report_job *j)
{
	const uint64_t one = 1;

	if (j->wake >= 0 && write(j->wake, &one, sizeof(one)) < 0)
		return; /* the counter is full: it wakes anyway */
}

/* Lets the server's thread render a file, and waits for it. */
static int next_file(struct mw_report_job *j)
{
	atomic_store(&j->turn, SERVERS);
	wake_for_report(j);
	while (atomic_load(&j->turn) != WRITERS)
		if (atomic_load(&j->dropped) ||
		    !j->api->sleep_until(mw_now_ns() + POLL_MS * UINT64_C(1000000)))
			return ECANCELED;
	return 0;
}

static int write_file(struct mw_report_job *j)
{
	int err = 0;

	if (j->file == MW_REPORT_ALL)
		mw_report_render_all(&j->text, j->api);
	if (j->text.n)
		err = mw_folder_add(&j->folder, mw_report_files[j->file], j->text.p, j->text.n);
	mw_buf_free(&j->text);
	if (!err && j->file == MW_REPORT_FIRST - 1)
		err = mw_folder_publish_first(&j->folder);
	return err;
}

static int write_report(struct mw_report_job *j)
{
	const struct mw_options *o = j->options;
	int err = mw_folder_open(&j->folder, j->dir, (mode_t)o->file_mode);

	if (!err)
		err = mw_folder_make(&j->folder, j->app, (long)getpid(), mw_unix_time());
	memcpy(j->result.name, j->folder.name, sizeof(j->result.name));
	while (!err) {
		err = next_file(j);
		if (err || j->file == MW_REPORT_FILES)
			break;
		err = write_file(j);
	}
	if (!err)
		err = mw_folder_publish(&j->folder);
	/* first parts of failed ones are kept, too, but not for ever */
	if (!err || j->folder.first)
		mw_folder_prune(&j->folder, j->app, o->report_keep, o->report_max);
	mw_folder_close(&j->folder);
	return err;
}

/* Waits while the pipe is full: the app may have set it to refuse. */
static int write_line(struct mw_report_job *j)
{
	int err = next_file(j);

	while (!err) {
		err = mw_report_line_write(j->options->report_fd, &j->text);
		if (err != EAGAIN)
			break;
		err = atomic_load(&j->dropped) ||
				      !j->api->sleep_until(mw_now_ns() + POLL_MS * UINT64_C(1000000)) ?
			      ECANCELED :
			      0;
	}
	mw_buf_free(&j->text);
	return err;
}

static void run_command(struct mw_report_job *j)
{
	char path[PATH_MAX + MW_REPORT_NAME];

	snprintf(path, sizeof(path), "%s/%s", j->dir, j->result.name);
	j->result.command_err = mw_command_run(j->options->report_command, path);
}

static void *run_report_job(void *arg)
{
	struct mw_report_job *j = arg;

	if (!mw_own_descriptors(j->wake))
		j->wake = -1;
	j->result.err = j->options->report_fd ? write_line(j) : write_report(j);
	if (!j->result.err && j->options->report_command)
		run_command(j);
	atomic_store(&j->over, true);
	wake_for_report(j);
	let_report_job_go(j);
	return NULL;
}

struct mw_report_job *mw_report_job_begin(const struct mw_api *api, int wake_fd, const char *app)
{
	const struct mw_options *o = api->options();
	struct mw_report_job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->owners = 2;
	j->api = api;
	j->options = o;
	j->wake = wake_fd;
	strcpy(j->app, app);
	if (mw_options_expand(o->report_dir, (long)getpid(), j->dir, sizeof(j->dir)) < 0 ||
	    api->thread_start(run_report_job, j, STACK)) {
		free(j);
		return NULL;
	}
	return j;
}

bool mw_report_job_takes(const struct mw_report_job *j)
{
	return !atomic_load(&j->over) && atomic_load(&j->turn) == SERVERS;
}

void mw_report_job_give(struct mw_report_job *j, int file, struct mw_buf *text)
{
	j->file = file;
	j->text = *text;
	*text = (struct mw_buf){ 0 };
	atomic_store(&j->turn, WRITERS);
}

const char *mw_report_job_name(const struct mw_report_job *j)
{
	return j->result.name;
}

bool mw_report_job_over(const struct mw_report_job *j, struct mw_report_result *result)
{
	if (!atomic_load(&j->over))
		return false;
	*result = j->result;
	return true;
}

void mw_report_job_drop(struct mw_report_job *j)
{
	atomic_store(&j->dropped, true);
	let_report_job_go(j);
}
