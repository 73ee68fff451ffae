"""Halves of surrogate pairs, which nothing can write, are refused where an axis is read."""

import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from roofslate.errors import AxisError
from support.lazy import Later, made

HALF = "\ud800"


@pytest.mark.parametrize(
    "given",
    [
        Later(lambda: xr.DataArray([1.0, 2.0], dims="site", coords={"site": ["a", HALF]})),
        Later(lambda: xr.DataArray([1.0, 2.0], dims=HALF)),
        pd.Series([1.0, 2.0], pd.Index(["a", HALF], dtype=object, name="site")),
        pd.Series([1.0, 2.0], pd.Index(["a", "b"], name=HALF)),
    ],
)
@pytest.mark.parametrize("call", [rs.evaluate, lambda output, **inputs: rs.best(output, over=(), **inputs)])
def test_half_a_pair_is_no_text(given, call):
    with pytest.raises(AxisError, match=r"batch_size: .* half a surrogate pair"):
        call("pass_tokens", batch_size=made(given))


def test_whole_pairs_are():
    sites = ["é", "\N{GRINNING FACE}"]
    result = rs.evaluate("pass_tokens", batch_size=xr.DataArray([1.0, 2.0], dims="ü", coords={"ü": sites}))
    assert result["ü"].to_numpy().tolist() == sites
    assert sites[1] in result._repr_html_()
