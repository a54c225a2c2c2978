# A tracker in which t/planted.t plants wrong offsets of Ruby's structures
# (t/planted/plant.h). The real tracker has no switch for that.
PLANTED := $(B)/planted/libmwrap.so
# every room that sees the offsets
PLANTED_ROOMS := $(addprefix src/tracker/,caller track hooks process)
PLANTED_SRC := $(filter $(PLANTED_ROOMS:%=%/%),$(TRACKER_SRC)) t/planted/plant.c
PLANTED_OBJ := $(PLANTED_SRC:%.c=$(B)/planted/%.o)
$(B)/planted/%.o: %.c GNUmakefile t/planted.mk
	$(call say,CC,'$< with offsets to be planted')
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS_$(subst /,_,$*)) -It/planted -DMW_PLANT='"plant.h"' -MMD -MP -c -o $@ $<
$(B)/planted/exports.map: $(B)/exports.map
	$(Q)mkdir -p $(@D) && sed 's/mwrap_api;/& mw_plant_now;/' $< > $@
$(PLANTED): $(PLANTED_OBJ) $(filter-out $(PLANTED_ROOMS:%=$(B)/%/%),$(TRACKER_OBJ)) $(B)/planted/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $(filter %.o,$^) $(LDFLAGS_ALL) -Wl,--version-script=$(B)/planted/exports.map \
		-Wl,-z,nodelete -Wl,--gc-sections $(URCU_LIBS) -ldl -lpthread
planted: $(PLANTED)
.PHONY: planted
