/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * same_ruby.c - is `ruby` the one with which this program was built? The same make has built the extension with it.
 *
 * GNUmakefile says which file it was. Another one may be too old, or unable to load the extension.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plain.h"

#ifndef MW_RUBY_PATH /* any Ruby is another one */
#define MW_RUBY_PATH ""
#define MW_RUBY_SIZE 0
#define MW_RUBY_TIME 0
#define MW_RUBY_TIME_NS 0
#endif

bool plain_ruby(void)
{
	char found[PATH_MAX], path[PATH_MAX];
	struct stat st;

	return plain_command("ruby", found) && realpath(found, path) && !strcmp(path, MW_RUBY_PATH) &&
	       !stat(path, &st) && st.st_size == MW_RUBY_SIZE && st.st_mtim.tv_sec == MW_RUBY_TIME &&
	       st.st_mtim.tv_nsec == MW_RUBY_TIME_NS;
}
