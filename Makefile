# `make demo` shows what Tailrace does; `make test` checks everything. Both set up what they need in .venv
# and target, once. Only package installs touch the network.

PYTHON ?= python3
SCALE ?= 0.01
BIN := .venv/bin
SOURCES := Cargo.toml Cargo.lock .cargo/config.toml pyproject.toml $(shell find crates -type f)
# The host agent is built where there is what it takes, which `make programs` installs; ARCHITECTURE.md says why it is a feature.
HAS_AGENT := $(shell pkg-config --exists libelf zlib 2>/dev/null && { command -v clang-19 || command -v clang; } >/dev/null && command -v protoc >/dev/null && echo yes)
AGENT := $(if $(HAS_AGENT),--features tailrace-cli/agent)
export VIRTUAL_ENV := $(CURDIR)/.venv
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

.PHONY: demo test digests tests-built test-kernel programs lint deny audit fuzz mutants bench validate check-papers docs pages clean

demo: .venv/built
	$(BIN)/tailrace run experiments/demo.toml --report

test: lint deny .venv/built tests-built
	cargo test --locked $(AGENT)
	$(BIN)/mypy
	MYPYPATH=python $(BIN)/stubtest tailrace._tailrace
	$(BIN)/pytest
	$(BIN)/tailrace check experiments/smoke/*.toml
	$(BIN)/tailrace check experiments/demo.toml --scale 0.1
	$(BIN)/tailrace bench --instructions benches/instructions.json

# Code without warnings, and the tests of it. The command line without the agent is looked at beside the same libraries.
tests-built: .venv/tools
	cargo clippy --locked --workspace --all-targets $(AGENT) -- -D warnings
ifdef HAS_AGENT
	cargo clippy --locked --workspace --all-targets --features tailrace-agent/bpf,tailrace-agent/control -- -D warnings
	cargo clippy --locked --package tailrace-agent --all-targets -- -D warnings
else
	@echo "clang, libelf, zlib or protoc is missing: the host agent is NOT built and NOT tested (make programs installs them)"
endif
	cargo test --locked $(AGENT) --no-run

# The host agent on Debian's kernel, beside that kernel's own queues and congestion control, in a guest of QEMU's. Nothing is
# skipped: what is missing is named.
test-kernel: GUEST := crates/tailrace-cli/tests/guest/guest.sh
test-kernel:
	$(if $(HAS_AGENT),,$(error clang, libelf, zlib or protoc is missing, so there is no host agent to test: make programs installs them))
	$(GUEST)
	cargo test --locked $(AGENT) --config 'target."cfg(unix)".runner = "$(CURDIR)/$(GUEST)"' --test guest -- \
		--ignored --test-threads 1 --nocapture

# Programs that tests of the live level start, the browser that tests reports, and what the host agent is built with; what is
# missing is skipped, and said.
# And what `make test-kernel` takes.
programs:
	apt-get install --yes --no-install-recommends chromium
	apt-get install --yes memcached etcd-server etcd-client clang-19 libelf-dev zlib1g-dev pkg-config protobuf-compiler libprotobuf-dev
	apt-get install --yes --no-install-recommends qemu-system-x86 cpio kmod curl gpgv debian-archive-keyring xz-utils binutils iproute2

# Checks that take seconds come first.
lint: .venv/tools
	cargo fmt --all --check
	$(BIN)/ruff check
	$(BIN)/ruff format --check

# Licences, sources and known vulnerabilities of what becomes part of Tailrace; deny.toml. What could not be looked up
# is said.
deny:
ifeq ($(shell command -v cargo-deny),)
	@echo "cargo-deny is not installed: licences and advisories are NOT checked (make audit installs it)"
else
	cargo deny --locked check bans licenses sources
	if cargo deny fetch db; then cargo deny --locked check advisories; \
	else echo "The database of advisories cannot be reached: advisories are NOT checked"; fi
endif

# The same, where a check that cannot be made fails.
audit:
	command -v cargo-deny || cargo install --locked cargo-deny
	cargo deny --locked check

# Any input, for as long as one likes: all targets of fuzz/src/targets, or the one that TARGET names. Each run tries
# other inputs, unless SEED names one.
fuzz: SECONDS ?= 600
fuzz: SEED ?= $(shell date +%s)
fuzz:
	FUZZ_SECONDS=$(SECONDS) FUZZ_SEED=$(SEED) cargo test --locked --package tailrace-fuzz --test targets -- --nocapture $(TARGET)

# Whether tests notice faults: of a crate's code changed in one place, at least one of its tests must fail. PART=0/8
# tries every eighth change. docs/mutation.md has the scores.
mutants: CRATE ?= queues
mutants: PART ?= 0/1
mutants:
	command -v cargo-mutants || cargo install --locked cargo-mutants
	cargo mutants --package tailrace-$(CRATE) --shard $(PART) --sharding round-robin --output target

# How fast the simulator is, and a live switch beside a bare forwarder; that needs root, and a machine that does nothing else.
bench: .venv/built
	$(BIN)/tailrace bench
	$(BIN)/tailrace bench --level live --check

# Tailrace beside theory; and, where ns-3 is installed, beside it, over ten seeds: three quarters of an hour, after which the
# tables of docs/validation.md are those of this run.
validate: .venv/built
	if pkg-config --exists ns3-core; then $(MAKE) -C benches/ns3; else echo "ns-3 is not installed: nothing to build"; fi
	$(BIN)/python benches/validate --write docs/validation.md

# The results of this build beside those that are written down.
digests: .venv/built
	$(BIN)/python experiments/digests.py

# The papers' experiments against their claims; SCALE=1 is what the papers ran.
check-papers: .venv/built
	$(BIN)/tailrace check --scale $(SCALE) $(filter-out experiments/smoke/%,$(wildcard experiments/*/*.toml))

# Pages that are made from the program itself.
pages: .venv/built
	$(BIN)/python docs/generate.py
	$(BIN)/python python/fields.py

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps

clean:
	rm -rf .venv target out python/tailrace/_tailrace*.so python/tailrace/reports/uplot

# The extension module, and with it .venv/bin/tailrace. Python code is used where it lies.
.venv/built: .venv/tools .venv/agent-$(or $(HAS_AGENT),no) python/tailrace/reports/uplot $(SOURCES)
	$(BIN)/maturin develop --locked --release $(if $(HAS_AGENT),--features agent)
	touch $@

# What draws the charts of reports. Without it they are still pictures.
python/tailrace/reports/uplot: .venv/tools python/uplot.py
	$(BIN)/python python/uplot.py && touch $@ || echo "uPlot cannot be fetched: charts of reports are still pictures"

# Another one when the agent can be built, or no longer.
.venv/agent-%: .venv/tools
	rm -f .venv/agent-*
	touch $@

.venv/tools: requirements-dev.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --disable-pip-version-check --quiet --require-hashes --requirement requirements-dev.txt
	touch $@
