"""Fit the package's calibrations to measured runs: ``python python/tools/calibrate.py``."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import operator
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import roofslate
from roofslate.measured.calibrate import calibrate
from roofslate.measured.calibration import Calibration, calibration
from roofslate.measured.runs import Table, shipped

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = Path(roofslate.__file__).parent / "presets" / "data" / "calibrations"


def fitted(table: Table, date: str = "") -> Calibration:
    """Fit the constants of a table, one measured column at a time, with earlier fits fixed.

    Parameters
    ----------
    table : Table
    date : str
        Date of the fit.

    Returns
    -------
    Calibration
    """
    parts: list[Calibration] = []
    runs = table.runs
    derived: dict[str, Any] = {column: runs.kinds(column) for column in table.hold_out if column not in runs.rows}
    rows = runs.rows.assign(**derived)
    settings = dict(table.settings)
    if table.base:
        sought = {name for fit in table.fits.values() for name in fit["terms"]}
        settings = {name: x for name, x in calibration(table.base).items() if name not in sought} | settings
    for column, fit in table.fits.items():
        terms = {name: tuple(ends) for name, ends in fit["terms"].items()}
        constants = [c for part in parts for c in part.constants]
        known: dict[str, Any] = {c.name: c.value for c in constants if not c.by}
        kinds = {c.by: runs.kinds(c.by) for c in constants if c.by}
        by_row = {name: x for part in parts for name, x in part.of_rows(kinds).items()}
        parts.append(
            calibrate(
                rows.assign(**by_row)[runs.counted(column)],
                terms,
                measured=column,
                hold_out=table.hold_out,
                by=fit.get("by"),
                residual=fit.get("residual", "logarithm"),
                soft=fit.get("soft", 0.3),
                anchor=fit.get("anchor"),
                stack=table.stack,
                settings=settings,
                **known,
            )
        )
    return dataclasses.replace(functools.reduce(operator.or_, parts), data=table.source, date=date)


def main(names: Sequence[str]) -> None:
    """Fit the tables of these names, or all, and write the calibrations next to the tables."""
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    for table in shipped():
        if table.fits and (not names or table.name in names):
            fit = fitted(table, today)
            fit.to_toml(FOLDER / f"{table.calibration}.toml")
            calibration.cache_clear()
            sys.stdout.write(f"{fit}\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])
