"""Draws from distributions, and folds over samples that are never kept."""

import functools
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from benchmarks.samples import guesses
from hypothesis import given, settings
from hypothesis import strategies as st
from roofslate import _core
from roofslate.errors import AxisError, InputTypeError, MissingInput, UnknownName, ValueRangeError
from roofslate.grid.read import Settled
from support.lazy import Later, Lazy, made, needs

stats = Lazy("scipy.stats")
pytestmark = needs("scipy", reason="scipy is not installed (pip install 'roofslate[analysis]')")


five = functools.cache(guesses)  # of all that the ratio of over-training depends on


@functools.cache
def machine():
    return {"hbm_capacity": stats.norm(192e9, 10e9), "hbm_bandwidth": stats.uniform(6e12, 4e12)}


RATIO = "overtraining_ratio"
Q = [0.0, 0.05, 0.25, 0.5, 0.95, 1.0]


def drawn(sampled, *names):
    return np.column_stack([sampled[name].to_numpy() for name in names])


# ---------------------------------------------------------------------------------------------------------------- draws


@pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 4096, 70001])
def test_draws_are_scipys_scrambled_sobol_points(n):
    """Mapped at the middle of the lattice's intervals."""
    points = stats.qmc.Sobol(2, bits=32, seed=np.random.default_rng(11)).random(n if n < 3 else 1 << 17)[:n] + 2.0**-33
    sampled = rs.sample("hbm_drain_time", n, machine(), seed=11)
    for k, (name, distribution) in enumerate(machine().items()):
        # the table is checked to 1e-10 at some points of each piece
        np.testing.assert_allclose(sampled[name], distribution.ppf(points[:, k]), rtol=1e-9)


def test_the_sample_is_labelled():
    result = rs.sample(["hbm_drain_time", "hbm_capacity"], 64, machine(), seed=1, units={"hbm_drain_time": "ms"})
    assert result["hbm_drain_time"].dims == ("sample",)
    assert result["hbm_drain_time"].attrs["units"] == "ms"
    assert set(result.coords) == {"hbm_capacity", "hbm_bandwidth"}
    assert result["hbm_bandwidth"].attrs["units"] == rs.quantity("hbm_bandwidth").unit
    assert result.attrs["hbm_bandwidth"] == "uniform(6e+12, 4e+12)"
    assert result.attrs["seed"] == "1"
    times = result["hbm_capacity"] / result["hbm_bandwidth"]
    np.testing.assert_allclose(result["hbm_drain_time"], 1e3 * times, rtol=1e-14)
    one = rs.sample("hbm_drain_time", 64, machine(), seed=1)
    np.testing.assert_array_equal(one, rs.evaluate("hbm_drain_time", {name: one[name] for name in machine()}))


def test_other_axes_and_presets_stay_axes():
    result = rs.sample(
        "pass_time", 32, seed=3, hbm_bandwidth=stats.uniform(7e12, 1e12), model="DeepSeek-V3",
        hardware=["B200", "H200"], chips=72, batch_size=[1, 64, 512], context_length="8k",
    )  # fmt: skip
    assert result.dims == ("hardware", "batch_size", "sample")
    assert result.sizes == {"hardware": 2, "batch_size": 3, "sample": 32}


def test_a_draw_that_changes_no_value_is_an_axis_too():
    """Experts count only if some of them are redundant."""
    given = {"dense_parameters": 1e10, "bytes_per_weight": 1, "expert_copies": 1}
    result = rs.sample("expert_bytes", 16, given, experts=(8, 16), total_parameters=[1e12, 2e12])
    assert result.dims == ("total_parameters", "sample")
    assert (result == [[9.9e11], [1.99e12]]).all()


def test_a_longer_sample_begins_with_the_shorter_one():
    short, long = (rs.sample(RATIO, n, five(), seed=4, model="lecture training") for n in (1000, 1 << 17))
    np.testing.assert_array_equal(short, long[:1000])
    other = rs.sample(RATIO, 1000, five(), seed=5, model="lecture training")
    assert not np.array_equal(short, other)


@pytest.mark.parametrize("correlation", [None, [[1, 0.5], [0.5, 1]]], ids=["independent", "correlated"])
def test_draws_have_the_same_bits_everywhere(correlation, instruction_sets):
    expected = None
    before = _core.instruction_set()
    try:
        for name in instruction_sets:
            _core.use_instruction_set(name)
            for threads in (1, 2, 5):
                got = rs.sample(
                    "hbm_drain_time", 200_001, machine(), seed=9, threads=threads, correlation=correlation
                ).to_numpy()
                expected = got if expected is None else expected
                np.testing.assert_array_equal(got, expected)
                streamed = rs.quantiles(
                    "hbm_drain_time", Q, machine(), n=200_001, seed=9, threads=threads, correlation=correlation
                )
                np.testing.assert_array_equal(streamed, np.quantile(expected, Q))
    finally:
        _core.use_instruction_set(before)


SMOOTH = st.one_of(
    st.builds(lambda s: stats.lognorm(s, scale=1e12), st.floats(0.01, 4)),
    st.builds(lambda m, s: stats.norm(m, s), st.floats(1e3, 1e6), st.floats(1e-3, 100)),
    st.builds(lambda a, b: stats.beta(a, b, loc=1, scale=5), st.floats(0.2, 20), st.floats(0.2, 20)),
    st.builds(lambda c: stats.triang(c, loc=3, scale=2), st.floats(0, 1)),
    st.builds(lambda r: stats.loguniform(1, r), st.floats(1.01, 1e9)),
    st.builds(lambda a, b: stats.truncnorm(a, b, loc=50), st.floats(-8, -0.1), st.floats(0.1, 8)),
    st.builds(lambda c: stats.weibull_min(c), st.floats(0.5, 9)),
)


@settings(max_examples=40, deadline=None)
@given(distribution=SMOOTH, seed=st.integers(0, 2**32))
def test_tables_follow_the_inverse_distribution_function(distribution, seed):
    """The error is far below the resolution of any sample: 1e-9 of a value."""
    points = stats.qmc.Sobol(1, bits=32, seed=np.random.default_rng(seed)).random(1 << 12)[:, 0] + 2.0**-33
    got = rs.sample("hbm_bandwidth", 1 << 12, seed=seed, hbm_bandwidth=distribution)
    np.testing.assert_allclose(got, distribution.ppf(points), rtol=1e-9)


def test_a_histogram_of_measurements_is_a_distribution():
    """Its function has kinks, and a gap over which it jumps."""
    counted = np.histogram(np.r_[np.random.default_rng(0).normal(10, 1, 500), np.full(300, 20.0)], 30)
    distribution = stats.rv_histogram(counted)()
    points = stats.qmc.Sobol(1, bits=32, seed=np.random.default_rng(1)).random(1 << 14)[:, 0] + 2.0**-33
    got = rs.sample("hbm_bandwidth", 1 << 14, seed=1, hbm_bandwidth=distribution)
    np.testing.assert_allclose(got, distribution.ppf(points), rtol=1e-9)


@pytest.mark.parametrize("distribution", [("randint", 1, 9), ("poisson", 5, 1), ("binom", 40, 0.3, 1)])
def test_discrete_distributions_are_drawn_exactly(distribution):
    name, *parameters = distribution
    distribution = getattr(stats, name)(*parameters)
    points = stats.qmc.Sobol(1, bits=32, seed=np.random.default_rng(1)).random(1 << 14)[:, 0] + 2.0**-33
    got = rs.sample("batch_size", 1 << 14, seed=1, batch_size=distribution)
    np.testing.assert_array_equal(got, distribution.ppf(points))


def test_distributions_of_the_newer_kind():
    if not hasattr(stats, "Normal"):
        pytest.skip("this SciPy has no distributions of the newer kind")
    old = rs.sample("hbm_drain_time", 256, seed=1, hbm_bandwidth=8e12, hbm_capacity=stats.norm(192e9, 10e9))
    new = rs.sample("hbm_drain_time", 256, seed=1, hbm_bandwidth=8e12, hbm_capacity=stats.Normal(mu=192e9, sigma=10e9))
    np.testing.assert_allclose(new, old, rtol=1e-9)


# ---------------------------------------------------------------------------------------------------- right on average


def test_mean_and_quantiles_agree_with_an_independent_monte_carlo():
    """Within 4 standard errors of plain draws. Sobol points have far smaller errors."""
    n = 400_000
    rng = np.random.default_rng(123)
    x = {name: d.rvs(n, random_state=rng) for name, d in five().items()}
    tokens = x["model_token_rate"] * x["model_lifetime"]
    plain = tokens * (2 * x["decode_inefficiency"] / 6) / (x["optimal_tokens_per_parameter"] * x["active_parameters"])
    ours = rs.sample(RATIO, 1 << 17, five(), seed=1).to_numpy()
    assert abs(ours.mean() - plain.mean()) < 4 * plain.std() / np.sqrt(n)
    for q in (0.05, 0.5, 0.95):
        share = np.mean(plain <= np.quantile(ours, q))
        assert abs(share - q) < 4 * np.sqrt(q * (1 - q) / n), q


def test_sobol_points_err_a_tenth_of_plain_draws():
    """Root mean squares over ten seeds, of the mean of a ratio that is known."""
    rate, life = stats.uniform(10e6, 90e6), stats.uniform(30 * 86400, 335 * 86400)
    exact = rate.mean() * life.mean()
    n, ours, plain = 1 << 16, [], []
    for seed in range(10):
        result = rs.sample("lifetime_tokens", n, seed=seed, model_token_rate=rate, model_lifetime=life)
        ours.append(float(result.mean()) / exact - 1)
        rng = np.random.default_rng(seed)
        plain.append((rate.rvs(n, random_state=rng) * life.rvs(n, random_state=rng)).mean() / exact - 1)
    assert np.sqrt(np.mean(np.square(ours))) <= np.sqrt(np.mean(np.square(plain))) / 10


# -------------------------------------------------------------------------------------------------------- correlation


def test_correlation_is_that_of_the_normal_scores():
    names = list(five())[:3]
    matrix = np.array([[1, 0.8, -0.3], [0.8, 1, 0.1], [-0.3, 0.1, 1]])
    table = pd.DataFrame(matrix, index=names, columns=names)
    inputs = {**five(), "rl_flops_per_parameter": 3}
    result = rs.sample(RATIO, 1 << 16, inputs, seed=2, correlation=table)
    scores = [stats.norm.ppf(five()[name].cdf(result[name])) for name in five()]
    got = np.corrcoef(scores)
    expected = np.eye(5)
    expected[:3, :3] = matrix
    assert np.abs(got - expected).max() < 0.005  # 1 / sqrt(n) is 0.004 for plain draws
    for name, column in zip(five(), scores, strict=True):  # each still has its own distribution
        assert stats.kstest(column, "norm").statistic < 0.003, name
    shuffled = table.loc[names[::-1], names[::-1]]
    half = {names[0]: {names[1]: 0.8, names[2]: -0.3}, names[2]: {names[1]: 0.1}}
    for same in (shuffled, half, expected.tolist()):
        again = rs.sample(RATIO, 1 << 16, inputs, seed=2, correlation=same)
        np.testing.assert_array_equal(again, result)


def test_independent_inputs_stay_where_they_are_under_correlation():
    alone = rs.sample("hbm_drain_time", 4096, machine(), seed=1)
    uncorrelated = rs.sample("hbm_drain_time", 4096, machine(), seed=1, correlation=np.eye(2))
    # the score is a probability again, on a lattice of 2**-32
    np.testing.assert_allclose(uncorrelated, alone, rtol=1e-6)


@pytest.mark.parametrize(
    ("correlation", "error", "words"),
    [
        ([[1, 2], [2, 1]], ValueRangeError, "positive definite"),
        ([[1, 1], [1, 1]], ValueRangeError, "positive definite"),
        ([[1, 0.5], [0.4, 1]], ValueRangeError, "symmetric"),
        ([[1, 0], [0, 2]], ValueRangeError, "hbm_bandwidth with itself must be 1, got 2"),
        ([[1, np.nan], [np.nan, 1]], ValueRangeError, "not finite"),
        ([[1]], AxisError, "hbm_capacity, hbm_bandwidth"),
        (0.5, AxisError, "a row and a column"),
        ("high", InputTypeError, "correlation"),
        ({"hbm_capacity": {"chips": 0.5}}, UnknownName, "chips"),
        ({"hbm_capacity": 0.5}, InputTypeError, "correlation"),
        ({"hbm_capacity": {"hbm_bandwidth": "half"}}, InputTypeError, "half"),
    ],
)
def test_bad_correlations_are_refused(correlation, error, words):
    with pytest.raises(error, match=words):
        rs.sample("hbm_drain_time", 16, machine(), seed=1, correlation=correlation)


# ------------------------------------------------------------------------------------------------------------ streaming


@pytest.mark.parametrize("n", [1, 7, 1000, 65536, 300_001])
def test_folds_see_the_draws_of_the_sample(n):
    sampled = rs.sample(RATIO, n, five(), seed=6).to_numpy()
    np.testing.assert_array_equal(rs.quantiles(RATIO, Q, five(), n=n, seed=6), np.quantile(sampled, Q))
    result = rs.histogram(RATIO, five(), bins=40, log=True, n=n, seed=6)
    edges = np.append(result["lower"], result["upper"][-1])
    np.testing.assert_array_equal(result["count"], np.histogram(sampled, edges)[0])
    assert int(result["count"].sum()) == n
    where = [f"{RATIO} > 50", f"{RATIO} <= 200"]
    assert rs.count(where, five(), n=n, seed=6) == np.sum((sampled > 50) & (sampled <= 200))


def test_quantiles_keep_many_rows():
    """So many that each gets fewer values as a hint at its quantiles."""
    inputs = {"hbm_capacity": stats.norm(192e9, 10e9), "hbm_bandwidth": np.linspace(1e12, 9e12, 60)}
    sampled = rs.sample("hbm_drain_time", 70_001, inputs, seed=3)
    result = rs.quantiles("hbm_drain_time", Q, inputs, over="sample", n=70_001, seed=3)
    np.testing.assert_array_equal(result, np.quantile(sampled, Q, axis=sampled.dims.index("sample")))


def test_folds_keep_the_other_axes():
    inputs = {
        "hbm_bandwidth": stats.lognorm(0.1, scale=8e12), "peak_flops": stats.uniform(4e15, 2e15), "chips": 72,
        "total_parameters": 671e9, "active_parameters": 37e9, "kv_bytes_per_token": 70e3, "bytes_per_weight": 1,
        "batch_size": [64, 512, 4096], "context_length": [1e3, 1e4],
    }  # fmt: skip
    n = 100_003
    sampled = rs.sample("pass_time", n, inputs, seed=2)
    by_axes = rs.quantiles("pass_time", Q, inputs, over="sample", n=n, seed=2)
    assert by_axes.dims == ("quantile", "batch_size", "context_length")
    np.testing.assert_array_equal(by_axes, np.quantile(sampled, Q, axis=2))
    some = rs.quantiles("pass_time", Q, inputs, over=["batch_size", "sample"], n=n, seed=2)
    values = np.moveaxis(sampled.to_numpy(), 1, 0).reshape(2, -1)
    np.testing.assert_array_equal(some, np.quantile(values, Q, axis=1))
    np.testing.assert_array_equal(rs.quantiles("pass_time", Q, inputs, n=n, seed=2), np.quantile(sampled, Q))
    counts = rs.count("pass_time <= 20 ms", inputs, over="sample", n=n, seed=2)
    xr.testing.assert_equal(counts, (sampled <= 0.02).sum("sample").rename("count"))
    bins = rs.histogram("pass_time", inputs, bins=[1e-3, 1e-2, 1e-1, 1], over=["sample", "context_length"], n=n, seed=2)
    for k in range(3):
        np.testing.assert_array_equal(bins["count"][k], np.histogram(sampled[k], [1e-3, 1e-2, 1e-1, 1])[0])
    # an axis along which nothing varies repeats every value, if a call has settled that it may
    idle = Settled({**inputs, "chip_price": [1e-3, 2e-3, 3e-3]})
    assert rs.count("pass_time <= 20 ms", idle, n=n, seed=2) == 3 * int(counts.sum())
    repeated = np.quantile(np.repeat(sampled.to_numpy().ravel(), 3), Q)
    np.testing.assert_array_equal(rs.quantiles("pass_time", Q, idle, n=n, seed=2), repeated)


def test_what_does_not_depend_on_the_draws_is_repeated():
    inputs = Settled({"hbm_capacity": [100e9, 200e9], "hbm_bandwidth": 1e12, "chips": stats.uniform(1, 9)})
    assert rs.quantiles("hbm_drain_time", 0.5, inputs, n=1000, seed=1) == pytest.approx(0.15)
    assert rs.count("hbm_drain_time > 150 ms", inputs, n=1000, seed=1) == 1000
    assert rs.count("hbm_drain_time > 150 ms", inputs, over="sample", n=1000, seed=1).values.tolist() == [0, 1000]
    result = rs.histogram("hbm_drain_time", inputs, bins=2, n=1000, seed=1)
    assert result["count"].values.tolist() == [1000, 1000]


def test_quantiles_of_values_that_are_equal_or_undefined():
    n = 300_007
    with rs.definitions():
        rs.define(
            "clipped",
            "s",
            lambda hbm_drain_time: rs.math.minimum(hbm_drain_time, rs.math.constant("24 ms")),
            brief="at most 24 ms",
        )
        rs.define(
            "root",
            "1",
            lambda hbm_drain_time: np.sqrt(hbm_drain_time / rs.math.constant("24 ms") - 1),
            brief="NaN below 24 ms",
        )
        rs.define(
            "nowhere",
            "1",
            lambda hbm_drain_time: np.sqrt(-hbm_drain_time / rs.math.constant("24 ms")),
            brief="NaN everywhere",
        )
        for name in ("clipped", "root"):
            values = rs.sample(name, n, machine(), seed=8).to_numpy()
            expected = np.nanquantile(values, Q)
            np.testing.assert_array_equal(rs.quantiles(name, Q, machine(), n=n, seed=8), expected)
            result = rs.histogram(name, machine(), bins=10, n=n, seed=8)
            assert int(result["nan"]) == np.isnan(values).sum()
        assert 0 < np.isnan(values).sum() < n
        assert np.isnan(rs.quantiles("nowhere", 0.5, machine(), n=n, seed=8))


def test_a_wrong_hint_is_made_good():
    """Nearly all values are equal, so that few of the first draws inform about later ones."""
    n = 1 << 18
    with rs.definitions():

        def rare(hbm_drain_time):
            limit = rs.math.constant("31.9 ms")
            return rs.math.where(hbm_drain_time > limit, hbm_drain_time / limit, 0.5)

        rs.define("rare", "1", rare, brief="nearly always a half")
        values = rs.sample("rare", n, machine(), seed=8).to_numpy()
        q = [0.9, 0.99, 0.995, 0.999, 0.9999, 0.99999]
        np.testing.assert_array_equal(rs.quantiles("rare", q, machine(), n=n, seed=8), np.quantile(values, q))


_PEAK = """
import resource, sys
from scipy import stats
import roofslate as rs
def ask(n):
    rs.quantiles("hbm_drain_time", [0.05, 0.5, 0.95], n=n, seed=1, progress=False,
                 hbm_capacity=stats.norm(192e9, 10e9), hbm_bandwidth=stats.uniform(6e12, 4e12))
ask(1 << 17)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ask(10_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is in kilobytes on Linux")
@pytest.mark.measured
def test_memory_does_not_grow_with_the_draws():
    grown = subprocess.run([sys.executable, "-c", _PEAK], capture_output=True, text=True, check=True).stdout
    assert int(grown) < 20_000  # KB; two columns of ten million draws would take 160,000


# --------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("n", [0, -5, 2**32])
def test_numbers_of_draws_out_of_range(n):
    with pytest.raises(ValueRangeError, match="n must be at least 1"):
        rs.sample("hbm_drain_time", n, machine(), seed=1)
    with pytest.raises(ValueRangeError, match="n must be at least 1"):
        rs.quantiles("hbm_drain_time", 0.5, machine(), n=n, seed=1)


@pytest.mark.parametrize("n", [2.0, "100", None, True, [4]])
def test_numbers_of_draws_that_are_no_whole_numbers(n):
    with pytest.raises(InputTypeError, match="n must be a whole number"):
        rs.sample("hbm_drain_time", n, machine(), seed=1)


def test_seeds():
    assert rs.sample("hbm_drain_time", 16, machine()).identical(rs.sample("hbm_drain_time", 16, machine(), seed=0))
    for call in (
        lambda **k: rs.quantiles("hbm_drain_time", 0.5, **k),
        lambda **k: rs.histogram("hbm_drain_time", **k),
        lambda **k: rs.count("hbm_drain_time > 1 ms", **k),
    ):
        for options, same in (({}, {"n": 1024, "seed": 0}), ({"n": 16}, {"seed": 0}), ({"seed": 3}, {"n": 1024})):
            assert str(call(**options, **machine())) == str(call(**options, **same, **machine()))
        with pytest.raises(InputTypeError, match="n must be a whole number"):
            call(n=16.5, **machine())
    with pytest.raises(InputTypeError, match="seed"):
        rs.sample("hbm_drain_time", 16, machine(), seed="one")
    with pytest.raises(ValueRangeError, match="seed"):
        rs.sample("hbm_drain_time", 16, machine(), seed=-1)


def gap():
    """From 1 to 2, but for some probabilities that have no value."""

    class Gap(stats.rv_continuous):  # type: ignore[name-defined]
        def _ppf(self, q):
            return np.where((q > 0.3) & (q < 0.31), np.inf, 1 + q)

        def _cdf(self, x):
            return np.clip(x - 1, 0, 1)

    return Gap(name="gap")()


@pytest.mark.parametrize(
    ("distribution", "error", "words"),
    [
        (Later(lambda: stats.norm), InputTypeError, "norm is not frozen"),
        (Later(lambda: stats.poisson), InputTypeError, "poisson is not frozen"),
        (Later(lambda: stats.multivariate_normal([1, 2])), InputTypeError, "several values"),
        (Later(lambda: stats.norm([1e12, 2e12], 1e9)), InputTypeError, "arrays"),
        (Later(lambda: stats.norm(8e12, -1)), ValueRangeError, "not defined"),
        (Later(lambda: stats.norm(8e12, np.nan)), ValueRangeError, "not defined"),
        (
            Later(lambda: stats.norm(8e12, 2e12)),
            ValueRangeError,
            r"hbm_bandwidth must be .* 3\.2e-05 of all draws.*truncnorm",
        ),
        (Later(lambda: stats.uniform(-1, 2)), ValueRangeError, "0.5 of all draws"),
        (
            Later(lambda: stats.randint(1, 10**7)),
            ValueRangeError,
            r"hbm_bandwidth: randint\(1, 1e\+07\) .* has too many steps",
        ),
        (Later(gap), ValueRangeError, r"hbm_bandwidth: gap\(\) can't be drawn: .* is not finite everywhere"),
    ],
)
def test_distributions_that_can_not_be_drawn(distribution, error, words):
    distribution = made(distribution)
    with pytest.raises(error, match=words):
        rs.sample("hbm_drain_time", 16, seed=1, hbm_capacity=1e9, hbm_bandwidth=distribution)
    with pytest.raises(error, match=words):
        rs.count("hbm_drain_time > 1 ms", n=16, seed=1, hbm_capacity=1e9, hbm_bandwidth=distribution)


def test_other_mistakes_are_named_before_any_work():
    with pytest.raises(MissingInput, match="frozen distribution"):
        rs.sample("hbm_drain_time", 16, seed=1, hbm_capacity=1, hbm_bandwidth=1)
    with pytest.raises(MissingInput, match="hbm_capacity"):
        rs.sample("hbm_drain_time", 10**9, seed=1, hbm_bandwidth=machine()["hbm_bandwidth"])
    with pytest.raises(MissingInput, match="hbm_capacity"):
        rs.quantiles("hbm_drain_time", 0.5, n=10**9, seed=1, hbm_bandwidth=machine()["hbm_bandwidth"])
    with pytest.raises(UnknownName, match="hbm_bandwidth"):
        rs.sample("hbm_drain_time", 16, seed=1, hbm_bandwith=machine()["hbm_bandwidth"])
    with pytest.raises(InputTypeError, match="overlap"):
        rs.sample("pass_time", 16, seed=1, overlap=stats.uniform(0, 1))
    with pytest.raises(AxisError, match="'sample' is the axis of the draws"):
        rs.sample("hbm_drain_time", 16, machine(), seed=1, chips=xr.DataArray([1, 2], dims="sample"))
    with pytest.raises(AxisError, match="Add 'sample'"):
        rs.quantiles(
            "pass_tokens", 0.5, over="batch_size", n=16, seed=1, batch_size=[1, 2], pass_length=stats.uniform(1, 2)
        )
    with pytest.raises(ValueRangeError, match="experts_per_token must not exceed"):
        rs.sample("experts_per_token", 16, seed=1, experts=8, experts_per_token=stats.uniform(1, 8))
    both = {"experts": stats.uniform(6, 8), "experts_per_token": stats.uniform(1, 7)}
    with pytest.raises(ValueRangeError, match="experts_per_token must not exceed"):
        rs.sample("experts_per_token", 16, both, seed=1)
    with pytest.raises(MemoryError, match="keep no sample"):
        rs.sample("hbm_drain_time", 2**32 - 1, machine(), seed=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda **k: rs.evaluate("hbm_drain_time", k),
        lambda **k: rs.value("hbm_drain_time", k),
        lambda **k: rs.frame(pd.DataFrame({"chips": [1]}), "hbm_drain_time", k),
        lambda **k: rs.best("hbm_drain_time", k, over="chips", chips=[1, 2]),
        lambda **k: rs.pareto(k, minimize="hbm_drain_time", chips=[1, 2]),
        lambda **k: rs.solve("hbm_capacity", "hbm_drain_time == 1 s", hbm_bandwidth=k["hbm_bandwidth"]),
        lambda **k: rs.sensitivity("hbm_drain_time", k),
        lambda **k: rs.bounds("hbm_drain_time", k),
        lambda **k: rs.explain("hbm_drain_time", k),
        lambda **k: rs.compare(k, k, "hbm_drain_time"),
        lambda **k: rs.tornado("hbm_drain_time", k, chips=(1, 2)),
    ],
)
def test_elsewhere_a_distribution_is_an_error_that_names_sample(call):
    with pytest.raises(InputTypeError, match=r"rs\.sample"):
        call(**machine())
