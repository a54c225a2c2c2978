/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stubs.h - code made at run time: as many places that call malloc as a test wants, each
 * at an address of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)
#define STUB 32
static void write_stub(unsigned char *at)
{
	/* clang-format off */
	static const unsigned char code[] = {
		0x48, 0x83, 0xec, 0x08,                         /* sub $8,%rsp */
		0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,             /* mov $malloc,%rax */
		0xff, 0xd0,                                     /* call *%rax */
		0x48, 0x83, 0xc4, 0x08, 0xc3                    /* add $8,%rsp; ret */
	};
	/* clang-format on */
	void *(*f)(size_t) = malloc;

	memcpy(at, code, sizeof(code));
	memcpy(at + 6, &f, sizeof(f));
}
#elif defined(__aarch64__)
#define STUB 32
static void write_stub(unsigned char *at)
{
	static const uint32_t code[] = {
		0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
		0x580000b0, /* ldr x16, .+20: the literal at 24 */
		0xd63f0200, /* blr x16 */
		0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
		0xd65f03c0, /* ret */
	};
	void *(*f)(size_t) = malloc;

	memcpy(at, code, sizeof(code));
	memcpy(at + 24, &f, sizeof(f));
}
#else
#error "no stub for this processor"
#endif

static unsigned char *stubs_code;

/* n of them; false: no memory. */
static bool make_stubs(size_t n)
{
	void *p = mmap(NULL, n * STUB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return false;
	stubs_code = p;
	for (size_t i = 0; i < n; i++)
		write_stub(stubs_code + i * STUB);
	if (mprotect(p, n * STUB, PROT_READ | PROT_EXEC))
		return false;
	__builtin___clear_cache((char *)p, (char *)p + n * STUB);
	return true;
}

/* malloc(bytes), called by the i-th stub. */
static void *call_stub(size_t i, size_t bytes)
{
	unsigned char *at = stubs_code + i * STUB;
	void *(*f)(size_t);

	memcpy(&f, &at, sizeof(f));
	return f(bytes);
}
