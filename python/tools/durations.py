"""Record the durations of tests from reports of pytest.

``make quick`` and ``make test`` choose by them::

    python python/tools/durations.py build/pytest.xml build/pytest-long.xml

A function that the reports have not seen keeps its record. Give reports that have all parameters of their functions:
reports of a part have the mean of a few. Tests that measure run apart and need none.
"""

from __future__ import annotations

import argparse
import json
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["read_report", "record"]

_RECORD = Path(__file__).parents[2] / "tests" / "python" / "support" / "durations.json"
_LEAST = 0.02  # seconds: shorter tests are not recorded


def read_report(path: Path) -> dict[str, list[float]]:
    """Read the seconds of each test of a report, by function."""
    seconds = defaultdict(list)
    for case in ET.parse(path).iter("testcase"):
        module, name = case.get("classname") or "", (case.get("name") or "").partition("[")[0]
        if case.find("skipped") is None and name:
            seconds[f"{module.replace('.', '/')}.py::{name}"].append(float(case.get("time") or 0))
    return seconds


def record(before: dict[str, float], reports: Iterable[dict[str, list[float]]]) -> dict[str, float]:
    """Replace the records of the functions in some reports by their means."""
    durations = dict(before)
    for report in reports:
        for function, seconds in report.items():
            mean = float(f"{sum(seconds) / len(seconds):.2g}")
            durations.pop(function, None)
            if mean >= _LEAST:
                durations[function] = mean
    return dict(sorted(durations.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("reports", nargs="+", type=Path, help="reports that pytest wrote with --junitxml")
    reports = parser.parse_args().reports
    before = json.loads(_RECORD.read_text(encoding="utf-8")) if _RECORD.exists() else {}
    durations = record(before, map(read_report, reports))
    _RECORD.write_text(json.dumps(durations, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
