"""`solve`: the value of one input that makes a condition between quantities true, for each point of a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from roofslate._base.messages import shown
from roofslate._base.progress import Progress, ProgressWish
from roofslate._base.threads import thread_count
from roofslate.errors import AxisError, ConditionError, InputTypeError, MissingInput, UnknownName
from roofslate.grid.basis import basis
from roofslate.grid.checks import explain_missing
from roofslate.grid.grid import Grid, spread
from roofslate.grid.label import conversions, data_array, provenance, variable
from roofslate.grid.read import changed, read_grid, with_scenario
from roofslate.grid.run import run
from roofslate.presets.lookup import PRESETS
from roofslate.registry.conditions import Condition, parse_conditions
from roofslate.registry.registry import Quantity, lookup
from roofslate.registry.values import input_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    import xarray as xr

__all__ = ["REASONS", "solve"]

REASONS = ("", "never", "always", "undefined", "undecided", "many")  # as the engine counts them
_PLACES = ("smallest", "largest", "all")
_ROOT = "root"  # the axis of several solutions
_RUNNING = "running_sequences"  # at most as many as memory holds
_SMALL = 1e-75  # stands for the unknown until the engine takes over


def solve(
    unknown: str,
    condition: str,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    at: Literal["smallest", "largest", "all"] = "smallest",
    integer: bool = False,
    units: str | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Any,
) -> xr.DataArray:
    """The value of one input that makes a condition true, in base units unless `units` says otherwise.

    Of an equality the value at which both sides agree. Of an inequality the boundary of where it holds: of the values
    next to it the one at which the condition still does.

    Parameters
    ----------
    unknown : str
        The quantity that is sought: an input, or a computed one, which then is supplied. A preset's value of it gives
        way.
    condition : str
        One comparison of quantities: ``"kv_fetch_time == compute_time"``, ``"cost_per_token == 0.5 USD/Mtoken"``,
        ``"pass_time <= 50 ms"``.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword wins over its member.
    at : {"smallest", "largest", "all"}
        Which solution, where there are several.
    integer : bool, optional
        Ask for whole numbers: of an equality those that are solutions, of an inequality the first and the last of each
        run of whole numbers at which the condition holds. Inputs that count things are not whole by themselves:
        formulas take any number.
    units : str, optional
        Unit of the result.
    threads, progress
        As for `evaluate`.
    **inputs
        As for `evaluate`, without the unknown. Arrays of dask are loaded.

    Returns
    -------
    xarray.DataArray
        Named after the unknown, on the axes that the answer depends on; with ``at="all"`` and a last axis ``root``, as
        long as the most solutions of a point. NaN if there is none: the coordinate ``reason`` says why, ``"never"``,
        ``"always"`` or ``"undefined"``, which are proved, or ``"undecided: the search gave up between 1e-75 and 0.2"``.
        It is empty elsewhere. With ``at="all"`` solutions that are known stay beside ``"undecided"``, and the first
        hundreds beside ``"many"``, where more follow. If memory holds
        fewer sequences than clients ask, ``reason`` has both: ``"never: memory holds 17.7 of 256 sequences"``.

    Raises
    ------
    ConditionError, AxisError, MissingInput, UnknownName, UnitError, ValueRangeError, InputTypeError, IneffectiveInput
        Before any work is done; `OutOfMemory` too.

    Notes
    -----
    One search covers the valid range of the unknown, within the inputs that bound it. ``"smallest"``, ``"largest"``
    and ``"all"`` are views of it. An end that is open or infinite stands for a magnitude of 1e-75 or 1e75; zero is
    looked at if the range has it. Guaranteed bounds, slopes, and bounds of rounding prove of each stretch that no
    solution is in it, or one at most. Steps of Newton's method, inside a bracket that halves where they fail, close
    in on each solution to a few units in the last place. A stretch of which nothing is proved is divided. After
    32,768 stretches the search gives up, and names what is left. A point alone gives the same bits as within a
    grid, on any number of threads.

    Latencies, the sequences that run and the share that waits are taken to rise with ``arrival_rate`` and to fall with
    ``replicas``, since bounds are too wide to prove it: where one of them is compared with what does not vary, and its
    form has the other direction on a stretch, as near a load of 1, the answer is one of the places where the condition
    turns, whatever `at` asks for.

    Both sides are equal if they agree within rounding. If they do on a whole stretch, as ``pass_time`` and
    ``compute_time`` on all large batches, ``"smallest"`` gives its lower end, ``"largest"`` its upper end, ``"all"``
    both; of a stretch that reaches an open end of the range that is 0 or infinity. Where rounding is larger than the
    distance of the sides, the values beside that tell whether an inequality holds. At an end the values agree to 1e-12,
    also if terms cancel beyond it. Jumps, poles, overflow, and underflow are no solutions of an equality; an inequality
    has its boundary there.

    Solutions nearer to one another than a part in 10^7 count as one. Two of them may be missed.

    Examples
    --------
    >>> import roofslate as rs
    >>> cell = dict(model="DeepSeek-V3", hardware="GB200 NVL72")
    >>> batch = rs.solve("batch_size", "weight_fetch_time == compute_time", expert_reads="all", **cell)
    >>> round(batch.item(), 3), round(rs.value("balance_batch", **cell), 3)
    (5725.387, 5725.387)
    >>> longest = rs.solve("context_length", "pass_time <= 20 ms", units="ktoken", batch_size=[1, 1000, 10**6], **cell)
    >>> longest["reason"].values.tolist()
    ['', '', 'never']
    """
    inputs = with_scenario(scenario, inputs)
    import xarray as xr

    if at not in _PLACES:
        raise InputTypeError(f"at must be 'smallest', 'largest' or 'all', got {shown(at)}")
    if not isinstance(integer, bool):
        raise InputTypeError(f"integer must be True or False, got {shown(integer)}")
    q = _unknown(unknown, inputs)
    factor, unit = conversions([q.name], {q.name: units} if units is not None else None).get(q.name, (1.0, q.unit))
    c = _one_comparison(condition)
    grid = _grid(q, c, inputs, at)
    with Progress(progress) as bar:
        try:
            comparison = list(c.left.steps), c.relation, list(c.right.steps)
            values, reasons, axes, left = grid.core.solve(
                q.name, comparison, at, integer, thread_count(threads), bar.callback
            )
        except MissingInput as error:
            raise explain_missing(error, grid) from None
    dims = tuple(list(grid.sizes)[k] for k in axes)
    shape = tuple(grid.sizes[dim] for dim in dims)
    values = values.reshape((*shape, -1) if at == "all" else shape)
    if factor != 1.0:
        values = values / factor
    compared = [*c.left.quantities, *c.right.quantities]
    solved = variable(q.name, values, (*dims, _ROOT) if at == "all" else dims, unit, basis(compared, grid))
    words = _words(reasons.reshape(shape))
    if left.size:
        words = _with_left(words, left.reshape((*shape, 2)) / factor, unit)
    if reasons.any():
        words = _with_memory(words, dims, grid, q.name, compared)
    reason = xr.Variable(dims, words)
    return data_array(q.name, solved, grid, beside={"reason": reason}, attrs={"condition": c.text, **provenance(grid)})


def _unknown(name: str, inputs: Mapping[str, Any]) -> Quantity:
    """The quantity that is sought."""
    if not isinstance(name, str):
        raise InputTypeError(f"expected the name of the one quantity that is sought, got {shown(name)}")
    if name in PRESETS:
        raise UnknownName(f"{name!r} is an input that names a preset, not a quantity")
    q = input_quantity(name)
    if q.choices:
        raise InputTypeError(f"{name} is one of {q.range_text}: solve looks for a number")
    if name in inputs:
        raise InputTypeError(f"{name} is what is sought, so it can't be given too: got {shown(inputs[name])}")
    return q


def _one_comparison(condition: str) -> Condition:
    """A condition of one comparison between numbers."""
    if not isinstance(condition, str):
        raise InputTypeError(f"expected one condition such as 'pass_time <= 50 ms', got {shown(condition)}")
    found = parse_conditions(condition, allow_equality=True)
    if len(found) > 1:
        raise ConditionError(f"condition {shown(condition)}: solve takes one comparison, got {len(found)}")
    (c,) = found
    choices = [n for n in (*c.left.quantities, *c.right.quantities) if lookup(n).choices]
    if choices:
        raise ConditionError(f"condition {shown(condition)}: {choices[0]} is a choice; solve compares numbers")
    if c.relation == "!=":
        raise ConditionError(
            f"condition {shown(condition)}: what is unequal has no boundary; ask by ==, <, <=, > or >="
        )
    return c


def _grid(q: Quantity, c: Condition, inputs: Mapping[str, Any], at: str) -> Grid:
    """All inputs, the unknown as the last axis with a value that stands for all."""
    for name, given in inputs.items():
        if q.name in map(str, getattr(given, "dims", ())) or q.name == getattr(
            getattr(given, "index", None), "name", None
        ):
            raise AxisError(f"{name}: its axis {q.name!r} is called like the unknown; give the axis another name")
    stand_in = np.array([_SMALL if q.above_low else q.low])
    grid = read_grid(changed(inputs, {q.name: stand_in}), [*c.left.quantities, *c.right.quantities], sought=q.name)
    for dim in grid.sizes:
        if dim == "reason" or (dim == _ROOT and at == "all"):
            raise AxisError(f"an axis and a part of the result are both called {dim!r}: give the axis another name")
    return grid


def _with_memory(
    words: npt.NDArray[np.str_], dims: Sequence[str], grid: Grid, unknown: str, compared: Sequence[str]
) -> npt.NDArray[np.str_]:
    """Reasons with the room for sequences, where fewer are answered than clients ask."""
    related = any(name == _RUNNING or grid.registry.reaches(_RUNNING, name) for name in compared)
    if not related or not {"batch_size", "admission"}.isdisjoint((unknown, *grid.inputs)):
        return words
    others = Grid({name: i for name, i in grid.inputs.items() if name != unknown}, grid.sizes)
    of_clients = [] if unknown == "concurrency" else ["concurrency"]
    try:
        results, _ = run(others, ["memory_limited_sequences", *of_clients], progress=False)
    except MissingInput:  # the room depends on the unknown
        return words
    if any(set(own) - set(dims) for _, own in results):
        return words
    most, *concurrency = (np.broadcast_to(spread(x, own, dims), words.shape) for x, own in results)
    told = np.array(words, dtype=object)
    for at in np.argwhere(words != ""):
        place = tuple(at)
        if not concurrency:
            told[place] += f": memory holds {most[place]:.3g} sequences"
        elif most[place] < concurrency[0][place]:
            told[place] += f": memory holds {most[place]:.3g} of {concurrency[0][place]:g} sequences"
    return told.astype(str)


def _with_left(words: npt.NDArray[np.str_], left: npt.NDArray[np.float64], unit: str) -> npt.NDArray[np.str_]:
    """Reasons with the stretch of the unknown in which the search gave up."""
    texts = np.array(words, dtype=object)
    for word, ended in (("undecided", "the search gave up"), ("many", "the first are given, the search ended")):
        for at in np.argwhere(words == word):
            place = tuple(at)
            low, high = left[place]
            texts[place] += f": {ended} between {low:.6g} and {high:.6g} {unit}".removesuffix(" 1")
    return texts.astype(str)


def _words(reasons: npt.NDArray[np.uint8]) -> npt.NDArray[np.str_]:
    words = np.array(REASONS)
    return words[reasons] if reasons.any() else np.broadcast_to(words[0], reasons.shape)  # which takes no memory
