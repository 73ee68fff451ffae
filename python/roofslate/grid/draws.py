"""Random draws of inputs: distributions, correlation, Sobol points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate import _core
from roofslate._base.messages import shown, unknown
from roofslate._base.progress import Progress, ProgressWish
from roofslate._base.threads import thread_count
from roofslate.errors import AxisError, InputTypeError, MissingInput, ValueRangeError
from roofslate.grid.quantile_tables import BITS, tabulate
from roofslate.grid.read import changed, read_grid
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import Quantity, lookup
from roofslate.registry.values import expected_of, input_quantity, is_distribution, is_scipy, is_whole, number

if TYPE_CHECKING:
    from roofslate.grid.grid import Grid

__all__ = ["DRAWS", "SAMPLE", "SEED", "Draws", "draws_and_scenario", "is_drawn", "read_draws"]


SAMPLE = "sample"  # the axis of the draws
DRAWS, SEED = 1024, 0  # unless a call gives others


Values = npt.NDArray[np.float64]


_MOST_DRAWS = 2**BITS - 1  # points of an axis


_EDGE = 2.0 ** -(BITS + 1)  # no draw has a probability nearer to 0 or 1


@dataclass(frozen=True)
class Draws:
    """Inputs that are drawn together along one axis."""

    size: int
    ends: dict[str, tuple[float, float]]  # by input: the least and the largest value
    described: dict[str, str]
    sampler: _core.Sampler

    @property
    def names(self) -> list[str]:
        return list(self.ends)

    def values(self, threads: int | None, progress: ProgressWish) -> list[dict[str, Values]]:
        """All draws of each input, once for each time that they are drawn."""
        with Progress(progress) as bar:
            columns = _core.draw(self.sampler, self.size, thread_count(threads), bar.callback)
        inputs = len(self.ends)
        return [dict(zip(self.ends, columns[k : k + inputs], strict=True)) for k in range(0, len(columns), inputs)]

    def grid(self, more: Mapping[str, Any], outputs: Sequence[str]) -> Grid:
        """Read the grid of all inputs, drawn ones with an axis of one representative value."""
        import xarray as xr

        if SAMPLE in read_grid(more).sizes:
            raise AxisError(f"the axis {SAMPLE!r} is the axis of the draws: give yours another name")
        ends = {name: xr.DataArray(list(x), dims=SAMPLE) for name, x in self.ends.items()}
        grid = read_grid(changed(more, ends), outputs)
        for name, (_, high) in self.ends.items():
            bound = lookup(name).bound
            if bound in self.ends and high > self.ends[bound][0]:
                raise ValueRangeError(
                    f"{name} must not exceed {bound}, but is drawn up to {high:g}, and {bound} from "
                    f"{self.ends[bound][0]:g} on"
                )
        grid.sizes[SAMPLE] = self.size
        for name, (low, _) in self.ends.items():
            grid.inputs[name].values = np.broadcast_to(low, self.size)
        grid.release()
        return grid


def read_draws(
    inputs: Mapping[str, Any], n: Any, seed: Any, correlation: Any = None, *, times: int = 1
) -> tuple[Draws, dict[str, Any]]:
    """Read distributions, checked, and the other inputs. `times` each is drawn, independently."""
    size = whole(n, "n", 1, _MOST_DRAWS)
    whole(seed, "seed", 0, None)
    drawn = {name: _distribution(name, given) for name, given in inputs.items() if is_drawn(given)}
    remaining = changed(inputs, {})
    for name in drawn:
        del remaining[name]
    if not drawn:
        raise MissingInput(
            "no input is drawn: give at least one as a range, such as chip_price=('1.5 USD/h', '3 USD/h'), or as a "
            "frozen distribution, such as scipy.stats.norm(loc, scale)"
        )
    tables, ends, described = [], {}, {}
    for name, given in drawn.items():
        table, *reach = _tabulated(input_quantity(name), given)
        tables.append(table)
        ends[name] = (reach[0], reach[1])
        described[name] = _text(given)
    from scipy import special

    factor = _factor(correlation, list(drawn)) if correlation is not None else []
    normal, *_ = tabulate(special.ndtri, lambda p: -special.ndtri(p))
    directions, shifts = _sobol(times * len(drawn), seed)
    return Draws(size, ends, described, _core.Sampler(directions, shifts, times * tables, normal, factor)), remaining


def draws_and_scenario(n: Any, scenario: Any, inputs: dict[str, Any]) -> tuple[Any, Any]:
    """Return the number of draws, by position or keyword, and the scenario."""
    if isinstance(n, Mapping):
        n, scenario = DRAWS, n
    return inputs.pop("n", n), scenario


def is_drawn(given: Any) -> bool:
    """Return True for a distribution, and for a tuple, which is a range."""
    return isinstance(given, tuple) or is_distribution(given)


def _distribution(name: str, given: Any) -> Any:
    """Return a distribution, uniform between the ends of a range."""
    if not isinstance(given, tuple):
        return given
    if name in PRESETS or input_quantity(name).choices:
        raise InputTypeError(f"{name}: got the range {shown(given)}, but choices have no order. Give a list.")
    if len(given) != 2:
        raise InputTypeError(f"{name}: expected a range of two ends, got {shown(given)}")
    low, high = (number(end, input_quantity(name)) for end in given)
    if not low < high:
        raise ValueRangeError(f"{name}: got the range {shown(given)}, expected the lower end first")
    from scipy import stats

    return stats.uniform(loc=low, scale=high - low)


def whole(given: Any, name: str, least: int, most: int | None) -> int:
    """A whole number, checked."""
    if not is_whole(given):
        raise InputTypeError(f"{name} must be a whole number, got {shown(given)}")
    if given < least or (most is not None and given > most):
        raise ValueRangeError(f"{name} must be at least {least}{f' and at most {most:,}' if most else ''}, got {given}")
    return int(given)


def _text(given: Any) -> str:
    """``norm(loc=1, scale=2)``, as it was written."""
    if not is_scipy(given, "rv_frozen"):
        return repr(given)
    words = [f"{x:g}" for x in given.args] + [f"{name}={x:g}" for name, x in given.kwds.items()]
    return f"{given.dist.name}({', '.join(words)})"


def _tabulated(q: Quantity, given: Any) -> tuple[_core.InverseDistribution, float, float]:
    """The inverse of a distribution, checked against the range of its input."""
    if q.choices:
        raise InputTypeError(f"{q.name} is one of {q.range_text}: words are not drawn, give a list of them")
    if is_scipy(given, "rv_generic"):
        raise InputTypeError(
            f"{q.name}: {given.name} is not frozen: give its parameters, "
            f"scipy.stats.{given.name}(..., loc=..., scale=...)"
        )
    if is_scipy(given, "rv_frozen"):
        below, above, beyond = given.ppf, given.isf, given.sf
        sizes = [np.shape(x) for x in (*given.args, *given.kwds.values())]
        steps = is_scipy(given, "rv_discrete_frozen")
    elif is_scipy(given, "UnivariateDistribution"):
        below, above, beyond = given.icdf, given.iccdf, given.ccdf
        sizes, steps = [np.shape(below(0.5))], is_scipy(given, "DiscreteDistribution")
    else:
        raise InputTypeError(
            f"{q.name}: a distribution of several values; each input has a separate distribution, and correlation= "
            "says how they go together"
        )
    if any(sizes):
        raise InputTypeError(f"{q.name}: expected one distribution, its parameters are arrays")
    text = _text(given)
    with np.errstate(all="ignore"):
        if not np.isfinite(below(0.5)):
            raise ValueRangeError(f"{q.name}: {text} has parameters for which it is not defined")
        low, high = (float(f(_EDGE)) for f in (below, above))
        if not (q.low <= low and high <= q.high) or (q.above_low and low == q.low):
            share = float(given.cdf(q.low)) + float(beyond(q.high))
            raise ValueRangeError(
                f"{q.name} must be {expected_of(q)}, but {text} reaches from {low:.4g} to {high:.4g}, beyond "
                f"for {share:.2g} of all draws; take one that stays inside, such as scipy.stats.lognorm, or cut it off "
                "with scipy.stats.truncnorm"
            )
        try:
            return tabulate(below, above, steps=steps)
        except ValueRangeError as error:
            raise ValueRangeError(f"{q.name}: {text} can't be drawn: {error}") from None


def _sobol(inputs: int, seed: int) -> tuple[npt.NDArray[np.uint32], list[int]]:
    """Derive direction numbers and digital shifts from SciPy's scrambled Sobol points."""
    from scipy.stats import qmc

    points = qmc.Sobol(inputs, bits=BITS, seed=np.random.default_rng(seed))

    def next_point() -> npt.NDArray[np.uint32]:
        point: npt.NDArray[np.uint32] = (points.random(1)[0] * 2.0**BITS).astype(np.uint32)
        return point

    shifts = before = next_point()
    directions = np.empty((inputs, BITS), np.uint32)
    for bit in range(BITS):
        points.num_generated = 1 << bit  # here the next point differs from this one by the bit's direction
        point = next_point()
        directions[:, bit] = point ^ before
        before = point
    return directions, shifts.tolist()


def _factor(given: Any, names: Sequence[str]) -> list[list[float]]:
    """Cholesky's factor of a correlation matrix of these inputs, checked."""
    matrix = _matrix(given, names)
    if not np.all(np.isfinite(matrix)):
        raise ValueRangeError("correlation: it holds values that are not finite")
    if not np.array_equal(matrix, matrix.T):
        row, column = np.argwhere(matrix != matrix.T)[0]
        raise ValueRangeError(
            f"correlation must be symmetric, but has {matrix[row, column]:g} for {names[row]} and {names[column]} and "
            f"{matrix[column, row]:g} the other way round"
        )
    if not np.all(np.diagonal(matrix) == 1):
        k = int(np.argmax(np.diagonal(matrix) != 1))
        raise ValueRangeError(f"correlation: {names[k]} with itself must be 1, got {matrix[k, k]:g}")
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(matrix)[0])
        raise ValueRangeError(
            f"correlation must be positive definite: no inputs can have these correlations at once (least eigenvalue "
            f"{least:.2g})"
        ) from None
    return factor.tolist()  # type: ignore[no-any-return]


def _matrix(given: Any, names: Sequence[str]) -> Values:
    """A correlation of all inputs that are drawn, in their order."""
    columns = given.to_dict() if hasattr(given, "to_dict") else given
    if not isinstance(columns, Mapping):
        try:
            matrix = np.array(columns, dtype=float)
        except (TypeError, ValueError):
            raise InputTypeError(
                f"correlation: expected a table of numbers by the names of inputs, got {shown(given)}"
            ) from None
        if matrix.shape != (len(names), len(names)):
            raise AxisError(
                f"correlation: expected a row and a column for each of {', '.join(names)}, got the shape {matrix.shape}"
            )
        return matrix
    matrix = np.eye(len(names))
    at = {name: k for k, name in enumerate(names)}
    stated: dict[tuple[int, int], float] = {}
    for name, entries in columns.items():
        if not isinstance(entries, Mapping):
            raise InputTypeError(f"correlation[{name!r}]: expected a dict by the names of inputs, got {shown(entries)}")
        for other, value in entries.items():
            for key in (name, other):
                if key not in at:
                    raise unknown("input that is drawn", key, names)
            try:
                stated[at[other], at[name]] = float(value)
            except (TypeError, ValueError):
                raise InputTypeError(
                    f"correlation[{name!r}][{other!r}]: expected a number, got {shown(value)}"
                ) from None
    for (row, column), value in stated.items():
        matrix[row, column] = value
        if (column, row) not in stated:
            matrix[column, row] = value
    return matrix
