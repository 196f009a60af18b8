# What a newcomer types. Meson and ninja do the work.
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
WERROR ?= false

ARM64 = $(BUILD)-arm64

# The steps of a target are in order; ninja is what runs things at once.
.NOTPARALLEL:
.PHONY: all packages test-packages arm64 fetch-arm64 demo test test-kernel test-programs bench install clean

all: packages $(BUILD)/build.ninja
	@ninja -C $(BUILD) -v >$(BUILD)/ninja.log 2>&1 || { cat $(BUILD)/ninja.log; exit 1; }
	@$(MAKE) --no-print-directory arm64
	@echo "built $(BUILD)/tare"

# The arm64 side, where there is a compiler for it.
arm64:
	@tools/setup-arm64 $(ARM64) $(WERROR) || [ $$? = 77 ]
	@[ ! -f $(ARM64)/build.ninja ] || ninja -C $(ARM64) -v >$(ARM64)/ninja.log 2>&1 || { cat $(ARM64)/ninja.log; exit 1; }

# What the arm64 tests take from the Debian archive; they are skipped without.
fetch-arm64:
	@TARE_DEBIAN_SUITE=bookworm tools/fetch-arm64 sysroot >/dev/null || [ $$? = 77 ]
	@TARE_DEBIAN_SUITE=bookworm tools/fetch-arm64 kernel >/dev/null || [ $$? = 77 ]
	@TARE_DEBIAN_SUITE=trixie tools/fetch-arm64 kernel >/dev/null || [ $$? = 77 ]

$(BUILD)/build.ninja:
	@meson setup $(BUILD) --prefix=$(PREFIX) -Dwerror=$(WERROR)

$(BUILD)-san/build.ninja:
	@meson setup $(BUILD)-san -Dwerror=$(WERROR) -Db_sanitize=address,undefined -Db_lundef=false

packages:
	@tools/install-packages build

test-packages:
	@tools/install-packages test

test: test-packages fetch-arm64 all $(BUILD)-san/build.ninja
	@ninja -C $(BUILD)-san >$(BUILD)/ninja-san.log 2>&1 || { cat $(BUILD)/ninja-san.log; exit 1; }
	@tools/run-tests $(BUILD) $(BUILD)-san $(ARM64)

test-kernel: test-packages fetch-arm64 all
	@TARE_TEST_ARGS="--suite kernel" tools/run-tests $(BUILD)

# Every real program, and a hundred runs of some.
test-programs: test-packages all
	@TARE_BUILD=$(BUILD) tests/programs/run.py
	@TARE_BUILD=$(BUILD) tests/programs/repeat.py --runs 100 --neighbours \
		$(BUILD)/tests/engine/engine-exceptions $(BUILD)/tests/programs/engine-workers

# The build may have been set up for another prefix.
install: all
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@ninja -C $(BUILD) >$(BUILD)/ninja.log 2>&1 || { cat $(BUILD)/ninja.log; exit 1; }
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild --quiet
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig 2>/dev/null || true
	@echo "installed to $(DESTDIR)$(PREFIX)"

# What a newcomer should see first.
demo: all
	@tools/install-packages demo
	@tools/demo $(BUILD)/tare

bench: all
	@[ -x bench/run ] || { echo "tare: bench/run is not there"; exit 1; }
	@bench/run $(BUILD)/tare --slow-peers

clean:
	rm -rf $(BUILD) $(BUILD)-san $(ARM64)
