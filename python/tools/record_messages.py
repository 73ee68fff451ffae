"""Record the messages a test run meets, and compare two such records.

As a plugin of pytest it writes a line per message: class, text, and the tests that met it::

    PYTHONPATH=python/tools python -m pytest -p record_messages --messages after.txt --hypothesis-seed=0 tests
    python python/tools/record_messages.py before.txt after.txt

A message counts if it leaves the package: an error caught by a caller, one printed by the command line, a warning.
Errors that the package converts to others do not count. Tests are named without file and parameters, since both move.
Addresses, folders and amounts of free memory are replaced.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["compare", "main"]

Message = tuple[str, str]  # class and text


class Recorder:
    """Messages by class and text, with the tests that met each."""

    def __init__(self) -> None:
        self.tests: dict[Message, set[str]] = {}
        self.test = ""
        self._pending: BaseException | None = None

    def watch(self, error: BaseException) -> None:
        """Watch a new error. The previous one has been caught by now."""
        self.flush()
        self._pending = error

    def flush(self) -> None:
        """Record the last error if it left the package."""
        error, self._pending = self._pending, None
        if error is not None and _left_package(error.__traceback__):
            self.add(type(error).__name__, str(error))

    def add(self, kind: str, text: str) -> None:
        self.tests.setdefault((kind, _neutral(text)), set()).add(self.test)

    def merge(self, rows: Iterable[tuple[str, str, list[str]]]) -> None:
        for kind, text, tests in rows:
            self.tests.setdefault((kind, text), set()).update(tests)

    @property
    def rows(self) -> list[tuple[str, str, list[str]]]:
        return [(kind, text, sorted(tests)) for (kind, text), tests in sorted(self.tests.items())]


def _left_package(trace: TracebackType | None) -> bool:
    """Return True if the frame that caught the error is a caller's."""
    if trace is None:  # created, not raised
        return False
    import roofslate

    path, package = Path(trace.tb_frame.f_code.co_filename), Path(roofslate.__file__).parent
    return package not in path.parents or package / "cli" in path.parents


_FOLDER = re.compile(rf"(?:{re.escape(tempfile.gettempdir())}|/[\w./-]*roofslate)[\w./-]*/")
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_FREE = re.compile(r"[\d.e+]+ \w+ \(\d+ bytes\) (?=are free)")


def _neutral(text: str) -> str:
    return _ADDRESS.sub("0x", _FOLDER.sub("<folder>/", _FREE.sub("some ", text)))


# -------------------------------------------------------------------------------------------------------------- pytest

_recorder = Recorder()


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--messages", help="file for the messages that the tests meet")


def pytest_configure(config: Any) -> None:
    if not config.getoption("messages"):
        return
    import roofslate as rs

    for error in (rs.errors.RoofslateError, rs.errors.OutOfMemory):
        _on_init(error, _recorder.watch)
    _on_init(rs.errors.RoofslateWarning, lambda warning: _recorder.add(type(warning).__name__, str(warning)))


def _on_init(kind: type[BaseException], note: Callable[[BaseException], None]) -> None:
    original: Any = kind.__init__

    def initialize(self: BaseException, *arguments: Any, **keywords: Any) -> None:
        original(self, *arguments, **keywords)
        note(self)

    kind.__init__ = initialize  # type: ignore[method-assign]


def pytest_runtest_setup(item: Any) -> None:
    _recorder.test = getattr(item, "originalname", None) or item.name.partition("[")[0]


def pytest_runtest_teardown() -> None:
    _recorder.flush()


def pytest_testnodedown(node: Any) -> None:
    """Receive the messages of a worker of pytest-xdist."""
    _recorder.merge(getattr(node, "workeroutput", {}).get("messages", []))


def pytest_sessionfinish(session: Any) -> None:
    path = session.config.getoption("messages")
    if not path:
        return
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["messages"] = _recorder.rows
    else:
        Path(path).write_text("".join(_line(*row) for row in _recorder.rows), encoding="utf-8")


def _line(kind: str, text: str, tests: list[str]) -> str:
    return f"{kind}\t{text!a}\t{' '.join(tests)}\n"


# ---------------------------------------------------------------------------------------------------------- comparison


def read(path: Path) -> dict[Message, str]:
    """Read the messages of a file, with the tests that met each."""
    messages = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        kind, text, tests = line.split("\t")
        messages[kind, text] = tests
    return messages


def compare(before: Mapping[Message, str], after: Mapping[Message, str]) -> int:
    """Print messages that are new or no longer met, and return the number of the latter."""
    lost = [message for message in before if message not in after]
    new = [message for message in after if message not in before]
    for title, messages, source in (("lost", lost, before), ("new", new, after)):
        for message in messages:
            print(f"{title}: {message[0]}: {message[1]}\n    {source[message]}")
    print(f"{len(before)} messages before, {len(after)} after: {len(lost)} lost, {len(new)} new")
    return len(lost)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    given = parser.parse_args()
    return min(1, compare(read(given.before), read(given.after)))


if __name__ == "__main__":
    sys.exit(main())
