# What a newcomer types. Meson and ninja do the work.
#
#	make                        build; installs nothing, needs no privilege
#	make packages               install what a build needs (apt, with sudo)
#	make demo                   build, installing what is missing, and show it
#	make test                   the same with everything the tests use
#	make test-all               that, and the long campaigns: hours (docs/testing.md)
#	make install PREFIX=~/.local
#	make uninstall PREFIX=~/.local
#	make clean                  remove the build folders
#
# For those who work on tare:
#
#	make test-kernel            the tests that boot an emulated arm64 machine
#	make test-programs          every real program, and a hundred runs of some
#	make coverage               the share of lines and branches that the tests run (needs gcovr)
#	make bench                  what counting costs, beside other tools
#	make abi                    store the ABI of libtare anew, after an intended change
#	make dist                   the tarball of a release, in build/dist; builds without git
#	make deb                    Debian packages tare, libtare0, libtare-dev, in build/deb
#
# Steps of these: needs (name missing packages), arm64 (the arm64 side, where there is a compiler for
# it), fetch-arm64 (what its tests take from the archive), demo-packages and test-packages (install),
# test-builds (with sanitizers and with clang).
#
# TESTS=false leaves the tests out of the build; ARM64= leaves out the arm64 side.
PREFIX ?= /usr/local
# Not every shell expands the tilde of PREFIX=~/.local.
override PREFIX := $(patsubst ~/%,$(HOME)/%,$(PREFIX))
DESTDIR ?=
BUILD ?= build
WERROR ?= false
TESTS ?= true
# Only /usr has the folders of the distribution: lib/x86_64-linux-gnu, lib64.
LIBDIR ?= $(shell tools/libdir "$(PREFIX)")

ARM64 = $(BUILD)-arm64

# The steps of a target are in order; ninja is what runs things at once.
.NOTPARALLEL:
.PHONY: all needs packages test-packages arm64 fetch-arm64 demo demo-packages test test-builds test-all test-kernel test-programs coverage abi bench install uninstall dist deb clean

all: needs $(BUILD)/build.ninja
	@ninja -C $(BUILD) -v >$(BUILD)/ninja.log 2>&1 || { cat $(BUILD)/ninja.log; exit 1; }
	@$(MAKE) --no-print-directory arm64
	@echo "built $(BUILD)/tare"

# The arm64 side, where there is a compiler for it.
arm64:
	@mkdir -p $(BUILD)
	@[ -z "$(ARM64)" ] || tools/setup-arm64 $(ARM64) $(WERROR) 2>$(BUILD)/setup-arm64.log || \
		[ $$? = 77 ] || { cat $(BUILD)/setup-arm64.log; exit 1; }
	@[ -z "$(ARM64)" ] || [ ! -f $(ARM64)/build.ninja ] || ninja -C $(ARM64) -v >$(ARM64)/ninja.log 2>&1 || { cat $(ARM64)/ninja.log; exit 1; }

# What the arm64 tests take from the Debian archive; they are skipped without.
fetch-arm64:
	@TARE_DEBIAN_SUITE=bookworm tools/fetch-debian sysroot arm64 >/dev/null || [ $$? = 77 ]
	@TARE_DEBIAN_SUITE=bookworm tools/fetch-debian kernel arm64 >/dev/null || [ $$? = 77 ]
	@TARE_DEBIAN_SUITE=trixie tools/fetch-debian kernel arm64 >/dev/null || [ $$? = 77 ]

# What is missing, by the names of this distribution's packages.
needs:
	@tools/needs $(BUILD) $(TESTS)

$(BUILD)/build.ninja: | needs
	@mkdir -p $(BUILD)
	@meson setup $(BUILD) --prefix="$(PREFIX)" --libdir="$(LIBDIR)" -Dwerror=$(WERROR) -Dtests=$(TESTS) \
		>$(BUILD)/setup.log 2>&1 || { cat $(BUILD)/setup.log; exit 1; }

$(BUILD)-san/build.ninja:
	@meson setup $(BUILD)-san -Dwerror=$(WERROR) -Db_sanitize=address,undefined -Db_lundef=false \
		-Dc_args=-fno-sanitize-recover=undefined >/dev/null

$(BUILD)-tsan/build.ninja:
	@meson setup $(BUILD)-tsan -Dwerror=$(WERROR) -Db_sanitize=thread -Db_lundef=false >/dev/null

# With the other compiler, where it is installed.
$(BUILD)-clang/build.ninja:
	@! command -v clang >/dev/null || \
		CC=clang CXX=clang++ meson setup $(BUILD)-clang -Dwerror=$(WERROR) >/dev/null

packages:
	@tools/install-packages build

test-packages:
	@tools/install-packages test

# Everything in the build itself; in the others what they are for (tools/run-tests).
comma = ,
TEST_BUILDS = $(BUILD)-san=--suite,unit,--suite,func $(BUILD)-tsan=--suite,threads \
	$(BUILD)-clang=--suite,unit,--suite,asm $(if $(ARM64),$(ARM64)=--suite$(comma)unit)

test-builds: fetch-arm64 all $(BUILD)-san/build.ninja $(BUILD)-tsan/build.ninja $(BUILD)-clang/build.ninja
	@for b in $(BUILD)-san $(BUILD)-tsan $(BUILD)-clang; do \
		[ ! -f $$b/build.ninja ] || ninja -C $$b >$$b/ninja.log 2>&1 || { cat $$b/ninja.log; exit 1; }; done

test: test-packages test-builds
	@tools/run-tests $(BUILD) $(TEST_BUILDS)

# CAMPAIGNS="noise=50 races" runs only these, of noise 50 pairs; TARE_SCALE=100 makes all of them short.
test-all: test
	@tools/install-packages test-all
	@tools/test-all $(BUILD) $(CAMPAIGNS)

test-kernel: test-packages fetch-arm64 all
	@TARE_TEST_ARGS="--suite kernel" tools/run-tests $(BUILD)

# Every real program, and a hundred runs of some.
test-programs: test-packages all
	@TARE_BUILD=$(BUILD) tests/programs/run.py
	@TARE_BUILD=$(BUILD) tests/programs/repeat.py --runs 100 --neighbours \
		$(BUILD)/tests/engine/engine-exceptions $(BUILD)/tests/programs/engine-workers

# The figures in docs/testing.md.
coverage: needs
	@tools/coverage $(BUILD)-cov

# The test `abi` compares the library with what this stores (tests/abi/).
abi:
	@tests/build/abi.py . --renew

# The build may have been set up for another prefix.
install: all
	@meson configure $(BUILD) -Dprefix="$(PREFIX)" -Dlibdir="$(LIBDIR)"
	@ninja -C $(BUILD) >$(BUILD)/ninja.log 2>&1 || { cat $(BUILD)/ninja.log; exit 1; }
	@DESTDIR="$(DESTDIR)" meson install -C $(BUILD) --no-rebuild --quiet
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig 2>/dev/null || true
	@echo "installed to $(DESTDIR)$(PREFIX)"
	@[ -n "$(DESTDIR)" ] || tools/after-install "$(PREFIX)" "$(LIBDIR)"

# Removes what `make install` with the same PREFIX and DESTDIR puts in place.
uninstall: $(BUILD)/build.ninja
	@meson configure $(BUILD) -Dprefix="$(PREFIX)" -Dlibdir="$(LIBDIR)"
	@ninja -C $(BUILD) build.ninja >$(BUILD)/ninja.log 2>&1 || { cat $(BUILD)/ninja.log; exit 1; }
	@tools/uninstall $(BUILD) "$(DESTDIR)"

# What a newcomer should see first.
demo: demo-packages all
	@tools/demo $(BUILD)/tare

# Without them the demo shows less; whether there can be a build, `needs` tells.
demo-packages:
	@tools/install-packages demo || true

bench: all
	@[ -x bench/run ] || { echo "tare: bench/run is not there"; exit 1; }
	@bench/run $(BUILD)/tare --slow-peers

# Only the files in the tree matter, so that a release can be made again from the same commit.
dist:
	@tools/dist $(BUILD)/dist

deb:
	@tools/deb $(BUILD)/deb

clean:
	rm -rf $(BUILD) $(BUILD)-san $(BUILD)-tsan $(BUILD)-clang $(BUILD)-cov $(ARM64)
