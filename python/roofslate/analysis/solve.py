"""`solve`: the value of one input at which a condition becomes true, by grid point."""

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
from roofslate.grid.label import UnitsOfOutputs, conversions, data_array, provenance, variable
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

REASONS = ("", "never", "always", "undefined", "undecided", "many")  # in the engine's order
_PLACES = ("smallest", "largest", "all")
_ROOT = "root"  # axis of solutions
_RUNNING = "running_sequences"  # limited by memory
_SMALL = 1e-75  # placeholder for the unknown, until the engine replaces it


def solve(
    unknown: str,
    condition: str,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    at: Literal["smallest", "largest", "all"] = "smallest",
    integer: bool = False,
    units: UnitsOfOutputs | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Any,
) -> xr.DataArray:
    """Solve a condition for one input, in base units unless `units` is given.

    For an equality: the value at which both sides are equal. For an inequality: the boundary of the valid set, on its
    valid side.

    Parameters
    ----------
    unknown : str
        Quantity to solve for: an input, or a computed quantity, which then becomes an input. It replaces a preset's
        value.
    condition : str
        One comparison of quantities: ``"kv_fetch_time == compute_time"``, ``"cost_per_token == 0.5 USD/Mtoken"``,
        ``"pass_time <= 50 ms"``.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    at : {"smallest", "largest", "all"}
        Solution to return if there are several.
    integer : bool, optional
        Whether to solve in integers: for an equality the integer solutions, for an inequality the first and the last of
        each run of valid integers. By default counts are real numbers, as in the formulas.
    units : str or dict of str, optional
        Unit of the result.
    threads, progress
        As for `evaluate`.
    **inputs
        As for `evaluate`, without the unknown. Arrays of dask are loaded.

    Returns
    -------
    xarray.DataArray
        Named after the unknown, on the axes the solution depends on. With ``at="all"`` a last axis ``root`` has the
        length of the largest number of solutions. NaN if there is none. Then the coordinate ``reason``, otherwise
        empty, is ``"never"``, ``"always"`` or ``"undefined"``, which are proved, or ``"undecided: the search gave up
        between 1e-75 and 0.2"``. With ``at="all"`` known solutions are returned with ``"undecided"``, and the first
        hundreds of them with ``"many"``. If fewer sequences fit in memory than clients ask for, ``reason`` has both:
        ``"never: memory holds 17.7 of 256 sequences"``.

    Raises
    ------
    ConditionError, AxisError, MissingInput, UnknownName, UnitError, ValueRangeError, InputTypeError, IneffectiveInput
        Before any work is done; `OutOfMemory` too.

    Notes
    -----
    One search covers the valid range of the unknown, limited by inputs that bound it. ``"smallest"``, ``"largest"`` and
    ``"all"`` are views of its result. An open or infinite end is replaced by a magnitude of 1e-75 or 1e75. Zero is
    included if the range has it. Guaranteed bounds, slopes and rounding bounds prove that an interval contains no
    solution, or at most one. Newton's method, safeguarded by bisection, then converges to a few units in the last
    place. An interval without a proof is divided. After 32,768 intervals the search gives up, and reports the rest. If
    more than 160 operations depend on the unknown, the number falls with their square, to 839 for 1,000. A
    single point gives the same bits as in a grid, on any number of threads. Only an axis of choices makes the formula
    longer, which may leave a point undecided.

    Latencies, running sequences and the waiting fraction are assumed to rise with ``arrival_rate`` and to fall with
    ``replicas``, as bounds are too wide for a proof. If one of them is compared with a constant, and its formula has
    the opposite direction on an interval, as near a load of 1, the result is any one of the values where the condition
    changes, whatever `at` is.

    Both sides are equal if they agree within rounding. If they agree on an interval, as ``pass_time`` and
    ``compute_time`` at all large batches, ``"smallest"`` returns its lower end, ``"largest"`` its upper end, and
    ``"all"`` both. The interval may reach an open end at 0 or infinity. If rounding exceeds the difference of the
    sides, neighboring values decide an inequality. At an end, values agree to 1e-12, also if terms cancel beyond it.
    Jumps, poles, overflow and underflow are no solutions of an equality, but boundaries of an inequality.

    Solutions within a relative distance of 1e-7 count as one, and two of them may be missed.

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
    factor, unit = conversions([q.name], units).get(q.name, (1.0, q.unit))
    c = _one_comparison(condition)
    grid = _grid(q, c, inputs, at)
    with Progress(progress) as bar:
        try:
            comparison = list(c.lhs.steps), c.relation, list(c.rhs.steps)
            values, reasons, axes, unsearched = grid.core.solve(
                q.name, comparison, at, integer, thread_count(threads), bar.callback
            )
        except MissingInput as error:
            raise explain_missing(error, grid) from None
    dims = tuple(list(grid.sizes)[k] for k in axes)
    shape = tuple(grid.sizes[dim] for dim in dims)
    values = values.reshape((*shape, -1) if at == "all" else shape)
    if factor != 1.0:
        values = values / factor
    compared = [*c.lhs.quantities, *c.rhs.quantities]
    solved = variable(q.name, values, (*dims, _ROOT) if at == "all" else dims, unit, basis(compared, grid))
    words = _words(reasons.reshape(shape))
    if unsearched.size:
        words = _with_unsearched(words, unsearched.reshape((*shape, 2)) / factor, unit)
    if reasons.any():
        words = _with_memory(words, dims, grid, q.name, compared)
    reason = xr.Variable(dims, words)
    return data_array(
        q.name, solved, grid, more_coords={"reason": reason}, attrs={"condition": c.text, **provenance(grid)}
    )


def _unknown(name: str, inputs: Mapping[str, Any]) -> Quantity:
    """Check the unknown, and return its quantity."""
    if not isinstance(name, str):
        raise InputTypeError(f"unknown: expected the name of one quantity, got {shown(name)}")
    if name in PRESETS:
        raise UnknownName(f"{name!r} is an input that names a preset, not a quantity")
    q = input_quantity(name)
    if q.choices:
        raise InputTypeError(
            f"{name} is one of {q.range_text}, but solve() returns numbers. Evaluate each choice instead."
        )
    if name in inputs:
        raise InputTypeError(f"{name} is the unknown, but was given as {shown(inputs[name])}. Leave it out.")
    return q


def _one_comparison(condition: str) -> Condition:
    """Parse a condition with one comparison between numbers."""
    if not isinstance(condition, str):
        raise InputTypeError(f"expected one condition such as 'pass_time <= 50 ms', got {shown(condition)}")
    parsed = parse_conditions(condition, allow_equality=True)
    if len(parsed) > 1:
        raise ConditionError(f"condition {shown(condition)}: expected one comparison, got {len(parsed)}")
    (c,) = parsed
    choices = [n for n in (*c.lhs.quantities, *c.rhs.quantities) if lookup(n).choices]
    if choices:
        raise ConditionError(f"condition {shown(condition)}: {choices[0]} is a choice, expected numbers")
    if c.relation == "!=":
        raise ConditionError(f"condition {shown(condition)}: an inequation has no boundary. Use ==, <, <=, > or >=.")
    return c


def _grid(q: Quantity, c: Condition, inputs: Mapping[str, Any], at: str) -> Grid:
    """Read all inputs, with the unknown as the last axis and a placeholder value."""
    for name, given in inputs.items():
        if q.name in map(str, getattr(given, "dims", ())) or q.name == getattr(
            getattr(given, "index", None), "name", None
        ):
            raise AxisError(f"{name}: its axis {q.name!r} has the name of the unknown. Rename the axis.")
    stand_in = np.array([_SMALL if q.above_low else q.low])
    grid = read_grid(changed(inputs, {q.name: stand_in}), [*c.lhs.quantities, *c.rhs.quantities], sought=q.name)
    for dim in grid.sizes:
        if dim == "reason" or (dim == _ROOT and at == "all"):
            raise AxisError(f"The axis {dim!r} has the name of a variable of the result. Rename the axis.")
    return grid


def _with_memory(
    words: npt.NDArray[np.str_], dims: Sequence[str], grid: Grid, unknown: str, compared: Sequence[str]
) -> npt.NDArray[np.str_]:
    """Add the memory limit to reasons, if clients ask for more sequences than fit in memory."""
    related = any(name == _RUNNING or grid.registry.reaches(_RUNNING, name) for name in compared)
    if not related or not {"batch_size", "admission"}.isdisjoint((unknown, *grid.inputs)):
        return words
    known_inputs = Grid({name: i for name, i in grid.inputs.items() if name != unknown}, grid.sizes)
    of_clients = [] if unknown == "concurrency" else ["concurrency"]
    try:
        results, _ = run(known_inputs, ["memory_limited_sequences", *of_clients], progress=False)
    except MissingInput:  # the memory limit depends on the unknown
        return words
    if any(set(result_dims) - set(dims) for _, result_dims in results):
        return words
    most, *concurrency = (np.broadcast_to(spread(x, result_dims, dims), words.shape) for x, result_dims in results)
    texts = np.array(words, dtype=object)
    for at in np.argwhere(words != ""):
        index = tuple(at)
        if not concurrency:
            texts[index] += f": memory holds {most[index]:.3g} sequences"
        elif most[index] < concurrency[0][index]:
            texts[index] += f": memory holds {most[index]:.3g} of {concurrency[0][index]:g} sequences"
    return texts.astype(str)


def _with_unsearched(
    words: npt.NDArray[np.str_], unsearched: npt.NDArray[np.float64], unit: str
) -> npt.NDArray[np.str_]:
    """Add the unsearched interval of the unknown to reasons."""
    texts = np.array(words, dtype=object)
    for word, ended in (("undecided", "the search gave up"), ("many", "the first are given, the search ended")):
        for at in np.argwhere(words == word):
            index = tuple(at)
            low, high = unsearched[index]
            texts[index] += f": {ended} between {low:.6g} and {high:.6g} {unit}".removesuffix(" 1")
    return texts.astype(str)


def _words(reasons: npt.NDArray[np.uint8]) -> npt.NDArray[np.str_]:
    words = np.array(REASONS)
    return words[reasons] if reasons.any() else np.broadcast_to(words[0], reasons.shape)  # a view, without a copy
