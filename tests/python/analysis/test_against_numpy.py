"""`compare`, `tornado`, `sample`, `sobol` and derivatives against formulas in NumPy."""

from __future__ import annotations

import importlib
import itertools
import math
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate.grid.read import Settled
from roofslate.registry.registry import entries
from support.evaluator import NEAR, ROUTINES, Evaluator, agree
from support.random_questions import Question, asked, slices
from support.slices import first_alone

pytestmark = pytest.mark.filterwarnings("ignore::roofslate.errors.RoofslateWarning")


def moved(question: Question, factor: float, least: int, most: int) -> dict[str, float]:
    """Draw some of the effective numeric inputs, scaled by a factor within their ranges."""
    name = question.outputs[0]
    used = Evaluator(question.inputs, question.outputs).taken(name)
    candidates = [key for key, x in question.numbers.items() if key in used and key != name and 0 < x < math.inf]
    changes = {}
    for key in question.chance.some(candidates, least, most):
        q, x = entries()[key], question.numbers[key]
        for other in (x * factor, x / factor):
            if q.low <= other <= q.high and not q.bound:
                changes[key] = other
                break
    return {key: changes[key] for key in question.inputs if key in changes}  # in the order in which a call has them


# ------------------------------------------------------------------------------------------------------------- compare


def shares_by_orders(name: str, inputs: dict[str, Any], changes: dict[str, float]) -> dict[str, float] | None:
    """Return each change's mean factor over all orders, None if a mixture has no value."""
    logs = {}
    for k in range(len(changes) + 1):
        for chosen in itertools.combinations(changes, k):
            x = Evaluator({**inputs, **{key: changes[key] for key in chosen}}, [name]).number(name)
            if not 0 < x < math.inf:
                return None
            logs[frozenset(chosen)] = math.log(x)
    shares = dict.fromkeys(changes, 0.0)
    orders = list(itertools.permutations(changes))
    for order in orders:
        for k, key in enumerate(order):
            shares[key] += (logs[frozenset(order[: k + 1])] - logs[frozenset(order[:k])]) / len(orders)
    return {key: math.exp(x) for key, x in shares.items()}


@pytest.mark.parametrize("numbers", first_alone(slices(60)), ids=str)
def test_compare(numbers: range) -> None:
    """The factors are the means over all orders in which the inputs can change."""
    compared = 0
    for question in asked("compare", numbers):
        (name,) = question.outputs
        try:
            changes = moved(question, 1.75, 1, 4)
            if not changes:
                continue
            shared = {key: x for key, x in question.inputs.items() if key not in changes}
            sides: list[Any] = [{key: question.numbers[key] for key in changes}, changes]
            result = rs.compare(*sides, name, **Settled(shared))
            factors = shares_by_orders(name, question.inputs, changes)
        except (rs.RoofslateError, KeyError):
            continue
        if factors is None:
            continue
        assert set(result.factors.index) == set(changes), question.number
        for key, factor in factors.items():
            assert agree(result.factors.loc[key, "factor"], factor, exact=False), (question.number, name, key)
        assert agree(math.prod(result.factors["factor"]), result.ratio, exact=False, near=1e-13), question.number
        expected = [Evaluator({**shared, **side}, [name]) for side in sides]
        assert [one.agrees(name, x) for one, x in zip(expected, (result.before, result.after), strict=True)] == [
            True
        ] * 2
        compared += 1
    assert compared > 0.3 * len(numbers)


# ------------------------------------------------------------------------------------------------------------- tornado


@pytest.mark.parametrize("numbers", first_alone(slices(60)), ids=str)
def test_tornado(numbers: range) -> None:
    drawn = 0
    for question in asked("tornado", numbers):
        (name,) = question.outputs
        try:
            changes = moved(question, 1.75, 1, 4)
            ranges = {key: (min(x, y), max(x, y)) for key, x in changes.items() for y in [question.numbers[key]]}
            base = {key: question.numbers[key] for key in ranges}
            if not ranges:
                continue
            result = rs.tornado(name, Settled({**question.inputs, **ranges}), base=base)
        except rs.RoofslateError:
            continue
        at_base = Evaluator(question.inputs, [name])
        assert at_base.agrees(name, result.base), (question.number, name)
        for key, row in result.table.iterrows():
            for end in ("low", "high"):
                assert row[end] == ranges[str(key)][end == "high"]
                expected = Evaluator({**question.inputs, str(key): row[end]}, [name])
                assert expected.agrees(name, row[f"at_{end}"]), (question.number, name, key, end)
        ends = result.table[["at_low", "at_high"]].to_numpy()
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio, difference = ends.max(axis=1) / ends.min(axis=1), np.abs(ends[:, 1] - ends[:, 0])
        swing = ratio if (ends > 0).all() and result.base > 0 else difference
        assert agree(result.table["swing"], swing, exact=True), (question.number, name)
        assert result.table["swing"].dropna().is_monotonic_decreasing
        drawn += 1
    assert drawn > 0.3 * len(numbers)


# --------------------------------------------------------------------------------------------------------------- draws


def distributions(question: Question, most: int) -> dict[str, Any]:
    """Distributions around some inputs of a question."""
    stats = importlib.import_module("scipy.stats")  # a second
    result: dict[str, Any] = {}
    for key, other in moved(question, 1.5, 1, most).items():
        low, high = sorted((question.numbers[key], other))
        kinds = [
            stats.uniform(low, high - low),
            stats.loguniform(low, high),
            stats.triang(0.25, low, high - low),
            stats.truncnorm(-1.0, 2.0, loc=low + (high - low) / 3, scale=(high - low) / 3),
        ]
        result[key] = question.chance.choice(kinds)
    return result


def sobol_points(inputs: int, n: int, seed: int) -> np.ndarray:
    """Probabilities of draws, a row an input: SciPy's scrambled points."""
    qmc = importlib.import_module("scipy.stats.qmc")
    return qmc.Sobol(inputs, bits=32, seed=np.random.default_rng(seed)).random(n).T + 2.0**-33


@pytest.mark.parametrize("numbers", first_alone(slices(30)), ids=str)
def test_sample(numbers: range) -> None:
    """Draws equal SciPy's points and distributions with a Gaussian copula, results NumPy's."""
    stats = importlib.import_module("scipy.stats")
    n, sampled = 64, 0
    for question in asked("sample", numbers, axes=(0, 1)):
        (name,) = question.outputs
        try:
            drawn = distributions(question, 3)
            correlation = np.full((len(drawn), len(drawn)), 0.4) + 0.6 * np.eye(len(drawn))
            options: dict[str, Any] = {"correlation": correlation} if question.number % 2 else {}
            result = rs.sample(name, n, Settled({**question.inputs, **drawn}), seed=question.number, **options)
        except rs.RoofslateError:
            continue
        probabilities = sobol_points(len(drawn), n, question.number)
        if options:
            scores = np.linalg.cholesky(correlation) @ stats.norm.ppf(probabilities)
            probabilities = stats.norm.cdf(scores)
        for key, p in zip(drawn, probabilities, strict=True):
            assert agree(result[key], drawn[key].ppf(p), exact=False, near=1e-7), (question.number, key)
        at_draws = {key: result[key].drop_vars([*drawn]) for key in drawn}
        expected = Evaluator({**question.inputs, **at_draws}, [name])
        values = result.drop_vars([*result.coords]).expand_dims(
            {dim: size for dim, size in expected.sizes.items() if dim not in result.dims}
        )
        assert expected.agrees(name, values.transpose(*expected.sizes).to_numpy()), (question.number, name)
        sampled += 1
    assert sampled > 0.3 * len(numbers)


@pytest.mark.parametrize("numbers", first_alone(slices(20)), ids=str)
def test_sobol(numbers: range) -> None:
    """Return first-order and total shares after Saltelli, by the sums in the paper."""
    n, shared = 32, 0
    for question in asked("sobol", numbers):
        (name,) = question.outputs
        try:
            drawn = distributions(question, 3)
            result = rs.sobol(name, n, Settled({**question.inputs, **drawn}), seed=question.number)
        except rs.RoofslateError:
            continue
        points = sobol_points(2 * len(drawn), n, question.number)
        sides = [
            {key: drawn[key].ppf(p) for key, p in zip(drawn, half, strict=True)}
            for half in (points[: len(drawn)], points[len(drawn) :])
        ]
        fixed = {key: x for key, x in question.inputs.items() if key not in drawn}

        def values(columns: dict[str, Any], fixed: dict[str, Any] = fixed, name: str = name) -> np.ndarray:
            import xarray as xr

            arrays = {key: xr.DataArray(x, dims="sample") for key, x in columns.items()}
            return Evaluator({**fixed, **arrays}, [name]).full(name)

        a, b = (values(side) for side in sides)
        both = np.concatenate([a, b])
        spread = both.var()
        if spread < 1e-16 * both.mean() ** 2:
            continue  # rounding to some digits
        nudged = np.concatenate([values({key: x * (1 + 1e-12) for key, x in side.items()}) for side in sides])
        if not np.allclose(nudged, both, rtol=1e-9):
            continue  # last digits of the draws decide: one step of a secant was given, far from the others
        assert agree([result.mean, result.variance], [both.mean(), spread], exact=False, near=1e-5), question.number
        for key in drawn:
            mixed = values({**sides[0], key: sides[1][key]})
            first = np.mean((b - both.mean()) * (mixed - a)) / spread
            total = np.mean((mixed - a) ** 2) / 2 / spread
            row = result.table.loc[key, ["first_order", "total"]]
            assert agree(row, [first, total], exact=False, near=1e-4, least=1e-6), (question.number, name, key)
        shared += 1
    assert shared > 0.25 * len(numbers)


# --------------------------------------------------------------------------------------------------------- derivatives


@pytest.mark.parametrize("numbers", first_alone(slices(60)), ids=str)
def test_derivatives_on_grids(numbers: range) -> None:
    """Derivatives equal complex steps at all points, without a differentiation rule."""
    compared = points = 0
    for question in asked("derivatives", numbers, axes=(0, 1, 2, 2)):
        (name,) = question.outputs
        try:
            expected = Evaluator(question.inputs, [name])
            used = [key for key in question.inputs if key in expected.taken(name) and not entries()[key].choices]
            selected = question.chance.some([key for key in used if key != name], 1, 4)
            if not selected or not expected.taken(name).isdisjoint(ROUTINES):
                continue
            sides = [rs.gradient(name, Settled(question.inputs), to=selected, side=side) for side in ("above", "below")]
            ratios = rs.sensitivity(name, Settled(question.inputs), to=selected)
        except (rs.RoofslateError, KeyError):
            continue
        for k, key in enumerate(selected):
            above, below, elastic = (spread(array, k, expected.sizes) for array in (*sides, ratios))
            with np.errstate(all="ignore"):
                slope = expected.derivative(name, key)
                scale = np.abs(slope) + np.abs(expected.full(name)) * 1e-3 / np.abs(expected[key])
                low, high = np.minimum(above, below), np.maximum(above, below)
                wrong = (slope < low - 1e-8 * scale) | (slope > high + 1e-8 * scale) | np.isnan(above + below)
                in_percent = slope * expected[key] / expected.full(name)
            known = np.isfinite(slope) & np.isfinite(expected.full(name)) & (np.abs(expected[key]) > 0)
            known &= expected[key] != entries()[key].low  # at an end a formula may ask for equality
            assert not (wrong & known).any(), (question.number, name, key)
            smooth = known & (above == below) & np.isfinite(in_percent) & (expected.full(name) != 0)
            assert np.allclose(elastic[smooth], in_percent[smooth], rtol=NEAR, atol=1e-6), (question.number, name, key)
            points += int(known.sum())
        compared += 1
    assert compared > 0.3 * len(numbers)
    assert points > len(numbers)


def spread(array: Any, k: int, sizes: dict[str, int]) -> np.ndarray:
    """The derivatives by input number k at all points."""
    if not hasattr(array, "isel"):
        return np.asarray(array.iloc[k])
    one = array.isel(input=k, drop=True)
    missing = {dim: n for dim, n in sizes.items() if dim not in one.dims}
    return one.expand_dims(missing).transpose(*sizes).to_numpy()
