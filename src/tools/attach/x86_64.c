/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_64.c - see machine.h. */
#include "machine.h"

#if defined(__x86_64__) && !defined(__ILP32__)

#include <cpuid.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

enum {
	CS_64 = 0x33,
	/* of the kernel: a system call that a signal interrupted */
	RESTART_SYS = 512,
	RESTART_NOINTR = 513,
	RESTART_NOHAND = 514,
	RESTART_BLOCK = 516
};

/* --- Ruby's code ------------------------------------------------------------------------- */

/* A function reads it first of all: lea VM(%rip), R; or mov VM(%rip), R; or mov GOT(%rip), R. */
uintptr_t mw_machine_vm(const struct mw_there *t, const struct mw_object *ruby)
{
	enum { LOOK = 48, LENGTH = 7 };
	uintptr_t at = mw_there_symbol(t, ruby, "rb_postponed_job_trigger"), vm, word;
	unsigned char code[LOOK];

	if (!at || !mw_there_read(t, at, code, sizeof(code)))
		return 0;
	for (int i = 0; i + LENGTH <= LOOK; i++) {
		int32_t distance;

		/* REX.W, lea or mov, a register from an address relative to rip */
		if ((code[i] & 0xfb) != 0x48 || (code[i + 1] != 0x8d && code[i + 1] != 0x8b) ||
		    (code[i + 2] & 0xc7) != 0x05)
			continue;
		memcpy(&distance, code + i + 3, sizeof(distance));
		vm = at + (uintptr_t)i + LENGTH + (uintptr_t)(intptr_t)distance;
		/* its first word is within the VM; that of an entry of a GOT within Ruby's data */
		if (code[i + 1] == 0x8b && mw_there_read(t, vm, &word, sizeof(word)) &&
		    word > ruby->base && word < ruby->data_end)
			vm = word;
		return mw_there_read(t, vm, &word, sizeof(word)) && word % 8 == 0 &&
				       mw_there_read(t, word, &word, sizeof(word)) ?
			       vm :
			       0;
	}
	return 0;
}

/*
 * From a function that reads it. In a library it is
 *	data16 lea INDEX(%rip), %rdi; data16 data16 rex.W call __tls_get_addr
 * in a program mov $OFFSET, %rax; mov %fs:(%rax), %rax
 */
bool mw_machine_context(const struct mw_there *t, const struct mw_object *ruby, struct mw_visit *v)
{
	enum { LOOK = 96, LENGTH = 12 };
	const struct mw_object *linker = mw_there_named(t, "ld-linux");
	uintptr_t at = mw_there_symbol(t, ruby, "rb_postponed_job_trigger"), get, index;
	unsigned char code[LOOK];
	int32_t n;

	if (!at)
		at = mw_there_symbol(t, ruby, MW_MACHINE_ONE);
	get = linker ? mw_there_symbol(t, linker, "__tls_get_addr") : 0;
	if (!mw_there_read(t, at, code, sizeof(code)))
		return true;
	for (int i = 0; i + LENGTH <= LOOK; i++) {
		if (get && memcmp(code + i, "\x66\x48\x8d\x3d", 4) == 0 &&
		    memcmp(code + i + 8, "\x66\x66\x48\xe8", 4) == 0) {
			memcpy(&n, code + i + 4, sizeof(n));
			index = at + (uintptr_t)i + 8 + (uintptr_t)(intptr_t)n;
			memcpy(&v->tls_get_addr, &get, sizeof(get));
			memcpy(&v->context_index, &index, sizeof(index));
			return true;
		}
		if (memcmp(code + i, "\x48\xc7\xc0", 3) == 0 &&
		    memcmp(code + i + 7, "\x64\x48\x8b\x00", 4) == 0) {
			memcpy(&n, code + i + 3, sizeof(n));
			v->context_at = n;
			return true;
		}
	}
	return true;
}

/* --- registers --------------------------------------------------------------------------- */

/* The registers that XSAVE saves: all but the registers of AMX, which Ruby has no use for. */
bool mw_machine_measure(struct mw_visit *v, char err[MW_THERE_ERROR])
{
	enum { XSAVE_LEAF = 0xd, LEGACY_AND_HEADER = 576, OSXSAVE = 1 << 27 };
	const uint64_t amx = UINT64_C(3) << 17;
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE) ||
	    !__get_cpuid_count(XSAVE_LEAF, 0, &a, &b, &c, &d))
		return mw_trace_refuse(err, "the CPU has no XSAVE: attach needs it") == MW_TRACE_DONE;
	v->save_mask = ((uint64_t)d << 32 | a) & ~amx;
	v->save_bytes = LEGACY_AND_HEADER;
	for (unsigned i = 2; i < 64; i++)
		if (v->save_mask >> i & 1 && __get_cpuid_count(XSAVE_LEAF, i, &a, &b, &c, &d) &&
		    b + a > v->save_bytes)
			v->save_bytes = b + a;
	return true;
}

/* As the kernel does after a signal without a handler. */
static void restart_call(struct user_regs_struct *r)
{
	if ((long)r->orig_rax < 0)
		return; /* not in a system call */
	switch (-(long)r->rax) {
	case RESTART_SYS:
	case RESTART_NOINTR:
	case RESTART_NOHAND:
		r->rax = r->orig_rax;
		r->rip -= 2;
		break;
	case RESTART_BLOCK:
		r->rax = SYS_restart_syscall;
		r->rip -= 2;
		break;
	default:
		break;
	}
	r->orig_rax = (unsigned long long)-1;
}

enum mw_trace_result mw_machine_lead(const struct mw_there *t, uintptr_t entry, size_t stack,
				     char err[MW_THERE_ERROR])
{
	struct user_regs_struct r;
	uint64_t back;

	if (ptrace(PTRACE_GETREGS, t->pid, 0, &r) != 0)
		return mw_trace_refuse_ptrace(err);
	if (r.cs != CS_64)
		return mw_trace_refuse(err, "its main thread runs 32-bit code: not supported");
	if (mw_trace_in_sequence(t, r.rip) || !mw_trace_has_stack(t, r.rsp, stack))
		return MW_TRACE_AGAIN;
	restart_call(&r);
	back = r.rip;
	if (!mw_there_write(t, r.rsp - MW_VISIT_SKIP, &back, sizeof(back)))
		return MW_TRACE_AGAIN;
	r.rsp -= MW_VISIT_SKIP;
	r.rip = entry;
	return ptrace(PTRACE_SETREGS, t->pid, 0, &r) == 0 ? MW_TRACE_DONE : mw_trace_refuse_ptrace(err);
}

#endif
