/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arm64.c - see machine.h.
 *
 * No instruction of arm64 goes to an address that only the stack has: a register must have it. So the thread comes
 * back as from a signal handler, by rt_sigreturn(2), from a frame as the kernel writes it.
 *
 * At the stop the kernel has set an interrupted call to be made again already, and doesn't tell that it was one. So if
 * the next instruction is a call, the thread goes on into it, and stops before it is made. Its registers then have
 * that call, which it makes once it is back. Until then it asks for its number, which any sandbox allows.
 */
#include "machine.h"

#if defined(__aarch64__)

#include <elf.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <ucontext.h>
#include <unistd.h>

/* As the kernel reads it, from the stack pointer on. */
struct frame {
	siginfo_t info;
	ucontext_t context;
};
_Static_assert(sizeof(siginfo_t) == 128 && offsetof(ucontext_t, uc_mcontext) == 176 &&
		       offsetof(mcontext_t, __reserved) == 288,
	       "the kernel's rt_sigframe");

/* The first record in `__reserved`; zeros behind it end them. */
struct vectors {
	uint32_t magic, size, fpsr, fpcr;
	__uint128_t v[32];
};
_Static_assert(sizeof(struct vectors) == 528, "the kernel's fpsimd_context");

enum {
	VECTORS = 0x46508001,
	MORE_VECTORS = 0x405, /* NT_ARM_SVE */
	STREAMING = 0x40b,    /* NT_ARM_SSVE */
	MATRIX = 0x40c,       /* NT_ARM_ZA */
	GUARDED_STACK = 0x410, /* NT_ARM_GCS */
	IN_USE = 1, /* in the flags of the first two */
	MATRIX_HEAD = 16,
	BRANCHED = 3 << 10, /* in pstate: the kind of a branch that was just taken */
	NO_SUCH_STACK = 0x7fff0000, /* with these flags the alternate stack stays as it is */
	SYSTEM_CALL = 0x80 | SIGTRAP
};
#define SVC UINT32_C(0xd4000001)

/* --- Ruby's code ------------------------------------------------------------------------- */

enum { LOOK = 24 }; /* instructions of a function that are looked at */
#define TRIGGER "rb_postponed_job_trigger"

/* The address in bits 5 to 23 and 29, 30 of adrp, for one at `pc`. */
static uintptr_t page_of(uint32_t adrp, uintptr_t pc)
{
	int64_t pages = (int64_t)((uint64_t)(adrp >> 5 & 0x7ffff) << 45) >> 43 | (adrp >> 29 & 3);

	return (pc & ~(uintptr_t)0xfff) + ((uintptr_t)pages << 12);
}

/* The address of adrp R, PAGE; ldr S, [R, #N], with at most two instructions between them; 0: there is none. */
static uintptr_t first_read(const uint32_t code[LOOK], uintptr_t at)
{
	enum { APART = 3 };

	for (int i = 0; i < LOOK; i++) {
		uint32_t load = 0xf9400000 | (code[i] & 31) << 5;

		if ((code[i] & 0x9f000000) != 0x90000000)
			continue;
		for (int k = i + 1; k < LOOK && k <= i + APART; k++)
			if ((code[k] & 0xffc003e0) == load)
				return page_of(code[i], at + (uintptr_t)i * 4) +
				       (code[k] >> 10 & 0xfff) * 8;
	}
	return 0;
}

/* Ruby exports it up to 3.2. From then on a function reads it first of all, or its address from the GOT. */
uintptr_t mw_machine_vm(const struct mw_there *t, const struct mw_object *ruby)
{
	uintptr_t at = mw_there_symbol(t, ruby, TRIGGER), vm, word;
	uint32_t code[LOOK];

	if (!at || !mw_there_read(t, at, code, sizeof(code)))
		return 0;
	vm = first_read(code, at);
	if (!vm || !mw_there_read(t, vm, &word, sizeof(word)))
		return 0;
	if (word > ruby->base && word < ruby->data_end)
		vm = word;
	return mw_there_read(t, vm, &word, sizeof(word)) && word % 8 == 0 &&
			       mw_there_read(t, word, &word, sizeof(word)) ?
		       vm :
		       0;
}

/* Does the function return its argument's second word? So it is for what lies at a fixed distance. */
static bool is_fixed(const struct mw_there *t, uintptr_t function)
{
	static const uint32_t body[] = { 0xf9400400, 0xd65f03c0 }; /* ldr x0, [x0, #8]; ret */
	const uint32_t hint = 0xd503201f, hints = 0xfffff01f; /* nop, or bti */
	uint32_t code[3];

	if (!mw_there_read(t, function, code, sizeof(code)))
		return false;
	return memcmp(code, body, sizeof(body)) == 0 ||
	       ((code[0] & hints) == hint && memcmp(code + 1, body, sizeof(body)) == 0);
}

/* Where code reads it: adrp x0; ldr xR, [x0, #N]; add x0, x0, #N; blr xR. There are a function and its argument. */
static bool context_in(const struct mw_there *t, uintptr_t at, const uint32_t code[LOOK],
		       struct mw_visit *v)
{
	uintptr_t pair[2];

	for (int i = 0; i + 4 <= LOOK; i++) {
		uint32_t offset = code[i + 1] >> 10 & 0xfff;

		if ((code[i] & 0x9f00001f) != 0x90000000 || (code[i + 1] & 0xffc003e0) != 0xf9400000 ||
		    code[i + 2] != (0x91000000 | offset << 13) || (code[i + 3] & 0xfffffc1f) != 0xd63f0000)
			continue;
		if (!mw_there_read(t, page_of(code[i], at + (uintptr_t)i * 4) + offset * 8, pair,
				   sizeof(pair)) ||
		    !is_fixed(t, pair[0]))
			return false;
		v->context_at = (int64_t)pair[1];
		return v->context_at != 0;
	}
	return false;
}

/* The function that bl at `pc` calls. */
static uintptr_t called(uint32_t bl, uintptr_t pc)
{
	return pc + (uintptr_t)((int64_t)((uint64_t)(bl & 0x3ffffff) << 38) >> 36);
}

/* In a function, or in one that it calls. */
static bool context_below(const struct mw_there *t, uintptr_t at, struct mw_visit *v)
{
	uint32_t code[LOOK], inner[LOOK];

	if (!at || !mw_there_read(t, at, code, sizeof(code)))
		return false;
	if (context_in(t, at, code, v))
		return true;
	for (int i = 0; i < LOOK; i++) {
		uintptr_t f = called(code[i], at + (uintptr_t)i * 4);

		if ((code[i] & 0xfc000000) == 0x94000000 && mw_there_read(t, f, inner, sizeof(inner)) &&
		    context_in(t, f, inner, v))
			return true;
	}
	return false;
}

bool mw_machine_context(const struct mw_there *t, const struct mw_object *ruby, struct mw_visit *v)
{
	uintptr_t trigger = mw_there_symbol(t, ruby, TRIGGER);

	return context_below(t, trigger ? trigger : mw_there_symbol(t, ruby, MW_MACHINE_ONE), v);
}

/* --- registers --------------------------------------------------------------------------- */

bool mw_machine_measure(struct mw_visit *v, char err[MW_THERE_ERROR])
{
	(void)err;
	v->save_bytes = sizeof(struct frame);
	return true;
}

/* How many bytes came; 0: there is no such set. */
static size_t get_regset(pid_t pid, unsigned set, void *to, size_t n)
{
	struct iovec v = { to, n };

	return ptrace(PTRACE_GETREGSET, pid, (void *)(uintptr_t)set, &v) == 0 ? v.iov_len : 0;
}

static bool set_regset(pid_t pid, unsigned set, void *from, size_t n)
{
	struct iovec v = { from, n };

	return ptrace(PTRACE_SETREGSET, pid, (void *)(uintptr_t)set, &v) == 0;
}

static bool get_registers(pid_t pid, struct user_regs_struct *r)
{
	return get_regset(pid, NT_PRSTATUS, r, sizeof(*r)) == sizeof(*r);
}

/* Registers that the frame doesn't have: of SVE and SME, after a call they are never in use. */
static bool has_more(pid_t pid)
{
	struct {
		uint32_t size, max_size;
		uint16_t vl, max_vl, flags, pad;
	} head;
	uint64_t guarded[3];

	return (get_regset(pid, MORE_VECTORS, &head, sizeof(head)) == sizeof(head) && head.flags & IN_USE) ||
	       (get_regset(pid, STREAMING, &head, sizeof(head)) == sizeof(head) && head.flags & IN_USE) ||
	       (get_regset(pid, MATRIX, &head, sizeof(head)) == sizeof(head) && head.size > MATRIX_HEAD) ||
	       (get_regset(pid, GUARDED_STACK, guarded, sizeof(guarded)) && guarded[0] & 1);
}

static bool fill_frame(pid_t pid, const struct user_regs_struct *r, struct frame *f)
{
	enum { GET_SIGMASK = 0x420a, SIGMASK = 8 };
	struct user_fpsimd_struct is;
	struct vectors v = { .magic = VECTORS, .size = sizeof(v) };
	mcontext_t *m = &f->context.uc_mcontext;

	if (get_regset(pid, NT_PRFPREG, &is, sizeof(is)) != sizeof(is) ||
	    syscall(SYS_ptrace, GET_SIGMASK, pid, SIGMASK, &f->context.uc_sigmask) != 0)
		return false;
	v.fpsr = is.fpsr;
	v.fpcr = is.fpcr;
	memcpy(v.v, is.vregs, sizeof(v.v));
	memcpy(m->__reserved, &v, sizeof(v));
	memcpy(m->regs, r->regs, sizeof(m->regs));
	m->sp = r->sp;
	m->pc = r->pc;
	m->pstate = r->pstate;
	f->context.uc_stack.ss_flags = NO_SUCH_STACK;
	return true;
}

/*
 * The thread is about to make a call, or to make it again: lets it begin. r: as before the call. AGAIN: it is another
 * call than that, or the rest of a sleep, which a frame can't hold.
 */
static enum mw_trace_result into_call(pid_t pid, const struct user_regs_struct *r, char *err)
{
	struct user_regs_struct in;
	enum mw_trace_result result;

	if (ptrace(PTRACE_SYSCALL, pid, 0, 0) != 0)
		return mw_trace_refuse_ptrace(err);
	result = mw_trace_wait(pid, SYSTEM_CALL, true, err);
	if (result != MW_TRACE_DONE)
		return result;
	if (!get_registers(pid, &in))
		return mw_trace_refuse_ptrace(err);
	in.regs[7] = r->regs[7]; /* the kernel has another value there as long as this stop lasts */
	in.pc -= sizeof(SVC);
	return memcmp(&in, r, sizeof(in)) == 0 && in.regs[8] != SYS_restart_syscall ?
		       MW_TRACE_DONE :
		       MW_TRACE_AGAIN;
}

/* The thread goes on at the entry, instead of into the call that it has begun. */
static bool go_to(pid_t pid, struct user_regs_struct *r, uintptr_t entry, uintptr_t stack, bool in_call)
{
	int other = SYS_getpid;

	r->sp = stack;
	r->pc = entry;
	r->pstate &= ~(uint64_t)BRANCHED;
	return (!in_call || set_regset(pid, NT_ARM_SYSTEM_CALL, &other, sizeof(other))) &&
	       set_regset(pid, NT_PRSTATUS, r, sizeof(*r));
}

enum mw_trace_result mw_machine_lead(const struct mw_there *t, uintptr_t entry, size_t stack,
				     char err[MW_THERE_ERROR])
{
	struct frame f = { 0 };
	struct user_regs_struct r;
	uintptr_t at;
	uint32_t code;

	if (!get_registers(t->pid, &r))
		return mw_trace_refuse_ptrace(err);
	if (mw_trace_in_sequence(t, r.pc) || !mw_trace_has_stack(t, r.sp, stack) || has_more(t->pid) ||
	    !mw_there_read(t, r.pc, &code, sizeof(code)))
		return MW_TRACE_AGAIN;
	if (code == SVC) {
		enum mw_trace_result result = into_call(t->pid, &r, err);

		if (result != MW_TRACE_DONE)
			return result;
	}
	at = (r.sp - sizeof(f)) & ~(uintptr_t)15;
	if (!fill_frame(t->pid, &r, &f) || !mw_there_write(t, at, &f, sizeof(f)))
		return MW_TRACE_AGAIN;
	return go_to(t->pid, &r, entry, at, code == SVC) ? MW_TRACE_DONE : mw_trace_refuse_ptrace(err);
}

#endif
