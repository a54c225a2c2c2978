/* SPDX-License-Identifier: GPL-2.0-or-later */
/* above.c - the witness as the layer over the tracker: see witness.c. */
#define WITNESS_ABOVE 1
#include "witness.c"
