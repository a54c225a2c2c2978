/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plant.h - in the tracker that t/tests.mk builds, in place of frame.h's
 * constants: variables, which $MWRAP_TEST_PLANT sets wrong, as well as what
 * find.c finds.
 *
 *   [WHEN:]NAME=[+|-]VALUE
 *
 *   WHEN  nothing: before the self-check; late: right after it held; call:
 *         when the process calls mw_plant_now()
 *   NAME  a constant in small letters, without its MW_; or ec, frame_size,
 *         body, count (where GC.count is read)
 *   VALUE bytes, with a sign added to the right value. For ec also `decoy`, a
 *         variable that is right in the thread and Fiber where it is planted
 *         only, and `null`, one that is never set.
 */
#pragma once

struct mw_planted {
	ptrdiff_t ec_stack, ec_stack_words, ec_cfp;
	ptrdiff_t cfp_pc, cfp_sp, cfp_iseq, cfp_ep;
	ptrdiff_t body_size, body_code;
};
extern MW_HIDDEN struct mw_planted mw_planted;

#define MW_EC_STACK (mw_planted.ec_stack)
#define MW_EC_STACK_WORDS (mw_planted.ec_stack_words)
#define MW_EC_CFP (mw_planted.ec_cfp)
#define MW_CFP_PC (mw_planted.cfp_pc)
#define MW_CFP_SP (mw_planted.cfp_sp)
#define MW_CFP_ISEQ (mw_planted.cfp_iseq)
#define MW_CFP_EP (mw_planted.cfp_ep)
#define MW_BODY_SIZE (mw_planted.body_size)
#define MW_BODY_CODE (mw_planted.body_code)

/* Calls of vm.c: what is found may be set wrong, and all once it was checked. */
void mw_plant_found(void);
void mw_plant_count(const uint32_t **count);
void mw_plant_checked(void);
