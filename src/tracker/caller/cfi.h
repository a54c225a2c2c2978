/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi.h - call frame information: how to leave the function that a pc is in.
 *
 * The compiler describes each instruction of a function in .eh_frame. A description is read for
 * one pc at a time, and reduced to an unwind row: where the caller's stack pointer, frame pointer and
 * return address are. A row has no other register and no DWARF expression; what needs one is
 * MW_CFI_RULE.
 *
 *  - Any thread and any signal handler may call. No lock, no allocation; errno is kept. Nothing is
 *    written but the caller's own structs. No system call.
 *  - mw_cfi_row reads nothing outside of `hdr` and `frame`, whatever bytes are there, and runs at
 *    most MW_CFI_STEPS instructions. The bytes must not change meanwhile.
 *  - mw_cfi_place trusts the dynamic linker, and the object's program headers as it loaded them.
 *  - The object must stay loaded for the call. It does if the pc is on the calling thread's stack.
 *  - Understood: what gcc, clang, and the linkers ld, gold, lld and mold emit for x86-64 and
 *    arm64. The search table must be a sorted one of 32-bit offsets, as they all write it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MW_CFI_STEPS = 1 << 14 };
/* A frame is smaller than this, in bytes. */
enum { MW_CFI_FRAME_MAX = 4 << 20 };

enum mw_cfi {
	MW_CFI_FOUND,
	MW_CFI_OUTERMOST, /* the return address is undefined: the thread began here */
	MW_CFI_SIGNAL,    /* the kernel put this frame on the stack, for a signal handler */
	MW_CFI_RULE,      /* malformed, or beyond what a row can say */
	MW_CFI_NONE       /* nothing describes this pc */
};

/* Offsets are in bytes, multiples of 8, up to MW_CFI_FRAME_MAX. */
struct mw_cfi_row {
	bool by_fp;   /* CFA = frame pointer + cfa, not stack pointer + cfa */
	uint32_t cfa;
	uint32_t fp;  /* the caller's frame pointer is at CFA - fp; 0: it is unchanged */
	uint32_t ra;  /* the return address is at CFA - ra; 0: in the link register (arm64 only) */
};

/* Addresses of bytes that may be read, the end excluded. */
struct mw_cfi_bytes {
	uintptr_t start, end;
};

struct mw_cfi_place {
	struct mw_cfi_bytes hdr;   /* .eh_frame_hdr, with the search table */
	struct mw_cfi_bytes frame; /* from .eh_frame to its segment's end */
};

/* The description of the object that has this pc. False: there is none. */
bool mw_cfi_place(uintptr_t pc, struct mw_cfi_place *);

/* The row for the instruction at pc; written only if the result is MW_CFI_FOUND. */
enum mw_cfi mw_cfi_row(const struct mw_cfi_place *, uintptr_t pc, struct mw_cfi_row *);

/* The function that pc is in, by the search table: up to the next one that it has. False: none is. */
bool mw_cfi_function(const struct mw_cfi_place *, uintptr_t pc, struct mw_cfi_bytes *);
