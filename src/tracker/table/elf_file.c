/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf_file.h"

#include <elf.h>
#include <string.h>
#include <sys/syscall.h>

#include "tracker/base/arena.h"
#include "shared/sys/sys.h"

enum {
	SECTIONS_MOST = 4096,
	PART_MOST = 64 << 20 /* bytes */
};

bool mw_elf_read(int fd, void *to, size_t n, uint64_t offset)
{
	for (size_t done = 0; done < n;) {
		long got = mw_sys(SYS_pread64, fd, mw_sys_ptr((char *)to + done), (long)(n - done),
				  (long)(offset + done), 0);

		if (got <= 0) /* an interrupted one isn't tried again: a name less */
			return false;
		done += (size_t)got;
	}
	return true;
}

char *mw_elf_take(int fd, uint64_t offset, uint64_t size)
{
	char *p = size && size <= PART_MOST ? mw_arena_lend(size) : NULL;

	if (p && !mw_elf_read(fd, p, size, offset)) {
		mw_arena_return(p, size);
		return NULL;
	}
	return p;
}

bool mw_elf_head(int fd, ElfW(Ehdr) * e)
{
	return mw_elf_read(fd, e, sizeof(*e), 0) && !memcmp(e->e_ident, ELFMAG, SELFMAG) &&
	       e->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
	       e->e_shentsize == sizeof(ElfW(Shdr)) && e->e_phentsize == sizeof(ElfW(Phdr)) &&
	       e->e_shnum <= SECTIONS_MOST;
}

const ElfW(Shdr) * mw_elf_sections(int fd, const ElfW(Ehdr) * e, size_t *size)
{
	*size = e->e_shnum * sizeof(ElfW(Shdr));
	return (const ElfW(Shdr) *)(void *)mw_elf_take(fd, e->e_shoff, *size);
}
