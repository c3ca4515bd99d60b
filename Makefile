# `make test` installs what the tests need, then runs every test.
CARGO ?= cargo
# `make install` installs below PREFIX. Packagers stage the files with DESTDIR.
PREFIX ?= /usr/local
DESTDIR ?=
# The program to install.
ABX ?= target/release/abx
# The output folder of `make dist`, and its cargo profile.
DIST ?= target/dist
PROFILE ?= release

.PHONY: build demo install uninstall dist setup compile-tests test test-fast check counts simulations truth planted bench self-check spread mutants cql book fuzz

build:
	$(CARGO) build --release --locked --package abx

# Compares two process models of the built-in server at 50 connections.
demo: build
	./target/release/abx compare

# Builds only after a change, so root needs no cargo for `make && sudo make install`.
target/release/abx: Cargo.toml Cargo.lock $(shell find crates studies -type f ! -path '*/tests/*')
	$(MAKE) build
	touch $@

# Installs the program, manual pages, completions and documents.
install: $(ABX)
	./scripts/install "$(ABX)" "$(DESTDIR)$(PREFIX)"

uninstall:
	./scripts/install --remove "$(DESTDIR)$(PREFIX)"

# Packs a static program as a tarball, a Debian package and the contents of a container.
dist:
	./scripts/dist "$(DIST)" "$(PROFILE)"

# Installs the servers and tools of the tests (system packages, npm, pypi, Maven). Starts nothing.
setup:
	./scripts/install-test-servers

# Compiles while setup downloads. Many tests wait for servers, so more run at a time than there are
# CPUs.
test:
	$(MAKE) --jobs=2 setup compile-tests
	RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$(($$(nproc) * 3 / 2))} $(CARGO) test --workspace --locked

compile-tests:
	$(CARGO) test --workspace --locked --no-run --quiet
	./scripts/build-static dev

# For the inner loop: needs no other server and no browser. Of the program's end-to-end tests,
# runs only those that generate no load.
test-fast:
	$(CARGO) test --workspace --locked --lib --bins \
	    --test wire --test sys --test ledger --test evidence --test verdict --test report --test lab --test audit --test keeper \
	    --test door --test refused --test schedule --test simulation \
	    --test server --test descriptors
	$(CARGO) test --workspace --locked --test end_to_end -- golden:: layers:: usage::words

# CI runs this in addition to the tests.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	./scripts/without-extras
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) fmt --manifest-path studies/cassandra-clients/cql/Cargo.toml --check
	# A check links nothing, so it does not compile libFuzzer.
	CUSTOM_LIBFUZZER_PATH=none/libFuzzer.a RUSTFLAGS="--cfg fuzzing" \
	    $(CARGO) check --manifest-path fuzz/Cargo.toml --target-dir target/fuzz --locked
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --quiet

# Builds the CQL extension of studies/cassandra-clients, and tests it with Cassandra 3.11 and 5.0.
# Takes ten minutes. Needs php-dev, libclang-dev and the network.
cql: setup
	./studies/cassandra-clients/cql/install target/cql
	$(CARGO) test -p abx --test end_to_end --locked -- --ignored over_cql

# Compares the instructions per request on the engine's hot path with bench/instructions.txt.
# Counts do not depend on how busy the machine is.
counts: setup
	./scripts/instruction-counts

# Runs every simulated study of the statistics and prints the tables of docs/explain/statistics.
# `make test` draws a fifth of the studies.
simulations:
	ABX_SIMULATIONS=full $(CARGO) test -p abx-verdict --test verdict --locked statistics:: -- --nocapture --test-threads=1
	ABX_SIMULATIONS=full $(CARGO) test -p abx-lab --lib --locked rate_search::simulation -- --nocapture --test-threads=1
	$(CARGO) test -p abx-verdict --lib --locked table_of -- --ignored --nocapture --test-threads=1

# Checks abx's reports where the truth is known: simulated studies, servers of exact capacity that
# count what they serve, a server compared with itself, and servers that break. Takes two hours.
# It measures, so it is not part of the tests.
truth: setup build simulations
	$(CARGO) build --release --locked --package abx-bench
	./target/release/truth known --abx ./target/release/abx --capacity ./target/release/capacity
	./target/release/truth equal --abx ./target/release/abx
	./scripts/faults ./target/release/abx

# Repeats studies of real processes. Reports how often intervals hold the truth, how often verdicts
# are correct, and how long they take. It measures for an hour.
planted: setup build
	$(CARGO) build --release --locked --package abx-bench
	./target/release/truth planted --abx ./target/release/abx

# Compares abx's cost with that of other load generators, all against one nginx. It measures for ten
# minutes, so it is not a test.
bench: build
	./scripts/install-bench-tools
	$(CARGO) build --release --locked --package abx-bench
	./target/release/bench --abx ./target/release/abx \
	    --oha ./target/bench-tools/bin/oha --json target/bench-results.json

# Compares the response times that generators report with known ones: the server stalls. It measures
# for three minutes.
self-check: build
	./scripts/install-bench-tools
	$(CARGO) build --release --locked --package abx-bench
	./target/release/truth stall --abx ./target/release/abx --oha ./target/bench-tools/bin/oha

# Shows how slice length affects the spread of blocks, on a quiet machine and with a noisy neighbour.
# It measures for a quarter of an hour.
spread: build
	$(CARGO) build --release --locked --package abx-bench
	./target/release/truth spread --abx ./target/release/abx

# Builds the documents as a book in target/book. The first run installs mdbook, which takes minutes.
book:
	./scripts/book target/book

# Finds changes that no test notices: changes the code that decides verdicts one place at a time
# (.cargo/mutants.toml) and runs the fast tests. Needs `cargo install cargo-mutants`. Takes hours, so
# select files with MUTANTS='--re holm.rs'.
mutants:
	$(CARGO) mutants --package abx-stats --package abx-verdict $(MUTANTS) -- --lib --test verdict -- \
	    --skip statistics:: --skip past_baseline::simulation
	$(CARGO) mutants --package abx-lab $(MUTANTS) -- --lib -- stop_rule

# Runs every fuzz target for FUZZ_SECONDS, one after the other, and prints a table of results. Needs
# `cargo install cargo-fuzz`. Takes 30 hours, so select targets with FUZZ_TARGETS='hpack audit'.
# The tests replay the inputs in fuzz/kept, which `scripts/fuzz keep` renews.
FUZZ_SECONDS ?= 3600
FUZZ_TARGETS ?=
fuzz:
	./scripts/fuzz run $(FUZZ_SECONDS) $(FUZZ_TARGETS)
