/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file.h - the recording's file: whole frames, one after the other.
 *
 * If the thread shares its descriptors with the application, which may close them or open others in their
 * place, the file is opened for each write. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MW_RECORD_TRIES = 100 };

struct mw_record_file {
	int fd; /* -1: opened for each write */
	bool stays; /* fd may stay open */
	char path[4096];
	dev_t dev;
	ino_t ino;
	uint64_t bytes; /* of whole frames */
	int error; /* errno of the first failure; nothing is written after it */
};

/*
 * Makes a new file, of that mode less umask: path, or if that is there path.2, path.3 and so on. It never opens one that
 * exists. False: an errno in `error`.
 */
bool mw_record_file_make(struct mw_record_file *, const char *path, mode_t mode, bool stays);
/* Appends n bytes, a whole frame. After an error the file ends at the last whole frame. */
bool mw_record_file_add(struct mw_record_file *, const void *p, size_t n);
void mw_record_file_close(struct mw_record_file *);
/*
 * Once closed: takes fd, which must be of the same file, or opens it again if it may stay open. False: it can't, or it
 * is another file.
 */
bool mw_record_file_open(struct mw_record_file *, int fd, bool stays);
