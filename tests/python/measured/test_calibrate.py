"""`calibrate`: constants found again, honest left-out errors, bands, anchors, files."""

import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from hypothesis import given, settings
from hypothesis import strategies as st
from roofslate import errors
from roofslate.grid.read import Settled
from roofslate.measured import calibrate as calibrate_module
from roofslate.measured.fit import percentiles
from roofslate.measured.runs import shipped
from roofslate.presets.fits import PERCENTILES, error_measures

TRUE = {"bandwidth_efficiency": 0.62, "compute_efficiency": 0.48}
TERMS = {"bandwidth_efficiency": (0.1, 1), "compute_efficiency": (0.1, 1)}
WHAT = {"output": "pass_time", "measured": "seconds"}


def runs(n=400, noise=0.0, seed=1, **true):
    """Runs of a machine whose constants are known."""
    chance = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "batch_size": chance.choice([1.0, 16.0, 256.0, 4096.0], n),
            "context_length": chance.choice([1e3, 8e3], n),
            "model": chance.choice(["Llama-3.1-8B", "Qwen3-32B", "DeepSeek-V3", "gpt-oss-120b"], n),
            "hardware": chance.choice(["H100", "H200", "B200"], n),
            "chips": chance.choice([4.0, 8.0], n),
            "framework": chance.choice(["one", "other"], n),
        }
    )
    machine = Settled({**TRUE, **true})  # whose memory nobody looks at
    exact = rs.frame(table, "pass_time", machine, ignore=["framework"])["pass_time"]
    table["seconds"] = exact * np.exp(noise * chance.standard_normal(n))
    return table


@pytest.fixture(name="noisy", scope="module")
def runs_with_noise():
    return runs(noise=0.15)


@pytest.fixture(name="fitted", scope="module")
def fit_with_noise(noisy):
    return rs.calibrate(noisy, TERMS, hold_out=["model", "hardware", "framework"], **WHAT)


# --------------------------------------------------------------------------------------------------------------- result


@settings(max_examples=8)
@given(st.floats(0.2, 0.95), st.floats(0.2, 0.95))
def test_constants_are_found_again(bandwidth, compute):
    """Without noise exact to the stored digits. Without overlap every row informs both."""
    true = {"bandwidth_efficiency": bandwidth, "compute_efficiency": compute}
    result = rs.calibrate(runs(**true, overlap="none"), TERMS, ignore="framework", overlap="none", **WHAT)
    for name, x in true.items():
        assert result[name] == pytest.approx(x, rel=1e-5)  # six digits are kept
    assert result.errors["rms_log"].iloc[0] < 1e-5


def test_noise_is_within_the_standard_errors(fitted):
    for constant in fitted.constants:
        away = abs(math.log(constant.value / TRUE[constant.name]))
        assert away < 4 * constant.deviation  # of a normal, 1 in 16,000
        assert 0.001 < constant.deviation < 0.1
    assert fitted.standard_errors["bandwidth_efficiency"] == pytest.approx(
        fitted["bandwidth_efficiency"] * math.sqrt(fitted.covariance.iloc[0, 0])
    )
    np.testing.assert_allclose(fitted.covariance, fitted.covariance.T)


def test_outliers_move_little(noisy, fitted):
    spoiled = noisy.copy()
    spoiled.loc[spoiled.index % 20 == 0, "seconds"] *= 30
    result = rs.calibrate(spoiled, TERMS, hold_out=["model", "hardware", "framework"], **WHAT)
    assert result["bandwidth_efficiency"] == pytest.approx(fitted["bandwidth_efficiency"], rel=0.08)


def test_the_same_bits_whatever_the_threads(noisy, fitted, monkeypatch):
    monkeypatch.setenv("ROOFSLATE_THREADS", "1")
    again = rs.calibrate(noisy, TERMS, hold_out=["model", "hardware", "framework"], **WHAT)
    assert dict(again) == dict(fitted)
    assert again.fits["pass_time"].spread == fitted.fits["pass_time"].spread


def test_order_of_rows_does_not_matter(noisy, fitted):
    turned = rs.calibrate(noisy.iloc[::-1], TERMS, hold_out=["model", "hardware", "framework"], **WHAT)
    for name, x in fitted.items():
        assert turned[name] == pytest.approx(x, rel=1e-5)  # sums round otherwise


def test_ends_of_a_range_hold_and_are_told():
    result = rs.calibrate(runs(), {**TERMS, "bandwidth_efficiency": (0.7, 1)}, ignore="framework", **WHAT)
    assert result["bandwidth_efficiency"] == 0.7
    assert "at the low end" in str(result)


def test_groups_count_by_the_root_of_their_rows():
    """A stack with many rows does not drown one with few."""
    few = runs(40, seed=2, bandwidth_efficiency=0.8, compute_efficiency=1.0)
    many = runs(1000, seed=3, bandwidth_efficiency=0.4, compute_efficiency=1.0)
    few, many = few.assign(framework="few"), many.assign(framework="many")
    terms = {"bandwidth_efficiency": (0.1, 1)}
    both = pd.concat([few, many])
    result = rs.calibrate(both, terms, hold_out="framework", soft=100, **WHAT)  # so that the loss is the square
    flat = rs.calibrate(both, terms, ignore="framework", soft=100, **WHAT)
    share = [math.log(x["bandwidth_efficiency"] / 0.4) / math.log(2) for x in (result, flat)]
    root = math.sqrt(40) / (math.sqrt(40) + math.sqrt(1000))
    assert share[0] == pytest.approx(root, rel=0.35)  # compute-bound rows have no information on bandwidth
    assert share[1] < 0.5 * share[0]


def test_relative_residuals():
    """The least sum of squares of p/m - 1 is smaller than with the logarithm."""
    table = runs(noise=0.5)
    terms = {"bandwidth_efficiency": (0.05, 1)}
    log, relative = (
        rs.calibrate(table, terms, ignore="framework", residual=residual, soft=100, **WHAT)
        for residual in ("logarithm", "relative")
    )
    assert relative.errors["bias"].iloc[0] < log.errors["bias"].iloc[0] - 0.05


# ------------------------------------------------------------------------------------------- constants by a column


def by_framework():
    fast, slow = (runs(200, seed=5, bandwidth_efficiency=x, compute_efficiency=1.0) for x in (0.8, 0.5))
    return pd.concat([fast.assign(framework="fast"), slow.assign(framework="slow")], ignore_index=True)


def test_a_constant_for_each_value_of_a_column():
    terms = {"bandwidth_efficiency": (0.1, 1)}
    result = rs.calibrate(by_framework(), terms, by={"bandwidth_efficiency": "framework"}, hold_out="model", **WHAT)
    (constant,) = result.constants
    assert constant.values == pytest.approx({"fast": 0.8, "slow": 0.5}, rel=1e-5)
    assert result["bandwidth_efficiency"] == pytest.approx(math.sqrt(0.8 * 0.5), rel=1e-5)
    assert result.at(framework="slow")["bandwidth_efficiency"] == constant.values["slow"]
    rows = result.of_rows({"framework": ["slow", "fast", "unheard of"]})
    assert rows["bandwidth_efficiency"].tolist() == [constant.values["slow"], constant.values["fast"], constant.value]
    with pytest.raises(errors.UnknownName, match="'slow'"):
        result.at(framework="slo")


def test_a_value_left_out_takes_the_mean_of_the_others():
    terms = {"bandwidth_efficiency": (0.1, 1)}
    result = rs.calibrate(by_framework(), terms, by={"bandwidth_efficiency": "framework"}, hold_out="framework", **WHAT)
    # the other framework predicts, 0.5 for 0.8 and 0.8 for 0.5: as far off on either side
    assert result.errors.loc[("pass_time", "nothing"), "rms_log"] < 1e-5
    # memory-bound; if compute-bound, both are met
    assert 0.3 < result.errors.loc[("pass_time", "framework"), "rms_log"] < math.log(0.8 / 0.5)


# -------------------------------------------------------------------------------------------------------- held-out rows


@pytest.mark.parametrize("spoiled", [False, True])
def test_errors_left_out_are_those_of_separate_fits(noisy, spoiled):
    """Cross-validation by hand: a kind is never in its fit, even with absurd values."""
    if spoiled:
        noisy = noisy.assign(seconds=noisy["seconds"] * np.where(noisy["model"] == "Qwen3-32B", 5.0, 1.0))
    result = rs.calibrate(noisy, TERMS, hold_out="model", ignore="framework", **WHAT)
    parts = []
    for name in noisy["model"].unique():
        of_model = noisy["model"] == name
        refit = rs.calibrate(noisy[~of_model], TERMS, hold_out="model", ignore="framework", **WHAT)
        inputs = noisy[of_model].drop(columns=["seconds", "framework"])
        parts.append(rs.frame(inputs, "pass_time", Settled(refit))["pass_time"] / noisy.loc[of_model, "seconds"])
    ratio = pd.concat(parts)
    row = result.errors.loc[("pass_time", "model")]
    assert row["rows"] == len(noisy)
    assert row["mape"] == pytest.approx(float((ratio - 1).abs().mean()), rel=1e-4)  # constants are rounded
    assert row["median"] == pytest.approx(float((ratio - 1).abs().median()), rel=1e-3)
    assert row["rms_log"] == pytest.approx(float(np.sqrt((np.log(ratio) ** 2).mean())), rel=1e-4)
    # four models predict a fifth; three hold no row of one that is five times slower, so the slow end is farther
    spread = np.quantile(-np.log(ratio), PERCENTILES)
    wider = np.array(result.fits["pass_time"].spread["model"])
    least = math.sqrt(1 + 1 / 4)
    if spoiled:
        fast, slow = (wider[side] / spread[side] for side in (spread < 0, spread > 0))
        np.testing.assert_allclose(slow, np.quantile([1, 1, 1, 1.75], 0.75), rtol=1e-3)
        assert least < fast.mean() < slow.mean()
    else:
        np.testing.assert_allclose(wider, least * spread, rtol=1e-3, atol=1e-4)


def test_measures_by_hand():
    result = error_measures(np.array([1.0, 2.0, 8.0]), np.array([2.0, 2.0, 2.0]), np.array([True, True, False]))
    assert result["mape"] == pytest.approx((0.5 + 0 + 3) / 3)
    assert result["median"] == 0.5
    assert result["rms_log"] == pytest.approx(math.log(2) * math.sqrt((1 + 0 + 4) / 3))
    assert result["bias"] == pytest.approx(2 ** (1 / 3) - 1)
    assert (result["within_2x"], result["coverage"]) == pytest.approx((2 / 3, 2 / 3))
    assert math.isnan(error_measures(np.empty(0), np.empty(0))["mape"])


# --------------------------------------------------------------------------------------------------------------- bands


def test_bands_hold_their_share(fitted):
    fresh = runs(2000, noise=0.15, seed=9)
    predicted = rs.frame(fresh.drop(columns=["seconds", "framework"]), "pass_time", Settled(fitted))["pass_time"]
    for level in (0.5, 0.8, 0.95):
        low, high = fitted.band(level, model="Qwen3-32B", hardware="H100", framework="one")
        coverage = ((fresh["seconds"] >= low * predicted) & (fresh["seconds"] <= high * predicted)).mean()
        assert coverage == pytest.approx(level, abs=0.06)  # both quantiles from 400 rows: 0.03 of standard error


def test_bands_are_wider_for_what_was_never_measured(fitted):
    def width(**kinds):
        low, high = fitted.band(0.8, **kinds)
        return math.log(high / low)

    known = {"model": "Qwen3-32B", "hardware": "H100", "framework": "one"}
    for kind in known:
        assert width(**{**known, kind: "never measured"}) > width(**known)
        assert width(**{k: v for k, v in known.items() if k != kind}) == width(**{**known, kind: "never measured"})
    assert width() >= width(**{**known, "hardware": "never measured"})
    assert width(**{**known, "hardware": "H100 SXM"}) == width(**known)  # by its alias


@pytest.mark.parametrize("level", [0, 1, -0.1, math.nan, "wide", True])
def test_levels_that_are_none(fitted, level):
    with pytest.raises((errors.ValueRangeError, errors.InputTypeError), match="level of a band"):
        fitted.band(level)


def test_bands_in_results(noisy):
    fitted = rs.calibrate(noisy, TERMS, hold_out="model", ignore="framework", **WHAT)
    assert fitted.band(0.8, model="Qwen3-32B") != fitted.band(0.8, model="Kimi-K2")
    inputs = dict(context_length=1000, chips=8, **fitted)
    bands = fitted.bands(0.8)
    grid = rs.evaluate(
        "pass_time", inputs, batch_size=[1, 64], model=["Qwen3-32B", "Kimi-K2"], hardware="H200", bands=bands
    )
    assert list(grid.data_vars) == ["pass_time", "pass_time_lower", "pass_time_upper"]
    for model in grid["model"].values:
        factors = fitted.band(0.8, model=str(model), hardware="H200")
        for end, factor in zip(("lower", "upper"), factors, strict=True):
            got = grid[f"pass_time_{end}"].sel(model=model) / grid["pass_time"].sel(model=model)
            np.testing.assert_allclose(got, factor, rtol=1e-15)
    assert grid["pass_time_lower"].attrs["units"] == "s"
    assert "80% band" in grid["pass_time_upper"].attrs["long_name"]
    point = {"batch_size": 1, "model": "Qwen3-32B", "hardware": "H200", **inputs}
    ms = rs.evaluate("pass_time", point, bands=bands, units={"pass_time": "ms"})
    with_all = rs.evaluate("pass_time", point, bands=fitted)
    assert with_all.identical(rs.evaluate("pass_time", point, bands=fitted.bands(0.8)))
    assert float(ms["pass_time_upper"]) == pytest.approx(1e3 * float(grid["pass_time_upper"][0, 0]))

    table = pd.DataFrame({"batch_size": [1.0, 64.0], "model": ["Qwen3-32B", "Kimi-K2"]})
    rows = rs.frame(table, ["pass_time", "compute_time"], inputs, hardware="H200", bands=bands)
    assert list(rows) == ["pass_time", "pass_time_lower", "pass_time_upper", "pass_time_support", "compute_time"]
    assert rows["pass_time_upper"][1] == pytest.approx(
        float(grid["pass_time_upper"].sel(batch_size=64, model="Kimi-K2"))
    )

    explanation = rs.explain("pass_time", point, bands=bands)
    assert re.search(r"80% band: .* ms to .* ms", str(explanation))
    assert explanation.band in explanation.html
    assert explanation.band in explanation.markdown


def test_bands_need_their_constants(fitted):
    point = {"context_length": 1000, "chips": 8, "batch_size": 1, "model": "Qwen3-32B", "hardware": "H200"}
    with pytest.raises(errors.MissingInput, match="'bandwidth_efficiency' is not given"):
        rs.evaluate("pass_time", point, bands=fitted.bands(0.8))
    with pytest.raises(errors.UnknownName, match="compute_time is not calibrated"):
        rs.evaluate("compute_time", {**point, **fitted}, bands=fitted.bands(0.8))
    with pytest.raises(errors.InputTypeError):
        rs.evaluate("pass_time", {**point, **fitted}, bands="wide")


def test_a_band_is_drawn(fitted):
    grid = rs.evaluate(
        "pass_time", fitted, batch_size=rs.geomspace(1, 1024, 6), context_length=1000, chips=8, model="Qwen3-32B",
        hardware="H200", bands=fitted.bands(0.8),
    )  # fmt: skip
    ax = rs.plot(grid)
    (shade,) = [c for c in ax.collections if c.get_label() == "band"]
    low, high = shade.get_paths()[0].get_extents().intervaly
    assert low == pytest.approx(float(grid["pass_time_lower"].min()))
    assert high == pytest.approx(float(grid["pass_time_upper"].max()))


# ------------------------------------------------------------------------------------------------------------- anchors


@pytest.fixture(name="calibrated", scope="module")
def serving_like():
    """Times per output token of stacks, each off by a factor."""
    chance = np.random.default_rng(4)
    stacks = np.repeat(np.arange(30), 4)
    table = pd.DataFrame({"stack": [f"s{k}" for k in stacks], "concurrency": np.tile([1.0, 4.0, 16.0, 64.0], 30)})
    off = 0.3 * chance.standard_normal(30)[stacks] + 0.05 * chance.standard_normal(120)
    table["seconds"] = rs.frame(table[["concurrency"]], "time_per_output_token", STACK)[
        "time_per_output_token"
    ] * np.exp(off)
    cal = rs.calibrate(
        table,
        {"reference_kernel_time": ("0.1 us", "100 us"), "bandwidth_efficiency": (0.2, 1)},
        output="time_per_output_token",
        measured="seconds",
        hold_out="stack",
        anchor="time_per_output_token_factor",
        **{k: x for k, x in STACK.items() if k not in ("reference_kernel_time", "bandwidth_efficiency")},
    )
    return cal, table


STACK = {
    "model": "Llama-3.1-8B", "hardware": "H100", "chips": 1, "input_tokens": 1000, "output_tokens": 500,
    "reference_kernel_time": 5e-6, "bandwidth_efficiency": 0.8, "expert_reads": "expected", "weight_format": "bf16",
}  # fmt: skip


def test_an_anchor_shifts_by_its_shrunken_ratio(calibrated):
    cal, table = calibrated
    known = {k: x for k, x in STACK.items() if k not in cal}
    fit = cal.fits["time_per_output_token"]
    assert fit.between == pytest.approx(0.3, rel=0.35)  # 30 stacks give a deviation to 13%
    assert fit.within == pytest.approx(0.05, rel=0.35)
    of_stack = table[table["stack"] == "s3"]
    for n in (1, 2, 4):
        rows = of_stack.iloc[:n]
        anchored = cal.anchored(rows.drop(columns="stack"), **known)
        predicted = rs.frame(rows[["concurrency"]], "time_per_output_token", {**cal, **known})["time_per_output_token"]
        mean = float(np.log(rows["seconds"] / predicted).mean())
        share = fit.between**2 / (fit.between**2 + fit.within**2 / n)
        assert anchored["time_per_output_token_factor"] == pytest.approx(math.exp(share * mean))
        low, high = anchored.band(0.8)
        wide = cal.band(0.8, stack="s3")
        assert math.log(high / low) < 0.5 * math.log(wide[1] / wide[0])
    at = {**known, **anchored, "concurrency": 64.0}
    before = abs(
        math.log(rs.value("time_per_output_token", {**known, **cal, "concurrency": 64.0}) / of_stack["seconds"].iloc[3])
    )
    assert abs(math.log(rs.value("time_per_output_token", at) / of_stack["seconds"].iloc[3])) < before


def test_an_anchor_needs_what_it_stands_on(calibrated, fitted):
    cal, table = calibrated
    known = {k: x for k, x in STACK.items() if k not in cal}
    with pytest.raises(errors.MissingInput, match="'seconds'"):
        cal.anchored(table[["concurrency"]].iloc[:1], **known)
    with pytest.raises(errors.MissingInput, match="without an anchor"):
        fitted.anchored(runs(3).drop(columns="framework"))
    with pytest.raises(errors.InputTypeError, match=r"pandas\.DataFrame"):
        cal.anchored([1])
    with (
        pytest.raises(errors.ValueRangeError, match="rows: none has a positive seconds"),
        pytest.warns(rs.RoofslateWarning, match="2 of 2 rows are left out"),
    ):
        cal.anchored(table[["concurrency", "seconds"]].iloc[:2].assign(seconds=[0.0, math.nan]), **known)


def test_a_table_of_measured_runs_is_read_as_validate_reads_it():
    rows = next(t for t in shipped() if t.name == "serving").runs.rows
    runs = rows[(rows["model"] == "Qwen3-32B") & (rows["hardware"] == "H100")].iloc[::9]
    known = {name: x for name, x in rs.calibration().items() if name != "reference_kernel_time"}
    terms = {"reference_kernel_time": ("1 us", "50 us")}
    result = rs.calibrate(
        runs, terms, measured="time_per_output_token_s", settings=known, anchor="time_per_output_token_factor"
    )
    predicted = rs.validate(runs, calibration=result).rows["predicted_time_per_output_token_s"]
    expected = error_measures(predicted.to_numpy(), runs["time_per_output_token_s"].to_numpy())
    assert result.errors.loc[("time_per_output_token", "nothing"), "mape"] == pytest.approx(expected["mape"])
    anchored = rs.calibration().anchored(runs.iloc[:2])
    assert {"time_per_output_token_factor", "time_to_first_token_factor"} <= set(anchored)
    shifted = rs.validate(runs.iloc[:2], calibration=anchored)
    plain = rs.validate(runs.iloc[:2])
    ratio = shifted.rows["predicted_time_per_output_token_s"] / plain.rows["predicted_time_per_output_token_s"]
    np.testing.assert_allclose(ratio, anchored["time_per_output_token_factor"])


# --------------------------------------------------------------------------------------------------------------- files


def test_a_file_gives_the_calibration_back(fitted, tmp_path):
    path = tmp_path / "mine.toml"
    fitted.to_toml(path)
    again = rs.Calibration.from_toml(path)
    assert dict(again) == dict(fitted)
    assert again.constants == fitted.constants
    pd.testing.assert_frame_equal(again.errors, fitted.errors)
    pd.testing.assert_frame_equal(again.covariance, fitted.covariance)
    assert again.band(0.7, model="Qwen3-32B") == fitted.band(0.7, model="Qwen3-32B")
    assert str(again) == str(fitted)
    other = tmp_path / "again.toml"
    again.to_toml(other)
    assert other.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


def test_hostile_names_survive_a_file(tmp_path):
    table = by_framework().replace({"framework": {"fast": 'a "quote"\n\\ = [x]', "slow": "é]#"}})
    by = {"bandwidth_efficiency": "framework"}
    result = rs.calibrate(table, {"bandwidth_efficiency": (0.1, 1)}, by=by, hold_out=["framework", "model"], **WHAT)
    result.to_toml(tmp_path / "x.toml")
    assert rs.Calibration.from_toml(tmp_path / "x.toml").constants == result.constants


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.replace("=", "", 1), "Expected"),
        (
            lambda t: t.replace("[constant.bandwidth_efficiency]", "[constant.bandwidth_eficiency]"),
            "bandwidth_efficiency",
        ),
        (lambda t: t.replace('unit = "1"', 'unit = "s"', 1), "unit"),
        (lambda t: re.sub(r"value = .*", "value = 7", t, count=1), "value"),
        (lambda t: re.sub(r"value = .*", "value = true", t, count=1), "value"),
        (lambda t: re.sub(r"value = .*", "value = nan", t, count=1), "value"),
        (lambda t: re.sub(r"covariance = .*", "covariance = [[1]]", t), "covariance"),
        (lambda t: re.sub(r'"model" = \[-?0', '"model" = [0, 0', t, count=1), "spread.model"),
        (lambda t: re.sub(r"mape = .*", "mapes = 1", t, count=1), "errors"),
        (lambda t: re.sub(r"data = .*", "data = 3", t, count=1), "data"),
        (lambda t: t.replace("[settings]", "[setting]"), "settings"),
        (lambda t: t.replace("[settings]", "[settings]\noverlap = 'bord'"), "board"),
    ],
    ids=range(12),
)
def test_files_that_are_not_as_they_should_be(fitted, tmp_path, change, said):
    path = tmp_path / "mine.toml"
    fitted.to_toml(path)
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(errors.PresetError, match=r"mine\.toml, line \d+: ") as caught:
        rs.Calibration.from_toml(path)
    assert said in str(caught.value)


def test_a_file_of_any_size_is_refused_at_once(tmp_path):
    path = tmp_path / "huge.toml"
    path.write_bytes(b"x" * (5 << 20))
    with pytest.raises(errors.PresetError, match="at most 4,000,000 bytes"):
        rs.Calibration.from_toml(path)


# ------------------------------------------------------------------------------------------------- joined and compared


def test_calibrations_are_joined_and_compared(fitted):
    table = runs(noise=0.1, seed=8)
    table["more"] = rs.frame(table.drop(columns=["seconds", "framework"]), "memory_time", TRUE)["memory_time"]
    table = table.drop(columns=["seconds", "framework"])
    memory = {"output": "memory_time", "measured": "more"}
    second = rs.calibrate(table, {"bandwidth_efficiency": (0.1, 1)}, **memory)
    with pytest.raises(errors.ValueRangeError, match="bandwidth_efficiency is"):
        fitted | second
    with pytest.raises(errors.ValueRangeError, match="both calibrations are of pass_time"):
        fitted | fitted
    ratios = fitted.compare(second)
    assert ratios.loc["bandwidth_efficiency", "ratio"] == pytest.approx(0.62 / fitted["bandwidth_efficiency"], rel=1e-4)
    assert math.isnan(ratios.loc["compute_efficiency", "other"])
    known = {"bandwidth_efficiency": fitted["bandwidth_efficiency"]}
    only = rs.calibrate(table, {"kv_bytes_per_token": (1e3, 1e6)}, **memory, **known)
    both = fitted | only
    assert set(both) == {*fitted, "kv_bytes_per_token"}
    assert set(both.fits) == {"pass_time", "memory_time"}
    with pytest.raises(errors.MissingInput, match="which output"):
        both.band()
    assert both.covariance.loc["kv_bytes_per_token", "bandwidth_efficiency"] == 0


def test_settings_go_with_the_constants(noisy):
    result = rs.calibrate(noisy, TERMS, settings={"overlap": "none"}, ignore="framework", **WHAT)
    assert result["overlap"] == "none"
    assert rs.value("pass_time", result, compute_time=1, weight_fetch_time=1, kv_fetch_time=1) == 3
    assert "overlap = 'none'" in str(result)


def test_looks(fitted):
    text = str(fitted)
    assert "bandwidth_efficiency" in text
    assert "±" in text
    assert fitted._repr_html_().count("<table") == 2
    frame = fitted.to_frame()
    assert list(frame.columns) == ["value", "unit", "standard_error", "low", "high", "output", "meaning"]


# ------------------------------------------------------------------------------------------------------------ mistakes


def mistaken(**changes):
    table = changes.pop("table", None)
    arguments = {"terms": TERMS, "ignore": "framework", **WHAT, **changes}
    return rs.calibrate(runs(40) if table is None else table, **arguments)


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"terms": {"bandwidth_eficiency": (0.1, 1)}}, errors.UnknownName, "'bandwidth_efficiency'"),
        ({"terms": {"overlap": (0, 1)}}, errors.InputTypeError, "is a choice"),
        ({"terms": {"bandwidth_efficiency": (1, 0.1)}}, errors.ValueRangeError, "rise from above 0"),
        ({"terms": {"bandwidth_efficiency": (0.1, 3)}}, errors.ValueRangeError, "bandwidth_efficiency"),
        ({"terms": {"bandwidth_efficiency": 0.5}}, errors.InputTypeError, r"\(low, high\)"),
        ({"terms": ["hbm_price"]}, errors.ValueRangeError, "finite"),
        ({"terms": {}}, errors.InputTypeError, "terms"),
        ({"terms": {"hbm_price": (1, 2)}}, errors.IneffectiveInput, "'hbm_price' changes the output in no row"),
        ({"terms": {"batch_size": (1, 2)}}, errors.InputTypeError, "also a column"),
        ({"output": "pass_tim"}, errors.UnknownName, "'pass_time'"),
        ({"measured": "second"}, errors.UnknownName, "'seconds'"),
        ({"output": None}, errors.UnknownName, "time_per_output_token_s"),
        ({"hold_out": "modle"}, errors.UnknownName, "'model'"),
        ({"hold_out": 3}, errors.InputTypeError, "hold_out"),
        ({"start": {"overlap": 1}}, errors.UnknownName, "start"),
        ({"start": {"bandwidth_efficiency": 0.05}}, errors.ValueRangeError, "start"),
        ({"by": {"overlap": "model"}}, errors.UnknownName, "term"),
        ({"by": {"bandwidth_efficiency": "frame"}}, errors.UnknownName, "'framework'"),
        ({"residual": "log"}, errors.UnknownName, "'logarithm'"),
        ({"soft": 0}, errors.ValueRangeError, "soft"),
        ({"anchor": "none such"}, errors.UnknownName, "none such"),
        ({"bandwidth_efficiency": 0.5}, errors.InputTypeError, "both fitted and given"),
        ({"settings": {"chips": 3}}, errors.InputTypeError, "'chips'"),
        (
            {"settings": {"overlap": "none"}, "overlap": "none"},
            errors.InputTypeError,
            "settings: 'overlap' is also given",
        ),
        ({"by": "framework"}, errors.InputTypeError, "by: expected a column for a term, got 'framework'"),
        ({"ignore": ()}, errors.UnknownName, "'framework'"),
        ({"table": [1]}, errors.InputTypeError, "row 0: expected a dict, got 1"),
        ({"table": runs(1)}, errors.AxisError, "2 constants"),
        ({"table": runs(40).assign(seconds="fast")}, errors.InputTypeError, "seconds"),
        ({"table": runs(40).assign(model="GPT-9")}, errors.UnknownName, "GPT-9"),
        (
            {"table": runs(40).assign(framework=[["one"]] * 40), "hold_out": "framework", "ignore": ()},
            errors.InputTypeError,
            "framework: expected texts or numbers, got a column of other objects",
        ),
        (
            {"table": runs(40).assign(model="Qwen3-32B"), "hold_out": "model"},
            errors.AxisError,
            "all rows have the same model",
        ),
    ],
    ids=range(32),
)
def test_mistakes(changes, error, said):
    with pytest.raises(error, match=said):
        mistaken(**changes)


def test_rows_with_drafts_of_unknown_length_are_left_out_and_counted():
    columns = [
        "model",
        "hardware",
        "weight_format",
        "chips",
        "concurrency",
        "input_tokens",
        "output_tokens",
        "framework",
    ]
    serving = next(table for table in shipped() if table.name == "serving")
    rows = serving.runs.rows.loc[serving.runs.plain, [*columns, "time_per_output_token_s"]].iloc[::40]
    drafts = rows.assign(time_per_output_token_s=1e-6, speculation="yes")
    what = {"measured": "time_per_output_token_s", "anchor": "time_per_output_token_factor"}
    plain = rs.calibrate(rows, {"bandwidth_efficiency": (0.1, 1)}, **what)
    with pytest.warns(rs.RoofslateWarning, match=f"{len(rows)} of {2 * len(rows)} rows .*: they ran with drafts"):
        both = rs.calibrate(
            pd.concat([rows.assign(speculation="none"), drafts]), {"bandwidth_efficiency": (0.1, 1)}, **what
        )
    assert dict(both) == dict(plain)
    with pytest.warns(rs.RoofslateWarning, match="drafts"):
        anchored = rs.calibration().anchored(pd.concat([rows.iloc[:1].assign(speculation="none"), drafts]))
    one = rs.calibration().anchored(rows.iloc[:1])
    assert anchored["time_per_output_token_factor"] == one["time_per_output_token_factor"]


def test_rows_without_a_value_are_left_out_and_counted(noisy):
    spoiled = noisy.copy()
    spoiled.loc[[0, 1], "seconds"] = [math.nan, -1.0]
    spoiled.loc[2, "batch_size"] = math.nan
    spoiled.loc[3, "seconds"] = math.inf
    with pytest.warns(rs.RoofslateWarning, match="4 of 400 rows are left out"):
        result = rs.calibrate(spoiled, TERMS, ignore="framework", **WHAT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clean = rs.calibrate(noisy.iloc[4:], TERMS, ignore="framework", **WHAT)
    assert dict(result) == dict(clean)


@pytest.mark.parametrize(
    ("kinds", "least", "without"), [(2, 0.75, 0.6), (3, 0.7, 0.65), (4, 0.75, 0.7), (10, 0.77, 0.8)]
)
def test_bands_of_few_kinds_hold_a_new_one(kinds, least, without):
    """Quantiles of few kinds hold too little of another one.

    Kinds differ by 1, rows of a kind by 0.5.
    """
    rng = np.random.default_rng(1)
    folds = np.repeat(np.arange(kinds), 60)
    coverage = {"for a new kind": [], "of the rows": []}
    for _ in range(200):
        misses = rng.normal(0, 1, kinds)[folds] + rng.normal(0, 0.5, len(folds))
        new = rng.normal(0, 1) + rng.normal(0, 0.5, 60)
        for how, spread in (("for a new kind", percentiles(misses, folds)), ("of the rows", percentiles(misses))):
            low, high = np.interp([0.1, 0.9], PERCENTILES, spread)
            coverage[how].append(np.mean((new >= low) & (new <= high)))
    assert least < np.mean(coverage["for a new kind"]) < 0.88
    assert np.mean(coverage["of the rows"]) < without


def test_bands_stay_finite_where_others_miss_to_one_side():
    folds = np.arange(40) % 4
    misses = np.where(folds == 3, -1, 1) * np.linspace(1.0, 2.0, 40)
    wider = np.divide(percentiles(misses, folds), percentiles(misses))
    # the others of the fourth never miss to its side: it has the largest factor
    assert wider[0] == pytest.approx(np.quantile([1, 1, 1, 1.75], 0.75), rel=1e-4)
    assert wider[-1] == pytest.approx(math.sqrt(1 + 1 / 4), rel=1e-4)


# ------------------------------------------------------------------------------------------------------------- shipped


@pytest.mark.parametrize("name", ["serving", "FasterTransformer", "TensorRT-LLM", "training"])
def test_shipped_constants_are_those_of_the_shipped_tables(name):
    """`python python/tools/calibrate.py` would change nothing."""
    from calibrate import fitted as fit

    calibration = rs.calibration(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rs.RoofslateWarning)  # of rows that ran out of memory
        (table,) = [t for t in shipped() if t.calibration == name and t.fits]
        again = fit(table)
    for constant in again.constants:
        assert calibration[constant.name] == pytest.approx(constant.value, rel=1e-4)
    assert calibration.date
    assert calibration.data == table.source


def test_a_fit_that_rests_on_another_has_its_constants():
    """A new fit of the other one asks for a new one of this."""
    based = [t for t in shipped() if t.base and t.fits]
    assert based
    for table in based:
        sought = {name for fit in table.fits.values() for name in fit["terms"]}
        known = {name: x for name, x in rs.calibration(table.base).items() if name not in sought} | table.settings
        calibration = rs.calibration(table.calibration)
        assert {name: calibration[name] for name in known} == known


@pytest.mark.parametrize("left_out", ["model", "hardware", "framework"])
@pytest.mark.parametrize("column", ["time_per_output_token_s", "time_to_first_token_s"])
def test_bands_hold_in_every_group_of_rows_left_out(rows_left_out, column, left_out):
    rows, inside = rows_left_out[column, left_out]
    assert 0.75 <= inside.mean() <= 0.88
    for by in ("hardware", "framework", "weight_format"):
        of_group = pd.Series(inside).groupby(rows[by].to_numpy()).agg(["mean", "size"])
        assert of_group[of_group["size"] >= 40]["mean"].min() >= 0.65


@pytest.fixture(scope="module")
def rows_left_out():
    """Rows of the serving table by column and split, and if a band of others holds them."""
    from calibrate import fitted as fit

    (table,) = [t for t in shipped() if t.name == "serving"]
    inside, rows = [], []
    with pytest.MonkeyPatch.context() as patch:
        of_others, usable = calibrate_module.inside_band_of_others, calibrate_module.usable_rows
        patch.setattr(calibrate_module, "inside_band_of_others", lambda *a: inside.append(of_others(*a)) or inside[-1])
        patch.setattr(calibrate_module, "usable_rows", lambda *a: rows.append(usable(*a)) or rows[-1])
        fit(table)
    splits = [*table.hold_out, "all of these"]
    by_split = {}
    for k, column in enumerate(table.fits):
        used = table.runs.rows[table.runs.counted(column)].iloc[rows[k]]
        of_column = inside[k * len(splits) : (k + 1) * len(splits)]
        by_split |= {(column, split): (used, truths) for split, truths in zip(splits, of_column, strict=True)}
    return by_split


def test_shipped_calibrations_are_found_by_name():
    with pytest.raises(errors.UnknownName, match="'serving'"):
        rs.calibration("servin")
    assert rs.calibration() is rs.calibration()
    assert len(PERCENTILES) == len(rs.calibration().fits["time_per_output_token"].spread["measured"])
