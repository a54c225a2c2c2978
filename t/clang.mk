# Builds the tracker with clang as well, in .build/clang: t/cost.t counts its instructions, too.
# Without what debuggers read, which valgrind may not understand.
CLANG := $(B)/clang/libmwrap.so
$(B)/clang/%.o: %.c GNUmakefile t/clang.mk
	$(call say,CLANG,$<)
	$(Q)mkdir -p $(@D)
	$(Q)clang $(filter-out -fno-align-loops,$(CFLAGS_ALL)) $(filter-out -fno-align-loops,$(CFLAGS_$(subst /,_,$*))) -g0 -MMD -MP -c -o $@ $<
$(CLANG): $(TRACKER_SRC:%.c=$(B)/clang/%.o) $(B)/exports.map
	$(call say,LD,$@)
	$(Q)clang -shared -o $@ $(filter %.o,$^) $(LDFLAGS_ALL) -Wl,--version-script=$(B)/exports.map \
		-Wl,-z,nodelete -Wl,--gc-sections $(URCU_LIBS) -ldl -lpthread
-include $(TRACKER_SRC:%.c=$(B)/clang/%.d)
.PHONY: clang
clang: $(CLANG)
