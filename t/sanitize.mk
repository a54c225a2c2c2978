# Builds the core (the tracker's objects in a driver, t/core/) and the unit tests
# under sanitizers, in .build/asan and .build/tsan. t/core.t runs the core in
# .build/asan; t/sanitize.t builds and runs the others. The sanitizers' runtime is
# always the compiler's dynamic one: the drivers look up the functions beneath them
# as the tracker does.
SANITIZE_asan := -fsanitize=address,undefined -fno-sanitize-recover=all
SANITIZE_tsan := -fsanitize=thread
# gcc has no model of a fence under TSan; all data that a fence orders is atomic anyway
WARN_tsan := $(if $(findstring clang,$(CC)),,-Wno-tsan)
SANITIZED_CFLAGS := -std=gnu11 -O1 -g -fno-omit-frame-pointer $(WARN) -fno-strict-aliasing -DMW_ASSERT -D_GNU_SOURCE -Isrc -I$(B)
# with aside.c the tracker would stand aside: t/core/beneath.c replaces it
CORE_SRC := $(filter-out src/tracker/hooks/cxx.c src/tracker/real/aside.c,$(TRACKER_SRC)) $(filter-out src/server/httpd/%,$(call c,server memory))

# $1: asan or tsan
define sanitized
$(B)/$1/src/%.o: src/%.c GNUmakefile t/sanitize.mk | $(B)/hooks_renamed.h
	$$(call say,CC,'$$< for $1')
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(SANITIZED_CFLAGS) $$(SANITIZE_$1) $$(WARN_$1) $$(RENAMED_$$*) -MMD -MP -c -o $$@ $$<
$(B)/$1/web.o: $(B)/web.c
	$$(Q)mkdir -p $$(@D) && $$(CC) $$(SANITIZED_CFLAGS) $$(SANITIZE_$1) -Isrc/server/http -c -o $$@ $$<
$(B)/$1/core: $$(CORE_SRC:%.c=$(B)/$1/%.o) $(B)/$1/web.o $$(wildcard t/core/*) t/lib/site.h
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(SANITIZED_CFLAGS) -Wno-missing-prototypes $$(SANITIZE_$1) -o $$@ \
		$$(filter %.o,$$^) $$(filter t/core/%.c,$$^) -Wl,--wrap=mmap -rdynamic $(URCU_LIBS) -lpthread -ldl
$1: $(B)/$1/core
endef
# here the functions that these files interpose have other names
$(B)/hooks_renamed.h: src/api/hooks.def
	$(Q)mkdir -p $(@D) && sed -n 's/^MW_HOOK\(_REAL\|_NEXT\)*(\([A-Za-z0-9_]*\).*/#define \2 app_\2/p' $< >$@
RENAMED_tracker/hooks/malloc := -DCORE_RENAME -include t/core/renamed.h
RENAMED_tracker/process/fork := -DCORE_RENAME -include t/core/renamed.h
RENAMED_tracker/process/exit := -DCORE_RENAME -include t/core/renamed.h
RENAMED_tracker/hooks/pthread := -DCORE_RENAME -include t/core/renamed.h
RENAMED_tracker/hooks/mmap := -DCORE_RENAME -include t/core/renamed.h
$(eval $(call sanitized,asan))
$(eval $(call sanitized,tsan))

# as in build.mk
$(B)/asan/server.a: $(patsubst %.c,$(B)/asan/%.o,$(filter-out src/server/httpd/%,$(call c,shared memory server))) $(B)/asan/web.o
	$(Q)rm -f $@ && ar rcs $@ $^
ASAN_UNITS := $(UNITS:$(T)/unit/%=$(B)/asan/unit/%)
$(B)/asan/unit/%: t/unit/%.c $(wildcard t/unit/*.h) $(CORE_SRC:%.c=$(B)/asan/%.o) $(B)/asan/src/server/httpd/socket_mode.o $(B)/asan/server.a
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -DMW_ASSERT $(SANITIZE_asan) -o $@ $< \
		$$(sed -n 's,^/\* uses: \(.*\) \*/,\1,p' $< | tr ' ' '\n' | \
			sed 's,^\.build/,$(B)/asan/,; s,^\(src.*\)\.c$$,$(B)/asan/\1.o,; s,^@server$$,$(B)/asan/server.a,') \
		$(B)/asan/src/shared/sys/ranks.o -lcmocka -lpthread -ldl $(URCU_LIBS)
$(ASAN_UNITS): $(REPLAY_OBJ:$(B)/%=$(B)/asan/%)
asan: $(ASAN_UNITS)
check-programs: $(B)/asan/core
.PHONY: asan tsan
