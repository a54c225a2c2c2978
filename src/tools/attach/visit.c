/* SPDX-License-Identifier: GPL-2.0-or-later */
/* visit.c - see visit.h. */
#include "visit.h"

#if MW_INJECT_CAN

#include <dlfcn.h>
#include <stddef.h>

#include "shared/sys/ruby_wake.h"

#define THERE __attribute__((section("mw_visit"), used, noinline, no_stack_protector))

#define ENTRY                                      \
	".pushsection mw_visit,\"ax\",@progbits\n" \
	".globl mw_visit_of, mw_visit_entry\n"     \
	".hidden mw_visit_of, mw_visit_entry\n"    \
	".balign 8\n"                              \
	"mw_visit_of: .quad 0\n"                   \
	"mw_visit_entry:\n"

#if defined(__x86_64__)
_Static_assert(offsetof(struct mw_visit, save_mask) == 88, "as the code below has it");
_Static_assert(offsetof(struct mw_visit, save_bytes) == 96, "as the code below has it");

/*
 * XSAVE writes 8 bytes of its header, and XRSTOR wants the others to be 0. rbx has the stack
 * meanwhile, rdi and r12 the struct.
 */
__asm__(ENTRY
	"pushfq\n"
	"push %rax\n push %rcx\n push %rdx\n push %rbx\n push %rbp\n push %rsi\n push %rdi\n"
	"push %r8\n push %r9\n push %r10\n push %r11\n push %r12\n push %r13\n push %r14\n push %r15\n"
	"cld\n"
	"mov %rsp, %rbx\n"
	"mov mw_visit_of(%rip), %r12\n"
	"sub 96(%r12), %rsp\n"
	"and $-64, %rsp\n"
	"xor %eax, %eax\n"
	"mov $8, %ecx\n"
	"lea 512(%rsp), %rdi\n"
	"rep stosq\n"
	"mov 88(%r12), %eax\n"
	"mov 92(%r12), %edx\n"
	"xsave64 (%rsp)\n"
	"mov %r12, %rdi\n"
	"call mw_visit_ask\n"
	"mov 88(%r12), %eax\n"
	"mov 92(%r12), %edx\n"
	"xrstor64 (%rsp)\n"
	"mov %rbx, %rsp\n"
	"pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %r11\n pop %r10\n pop %r9\n pop %r8\n"
	"pop %rdi\n pop %rsi\n pop %rbp\n pop %rbx\n pop %rdx\n pop %rcx\n pop %rax\n"
	"popfq\n"
	"ret $128\n"
	".popsection\n");
#define JOB "mw_visit_job"
#define AT_THREAD(word, at) __asm__ volatile("mov %%fs:(%1), %0" : "=r"(word) : "r"(at))
#else
/*
 * bti jc and bti c, nops on older processors: its page may be guarded, and nothing else may be jumped to then. All registers
 * are in a signal's frame: see arm64.c.
 */
__asm__(ENTRY
	"hint #38\n"
	"ldr x0, mw_visit_of\n"
	"bl mw_visit_ask\n"
	"mov x8, #139\n" /* rt_sigreturn */
	"svc #0\n"
	".globl mw_visit_job\n"
	".hidden mw_visit_job\n"
	"mw_visit_job:\n"
	"hint #34\n"
	"b mw_visit_work\n"
	".popsection\n");
#define JOB "mw_visit_work"
#define AT_THREAD(word, at) \
	__asm__ volatile("mrs %0, tpidr_el0\n\tldr %0, [%0, %1]" : "=&r"(word) : "r"(at) : "memory")
#endif

static inline __attribute__((always_inline)) void say(struct mw_visit *v, uint32_t state)
{
	__atomic_store_n(&v->state, state, __ATOMIC_RELAXED);
}

/* Does Ruby still run in this thread? It lets its VM go in steps: nobody else does, and not now. */
static inline __attribute__((always_inline)) _Bool is_up(const struct mw_visit *v)
{
	const void *context = v;

	if (v->tls_get_addr)
		context = *v->tls_get_addr(v->context_index);
	else if (v->context_at)
		AT_THREAD(context, v->context_at);
	return *v->vm && context;
}

/* False: Ruby takes no job. */
static inline __attribute__((always_inline)) _Bool ask_for_job(struct mw_visit *v)
{
	enum { JOBS = 32 };
	unsigned handle;

	/* twice: Ruby 3.1 tells the thread that ran last, then the calling one */
	if (v->register_one)
		return v->register_one(0, v->job, v) && v->register_one(0, v->job, v);
	handle = v->preregister(0, v->job, v);
	if (handle < JOBS)
		v->trigger(handle);
	return handle < JOBS;
}

void mw_visit_ask(struct mw_visit *v);
THERE void mw_visit_ask(struct mw_visit *v)
{
	int *e = v->errno_location(), kept = *e;

	if (!is_up(v)) {
		say(v, MW_VISIT_ENDS);
		return;
	}
	if (!v->native_thread_p()) {
		say(v, MW_VISIT_NO_RUBY);
		return;
	}
	if (!ask_for_job(v)) {
		say(v, MW_VISIT_FULL);
		return;
	}
	if (__atomic_load_n(&v->state, __ATOMIC_RELAXED) == MW_VISIT_NEW)
		say(v, MW_VISIT_ASKED);
	if (__atomic_load_n(&v->wake, __ATOMIC_RELAXED))
		(void)mw_ruby_wake(v->ruby, v->ruby_end);
	*e = kept;
}

THERE void mw_visit_job_(void *data) __asm__(JOB);
THERE void mw_visit_job_(void *data)
{
	struct mw_visit *v = data;
	void *library;
	const char *api, *why;

	if (__atomic_load_n(&v->withdrawn, __ATOMIC_RELAXED))
		return;
	say(v, MW_VISIT_RUNS);
	library = v->dlopen(v->path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		why = v->dlerror();
		for (unsigned i = 0; why && why[i] && i < sizeof(v->error) - 1; i++)
			*(volatile char *)&v->error[i] = why[i];
		say(v, MW_VISIT_ERROR);
		return;
	}
	api = v->dlsym(library, v->symbol);
	if (!api || *(const uint32_t *)(api + v->version_at) != v->version) {
		say(v, MW_VISIT_VERSION);
		return;
	}
	say(v, MW_VISIT_LOADED);
	(void)(*(_Bool(*const *)(void))(api + v->asked_at))();
}

#endif
