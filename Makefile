# Installs the commands, the preload libraries, the library for C and C++, man pages and
# completions.
#
#   make install PREFIX=$HOME/.local
#   make install-c PREFIX=$HOME/.local      # the library for C and C++ alone
#   make install DESTDIR=/tmp/package PREFIX=/usr
#   make install PREFIX=/usr LIBDIR=/usr/lib64 MANDIR=/usr/man
#   make uninstall PREFIX=$HOME/.local
#   make deb                                # Debian packages, in target/packages
#   make tarball                            # the preload libraries alone, in target/packages
#   make crate REPOSITORY=https://…         # crates for a registry, in target/packages
#   make deb CROSS=aarch64-linux-gnu        # for another processor; also all, install and tarball
#
# CROSS is the prefix of a cross compiler (Debian: gcc-aarch64-linux-gnu).  Rust needs its standard library for
# the same system: rustup target add aarch64-unknown-linux-gnu.

PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
MANDIR  ?= $(PREFIX)/share/man
DESTDIR ?=
CARGO   ?= cargo
INSTALL ?= install
CROSS   ?=

# The loader searches these prefixes; programs linked below another prefix get an rpath.
SYSTEM := /usr /usr/local
RPATH  := $(if $(filter $(SYSTEM),$(PREFIX)),, -Wl,-rpath,$${libdir})

# Cargo's target folder, also if the environment sets it.
TARGET := $(or $(CARGO_TARGET_DIR),target)
STRIP  := $(if $(CROSS),$(CROSS)-)strip
STAGE  := $(TARGET)/install
ifeq ($(CROSS),)
BUILT  := $(TARGET)
C      := $(TARGET)/c/release
MANUAL := $(TARGET)/release/cohort-manual
else
# Rust's name of the system.
TRIPLE := $(subst -linux,-unknown-linux,$(CROSS))
FOR    := --target $(TRIPLE)
CC     := $(CROSS)-gcc
export CARGO_TARGET_$(subst -,_,$(shell echo $(TRIPLE) | tr a-z A-Z))_LINKER := $(CC)
BUILT  := $(TARGET)/$(TRIPLE)
C      := $(TARGET)/c/$(TRIPLE)/release
# Runs here, to write pages and completions: no need for a release build.
MANUAL := $(TARGET)/debug/cohort-manual
endif
# The command of a server is built small: see the profile dist in Cargo.toml.
COHORT   := $(BUILT)/dist/cohort
LAB      := $(BUILT)/release/cohort-lab
DELEGATE := $(BUILT)/release/cohort-delegate

# The library for C. The SONAME stays as long as the ABI is compatible.
VERSION := 0.1.0
SONAME  := libcohort.so.0

ROOT   := $(DESTDIR)$(PREFIX)
BIN    := $(ROOT)/bin
LIB    := $(ROOT)/lib/cohort
SHARE  := $(ROOT)/share/cohort
LIBS   := $(DESTDIR)$(LIBDIR)
CMAKE  := $(LIBS)/cmake/cohort
MANS   := $(DESTDIR)$(MANDIR)
MAN    := $(MANS)/man1
BASH   := $(ROOT)/share/bash-completion/completions
ZSH    := $(ROOT)/share/zsh/site-functions
FISH   := $(ROOT)/share/fish/vendor_completions.d

.PHONY: all c install install-c install-command install-library uninstall deb tarball crate

LARGE := --release --package cohort-lab-cli --package cohort-delegate --bin cohort-lab --bin cohort-delegate
PAGES := --package cohort-commands --bin cohort-manual

all: c
	$(CARGO) build $(FOR) --profile dist --package cohort-cli --bin cohort
	$(CARGO) build $(FOR) $(LARGE) $(if $(CROSS),&& $(CARGO) build) $(PAGES)

# Writes the libraries that the command embeds into a folder.  Cargo keeps those of another processor.
ifeq ($(CROSS),)
write-libraries = $(COHORT) generate libraries $(1)
else
write-libraries = $(INSTALL) -D -m 644 -t $(1) $(BUILT)/libraries/$(TRIPLE)/*.so
endif

# Rustc does not version the symbols of a shared library, so the linker builds it from the static
# one.
c:
	RUSTFLAGS="--remap-path-prefix=$(CURDIR)=cohort" $(CARGO) build $(FOR) --release \
	    --manifest-path crates/cohort-c/Cargo.toml --target-dir $(TARGET)/c
	$(CC) -shared -s -o $(C)/libcohort.so.$(VERSION) -Wl,-soname,$(SONAME) \
	    -Wl,--version-script=crates/cohort-c/cohort.map -Wl,-z,defs -Wl,-z,now -Wl,-z,nodelete \
	    -Wl,--gc-sections -Wl,--whole-archive $(C)/libcohort.a -Wl,--no-whole-archive -lc

install-c: c install-library

# The functions of cohort.h, each with a man page that leads to cohort.h(3).
FUNCTIONS = $(shell grep '^cohort_' crates/cohort-c/symbols.txt \
    | grep -vE '^cohort_gls_[a-z0-9_]+_(lock|trylock|clocklock|timedlock|unlock)$$')

# These two targets build nothing: they install $(C) and the commands.
install-library:
	$(INSTALL) -D -m 644 $(C)/libcohort.a $(LIBS)/libcohort.a
	$(INSTALL) -D -m 644 $(C)/libcohort.so.$(VERSION) $(LIBS)/libcohort.so.$(VERSION)
	ln -sf libcohort.so.$(VERSION) $(LIBS)/$(SONAME)
	ln -sf $(SONAME) $(LIBS)/libcohort.so
	$(INSTALL) -d $(ROOT)/include $(LIBS)/pkgconfig $(CMAKE)
	$(INSTALL) -m 644 crates/cohort-c/include/* $(ROOT)/include
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(patsubst $(PREFIX)%,$${prefix}%,$(LIBDIR))|; s|@VERSION@|$(VERSION)|; s|@RPATH@|$(RPATH)|' \
	    crates/cohort-c/cohort.pc.in > $(LIBS)/pkgconfig/cohort.pc
	sed 's|@UP@|$(shell realpath -ms --relative-to=$(LIBDIR) $(PREFIX))|' \
	    crates/cohort-c/cohortConfig.cmake > $(CMAKE)/cohortConfig.cmake
	sed 's|@VERSION@|$(VERSION)|' \
	    crates/cohort-c/cohortConfigVersion.cmake > $(CMAKE)/cohortConfigVersion.cmake
	$(INSTALL) -d $(MANS)/man3
	$(INSTALL) -m 644 crates/cohort-c/man/*.3 $(MANS)/man3
	for function in $(FUNCTIONS); do \
	    echo '.so man3/cohort.h.3' > $(MANS)/man3/$$function.3; \
	done
	$(INSTALL) -D -m 644 crates/cohort-cli/debuggers/cohort.py $(SHARE)/cohort.py
	ln -sf $(shell realpath -ms --relative-to=$(LIBDIR) $(PREFIX))/share/cohort/cohort.py \
	    $(LIBS)/libcohort.so.$(VERSION)-gdb.py

install: all install-c install-command

install-command:
	rm -rf $(STAGE)
	$(MANUAL) man $(STAGE)/man
	$(MANUAL) completions $(STAGE)/completions
	$(call write-libraries,$(STAGE)/lib)
	$(INSTALL) -D -m 755 $(COHORT) $(BIN)/cohort
	$(INSTALL) -m 755 $(LAB) $(BIN)/cohort-lab
	$(INSTALL) -m 755 $(DELEGATE) $(BIN)/cohort-delegate
	$(INSTALL) -d $(LIB)
	$(INSTALL) -m 644 $(STAGE)/lib/*.so $(LIB)
	for library in $(LIB)/*.so; do ln -sf ../../share/cohort/cohort.py $$library-gdb.py; done
	$(INSTALL) -D -m 644 crates/cohort-cli/debuggers/cohort-debug.h $(SHARE)/cohort-debug.h
	$(INSTALL) -d $(MAN)
	$(INSTALL) -m 644 $(STAGE)/man/*.1 $(MAN)
	echo '.so man1/cohort.1' > $(MAN)/cohort-lab.1
	$(INSTALL) -D -m 644 $(STAGE)/completions/cohort.bash $(BASH)/cohort
	$(INSTALL) -D -m 644 $(STAGE)/completions/_cohort $(ZSH)/_cohort
	$(INSTALL) -D -m 644 $(STAGE)/completions/cohort.fish $(FISH)/cohort.fish

uninstall:
	rm -f $(BIN)/cohort $(BIN)/cohort-lab $(BIN)/cohort-delegate
	rm -f $(MAN)/cohort.1 $(MAN)/cohort-*.1
	rm -f $(BASH)/cohort $(ZSH)/_cohort $(FISH)/cohort.fish
	rm -f $(LIB)/libcohort_preload.so $(LIB)/libcohort_compositions.so $(LIB)/libcohort_observe.so
	rm -f $(LIB)/*.so-gdb.py $(SHARE)/cohort.py $(SHARE)/cohort-debug.h
	rm -f $(LIBS)/libcohort.a $(LIBS)/libcohort.so* $(LIBS)/pkgconfig/cohort.pc
	rm -f $(CMAKE)/cohortConfig.cmake $(CMAKE)/cohortConfigVersion.cmake
	rm -f $(addprefix $(ROOT)/include/,cohort.h cohort.hpp cohort_tsan.h)
	rm -f $(addprefix $(MANS)/man3/,$(addsuffix .3,cohort.h cohort.hpp $(FUNCTIONS)))
	-rmdir $(LIB) $(SHARE) $(CMAKE) 2>/dev/null

# Debian's name of the architecture, and the compiler's name of the system.
ARCHITECTURE ?= $(shell $(if $(CROSS),dpkg-architecture -t $(CROSS) -q DEB_HOST_ARCH,dpkg --print-architecture) 2>/dev/null)
SYSTEM_NAME  ?= $(shell $(CC) -dumpmachine)
PACKAGES     ?= $(TARGET)/packages
TREE         := $(TARGET)/tree
LIBRARIES    := cohort-preload-$(VERSION)-$(SYSTEM_NAME)

deb:
	rm -rf $(TREE)
	$(MAKE) install DESTDIR=$(abspath $(TREE)) PREFIX=/usr LIBDIR=/usr/lib/$(SYSTEM_NAME)
	STRIP=$(STRIP) packaging/deb $(TREE) $(PACKAGES) $(VERSION) $(ARCHITECTURE)

tarball: all
	rm -rf $(TREE)
	$(call write-libraries,$(TREE)/$(LIBRARIES))
	$(INSTALL) -m 644 LICENSE-APACHE LICENSE-MIT docs/deploy.md docs/configuration.md $(TREE)/$(LIBRARIES)
	$(INSTALL) -d $(PACKAGES)
	tar --owner=0 --group=0 --sort=name -C $(TREE) -czf $(PACKAGES)/$(LIBRARIES).tar.gz.part $(LIBRARIES)
	mv $(PACKAGES)/$(LIBRARIES).tar.gz.part $(PACKAGES)/$(LIBRARIES).tar.gz

crate:
	REPOSITORY='$(REPOSITORY)' packaging/crate $(PACKAGES)
