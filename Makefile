# Two commands do all on a fresh machine: `make demo` and `make test`.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
EXPERIMENT ?= experiments/quickstart.yaml
# A run that is cut short has told of what failed by then; and where the minutes go.
TOLD := --instafail --durations=25
export PATH := $(CURDIR)/$(BIN):$(PATH)
unexport CARGO_TARGET_DIR

.PHONY: demo test test-full test-rare test-fast test-real lint bench docs install wheel node-aarch64 tools build-tools browser-tools clean

# A run ends with 1 where an objective or a limit is missed, which is an answer, too.
demo: install ## build, fetch the systems, run the quickstart, print the answers and the report's path
	$(BIN)/hydrotest doctor || true
	$(BIN)/hydrotest fetch
	$(BIN)/hydrotest run $(EXPERIMENT) || [ $$? -eq 1 ]

test: lint test-fast test-real ## what every change must pass: 35 to 60 minutes on two cores, with a cold build

test-full: install ## the rest of the real tests: for whoever touches their subject, and before a release; at most 60 minutes
	$(BIN)/hydrotest fetch
	$(BIN)/pytest $(TOLD) -m "real and long and not rare"

test-rare: install ## on a virtual machine with a kernel, systemd and control groups of its own (Debian: apt-get install qemu-system-x86 debootstrap)
	$(BIN)/hydrotest fetch kafka
	$(BIN)/pytest $(TOLD) -m rare

test-fast: install browser-tools ## Python and Rust without the real systems
	cd rust && cargo test --locked --quiet
	$(BIN)/pytest -n 2 --dist loadfile -m "not real"

test-real: install ## a real test of each system and of each kind of test
	$(BIN)/hydrotest fetch
	$(BIN)/pytest $(TOLD) -m "real and not long and not rare"

lint: install
	$(BIN)/ruff check python tests benchmarks
	$(BIN)/ruff format --check python tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports
	cd rust && cargo fmt --check && cargo clippy --locked --quiet --all-targets -- -D warnings

bench: install ## the quicker benchmarks of benchmarks/RESULTS.md (verdicts.py and sink.py take hours: by hand)
	$(BIN)/python benchmarks/generators.py
	command -v latte >/dev/null || cargo install latte-cli --version 0.29.0 --locked
	$(BIN)/python benchmarks/latte.py --latte $$(command -v latte || echo $${CARGO_HOME:-$$HOME/.cargo}/bin/latte)
	$(BIN)/python benchmarks/truth.py
	cd rust && cargo test --release --locked -p hydrotest-cassandra --lib -- --ignored --nocapture
	$(BIN)/python benchmarks/checker.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/tick.py
	$(BIN)/python benchmarks/stock_check.py
	$(BIN)/python benchmarks/interference.py
	$(BIN)/python benchmarks/repeatability.py

docs: install ## the references and schemas of the files that people write, and of summary.json, from the models
	$(BIN)/python -c "from hydrotest.spec.reference import reference; print(reference(), end='')" > docs/reference/experiment.md
	$(BIN)/python -m hydrotest.spec.schema > contract/experiment.schema.json
	$(BIN)/python -m hydrotest.summary.reference > docs/reference/summary.md
	$(BIN)/python -m hydrotest.summary.schema > contract/summary.schema.json
	$(BIN)/python -m hydrotest.predict.simulation.reference > docs/reference/scenario.md
	$(BIN)/python -m hydrotest.predict.simulation.reference --schema > contract/scenario.schema.json

install: tools $(VENV)/.installed
	@# Cargo finds out itself whether the binary is up to date; this takes two seconds when it is.
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@# A shell may ask Python to keep no compiled modules (PYTHONDONTWRITEBYTECODE); then each command would compile all that it imports.
	@$(BIN)/python -m compileall -q python/hydrotest

wheel: build-tools $(VENV)/.installed ## dist/*.whl: installs with pip alone; what only Spark and emulated hosts need are the extras `spark` and `lab`
	$(BIN)/maturin build --release --locked --out dist

node-aarch64: build-tools ## hydrotest-node for aarch64 hosts, cross-built into the package: `make wheel` takes it along
	@command -v rustup >/dev/null || { echo "error: rustup is missing: it has the standard library for aarch64 (rustup.rs)." >&2; exit 2; }
	@command -v aarch64-linux-gnu-gcc >/dev/null || { echo "error: the C compiler for aarch64 is missing (Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross)." >&2; exit 2; }
	cd rust && rustup target add aarch64-unknown-linux-gnu
	cd rust && CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
		cargo build --release --locked -p hydrotest-node --target aarch64-unknown-linux-gnu
	aarch64-linux-gnu-strip -o rust/target/hydrotest-node-aarch64 rust/target/aarch64-unknown-linux-gnu/release/hydrotest-node
	install -D -m 755 rust/target/hydrotest-node-aarch64 python/hydrotest/nodes/aarch64/hydrotest-node

$(VENV)/.installed: requirements.txt requirements-extras.txt requirements-dev.txt
	python3 -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

browser-tools: ## Playwright and axe-core, for tests of the report in a browser; without npm those say what is missing
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory tests/browser/node_modules/.installed; fi

tests/browser/node_modules/.installed: tests/browser/package-lock.json
	cd tests/browser && npm ci --ignore-scripts
	touch $@

tools: build-tools ## names what is missing, with its remedy
	@command -v java >/dev/null || [ -x "$$JAVA_HOME/bin/java" ] || { echo "error: Java 17 is missing. Install it (Debian: apt-get install openjdk-17-jdk-headless)." >&2; exit 2; }
	@j=java; [ -n "$$JAVA_HOME" ] && j="$$JAVA_HOME/bin/java"; v=$$("$$j" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1); [ "$${v:-0}" -ge 17 ] || { echo "error: Java $$v is too old; 17 or later is needed (Debian: apt-get install openjdk-17-jdk-headless, or set JAVA_HOME)." >&2; exit 2; }
	@j=javac; [ -n "$$JAVA_HOME" ] && j="$$JAVA_HOME/bin/javac"; command -v "$$j" >/dev/null || { echo "error: javac is missing: a JDK 17 is needed, not only a JRE (Debian: apt-get install openjdk-17-jdk-headless)." >&2; exit 2; }
	@command -v mvn >/dev/null || { echo "error: Maven is missing. Install it (Debian: apt-get install maven)." >&2; exit 2; }

build-tools: ## of those, what it takes to build
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "error: Python 3.11 or later is missing. Install it (Debian: apt-get install python3 python3-venv)." >&2; exit 2; }
	@command -v cargo >/dev/null || { echo "error: cargo is missing. Install Rust 1.92 or later (rustup.rs; distributions' own are often older)." >&2; exit 2; }
	@v=$$(cargo --version | sed -n 's/^cargo 1\.\([0-9]*\).*/\1/p'); [ "$${v:-0}" -ge 92 ] || { echo "error: $$(cargo --version) is too old; Rust 1.92 or later is needed (rustup update)." >&2; exit 2; }
	@command -v cc >/dev/null || { echo "error: a C compiler (cc) is missing. Install one (Debian: apt-get install build-essential)." >&2; exit 2; }

clean:
	rm -rf $(VENV) rust/target tests/browser/node_modules
