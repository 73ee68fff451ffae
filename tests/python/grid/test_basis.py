"""Every labelled result and every picture says whether it is a lower bound or an estimate."""

from __future__ import annotations

from typing import Any

import pytest
import roofslate as rs
from support.lazy import Lazy

stats = Lazy("scipy.stats")

OUTPUT = "time_per_output_token"
BASE: dict[str, Any] = {"model": "Llama-3.1-70B", "weight_format": "fp8", "hardware": "HGX H100"}
BASE |= {"input_tokens": "8k", "output_tokens": "1k"}
GRID: dict[str, Any] = {**BASE, "input_tokens": ["4k", "8k"], "concurrency": [16, 64]}
LINE: dict[str, Any] = {**BASE, "concurrency": [16, 32, 64]}
SUPPORT = "extrapolated"  # the model was not measured
CALIBRATION = f"serving ({rs.calibration('serving').date})"


def drawn() -> dict[str, Any]:
    return {**BASE, "concurrency": stats.uniform(16, 48)}


def labels(**constants: Any) -> dict[str, Any]:
    """Attributes of the result of each call."""
    return {
        "count": rs.count(f"{OUTPUT} <= 30 ms", over="concurrency", **GRID, **constants).attrs,
        "histogram": rs.histogram(OUTPUT, bins=2, **LINE, **constants).attrs,
        "edges": rs.histogram(OUTPUT, bins=2, **LINE, **constants)["lower"].attrs,
        "quantiles": rs.quantiles(OUTPUT, 0.5, over="concurrency", **GRID, **constants).attrs,
        "pareto": {
            key: said[OUTPUT]
            for key, said in rs.pareto(minimize=OUTPUT, maximize="concurrency", **LINE, **constants).attrs.items()
            if OUTPUT in said
        },
        "sample": rs.sample(OUTPUT, 16, seed=1, **drawn(), **constants).attrs,
        "tornado": rs.tornado(OUTPUT, **BASE, concurrency=(16, 64), **constants).table.attrs,
        "sobol": rs.sobol(OUTPUT, 16, seed=1, **drawn(), **constants).table.attrs,
    }


def test_every_labelled_result_says_its_basis() -> None:
    assert {call: attrs["basis"] for call, attrs in labels().items()} == dict.fromkeys(labels(), "floor")
    for call, attrs in labels(calibration="serving").items():
        assert (attrs["basis"], attrs["calibration"]) == ("estimate", CALIBRATION), call
    for call, attrs in labels(bandwidth_efficiency=0.8).items():
        assert attrs["basis"] == "mixed: bandwidth_efficiency", call


def test_a_fold_of_several_calibrations_names_both() -> None:
    both = rs.quantiles(OUTPUT, 0.5, over="concurrency", calibration=["floor", "serving"], **LINE)
    assert both.attrs["basis"] == "floor | estimate"


def test_rankings_say_it_where_it_matters() -> None:
    ranges: dict[str, Any] = {"concurrency": (16, 64)}
    assert f"[estimate, calibration {CALIBRATION}]" in str(rs.tornado(OUTPUT, **BASE, **ranges, calibration="serving"))
    assert "[floor]" in str(rs.tornado(OUTPUT, **BASE, **ranges))
    assert "[" not in str(rs.tornado("overtraining_ratio", pretraining_tokens=("1T", "15T"), active_parameters=8e9))


def corner(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_gid() == "under title"]


def test_the_corner_of_a_picture_says_it() -> None:
    dated = CALIBRATION.replace(" (", ", ").rstrip(")")
    assert corner(rs.plot(rs.evaluate(OUTPUT, **LINE))) == ["lower bound"]
    assert corner(rs.plot(rs.evaluate(OUTPUT, **LINE, calibration="serving"))) == [f"estimate ({dated}), {SUPPORT}"]
    both = rs.plot(rs.evaluate(OUTPUT, **LINE, calibration=["floor", "serving"]))
    assert corner(both) == [f"lower bound | estimate ({dated}), {SUPPORT}"]
    assert corner(rs.plot(rs.evaluate("tokens_per_second_per_user", **LINE))) == ["upper bound"]
    assert corner(rs.plot(rs.sample(OUTPUT, 16, seed=1, **drawn()))) == ["lower bound"]
    assert corner(rs.plot(rs.evaluate("kv_bytes", model="Llama-3.1-8B", batch_size=1, context_length=[1, 2]))) == []


def test_the_corner_of_deployments_says_it() -> None:
    layouts = rs.deploy(
        objective="cost_per_output_token", **BASE, concurrency=[16, 64], chip_price="2 USD/h", also=OUTPUT
    )
    (said,) = corner(layouts.plot(OUTPUT))
    assert said.startswith("estimate (serving, ")


@pytest.mark.parametrize("unit", ["USD/token", "s", "s*sequence/token"])
def test_words_of_a_basis(unit: str) -> None:
    from roofslate.display.style import basis_of

    assert basis_of({"basis": "floor"}, unit) == "lower bound"
    assert basis_of({"basis": "floor"}, "FLOP/s/chip") == "upper bound"
    assert basis_of({"basis": "floor"}, "1") == ""
    assert basis_of({"basis": "mixed: link_efficiency"}, unit) == "mixed: link_efficiency"
    given = {"basis": "floor; given: pass_time"}
    assert basis_of(given, unit) == "lower bound, given pass_time"
