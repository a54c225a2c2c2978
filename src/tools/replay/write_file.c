/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem.h"
#include "write_file.h"

enum { MAGIC = sizeof(MW_TRACE_MAGIC) - 1 };

static void put_bytes(struct mw_writer *w, const void *p, size_t n)
{
	if (!w->failed && fwrite(p, 1, n, w->file) != n) {
		w->failed = true;
		w->why = errno;
	}
}

const char *mw_writer_open(struct mw_writer *w, const char *path, int level)
{
	struct stat st;
	int fd;

	/* a device, such as /dev/null, isn't replaced by a file */
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return "not a file";
	if ((size_t)snprintf(w->beside, sizeof(w->beside), "%s.%d", path, (int)getpid()) >=
	    sizeof(w->beside))
		return strerror(ENAMETOOLONG);
	signal(SIGXFSZ, SIG_IGN);
	fd = open(w->beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	w->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!w->file)
		return strerror(errno);
	w->failed = false;
	w->codec_bytes = mw_codec_bytes(level, true, false);
	w->codec_memory = w->codec_bytes ? mw_mem(w->codec_bytes) : NULL;
	mw_codec_open(&w->codec, level, true, false, w->codec_memory, w->codec_memory ? w->codec_bytes : 0);
	put_bytes(w, MW_TRACE_MAGIC, MAGIC);
	return NULL;
}

const char *mw_writer_close(struct mw_writer *w, const char *path, bool keep)
{
	if (fclose(w->file) && !w->failed) {
		w->failed = true;
		w->why = errno;
	}
	mw_mem_free(w->codec_memory, w->codec_bytes);
	if (keep && !w->failed && !rename(w->beside, path))
		return NULL;
	if (keep && !w->failed)
		w->why = errno;
	unlink(w->beside);
	return keep ? strerror(w->why) : NULL;
}

static void frame(struct mw_writer *w, const struct mw_codec *codec, struct mw_trace_frame *f, size_t bytes)
{
	put_bytes(w, w->room, mw_frame_write(codec, f, w->contents, bytes, w->room));
}

void mw_writer_frame(struct mw_writer *w, struct mw_trace_frame *f, size_t bytes)
{
	frame(w, &w->codec, f, bytes);
}

void mw_writer_plain(struct mw_writer *w, struct mw_trace_frame *f, size_t bytes)
{
	static const struct mw_codec none;

	frame(w, &none, f, bytes);
}

void mw_writer_again(struct mw_writer *w, struct mw_trace_frame *f, size_t bytes)
{
	if (!w->failed && fseek(w->file, MAGIC, SEEK_SET)) {
		w->failed = true;
		w->why = errno;
	}
	mw_writer_plain(w, f, bytes);
}
