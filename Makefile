# What people run. `make test` installs what the tests need and runs all of them.
CARGO ?= cargo
# Where `make install` puts abx; what packs it puts DESTDIR before.
PREFIX ?= /usr/local
DESTDIR ?=
# What it puts there.
ABX ?= target/release/abx
# Where `make dist` puts its packages, and the profile of cargo that it builds with.
DIST ?= target/dist
PROFILE ?= release

.PHONY: build demo install uninstall dist setup compile-tests test test-fast check counts simulations truth planted bench self-check spread mutants cql book fuzz

build:
	$(CARGO) build --release --locked --package abx

# Two process models of the built-in server, compared at 50 connections.
demo: build
	./target/release/abx compare

# Only what has changed is built: `make && sudo make install` needs no cargo of root's.
target/release/abx: Cargo.toml Cargo.lock $(shell find crates studies -type f ! -path '*/tests/*')
	$(MAKE) build
	touch $@

# The program, manual pages, completions and documents.
install: $(ABX)
	./scripts/install "$(ABX)" "$(DESTDIR)$(PREFIX)"

uninstall:
	./scripts/install --remove "$(DESTDIR)$(PREFIX)"

# A static program as a tarball, a package for Debian, and what a container needs.
dist:
	./scripts/dist "$(DIST)" "$(PROFILE)"

# Foreign servers and tools from the system's packages, npm, pypi and Maven; starts nothing.
setup:
	./scripts/install-test-servers

# Compiles while downloads are under way.
test:
	$(MAKE) --jobs=2 setup compile-tests
	$(CARGO) test --workspace --locked

compile-tests:
	$(CARGO) test --workspace --locked --no-run --quiet
	./scripts/build-static dev

# For the inner loop: no foreign servers, no browser, and of the tests of the
# program only those that load nothing.
test-fast:
	$(CARGO) test --workspace --locked --lib --bins \
	    --test wire --test sys --test ledger --test evidence --test verdict --test report --test lab --test audit --test keeper \
	    --test door --test refused --test schedule --test simulation \
	    --test server --test descriptors
	$(CARGO) test --workspace --locked --test end_to_end -- golden:: layers:: usage::words

# What CI runs besides the tests.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	./scripts/without-extras
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) fmt --manifest-path studies/cassandra-clients/cql/Cargo.toml --check
	RUSTFLAGS="--cfg fuzzing" $(CARGO) check --manifest-path fuzz/Cargo.toml --target-dir target/fuzz --locked
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --quiet

# The extension over CQL of studies/cassandra-clients, and its tests over Cassandra 3.11
# and 5.0. Ten minutes; needs php-dev, libclang-dev and the network.
cql: setup
	./studies/cassandra-clients/cql/install target/cql
	$(CARGO) test -p abx --test end_to_end --locked -- --ignored over_cql

# Instructions per request on the engine's hot path, against those held in
# bench/instructions.txt. Counts them, so a busy machine does not matter.
counts: setup
	./scripts/instruction-counts

# Every simulated study of the statistics, with the tables of docs/explain/statistics. The
# tests draw a fifth of them.
simulations:
	ABX_SIMULATIONS=full $(CARGO) test -p abx-verdict --test verdict --locked statistics:: -- --nocapture --test-threads=1
	ABX_SIMULATIONS=full $(CARGO) test -p abx-lab --lib --locked rate_search::simulation -- --nocapture --test-threads=1
	$(CARGO) test -p abx-verdict --lib --locked table_of -- --ignored --nocapture --test-threads=1

# Known answers: simulated studies, and on this machine servers of exact capacity that
# count what they serve, a server beside itself, and servers that break. Takes two hours;
# no part of the tests, since it measures.
truth: setup build simulations
	$(CARGO) build --release --locked --package abx-bench
	./target/release/truth known --abx ./target/release/abx --capacity ./target/release/capacity
	./target/release/truth equal --abx ./target/release/abx
	./scripts/faults ./target/release/abx

# Studies of real processes, each repeated: how often intervals hold the truth, how
# often verdicts are right, and how long they take. An hour; it measures.
planted: setup build
	$(CARGO) build --release --locked --package abx-bench
	./target/release/truth planted --abx ./target/release/abx

# What abx costs beside other load generators, on one nginx. Ten minutes, no
# test: it measures.
bench: build
	./scripts/install-bench-tools
	$(CARGO) build --release --locked --package abx-bench
	./target/release/bench --abx ./target/release/abx \
	    --oha ./target/bench-tools/bin/oha --json target/bench-results.json

# What generators say of a server that stalls, where the answer is known. Three
# minutes; it measures.
self-check: build
	./scripts/install-bench-tools
	$(CARGO) build --release --locked --package abx-bench
	./target/release/truth stall --abx ./target/release/abx --oha ./target/bench-tools/bin/oha

# What the length of slices does to the spread of blocks, quiet and beside a
# neighbour. A quarter of an hour; it measures.
spread: build
	$(CARGO) build --release --locked --package abx-bench
	./target/release/truth spread --abx ./target/release/abx

# The documents as a book in target/book; the first time installs mdbook, which takes minutes.
book:
	./scripts/book target/book

# What no test notices: what decides verdicts is changed one place at a time, as
# .cargo/mutants.toml says, and the fast tests run. Needs `cargo install cargo-mutants`;
# takes hours, so name files with MUTANTS='--re holm.rs'.
mutants:
	$(CARGO) mutants --package abx-stats --package abx-verdict $(MUTANTS) -- --lib --test verdict -- \
	    --skip statistics:: --skip past_baseline::simulation
	$(CARGO) mutants --package abx-lab $(MUTANTS) -- --lib -- stop_rule

# Every fuzz target for FUZZ_SECONDS, one after the other, with a table of what came of it. Needs
# `cargo install cargo-fuzz`; 30 hours, so name some by FUZZ_TARGETS='hpack audit'. The tests
# replay what is in fuzz/kept; `scripts/fuzz keep` renews that.
FUZZ_SECONDS ?= 3600
FUZZ_TARGETS ?=
fuzz:
	./scripts/fuzz run $(FUZZ_SECONDS) $(FUZZ_TARGETS)
