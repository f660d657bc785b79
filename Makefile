# Every target sets up what it needs; nothing is installed by hand.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Real recordings and robot models, where this checkout has them beside it.
export REALWORTHY_DATA ?= $(wildcard ../shared/data)
export MENAGERIE_ROOT ?= $(wildcard ../shared/menagerie)

.PHONY: demo test test-slow check format bench docs pins clean

demo: $(READY)         ## the whole loop on a hidden truth, in minutes; TOUR=--quick for a glance
	rm -rf build/tour
	$(BIN)/realworthy tour $(TOUR) --output build/tour

test: $(READY)         ## the suite, on all cores; one thread for each worker
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto -m "not slow and not robot"

test-slow: $(READY)    ## proofs that take minutes
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[ray]"
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto -m "slow"

check: $(READY)        ## format, lint, types, import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)        ## stepping against the raw engines, as ratios; benchmarks/ has the others
	$(BIN)/python benchmarks/simulators.py

docs: $(READY)         ## the documentation as a site, in build/docs
	$(BIN)/python -m pip install --quiet -c constraints.txt --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pins: $(READY)         ## constraints.txt from what is installed now
	{ sed -n '/^#/p' constraints.txt; $(BIN)/python -m pip freeze --all --exclude-editable | sed 's/^\(torch==[0-9.]*\)+cpu/\1/' | grep -v '^setuptools=='; } > constraints.tmp
	mv constraints.tmp constraints.txt

clean:
	rm -rf .venv

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Realworthy needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "pip>=25.1"
	$(BIN)/python -m pip install --quiet -c constraints.txt --group dev -e ".[train,gpu,sim2sim,view,ros,zenoh,gymnasium,rsl_rl,retarget]"
	touch $(READY)
