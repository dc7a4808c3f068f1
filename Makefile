# Sluice. `make help` lists what can be made.

CC       ?= cc
PREFIX   ?= /usr/local
LIBDIR   ?= $(PREFIX)/lib
BUILD    ?= build
PYTHON   ?= /usr/bin/python3

# ---- what is built ---------------------------------------------------------

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
            -Wvla -Wundef $(WERROR)
CFLAGS   ?= -O2 -g
SANITIZE ?=
WERROR   ?=
V        ?=
Q        := $(if $(V),,@)
say       = $(if $(V),,@echo "  $(1) $(2)")
# Small structs are filled field by field and read whole, or the other way round:
# joining such stores into wide ones makes the processor wait for them (hot key: 5 %).
override CFLAGS += -fno-tree-slp-vectorize -std=c17 -D_GNU_SOURCE -Iinclude -Isrc -I$(BUILD)/proto $(WARNINGS) $(SANITIZE) -MMD -MP
LDLIBS   := -lyaml -lhiredis -lssl -lcrypto -pthread
SERVER   := -luv -ljansson -lsqlite3 -lcurl -lnghttp2 -lprotobuf-c # what the server needs besides; the library does not
TESTLIBS := -lcmocka

CHART    := /usr/share/javascript/chart.js/chart.min.js # as Debian's libjs-chart.js has it

SOURCES  := $(sort $(shell find src -name '*.c'))
PROTOS   := $(sort $(shell find proto -name '*.proto'))
SPOKEN   := $(filter-out grpc/reflection/v1alpha/%,$(PROTOS:proto/%=%)) # that one reads as v1 does
COMMON   := $(addprefix google/protobuf/,duration.proto struct.proto timestamp.proto wrappers.proto)
OBJECTS  := $(SOURCES:src/%.c=$(BUILD)/obj/%.o) \
            $(patsubst %.proto,$(BUILD)/obj/proto/%.o,$(SPOKEN) $(COMMON))
CORE     := $(filter-out $(BUILD)/obj/cmd/%,$(OBJECTS))
TESTED   := $(filter-out $(BUILD)/obj/cmd/main.o,$(OBJECTS))
UNITS    := $(sort $(shell find tests/unit -name 'test_*.c'))
ALONE    := $(sort $(shell grep -rl --include='test_*.c' TESTS_ALONE tests/unit))
TOGETHER := $(filter-out $(ALONE),$(UNITS))
UNITBINS := $(BUILD)/unit/unit $(ALONE:tests/unit/%.c=$(BUILD)/unit/%)
PROPS    := $(BUILD)/props
STRESS   := $(BUILD)/stress
FUZZ     := $(sort $(wildcard tests/fuzz/fuzz_*.c))
CORPUS   := $(FUZZ:tests/fuzz/fuzz_%.c=$(BUILD)/corpus/%)

.DELETE_ON_ERROR:
.PHONY: all deps run demo test test-deep soak asan asan-units fuzz lint format bench bench-http bench-jwt bench-redis bench-lease bench-resp bench-grpc bench-watch bench-100m docs \
        install uninstall clean help library unit-binaries test-binaries FORCE

all: $(BUILD)/sluice library  ## build/sluice and build/libsluice.* (the default)

$(BUILD)/sluice: $(OBJECTS)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(SERVER)

$(BUILD)/obj/%.o: src/%.c $(BUILD)/.flags | $(BUILD)/.deps
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS) -c -o $@ $<

# They include them.
$(BUILD)/obj/server/http/assets.o: src/server/http/openapi.json examples/default.yaml $(wildcard web/*) $(CHART)
$(BUILD)/obj/store/redis/lua/scripts.o $(BUILD)/pic/store/redis/lua/scripts.o: $(wildcard src/algo/*.lua src/store/redis/lua/*.lua)

# Messages of gRPC. In C their strings are bytes with a length, which look the same on the wire: a NUL
# does not cut them. Reflection tells of the files as they are.
PROTO_IN := $(BUILD)/proto/in
$(BUILD)/proto/services.pb: $(PROTOS) | $(BUILD)/.deps
	$(call say,PROTO,$@)
	$(Q)rm -rf $(PROTO_IN) && mkdir -p $(PROTO_IN)
	$(Q)cp -R proto/. $(PROTO_IN) && sed -i -E 's/^( *)string /\1bytes /' $(PROTOS:proto/%=$(PROTO_IN)/%)
	$(Q)protoc-c --c_out=$(@D) -I$(PROTO_IN) -I/usr/include $(SPOKEN) $(COMMON)
	$(Q)protoc --descriptor_set_out=$@ --include_imports -Iproto -I/usr/include $(PROTOS:proto/%=%)

$(BUILD)/obj/proto/%.o: $(BUILD)/proto/services.pb $(BUILD)/.flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -w -c -o $@ $(BUILD)/proto/$*.pb-c.c

$(filter $(BUILD)/obj/server/%,$(OBJECTS)): | $(BUILD)/proto/services.pb
$(BUILD)/obj/server/http/assets.o: $(BUILD)/proto/services.pb

$(CHART): | $(BUILD)/.deps
	@test -f $@ || { echo "$@ is missing, for the dashboard: install libjs-chart.js" >&2; false; }

# Other flags, other objects: the file changes only when they do.
$(BUILD)/.flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(CFLAGS)' > $@

# ---- the library -----------------------------------------------------------

# Of all names only sluice_* leave it, whichever way it is linked: the shared one
# by its version script, the static one as a single object whose hidden names
# were made local.

VERSION := $(shell sed -n 's/^\#define SLUICE_VERSION "\(.*\)"/\1/p' include/sluice.h)
SONAME  := libsluice.so.$(firstword $(subst ., ,$(VERSION)))
SHARED  := $(BUILD)/libsluice.so.$(VERSION)
APART   := import auth registry telemetry server proto
PIC     := $(patsubst $(BUILD)/obj/%,$(BUILD)/pic/%,$(filter-out $(APART:%=$(BUILD)/obj/%/%),$(CORE)))
OBJCOPY ?= objcopy
PC       = sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
           src/lib/sluice.pc.in

library: $(SHARED) $(BUILD)/$(SONAME) $(BUILD)/libsluice.so $(BUILD)/libsluice.a $(BUILD)/sluice.pc

$(BUILD)/pic/%.o: src/%.c $(BUILD)/.flags | $(BUILD)/.deps
	@mkdir -p $(@D)
	$(call say,CC,$< (pic))
	$(Q)$(CC) $(CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

$(SHARED): src/lib/libsluice.map $(PIC)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=$< \
	    $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $(PIC) $(LDLIBS)

$(BUILD)/$(SONAME) $(BUILD)/libsluice.so: $(SHARED)
	@ln -sf $(<F) $@

$(BUILD)/libsluice.a: $(PIC)
	$(call say,AR,$@)
	$(Q)$(LD) -r -o $(BUILD)/pic/libsluice.o $(PIC)
	$(Q)$(OBJCOPY) --localize-hidden $(BUILD)/pic/libsluice.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(BUILD)/pic/libsluice.o

$(BUILD)/sluice.pc: FORCE
	@mkdir -p $(@D)
	@$(PC) > $@

# ---- what it needs ---------------------------------------------------------

# Packages are looked at once per build folder; tools/deps itself is quick and
# says nothing when nothing is missing. DEPS=no leaves the system alone.
$(BUILD)/.deps: tools/deps
	@mkdir -p $(@D)
	@tools/deps build
	@touch $@

$(BUILD)/.deps-test: tools/deps
	@mkdir -p $(@D)
	@tools/deps build test
	@touch $@

deps:                         ## install what is missing from Debian's packages
	@tools/deps build test

# ---- running ---------------------------------------------------------------

run: $(BUILD)/sluice          ## serve the example rules on 127.0.0.1:8080
	@$(BUILD)/sluice serve -c examples/sluice.yaml

demo: $(BUILD)/sluice         ## play the example rules against a small trace
	@tools/demo $(BUILD)/sluice

# ---- tests -----------------------------------------------------------------

# Every object, by name: what links with it takes what it needs, and there are hundreds that link.
$(BUILD)/core.a: $(TESTED)
	@rm -f $@
	$(Q)$(AR) qcsT $@ $(TESTED)

.PRECIOUS: $(BUILD)/unit/%.o

# The unit tests are one program, and those that replace a function of a library one each. They are
# compiled without optimisation, which takes half as long; what they test is as it is shipped.
$(BUILD)/unit/%.o: tests/unit/%.c $(BUILD)/.flags | $(BUILD)/.deps-test $(BUILD)/proto/services.pb
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS) -O0 -Itests -c -o $@ $<

$(BUILD)/unit/unit: $(TOGETHER:tests/unit/%.c=$(BUILD)/unit/%.o) $(BUILD)/unit/main.o $(BUILD)/core.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LDLIBS) $(SERVER) $(TESTLIBS)

$(BUILD)/unit/%: $(BUILD)/unit/%.o $(BUILD)/unit/main.o $(BUILD)/core.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LDLIBS) $(SERVER) $(TESTLIBS)

$(PROPS): $(wildcard tests/props/*.c) $(CORE) | $(BUILD)/.deps-test
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS) $(SERVER)

# Its clock can be moved on: nothing waits for an expiry.
$(STRESS): $(wildcard tests/stress/*.c) $(CORE) | $(BUILD)/.deps-test
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -pthread -Wl,--wrap=clock_gettime -o $@ \
	    $(filter %.c %.o,$^) $(LDLIBS) $(SERVER)

# The same with a scheduler of its own in place of ThreadSanitizer's runtime: $(TSAN) only.
$(BUILD)/explore: $(wildcard tests/stress/*.c) $(CORE) | $(BUILD)/.deps-test
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -fno-sanitize=all -DSL_EXPLORE -Itests $(LDFLAGS) -pthread \
	    -Wl,--wrap=clock_gettime,--wrap=sched_yield -o $@ $(filter %.c %.o,$^) $(LDLIBS) $(SERVER)

# The fuzz targets with a plain main: every file of the corpus, once.
$(BUILD)/corpus/%: tests/fuzz/fuzz_%.c tests/fuzz/corpus_main.c $(BUILD)/core.a \
                   $(wildcard tests/fuzz/*.h tests/unit/server/*.h) | $(BUILD)/.deps-test
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $(filter %.c %.a,$^) $(LDLIBS) $(SERVER) $(TESTLIBS)

ASAN := BUILD=$(BUILD)/asan CFLAGS="-O1 -g" WERROR=-Werror \
        SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"

# ThreadSanitizer sees races within one process; the stress test and the server have some.
TSAN := BUILD=$(BUILD)/tsan CFLAGS="-O1 -g" WERROR=-Werror \
        SANITIZE="-fsanitize=thread -mcx16 -fno-omit-frame-pointer"

# Hundreds of small programs: as many at a time as there are processors, unless the caller of
# make has said how many.
JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

unit-binaries: $(UNITBINS) $(CORPUS)
test-binaries: $(BUILD)/sluice unit-binaries $(PROPS) $(STRESS)

# What a contributor needs: everything on the plain build, units and parsers under ASan and UBSan.
test:                         ## install, build and test; ends with N passed, N failed
	@tools/deps build test
	@$(MAKE) --no-print-directory $(JOBS) all test-binaries
	@BUILD=$(BUILD) $(PYTHON) tests/run

# The sanitized units and parsers: built by tests/run while the end-to-end tests wait for servers.
asan-units:
	@$(MAKE) --no-print-directory $(JOBS) $(ASAN) unit-binaries

test-deep:                    ## the rest: the server under ASan, ThreadSanitizer, models, long random runs
	@tools/deps build test
	@$(MAKE) --no-print-directory $(JOBS) all test-binaries
	@$(MAKE) --no-print-directory $(JOBS) $(ASAN) test-binaries
	@$(MAKE) --no-print-directory $(JOBS) $(TSAN) $(BUILD)/tsan/stress $(BUILD)/tsan/explore $(BUILD)/tsan/sluice \
	    $(BUILD)/tsan/unit/unit
	@BUILD=$(BUILD) $(PYTHON) tests/run deep

asan:                         ## only the sanitized build and its tests
	@tools/deps build test
	@$(MAKE) --no-print-directory $(JOBS) $(ASAN) test-binaries
	@BUILD=$(BUILD) $(PYTHON) tests/run asan

soak: test-binaries           ## the long forms: hundreds of times the random decisions, and fuzzing
	@$(MAKE) --no-print-directory $(TSAN) $(BUILD)/tsan/explore
	@BUILD=$(BUILD) $(PYTHON) tests/run soak

FUZZ_SECONDS ?= 300
fuzz:                         ## libFuzzer on every parser, FUZZ_SECONDS (300) each
	@tools/deps build dev
	@BUILD=$(BUILD) SECONDS_EACH=$(FUZZ_SECONDS) tools/fuzz

lint:                         ## layers, documents, layout
	@tools/deps build dev
	@tools/lint

format:                       ## let clang-format lay out the C
	@tools/deps dev
	@find src include tests examples -name '*.[ch]' | xargs clang-format -i

bench: all                    ## what a decision costs, in process and over HTTP, as ratios
	@tools/deps build test
	@$(MAKE) --no-print-directory $(BUILD)/bench-core $(BUILD)/bench-table $(BUILD)/bench-http-bare \
	    $(BUILD)/bench-token $(BUILD)/bench-watch $(BUILD)/bench-grpc-bare
	@BUILD=$(BUILD) $(PYTHON) tools/bench

ROUNDS ?= 5
bench-http: $(BUILD)/sluice   ## of these only the server beside nginx and a bare loop, ROUNDS (5)
	@tools/deps build test
	@$(MAKE) --no-print-directory $(BUILD)/bench-http-bare
	@BUILD=$(BUILD) $(PYTHON) tools/bench http --rounds $(ROUNDS)

bench-jwt: $(BUILD)/sluice    ## of these only what tokens and API keys cost, ROUNDS (5)
	@tools/deps build test
	@$(MAKE) --no-print-directory $(BUILD)/bench-token
	@BUILD=$(BUILD) $(PYTHON) tools/bench jwt --rounds $(ROUNDS)

bench-redis: $(BUILD)/sluice  ## of these only the Redis store beside nginx + Lua + Redis, ROUNDS (5)
	@tools/deps build test
	@BUILD=$(BUILD) $(PYTHON) tools/bench redis --rounds $(ROUNDS)

bench-lease: $(BUILD)/sluice  ## of these only leases beside the memory store, and a flood, ROUNDS (5)
	@tools/deps build test
	@BUILD=$(BUILD) $(PYTHON) tools/bench lease --rounds $(ROUNDS)

bench-resp: $(BUILD)/sluice   ## of these only the Redis protocol beside a script in Redis, ROUNDS (5)
	@tools/deps build test
	@BUILD=$(BUILD) $(PYTHON) tools/bench resp --rounds $(ROUNDS)

bench-grpc: $(BUILD)/sluice   ## of these only gRPC beside a bare nghttp2 responder, ROUNDS (5)
	@tools/deps build test
	@$(MAKE) --no-print-directory $(BUILD)/bench-grpc-bare
	@BUILD=$(BUILD) $(PYTHON) tools/bench grpc --rounds $(ROUNDS)

bench-watch: $(BUILD)/sluice  ## of these only what statistics and an audit log cost, ROUNDS (5)
	@tools/deps build test
	@$(MAKE) --no-print-directory $(BUILD)/bench-watch
	@BUILD=$(BUILD) $(PYTHON) tools/bench watch --rounds $(ROUNDS)

MILLION ?= 100
bench-100m: $(BUILD)/bench-table ## a table for MILLION (100) million keys, and what happens past them
	@$(BUILD)/bench-table million $(MILLION)

$(BUILD)/bench-core: tests/bench/bench_core.c $(CORE)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS) $(SERVER)

$(BUILD)/bench-token: tests/bench/bench_token.c tests/bench/measure.c tests/bench/measure.h $(CORE)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS) $(SERVER)

$(BUILD)/bench-watch: tests/bench/bench_watch.c $(CORE)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS) $(SERVER)

# It stands alone: nothing of Sluice is in it.
$(BUILD)/bench-http-bare: tests/bench/bare_http.c $(BUILD)/.flags | $(BUILD)/.deps
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $<

# Nor in this one, but nghttp2 is.
$(BUILD)/bench-grpc-bare: tests/bench/bare_grpc.c $(BUILD)/.flags | $(BUILD)/.deps
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< -lnghttp2

$(BUILD)/bench-table: $(filter-out %/bench_core.c %/bare_http.c %/bare_grpc.c %/bench_token.c %/bench_watch.c,$(wildcard tests/bench/*.c)) \
                      $(wildcard tests/bench/*.h) $(CORE)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS) $(SERVER)

docs: all                     ## regenerate the measured tables in docs/
	@BUILD=$(BUILD) $(PYTHON) tools/traces-table --write

# ---- installing ------------------------------------------------------------

DOC := $(DESTDIR)$(PREFIX)/share/doc/sluice
MAN := $(DESTDIR)$(PREFIX)/share/man
LIB := $(DESTDIR)$(LIBDIR)

install: all                  ## to PREFIX (/usr/local), below DESTDIR
	install -D -m 755 $(BUILD)/sluice $(DESTDIR)$(PREFIX)/bin/sluice
	install -D -m 644 include/sluice.h $(DESTDIR)$(PREFIX)/include/sluice.h
	install -d $(LIB)/pkgconfig
	install -m 755 $(SHARED) $(LIB)
	ln -sf $(notdir $(SHARED)) $(LIB)/$(SONAME)
	ln -sf $(notdir $(SHARED)) $(LIB)/libsluice.so
	install -m 644 $(BUILD)/libsluice.a $(LIB)
	$(PC) > $(LIB)/pkgconfig/sluice.pc
	install -D -m 644 docs/sluice.1 $(MAN)/man1/sluice.1
	install -D -m 644 docs/libsluice.3 $(MAN)/man3/libsluice.3
	install -D -m 644 packaging/sluice.service $(DOC)/packaging/sluice.service
	install -m 644 packaging/README.md packaging/grafana-dashboard.json packaging/prometheus.yaml \
	    packaging/prometheus-alerts.yaml $(DOC)/packaging
	install -d $(DOC)/docs $(addprefix $(DOC)/examples/,c proxies envoy clients)
	install -m 644 README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md LICENSE $(DOC)
	install -m 644 docs/*.md docs/*.png $(DOC)/docs
	install -m 644 examples/*.* $(DOC)/examples
	install -m 644 examples/c/* $(DOC)/examples/c
	install -m 644 examples/proxies/* $(DOC)/examples/proxies
	install -m 644 examples/envoy/* $(DOC)/examples/envoy
	install -m 755 examples/clients/check_* $(DOC)/examples/clients
	for file in $(PROTOS); do install -D -m 644 $$file $(DOC)/$$file; done
	install -m 644 $(addprefix examples/clients/,README.md rules.yaml package.json) $(DOC)/examples/clients
	$(if $(DESTDIR),,-ldconfig)

uninstall:                    ## what install put there
	rm -f $(DESTDIR)$(PREFIX)/bin/sluice $(DESTDIR)$(PREFIX)/include/sluice.h
	rm -f $(LIB)/$(notdir $(SHARED)) $(LIB)/$(SONAME) $(LIB)/libsluice.so $(LIB)/libsluice.a
	rm -f $(LIB)/pkgconfig/sluice.pc $(MAN)/man1/sluice.1 $(MAN)/man3/libsluice.3
	rm -rf $(DOC)

clean:                        ## remove build/
	rm -rf $(BUILD)

help:                         ## this list
	@grep -E '^[a-z0-9-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

# Written beside their objects: make must not look for another way, such as linking NAME.d.o.
%.d: ;
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
