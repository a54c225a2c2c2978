/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program.c - what a program's file says of how it is loaded; the rules are in lib/mwrap/executable.rb.
 *
 * All is read from a mapping of the file. A part that reaches beyond its end, or isn't aligned, isn't plain.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plain.h"
#include "shared/sys/sanitizer.h"

enum { SCRIPTS_DEEP = 4, SCRIPT_LINE = 256 };

/* This program's own, in memory: from the linker. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

struct image {
	const char *at;
	size_t size;
};

/* size bytes at this offset; NULL: they aren't there. */
static const void *part(const struct image *f, uint64_t offset, uint64_t size)
{
	if (offset % sizeof(void *) || offset > f->size || size > f->size - offset)
		return NULL;
	return f->at + offset;
}

/* NUL-terminated strings; NULL: not there, or not so. */
static const char *strings(const struct image *f, uint64_t offset, uint64_t size)
{
	if (!size || offset > f->size || size > f->size - offset || f->at[offset + size - 1])
		return NULL;
	return f->at + offset;
}

/* The file's header, if it is of this program's architecture, else NULL. */
static const ElfW(Ehdr) * header(const struct image *f)
{
	const ElfW(Ehdr) *own = &__ehdr_start, *h = part(f, 0, sizeof(*h));

	if (!h || memcmp(h->e_ident, own->e_ident, EI_DATA + 1) || h->e_machine != own->e_machine ||
	    h->e_phentsize != sizeof(ElfW(Phdr)) || (h->e_shnum && h->e_shentsize != sizeof(ElfW(Shdr))))
		return NULL;
	return h;
}

/* The one segment of a type, or NULL. */
static const ElfW(Phdr) * segment(const struct image *f, const ElfW(Ehdr) * h, uint32_t type)
{
	const ElfW(Phdr) *p = part(f, h->e_phoff, h->e_phnum * sizeof(*p));

	for (size_t i = 0; p && i < h->e_phnum; i++)
		if (p[i].p_type == type)
			return p + i;
	return NULL;
}

static ElfW(Xword) tag(const ElfW(Dyn) * d, size_t n, ElfW(Sxword) which)
{
	for (size_t i = 0; i < n; i++)
		if (d[i].d_tag == which)
			return d[i].d_un.d_val;
	return 0;
}

/* Where an address of the loaded program is in its file; SIZE_MAX: nowhere. */
static size_t offset_of(const struct image *f, const ElfW(Ehdr) * h, ElfW(Addr) address)
{
	const ElfW(Phdr) *p = part(f, h->e_phoff, h->e_phnum * sizeof(*p));

	for (size_t i = 0; p && i < h->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr &&
		    address - p[i].p_vaddr < p[i].p_filesz)
			return address - p[i].p_vaddr + p[i].p_offset;
	return SIZE_MAX;
}

/* The names for the dynamic linker, *n bytes; NULL: unreadable. */
static const char *dynamic_names(const struct image *f, const ElfW(Ehdr) * h, size_t *n)
{
	const ElfW(Phdr) *p = segment(f, h, PT_DYNAMIC);
	const ElfW(Dyn) *d = p ? part(f, p->p_offset, p->p_filesz) : NULL;
	size_t all = d ? p->p_filesz / sizeof(*d) : 0;

	*n = tag(d, all, DT_STRSZ);
	return strings(f, offset_of(f, h, tag(d, all, DT_STRTAB)), *n);
}

/* Is it linked to glibc, and without a sanitizer? */
static bool plain_names(const struct image *f, const ElfW(Ehdr) * h, bool *glibc)
{
	size_t n;
	const char *s = dynamic_names(f, h, &n), *end = s + n;

	*glibc = false;
	for (; s && s < end; s += strlen(s) + 1) {
		if (mw_sanitizer_library(s) || mw_sanitizer_symbol(s))
			return false;
		*glibc |= !strcmp(s, "libc.so.6");
	}
	return s;
}

static bool defines_malloc(const ElfW(Sym) * symbols, size_t n, const char *names, size_t size)
{
	for (size_t i = 0; i < n; i++)
		if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name < size &&
		    !strcmp(names + symbols[i].st_name, "malloc"))
			return true;
	return false;
}

/* Its section headers; NULL: unreadable. They are a file's end, so they are missing if it is cut off. */
static const ElfW(Shdr) * sections(const struct image *f, const ElfW(Ehdr) * h)
{
	return h->e_shnum ? part(f, h->e_shoff, h->e_shnum * sizeof(ElfW(Shdr))) : NULL;
}

/* No table of symbols has a malloc of the program's own. */
static bool plain_malloc(const struct image *f, const ElfW(Ehdr) * h)
{
	const ElfW(Shdr) *s = sections(f, h);

	for (size_t i = 0; s && i < h->e_shnum; i++) {
		const ElfW(Shdr) *text = s[i].sh_link < h->e_shnum ? s + s[i].sh_link : s;
		const ElfW(Sym) * symbols;
		const char *names;

		if (s[i].sh_type != SHT_SYMTAB && s[i].sh_type != SHT_DYNSYM)
			continue;
		symbols = part(f, s[i].sh_offset, s[i].sh_size);
		names = strings(f, text->sh_offset, text->sh_size);
		if (!symbols || !names ||
		    defines_malloc(symbols, s[i].sh_size / sizeof(*symbols), names, text->sh_size))
			return false;
	}
	return s;
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Does it name a dynamic linker that isn't musl's? A dynamic linker itself names none. */
static bool plain_interpreter(const struct image *f, const ElfW(Ehdr) * h)
{
	const ElfW(Phdr) *p = segment(f, h, PT_INTERP);
	const char *path = p ? strings(f, p->p_offset, p->p_filesz) : NULL;

	return path && strncmp(base(path), "ld-musl", strlen("ld-musl")) != 0;
}

static bool plain_elf(const struct image *f)
{
	const ElfW(Ehdr) *h = header(f);
	bool glibc;

	return h && plain_interpreter(f, h) && plain_names(f, h, &glibc) && plain_malloc(f, h);
}

static bool plain_file(const char *path, int depth);

/* "#!INTERPRETER" or "#!.../env NAME"; nothing is known of env's options. */
static bool plain_script(const struct image *f, int depth)
{
	char line[SCRIPT_LINE], path[PATH_MAX], *rest, *first, *second;
	const char *end = memchr(f->at, '\n', f->size < sizeof(line) ? f->size : sizeof(line));
	size_t n = end ? (size_t)(end - f->at) : 0;

	if (!n || memchr(f->at, 0, n))
		return false;
	memcpy(line, f->at, n);
	line[n] = 0;
	first = strtok_r(line + 2, " \t\r\v\f", &rest);
	second = first ? strtok_r(NULL, " \t\r\v\f", &rest) : NULL;
	if (!first || !plain_file(first, depth + 1))
		return false;
	if (strcmp(base(first), "env") != 0)
		return true;
	return second && *second != '-' && !strchr(second, '=') && plain_command(second, path) &&
	       plain_file(path, depth + 1);
}

/* Maps a regular file without the bits setuid and setgid, which this process can read. */
static bool open_image(const char *path, struct image *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st = { 0 };
	void *at = MAP_FAILED;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && !(st.st_mode & (S_ISUID | S_ISGID)) && st.st_size > 2)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	*f = (struct image){ at, (size_t)st.st_size };
	return at != MAP_FAILED;
}

static void close_image(struct image *f)
{
	munmap((void *)(uintptr_t)f->at, f->size);
}

static bool plain_file(const char *path, int depth)
{
	struct image f;
	bool is;

	if (depth > SCRIPTS_DEEP || !open_image(path, &f))
		return false;
	is = !memcmp(f.at, "#!", 2) ? plain_script(&f, depth) : plain_elf(&f);
	close_image(&f);
	return is;
}

bool plain_program(const char *path)
{
	return plain_file(path, 0);
}

bool plain_library(const char *path)
{
	struct image f;
	const ElfW(Ehdr) * h;
	bool is, glibc = false;

	if (!open_image(path, &f))
		return false;
	h = header(&f);
	is = h && sections(&f, h) && plain_names(&f, h, &glibc) && glibc;
	close_image(&f);
	return is;
}
