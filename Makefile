# ptable: a loadable SQLite extension. GNU make; Debian 12 packages come from .ci/deps.
#
#   make                 ptable.so (loadable) and libptable.a (static)
#   make service         ptable_service.so and libptable_service.a, for Azure's Table service; part of
#                        make where the headers of libcurl and nettle are
#   make deps            install what building and testing need, if it is missing
#   make test            all tests; also test-unit, test-sql, test-readme, test-random, test-process
#   make test T=test_log                  a program or a script by its name, seconds after an edit; also
#                        patterns and several: T='test_log* 55-indexes'
#   make test TIMEOUT=600                 each test program may take so many seconds
#   make test-random N=100000 SEED=7      more random cases, or the same ones again
#   make test-sql UPDATE=1                rewrite the expected outputs (then read the diff)
#   make test-out-of-memory, test-io-errors, test-kill, test-kill-load, test-power-loss,
#        test-kill-power-loss, test-isolation, test-thread-mix, test-damage, test-fuzz, test-backup, test-compact,
#        test-interruption, test-log-chain, test-log-histories, test-log-readers
#                        one suite of make test, longer with N=...
#   make test-long       what make test leaves out because it takes long, or waits
#   make test-ways       the suites that compare, damage and let fail, without the quick ways of reading
#                        and writing rows, and with them wherever they can go; without a log, and
#                        with one that is written to the file at random moments: ext/base/ways.h
#   make fuzz            fuzzes with libFuzzer, all fuzzers in turn; TARGET=json runs one of them,
#                        SECONDS=3600 sets the time of each; make fuzz-minimise adds its findings
#                        to the corpus that make test-fuzz replays
#   make conformance     compares 55,000 operations on an emulator of the Table service (from npm)
#                        and on ptables; RECORD=1 records the corpus that make test replays
#   make conformance-service  the same operations through ptable_service, on the emulator and on a
#                        small Table service of our own
#   make test-service    ptable_service on a small Table service of our own and on the emulator, which
#                        are compared, too
#   make check-asan      all tests with the address and undefined-behaviour sanitizers
#   make check-tsan      the C programs of make test with the thread sanitizer
#   make test-newest     all tests with the newest SQLite that is available as source (from npm)
#   make check-valgrind  unit and SQL tests under valgrind: half an hour
#   make coverage        the branches of ext/ that tests reach, and the reasons for the others
#   make lint            warnings, style and structure; make format rewrites the layout
#   make bench           speed compared with an ordinary table, JSON, LMDB itself and the best that
#                        a virtual table can do; also
#                        bench-growth, bench-concurrency, bench-memory, and bench-plot for a chart;
#                        BENCH='point*' SCALE=10 PARTITIONS=10 ...: tests/bench/settings.h
#   make bench-service   ptable_service beside Azure's own SDK for JavaScript (from npm)
#   make bench-instructions  instructions of some statements, compared with tests/bench/instructions.txt
#   make walk            the files of ext/ that a SELECT and an INSERT pass
#   make demo            build, and a demonstration of one screen; make demo-all is the long form
#   make test-clients    the extension in SQLite bindings of several languages, and in tools that write
#                        their own SQL: tests/test_clients.sh, tests/test_tools.sh
#   make examples        run the example programs in C, Python and Perl; the examples in SQL are
#                        part of make test
#   make install         into $(DESTDIR)$(PREFIX); make uninstall removes it. LIBDIR, DATADIR and
#                        DOCDIR are the folders of libraries, of examples and scripts, and of documents
#   make deb wheel npm sqlpkg   packages of the last commit for Debian, Python, Node and sqlpkg, in
#                        build/dist; make test-deb, and so on, try them where nothing else is
#   make dist            these and the archives of the source, all from the last commit alone
#   make test-arm64      unit and SQL tests of a library that is compiled for arm64, in an emulator
#   make test-reproducible   builds all of it twice and compares the bytes
#   make release-check   everything that a release wants, in its long form: one table, after hours
#   make amalgamation    all source in build/amalgamation/ptable.c, to be compiled without the rest;
#                        make test-amalgamation runs the SQL tests with it
#
# V=1 shows the commands, and a line for each test. BUILD is the folder for objects, OUT the folder
# for the two products; other kinds of build (sanitizers, lint) are this same Makefile with other
# values.

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DATADIR ?= $(PREFIX)/share/ptable
DOCDIR ?= $(PREFIX)/share/doc/ptable
CFLAGS ?= -O2 -g
BUILD ?= build
OUT ?= .
FUZZ_CC ?= clang

# gcc optimizes the loadable library as a whole: 1 to 9 % fewer instructions (make
# bench-instructions). CFLAGS that are given are taken as they are, with or without -flto: those of a
# distribution, and those of the builds below. "make LTO=" does without.
GCC = $(findstring Free Software Foundation,$(shell $(CC) --version 2>/dev/null))
LTO := $(if $(filter file,$(origin CFLAGS)),$(if $(GCC),-flto=auto))

# The library for tests and the tests are compiled quickly rather than well, so that a change reaches its
# test within seconds. CFLAGS that are given are for them, too.
DEBUG_CFLAGS := $(if $(filter file,$(origin CFLAGS)),-O1 -g1,$(CFLAGS))
TEST_CFLAGS := $(if $(filter file,$(origin CFLAGS)),-O0 -g1,$(CFLAGS))

WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wshadow
COMPILE_AS = $(CC) -std=c11 -D_GNU_SOURCE -fPIC $(WARNINGS) $(PLAIN_INLINE) $(CPPFLAGS)
COMPILE = $(COMPILE_AS) $(CFLAGS)
# With -Og, GCC cannot inline all that xxhash demands. No macro tells of -Og.
PLAIN_INLINE = $(if $(filter -Og,$(CFLAGS)),-DXXH_NO_INLINE_HINTS=1)
LIBS := -llmdb -luuid -lpthread -lm
SERVICE_LIBS := -lcurl -lnettle
SHARED_LIBS := -luuid -lpthread -lm
TEST_LIBS := -lcmocka -lsqlite3 $(LIBS)
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
VALGRIND := valgrind --quiet --error-exitcode=99 --leak-check=full \
    --show-leak-kinds=definite --errors-for-leak-kinds=definite \
    --suppressions=$(abspath tests/valgrind)/suppressions
# Turns on the assertions (ext/base/assert.h) in the library for tests, BUILD/debug. A build that cannot
# use them sets DEBUG to nothing.
DEBUG := -DPT_DEBUG
VERSION = $(shell sed -n 's/^\#define PT_VERSION "\(.*\)"/\1/p' ext/base/version.h)

# The library for the Table service is built where the headers that it needs are. It has its own
# entry point and files, and takes what else it needs from the others.
SERVICE_SOURCES := $(sort $(wildcard ext/service/*.c) ext/ptable_service.c)
SERVICE_HEADERS := \#include <curl/curl.h>\n\#include <nettle/hmac.h>\n
HAS_SERVICE := $(shell printf '$(SERVICE_HEADERS)' | $(CC) $(CPPFLAGS) -E -x c - >/dev/null 2>&1 && echo 1)

SOURCES := $(filter-out $(SERVICE_SOURCES),$(sort $(shell find ext -name '*.c')))
LOADABLE_OBJECTS := $(SOURCES:ext/%.c=$(BUILD)/loadable/%.o)
STATIC_OBJECTS := $(SOURCES:ext/%.c=$(BUILD)/static/%.o)
SERVICE_LOADABLE := $(SERVICE_SOURCES:ext/%.c=$(BUILD)/loadable/%.o)
SERVICE_STATIC := $(SERVICE_SOURCES:ext/%.c=$(BUILD)/static/%.o)

# A unit is a folder of ext/ or an entry point, compiled at once. The library for tests is made of them,
# in two forms: one to link, and one to load, which differ in SQLITE_CORE.
UNITS := $(patsubst ext/%/,%,$(filter-out ext/,$(sort $(dir $(SOURCES))))) ptable
SERVICE_UNITS := service ptable_service
unit_files = $(or $(sort $(wildcard ext/$(1)/*.c)),ext/$(1).c)
DEBUG_OBJECTS := $(UNITS:%=$(BUILD)/debug/%.o)
SERVICE_DEBUG := $(SERVICE_UNITS:%=$(BUILD)/debug/%.o)
DEBUG_LOADABLE := $(UNITS:%=$(BUILD)/debug/loadable/%.o)
SERVICE_DEBUG_LOADABLE := $(SERVICE_UNITS:%=$(BUILD)/debug/loadable/%.o)

programs = $(patsubst %.c,$(BUILD)/%,$(wildcard $(1)))
tests_below = $(patsubst %.c,$(BUILD)/%,$(sort $(shell find $(1) -name 'test_*.c')))
SERVICE_TESTS := $(call tests_below,tests/unit/service)
UNIT_TESTS := $(filter-out $(if $(HAS_SERVICE),,$(SERVICE_TESTS)),$(call tests_below,tests/unit))
RANDOM_TESTS := $(call tests_below,tests/random)
PROCESS_TESTS := $(call tests_below,tests/process)
CONFORMANCE_TESTS := $(call programs,tests/conformance/*.c)
SERVICE_FUZZ_TESTS := $(call programs,tests/fuzz/fuzz_account.c tests/fuzz/fuzz_reply.c)
FUZZ_TESTS := $(filter-out $(if $(HAS_SERVICE),,$(SERVICE_FUZZ_TESTS)),$(call programs,tests/fuzz/fuzz_*.c))
SERVICE_EXAMPLES := $(call programs,examples/follow_to_service.c)
EXAMPLES := $(filter-out $(if $(HAS_SERVICE),,$(SERVICE_EXAMPLES)),$(call programs,examples/*.c))
BENCH_PROGRAMS := $(call programs,tests/bench/bench_*.c)
BENCH_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/bench/*.c))
BENCH_SHARED := $(filter-out $(BENCH_PROGRAMS:=.o),$(BENCH_OBJECTS))
SERVER := $(BUILD)/tests/service/server
REPLAY := $(BUILD)/tests/conformance/replay
SHOW_STORE := $(BUILD)/tests/format/show_store
SERVER_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/service/*.c))
TEST_PROGRAMS := $(UNIT_TESTS) $(RANDOM_TESTS) $(PROCESS_TESTS) \
    $(CONFORMANCE_TESTS) $(FUZZ_TESTS)

# One compiler a processor, unless make was told how many.
PARALLEL = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
SUBMAKE = $(MAKE) --no-print-directory $(PARALLEL)

# $(call step,name,text) in a recipe prints the text, unless this make has printed it for the name
# already: many commands are one step. $(call plain,path) is a path without the ./ before it.
Q := $(if $(V),,@)
SILENT := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
step = $(if $(V)$(SILENT)$(said-$(1)),,$(eval said-$(1) := 1)$(info $(2)))
plain = $(patsubst ./%,%,$(1))

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY: $(TEST_PROGRAMS:=.o) $(SHOW_STORE).o

# --- products ---------------------------------------------------------------------------------

.PHONY: all loadable static deps service built-service
all: loadable static $(if $(HAS_SERVICE),built-service)
loadable: $(OUT)/ptable.so
static: $(OUT)/libptable.a
built-service: $(OUT)/ptable_service.so $(OUT)/libptable_service.a

service:
	@.ci/deps build service
	+@$(SUBMAKE) built-service

ifeq ($(MAKECMDGOALS),)
all:
	$(if $(HAS_SERVICE),,$(call step,without,without ptable_service.so: the headers of libcurl or nettle \
	    are missing; 'make service' installs them))@:
	$(call step,ready,ready: $(call plain,$(OUT)/ptable.so) and $(call plain,$(OUT)/libptable.a); \
	    'make demo' shows it)@:
endif

deps:
	@.ci/deps build test service

# The library stays in memory (nodelete). SQLite unloads it with the connection that loaded it, while
# other connections still use stores in its memory. SQLite also unloads it if loading runs out of
# memory, although the connection keeps the functions registered before. Returning
# SQLITE_OK_LOAD_PERMANENTLY instead is an error to sqlite3_auto_extension.
$(OUT)/ptable.so: $(LOADABLE_OBJECTS)
	$(Q)$(call step,link,linking $(call plain,$@))$(CC) $(CFLAGS) $(LTO) -shared -Wl,-z,defs -Wl,-z,nodelete \
	    $(LDFLAGS) -o $@ $^ $(LIBS)

# The linker takes from the archive what the service's files need: nothing of a store.
$(OUT)/ptable_service.so: $(SERVICE_LOADABLE) $(BUILD)/loadable/rest.a
	$(Q)$(call step,link-service,linking $(call plain,$@))$(CC) $(CFLAGS) -shared -Wl,-z,defs \
	    -Wl,-z,nodelete $(LDFLAGS) -o $@ $^ $(SERVICE_LIBS) $(SHARED_LIBS)

$(OUT)/libptable.a: $(STATIC_OBJECTS)
$(OUT)/libptable_service.a: $(SERVICE_STATIC)
$(BUILD)/debug/libptable.a: $(DEBUG_OBJECTS)
$(BUILD)/debug/libptable_service.a: $(SERVICE_DEBUG)
$(BUILD)/loadable/rest.a: $(filter-out $(BUILD)/loadable/ptable.o,$(LOADABLE_OBJECTS))
$(OUT)/libptable.a $(OUT)/libptable_service.a $(BUILD)/debug/libptable.a \
    $(BUILD)/debug/libptable_service.a $(BUILD)/loadable/rest.a:
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/loadable/%.o: ext/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(call step,loadable,compiling $(call plain,$(OUT)/ptable.so): $(words $(SOURCES)) files)
	$(Q)$(COMPILE) $(LTO) $(if $(LTO),-frandom-seed=$<) -Iext -fvisibility=hidden -MMD -MP -c -o $@ $<

$(BUILD)/static/%.o: ext/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(call step,static,compiling $(call plain,$(OUT)/libptable.a))
	$(Q)$(COMPILE) -Iext -fvisibility=hidden -DSQLITE_CORE -MMD -MP -c -o $@ $<

COMPILE_UNIT = $(COMPILE_AS) $(DEBUG_CFLAGS) -Iext -fvisibility=hidden $(DEBUG) -MMD -MP -x c -c -o $@ -
define unit_rules
$(BUILD)/debug/$(1).o $(BUILD)/debug/loadable/$(1).o: $(call unit_files,$(1)) $(BUILD)/flags
	@mkdir -p $$(@D)
	@$$(call step,debug,compiling the library for tests: $(BUILD)/debug)
	$$(Q)printf '#include "%s"\n' $(call unit_files,$(1)) | $$(COMPILE_UNIT)
endef
$(foreach unit,$(UNITS) $(SERVICE_UNITS),$(eval $(call unit_rules,$(unit))))
$(DEBUG_OBJECTS) $(SERVICE_DEBUG): COMPILE_UNIT += -DSQLITE_CORE

$(BUILD)/debug/ptable.so: $(DEBUG_LOADABLE)
	$(Q)$(CC) $(DEBUG_CFLAGS) -shared -Wl,-z,defs -Wl,-z,nodelete $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/debug/ptable_service.so: $(SERVICE_DEBUG_LOADABLE) $(filter-out %/ptable.o,$(DEBUG_LOADABLE))
	$(Q)$(CC) $(DEBUG_CFLAGS) -shared -Wl,-z,defs -Wl,-z,nodelete $(LDFLAGS) -o $@ $^ $(SERVICE_LIBS) $(LIBS)

$(BUILD)/tests/unit/service/%: $(BUILD)/tests/unit/service/%.o $(BUILD)/debug/libptable_service.a \
    $(BUILD)/debug/libptable.a
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/debug/libptable_service.a \
	    $(BUILD)/debug/libptable.a $(SERVICE_LIBS) $(TEST_LIBS)

$(SERVICE_FUZZ_TESTS): %: %.o $(BUILD)/debug/libptable_service.a $(BUILD)/debug/libptable.a
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/debug/libptable_service.a \
	    $(BUILD)/debug/libptable.a $(SERVICE_LIBS) $(TEST_LIBS)

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(BUILD)/debug/libptable.a
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/debug/libptable.a $(TEST_LIBS)

$(BUILD)/tests/%.o: tests/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(call step,tests,compiling the tests)
	$(Q)$(COMPILE_AS) $(TEST_CFLAGS) -DSQLITE_CORE $(DEBUG) -Iext -Itests -MMD -MP -c -o $@ $<

$(SERVER): $(SERVER_OBJECTS) $(BUILD)/debug/libptable.a
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lnettle -lsqlite3 $(LIBS)

# The small Table service of the tests has folder and headers of the same names as ext/service.
$(BUILD)/tests/service/%.o: tests/service/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(call step,tests,compiling the tests)
	$(Q)$(COMPILE) -DSQLITE_CORE $(DEBUG) -Itests -Iext -MMD -MP -c -o $@ $<

$(SERVICE_EXAMPLES): EXAMPLE_LIBS := $(OUT)/libptable_service.a
$(SERVICE_EXAMPLES): $(OUT)/libptable_service.a
$(BUILD)/examples/%: examples/%.c $(OUT)/libptable.a
	@mkdir -p $(@D)
	@$(call step,examples,compiling the examples)
	$(Q)$(COMPILE) -Iext -MMD -MP -MF $@.d $(LDFLAGS) \
	    -o $@ $< $(EXAMPLE_LIBS) $(OUT)/libptable.a $(if $(EXAMPLE_LIBS),$(SERVICE_LIBS)) -lsqlite3 $(LIBS)

$(BENCH_PROGRAMS): %: %.o $(BENCH_SHARED) $(OUT)/libptable.a
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lsqlite3 $(LIBS)

$(BENCH_OBJECTS): $(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(call step,bench,compiling the benchmarks)
	$(Q)$(COMPILE) -Iext -Itests \
	    -DCOMPILER_FLAGS='"$(CFLAGS)"' -MMD -MP -c -o $@ $<

# Changes only when the compile command does; everything compiled depends on it. A new command is
# tried first: it finds the headers, or .ci/headers says what is missing.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(COMPILE) $(LTO) $(DEBUG_CFLAGS) $(TEST_CFLAGS)' | cmp -s - $@ || { .ci/headers $(COMPILE) && \
	    echo '$(COMPILE) $(LTO) $(DEBUG_CFLAGS) $(TEST_CFLAGS)' > $@; }

.PHONY: FORCE
FORCE:

-include $(LOADABLE_OBJECTS:.o=.d) $(STATIC_OBJECTS:.o=.d) $(DEBUG_OBJECTS:.o=.d) \
    $(SERVICE_LOADABLE:.o=.d) $(SERVICE_STATIC:.o=.d) $(SERVICE_DEBUG:.o=.d) \
    $(DEBUG_LOADABLE:.o=.d) $(SERVICE_DEBUG_LOADABLE:.o=.d) \
    $(TEST_PROGRAMS:=.d) $(SHOW_STORE).d $(SERVER_OBJECTS:.o=.d) $(EXAMPLES:=.d) $(BENCH_OBJECTS:.o=.d) $(wildcard build/fuzz/*.d)

# --- tests ------------------------------------------------------------------------------------
# Each test target fetches missing packages before make looks at anything that needs them; the
# run-* target after it builds and runs. Programs and scripts print TAP.

# RUN_BY is followed by the command with which prove runs each test, and the tests. `running` says
# how many tests follow. `require` fails if a kind has no tests.
LIBRARY = $(OUT)/ptable.so
RUN_BY = CMOCKA_MESSAGE_OUTPUT=TAP PT_LIBRARY='$(abspath $(LIBRARY))' \
    PT_EXAMPLES='$(abspath $(BUILD)/examples)' PT_SERVER='$(abspath $(SERVER))' PT_REPLAY='$(abspath $(REPLAY))' \
    PT_SHOW_STORE='$(abspath $(SHOW_STORE))' PT_COMPILE='$(CC) -std=c11 $(WARNINGS) $(CPPFLAGS)' V='$(V)' tests/prove.sh
RUN = $(RUN_BY) tests/run_program.pl
running = $(Q)$(call step,run-$@,running $(words $(1)) test program$(if $(word 2,$(1)),s))
require = $(if $(filter $(BUILD)/tests/$(1)/%,$(TEST_PROGRAMS)),,$(error no tests in tests/$(1)))

TESTS := test test-unit test-sql test-readme test-random test-process test-fuzz
.PHONY: $(TESTS) $(TESTS:%=run-%) check-asan check-tsan run-check-tsan test-newest \
    check-valgrind run-valgrind compiled

$(TESTS): deps
	+@$(SUBMAKE) run-$(if $(and $(T),$(filter test,$@)),chosen,$@)

# The long ones first.
ALL_TESTS := $(PROCESS_TESTS) $(RANDOM_TESTS) $(CONFORMANCE_TESTS) $(FUZZ_TESTS) tests/run_sql.sh \
    tests/service/test_server.pl \
    $(if $(HAS_SERVICE),$(addprefix tests/service/,test_sql.pl test_faults.pl test_write_faults.pl \
        test_writers.pl test_rivals.pl test_following.pl test_random.pl test_conditions.pl test_random_writes.pl \
        test_conformance.pl test_readme.pl test_tls.pl)) \
    $(addprefix tests/test_,readme.sh map.sh reference.sh format.sh archive.sh following.sh install.sh \
        amalgamation.sh release_check.sh coverage_report.sh) $(UNIT_TESTS)

run-test: compiled
	$(call require,unit)$(call require,random)$(call require,process)$(call require,conformance)
	$(call running,$(ALL_TESTS))$(RUN) $(ALL_TESTS)

# make test T='55-indexes test_log*': programs and scripts, by their names or patterns of the shell. They
# run with the library for tests, which is compiled within seconds of an edit.
NAMED_TESTS = $(TEST_PROGRAMS) $(wildcard tests/test_*.sh tests/service/test_*.pl tests/service/test_*.sh \
    tests/sql/[0-9]*.sql examples/[0-9]*.sql)
CHOSEN := $(if $(T),$(shell set -f; for test in $(NAMED_TESTS); do for name in $(T); do \
    case $$test in (*/$$name | */$$name.*) echo $$test ;; esac; done; done))
CHOSEN_PROGRAMS := $(filter $(BUILD)/%,$(CHOSEN))
CHOSEN_SCRIPTS := $(filter %.sh %.pl,$(CHOSEN))
CHOSEN_SQL := $(basename $(notdir $(filter %.sql,$(CHOSEN))))

.PHONY: run-chosen
run-chosen: LIBRARY = $(BUILD)/debug/ptable.so
run-chosen: $(CHOSEN_PROGRAMS) $(if $(filter-out $(BUILD)/tests/unit/%,$(CHOSEN)),$(BUILD)/debug/ptable.so) \
    $(if $(CHOSEN_SCRIPTS),$(if $(HAS_SERVICE),$(BUILD)/debug/ptable_service.so) \
        $(SERVER) $(REPLAY) $(SHOW_STORE) $(EXAMPLES))
	$(if $(CHOSEN),,$(error no test is named '$(T)'))
	$(if $(CHOSEN_PROGRAMS)$(CHOSEN_SCRIPTS),$(Q)$(RUN) $(CHOSEN_PROGRAMS) $(CHOSEN_SCRIPTS))
	$(if $(CHOSEN_SQL),$(Q)PT_SCRIPTS='$(CHOSEN_SQL)' $(RUN) tests/run_sql.sh)

run-test-unit: $(UNIT_TESTS)
	$(call require,unit)$(call running,$(UNIT_TESTS))$(RUN) $(UNIT_TESTS)

run-test-random: $(RANDOM_TESTS)
	$(call require,random)$(call running,$(RANDOM_TESTS))PT_PROGRAM_TIMEOUT=0 $(RUN) $(RANDOM_TESTS)

run-test-process: loadable $(PROCESS_TESTS)
	$(call require,process)$(call running,$(PROCESS_TESTS))$(RUN) $(PROCESS_TESTS)

run-test-sql: loadable
	$(Q)$(RUN) tests/run_sql.sh

run-test-readme: loadable $(if $(HAS_SERVICE),built-service)
	$(Q)$(RUN) tests/test_readme.sh tests/test_map.sh tests/test_reference.sh

# Suites of one program. `make test` runs them in a short form; N makes them longer.
SUITES := out-of-memory io-errors kill kill-load kill-power-loss power-loss isolation damage backup compact \
    sealed-records interruption thread-mix log-chain log-histories log-readers
suite_program = $(or $(filter %/test_$(subst -,_,$(1)),$(UNIT_TESTS) $(PROCESS_TESTS)),\
    $(error no program for the suite test-$(1)))

define suite_rules
.PHONY: test-$(1) run-test-$(1)
test-$(1): deps
	+@$$(SUBMAKE) run-test-$(1)
run-test-$(1): loadable $(2)
	$$(call running,$(2))PT_PROGRAM_TIMEOUT=0 $$(RUN) $(2)
endef
$(foreach suite,$(SUITES),$(eval $(call suite_rules,$(suite),$(call suite_program,$(suite)))))

# What make test leaves out: scripts that wait for retries of requests, more random statements, and the longer
# forms of suites whose files it has in memory, on the disk.
.PHONY: test-long run-test-long
test-long: deps
	+@$(SUBMAKE) run-test-long

LONG_TESTS := $(BUILD)/tests/random/test_changes $(BUILD)/tests/random/test_conditions \
    $(BUILD)/tests/random/test_differential $(BUILD)/tests/random/test_expiry $(BUILD)/tests/random/test_uniqueness \
    $(BUILD)/tests/unit/table/test_rows_like_the_last $(BUILD)/tests/unit/table/test_expiry_out_of_memory \
    $(BUILD)/tests/unit/base/test_number \
    $(if $(HAS_SERVICE),$(BUILD)/tests/unit/service/test_remote_scan)
LONG_DISK_TESTS := $(addprefix $(BUILD)/tests/process/,copies/test_backup copies/test_compact \
    connections/test_memory crash/test_kill crash/test_kill_rows crash/test_power_loss io/test_full_deletes \
    io/test_io_errors log/test_log_places places/test_places) $(BUILD)/tests/unit/out_of_memory/test_out_of_memory
LONG_SERVICE_TESTS := $(if $(HAS_SERVICE),$(addprefix tests/service/,test_sql.pl test_faults.pl test_write_faults.pl \
    test_following.pl))
run-test-long: loadable $(if $(HAS_SERVICE),built-service) $(SERVER) $(EXAMPLES) $(LONG_TESTS) $(LONG_DISK_TESTS)
	$(call running,$(LONG_TESTS) tests/test_following.sh $(LONG_SERVICE_TESTS))N=20000 LONG=1 \
	    PT_PROGRAM_TIMEOUT=0 $(RUN) $(LONG_TESTS) tests/test_following.sh $(LONG_SERVICE_TESTS)
	$(Q)TMPDIR=/tmp LONG=1 PT_PROGRAM_TIMEOUT=0 $(RUN) $(LONG_DISK_TESTS)

# Two programs expect quick ways: that large transactions use a file, and that no others open one.
.PHONY: test-ways run-test-ways
test-ways: deps
	+@$(SUBMAKE) BUILD=build/ways OUT=build/ways CFLAGS='-O2 -g -DPT_DEBUG' run-test-ways

WAYS_TESTS := $(filter-out %/test_large_transactions %/test_standard_descriptors,$(PROCESS_TESTS)) \
    $(RANDOM_TESTS) $(CONFORMANCE_TESTS) $(FUZZ_TESTS) tests/run_sql.sh tests/test_readme.sh \
    $(filter %out_of_memory %/test_check_records %/test_damage_values,$(UNIT_TESTS))
run-test-ways: compiled
	$(call step,ways-general,PTABLE_WAYS=general)$(call running,$(WAYS_TESTS))PTABLE_WAYS=general \
	    $(RUN) $(WAYS_TESTS)
	$(Q)echo PTABLE_WAYS=quick && PTABLE_WAYS=quick $(RUN) $(WAYS_TESTS)
	$(Q)echo PTABLE_LOG=never && PTABLE_LOG=never $(RUN) $(WAYS_TESTS)
	$(Q)echo PTABLE_LOG=random && PTABLE_LOG=random $(RUN) $(RANDOM_TESTS) tests/run_sql.sh

# Compiled here with packages of arm64, and run by an emulator: the SQL tests, with a shell for arm64, and
# unit tests. Process tests start their own program again, which is not for this machine. These unit
# tests are left out: those that let each allocation fail or compare thousands of statements take hours;
# test_map reserves more address space than the emulator has; test_writer_failures needs a system that
# frees the mutex of a process that has died, which the emulator is not; test_hand_out and four of the
# service did not end within 100 seconds on a busy machine.
ARM64_ROOT := $(abspath build/arm64/sysroot)
ARM64_LEAVES_OUT := %out_of_memory %/table/test_rows_like_the_last %/lmdb/test_map \
    %/lmdb/test_writer_failures %/queue/test_hand_out \
    $(addprefix %/service/test_,divided_scan hostile_writes remote_accounts remote_scan)
ARM64_TESTS = $(filter-out $(ARM64_LEAVES_OUT),$(UNIT_TESTS))
.PHONY: test-arm64 run-test-arm64
test-arm64:
	@.ci/deps build test arm64
	@.packaging/sysroot.sh $(ARM64_ROOT)
	+@PATH=$(abspath build/arm64/bin):$$PATH PTABLE_MAP_SIZE=1G $(SUBMAKE) BUILD=build/arm64 OUT=build/arm64 \
	    CFLAGS='-O2 -g' CC='aarch64-linux-gnu-gcc --sysroot=$(ARM64_ROOT)' run-test-arm64

run-test-arm64: loadable $(ARM64_TESTS)
	@mkdir -p $(BUILD)/bin
	@printf '#!/bin/sh\nexec qemu-aarch64 -L %s %s/usr/bin/sqlite3 "$$@"\n' $(ARM64_ROOT) $(ARM64_ROOT) >$(BUILD)/bin/sqlite3
	@chmod +x $(BUILD)/bin/sqlite3
	$(call running,$(ARM64_TESTS))PT_PROGRAM_TIMEOUT=900 $(RUN_BY) \
	    'tests/run_program.pl qemu-aarch64 -L $(ARM64_ROOT)' $(ARM64_TESTS)
	$(Q)PT_PROGRAM_TIMEOUT=0 $(RUN) tests/run_sql.sh

.PHONY: test-amalgamation run-test-amalgamation
test-amalgamation: deps
	+@$(SUBMAKE) run-$@

run-test-amalgamation:
	$(Q)LONG=1 PT_PROGRAM_TIMEOUT=900 $(RUN) tests/test_amalgamation.sh

.PHONY: conformance run-conformance conformance-service run-conformance-service
conformance conformance-service:
	@.ci/deps build test service conformance
	+@$(SUBMAKE) run-$@

run-conformance: $(CONFORMANCE_TESTS)
	@tests/conformance/run.sh $(abspath $(REPLAY)) $(BUILD)/conformance

run-conformance-service: $(CONFORMANCE_TESTS) loadable built-service $(SERVER)
	@SERVICE=1 PT_LIBRARY='$(abspath $(OUT)/ptable.so)' PT_SERVER='$(abspath $(SERVER))' \
	    tests/conformance/run.sh $(abspath $(REPLAY)) $(BUILD)/conformance

.PHONY: test-service run-test-service
test-service:
	@.ci/deps build test service conformance
	+@$(SUBMAKE) run-test-service

run-test-service: loadable built-service $(SERVER) $(EXAMPLES) $(CONFORMANCE_TESTS)
	$(Q)PT_PROGRAM_TIMEOUT=900 $(RUN) $(wildcard tests/service/test_*)

# Clients that are not installed are skipped, except the shell, Python and Perl.
.PHONY: test-clients run-test-clients
test-clients:
	@.ci/deps build test service examples
	-@.ci/deps clients
	+@$(SUBMAKE) run-$@

run-test-clients: loadable
	$(Q)PT_PROGRAM_TIMEOUT=600 $(RUN) tests/test_clients.sh
	$(Q)PT_PROGRAM_TIMEOUT=600 $(RUN) tests/test_tools.sh

compiled: all $(TEST_PROGRAMS) $(SERVER) $(SHOW_STORE) $(EXAMPLES)

.PHONY: examples run-examples
examples:
	@.ci/deps build test service examples
	+@$(SUBMAKE) run-examples

run-examples: loadable $(if $(HAS_SERVICE),built-service) $(SERVER) $(EXAMPLES)
	$(Q)$(RUN) tests/test_examples.sh

# The stock shell is not sanitized, so it must load the sanitizers' libraries before itself.
# ASAN_OPTIONS=fast_unwind_on_malloc=0 shows the callers beyond SQLite's functions, slowly.
check-asan: deps
	+@PT_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
	    $(SUBMAKE) BUILD=build/asan OUT=build/asan CFLAGS='-O1 -g -DPT_DEBUG $(SANITIZE)' run-test

# Only C programs: a shell that preloads this sanitizer passes it on to the commands it runs, and
# those crash; so not test_sql_scripts, which runs shells. Nor five single-threaded programs that
# replace functions (mmap, sysconf) which the sanitizer calls before it is ready. Its findings, from
# child processes too, go to BUILD/races, are printed at the end and make the target fail.
# PTABLE_MAP_SIZE is set because the sanitizer leaves little address space.
TSAN_LEAVES_OUT := %/test_sql_scripts %/unit/lmdb/test_engine_faults %/unit/lmdb/page/test_page_size \
    %/unit/lmdb/test_log_faults %/unit/lmdb/test_protected_files %/unit/lmdb/test_renewal

check-tsan: deps
	+@PTABLE_MAP_SIZE=4G PT_PROGRAM_TIMEOUT=900 $(SUBMAKE) BUILD=build/tsan OUT=build/tsan \
	    CFLAGS='-O1 -g -fsanitize=thread -fno-omit-frame-pointer' \
	    TEST_LIBS='$(abspath build/tsan)/unlocked_memory.o $(TEST_LIBS)' run-check-tsan

run-check-tsan: $(BUILD)/unlocked_memory.o
	+@$(SUBMAKE) all $(TEST_PROGRAMS)
	@rm -rf $(BUILD)/races && mkdir -p $(BUILD)/races
	@TSAN_OPTIONS="log_path=$(abspath $(BUILD))/races/found \
	    suppressions=$(abspath tests/tsan)/suppressions $$TSAN_OPTIONS" \
	    $(RUN) $(filter-out $(TSAN_LEAVES_OUT),$(PROCESS_TESTS) $(RANDOM_TESTS) \
	    $(CONFORMANCE_TESTS) $(FUZZ_TESTS) $(UNIT_TESTS)); \
	    status=$$?; cat $(BUILD)/races/* 2>/dev/null && status=1; exit $$status

$(BUILD)/unlocked_memory.o: tests/tsan/unlocked_memory.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -fPIC $(WARNINGS) $(CFLAGS) -c -o $@ $<

# Compiled against the installed SQLite, run with the newest one, which the installed shell then
# uses, too. tests/newest has the differences in its output.
test-newest:
	@.ci/deps build test service newest
	@CC='$(CC)' tests/build_newest.sh build/newest
	@echo "# compiled against SQLite $$(sqlite3 --version | cut -d ' ' -f 1), run with" \
	    "$$(LD_LIBRARY_PATH=build/newest LD_PRELOAD=build/newest/bridge.so sqlite3 :memory: \
	    'SELECT sqlite_version()')"
	+@$(SUBMAKE) compiled
	+@LD_LIBRARY_PATH='$(abspath build/newest)' PT_PRELOAD='$(abspath build/newest/bridge.so)' \
	    PT_DIFFERENCES='$(abspath tests/newest)' $(SUBMAKE) run-test

# Not optimized, so that valgrind finds what only a local variable points to when a test forks.
check-valgrind:
	@.ci/deps build test service valgrind
	+@$(SUBMAKE) BUILD=build/valgrind OUT=build/valgrind CFLAGS='-O0 -g' run-valgrind

# Process tests run their own program file again, which under valgrind would be valgrind. SQLite counts on
# long doubles, which have no more bits than a Double there: tests/valgrind has the differences in output.
run-valgrind: loadable $(UNIT_TESTS)
	$(call require,unit)$(call running,$(UNIT_TESTS))N=20 PT_PROGRAM_TIMEOUT=0 $(RUN_BY) 'tests/run_program.pl $(VALGRIND)' \
	    $(UNIT_TESTS)
	$(Q)PT_SHELL='$(VALGRIND) sqlite3' PT_DIFFERENCES='$(abspath tests/valgrind)' PT_PROGRAM_TIMEOUT=0 $(RUN) tests/run_sql.sh

# Not optimized, so that each branch of the source is a branch of the program. The suites that make
# errors happen run longer here: some branches depend on cases that make test only samples.
# Assertions are off: no test reaches the branch in which one fails. PTABLE_WAYS and PTABLE_LOG are not.
COVERAGE := BUILD=build/coverage OUT=build/coverage DEBUG=-DPT_WAYS \
    CFLAGS='-O0 -g --coverage -fprofile-update=atomic' \
    LDFLAGS='$(abspath build/coverage)/flush.o $(LDFLAGS)'

.PHONY: coverage run-coverage
coverage:
	@.ci/deps build test service coverage
	+@$(SUBMAKE) $(COVERAGE) run-coverage

run-coverage: $(BUILD)/flush.o
	+@$(SUBMAKE) compiled
	@find $(BUILD) -name '*.gcda' -delete
	@PT_PROGRAM_TIMEOUT=900 $(MAKE) --no-print-directory run-test
	@PT_PROGRAM_TIMEOUT=900 PTABLE_LOG=random $(RUN) $(RANDOM_TESTS)
	@PT_PROGRAM_TIMEOUT=900 PTABLE_WAYS=general $(RUN) $(RANDOM_TESTS)
	@N=all STACKS=1 CALLS=10 $(MAKE) --no-print-directory run-test-out-of-memory
	@N=all PT_PROGRAM_TIMEOUT=0 $(RUN) $(filter %/test_index_questions_out_of_memory,$(UNIT_TESTS))
	@N=2000 $(MAKE) --no-print-directory run-test-io-errors
	@N=500 $(MAKE) --no-print-directory run-test-damage
	@gcovr --root . --filter ext/ $(BUILD) --json | tests/coverage/report.pl tests/coverage/unreached

$(BUILD)/flush.o: tests/coverage/flush.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -fPIC $(WARNINGS) -c -o $@ $<

# --- fuzzing ----------------------------------------------------------------------------------
# The extension is built with clang and instrumented for libFuzzer; SQLite is the system's. The
# replaying programs, which make test runs too, convert the corpus to files and back.

run-test-fuzz: $(FUZZ_TESTS)
	$(call running,$(FUZZ_TESTS))PT_PROGRAM_TIMEOUT=0 $(RUN) $(FUZZ_TESTS)

SECONDS ?= 60
FUZZ_BUILD := BUILD=build/fuzz OUT=build/fuzz CC='$(FUZZ_CC)' \
    CFLAGS='-O1 -g $(SANITIZE) -fsanitize=fuzzer-no-link'
FUZZERS := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

.PHONY: fuzz fuzz-minimise fuzzers run-fuzzers
fuzz fuzz-minimise: fuzzers $(FUZZ_TESTS)
	@tests/fuzz/run.sh $@ $(BUILD)/tests/fuzz '$(TARGET)' '$(SECONDS)'

fuzzers:
	@.ci/deps build test service fuzz
	+@$(SUBMAKE) $(FUZZ_BUILD) run-fuzzers

run-fuzzers: $(FUZZERS)

build/fuzz/fuzz_%: tests/fuzz/fuzz_%.c build/fuzz/debug/libptable_service.a build/fuzz/debug/libptable.a
	@$(call step,fuzz,compiling the fuzzers)
	$(Q)$(COMPILE) -fno-sanitize=fuzzer-no-link -DSQLITE_CORE $(DEBUG) -DLIBFUZZER -Iext -Itests -MMD -MP \
	    -MF $@.d \
	    -c -o $@.o $<
	$(Q)$(COMPILE) -fsanitize=fuzzer $(LDFLAGS) -o $@ $@.o $(filter %.a,$^) $(SERVICE_LIBS) $(TEST_LIBS)

# --- benchmark --------------------------------------------------------------------------------

BENCHES := bench bench-growth bench-concurrency bench-memory
.PHONY: $(BENCHES) $(BENCHES:%=run-%) bench-programs bench-plot

bench-programs: $(BENCH_PROGRAMS)

$(BENCHES):
	@.ci/deps build
	+@$(SUBMAKE) run-$@

$(BENCHES:%=run-%): run-%: $(BENCH_PROGRAMS)
	@mkdir -p build/bench
	@$(BUILD)/tests/bench/$(subst -,_,$(if $(filter bench,$*),bench-tables,$*))

.PHONY: bench-service run-bench-service
bench-service:
	@.ci/deps build test service conformance
	+@$(SUBMAKE) run-bench-service

run-bench-service: loadable built-service $(SERVER)
	@tests/conformance/fetch.sh $(BUILD)/conformance
	@cp tests/service/bench.mjs $(BUILD)/conformance
	@PT_LIBRARY='$(abspath $(OUT)/ptable.so)' PT_SERVER='$(abspath $(SERVER))' \
	    tests/service/bench.pl $(abspath $(BUILD)/conformance)

.PHONY: bench-instructions
bench-instructions:
	@.ci/deps build valgrind
	+@$(SUBMAKE) loadable
	@tests/bench/instructions.sh $(OUT)/ptable.so

bench-plot:
	@sqlite3 -batch :memory: '.read tests/bench/plot.sql'

# Lists the files of ext/ that a SELECT and an INSERT pass, function by function.
.PHONY: walk run-walk
walk:
	@.ci/deps build
	+@$(SUBMAKE) BUILD=build/walk OUT=build/walk DEBUG= CFLAGS='-O0 -gdwarf-4 -finstrument-functions' \
	    LDFLAGS='-no-pie $(LDFLAGS)' run-walk

run-walk: $(BUILD)/tests/walk/walk
	@tests/walk/report.sh $<

# --- lint -------------------------------------------------------------------------------------

C_FILES = $(sort $(shell find ext tests examples -name '*.[ch]'))
SCRIPTS = .ci/deps .ci/headers .ci/run $(wildcard .packaging/*.sh tests/*.sh tests/*/*.sh examples/*.sh)
CHECKS := gcc clang exports format tidy cppcheck includes circles names sizes shell words

.PHONY: lint run-lint $(CHECKS:%=lint-%) format
lint:
	@.ci/deps build test service lint
	+@$(SUBMAKE) --output-sync --keep-going run-lint

run-lint: $(CHECKS:%=lint-%)

lint-gcc lint-clang: lint-%:
	@$(MAKE) -s BUILD=build/$@ OUT=build/$@ CC=$* CFLAGS='-O2 -Werror' compiled bench-programs
	@echo 'ok: $* has no warnings'

lint-exports: lint-gcc
	@tests/lint/exports.sh build/lint-gcc/ptable.so build/lint-gcc/libptable.a sqlite3_ptable_init
	$(if $(HAS_SERVICE),@tests/lint/exports.sh build/lint-gcc/ptable_service.so \
	    build/lint-gcc/libptable_service.a sqlite3_ptableservice_init)

lint-format:
	@clang-format --dry-run -Werror $(C_FILES)
	@echo 'ok: layout is as clang-format makes it'

format:
	clang-format -i $(C_FILES)

# xxhash's assertions tell clang-tidy what it may assume.
lint-tidy: $(patsubst ext/%.c,$(BUILD)/tidy/%.txt,$(SOURCES) $(if $(HAS_SERVICE),$(SERVICE_SOURCES)))
	@echo 'ok: clang-tidy has no remarks'

$(BUILD)/tidy/%.txt: ext/%.c $(shell find ext -name '*.h') .clang-tidy
	@mkdir -p $(@D)
	@clang-tidy --quiet $< -- -std=c11 -D_GNU_SOURCE -DSQLITE_CORE -DPT_DEBUG -Iext -DXXH_DEBUGLEVEL=1 \
	    >$@ 2>&1 || { cat $@; exit 1; }

lint-cppcheck:
	@cppcheck --quiet --std=c11 --enable=warning,portability,performance --inline-suppr \
	    --error-exitcode=1 -Iext -DSQLITE_CORE '-DRB_GENERATE_INTERNAL(name,type,link,order,scope)=' ext
	@echo 'ok: cppcheck has no remarks'

lint-circles: lint-gcc
	@tests/lint/circles.sh build/lint-gcc/static

lint-includes lint-names lint-sizes lint-words: lint-%:
	@tests/lint/$*.sh

lint-shell:
	@shellcheck --external-sources $(SCRIPTS)
	@echo 'ok: shellcheck has no remarks'

# --- users ------------------------------------------------------------------------------------

define PKG_CONFIG_FILE
prefix=$(PREFIX)
libdir=$(LIBDIR:$(PREFIX)/%=$${prefix}/%)
includedir=$${prefix}/include

Name: ptable
Description: Azure Table style partitioned tables for SQLite, stored in LMDB
Version: $(VERSION)
Requires: sqlite3
Libs: -L$${libdir} -lptable $(LIBS)
Cflags: -I$${includedir}
endef

define SERVICE_PKG_CONFIG_FILE
prefix=$(PREFIX)
libdir=$(LIBDIR:$(PREFIX)/%=$${prefix}/%)
includedir=$${prefix}/include

Name: ptable_service
Description: Azure's Table service as virtual tables for SQLite
Version: $(VERSION)
Requires: ptable
Libs: -L$${libdir} -lptable_service -lptable $(SERVICE_LIBS)
Cflags: -I$${includedir}
endef

SQL_SCRIPTS := $(wildcard sql/*.sql)
EXAMPLE_FILES := $(wildcard examples/*)
EXAMPLE_PROGRAMS := $(filter %.sh %.py %.pl,$(EXAMPLE_FILES))
DOCUMENTS := README.md ext/FORMAT.md $(sort $(wildcard */README.md))
INSTALLED := $(LIBDIR)/ptable.so $(LIBDIR)/libptable.a $(LIBDIR)/pkgconfig/ptable.pc \
    $(PREFIX)/include/ptable.h $(LIBDIR)/ptable_service.so $(LIBDIR)/libptable_service.a \
    $(LIBDIR)/pkgconfig/ptable_service.pc $(PREFIX)/include/ptable_service.h \
    $(SQL_SCRIPTS:%=$(DATADIR)/%) $(EXAMPLE_FILES:%=$(DATADIR)/%) $(DOCUMENTS:%=$(DOCDIR)/%)
INSTALLED_FOLDERS := $(DATADIR)/sql $(DATADIR)/examples $(DATADIR) \
    $(patsubst %/README.md,$(DOCDIR)/%,$(wildcard */README.md)) $(DOCDIR)

.PHONY: demo demo-all install uninstall dist amalgamation clean
demo demo-all:
	@.ci/deps build demo
	+@$(SUBMAKE) loadable
	@PTABLE='$(abspath $(OUT)/ptable.so)' examples/$@.sh $(if $(filter demo,$@),'$(BUILD)/words.svg')

install: all
	$(file >$(BUILD)/ptable.pc,$(PKG_CONFIG_FILE))
	$(call step,install,installing ptable into $(DESTDIR)$(PREFIX))
	$(Q)install -D -m 644 $(OUT)/ptable.so $(DESTDIR)$(LIBDIR)/ptable.so
	$(Q)install -D -m 644 $(OUT)/libptable.a $(DESTDIR)$(LIBDIR)/libptable.a
	$(Q)install -D -m 644 $(BUILD)/ptable.pc $(DESTDIR)$(LIBDIR)/pkgconfig/ptable.pc
	$(Q)install -D -m 644 ext/ptable.h $(DESTDIR)$(PREFIX)/include/ptable.h
ifneq ($(HAS_SERVICE),)
	$(file >$(BUILD)/ptable_service.pc,$(SERVICE_PKG_CONFIG_FILE))
	$(Q)install -D -m 644 $(OUT)/ptable_service.so $(DESTDIR)$(LIBDIR)/ptable_service.so
	$(Q)install -D -m 644 $(OUT)/libptable_service.a $(DESTDIR)$(LIBDIR)/libptable_service.a
	$(Q)install -D -m 644 $(BUILD)/ptable_service.pc \
	    $(DESTDIR)$(LIBDIR)/pkgconfig/ptable_service.pc
	$(Q)install -D -m 644 ext/ptable_service.h $(DESTDIR)$(PREFIX)/include/ptable_service.h
endif
	$(Q)install -D -m 644 -t $(DESTDIR)$(DATADIR)/sql $(SQL_SCRIPTS)
	$(Q)install -D -m 644 -t $(DESTDIR)$(DATADIR)/examples \
	    $(filter-out $(EXAMPLE_PROGRAMS),$(EXAMPLE_FILES))
	$(Q)install -D -m 755 -t $(DESTDIR)$(DATADIR)/examples $(EXAMPLE_PROGRAMS)
	$(Q)for page in $(DOCUMENTS); do \
	    install -D -m 644 $$page $(DESTDIR)$(DOCDIR)/$$page || exit 1; done

uninstall:
	$(call step,uninstall,uninstalling from $(DESTDIR)$(PREFIX))
	$(Q)rm -f $(INSTALLED:%=$(DESTDIR)%)
	@rmdir $(INSTALLED_FOLDERS:%=$(DESTDIR)%) 2>/dev/null || true

# Packages are built from the last commit's archive, in build/dist, and tried by tests of their own.
PACKAGES := deb wheel npm sqlpkg
.PHONY: $(PACKAGES) $(PACKAGES:%=test-%) $(PACKAGES:%=run-test-%)
$(PACKAGES):
	@.ci/deps build test service $@
	@.packaging/build.sh build/dist $@

$(PACKAGES:%=test-%): test-%: %
	+@$(SUBMAKE) run-$@

run-test-npm: npm-hosts
$(PACKAGES:%=run-test-%): run-test-%:
	$(Q)PT_PROGRAM_TIMEOUT=1800 $(RUN) tests/test_$*.sh

# Bindings of SQLite for Node, to be compiled, and a newer Node.
.PHONY: npm-hosts
npm-hosts:
	@tests/packages/fetch_npm.sh build/clients

.PHONY: test-reproducible run-test-reproducible release-check
test-reproducible: dist
	+@$(SUBMAKE) run-$@

run-test-reproducible:
	$(Q)PT_PROGRAM_TIMEOUT=3600 $(RUN) tests/test_reproducible.sh

release-check:
	@tests/release_check.sh

# Packages of another version would stay beside the new ones.
dist:
	@.ci/deps build test service $(PACKAGES)
	@rm -rf build/dist
	@.packaging/build.sh build/dist archive amalgamation $(PACKAGES)

amalgamation:
	@mkdir -p $(BUILD)/amalgamation
	@.packaging/amalgamate.pl $(BUILD)/amalgamation
	$(call step,amalgamation,written: $(call plain,$(BUILD))/amalgamation)@:

clean:
	rm -rf $(BUILD) $(OUT)/ptable.so $(OUT)/libptable.a $(OUT)/ptable_service.so \
	    $(OUT)/libptable_service.a
