/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mappings.h - anonymous memory that the application mapped itself, with the location of the call.
 *
 * It is no allocator's, so no location counts it: this list is for the memory map alone. A location in
 * it isn't retired. Lock-free; any thread, also in a signal handler. Mappings beyond MW_MAPPINGS
 * aren't noted. mremap(2) isn't seen: what was moved has an entry for its old address, until somebody maps there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MW_MAPPING_LEAST ((size_t)64 << 10)
enum { MW_MAPPINGS = 1024 };

void mw_mapping_add(uintptr_t start, size_t bytes, uint32_t id);
/* Call it before [start, start + bytes) is unmapped, or mapped anew. */
void mw_mapping_gone(uintptr_t start, size_t bytes);
/* Is there one of this location? */
bool mw_mappings_of(uint32_t id);
/* Calls f with each; id: as it is shown. */
void mw_mappings_each(void (*f)(uintptr_t start, size_t bytes, uint32_t id, void *ctx), void *ctx);
