# Each target alone is enough: what it needs is installed and built first. `make help` lists them;
# PYTHON=python3.12 takes another Python, EXTRAS=bench adds extras of the package.
export PYTHON
run = @PATH="$(CURDIR)/.venv/bin:$$PATH"
# Of every package what shows first that it is broken.
QUICK = -m "not slow and not measured and not long and not dask and not rival" tests/rules tests/python/_base tests/python/units \
    tests/python/registry tests/python/grid/test_read_errors.py tests/python/evaluation/test_value.py \
    tests/python/evaluation/test_evaluate.py tests/python/folds/test_best.py tests/python/analysis/test_solve.py

.PHONY: help lecture test quick test-long check-mutants check-deep coverage bench wheel lint format docs clean
help:                                ## Lists the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 15

lecture:                             ## Computes the lecture and writes its report
	@.ci/setup charts analysis io $(EXTRAS)
	$(run) roofslate lecture --out build/lecture

test:                                ## Runs all tests, C++ and Python
	@.ci/setup all test $(EXTRAS)
	$(run) ctest --test-dir build/editable --output-on-failure --output-junit ctest.xml
	$(run) python -m pytest -n auto --maxprocesses 4 --dist loadfile -m "not long" --junitxml=build/pytest.xml

quick:                               ## Runs the tests that take little, of every package (a minute)
	@.ci/setup all test $(EXTRAS)
	$(run) python -m pytest -q -n auto --maxprocesses 4 --dist loadfile $(QUICK)

test-long:                           ## Runs the tests that take minutes each: recipes in copies of the tree
	@.ci/setup all test $(EXTRAS)
	$(run) python -m pytest -m long

check-mutants:                       ## Changes each formula, default and limit, one thing at a time; the tests must fail
	@.ci/setup all test $(EXTRAS)
	$(run) python python/tools/mutate.py

check-deep:                          ## Runs sanitizers and fuzzers (an hour or two)
	@.ci/setup all test $(EXTRAS)
	@.ci/check-deep

coverage:                            ## Measures which lines of C++ and Python no test reaches (half an hour)
	@.ci/setup all test dev $(EXTRAS)
	@.ci/coverage

bench:                               ## Measures against the machine's limits and against NumPy, numexpr, numba and JAX
	@.ci/setup all bench $(EXTRAS)
	$(run) PYTHONPATH=python python -m benchmarks

wheel:                               ## Builds dist/*.tar.gz of the sources, and from it dist/*.whl for any x86-64 Linux with glibc 2.17 or newer
	@.ci/wheel $(PYTHON)

lint:                                ## Checks format, style and types
	@.ci/setup all test dev $(EXTRAS)
	$(run) ruff check .
	$(run) ruff format --check .
	$(run) mypy
	$(run) mypy --config-file tests/mypy.ini
	@find cpp tests -name '*.[ch]pp' | xargs -r .venv/bin/clang-format --dry-run -Werror

format:                              ## Formats Python and C++
	@.ci/setup all test dev $(EXTRAS)
	$(run) ruff check --fix .
	$(run) ruff format .
	@find cpp tests -name '*.[ch]pp' | xargs -r .venv/bin/clang-format -i

docs:                                ## Builds the documentation
	@.ci/setup all test dev $(EXTRAS)
	$(run) sphinx-build -W -q docs build/docs
	@echo "build/docs/index.html"

clean:                               ## Removes what was built; the environment .venv stays
	@rm -rf build dist
