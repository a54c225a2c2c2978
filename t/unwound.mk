# Builds what t/unit/test_unwind.c and test_cfi*.c look at: t/unwound/*.c, *.cc by several
# compilers with several options, as .build/t/unwound/*.so. Those of clang and of C++ only if there
# is such a compiler: check-quick needs no more than a build does.
UNWOUND_gcc := O0 O1 O2 O3 Os
UNWOUND_clang := $(if $(shell command -v clang),O0 O2 Os)
UNWOUND_c := $(UNWOUND_gcc:%=cc_%) cc_fp cc_nofp cc_plt $(UNWOUND_clang:%=clang_%) $(if $(UNWOUND_clang),clang_fp)
UNWOUND_cxx := $(if $(shell command -v $(CXX)),$(UNWOUND_gcc:%=cxx_%))
UNWOUND := $(patsubst %,$(T)/unwound/%.so,$(UNWOUND_c) $(UNWOUND_cxx) near far)
# cc_O2.so: -O2
UNWOUND_OPT = -$(lastword $(subst _, ,$(basename $(@F))))
UNWOUND_CFLAGS := -std=gnu11 -g $(WARN) -D_GNU_SOURCE -fPIC -shared

$(T)/unwound/cc_fp.so: UNWOUND_OPT = -O2 -fno-omit-frame-pointer
$(T)/unwound/cc_nofp.so: UNWOUND_OPT = -O1 -fomit-frame-pointer -fno-shrink-wrap
$(T)/unwound/cc_plt.so: UNWOUND_OPT = -O2 -fplt -Wl,-z,lazy
$(T)/unwound/clang_fp.so: UNWOUND_OPT = -O2 -fno-omit-frame-pointer
$(UNWOUND_c:%=$(T)/unwound/%.so): t/unwound/shapes.c t/unwound/shapes.h
	$(call say,CC,'$< for $(@F)')
	$(Q)mkdir -p $(@D) && $(if $(findstring /clang_,$@),clang,$(CC)) $(UNWOUND_CFLAGS) $(UNWOUND_OPT) -o $@ $<
$(UNWOUND_cxx:%=$(T)/unwound/%.so): $(T)/unwound/cxx_%.so: t/unwound/shapes_cxx.cc t/unwound/shapes.h
	$(call say,CXX,'$< for $(@F)')
	$(Q)mkdir -p $(@D) && $(CXX) -std=c++17 -g -$* -fPIC -shared -o $@ $<
$(T)/unwound/near.so: FRAME := 400
$(T)/unwound/far.so: FRAME := 4000
$(T)/unwound/near.so $(T)/unwound/far.so: t/unwound/moved.c t/unwound/shapes.h
	$(call say,CC,'$< for $(@F)')
	$(Q)mkdir -p $(@D) && $(CC) $(UNWOUND_CFLAGS) -O1 -fomit-frame-pointer -fcf-protection=none -fno-stack-protector -DFRAME=$(FRAME) -o $@ $<
UNWOUND_TESTS := test_unwind test_cfi test_cfi_bytes
$(UNWOUND_TESTS:%=$(T)/unit/%) $(UNWOUND_TESTS:%=$(B)/asan/unit/%): | $(UNWOUND)
