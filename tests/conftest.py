"""Shared fixtures: instruction sets, interpreters, bits, catalogs, scenarios, a browser."""

import contextlib
import gc
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import roofslate
from hypothesis import settings
from roofslate import _core
from roofslate.grid.read import Settled
from roofslate.presets import catalog as catalogs
from roofslate.presets.library import Library
from roofslate.registry.registry import entries
from support import ROOT
from support.scenarios import DECODE
from support.selection import PARTS, first_of_each, longest_first, of_part, read_durations

# Compiled tests are kept in __pycache__: to compile them anew takes longer than all else of the collection.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("MPLBACKEND", "Agg")
settings.register_profile("roofslate", deadline=None, derandomize=True, database=None, max_examples=60)
settings.register_profile("deep", deadline=None, database=None)  # other examples each time
settings.load_profile("roofslate")

sys.path += [str(ROOT / "python"), str(ROOT / "python" / "tools")]  # tools and benchmarks, after the installed package


def pytest_addoption(parser):
    parser.addoption("--part", choices=PARTS, help="tests by how long they take, see support/selection.py")
    parser.addoption("--one-of-each", action="store_true", help="the first of each function that make test leaves out")


@pytest.hookimpl(hookwrapper=True)
def pytest_collection():
    """Look for no garbage among modules and tests while they are made, nor later."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)  # of what -m and -k leave
def pytest_collection_modifyitems(config, items):
    durations = read_durations()
    chosen = items
    if config.getoption("--part"):
        chosen = of_part(items, config.getoption("--part"), durations)
    if config.getoption("--one-of-each"):
        chosen = first_of_each(chosen, durations)
    left_out = set(items).difference(chosen)
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    if hasattr(config, "workerinput"):
        longest_first(items, durations)


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist there is no such hook
def pytest_xdist_auto_num_workers():
    return min(len(os.sched_getaffinity(0)) + 1, 4)  # one more than processors: some tests wait for a browser


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    if config.getoption("dist") != "loadscope":
        return None
    from support.workers import ByFunction

    config.option.loadscopereorder = False
    return ByFunction(config, log)


INSTRUCTION_SETS = _core.instruction_sets()[::-1]  # the one that every machine has first: it is the reference


@pytest.fixture(autouse=True)
def _figures_closed():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def fresh_catalogs(monkeypatch):
    """Catalogs that are not loaded yet: what a test defines or loads is gone after it."""
    monkeypatch.setattr(catalogs, "_library", Library())
    monkeypatch.delenv("ROOFSLATE_PRESETS", raising=False)


@pytest.fixture(scope="session")
def instruction_sets():
    """Names of all instruction sets that this machine runs."""
    return INSTRUCTION_SETS


@pytest.fixture(params=INSTRUCTION_SETS)
def instruction_set(request):
    """One after another, each instruction set of this machine in use."""
    before = _core.instruction_set()
    _core.use_instruction_set(request.param)
    yield request.param
    _core.use_instruction_set(before)


@pytest.fixture(scope="session")
def bits():
    """Return doubles as the integers of their bits, with all NaN equal."""

    def of(values):
        array = np.array(values, dtype=np.float64)
        array[np.isnan(array)] = np.nan
        return array.view(np.int64) if array.ndim else int(array.reshape(1).view(np.int64)[0])

    return of


@pytest.fixture(scope="session")
def run_python():
    """Run code in a fresh interpreter with the tested package and return its output."""
    path = str(Path(roofslate.__file__).parents[1])

    def run(code, *, timeout=120, check=True, **environment):
        paths = [path, *filter(None, [os.environ.get("PYTHONPATH")])]
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        )
        assert not check or done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done if not check else done.stdout.strip()

    return run


@pytest.fixture(scope="session")
def decode():
    """A copy of the decode question, which a test may change."""
    return dict(DECODE)


@pytest.fixture(scope="session")
def whole_scenario():
    """Return a valid value for every input of the registry, enough for every quantity."""
    chosen = {}
    for k, (name, q) in enumerate(entries().items()):
        if q.computed or q.fallback:
            continue
        if q.choices:
            chosen[name] = q.choices[k % len(q.choices)]
        elif q.default is not None:
            chosen[name] = q.default
        else:
            low = max(q.low, 0.0)
            chosen[name] = low + 1.25 + k % 7 if q.high > 1e300 else low + (q.high - low) * 0.6
    # One says nothing by default, two follow from each other, few requests come, and of the last there must be room.
    chosen |= {"experts": 8.0, "concurrency": 5.25, "arrival_rate": 1e-5, "hbm_capacity": 1e5}
    for name, q in entries().items():
        if q.bound and name in chosen and q.bound in chosen:
            chosen[name] = min(chosen[name], chosen[q.bound])
    return Settled(chosen)


def without(reason):
    """Skip on machines without a browser. Continuous integration has one."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@pytest.fixture(scope="module")  # its event loop runs as long as it is open, and is in the way of others
def browser():
    """A real browser without a window."""
    if importlib.util.find_spec("playwright") is None:
        without("playwright is not installed: pip install playwright")
    program = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    if program is None:
        without("no Chromium was found: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def audit():
    """Faults of an open page for those who read it, however they read, a sentence each."""
    code = (ROOT / "tests" / "python" / "support" / "audit.js").read_text(encoding="utf-8")
    return lambda page: page.evaluate(code)


@pytest.fixture
def watched_page(browser):
    """A page that records messages, errors and requests beyond files in `trouble`."""
    opened = browser.new_page()
    opened.trouble = []
    opened.on("console", lambda message: opened.trouble.append(message.text))
    opened.on("pageerror", lambda error: opened.trouble.append(str(error)))
    opened.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else opened.trouble.append(r.url))
    yield opened
    opened.close()


@pytest.fixture
def tab(watched_page):
    """A page that fails its test at any trouble."""
    yield watched_page
    assert watched_page.trouble == []


def answering(runtime):
    """Address of the server that wrote where it listens, once it answers."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        path = next(runtime.glob("jpserver-*.json"))
        address = json.loads(path.read_text(encoding="utf-8"))["url"]
        with urllib.request.urlopen(f"{address}api/status", timeout=10):
            return address
    return None


@pytest.fixture(scope="session")
def laboratory(tmp_path_factory):
    """Address of a JupyterLab that keeps off the network, and the folder of its notebooks."""
    home = tmp_path_factory.mktemp("jupyter")
    settings = {
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
        "docmanager-extension/plugin": {"autosave": False},
        "notebook-extension/tracker": {"windowingMode": "none"},  # notebook cells exist before one scrolls to them
    }
    for name, setting in settings.items():
        path = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(setting), encoding="utf-8")
    places = {
        "HOME": home,
        "IPYTHONDIR": home / "ipython",
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "MPLCONFIGDIR": pytest.importorskip("matplotlib").get_configdir(),  # which has the list of fonts
        "PYTHONPATH": os.pathsep.join([str(Path(roofslate.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
    }
    environment = {**os.environ, **{name: str(path) for name, path in places.items()}}
    environment.pop("MPLBACKEND", None)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"]
    command += ["--IdentityProvider.token=", "--ServerApp.allow_root=True", f"--ServerApp.root_dir={home}"]
    command += ["--LabApp.extension_manager=readonly", "--LabApp.news_url=", "--LabApp.expose_app_in_browser=True"]
    log = home / "server.log"
    options = {"cwd": home, "env": environment, "stdout": log.open("w"), "stderr": subprocess.STDOUT}
    with options["stdout"], subprocess.Popen(command, **options) as server:
        try:
            until = time.monotonic() + 90  # seconds; two or three on an idle machine
            address = None
            while address is None:
                assert server.poll() is None, log.read_text(encoding="utf-8")
                assert time.monotonic() < until, log.read_text(encoding="utf-8")
                time.sleep(0.05)
                address = answering(home / "runtime")
            yield address, home
        finally:
            server.kill()  # its kernels end when it is gone
