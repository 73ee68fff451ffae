"""Facts of a summary: numbers, verdict, parts and warnings of one scenario."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from roofslate.analysis.summary_kinds import DEPLOYMENT, TRAINING

if TYPE_CHECKING:
    import pandas as pd

    from roofslate.analysis.summary_kinds import Outcome
    from roofslate.analysis.summary_parts import Change, Split

__all__ = ["Facts"]

_FLOOR = "floor"
_MEMORY = {DEPLOYMENT: ("hbm_used", "hbm_capacity"), TRAINING: ("training_memory", "hbm_capacity")}
_COLUMNS = ("floor", "estimate", "lower", "upper")


@dataclass(frozen=True, repr=False)
class Facts:
    """Facts of one scenario, see `Summary`."""

    kind: str
    scenario: dict[str, str]
    calibration: str
    level: float
    support: str
    layout: str
    dequantized: str
    fits: bool | None
    fitting_chips: int | None
    splits: tuple[Split, ...]
    changes: tuple[Change, ...]
    missing: dict[str, str]
    assumed: tuple[str, ...]
    warnings: tuple[str, ...]
    _outcomes: tuple[Outcome, ...] = field(repr=False)
    _table: pd.DataFrame = field(repr=False, compare=False)

    @property
    def memory(self) -> tuple[float, float] | None:
        """Used memory and capacity per chip [byte], None if unknown."""
        names = _MEMORY.get(self.kind, ())
        column = self._table["estimate" if self.calibration else "floor"]
        numbers = [float(column.to_dict()[name]) for name in names]
        return (numbers[0], numbers[1]) if numbers and not any(map(math.isnan, numbers)) else None

    @property
    def shown(self) -> tuple[Outcome, ...]:
        """Outcomes with a bound or an estimate."""
        return tuple(
            outcome
            for outcome in self._outcomes
            if not all(map(math.isnan, (self.numbers(outcome)["floor"], self.numbers(outcome)["estimate"])))
        )

    def numbers(self, outcome: Outcome) -> dict[str, float]:
        """Return the numbers of an outcome by column, NaN if undefined."""
        row = self._table.loc[outcome.key].to_dict()
        return {name: float(row[name]) for name in _COLUMNS}

    @property
    def missing_notes(self) -> list[str]:
        """Missing inputs, each with the outcomes that need it."""
        bounded = {outcome.key for outcome in self.shown}
        by_input: dict[tuple[str, str], list[str]] = {}
        for name, need in self.missing.items():
            by_input.setdefault((need, " for the estimate" if name in bounded else ""), []).append(name)
        return [f"missing {need}{purpose}: {', '.join(names)}" for (need, purpose), names in by_input.items()]

    @property
    def basis_notes(self) -> list[str]:
        """Outcomes on another basis: constants are given, or the calibration does not cover them."""
        by_basis: dict[str, list[str]] = {}
        for name, basis in self._table["basis"].items():
            if basis not in ("", _FLOOR, "estimate"):
                by_basis.setdefault(basis, []).append(str(name))
        return [f"{', '.join(names)}: basis {basis}" for basis, names in by_basis.items()]
