# Builds the tracker, its server and the writer of recordings with assertions (src/shared/sys/mw_assert.h), in
# .build/assert. The unit tests are linked with these objects, and t/assert.t preloads this tracker. What is
# installed has no assertion.
ASSERT := $(B)/assert
ASSERTED := $(addprefix $(ASSERT)/,libmwrap.so libmwrap_httpd.so libmwrap_mhd.so libmwrap_record.so)
# all of the tracker, and what else has an assertion or a lock
ASSERT_OBJ := $(TRACKER_OBJ) $(patsubst %.c,$(B)/%.o,$(shell grep -rl --include='*.c' -e mw_assert -e mw_mutex -e mw_rank src))
# $1: objects; replaces those with assertions
asserted = $(foreach o,$1,$(if $(filter $o,$(ASSERT_OBJ)),$(o:$(B)/%=$(ASSERT)/%),$o))
$(ASSERT)/%.o: %.c GNUmakefile t/assert.mk
	$(call say,CC,'$< with assertions')
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS_$(subst /,_,$*)) -DMW_ASSERT -MMD -MP -c -o $@ $<
# each thread's ranks are the same in all of them
$(ASSERT)/%.map: %.map
	$(Q)mkdir -p $(@D) && sed 's/global:/& mw_ranks_mine;/' $< >$@
$(ASSERT)/exports.map: $(B)/exports.map
	$(Q)mkdir -p $(@D) && sed 's/global:/& mw_ranks_mine;/' $< >$@
$(ASSERT)/libmwrap.so: $(call asserted,$(TRACKER_OBJ)) $(ASSERT)/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $(filter %.o,$^) $(LDFLAGS_ALL) -Wl,--version-script=$(filter %.map,$^) \
		-Wl,-z,nodelete -Wl,--gc-sections $(URCU_LIBS) -ldl -lpthread
$(ASSERT)/libmwrap_httpd.so: $(call asserted,$(SERVER_OBJ)) $(ASSERT)/src/server/httpd/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $(filter %.o,$^) $(LDFLAGS_ALL) -Wl,--version-script=$(filter %.map,$^) \
		-Wl,--gc-sections -lz -lpthread
$(ASSERT)/libmwrap_record.so: $(call asserted,$(RECORDER_OBJ)) $(ASSERT)/src/recording/writer/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $(filter %.o,$^) $(LDFLAGS_ALL) -Wl,--version-script=$(filter %.map,$^) -Wl,--gc-sections -ldl -lz
$(ASSERT)/libmwrap_mhd.so: $(LIBRARY)
	$(Q)mkdir -p $(@D) && cp $< $@
-include $(ASSERT_OBJ:$(B)/%.o=$(ASSERT)/%.d)
assert: $(ASSERTED)
.PHONY: assert
check-programs: $(ASSERTED)
# make check-assert  runs tests of hazards with that tracker and that server
ASSERT_TESTS := t/exact.t t/fiddle.t t/process.t t/record.t t/httpd.t t/family.t $(addprefix t/hazards/,threads.t processes.t limits.t waits.t)
check-assert: all check-programs
	$(Q)MWRAP_TEST_LIB='$(abspath $(ASSERT))' RUBY='$(RUBY)' prove $(PROVE_FLAGS) $(ASSERT_TESTS)
.PHONY: check-assert
