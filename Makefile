# Each target alone is enough: what it needs is installed and built first. `make help` lists them;
# PYTHON=python3.12 takes another Python, EXTRAS=bench adds extras of the package.
export PYTHON
run = @PATH="$(CURDIR)/.venv/bin:$$PATH"
# Given out function by function, so that no core idles; the tests of a file that share what takes long stay together.
pytest = python -m pytest -n auto --dist loadscope
measured_files = $$(grep -rl mark.measured tests --include="test_*.py")

.PHONY: help lecture notebook test quick test-long check-mutants check-deep coverage bench wasm wasm-test wheel wheels release-check lint format docs clean
help:                                ## Lists the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 15

lecture:                             ## Computes the lecture and writes its report
	@.ci/setup charts analysis io $(EXTRAS)
	@echo "roofslate: computing the lecture (a minute or two)"
	$(run) roofslate lecture --out build/lecture

notebook:                            ## Opens the notebooks in JupyterLab
	@.ci/setup charts analysis io jupyter $(EXTRAS)
	$(run) jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks/0_start_here.ipynb

test:                                ## Runs the tests, C++ and Python, part of each function (five minutes on two cores)
	@.ci/setup all test $(EXTRAS)
	@echo "roofslate: tests 1 of 3, C++ (half a minute)"
	$(run) ctest --parallel 2 --test-dir build/editable --output-on-failure --output-junit ctest.xml
	@echo "roofslate: tests 2 of 3, Python (two and a half minutes on two cores; make quick takes one)"
	$(run) $(pytest) --part=usual -m "not long and not measured" --junitxml=build/pytest.xml
	@echo "roofslate: tests 3 of 3, those that measure, one at a time (a few minutes)"
	$(run) python -m pytest -m "measured and not long" --junitxml=build/pytest-measured.xml $(measured_files)

quick:                               ## Runs the tests of every package that take less than 0.05 s (a minute)
	@.ci/setup all test $(EXTRAS)
	$(run) $(pytest) -q --part=quick -m "not (slow or measured or dask or rival or long)" tests/python tests/rules

test-long:                           ## Runs what make test leaves out, with all parameters (an hour); LONG=--one-of-each a slice
	@.ci/setup all test $(EXTRAS)
	$(run) $(pytest) --part=rest -m "not measured" --junitxml=build/pytest-long.xml $(LONG)
	$(run) python -m pytest -m "measured and long" --junitxml=build/pytest-long-measured.xml $(LONG) $(measured_files)

check-mutants:                       ## Changes each formula, default and limit, one thing at a time; the tests must fail
	@.ci/setup all test $(EXTRAS)
	$(run) python python/tools/mutate.py

check-deep:                          ## Runs sanitizers and fuzzers (an hour or two)
	@.ci/setup all test $(EXTRAS)
	@.ci/check-deep

coverage:                            ## Measures which lines of C++ and Python no test reaches (half an hour)
	@.ci/setup all test dev $(EXTRAS)
	@.ci/coverage

bench:                               ## Measures against the machine's limits and against NumPy, numexpr, numba, JAX, polars, DuckDB and Blosc2
	@.ci/setup all bench $(EXTRAS)
	$(run) PYTHONPATH=python python -m benchmarks

wasm:                                ## Builds the engine of web pages, python/roofslate/web/engine.wasm (needs emscripten and node-acorn)
	@.ci/web

wasm-test:                           ## Runs the tests of the core compiled to WebAssembly, in Node
	@.ci/web tests

wheel:                               ## Builds dist/*.tar.gz of the sources, and from it dist/*.whl for any x86-64 Linux with glibc 2.17 or newer
	@.ci/wheel $(PYTHON)

wheels:                              ## Builds the wheels of a release: each Python of this machine, x86-64 and aarch64
	@.ci/wheel --arch x86_64 --arch aarch64 $$(.ci/pythons all)

release-check:                       ## Walks through the checklist of a release, and says what is to do
	@.ci/setup all test dev $(EXTRAS)
	$(run) python python/tools/release_check.py $(STEPS)

lint:                                ## Checks format, style and types
	@.ci/setup all test dev $(EXTRAS)
	$(run) ruff check .
	$(run) ruff format --check .
	$(run) mypy
	$(run) mypy --config-file tests/mypy.ini
	@find cpp tests -name '*.[ch]pp' | xargs -r .venv/bin/clang-format --dry-run -Werror
	$(run) python python/tools/tidy.py

format:                              ## Formats Python and C++
	@.ci/setup all test dev $(EXTRAS)
	$(run) ruff check --fix .
	$(run) ruff format .
	@find cpp tests -name '*.[ch]pp' | xargs -r .venv/bin/clang-format -i

docs:                                ## Builds the documentation
	@.ci/setup all test dev $(EXTRAS)
	$(run) sphinx-build -W -q docs build/docs
	@echo "Documentation written to build/docs/index.html; open it in a browser"

clean:                               ## Removes what was built; the environment .venv stays
	@rm -rf build dist
