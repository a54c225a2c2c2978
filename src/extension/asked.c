/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * asked.c - SIGURG: mwrapctl(1) asks this process to track itself.
 *
 * Without a handler the kernel ignores SIGURG. So this takes it only if it has its default action, and
 * the tracker isn't there already. The handler is one of Ruby's, which runs it in the main thread at a safe
 * point, and wakes that thread for it. An app that sets a handler later replaces it.
 *
 * mwrapctl must not send the signal to an app's handler. It looks for a mapping named like MARK, which
 * exists as long as Ruby keeps the handler: the handler owns it, and the GC unmaps it. Nobody
 * reads or writes the mapping.
 */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/sys/sys.h"
#include "ext.h"

#define MARK "mwrap-sleeps" /* lib/mwrap/ctl/target.rb has it, too */

static void unmap(void *mark)
{
	if (mark)
		munmap(mark, mw_page_size());
}

static const rb_data_type_t mark_type = {
	.wrap_struct_name = "mwrap_mark", .function = { .dfree = unmap }, .flags = RUBY_TYPED_FREE_IMMEDIATELY
};

static void *map_mark(void)
{
	int fd = memfd_create(MARK, MFD_CLOEXEC);
	void *at = MAP_FAILED;

	if (fd < 0)
		return NULL;
	at = mmap(NULL, mw_page_size(), PROT_NONE, MAP_PRIVATE, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static VALUE asked(RB_BLOCK_CALL_FUNC_ARGLIST(signal, mark))
{
	mw_start_asked();
	return Qnil;
}

static VALUE set_handler(VALUE handler)
{
	return rb_funcall(rb_path2class("Signal"), rb_intern("trap"), 2, rb_str_new_cstr("URG"), handler);
}

void mw_init_asked(void)
{
	struct sigaction is;
	VALUE mark;
	int raised = 0;

	if (mw_tracker != &mw_no_tracker || sigaction(SIGURG, NULL, &is) || is.sa_handler != SIG_DFL)
		return;
	mark = TypedData_Wrap_Struct(0, &mark_type, NULL);
	RTYPEDDATA_DATA(mark) = map_mark();
	if (!RTYPEDDATA_DATA(mark))
		return; /* the app does without */
	(void)rb_protect(set_handler, rb_proc_new(asked, mark), &raised);
	if (raised) {
		rb_set_errinfo(Qnil);
		unmap(RTYPEDDATA_DATA(mark));
		RTYPEDDATA_DATA(mark) = NULL;
	}
	RB_GC_GUARD(mark);
}
