"""Dollar signs of names from elsewhere are no formulas in pictures."""

import numpy as np
import pytest
import roofslate as rs
import xarray as xr

SCENARIO = {
    "total_parameters": 671e9,
    "active_parameters": 37e9,
    "bytes_per_weight": 0.5,
    "kv_bytes_per_token": 1667.0,
    "peak_flops": 9e15,
    "hbm_bandwidth": 8e12,
    "chips": 72.0,
    "context_length": 1e4,
    "chip_price": 1e-3,
}
CHIP = {"peak_flops_bf16": 1e15, "peak_flops_fp8": 2e15, "hbm_bandwidth": 3e12, "hbm_capacity": 8e10}
BATCH = np.array([1.0, 64.0, 4096.0])
NAMES = (r"$\input{x}$", "a$$", "$x$")


def axis(dim, values, words=None):
    return xr.DataArray(values, dims=dim, coords={dim: values if words is None else words})


def chart(name):
    rs.hardware.define(name, **CHIP, chip_price=1e-3)
    rs.models.define(f"{name} model", total_parameters=671e9, active_parameters=37e9, kv_bytes_per_token=1667.0)
    return rs.charts.roofline(hardware=name, model=f"{name} model", chips=8, weight_format="fp8")


def presets(name):
    for number in "12":
        rs.hardware.define(f"{name} {number}", **CHIP)
    return rs.plot(
        rs.evaluate("pass_time", {k: x for k, x in SCENARIO.items() if k not in CHIP and k != "peak_flops"},
                    hardware=[f"{name} 1", f"{name} 2"], weight_format="fp8", batch_size=BATCH)
    )  # fmt: skip


CALLS = {
    "axis": lambda name: rs.plot(rs.evaluate("pass_time", SCENARIO, batch_size=axis(name, BATCH))),
    "words": lambda name: rs.plot(
        rs.evaluate("pass_time", SCENARIO, batch_size=axis("site", BATCH, [name, f"b {name}", "c"]))
    ),
    "lines": lambda name: rs.plot(
        rs.evaluate(
            "cost_per_token",
            SCENARIO,
            batch_size=BATCH,
            chips=axis("site", np.array([1.0, 72.0]), [name, f"b {name}"]),
        ),
        x="batch_size",
    ),
    "map": lambda name: rs.plot(
        rs.evaluate("cost_per_token", SCENARIO, batch_size=BATCH, chips=axis(name, np.array([1.0, 72.0]))),
        x="batch_size",
        y=name,
    ),
    "presets": presets,
    "chart": chart,
}


@pytest.mark.usefixtures("fresh_catalogs")
@pytest.mark.filterwarnings("ignore::roofslate.RoofslateWarning")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("call", CALLS)
def test_dollar_signs_stay_dollar_signs(call, name):
    drawn = CALLS[call](name)
    drawn.figure.canvas.draw()


def test_formulas_of_the_caller_stay_formulas():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    ax.set_ylabel("$x^2$")
    note = ax.text(0, 0, "$y^2$")
    rs.plot(rs.evaluate("pass_time", SCENARIO, batch_size=axis("$a$", BATCH)), ax=ax)
    ax.set_title("$z^2$")
    assert note.get_parse_math()
    assert ax.title.get_parse_math()
    assert not ax.xaxis.label.get_parse_math()
