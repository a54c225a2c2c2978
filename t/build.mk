# Builds the programs that the tests run: t/programs/*.c, *.cc as .build/t/programs/*,
# t/unit/*.c (cmocka) as .build/t/unit/*, which t/unit.t runs, t/preload/*.c as
# .build/t/preload/*.so, and t/plugins/*.c, *.cc as .build/t/plugins/*.so. All of them
# may include t/lib/*.h.
T := $(B)/t
# t/programs/urcu.c: once for each flavour of liburcu
FLAVOURS := bp memb mb qsbr
PROGRAMS := $(patsubst t/programs/%.c,$(T)/programs/%,$(filter-out %/urcu.c,$(wildcard t/programs/*.c))) \
	$(FLAVOURS:%=$(T)/programs/urcu_%) \
	$(patsubst t/programs/%.cc,$(T)/programs/%,$(wildcard t/programs/*.cc))
UNITS := $(patsubst t/unit/%.c,$(T)/unit/%,$(wildcard t/unit/*.c))
PRELOADS := $(patsubst t/preload/%.c,$(T)/preload/%.so,$(wildcard t/preload/*.c))
PLUGINS := $(patsubst t/plugins/%.c,$(T)/plugins/%.so,$(wildcard t/plugins/*.c)) \
	$(patsubst t/plugins/%.cc,$(T)/plugins/%.so,$(wildcard t/plugins/*.cc))
check-programs: $(PROGRAMS) $(UNITS) $(PRELOADS) $(PLUGINS) bench-programs
$(PROGRAMS) $(PRELOADS) $(PLUGINS): $(wildcard t/lib/*.h) src/api/api.h src/shared/options/options.h src/server/httpd/httpd.h

TEST_CFLAGS := -std=gnu11 -O1 -g $(WARN) -Wno-missing-prototypes -fno-builtin -D_GNU_SOURCE -Isrc
$(T)/programs/%: t/programs/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -rdynamic -o $@ $< $(LIBS) -lpthread -ldl
$(T)/programs/own_mhd: LIBS := $(MHD_LIBS)
PROFILE_OBJ := $(call o,shared/text shared/report server/report)
$(T)/programs/profile_forms: LIBS := $(PROFILE_OBJ)
$(T)/programs/profile_forms: $(PROFILE_OBJ)
TRACE_OBJ := $(call o,recording/format)
$(T)/programs/write_trace: LIBS := $(TRACE_OBJ)
$(T)/programs/write_trace: $(TRACE_OBJ)
$(T)/programs/urcu_%: t/programs/urcu.c
	$(call say,CC,'$< for $*')
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -Wno-unused-function -DFLAVOUR_$* -rdynamic -o $@ $< -lurcu-$* -lurcu-common -lpthread -ldl
$(T)/programs/%: t/programs/%.cc
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D) && $(CXX) -std=c++17 -O1 -g -rdynamic -o $@ $< -lpthread -ldl
$(T)/preload/%.so: t/preload/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -fPIC -shared -o $@ $< -ldl -lpthread
$(T)/preload/above.so: t/preload/witness.c
$(T)/plugins/%.so: t/plugins/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -fPIC -shared -o $@ $< -ldl -lpthread
$(T)/plugins/%.so: t/plugins/%.cc
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D) && $(CXX) -std=c++17 -O1 -g -fPIC -shared -o $@ $< -ldl -lpthread
# a unit test names the objects that it needs in a comment: /* uses: src/shared/options/options.c ... */;
# @server: those of the server's rooms but httpd that it calls. These have assertions (t/assert.mk)
$(T)/server.a: $(call asserted,$(filter-out $(B)/src/server/httpd/%,$(SERVER_OBJ)))
	$(Q)mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^
$(T)/unit/%: t/unit/%.c $(TRACKER_OBJ:$(B)/%=$(ASSERT)/%) $(REPLAY_OBJ) $(T)/server.a
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -DMW_ASSERT -o $@ $< \
		$$(sed -n 's,^/\* uses: \(.*\) \*/,\1,p' $< | tr ' ' '\n' | \
			sed 's,^\(src/\(tracker\|shared\)/.*\)\.c$$,$(ASSERT)/\1.o,; s,^\(src/.*\)\.c$$,$(B)/\1.o,; s,^@server$$,$(T)/server.a,') \
		$(ASSERT)/src/shared/sys/ranks.o -lcmocka -lpthread -ldl $(URCU_LIBS)
$(UNITS): $(wildcard t/unit/*.h)
$(T)/unit/test_routes $(T)/unit/test_routes_random $(T)/unit/test_template $(T)/unit/test_access $(T)/unit/test_login $(T)/unit/test_socket_mode \
	$(T)/unit/test_history $(filter $(T)/unit/test_family% $(T)/unit/test_journal% $(T)/unit/test_stream%,$(UNITS)): $(SERVER_OBJ)
