# Every target does its own set-up: a virtual environment of its own, made once and renewed when what it was made
# from changes. Needed: Python 3.11 or newer, gcc, make, and a package registry that pip reaches.
#
#   make demo       one step of the tape as text, then a classifier of digits trained
#   make test       the tests, on the compiled package
#   make test-pure  the tests, on the uncompiled package
#   make parity     comparisons with a real PyTorch
#   make bench      the benchmarks
#   make perf-guard instructions of hot paths against the recorded ones (needs valgrind)
#   make sanitize   the tests of the C++ kernels under AddressSanitizer and UndefinedBehaviorSanitizer
#   make lint       ruff and mypy
#   make clean      remove all that the targets above made

PYTHON ?= python3
WORKERS ?= 2
PIP := -m pip -qq --disable-pip-version-check
PYTEST := -m pytest -n $(WORKERS) -q
# What is installed is tested, with its assertions, whatever the shell has set for other programs.
unexport PYTHONPATH PYTHONHOME PYTHONOPTIMIZE
# The workers share the cores: BLAS threads that wait for each other would take most of the time.
test test-pure parity: export OPENBLAS_NUM_THREADS := 1
test test-pure parity: export OMP_NUM_THREADS := 1
# Tests that reach the C++ kernels, and the folder of those that are compiled with checks.
KERNEL_TESTS := $(wildcard tests/test_native*.py) \
    $(patsubst %,tests/test_%.py,elementwise functional networks optim random reductions sequences)
SANITIZED := build/sanitize
# What an installed copy is made from. Folders count, so that a removed file is noticed too.
SOURCES := setup.py mypyc.ini pyproject.toml README.md LICENSE \
           $(shell find src \( -name '.*' -o -name __pycache__ -o -name '*.egg-info' \) -prune -o -print)

.PHONY: demo test test-pure parity bench perf-guard sanitize lint clean
.DELETE_ON_ERROR:

demo: .venv/livetape.stamp
	@.venv/bin/python -m livetape demo $(ARGS)

# Then once more with what a program with a subclass of Tensor does differently.
AGAIN := -o addopts=-rfEX tests/subclasses $(patsubst %,tests/test_%.py,calls compat data elementwise engine function \
    indexing inplace lines messages module networks notes refused regressions saved_tensors serialization)
test: .venv/livetape.stamp
	LIVETAPE_EXPECT=compiled .venv/bin/python $(PYTEST) $(ARGS)
	$(if $(ARGS),,LIVETAPE_EXPECT=compiled .venv/bin/python $(PYTEST) $(AGAIN))

test-pure: .venv-pure/livetape.stamp
	LIVETAPE_EXPECT=pure .venv-pure/bin/python $(PYTEST) $(ARGS)
	$(if $(ARGS),,LIVETAPE_EXPECT=pure .venv-pure/bin/python $(PYTEST) $(AGAIN))

parity: .venv-parity/livetape.stamp
	.venv-parity/bin/python $(PYTEST) -o addopts=-ra tests/parity $(ARGS)

bench: .venv/livetape.stamp .venv-parity/tools.stamp
	.venv/bin/python benchmarks/run.py --torch-python .venv-parity/bin/python $(ARGS)

perf-guard: .venv/livetape.stamp
	.venv/bin/python benchmarks/guard.py $(ARGS)

# Without blocks that are kept and used again (LIVETAPE_BUFFERS, PYTHONMALLOC) accesses beyond any of them are seen.
SANITIZE = LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONMALLOC=malloc \
    OPENBLAS_NUM_THREADS=1 PYTHONPATH="$(CURDIR)/$(SANITIZED)"
sanitize: $(SANITIZED)/livetape.stamp
	$(SANITIZE) LIVETAPE_BUFFERS=0 .venv/bin/python -m pytest -q $(or $(ARGS),$(KERNEL_TESTS))
	$(if $(ARGS),,$(SANITIZE) .venv/bin/python -m pytest -q tests/test_buffers.py)

lint: .venv/tools.stamp
	.venv/bin/python -m ruff check .
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m mypy

clean:
	rm -rf .venv .venv-pure .venv-parity build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---------------------------------------------------------------- environments

.venv-parity/tools.stamp: EXTRA := torch==2.13.0

%/tools.stamp: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=...") if sys.version_info < (3, 11) else 0'
	@echo "preparing $* ..."
	@$*/bin/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear $*
	@$*/bin/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	    print(*p["dependencies"], *(r for e in p["optional-dependencies"].values() for r in e), sep="\n")' \
	    > $*/requirements.txt
	@for pause in 5 30 end; do \
	    $*/bin/python $(PIP) install --requirement $*/requirements.txt $(EXTRA) && exit; \
	    [ $$pause = end ] && exit 1; \
	    echo "trying again in $$pause seconds ..."; sleep $$pause; \
	done
	@touch $@

# One build at a time: all of them use the folder build/.
.venv/livetape.stamp .venv-parity/livetape.stamp: export LIVETAPE_PURE := 0
.venv-pure/livetape.stamp: export LIVETAPE_PURE := 1

%/livetape.stamp: %/tools.stamp $(SOURCES)
	@echo "building livetape for $* (compiling takes minutes, once) ..."
	@$*/bin/python $(PIP) install --no-deps --no-build-isolation .
	@touch $@

# The C++ kernels with checks, in a folder of its own beside uncompiled Python.
$(SANITIZED)/livetape.stamp: export LIVETAPE_PURE := 0
$(SANITIZED)/livetape.stamp: export LIVETAPE_SANITIZE := 1
$(SANITIZED)/livetape.stamp: .venv/tools.stamp $(SOURCES)
	@echo "building the kernels with checks (compiling takes minutes, once) ..."
	@rm -rf $(SANITIZED)
	@.venv/bin/python $(PIP) install --no-deps --no-build-isolation --target $(SANITIZED) .
	@touch $@

.NOTPARALLEL:
.PRECIOUS: %/tools.stamp %/livetape.stamp
