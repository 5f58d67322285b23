# Installs the command, the preload libraries, man pages and completions.
#
#   make install PREFIX=$HOME/.local
#   make install DESTDIR=/tmp/package PREFIX=/usr
#   make uninstall PREFIX=$HOME/.local

PREFIX  ?= /usr/local
DESTDIR ?=
CARGO   ?= cargo
INSTALL ?= install

# Where cargo builds, so that a target folder set from outside is honoured.
TARGET := $(or $(CARGO_TARGET_DIR),target)
COHORT := $(TARGET)/release/cohort
STAGE  := $(TARGET)/install

ROOT   := $(DESTDIR)$(PREFIX)
BIN    := $(ROOT)/bin
LIB    := $(ROOT)/lib/cohort
MAN    := $(ROOT)/share/man/man1
BASH   := $(ROOT)/share/bash-completion/completions
ZSH    := $(ROOT)/share/zsh/site-functions
FISH   := $(ROOT)/share/fish/vendor_completions.d

.PHONY: all install uninstall

all:
	$(CARGO) build --release --package cohort-cli

install: all
	rm -rf $(STAGE)
	$(COHORT) generate man $(STAGE)/man
	$(COHORT) generate completions $(STAGE)/completions
	$(COHORT) generate libraries $(STAGE)/lib
	$(INSTALL) -D -m 755 $(COHORT) $(BIN)/cohort
	$(INSTALL) -d $(LIB)
	$(INSTALL) -m 644 $(STAGE)/lib/*.so $(LIB)
	$(INSTALL) -d $(MAN)
	$(INSTALL) -m 644 $(STAGE)/man/*.1 $(MAN)
	$(INSTALL) -D -m 644 $(STAGE)/completions/cohort.bash $(BASH)/cohort
	$(INSTALL) -D -m 644 $(STAGE)/completions/_cohort $(ZSH)/_cohort
	$(INSTALL) -D -m 644 $(STAGE)/completions/cohort.fish $(FISH)/cohort.fish

uninstall:
	rm -f $(BIN)/cohort $(MAN)/cohort.1 $(MAN)/cohort-*.1
	rm -f $(BASH)/cohort $(ZSH)/_cohort $(FISH)/cohort.fish
	rm -f $(LIB)/libcohort_preload.so $(LIB)/libcohort_compositions.so $(LIB)/libcohort_observe.so
	-rmdir $(LIB) 2>/dev/null
