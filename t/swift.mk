# Builds the tracker and its server with shorter waits (src/shared/sys/times.h): a fifth of each
# time. For tests that wait for these times; the real ones have no switch for it. Compiles
# only the sources that include times.h.
SWIFT := $(B)/swift/libmwrap.so $(B)/swift/libmwrap_httpd.so $(B)/swift/libmwrap_mhd.so
SWIFT_OBJ := $(patsubst %.c,$(B)/%.o,$(shell grep -rl --include='*.c' '^#include "\(shared/sys/\)*times\.h"' src))
# $1: objects; replaces those that have a swift version
swift = $(foreach o,$1,$(if $(filter $o,$(SWIFT_OBJ)),$(o:$(B)/%=$(B)/swift/%),$o))
$(B)/swift/%.o: %.c GNUmakefile t/swift.mk
	$(call say,CC,'$< with shorter waits')
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS_$(subst /,_,$*)) -DMW_SWIFT=5 -MMD -MP -c -o $@ $<
$(B)/swift/libmwrap.so: $(call swift,$(TRACKER_OBJ)) $(B)/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $(filter %.o,$^) $(LDFLAGS_ALL) -Wl,--version-script=$(B)/exports.map \
		-Wl,-z,nodelete -Wl,--gc-sections $(URCU_LIBS) -ldl -lpthread
$(B)/swift/libmwrap_httpd.so: $(call swift,$(SERVER_OBJ)) src/server/httpd/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $(filter %.o,$^) $(LDFLAGS_ALL) -Wl,--version-script=src/server/httpd/exports.map \
		-Wl,--gc-sections -lz -lpthread
$(B)/swift/libmwrap_mhd.so: $(LIBRARY)
	$(Q)mkdir -p $(@D) && cp $< $@
check-programs: $(SWIFT)
