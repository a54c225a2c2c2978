/* SPDX-License-Identifier: GPL-2.0-or-later */
/* learn.h - learns how Ruby keeps code, in a process without the extension. */
#pragma once

/* Runs some Ruby code that calls mw_ruby_learn_code. With the GVL, outside GC. Leaves nothing behind. */
void mw_learn(void);
