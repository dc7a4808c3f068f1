# Sluice. `make help` lists what can be made.

CC       ?= cc
PREFIX   ?= /usr/local
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
override CFLAGS += -std=c17 -D_GNU_SOURCE -Iinclude -Isrc $(WARNINGS) $(SANITIZE) -MMD -MP
LDLIBS   := -lyaml -lxxhash
TESTLIBS := -lcmocka -ljansson

SOURCES  := $(sort $(wildcard src/*/*.c))
OBJECTS  := $(SOURCES:src/%.c=$(BUILD)/obj/%.o)
CORE     := $(filter-out $(BUILD)/obj/cmd/%,$(OBJECTS))
UNITS    := $(sort $(wildcard tests/unit/*/test_*.c))
UNITBINS := $(UNITS:tests/unit/%.c=$(BUILD)/unit/%)
PROPS    := $(BUILD)/props
FUZZ     := $(sort $(wildcard tests/fuzz/fuzz_*.c))
CORPUS   := $(FUZZ:tests/fuzz/fuzz_%.c=$(BUILD)/corpus/%)

.DELETE_ON_ERROR:
.PHONY: all deps run test soak asan fuzz lint format bench docs install uninstall clean help \
        test-binaries FORCE

all: $(BUILD)/sluice          ## build/sluice (the default)

$(BUILD)/sluice: $(OBJECTS)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/obj/%.o: src/%.c $(BUILD)/.flags | $(BUILD)/.deps
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS) -c -o $@ $<

# Other flags, other objects: the file changes only when they do.
$(BUILD)/.flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(CFLAGS)' > $@

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

run: all                      ## play the example rules against a small trace
	@tools/demo $(BUILD)/sluice

# ---- tests -----------------------------------------------------------------

$(BUILD)/unit/%: tests/unit/%.c $(CORE) | $(BUILD)/.deps-test
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $< $(CORE) $(LDLIBS) $(TESTLIBS)

$(PROPS): $(wildcard tests/props/*.c) $(CORE) | $(BUILD)/.deps-test
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS)

# The fuzz targets with a plain main: every file of the corpus, once.
$(BUILD)/corpus/%: tests/fuzz/fuzz_%.c tests/fuzz/corpus_main.c $(CORE) | $(BUILD)/.deps-test
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS) $(TESTLIBS)

ASAN := BUILD=$(BUILD)/asan CFLAGS="-O1 -g" WERROR=-Werror \
        SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"

test-binaries: $(BUILD)/sluice $(UNITBINS) $(PROPS) $(CORPUS)

test:                         ## install, build and run everything; ends with N passed, N failed
	@tools/deps build test
	@$(MAKE) --no-print-directory test-binaries
	@$(MAKE) --no-print-directory $(ASAN) test-binaries
	@BUILD=$(BUILD) $(PYTHON) tests/run

asan:                         ## only the sanitized build and its tests
	@tools/deps build test
	@$(MAKE) --no-print-directory $(ASAN) test-binaries
	@BUILD=$(BUILD) $(PYTHON) tests/run asan

soak: test-binaries           ## the long forms: hundreds of times the random decisions, and fuzzing
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
	@clang-format -i $(SOURCES) $(wildcard src/*/*.h include/*.h tests/*.[ch] tests/*/*.[ch] \
	    tests/*/*/*.[ch])

bench: all                    ## nanoseconds and instructions per decision, matching, as ratios
	@tools/deps build test
	@$(MAKE) --no-print-directory $(BUILD)/bench-core
	@BUILD=$(BUILD) $(PYTHON) tools/bench

$(BUILD)/bench-core: $(wildcard tests/bench/*.c) $(CORE)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS)

docs: all                     ## regenerate the measured tables in docs/
	@BUILD=$(BUILD) $(PYTHON) tools/traces-table --write

# ---- installing ------------------------------------------------------------

install: all                  ## to PREFIX (/usr/local), below DESTDIR
	install -D -m 755 $(BUILD)/sluice $(DESTDIR)$(PREFIX)/bin/sluice
	install -D -m 644 docs/sluice.1 $(DESTDIR)$(PREFIX)/share/man/man1/sluice.1
	install -d $(DESTDIR)$(PREFIX)/share/doc/sluice/docs $(DESTDIR)$(PREFIX)/share/doc/sluice/examples
	install -m 644 README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md LICENSE \
	    $(DESTDIR)$(PREFIX)/share/doc/sluice
	install -m 644 docs/*.md $(DESTDIR)$(PREFIX)/share/doc/sluice/docs
	install -m 644 examples/* $(DESTDIR)$(PREFIX)/share/doc/sluice/examples

uninstall:                    ## what install put there
	rm -f $(DESTDIR)$(PREFIX)/bin/sluice $(DESTDIR)$(PREFIX)/share/man/man1/sluice.1
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/sluice

clean:                        ## remove build/
	rm -rf $(BUILD)

help:                         ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
