/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gc_count.c - preloaded: an rb_gc_count as a compiler makes it that keeps frame pointers. It says
 * 7 for ever. Ruby itself uses its own, and so does a ruby that has it linked in.
 */
#include <stddef.h>

static struct {
	size_t other, count;
} counts = { 0, 7 };
__attribute__((used, visibility("hidden"))) void *const gc_counts = &counts;

size_t rb_gc_count(void);

#if defined(__x86_64__)
__asm__(".globl rb_gc_count\n"
	".type rb_gc_count, @function\n"
	"rb_gc_count:\n"
	"	endbr64\n"
	"	push %rbp\n"
	"	mov gc_counts(%rip), %rax\n"
	"	mov %rsp, %rbp\n"
	"	mov 8(%rax), %rax\n"
	"	pop %rbp\n"
	"	ret\n"
	".size rb_gc_count, . - rb_gc_count\n");
#else
size_t rb_gc_count(void)
{
	return counts.count;
}
#endif
