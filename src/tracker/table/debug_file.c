/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "debug_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "tracker/base/arena.h"
#include "shared/sys/sys.h"

enum {
	NOTE_MOST = 4096, /* bytes of a section of notes */
	ID_LEAST = 8,
	ID_MOST = 32
};

const char *mw_debug_folder = "/usr/lib/debug";

struct id {
	size_t n; /* 0: none */
	unsigned char bytes[ID_MOST];
};

static size_t padded(uint32_t n)
{
	return ((size_t)n + 3) & ~(size_t)3;
}

/* Looks for a build ID in a section of notes. */
static void find_in_notes(struct id *id, const char *p, size_t size)
{
	ElfW(Nhdr) h;

	while (size >= sizeof(h)) {
		const char *name = p + sizeof(h);
		size_t whole;

		memcpy(&h, p, sizeof(h));
		whole = sizeof(h) + padded(h.n_namesz) + padded(h.n_descsz);
		if (whole > size)
			return;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(name, "GNU", 4) &&
		    h.n_descsz >= ID_LEAST && h.n_descsz <= ID_MOST) {
			id->n = h.n_descsz;
			memcpy(id->bytes, name + 4, id->n);
			return;
		}
		p += whole;
		size -= whole;
	}
}

static struct id build_id(int fd, const ElfW(Ehdr) * e)
{
	size_t size;
	const ElfW(Shdr) *s = mw_elf_sections(fd, e, &size);
	char notes[NOTE_MOST];
	struct id id = { 0 };

	for (unsigned i = 0; s && i < e->e_shnum && !id.n; i++)
		if (s[i].sh_type == SHT_NOTE && s[i].sh_size <= sizeof(notes) &&
		    mw_elf_read(fd, notes, s[i].sh_size, s[i].sh_offset))
			find_in_notes(&id, notes, s[i].sh_size);
	if (s)
		mw_arena_return((void *)(uintptr_t)s, size);
	return id;
}

/* "/usr/lib/debug/.build-id/ab/cdef.debug" */
static void path_of(char *path, size_t room, const struct id *id)
{
	int n = snprintf(path, room, "%s/.build-id/%02x/", mw_debug_folder, id->bytes[0]);

	for (size_t i = 1; i < id->n && n > 0 && (size_t)n < room; i++)
		n += snprintf(path + n, room - (size_t)n, "%02x", id->bytes[i]);
	if (n > 0 && (size_t)n < room)
		(void)snprintf(path + n, room - (size_t)n, ".debug");
}

int mw_debug_file_open(int fd, const ElfW(Ehdr) * e)
{
	struct id id = build_id(fd, e), other;
	char path[256];
	ElfW(Ehdr) head;
	int debug;

	if (!id.n)
		return -1;
	path_of(path, sizeof(path), &id);
	debug = mw_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (debug < 0)
		return -1;
	other = mw_elf_head(debug, &head) ? build_id(debug, &head) : (struct id){ 0 };
	if (other.n == id.n && !memcmp(other.bytes, id.bytes, id.n))
		return debug;
	mw_sys_close(debug);
	return -1;
}
