/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plant.c - sets the offsets wrong that Ruby's structures are read by; see plant.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/tracker/table/generation.h"
#include "../../src/tracker/caller/ruby/frame.h"

/* as frame.h has them */
struct mw_planted mw_planted = {
	.ec_stack = 0,
	.ec_stack_words = 8,
	.ec_cfp = 16,
	.cfp_pc = 0,
	.cfp_sp = 8,
	.cfp_iseq = 16,
	.cfp_ep = 32,
	.body_size = 4,
	.body_code = 8
};

static const struct {
	const char *name;
	ptrdiff_t *at;
} constants[] = {
	{ "ec_stack", &mw_planted.ec_stack },   { "ec_stack_words", &mw_planted.ec_stack_words },
	{ "ec_cfp", &mw_planted.ec_cfp },       { "cfp_pc", &mw_planted.cfp_pc },
	{ "cfp_sp", &mw_planted.cfp_sp },       { "cfp_iseq", &mw_planted.cfp_iseq },
	{ "cfp_ep", &mw_planted.cfp_ep },       { "body_size", &mw_planted.body_size },
	{ "body_code", &mw_planted.body_code },
};

enum when { FOUND, LATE, CALL };
static struct {
	enum when when;
	char name[32], value[32];
	bool wanted, planted;
} plant;

/* Of a kind that the object's other thread-local variables are of. */
static __thread const char *decoy __attribute__((tls_model("initial-exec")));
static __thread const char *null __attribute__((tls_model("initial-exec")));

static uintptr_t wrong(uintptr_t right)
{
	uintptr_t n;

	plant.planted = true;
	n = (uintptr_t)strtoull(plant.value + (*plant.value == '+' || *plant.value == '-'), NULL, 0);
	return *plant.value == '+' ? right + n : *plant.value == '-' ? right - n : n;
}

static bool is(const char *name)
{
	return plant.wanted && !strcmp(plant.name, name);
}

static void plant_constant(void)
{
	for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++)
		if (is(constants[i].name))
			*constants[i].at = (ptrdiff_t)wrong((uintptr_t)*constants[i].at);
}

static void plant_ec(void)
{
	const char **var = !strcmp(plant.value, "decoy") ? &decoy :
			   !strcmp(plant.value, "null")  ? &null :
							   NULL;

	if (!var) {
		mw_ruby.ec = (ptrdiff_t)wrong((uintptr_t)mw_ruby.ec);
		return;
	}
	plant.planted = true;
	decoy = MW_AT(const char *, mw_thread_pointer(), mw_ruby.ec);
	mw_ruby.ec = (ptrdiff_t)((uintptr_t)var - mw_thread_pointer());
}

static void plant_found(void)
{
	if (is("ec"))
		plant_ec();
	if (is("frame_size"))
		mw_ruby.frame_size = (uint32_t)wrong(mw_ruby.frame_size);
	if (is("body"))
		mw_ruby_body = (uint32_t)wrong(mw_ruby_body);
}

/* Once. */
static void plant_all(void)
{
	if (plant.planted)
		return;
	plant_constant();
	plant_found();
	if (is("count"))
		mw_clock.now = (const uint32_t *)wrong((uintptr_t)mw_clock.now);
}

void mw_plant_found(void)
{
	if (plant.when == FOUND)
		plant_found();
}

void mw_plant_count(const uint32_t **count)
{
	if (plant.when == FOUND && is("count"))
		*count = (const uint32_t *)wrong((uintptr_t)*count);
}

void mw_plant_checked(void)
{
	if (plant.when == LATE)
		plant_all();
}

/* True: something was set wrong, now or before. */
__attribute__((visibility("default"))) int mw_plant_now(void);
int mw_plant_now(void)
{
	if (plant.when == CALL)
		plant_all();
	return plant.planted;
}

__attribute__((constructor)) static void plant_init(void)
{
	const char *s = getenv("MWRAP_TEST_PLANT");

	if (!s)
		return;
	if (!strncmp(s, "late:", 5) || !strncmp(s, "call:", 5)) {
		plant.when = *s == 'l' ? LATE : CALL;
		s += 5;
	}
	plant.wanted = sscanf(s, "%31[a-z_]=%31s", plant.name, plant.value) == 2;
	if (plant.when == FOUND)
		plant_constant();
}
