/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_family.c - the path or the directory by which this process's family meets. */
#include "own_family.h"

#include <string.h>

static struct mw_family relatives; /* also in a forked child, which opens the same */

const struct mw_family *mw_own_family(void)
{
	return &relatives;
}

void mw_own_family_path(const char *path)
{
	strcpy(relatives.path, path);
}

void mw_own_family_dir(const char *dir)
{
	strcpy(relatives.dir, dir);
}
