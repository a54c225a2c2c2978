/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "births.h"
#include "mem.h"

enum { FIRST = 1 << 13, SIDE_BY_SIDE = 8 };

struct mw_life {
	uint32_t birth; /* 0: the cell is free */
	uint32_t value;
};

/* Where a birth belongs: a line of cells by its hash, and a cell of it. */
static size_t home(const struct mw_lives *l, uint32_t birth)
{
	uint64_t line = birth / SIDE_BY_SIDE * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	return (line * SIDE_BY_SIDE + birth % SIDE_BY_SIDE) & l->mask;
}

static size_t cell_of(const struct mw_lives *l, uint32_t birth)
{
	size_t i = home(l, birth);

	while (l->cells[i].birth && l->cells[i].birth != birth)
		i = (i + 1) & l->mask;
	return i;
}

/* At most half of the cells are taken. */
static bool grow_lives(struct mw_lives *l)
{
	struct mw_lives more = { .mask = l->cells ? l->mask * 2 + 1 : FIRST - 1, .n = l->n };

	if (l->cells && l->n < l->mask / 2)
		return true;
	more.cells = mw_mem((more.mask + 1) * sizeof(*more.cells));
	if (!more.cells)
		return false;
	for (size_t i = 0; l->cells && i <= l->mask; i++)
		if (l->cells[i].birth)
			more.cells[cell_of(&more, l->cells[i].birth)] = l->cells[i];
	mw_lives_free(l);
	*l = more;
	return true;
}

bool mw_lives_add(struct mw_lives *l, uint32_t birth, uint32_t value)
{
	if (!grow_lives(l))
		return false;
	l->cells[cell_of(l, birth)] = (struct mw_life){ birth, value };
	l->n++;
	return true;
}

bool mw_lives_get(const struct mw_lives *l, uint32_t birth, uint32_t *value)
{
	size_t i;

	if (!l->cells)
		return false;
	i = cell_of(l, birth);
	*value = l->cells[i].value;
	return l->cells[i].birth != 0;
}

/* Cells behind the freed one move up, so that none is behind a free cell and its home before it. */
bool mw_lives_take(struct mw_lives *l, uint32_t birth, uint32_t *value)
{
	size_t free_cell, i;

	if (!l->cells)
		return false;
	free_cell = cell_of(l, birth);
	if (!l->cells[free_cell].birth)
		return false;
	*value = l->cells[free_cell].value;
	for (i = (free_cell + 1) & l->mask; l->cells[i].birth; i = (i + 1) & l->mask) {
		size_t away = (i - home(l, l->cells[i].birth)) & l->mask;

		if (away < ((i - free_cell) & l->mask))
			continue;
		l->cells[free_cell] = l->cells[i];
		free_cell = i;
	}
	l->cells[free_cell] = (struct mw_life){ 0 };
	l->n--;
	return true;
}

void mw_lives_free(struct mw_lives *l)
{
	if (l->cells)
		mw_mem_free(l->cells, (l->mask + 1) * sizeof(*l->cells));
	*l = (struct mw_lives){ 0 };
}
