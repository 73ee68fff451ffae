"""Locks in a forked child: the threads that held them are not there."""

import os
import re
import signal
import threading
import time
import traceback
from pathlib import Path

import pytest
import roofslate as rs
from roofslate._base.locks import Lock, cached_property
from roofslate.presets import library

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning"),  # jax, if another test loaded it
]


def exit_code_of_child(call):
    """Fork a child that makes the call within two seconds and exits with 0."""
    child = os.fork()
    if not child:
        try:
            call()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def halted():
    """Run calls in another thread, which halts within them until the test ends."""
    entered, leave, threads = threading.Event(), threading.Event(), []

    def halt(*_args, **_kwargs):
        if not entered.is_set():
            entered.set()
            leave.wait()

    def run(call):
        threads.append(threading.Thread(target=call))
        threads[0].start()
        assert entered.wait(5)

    yield halt, run
    leave.set()
    for thread in threads:
        thread.join()


def test_a_lock_of_another_thread_is_free_in_the_child(halted):
    halt, run = halted
    lock = Lock()

    def hold():
        with lock:
            halt()

    def take():
        with lock, lock:
            pass

    run(hold)
    assert exit_code_of_child(take) == 0


def test_the_thread_that_forks_keeps_its_lock():
    lock = Lock()

    def renewed():
        lock._lock.release()  # an error where it is not the owner

    with lock:
        assert exit_code_of_child(renewed) == 0


def test_a_property_that_another_thread_computes(halted):
    halt, run = halted

    class Two:
        @cached_property
        def value(self):
            halt()
            return 2

    run(lambda: Two().value)
    assert exit_code_of_child(lambda: Two().value) == 0


@pytest.mark.usefixtures("fresh_catalogs")
def test_presets_that_another_thread_reads(halted, monkeypatch):
    halt, run = halted
    read = library._read

    def halting(*args):
        halt()
        return read(*args)

    monkeypatch.setattr(library, "_read", halting)
    run(lambda: list(rs.hardware))
    assert exit_code_of_child(lambda: list(rs.hardware)) == 0


def test_the_package_has_no_other_locks():
    """Before Python 3.12, locks of `threading` and `cached_property` stay held in the child."""
    package = Path(rs.__file__).parent
    other = re.compile(
        r"threading\.R?Lock|functools\.cached_property|from (threading|functools) import .*(Lock|cached_p)"
    )
    having = [path.relative_to(package) for path in package.rglob("*.py") if other.search(path.read_text("utf-8"))]
    assert having == [Path("_base/locks.py")]
