"""`crossovers`: relevant crossings and optima, by closed forms and by the solver."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate._base.toml import read_data
from roofslate.analysis.solve import solve
from roofslate.errors import AxisError, IneffectiveInput, MissingInput
from roofslate.evaluation.value import value
from roofslate.grid.checks import used
from roofslate.grid.read import Settled, read_grid, with_scenario
from roofslate.presets.catalog import storage
from roofslate.registry.conditions import parse_conditions
from roofslate.registry.registry import ancestors, lookup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

__all__ = ["crossovers"]

_CHIP = {"tier_capacity": "hbm_capacity", "tier_bandwidth": "hbm_bandwidth", "tier_price": "chip_price"}
_AGREED = 1e-9  # relative difference within which both results are the same crossing
Row = dict[str, Any]


def crossovers(scenario: Mapping[str, Any] | None = None, /, **inputs: Any) -> pd.DataFrame:
    """Tabulate relevant crossings and optima, by closed form and solved, in base units.

    Parameters
    ----------
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    **inputs
        As for `value`: a scenario without axes. You can give the unknown of a crossing for use in the other ones.
        ``batch_interval`` is the latency limit. With ``tier_...`` and ``slower_tier_...`` the last rows compare these
        memory tiers, otherwise HBM and presets of `storage`.

    Returns
    -------
    pandas.DataFrame
        A row for each crossing. ``name``. ``question`` in words. ``closed_form``, the value of ``quantity`` (inf for
        never, NaN without a closed form). ``solved``, the value of ``unknown`` at which ``condition`` becomes true.
        ``unit`` of both. ``formula``. ``note``: that the condition is never or always true, the missing input, or, if
        the values differ, the inputs the closed form assumes, or the choice it requires.

    Raises
    ------
    AxisError
        If an input is an axis. `solve` accepts grids.
    UnknownName, UnitError, ValueRangeError, InputTypeError, IneffectiveInput
        As for `evaluate`.

    Examples
    --------
    >>> import roofslate as rs
    >>> table = rs.crossovers(model="DeepSeek-V3", hardware="GB200 NVL72", context_length="8k").set_index("name")
    >>> table.loc["balance batch", ["closed_form", "solved"]].round(3).tolist()
    [5725.387, 5717.48]
    >>> table.loc["balance batch", "note"]
    "the closed form holds for expert_reads='all'"
    >>> table.loc["balance batch at the context", "note"]
    'never'
    """
    inputs = with_scenario(scenario, inputs)
    import pandas as pd

    grid = read_grid(inputs)
    for name, i in grid.inputs.items():
        if i.dims:
            raise AxisError(
                f"crossovers() expects one scenario, but {i.origin or name} is an axis. Use rs.solve() for grids."
            )
    return pd.DataFrame([_row(entry, inputs) for entry in _entries(inputs)])


@functools.cache
def _table() -> tuple[Row, ...]:
    return tuple(read_data(Path(__file__).with_name("data") / "crossovers.toml")["crossover"])


def _entries(inputs: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the crossings, for memory tiers once per available tier."""
    given = any(name.startswith(("tier_", "slower_tier_")) for name in inputs)
    for entry in _table():
        if "tiers" not in entry or given:
            yield entry
        elif entry["closed_form"] == "tier_switch_time":
            for tier, slower in itertools.pairwise(entry["tiers"]):
                of_slower = {f"slower_{name}": x for name, x in _device(slower, inputs).items()}
                yield {**entry, "name": f"{tier} or {slower}", "inputs": {**_device(tier, inputs), **of_slower}}
        else:
            for tier in entry["tiers"]:
                yield {**entry, "name": f"{tier} or recompute", "inputs": _device(tier, inputs)}


def _device(tier: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return capacity, bandwidth and price of a device, for HBM from the chip, if known."""
    if tier != "HBM":
        return dict(storage[tier].values)
    device_inputs = {}
    for name, source in _CHIP.items():
        with contextlib.suppress(MissingInput):
            device_inputs[name] = value(source, Settled(inputs))
    return device_inputs


def _row(entry: Row, scenario: Mapping[str, Any]) -> Row:
    name, quantity = entry["unknown"], entry.get("closed_form", "")
    inputs = {**scenario, **entry.get("inputs", {})}
    notes = []
    closed, solved = math.nan, math.nan
    if quantity:
        try:
            closed = float(value(quantity, Settled(inputs)))
        except MissingInput as error:
            notes.append(_first_part(error))
    try:
        solution = solve(
            name, entry["condition"], Settled({n: x for n, x in inputs.items() if n != name}), progress=False
        )
    except MissingInput as error:
        notes.append(_first_part(error))
    except IneffectiveInput as error:
        if repr(name) not in str(error).partition(";")[0]:  # the error concerns another input
            raise
        notes.append(str(error))
    else:
        solved = solution.item()
        notes += [solution["reason"].item()] if math.isnan(solved) else []
    if math.isinf(closed) and not {"never", "always"} & set(notes):
        notes.append("never")
    if math.isfinite(closed) and math.isfinite(solved) and not math.isclose(closed, solved, rel_tol=_AGREED):
        notes += _differences(quantity, closed, name, entry["condition"], inputs)
    return {
        "name": entry["name"],
        "question": entry["question"],
        "closed_form": closed,
        "solved": solved,
        "unit": lookup(name).unit,
        "formula": lookup(quantity).formula if quantity else "",
        "quantity": quantity,
        "unknown": name,
        "condition": entry["condition"],
        "note": "; ".join(dict.fromkeys(notes)),
    }


def _first_part(error: MissingInput) -> str:
    """Return the missing input, without the chain of quantities that need it."""
    return str(error).partition("; needed by")[0]


def _differences(quantity: str, closed: float, unknown: str, condition: str, inputs: Mapping[str, Any]) -> list[str]:
    """Explain a difference by the inputs the closed form assumes, or the choice it requires."""
    (c,) = parse_conditions(condition, allow_equality=True)
    sides = [*c.lhs.quantities, *c.rhs.quantities]
    numbers = {n: float(i.values) for n, i in read_grid(inputs).inputs.items()}
    closed_inputs = used([quantity], numbers)
    fixed_numbers = {n: x for n, x in numbers.items() if n != unknown}
    solved_inputs = used(sides, fixed_numbers, [unknown])
    stated = [n for n in closed_inputs if n not in solved_inputs and (lookup(n).computed or lookup(n).fallback)]
    if stated:
        return [f"the closed form takes {' and '.join(stated)} as given"]
    fixed_inputs = {n: x for n, x in inputs.items() if n != unknown}
    beyond = frozenset().union(*map(ancestors, sides)) - ancestors(quantity)
    choices = [lookup(n) for n in sorted(beyond) if lookup(n).choices and not lookup(n).computed]
    for choice, word in ((q, word) for q in choices for word in q.choices):
        with contextlib.suppress(MissingInput, IneffectiveInput):
            solution = solve(unknown, condition, Settled({**fixed_inputs, choice.name: word}), progress=False)
            if math.isclose(closed, solution.item(), rel_tol=_AGREED):
                return [f"the closed form holds for {choice.name}={word!r}"]
    return []
