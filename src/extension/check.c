/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check.c - the parser of $MWRAP, and exec, for the launcher.
 *
 * It is the C code that the tracker runs at load. So the launcher finds a mistake before anything
 * runs, and reports it in the same words.
 */
#include <string.h>
#include <unistd.h>

#include "ext.h"

/*
 * Parses a String. Sets *dump_fd, -1 if there is none, and *malloc, nil if none. Returns the error
 * or nil.
 */
static VALUE parse(VALUE text, int *dump_fd, VALUE *malloc)
{
	char err[MW_ERROR_MAX] = "";
	const char *env = StringValueCStr(text);
	VALUE tmp = Qnil;
	struct mw_options *o = RB_ALLOCV(tmp, sizeof(*o));
	bool ok = mw_options_parse(o, env, err);

	*dump_fd = ok ? o->dump_fd : -1;
	*malloc = ok && o->malloc ? mw_string(o->malloc, strlen(o->malloc)) : Qnil;
	RB_ALLOCV_END(tmp);
	RB_GC_GUARD(text);
	return ok ? Qnil : mw_string(err, strlen(err));
}

/* :nodoc: check_options(String) -> nil, or the line that says what is wrong */
static VALUE mwrap_check_options(VALUE mod, VALUE text)
{
	VALUE malloc;
	int fd;

	return parse(text, &fd, &malloc);
}

/* :nodoc: dump_fd_option(String) -> Integer, or nil if there is none */
static VALUE mwrap_dump_fd_option(VALUE mod, VALUE text)
{
	VALUE malloc;
	int fd;

	parse(text, &fd, &malloc);
	return fd < 0 ? Qnil : INT2NUM(fd);
}

/* :nodoc: malloc_option(String) -> String, or nil if there is none */
static VALUE mwrap_malloc_option(VALUE mod, VALUE text)
{
	VALUE malloc;
	int fd;

	parse(text, &fd, &malloc);
	return malloc;
}

/*
 * :nodoc: become(path, words) - execvp(3) with Ruby's environment. Raises SystemCallError. Ruby's own exec waits for
 * its timer's thread first: from 3.4 on for ever, if that thread couldn't be started.
 */
static VALUE mwrap_become(VALUE mod, VALUE path, VALUE words)
{
	long n = RARRAY_LEN(words);
	const char *to = StringValueCStr(path);
	VALUE room = rb_str_new(NULL, (n + 1) * (long)sizeof(char *));
	char **argv = (char **)RSTRING_PTR(room);

	for (long i = 0; i < n; i++) {
		VALUE word = RARRAY_AREF(words, i);

		argv[i] = StringValueCStr(word);
	}
	argv[n] = NULL;
	execvp(to, argv); /* a script without an interpreter is for sh(1) */
	RB_GC_GUARD(room);
	rb_sys_fail(to);
}

void mw_init_check(void)
{
	VALUE mod = rb_define_module("Mwrap");

	rb_define_singleton_method(mod, "check_options", mwrap_check_options, 1);
	rb_define_singleton_method(mod, "dump_fd_option", mwrap_dump_fd_option, 1);
	rb_define_singleton_method(mod, "become", mwrap_become, 2);
	rb_define_singleton_method(mod, "malloc_option", mwrap_malloc_option, 1);
}
