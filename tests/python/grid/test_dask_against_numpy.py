"""Chunked arrays and folds of them against formulas in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import roofslate as rs
import xarray as xr
from roofslate.grid.read import Settled
from roofslate.registry.registry import entries
from support.evaluator import Evaluator, agree
from support.lazy import needs
from support.random_questions import Question, asked, slices
from support.slices import first_alone

pytestmark = needs("dask", reason="dask is not installed: pip install 'roofslate[dask]'")


def in_chunks(question: Question) -> dict[str, Any] | None:
    """Return one or two inputs as dask arrays on separate axes, None if none can vary."""
    candidates = [key for key, x in question.numbers.items() if 0 < x < 1e300 and not entries()[key].bound]
    arrays = {}
    for key in question.chance.some(candidates, 1, 2):
        q, n = entries()[key], question.chance.randint(2, 40)
        values = np.clip(question.numbers[key] * 2.0 ** np.linspace(0, 1, n), q.low, q.high)
        arrays[key] = xr.DataArray(values, dims=key).chunk({key: question.chance.randint(1, n)})
    return {**question.inputs, **arrays} if arrays else None


@pytest.mark.filterwarnings("ignore::roofslate.errors.RoofslateWarning")
@pytest.mark.parametrize("numbers", first_alone(slices(12)), ids=str)
def test_chunks(numbers: range) -> None:
    answered = 0
    for question in asked("dask", numbers):
        (name,) = question.outputs
        inputs = in_chunks(question)
        if inputs is None:
            continue
        try:
            result = rs.evaluate(name, Settled(inputs)).compute()
            expected = Evaluator(inputs, [name])
        except rs.RoofslateError:
            continue
        missing = {dim: n for dim, n in expected.sizes.items() if dim not in result.dims}
        values = result.expand_dims(missing).transpose(*expected.sizes).to_numpy()
        assert expected.agrees(name, values), (question.number, name)
        answered += 1
        if not np.isfinite(values).all() or values.min() == values.max():
            continue
        exact = expected.is_exact(name)
        values = expected.full(name).ravel()
        edges = np.linspace(values.min(), values.max(), 6)
        limit = float(np.sort(values)[values.size // 3]) * (1 + 1e-6)
        folds = rs.count(f"{name} <= {limit!r}", Settled(inputs), over=[*expected.sizes])
        assert int(folds) == int((values <= limit).sum()), (question.number, name)
        share = rs.quantiles(name, [0.0, 0.5, 1.0], Settled(inputs), over=[*expected.sizes])
        assert agree(share, np.quantile(values, [0.0, 0.5, 1.0]), exact=False, near=1e-9), (question.number, name)
        best = rs.best(name, Settled(inputs), over=[*expected.sizes])
        assert agree(best[name], values.min(), exact=exact), (question.number, name)
        if exact and (np.diff(edges) > 0).all():  # values that differ in their last bits have no bins
            counts = rs.histogram(name, Settled(inputs), bins=edges, over=[*expected.sizes])
            assert np.array_equal(counts["count"], np.histogram(values, edges)[0])
    assert answered > 0.3 * len(numbers)
