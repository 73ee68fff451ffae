"""Independent evaluation of quantities with NumPy, step by step, without the engine.

The package reads units, presets, and axes. Their results are computed here. The engine gives the same bits if a formula
takes no exp, log, power or routine, and nearly the same numbers otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from roofslate import _core
from roofslate.grid.read import Settled, read_grid
from roofslate.registry.registry import entries

from support.lazy import Lazy

special = Lazy("scipy.special")

Values = npt.NDArray[Any]  # of complex numbers while something is differentiated

NEAR = 1e-9  # of a number that is not exact
TINY = 1e-36  # tails of probabilities that one of both rounds to 0
INTEGRALS = {"expected_longest", "expected_longest_rest"}  # by other nodes
# Differences of nearly equal numbers around 1: that much of 1.
CANCELLING = {"optimal_lifetime_saving", "emitted_length", "chips_contacted", "dram_hit_rate", "ssd_hit_rate"}
STEP = 1e-100  # imaginary, relative to a number that something is differentiated by: no rounding shows


class MissingError(KeyError):
    """An input that a formula takes was not given."""


# ---------------------------------------------------------------------------------------------------------- operations


def maximum(a: Values, b: Values) -> Values:
    return np.where((np.real(a) > np.real(b)) | np.isnan(a), a, b)


def minimum(a: Values, b: Values) -> Values:
    return np.where((np.real(a) < np.real(b)) | np.isnan(a), a, b)


def divide(a: Values, b: Values) -> Values:
    """Divide real parts like doubles: the quotient of equal complex numbers is 1."""
    if not (np.iscomplexobj(a) or np.iscomplexobj(b)):
        return np.asarray(np.divide(a, b))
    quotient = np.asarray(np.real(a) / np.real(b), complex)
    quotient.imag = (np.imag(a) - quotient.real * np.imag(b)) / np.real(b)
    return quotient


def power(a: Values, b: Values) -> Values:
    return np.where((np.real(a) < 0) & (np.real(b) != 0), np.nan, np.power(a, b))


def erlang_c(slots: Values, use: Values) -> Values:
    """Return Erlang C by Erlang's B, 1 / B = e^a a^-c Gamma(c + 1, a).

    Slots c need not be whole.
    """
    load = slots * use
    of_b = special.gammaln(slots + 1) + load - slots * np.log(load) + np.log(special.gammaincc(slots + 1, load))
    waits = 1 / (use + (1 - use) * np.exp(of_b))
    waits = np.where(use >= 1, 1.0, np.where((use <= 0) | np.isinf(slots), 0.0, waits))
    return np.where((slots >= 1) & ~np.isnan(use), waits, np.nan)


def overtraining_optimum(exponent: Values, ratio: Values) -> Values:
    """Return the root x of x ** exponent == 1 + ratio / x, by bisection.

    One side rises and the other falls.
    """
    shape = np.broadcast_shapes(np.shape(exponent), np.shape(ratio))
    low, high = np.zeros(shape), np.full(shape, 1500.0)  # of the logarithm
    for _ in range(200):
        middle = (low + high) / 2
        above = exponent * middle >= np.log1p(ratio * np.exp(-middle))
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    root = np.where(np.isinf(ratio), ratio, np.where(np.isinf(exponent), 1.0, np.exp((low + high) / 2)))
    return np.where((exponent > 0) & (ratio >= 0), root, np.nan)


def with_slope(function: Any, slope: Any) -> Any:
    """Of one complex number with a small imaginary part, which a derivative is read off."""

    def of(z: Values) -> Values:
        x = np.real(z)
        return function(x) + 1j * np.imag(z) * slope(x) if np.iscomplexobj(z) else function(x)

    return of


def density(z: Values) -> Values:
    return np.exp(-z * z / 2) / np.sqrt(2 * np.pi)


normal_share = with_slope(lambda z: special.ndtr(z), density)
normal_quantile = with_slope(lambda share: special.ndtri(share), lambda share: 1 / density(special.ndtri(share)))


def arrival_wait(load: Values, variation: Values) -> Values:
    """Return the root s < 1 of s = (1 + c (1 - s) / load) ** (-1 / c), by iteration."""
    load, variation = np.broadcast_arrays(np.asarray(load), np.asarray(variation))
    share = np.zeros_like(load)
    steady = np.maximum(np.real(variation), 1e-9)
    inside = (np.real(load) > 0) & (np.real(load) < 1)
    safe = np.where(inside, load, 0.5)
    for _ in range(200):  # Newton's
        base = 1 + steady * (1 - share) / safe
        result = base ** (-1 / steady)
        share = share + (result - share) / (1 - result / (base * safe))
    ends = np.where(np.real(load) == 0, 0.0, np.where(np.real(load) >= 1, 1.0, np.nan))
    share = np.where(np.real(variation) == 1, load, share)
    return np.where(np.real(variation) >= 0, np.where(inside, share, ends), np.nan)


def stirling_error(x: Values) -> Values:
    return 1 / 12 / (x + 1 / 30 / (x + 53 / 210 / (x + 195 / 371 / x)))


def negative_binomial_share(n: Values, shape: Values, odds: Values) -> Values:
    """By the logarithm, without large terms that cancel.

    The gamma function is the engine's own approximation.
    """
    both = n + shape
    errors = stirling_error(both) - stirling_error(n) - stirling_error(shape)
    chosen = shape * np.log1p(n / shape) + n * np.log(both / n) + np.log(both / (2 * np.pi * n * shape)) / 2 + errors
    return shape / both * np.exp(chosen + n * np.log(odds) + shape * np.log1p(-odds))


def negative_binomial_below(n: Values, shape: Values, odds: Values) -> Values:
    """Peizer and Pratt's approximation, as in their paper except for the mean itself."""
    yes, no, trials, p, q = shape - 0.5, maximum(n - 0.5, np.asarray(0.05)), n + shape - 1, 1 - odds, odds
    d = yes + 1 / 6 - (trials + 1 / 3) * p + 0.02 * (q / shape - p / (no + 0.5) + (q - 0.5) / (n + shape))
    deviance = maximum(yes * np.log(yes / (trials * p)) + no * np.log(no / (trials * q)), np.asarray(0.0))
    ratio = (2 * deviance + 1e-6) / ((yes - trials * p) ** 2 + 1e-6 * trials * p * q)
    return 1 - normal_share(d * np.sqrt(ratio / (1 + 1 / (6 * trials))))


@np.vectorize
def batch_loss(n: Any, shape: Any, odds: Any) -> Any:
    """The share at n over all up to n, term by term from n down to its fraction."""
    total, term = 1.0 + 0 * (n + shape + odds), 1.0
    while np.real(n) > 0 and np.real(total) < 1e250:
        ratio = n / (odds * (n + shape - 1))
        term = term * ratio
        total, n = total + term, n - 1
        if np.real(ratio) < 1 and np.real(term) < 1e-18 * (1 - np.real(ratio)) * np.real(total):
            break
    return 1 / total if np.real(total) < 1e250 else 0 * total


def gamma_share(x: Values, mean: Values, variance: Values) -> Values:
    v = maximum(variance / mean**2, np.asarray(1e-12)) / 9
    return normal_share((maximum(x / mean, np.asarray(1e-12)) ** (1 / 3) - 1 + v) / np.sqrt(v))


def gamma_quantile(share: Values, mean: Values, variance: Values) -> Values:
    v = maximum(variance / mean**2, np.asarray(1e-12)) / 9
    return mean * maximum(1 - v + normal_quantile(share) * np.sqrt(v), np.asarray(0.0)) ** 3


def arrivals_after(x: Values, variation: Values) -> Values:
    k, some = 1 / maximum(variation, np.asarray(0.01)), maximum(x, np.asarray(1e-9))
    log_gamma = (k + 1) * (np.log(k + 1) - 1) + stirling_error(k + 1) + np.log(2 * np.pi / (k + 1)) / 2
    soon = np.exp(-maximum(log_gamma - k * np.log(k * some), np.asarray(0.0)))
    return np.where(np.real(variation) == 1, x, maximum(x + (variation - 1) / 2 * soon, np.asarray(0.0)))


def wait_quantile(share: Values, q: Values) -> Values:
    return np.log(maximum(share / (1 - q), np.asarray(1.0)))


def wait_below(share: Values, q: Values) -> Values:
    late = np.real(share) > 1 - np.real(q)
    return np.where(late, share - (1 - q) * (wait_quantile(share, q) + 1), 0.0 * (share + q))


def largest_normal(draws: Values) -> Values:
    return np.where(draws >= 1, special.ndtri(1 - np.exp(-np.euler_gamma) / np.maximum(draws, 1)), np.nan)


def acceptance_curve(rate: Values, decay: Values, drafts: Values) -> Values:
    """One draft after the other, the last of them in part."""
    total = np.ones(np.broadcast_shapes(np.shape(rate), np.shape(decay), np.shape(drafts)))
    for i in range(1, int(np.clip(np.max(np.nan_to_num(drafts, posinf=4096)), 0, 4096)) + 2):
        chance = rate**i * decay ** (i * (i - 1) / 2)
        total = total + np.clip(drafts - (i - 1), 0, 1) * chance
    return np.where((rate >= 0) & (decay >= 0) & (drafts >= 0), total, np.nan)


def _zipf_sums(n: float, s: float, *functions: Any) -> list[float]:
    """Return sums of functions of each item's share.

    Items beyond 16,384 are summed by an integral of logarithms.
    """
    count = int(min(n, 16384))
    items = np.arange(1.0, count + 1)
    weights = np.ones(count)
    if n > count:
        if n < 16384:
            items, weights = np.append(items, count + 1), np.append(weights, n - count)
        else:
            x, part = np.polynomial.legendre.leggauss(200)
            low, high = np.log(count + 0.5), np.log(np.floor(n) + 0.5)
            nodes = np.exp(low + (high - low) * (x + 1) / 2)
            items = np.concatenate([items, nodes, [np.floor(n) + 1]])
            weights = np.concatenate([weights, part * (high - low) / 2 * nodes, [n - np.floor(n)]])
    shares = np.exp(-s * np.log(items))
    shares /= (weights * shares).sum()
    return [float((weights * function(shares)).sum()) for function in functions]


def _zipf_distinct(n: float, s: float, draws: float) -> float:
    if np.isnan([n, s, draws]).any() or min(n, s, draws) < 0:
        return np.nan
    if 0 in (n, draws):
        return 0.0
    with np.errstate(divide="ignore"):
        return _zipf_sums(min(max(n, 1.0), 1e15), s, lambda p: -np.expm1(draws * np.log1p(-np.minimum(p, 1))))[0]


def _zipf_hit_rate(n: float, s: float, slots: float) -> float:
    """The root by halving its logarithm."""
    if np.isnan([n, s, slots]).any() or min(n, s, slots) < 0:
        return np.nan
    if slots >= max(n, 1.0):
        return 1.0
    if slots == 0:
        return 0.0
    n = min(max(n, 1.0), 1e15)
    low, high = -50.0, 700.0
    for _ in range(200):
        t = np.exp((low + high) / 2)
        expected_items = _zipf_sums(n, s, lambda p: -np.expm1(-p * t))[0]  # noqa: B023
        low, high = ((low + high) / 2, high) if expected_items < slots else (low, (low + high) / 2)
    t = np.exp((low + high) / 2)
    return _zipf_sums(n, s, lambda p: -p * np.expm1(-p * t))[0]


zipf_distinct = np.vectorize(_zipf_distinct, otypes=[float])
zipf_hit_rate = np.vectorize(_zipf_hit_rate, otypes=[float])


def lognormal_share(t: Values, cv: Values) -> Values:
    """Share of a lognormal of mean 1 below t."""
    s = np.sqrt(np.log1p(cv**2))
    shares = np.where(t > 0, special.ndtr(np.log(t) / s + s / 2), 0.0)
    return np.where(cv > 0, shares, np.where(t >= 1, 1.0, 0.0)) + 0 * t * (cv >= 0)


def cut_mean(cv: Values, most: Values) -> Values:
    """Mean of the lesser of a lognormal of mean 1 and a limit."""
    s = np.sqrt(np.log1p(cv**2))
    z = np.log(most) / s + s / 2
    beyond = np.where(np.isinf(most), 0.0, most * special.ndtr(-z))
    return np.where(cv > 0, special.ndtr(z - s) + beyond, np.minimum(most, 1.0))


def cut_square(cv: Values, most: Values) -> Values:
    """Mean square of the lesser of a lognormal of mean 1 and a limit."""
    s = np.sqrt(np.log1p(cv**2))
    z = np.log(most) / s + s / 2
    beyond = np.where(np.isinf(most), 0.0, most * most * special.ndtr(-z))
    return np.where(cv > 0, (1 + cv**2) * special.ndtr(z - 2 * s) + beyond, np.minimum(most, 1.0) ** 2)


def session_residence(capacity: Values, q: Values, cv: Values) -> Values:
    """The root t of q E min(T, t) + (1 - q) t == capacity, by halving its logarithm."""
    shape = np.broadcast_shapes(np.shape(capacity), np.shape(q), np.shape(cv))
    low, high = np.full(shape, -745.0), np.full(shape, 709.0)
    for _ in range(200):
        middle = (low + high) / 2
        t = np.exp(middle)
        below = q * cut_mean(cv, t) + (1 - q) * t < capacity
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    endless = np.isinf(capacity) | ((q == 1) & (capacity >= 1))
    return np.where(capacity <= 0, 0.0, np.where(endless, np.inf, np.exp((low + high) / 2)))


def _over_lengths(integrand: Any, cv: Values, most: Values) -> Values:
    """The integral of a function of lengths and their deviates from 0 to a limit."""
    s = np.sqrt(np.log1p(np.maximum(cv, 1e-7) ** 2))
    high = np.minimum(np.log(most) / s + s / 2, s + 12)
    x, weight = np.polynomial.legendre.leggauss(400)
    total = np.exp(-9 * s - s**2 / 2)  # below which the integrand is 1
    for node, share in zip(x, weight, strict=True):
        z = -9 + (high + 9) * (node + 1) / 2
        total = total + share * (high + 9) / 2 * integrand(z, s) * s * np.exp(s * z - s**2 / 2)
    return total


def expected_longest(n: Values, cv: Values, most: Values) -> Values:
    """Mean of the longest of n lengths."""
    return _over_lengths(lambda z, _: -np.expm1(n * special.log_ndtr(z)), cv, most)


def expected_longest_rest(n: Values, cv: Values, most: Values) -> Values:
    """Mean of the longest rest of n answers under way."""
    mean = cut_mean(np.maximum(cv, 1e-7), most)

    def integrand(z: Values, s: Values) -> Values:
        t = np.exp(s * z - s**2 / 2)
        return 1 - (cut_mean(np.maximum(cv, 1e-7), t) / mean) ** n

    s = np.sqrt(np.log1p(np.maximum(cv, 1e-7) ** 2))
    first = np.exp(-9 * s - s**2 / 2)  # up to which no length ends, and the integrand is 1 - (t / mean)^n
    return _over_lengths(integrand, cv, most) - first * (first / mean) ** n / (n + 1)


EXACT: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": divide,
    "neg": np.negative,
    "min": minimum,
    "max": maximum,
    "sqrt": np.sqrt,
    "ceil": lambda a: np.ceil(np.real(a)),
    "floor": lambda a: np.floor(np.real(a)),
    "less": lambda a, b: np.real(a) < np.real(b),
    "less_equal": lambda a, b: np.real(a) <= np.real(b),
    "equal": lambda a, b: np.real(a) == np.real(b),
    "both": lambda a, b: (a != 0) & (b != 0),
    "either": lambda a, b: (a != 0) | (b != 0),
}
NEARLY: dict[str, Any] = {"exp": np.exp, "log": np.log, "pow": power}
ROUTINES: dict[str, Any] = {
    "erlang_c": erlang_c,
    "overtraining_optimum": overtraining_optimum,
    "normal_share": normal_share,
    "normal_quantile": normal_quantile,
    "arrival_wait": arrival_wait,
    "negative_binomial_share": negative_binomial_share,
    "negative_binomial_below": negative_binomial_below,
    "batch_loss": batch_loss,
    "gamma_share": gamma_share,
    "gamma_quantile": gamma_quantile,
    "arrivals_after": arrivals_after,
    "wait_quantile": wait_quantile,
    "wait_below": wait_below,
    "signed_square": lambda x: x * np.sign(np.real(x)) * x,
    "signed_root": lambda x: np.sign(np.real(x)) * np.sqrt(x * np.where(np.real(x) < 0, -1, 1)),
    "acceptance_curve": acceptance_curve,
    "largest_normal": largest_normal,
    "session_residence": session_residence,
    "lognormal_share": lognormal_share,
    "cut_mean": cut_mean,
    "cut_square": cut_square,
    "expected_longest": expected_longest,
    "expected_longest_rest": expected_longest_rest,
    "zipf_distinct": zipf_distinct,
    "zipf_hit_rate": zipf_hit_rate,
}


# ---------------------------------------------------------------------------------------------------------- quantities


class Evaluator:
    """Quantities of some inputs.

    Parameters
    ----------
    inputs : mapping
        As `roofslate.evaluate` takes them.
    outputs : sequence of str
        The requested quantities, on which presets of a list and layouts depend.

    Attributes
    ----------
    sizes : dict
        Lengths of the axes, in their order.
    """

    def __init__(self, inputs: Mapping[str, Any], outputs: Sequence[str] = ()) -> None:
        grid = read_grid(Settled(inputs), list(outputs))
        self.sizes: dict[str, int] = dict(grid.sizes)
        given = {}
        for name, one in grid.inputs.items():
            values = np.asarray(one.values, dtype=np.float64)
            order = [one.dims.index(dim) for dim in self.sizes if dim in one.dims]
            shape = [size if dim in one.dims else 1 for dim, size in self.sizes.items()]
            given[name] = np.transpose(values, order).reshape(shape)
        self._start(given)

    @classmethod
    def of_numbers(cls, numbers: Mapping[str, Any]) -> Evaluator:
        """Of numbers in base units and codes of choices, all or one along one axis."""
        evaluator = object.__new__(cls)
        evaluator.sizes = {}
        evaluator._start({name: np.asarray(x) for name, x in numbers.items()})
        return evaluator

    def at_first(self) -> Evaluator:
        """The same at the first point of the axes."""
        return Evaluator.of_numbers({name: x.reshape(-1)[0] for name, x in self.given.items()})

    def _start(self, given: dict[str, Values]) -> None:
        self.given = given
        self._known: dict[str, Values] = {}
        self._taken: dict[str, frozenset[str]] = {}  # quantities and operations on the way

    def __getitem__(self, name: str) -> Values:
        """The values of a quantity, with axes of length one where it does not vary."""
        if name not in self._known:
            self._known[name], self._taken[name] = self._computed(name)
        return self._known[name]

    def full(self, name: str) -> Values:
        """The values of a quantity at all points of the grid."""
        return np.broadcast_to(self[name], tuple(self.sizes.values()))

    def number(self, name: str) -> float:
        return float(np.reshape(self[name], ()))

    def taken(self, name: str) -> frozenset[str]:
        """Quantities and operations that were taken on the way to a quantity, itself among them."""
        self[name]
        return self._taken[name]

    def is_exact(self, name: str) -> bool:
        """Return True if the engine has the same bits: every step is plain IEEE arithmetic."""
        return self.taken(name).isdisjoint({*NEARLY, *ROUTINES})

    def agrees(self, name: str, result: Any) -> bool:
        """Return True if the values of a quantity at all points are equal, or nearly if inexact."""
        least = TINY if self.taken(name).isdisjoint(CANCELLING) else NEAR
        near = NEAR if self.taken(name).isdisjoint(INTEGRALS) else 1e-6
        return agree(result, self.full(name), exact=self.is_exact(name), near=near, least=least)

    def derivative(self, name: str, by: str) -> Values:
        """Return the derivative of a quantity by an input at all points.

        It is NaN if an intermediate step is infinite.
        """
        nudged = Evaluator.of_numbers({**self.given, by: self[by] * (1 + 1j * STEP)})
        slope = np.imag(nudged[name]) / STEP / self[by]
        return np.broadcast_to(slope, np.broadcast_shapes(slope.shape, tuple(self.sizes.values())))

    def _computed(self, name: str) -> tuple[Values, frozenset[str]]:
        q = entries()[name]
        if name in self.given:
            return self.given[name], frozenset({name})
        if {*q.replaced_where} & set(self.given) and not {*q.replaced_unless} & set(self.given):
            return self[q.replaced_by], self._taken[q.replaced_by] | {name}
        if q.changed:  # the value of another quantity at a changed input
            changed = self[q.needs[1]] if len(q.needs) > 1 else np.asarray(q.changed_value)
            elsewhere = Evaluator.of_numbers({**self.given, q.changed: changed})
            return elsewhere[q.needs[0]], elsewhere.taken(q.needs[0]) | {name}
        if q.computed:
            tape = _Tape(self, name)
            with np.errstate(all="ignore"):
                return np.asarray(tape.at(len(tape.steps) - 1)), frozenset({name, *tape.taken})
        if q.fallback:
            return self[q.fallback], self._taken[q.fallback] | {name}
        if q.default is None:
            raise MissingError(name)
        implied = (x for other, x in zip(q.implied_by, q.implied_values, strict=True) if other in self.given)
        return np.asarray(next(implied, q.default)), frozenset({name})


class _Tape:
    """Steps of one formula, with only those branches of a choice that some point takes."""

    def __init__(self, evaluator: Evaluator, name: str) -> None:
        self.evaluator, self.name = evaluator, name
        self.steps = _core.steps(name)
        self.known: dict[int, Values] = {}
        self.taken: set[str] = set()

    def at(self, k: int) -> Values:
        if k not in self.known:
            self.known[k] = self._step(*self.steps[k])
        return self.known[k]

    def _step(self, operation: str, *operands: Any) -> Values:
        if operation == "quantity":
            values = self.evaluator[operands[0]]
            self.taken |= self.evaluator.taken(operands[0])
            return values
        if operation == "constant":
            return np.asarray(operands[0])
        if operation == "select":
            return self._choice(*operands)
        self.taken.add(operation)
        function = EXACT.get(operation) or NEARLY.get(operation) or ROUTINES[operation]
        arguments = [self.at(operand) for operand in operands]
        if operation in ROUTINES:
            arguments = [x.astype(np.float64) if x.dtype == np.longdouble else x for x in arguments]
        values = np.asarray(function(*arguments))
        return values.astype(np.float64) if values.dtype == bool else values

    def _choice(self, condition: int, one: int, other: int) -> Values:
        holds = self.at(condition) != 0
        if holds.all() or not holds.any():
            chosen = self.at(one if holds.all() else other)
            return np.broadcast_to(chosen, np.broadcast_shapes(holds.shape, chosen.shape))
        return np.where(holds, self.at(one), self.at(other))


def agree(result: Any, expected: Any, *, exact: bool, near: float = NEAR, least: float = 0.0) -> bool:
    """Return True if numbers have equal bits, or nearly agree.

    Bits of NaN and the sign of zero do not count.
    """
    result, expected = np.asarray(result, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if exact:
        return bool(np.array_equal(result, expected, equal_nan=True))
    return bool(np.allclose(result, expected, rtol=near, atol=least, equal_nan=True))
