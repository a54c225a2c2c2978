/* SPDX-License-Identifier: GPL-2.0-or-later */
/* there.c - see there.h. */
#include "there.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADERS = 64, DYNAMIC = 256, NAME = 128 };

bool mw_there_read(const struct mw_there *t, uintptr_t from, void *to, size_t n)
{
	return pread(t->memory, to, n, (off_t)from) == (ssize_t)n;
}

bool mw_there_write(const struct mw_there *t, uintptr_t to, const void *from, size_t n)
{
	return pwrite(t->memory, from, n, (off_t)to) == (ssize_t)n;
}

/* --- symbols ------------------------------------------------------------------------- */

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static bool is_named(const struct mw_there *t, const struct mw_object *o, const Elf64_Sym *s,
		     const char *name)
{
	char text[NAME];
	size_t n = strlen(name) + 1;

	return s->st_shndx != SHN_UNDEF && n <= NAME &&
	       mw_there_read(t, o->names + s->st_name, text, n) && memcmp(text, name, n) == 0;
}

uintptr_t mw_there_symbol(const struct mw_there *t, const struct mw_object *o, const char *name)
{
	struct {
		uint32_t buckets, first, bloom, shift;
	} head;
	uint32_t h = hash_of(name), i, chain;
	uintptr_t buckets, chains;
	Elf64_Sym s;

	if (!o->hash || !o->symbols || !o->names || !mw_there_read(t, o->hash, &head, sizeof(head)) ||
	    !head.buckets)
		return 0;
	buckets = o->hash + sizeof(head) + (uintptr_t)head.bloom * 8;
	chains = buckets + (uintptr_t)head.buckets * 4;
	if (!mw_there_read(t, buckets + (uintptr_t)(h % head.buckets) * 4, &i, sizeof(i)))
		return 0;
	for (; i >= head.first; i++) {
		if (!mw_there_read(t, chains + (uintptr_t)(i - head.first) * 4, &chain, sizeof(chain)))
			return 0;
		if ((chain | 1) == (h | 1) && mw_there_read(t, o->symbols + i * sizeof(s), &s, sizeof(s)) &&
		    is_named(t, o, &s, name))
			return o->base + s.st_value;
		if (chain & 1)
			break;
	}
	return 0;
}

const struct mw_object *mw_there_named(const struct mw_there *t, const char *begin)
{
	for (const struct mw_object *o = t->objects; o < t->objects + t->n_objects; o++)
		if (strncmp(o->name, begin, strlen(begin)) == 0)
			return o;
	return NULL;
}

/* --- objects ------------------------------------------------------------------------- */

static uintptr_t at(const struct mw_object *o, uintptr_t address)
{
	return address < o->base ? o->base + address : address; /* the linker relocates most of these */
}

static void read_dynamic(const struct mw_there *t, struct mw_object *o, const Elf64_Phdr *h)
{
	Elf64_Dyn d[DYNAMIC];
	size_t n = h->p_memsz < sizeof(d) ? h->p_memsz : sizeof(d);

	if (!mw_there_read(t, o->base + h->p_vaddr, d, n))
		return;
	for (size_t i = 0; i < n / sizeof(*d) && d[i].d_tag != DT_NULL; i++) {
		if (d[i].d_tag == DT_SYMTAB)
			o->symbols = at(o, d[i].d_un.d_ptr);
		if (d[i].d_tag == DT_STRTAB)
			o->names = at(o, d[i].d_un.d_ptr);
		if (d[i].d_tag == DT_GNU_HASH)
			o->hash = at(o, d[i].d_un.d_ptr);
	}
}

/* The file is mapped from its beginning at `start`. */
static void read_object(struct mw_there *t, uintptr_t start, const char *path)
{
	Elf64_Ehdr e;
	Elf64_Phdr h[HEADERS];
	struct mw_object o = { 0 };
	const char *slash = strrchr(path, '/');

	if (t->n_objects == MW_THERE_OBJECTS || !mw_there_read(t, start, &e, sizeof(e)) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    (e.e_type != ET_DYN && e.e_type != ET_EXEC) || e.e_phentsize != sizeof(*h) ||
	    e.e_phnum > HEADERS || !mw_there_read(t, start + e.e_phoff, h, e.e_phnum * sizeof(*h)))
		return;
	snprintf(o.name, sizeof(o.name), "%s", slash ? slash + 1 : path);
	for (int i = 0; i < e.e_phnum; i++)
		if (h[i].p_type == PT_LOAD && h[i].p_offset == 0)
			o.base = start - h[i].p_vaddr;
	for (int i = 0; i < e.e_phnum; i++) {
		uintptr_t from = o.base + h[i].p_vaddr, end = from + h[i].p_memsz;

		if (h[i].p_type == PT_DYNAMIC)
			read_dynamic(t, &o, &h[i]);
		if (h[i].p_type != PT_LOAD)
			continue;
		if (h[i].p_flags & PF_X) {
			o.code = from;
			o.code_end = end;
		} else if (h[i].p_flags & PF_W) {
			o.data_end = end;
		}
	}
	t->objects[t->n_objects++] = o;
}

const struct mw_mapping *mw_there_mapping(const struct mw_there *t, uintptr_t where)
{
	for (const struct mw_mapping *m = t->mappings; m < t->mappings + t->n_mappings; m++)
		if (where - m->start < m->end - m->start)
			return m;
	return NULL;
}

static bool add_mapping(struct mw_there *t, const struct mw_mapping *m)
{
	enum { STEP = 1024 };

	if (t->n_mappings % STEP == 0) {
		struct mw_mapping *more = realloc(t->mappings, (t->n_mappings + STEP) * sizeof(*more));

		if (!more)
			return false;
		t->mappings = more;
	}
	t->mappings[t->n_mappings++] = *m;
	return true;
}

static bool read_maps(struct mw_there *t, FILE *f)
{
	char *line = NULL;
	size_t room = 0;
	bool all = true;

	while (all && getline(&line, &room, f) > 0) {
		unsigned long long start, end, offset, inode;
		char rights[5], *path = strchr(line, '/');

		if (sscanf(line, "%llx-%llx %4s %llx %*s %llu", &start, &end, rights, &offset, &inode) != 5)
			continue;
		line[strcspn(line, "\n")] = 0;
		all = add_mapping(t, &(struct mw_mapping){ .start = start,
							   .end = end,
							   .writable = rights[1] == 'w',
							   .executable = rights[2] == 'x',
							   .grows = strstr(line, "[stack]") != NULL });
		if (all && path && inode && offset == 0 && rights[0] == 'r')
			read_object(t, start, path);
	}
	free(line);
	return all;
}

bool mw_there_open(struct mw_there *t, pid_t pid, char err[MW_THERE_ERROR])
{
	char path[64];
	FILE *f;
	bool read;

	*t = (struct mw_there){ .pid = pid };
	snprintf(path, sizeof(path), "/proc/%ld/mem", (long)pid);
	t->memory = open(path, O_RDWR | O_CLOEXEC);
	if (t->memory < 0 && (errno == ESRCH || errno == ENOENT)) {
		snprintf(err, MW_THERE_ERROR, "the process has ended: name one that runs");
		return false;
	}
	if (t->memory < 0) {
		snprintf(err, MW_THERE_ERROR,
			 "its memory: %s: run mwrapctl as root, or give it CAP_SYS_PTRACE",
			 strerror(errno));
		return false;
	}
	t->objects = calloc(MW_THERE_OBJECTS, sizeof(*t->objects));
	snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
	f = fopen(path, "re");
	read = f && t->objects && read_maps(t, f);
	if (!read)
		snprintf(err, MW_THERE_ERROR, "its memory: %s", strerror(errno));
	if (f)
		fclose(f);
	return read;
}
