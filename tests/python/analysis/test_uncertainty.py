"""Tornados, variance shares, plots of draws, and certainty of over-training."""

import functools

import numpy as np
import pytest
import roofslate as rs
from roofslate.errors import AxisError, InputTypeError, MissingInput, UnknownName, ValueRangeError
from roofslate.grid.read import Settled
from support.lazy import Later, Lazy, made, needs

stats = Lazy("scipy.stats")
pytestmark = needs("scipy", reason="scipy is not installed (pip install 'roofslate[analysis]')")

RATIO = "overtraining_ratio"
RANGES = {
    "model_token_rate": ("10 Mtok/s", "500 Mtok/s"),
    "model_lifetime": ("30 d", "365 d"),
    "decode_inefficiency": (1, 5),
    "active_parameters": (30e9, 300e9),
    "optimal_tokens_per_parameter": (10, 118),
    "deployment_probability": (0.5, 1),
}
# The lecture's open question on them: the ratio at both ends.
ANSWERS = {
    "model_token_rate": (26, 1296),
    "model_lifetime": (65, 788),
    "decode_inefficiency": (43, 216),
    "active_parameters": (432, 43),
    "optimal_tokens_per_parameter": (259, 22),
    "deployment_probability": (65, 129.6),
}


# -------------------------------------------------------------------------------------------------------------- tornado


def test_tornado_has_the_table_of_the_open_question():
    result = rs.tornado(RATIO, RANGES, model="lecture training")
    assert result.base == pytest.approx(129.6)
    for name, ends in ANSWERS.items():
        # the table is rounded to whole numbers
        assert result.table.loc[name, ["at_low", "at_high"]].tolist() == pytest.approx(ends, abs=0.5), name
    swing = result.table["swing"]
    assert swing.is_monotonic_decreasing
    assert swing["model_token_rate"] == pytest.approx(50)
    assert result.table.attrs["units"]["swing"] == "1"
    assert result.table.loc["model_lifetime", ["low", "base", "high", "unit"]].tolist() == [
        30 * 86400, 60 * 86400, 365 * 86400, "s",
    ]  # fmt: skip


def test_the_chart_of_the_lecture_is_this_call():
    chart = rs.charts.overtraining_tornado.data()
    ours = rs.tornado(RATIO, RANGES, model="lecture training").table.loc[chart.index]
    np.testing.assert_allclose(chart[["ratio_at_low", "ratio_at_high"]], ours[["at_low", "at_high"]], rtol=1e-13)
    assert chart.index.tolist() == ours.index.tolist()


def test_each_end_is_an_evaluation():
    base = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "context_length": "8k"}
    result = rs.tornado("pass_time", base, batch_size=(64, 4096), hbm_bandwidth=("6 TB/s", "10 TB/s"))
    assert result.table.loc["batch_size", "base"] == pytest.approx(512)  # the geometric middle
    assert result.table.loc["hbm_bandwidth", "base"] == 8e12  # by the preset
    for name, other in (("batch_size", {"hbm_bandwidth": 8e12}), ("hbm_bandwidth", {"batch_size": 512})):
        for end in ("low", "high"):
            expected = rs.value("pass_time", {**base, **other, name: float(result.table.loc[name, end])})
            assert result.table.loc[name, f"at_{end}"] == pytest.approx(expected, rel=1e-13)


def test_where_the_base_comes_from():
    def base_of(**inputs):
        return rs.tornado("hbm_drain_time", hbm_capacity=1e11, **inputs).table["base"].tolist()

    assert base_of(hbm_bandwidth=(1e12, 9e12)) == pytest.approx([3e12])
    assert base_of(hbm_bandwidth=("1 TB/s", "9 TB/s"), base={"hbm_bandwidth": "2 TB/s"}) == [2e12]
    assert rs.tornado("deployment_probability", deployment_probability=(0.5, 1)).base == 1  # its default
    lower = rs.tornado("deployment_probability", deployment_probability=(0.25, 0.5))  # the default is no base
    assert lower.base == pytest.approx(0.125**0.5)


def test_an_output_that_changes_its_sign_swings_by_a_difference():
    with rs.definitions():
        rs.define("left_over", "s", lambda hbm_drain_time: rs.math.constant("20 ms") - hbm_drain_time, brief="slack")
        result = rs.tornado("left_over", hbm_capacity=(100e9, 300e9), hbm_bandwidth=(8e12, 12e12))
        assert result.table.attrs["units"]["swing"] == "s"
        assert result.table["swing"].tolist() == pytest.approx([0.02041241, 0.00721688], rel=1e-5)
        assert result.plot().get_xscale() == "linear"


def test_an_output_that_is_infinite_has_no_swing(decode):
    """Without a word from NumPy: the tests take warnings for errors."""
    question = {**decode, "context_length": (1e9, 2e9), "chips": (64, 128)}
    result = rs.tornado("balance_batch_at_context", Settled(question))
    assert np.isinf(result.table[["at_low", "at_high"]].to_numpy()).all()
    assert result.table["swing"].isna().all()


def test_tornado_is_shown():
    result = rs.tornado(RATIO, RANGES, model="lecture training")
    assert str(result).splitlines()[2].split() == [
        "model_token_rate",
        "10",
        "Mtok/s",
        "500",
        "Mtok/s",
        "25.92",
        "1,296",
        "50",
    ]
    assert "<table" in result._repr_html_()
    ax = result.plot()
    assert ax.get_xscale() == "log"
    assert ax.get_yticklabels()[0].get_text().replace("\n", " ") == "model token rate"
    for k, (_, row) in enumerate(result.table.iterrows()):
        bars = [bar for bar in ax.patches if round(bar.get_y() + bar.get_height() / 2) == k]
        ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars]
        assert min(a for a, _ in ends) == pytest.approx(min(row["at_low"], row["at_high"]))
        assert max(b for _, b in ends) == pytest.approx(max(row["at_low"], row["at_high"]))


@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ({}, MissingInput, "at least one range"),
        ({"hbm_bandwidth": (9e12, 1e12)}, ValueRangeError, "low below high"),
        ({"hbm_bandwidth": (1e12, 1e12)}, ValueRangeError, "low below high"),
        ({"hbm_bandwidth": (1e12, 2e12, 3e12)}, ValueRangeError, "two ends"),
        ({"hbm_bandwidth": (-1, 1e12)}, ValueRangeError, "hbm_bandwidth"),
        ({"hbm_bandwith": (1, 2)}, UnknownName, "hbm_bandwidth"),
        ({"hbm_bandwidth": ("1 ms", "2 ms")}, rs.errors.UnitError, "hbm_bandwidth"),
        ({"hardware": ("B200", "H200")}, InputTypeError, "choices have no order"),
        ({"overlap": ("board", "none"), "hbm_bandwidth": (1, 2)}, InputTypeError, "choices have no order"),
        ({"hbm_bandwidth": (1e12, 2e12), "chips": [1, 2]}, AxisError, "chips is an axis"),
        ({"hbm_bandwidth": (1e12, 2e12), "base": {"chips": 1}}, UnknownName, "chips"),
    ],
)
def test_bad_ranges_are_refused(inputs, error, words):
    with pytest.raises(error, match=words):
        rs.tornado("hbm_drain_time", hbm_capacity=1e11, **inputs)


def test_tornado_of_a_choice_and_of_what_lacks_an_input():
    with pytest.raises(InputTypeError, match="bottleneck"):
        rs.tornado("bottleneck", batch_size=(1, 2))
    for several in (["pass_time", "cost_per_token"], ("pass_time",)):
        with pytest.raises(InputTypeError, match=r"expected the name of one quantity, got [\[(]'pass_time'"):
            rs.tornado(several, batch_size=(1, 2))
        with pytest.raises(InputTypeError, match="expected the name of one quantity"):
            rs.sobol(several, 64, seed=1, batch_size=stats.uniform(1, 2))
    with pytest.raises(MissingInput, match="hbm_capacity"):
        rs.tornado("hbm_drain_time", hbm_bandwidth=(1e12, 2e12))


# ------------------------------------------------------------------------------------------------------ variance shares

_COEFFICIENTS = (0, 1, 4.5, 9, 99)
_UNITS = {
    "hbm_bandwidth": "1 B/s/chip", "hbm_capacity": "1 B/chip", "peak_flops": "1 FLOP/s/chip",
    "chip_price": "1 USD/s/chip", "model_lifetime": "1 s",
}  # fmt: skip


def test_shares_of_sobols_g_function():
    """Exact values, within 1% of each that is not negligible, and 5e-5 of all."""

    def g(hbm_bandwidth, hbm_capacity, peak_flops, chip_price, model_lifetime):
        product = 1.0
        given = (hbm_bandwidth, hbm_capacity, peak_flops, chip_price, model_lifetime)
        for x, unit, a in zip(given, _UNITS.values(), _COEFFICIENTS, strict=True):
            product = product * ((np.abs(4 * (x / rs.math.constant(unit)) - 2) + a) / (1 + a))
        return product

    parts = np.array([1 / 3 / (1 + a) ** 2 for a in _COEFFICIENTS])
    variance = np.prod(1 + parts) - 1
    first, total = parts / variance, parts * np.prod(1 + parts) / (1 + parts) / variance
    with rs.definitions():
        rs.define("g_function", "1", g, brief="Sobol's test of sensitivity analysis")
        uniform = {name: stats.uniform(1e-12, 1) for name in _UNITS}
        result = rs.sobol("g_function", 1 << 16, Settled(uniform), seed=7)
    assert result.mean == pytest.approx(1, rel=1e-4)
    assert result.variance == pytest.approx(variance, rel=1e-3)
    for column, expected in (("first_order", first), ("total", total)):
        got = result.table[column].loc[list(_UNITS)]
        np.testing.assert_allclose(got[:4], expected[:4], rtol=0.01)
        np.testing.assert_allclose(got, expected, atol=5e-5)
        low, high = (result.table[f"{column}_{end}"].loc[list(_UNITS)] for end in ("low", "high"))
        assert ((low <= expected) & (expected <= high)).all()


def test_shares_agree_with_scipys():
    inputs = {"hbm_capacity": stats.uniform(100e9, 100e9), "hbm_bandwidth": stats.lognorm(0.3, scale=8e12)}
    ours = rs.sobol("hbm_drain_time", 1 << 14, inputs, seed=3).table.loc[list(inputs)]
    theirs = stats.sobol_indices(func=lambda x: (x[0] / x[1])[None], n=1 << 14, dists=list(inputs.values()))
    np.testing.assert_allclose(ours["first_order"], theirs.first_order, atol=0.01)  # both scatter by 0.002
    np.testing.assert_allclose(ours["total"], theirs.total_order, atol=0.01)


def test_draws_that_hardly_ever_matter_have_shares():
    """A resample may have none of the few draws that differ, and no variance."""
    with rs.definitions():
        rs.define(
            "tail",
            "s",
            lambda hbm_drain_time: rs.math.where(
                hbm_drain_time > rs.math.constant("1.9 s"), rs.math.constant("5 s"), rs.math.constant("1 s")
            ),
            brief="rare",
        )
        result = rs.sobol("tail", 8, seed=1, hbm_capacity=stats.uniform(1e12, 1e12), hbm_bandwidth=1e12)
    assert result.table.loc["hbm_capacity"].notna().all()


def test_rounding_has_no_shares():
    with rs.definitions():
        rs.define("thrice", "1", lambda hbm_drain_time: 3 * hbm_drain_time / hbm_drain_time, brief="three")
        inputs = {"hbm_capacity": stats.uniform(1e12, 1e12), "hbm_bandwidth": 0.7e12}
        assert len(np.unique(rs.sample("thrice", 64, seed=1, **inputs))) > 1
        with pytest.raises(ValueRangeError, match="thrice does not vary with hbm_capacity beyond rounding"):
            rs.sobol("thrice", 64, seed=1, **inputs)


def test_shares_are_repeatable_and_their_intervals_honest():
    inputs = {"hbm_capacity": stats.uniform(100e9, 100e9), "hbm_bandwidth": stats.lognorm(0.3, scale=8e12)}
    one = rs.sobol("hbm_drain_time", 256, inputs, seed=3)
    for threads in (1, 2):
        again = rs.sobol("hbm_drain_time", 256, inputs, seed=3, threads=threads)
        assert again.table.equals(one.table)
    exact = rs.sobol("hbm_drain_time", 1 << 18, inputs, seed=1).table["first_order"]
    inside = 0
    for seed in range(20):
        table = rs.sobol("hbm_drain_time", 256, inputs, seed=seed).table
        inside += (table["first_order_low"] <= exact[table.index]).sum()
        inside += (exact[table.index] <= table["first_order_high"]).sum()
    assert inside >= 76  # of 80 ends: at least 97.5% inside


def test_shares_are_shown():
    result = rs.sobol(
        RATIO, 1024, seed=1, model="lecture training",
        decode_inefficiency=stats.uniform(1, 4), model_token_rate=stats.loguniform(10e6, 500e6),
    )  # fmt: skip
    assert result.table.index.tolist() == ["model_token_rate", "decode_inefficiency"]
    assert str(result).splitlines()[2].startswith("  model_token_rate")
    assert "<table" in result._repr_html_()
    ax = result.plot()
    drawn = {c.get_label(): [bar.get_width() for bar in c] for c in ax.containers if hasattr(c, "patches")}
    assert drawn["first order"] == result.table["first_order"].tolist()
    assert drawn["total"] == result.table["total"].tolist()


@pytest.mark.parametrize(
    ("n", "inputs", "error", "words"),
    [
        (1000, {}, ValueRangeError, "power of 2, such as 512 or 1,024"),
        (0, {}, ValueRangeError, "at least 2"),
        (16.0, {}, InputTypeError, "whole number"),
        (16, {"hbm_bandwidth": Later(lambda: stats.norm)}, InputTypeError, "not frozen"),
        (16, {"hbm_bandwidth": 1e12}, MissingInput, "frozen distribution"),
        (16, {"hbm_bandwidth": (2e12, 1e12)}, ValueRangeError, "the lower end first"),
        (16, {"hbm_bandwidth": Later(lambda: stats.norm(0, 1))}, ValueRangeError, "hbm_bandwidth"),
        (16, {"hbm_capacity": [1e11, 2e11]}, AxisError, "hbm_capacity is an axis"),
        (16, {"hbm_capacity": None}, InputTypeError, "hbm_capacity"),
    ],
)
def test_bad_questions_about_shares(n, inputs, error, words):
    given = {"hbm_capacity": 1e11, "hbm_bandwidth": stats.uniform(1e12, 1e12), **made(inputs)}
    with pytest.raises(error, match=words):
        rs.sobol("hbm_drain_time", n, given, seed=1)


def test_there_are_no_shares_of_what_is_constant_or_undefined():
    with pytest.raises(ValueRangeError, match="does not vary"):
        rs.sobol(
            "hbm_drain_time", 16, Settled(chips=stats.uniform(1, 2)), seed=1, hbm_capacity=1e11, hbm_bandwidth=1e12
        )
    with rs.definitions():
        rs.define(
            "root", "1", lambda hbm_drain_time: np.sqrt(hbm_drain_time / rs.math.constant("24 ms") - 1), brief="r"
        )
        with pytest.raises(ValueRangeError, match="undefined for some"):
            rs.sobol("root", 64, seed=1, hbm_capacity=192e9, hbm_bandwidth=stats.uniform(6e12, 4e12))


# ------------------------------------------------------------------------------------------------------------- pictures


def test_draws_along_an_axis_are_a_fan():
    result = rs.sample(
        "hbm_drain_time", 2048, seed=1, hbm_capacity=[1e11, 2e11, 4e11], hbm_bandwidth=stats.uniform(6e12, 4e12)
    )
    ax = rs.plot(result)
    (line,) = [line for line in ax.lines if line.get_label() == "median"]
    np.testing.assert_array_equal(line.get_xdata(), [1e11, 2e11, 4e11])
    np.testing.assert_allclose(line.get_ydata(), result.quantile(0.5, "sample"))
    bands = {band.get_label(): band.get_paths()[0].vertices[:, 1] for band in ax.collections}
    for label, ends in {"5 to 95%": (0.05, 0.95), "25 to 75%": (0.25, 0.75)}.items():
        for q in ends:
            for x in result.quantile(q, "sample").values:
                assert np.isclose(bands[label], x, rtol=1e-12).any()
    named = rs.sample("hbm_drain_time", 64, seed=1, hardware=["B200", "H200"], hbm_bandwidth=stats.uniform(6e12, 4e12))
    assert [text.get_text() for text in rs.plot(named).get_xticklabels()] == ["B200", "H200"]


def test_draws_alone_are_a_histogram_with_marks():
    result = rs.sample(RATIO, 4096, seed=1, model="lecture training", model_token_rate=stats.loguniform(1e6, 500e6))
    ax = rs.plot(result)
    assert ax.get_xscale() == "log"
    marks = {line.get_label(): line.get_xdata()[0] for line in ax.lines}
    expected = dict(zip(("5%", "50%", "95%"), np.quantile(result, [0.05, 0.5, 0.95]), strict=True))
    assert marks == pytest.approx(expected, rel=1e-12)
    assert any(text.get_text().startswith("50%\n") for text in ax.texts)
    assert [line.get_label() for line in ax.lines if line.get_linestyle() == "-"] == ["50%"]
    (steps,) = ax.patches
    assert steps.get_data().values.sum() == pytest.approx(1)


def test_pictures_of_draws_that_can_not_be():
    cell = {"total_parameters": 1e12, "active_parameters": 1e10, "bytes_per_weight": 1, "context_length": 1}
    grid = {"chips": [1, 2], "batch_size": [1, 2]}
    result = rs.sample("hbm_used", 8, {**cell, **grid}, seed=1, kv_bytes_per_token=stats.uniform(1, 1))
    with pytest.raises(AxisError, match="in addition to the draws"):
        rs.plot(result)
    cell = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "context_length": "8k"}
    choice = rs.sample("bottleneck", 8, cell, seed=1, batch_size=stats.uniform(1, 9))
    with pytest.raises(InputTypeError, match="a choice"):
        rs.plot(choice)


# ---------------------------------------------------------------------------------------------- how sure the hundred is


@functools.cache
def _guesses():
    return {
        "model_token_rate": stats.loguniform(10e6, 500e6),
        "model_lifetime": stats.loguniform(30 * 86400, 365 * 86400),
        "decode_inefficiency": stats.uniform(1, 4),
        "active_parameters": stats.loguniform(30e9, 300e9),
        "optimal_tokens_per_parameter": stats.loguniform(10, 118),
        "deployment_probability": stats.uniform(0.5, 0.5),
    }


def test_the_hundred_is_a_distribution():
    """Against an independent Monte Carlo of the formula, written out."""
    n = 300_000
    rng = np.random.default_rng(0)
    x = {name: d.rvs(n, random_state=rng) for name, d in _guesses().items()}
    tokens = x["deployment_probability"] * x["model_token_rate"] * x["model_lifetime"]
    plain = tokens * 2 * x["decode_inefficiency"] / 6 / (x["optimal_tokens_per_parameter"] * x["active_parameters"])
    ours = rs.quantiles(RATIO, [0.05, 0.5, 0.95], _guesses(), n=1 << 20, seed=1)
    for q, at in zip((0.05, 0.5, 0.95), ours.values, strict=True):
        assert abs(np.mean(plain <= at) - q) < 4 * np.sqrt(q * (1 - q) / n)  # standard errors of the plain draws
    assert ours.values == pytest.approx([7.68, 132.7, 2265], rel=0.01)
