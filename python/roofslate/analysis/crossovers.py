"""`crossovers`: the crossings and optima that matter, each by its closed form and by the solver."""

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
_AGREED = 1e-9  # the closed form and the solver speak of the same crossing
Row = dict[str, Any]


def crossovers(scenario: Mapping[str, Any] | None = None, /, **inputs: Any) -> pd.DataFrame:
    """The crossings and optima that matter, by closed form and solved, in base units.

    Parameters
    ----------
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword wins over its member.
    **inputs
        As for `value`: a scenario without axes. What a crossing seeks may be given for the sake of the others.
        ``batch_interval`` is the latency limit. With ``tier_...`` and ``slower_tier_...`` the last rows are about these
        tiers of memory, otherwise about HBM and presets of `storage`.

    Returns
    -------
    pandas.DataFrame
        A row for each: ``name``; ``question`` in words; ``closed_form``, the value of ``quantity`` (inf: never; NaN
        where there is no closed form); ``solved``, the value of ``unknown`` at which ``condition`` holds; ``unit`` of
        both; ``formula``; and ``note``: that it is never or always so, which input is missing, or where the closed form
        differs from the solved value, what it takes as given or the choice for which it holds.

    Raises
    ------
    AxisError
        Where an input is an axis: `solve` takes grids.
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
            raise AxisError(f"crossovers takes one scenario, but {i.origin or name} is an axis; solve takes grids")
    return pd.DataFrame([_row(entry, inputs) for entry in _entries(inputs)])


@functools.cache
def _table() -> tuple[Row, ...]:
    return tuple(read_data(Path(__file__).with_name("data") / "crossovers.toml")["crossover"])


def _entries(inputs: Mapping[str, Any]) -> Iterator[Row]:
    """The crossings, those of tiers once for each that there is."""
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
    """Capacity, bandwidth and price of a device; those of HBM are the chip's, as far as they are known."""
    if tier != "HBM":
        return dict(storage[tier].values)
    found = {}
    for name, source in _CHIP.items():
        with contextlib.suppress(MissingInput):
            found[name] = value(source, Settled(inputs))
    return found


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
        found = solve(name, entry["condition"], Settled({n: x for n, x in inputs.items() if n != name}), progress=False)
    except MissingInput as error:
        notes.append(_first_part(error))
    except IneffectiveInput as error:
        if repr(name) not in str(error).partition(";")[0]:  # of an input that was given
            raise
        notes.append(str(error))
    else:
        solved = found.item()
        notes += [found["reason"].item()] if math.isnan(solved) else []
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
    """The input that is missing, without the chain that needs it."""
    return str(error).partition("; needed by")[0]


def _differences(quantity: str, closed: float, unknown: str, condition: str, inputs: Mapping[str, Any]) -> list[str]:
    """What the closed form takes as given where it might be computed, or the choice for which it holds."""
    (c,) = parse_conditions(condition, allow_equality=True)
    sides = [*c.left.quantities, *c.right.quantities]
    numbers = {n: float(i.values) for n, i in read_grid(inputs).inputs.items()}
    taken = used([quantity], numbers)
    own = {n: x for n, x in numbers.items() if n != unknown}
    others = used(sides, own, [unknown])
    stated = [n for n in taken if n not in others and (lookup(n).computed or lookup(n).fallback)]
    if stated:
        return [f"the closed form takes {' and '.join(stated)} as given"]
    rest = {n: x for n, x in inputs.items() if n != unknown}
    beyond = frozenset().union(*map(ancestors, sides)) - ancestors(quantity)
    choices = [lookup(n) for n in sorted(beyond) if lookup(n).choices and not lookup(n).computed]
    for choice, word in ((q, word) for q in choices for word in q.choices):
        with contextlib.suppress(MissingInput, IneffectiveInput):
            found = solve(unknown, condition, Settled({**rest, choice.name: word}), progress=False)
            if math.isclose(closed, found.item(), rel_tol=_AGREED):
                return [f"the closed form holds for {choice.name}={word!r}"]
    return []
