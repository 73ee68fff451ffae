"""Labelled results are assembled directly if xarray allows it, otherwise publicly."""

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from roofslate.grid import label

CASE = {"model": "DeepSeek-V3", "hardware": ["HGX H200", "GB200 NVL72"], "context_length": "8k", "batch_size": [1, 64]}


@pytest.fixture(autouse=True)
def _chosen_anew():
    label._assembly.cache_clear()
    yield
    label._assembly.cache_clear()


def results():
    return [
        rs.evaluate("pass_time", **CASE),
        rs.evaluate(["pass_time", "hbm_used", "batch_size"], **CASE),
        rs.evaluate("pass_time", batch_size=pd.Series([1.0, 2.0], index=pd.Index(["a", "b"], name="case")), **PLAIN),
    ]


PLAIN = {key: CASE[key] for key in ("model", "context_length")} | {"hardware": "HGX H200"}


def test_the_short_way_is_taken():
    assert isinstance(label._assembly(), label._Direct)


@pytest.mark.parametrize(
    ("owner", "name"),
    [(pd.Index, "_simple_new"), (xr.Dataset, "_construct_direct"), (xr.core.indexing, "PandasIndexingAdapter")],
)
def test_without_a_private_name_the_public_way_gives_the_same(monkeypatch, owner, name):
    direct = results()
    label._assembly.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(label._Direct, "__init__", without(owner, name))
        assert isinstance(label._assembly(), label._Public)
        public = results()
    for a, b in zip(direct, public, strict=True):
        xr.testing.assert_identical(a, b)
        assert {k: type(v.variable) for k, v in a.coords.items()} == {k: type(v.variable) for k, v in b.coords.items()}


def without(owner, name):
    original = label._Direct.__init__

    def init(self):
        attribute = vars(owner)[name]  # unbound, as it serves subclasses, too
        delattr(owner, name)
        try:
            original(self)
        finally:
            setattr(owner, name, attribute)

    return init


def test_an_xarray_that_holds_more_takes_the_public_way(monkeypatch):
    filled = label._Direct._filled

    def other(kind, dims, values, attrs):
        return filled(kind, dims, values, {**attrs, "more": 1})

    monkeypatch.setattr(label._Direct, "_filled", staticmethod(other))
    assert isinstance(label._assembly(), label._Public)


def test_results_of_the_short_way_do_all_that_others_do():
    short = rs.evaluate("pass_time", **CASE)
    other = xr.DataArray(
        short.to_numpy(), {k: (v.dims, v.to_numpy(), dict(v.attrs)) for k, v in short.coords.items()}, short.dims
    )
    for change in (
        lambda x: x.sel(batch_size=64),
        lambda x: x.isel(batch_size=[1, 0]),
        lambda x: x.sel(batch_size=33, method="nearest"),
        lambda x: x.interp(batch_size=[2.0, 3.0]),
        lambda x: x + x.rename(batch_size="b"),
        lambda x: x.assign_coords(batch_size=[3, 4]),
        lambda x: x.sortby("batch_size", ascending=False),
        lambda x: x.copy(deep=True),
        lambda x: xr.concat([x, x.assign_coords(batch_size=[5, 6])], "batch_size"),
        lambda x: x.to_series().to_xarray(),
    ):
        xr.testing.assert_allclose(change(short).rename(None), change(other).rename(None), rtol=0)
        assert isinstance(change(short), xr.DataArray)
    assert short.coords["batch_size"].attrs["units"] == "sequence"
    assert np.shares_memory(short.indexes["batch_size"].to_numpy(), short.coords["batch_size"].to_numpy())
