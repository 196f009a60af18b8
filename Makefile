# What a newcomer types. Meson and ninja do the work.
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
WERROR ?= false

.PHONY: all packages test-packages demo test bench install clean

all: packages $(BUILD)/build.ninja
	@ninja -C $(BUILD) -v >$(BUILD)/ninja.log 2>&1 || { cat $(BUILD)/ninja.log; exit 1; }
	@echo "built $(BUILD)/tare"

$(BUILD)/build.ninja:
	@meson setup $(BUILD) --prefix=$(PREFIX) -Dwerror=$(WERROR)

$(BUILD)-san/build.ninja:
	@meson setup $(BUILD)-san -Dwerror=$(WERROR) -Db_sanitize=address,undefined -Db_lundef=false

packages:
	@tools/install-packages build

test-packages:
	@tools/install-packages test

test: test-packages all $(BUILD)-san/build.ninja
	@ninja -C $(BUILD)-san >$(BUILD)/ninja-san.log 2>&1 || { cat $(BUILD)/ninja-san.log; exit 1; }
	@tools/run-tests $(BUILD) $(BUILD)-san

install: all
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild --quiet
	@echo "installed to $(DESTDIR)$(PREFIX)"

clean:
	rm -rf $(BUILD) $(BUILD)-san
