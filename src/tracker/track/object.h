/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * object.h - the location at which Ruby makes an object: mw_api.object_here.
 */
#pragma once

#include <stdint.h>

uint32_t mw_object_here(void);
