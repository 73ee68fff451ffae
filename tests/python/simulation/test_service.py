"""Simulated services against exact queues, worked examples, and their own books."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate.simulation.scenario import read_sessions
from roofslate.simulation.service import run_steps
from roofslate.simulation.steps import Service

LINE = rs.StepTimes(base=0.012, slope=1e-4, prompt_token_time=40e-6, seats=128)
SMALL: dict[str, Any] = {"steps": LINE, "input_tokens": "1k", "output_tokens": 200, "requests": 20_000, "seed": 1}
MODEL: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "HGX H200", "chips": 8, "input_tokens": "2k"}


def small(**changes: Any) -> rs.Simulation:
    return rs.simulate(**{**SMALL, **changes})


def near(result: dict[str, float], name: str, expected: float, *, errors: float = 3, rel: float = 0.0) -> None:
    """Within so many standard errors, which are small enough to be informative."""
    error = result[f"{name}_error"]
    assert error < 0.05 * expected
    assert result[name] == pytest.approx(expected, abs=errors * error + rel * expected), (name, result[name], expected)


# ----------------------------------------------------------------------------------------------------- exact queues


@pytest.mark.parametrize("lengths", [{}, {"output_cv": 2.0}, {"geometric": (False, True)}])
def test_running_sequences_are_negative_binomial_whatever_the_lengths(lengths: dict[str, Any]) -> None:
    """Mean (a/b + 1) r/(1 - r) with r = rate D b."""
    base, slope, tokens, rate = 0.002, 0.001, 1000, 0.5
    result = run_steps(
        base=base, slope=slope, arrival_rate=rate, output_tokens=tokens, prompt_policy="apart", requests=40_000, seed=2,
        **lengths,
    )  # fmt: skip
    r = rate * tokens * slope
    near(result, "running_sequences_mean", (base / slope + 1) * r / (1 - r), rel=1e-3)
    near(result, "time_per_decoded_token_mean", (base + slope) / (1 - r), rel=1e-3)


@pytest.mark.parametrize(("input_cv", "load"), [(0.0, 0.5), (0.0, 0.9), (1.0, 0.7)])
def test_prompts_alone_are_a_queue_of_one_server(input_cv: float, load: float) -> None:
    """M/D/1 and M/G/1: the mean wait is load x prompt x (1 + cv^2)/(2 (1 - load))."""
    prompt = 0.1
    result = run_steps(
        base=1, slope=0, arrival_rate=load / prompt, output_tokens=1, input_tokens=1000, input_cv=input_cv,
        prompt_token_time=prompt / 1000, token_budget=1, prompt_policy="first", requests=400_000, seed=4,
    )  # fmt: skip
    wait = load * prompt * (1 + input_cv**2) / (2 * (1 - load))
    near(result, "queue_mean", wait)
    near(result, "time_to_first_token_mean", wait + prompt)


def erlang_c(servers: int, busy: float) -> float:
    terms = [busy**k / math.factorial(k) for k in range(servers)]
    last = busy**servers / math.factorial(servers) / (1 - busy / servers)
    return last / (sum(terms) + last)


def test_seats_are_the_queue_of_erlang() -> None:
    """M/M/c where steps take the same time for any number of sequences."""
    seats, tokens, step, load = 8, 2000, 1e-3, 0.8
    rate = load * seats / (tokens * step)
    result = run_steps(
        base=step, slope=0, arrival_rate=rate, output_tokens=tokens, seats=seats, prompt_policy="apart",
        geometric=(False, True), requests=400_000, seed=4,
    )  # fmt: skip
    waits = erlang_c(seats, load * seats)
    near(result, "waiting_share_mean", waits, rel=2e-3)
    near(result, "queue_mean", waits * tokens * step / (seats * (1 - load)) + step / 2, rel=2e-3)
    near(result, "running_sequences_mean", load * seats)


@pytest.mark.parametrize(("load", "queue_room"), [(0.9, 0), (1.5, 4)])
def test_refused_requests_are_those_of_the_chain_that_is_cut(load: float, queue_room: int) -> None:
    base, slope, seats, tokens = 0.012, 0.8e-3, 16, 2000
    rate = load * seats / (tokens * (base + slope * seats))
    chances = np.ones(seats + queue_room + 1)
    for k in range(1, chances.size):
        running = min(k, seats)
        chances[k] = chances[k - 1] * rate * tokens * (base + slope * running) / running
    result = run_steps(
        base=base, slope=slope, arrival_rate=rate, output_tokens=tokens, seats=seats, queue_room=queue_room,
        prompt_policy="apart", geometric=(False, True), requests=200_000, seed=5,
    )  # fmt: skip
    near(result, "refused_share_mean", chances[-1] / chances.sum(), rel=5e-3)


# ------------------------------------------------------------------------------------------------------ worked cases

LINES: dict[str, Any] = {
    "base": 0.012, "slope": 1e-4, "input_tokens": 1000, "input_cv": 1, "output_tokens": 200, "output_cv": 1,
    "prompt_token_time": 40e-6, "seats": 128,
}  # fmt: skip
APART, FIRST = {"prompt_policy": "apart"}, {"prompt_policy": "first"}
CHUNKED = {"prompt_policy": "chunked", "token_budget": 2048}
LONG = {"input_tokens": 4000, "input_cv": 0.5, "output_tokens": 400}
CASES = [  # rate, changes; running, share that waits, TPOT, its p99, ITL p99, TTFT, its p99 (ms) of 2 million requests
    (7.742, APART, (22.15, 0, 14.32, 15.48, 15.6, 21.4, 29.3)),
    (23.226, APART, (104.5, 0.063, 22.54, 24.80, 24.7, 56.0, 669)),
    (23.226, {**APART, "arrival_cv": 2}, (106.2, 0.259, 22.81, 24.80, 24.7, 279, 3080)),
    (2.5806, {**APART, "seats": 16, "slope": 0.8e-3, "output_cv": 0}, (11.10, 0.184, 21.50, 24.80, 24.7, 207, 2467)),
    (10.184, FIRST, (63.6, 0.001, 31.4, 53.3, 262, 86.3, 434)),
    (3.3712, {**FIRST, **LONG}, (51.9, 0, 38.6, 81.3, 572, 300, 1054)),
    (10.184, CHUNKED, (64.0, 0.001, 31.6, 52.9, 99.4, 135, 584)),
    (
        8.4486,
        {**CHUNKED, "input_tokens": 4000, "input_cv": 0, "output_tokens": 100, "prompt_token_time": 10e-6,
         "arrival_cv": 1.5},
        (18.4, 0, 22.1, 35.6, 36.1, 203, 776),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rate", "changes", "expected"), CASES)
def test_worked_cases(rate: float, changes: dict[str, Any], expected: tuple[float, ...]) -> None:
    """Of service.md 1.6: figures of another simulator, written apart from this one."""
    result = run_steps(**{**LINES, **changes}, arrival_rate=rate, requests=400_000, seed=6)
    names = (
        *("running_sequences_mean", "waiting_share_mean", "time_per_decoded_token_mean", "time_per_output_token_p99"),
        *("inter_token_latency_p99", "time_to_first_token_mean", "time_to_first_token_p99"),
    )
    for name, theirs in zip(names, expected, strict=True):
        ours = result[name] * (1 if name.startswith(("running", "waiting")) else 1e3)
        noise = 4 * result[f"{name}_error"] * (1 if name.startswith(("running", "waiting")) else 1e3)
        assert ours == pytest.approx(theirs, abs=noise + 0.008 * theirs + 6e-4), name


# ------------------------------------------------------------------------------------------------------------- books


@pytest.mark.parametrize("policy", ["first", "chunked", "apart"])
@pytest.mark.parametrize("router", ["random", "round_robin", "least_requests", "session"])
def test_no_request_is_lost_and_littles_law_holds(policy: str, router: str) -> None:
    result = small(
        arrival_rate=18, replicas=3, prompt_policy=policy, router=router, input_cv=1, output_cv=1, cache_room=2e5,
    )  # fmt: skip
    assert set(result.requests["status"]) <= {"answered", "too_long"}
    drained = run_steps(
        base=0.012, slope=1e-4, arrival_rate=18, output_tokens=200, input_tokens=1000, prompt_token_time=4e-5,
        prompt_policy=policy, router=router, replicas=3, output_cv=1, requests=10_000, warm_up=0, seed=1, drain=True,
        replications=1,
    )  # fmt: skip
    rows = result.requests
    answered = rows[rows["status"] == "answered"]
    assert (answered["time_to_first_token"] > 0).all()
    ends = answered["time_to_first_token"] + answered["time_per_output_token"].fillna(0) * (
        answered["output_tokens"] - 1
    )
    np.testing.assert_allclose(ends, answered["request_latency"], rtol=1e-9)
    assert set(rows["replica"]) == {0, 1, 2}
    assert drained["in_system_mean"] > 1


def test_books_balance_to_rounding() -> None:
    service = {"requests": 30_000, "seed": 9, "queue_room": 3, "warm_up": 0, "drain": True, "output_cv": 1.0}
    line = {"base": 0.012, "slope": 8e-4, "seats": 16, "output_tokens": 200, "prompt_policy": "apart"}
    means = run_steps(**service, **line, arrival_rate=2.8)
    assert 0.01 < means["refused_share_mean"] < 0.2
    trace = pd.DataFrame({"arrival": np.linspace(0, 900, 5000), "input_tokens": 900, "output_tokens": 150})
    result = rs.simulate(steps=LINE, trace=trace, time_out=2, cache_room=4e4, seed=1)
    totals = {name: float(x.sum()) for name, x in result.totals.items()}
    assert totals["arrived"] == totals["answered"] + totals["lost"] == 5000
    assert totals["time_in_system"] == pytest.approx(totals["sojourn"], rel=1e-9)
    assert totals["sojourn"] >= result.requests["request_latency"].sum()


def test_the_seed_decides_and_threads_do_not() -> None:
    one, many, other = (
        small(arrival_rate=8, input_cv=1, seed=seed, threads=threads) for seed, threads in ((1, 1), (1, 3), (2, 3))
    )
    pd.testing.assert_frame_equal(one.requests, many.requests, check_exact=True)
    pd.testing.assert_frame_equal(one.summary(), many.summary(), check_exact=True)
    assert (one.requests["arrival"] != other.requests["arrival"]).any()
    assert one.seed == 1


def test_errors_tell_how_far_means_of_other_seeds_are() -> None:
    results = [small(arrival_rate=16, input_tokens=1, output_cv=1, seed=seed) for seed in range(12)]
    for mean in (lambda r: r.mean("time_to_first_token"), lambda r: r.percentile("time_to_first_token", 0.99)):
        values, errors = np.transpose([mean(result) for result in results])
        assert 0.5 < values.std(ddof=1) / errors.mean() < 2


# ------------------------------------------------------------------------------------------------------ the service


def test_routers_differ_where_seats_are_short() -> None:
    waits = {
        router: small(
            arrival_rate=20, replicas=4, router=router, prompt_policy="apart", max_running_sequences=16,
            output_cv=1, requests=60_000,
        ).percentile("time_to_first_token", 0.99)[0]
        for router in ("random", "round_robin", "least_requests")
    }  # fmt: skip
    assert waits["random"] > 1.2 * waits["round_robin"] > 1.2**2 * waits["least_requests"]


def test_a_pool_that_reads_prompts_is_a_queue_before_the_decoding() -> None:
    pool = rs.PrefillPool(replicas=1, token_time=1e-4, fixed_time=0.01, transfer_time=0.02, transfer_token_time=1e-6)
    result = small(arrival_rate=5, prefill=pool, requests=200_000)
    prompt = 0.01 + 1e-4 * 1000
    load = 5 * prompt
    wait, error = result.mean("queue")
    assert wait == pytest.approx(load * prompt / (2 * (1 - load)), abs=3 * error)
    first = result.mean("time_to_first_token")[0] - wait - prompt - 0.02 - 0.001
    assert LINE.base < first < 2.2 * (LINE.base + LINE.slope * 20)  # the rest of a step, and one
    more = small(arrival_rate=5, prefill=rs.PrefillPool(**{**vars(pool), "replicas": 3}))
    assert more.mean("queue")[0] < 0.1 * wait


def test_a_session_reads_its_new_tokens_where_the_cache_has_no_end() -> None:
    sessions = rs.Sessions(turns=3, fixed_turns=True, pause=30, first_prompt=500, cache_tokens=(1e12,))
    result = rs.simulate(
        steps=LINE, arrival_rate=4, input_tokens=100, output_tokens=50, sessions=sessions, requests=5000, seed=1,
        warm_up=4000,
    )  # fmt: skip
    hits = result.requests.groupby("input_tokens")["hit_tokens"].agg(["min", "max"])
    assert hits.loc[600].tolist() == [0, 0]
    assert hits.loc[750].tolist() == [650, 650]
    assert hits.loc[900].tolist() == [800, 800]
    assert len(hits) == 3
    assert sessions.context(100, 50) == 750
    assert result.mean("hit_rate")[0] == pytest.approx((650 + 800) / (600 + 750 + 900), rel=0.02)


@pytest.mark.parametrize("capacity", [1e5, 5e5, 2e6])
def test_hits_of_a_limited_cache_are_those_of_che(capacity: float) -> None:
    """A session's tokens stay in the prefix cache for t* after its last turn.

    Turn rate x tokens x (q E min(T, t*) + (1 - q) t*) equals the capacity.
    """
    turns, pause, rate, new, answer = 6, 40.0, 5.0, 300, 100
    sessions = rs.Sessions(turns=turns, pause=pause, pause_cv=1, cache_tokens=(capacity,))
    result = rs.simulate(
        steps=rs.StepTimes(1e-5, 1e-6), arrival_rate=rate, input_tokens=new, output_tokens=answer, sessions=sessions,
        requests=60_000, seed=1, warm_up=10_000,
    )  # fmt: skip
    sigma = math.sqrt(math.log(2))
    pauses = pause * np.exp(sigma * np.random.default_rng(1).normal(size=20_000) - sigma**2 / 2)
    tokens = sessions.context(new, answer) + answer
    again = 1 - 1 / turns
    low, high = 0.0, 1e6
    for _ in range(60):
        stay = (low + high) / 2
        used = rate * tokens * (again * np.minimum(pauses, stay).mean() + (1 - again) * stay)
        low, high = (stay, high) if used < capacity else (low, stay)
    ceiling = 1 - new / sessions.context(new, answer)
    assert result.mean("hit_rate")[0] == pytest.approx(ceiling * (pauses < stay).mean(), abs=0.04)


def test_speculation_takes_fewer_steps() -> None:
    plain, fast = (
        small(arrival_rate=0.5, steps=rs.StepTimes(0.01, 0, emitted=n), output_tokens=201, requests=3000)
        for n in (1, 2.5)
    )
    assert plain.mean("time_per_output_token")[0] == pytest.approx(0.01, rel=1e-9)
    assert fast.mean("time_per_output_token")[0] == pytest.approx(0.004, rel=1e-9)


def test_a_full_cache_preempts_and_answers_all() -> None:
    result = small(arrival_rate=6, output_cv=1, cache_room=40_000)
    assert result.requests["preemptions"].sum() > 100
    assert (result.requests["status"] == "answered").all()
    free = small(arrival_rate=6, output_cv=1)
    assert result.mean("request_latency")[0] > free.mean("request_latency")[0]


def test_limits_take_an_overload() -> None:
    refusing = small(arrival_rate=40, queue_room=10, prompt_policy="apart")
    assert refusing.mean("refused_share")[0] == pytest.approx(1 - 25.8 / 40, abs=0.02)
    assert refusing.mean("throughput")[0] == pytest.approx(25.8, rel=0.02)
    leaving = small(arrival_rate=40, time_out=3.0, prompt_policy="apart")
    assert set(leaving.requests["status"]) == {"answered", "timed_out"}
    assert leaving.requests["queue"].max() <= 3.0


def test_steps_of_a_model_are_those_of_the_graph() -> None:
    scenario = {**MODEL, "output_tokens": 500}
    result = rs.simulate(scenario, arrival_rate=0.01, requests=300, seed=1, prompt_policy="apart")
    alone = rs.value("round_time", scenario, batch_size=1)
    assert result.requests["time_per_output_token"].min() == pytest.approx(alone, rel=1e-9)
    busy = rs.simulate(scenario, arrival_rate=4, requests=4000, seed=1)
    running = busy.mean("running_sequences")[0]
    read = 4 * rs.value("concurrent_prefill_time", scenario, batch_size=running)
    expected = rs.value("round_time", scenario, batch_size=running) / (1 - read)
    assert busy.mean("time_per_output_token")[0] == pytest.approx(expected, rel=0.03)
    assert busy.load < 1
    first = rs.simulate(scenario, arrival_rate=4, requests=4000, seed=1, prompt_policy="first")
    assert first.mean("time_per_output_token")[0] > busy.mean("time_per_output_token")[0]
    pool = rs.simulate(scenario, arrival_rate=4, requests=4000, seed=1, prefill=rs.PrefillPool(2))
    assert pool.mean("time_per_output_token")[0] < busy.mean("time_per_output_token")[0]


def test_a_trace_is_replayed() -> None:
    trace = pd.DataFrame({"arrival": [0, 0.1, 5], "input_tokens": [1000, 500, 10], "output_tokens": [3, 1, 2]})
    result = rs.simulate(steps=rs.StepTimes(0.01, 0.001, 1e-5), trace=trace, seed=1)
    rows = result.requests
    np.testing.assert_allclose(rows["time_to_first_token"], [0.02, 0.015, 0.0101])
    np.testing.assert_allclose(rows["request_latency"], [0.042, 0.015, 0.0211])
    np.testing.assert_allclose(rows["time_per_output_token"], [0.011, np.nan, 0.011])
    assert math.isnan(result.load)
    assert "3 simulated requests" in str(result)


# --------------------------------------------------------------------------------------------------- result, errors


def test_the_result_is_a_table() -> None:
    result = small(arrival_rate=8, percentiles=(0.999, 0.5))
    table = result.summary()
    assert list(table.columns) == ["mean", "mean_error", "p50", "p50_error", "p99.9", "p99.9_error"]
    first = result.requests["time_to_first_token"]
    assert table.loc["time_to_first_token", "mean"] == pytest.approx(first.mean())
    assert table.loc["time_to_first_token", "p99.9"] == pytest.approx(first.quantile(0.999))
    assert table.loc["throughput", "mean"] == pytest.approx(8, rel=0.05)
    assert table.loc["refused_share", "mean"] == 0
    gaps = result.percentile("inter_token_latency", 0.5)[0]
    assert gaps == pytest.approx(0.012 + 1e-4 * table.loc["running_sequences", "mean"], rel=0.1)
    assert "time_to_first_token" in str(result)
    assert "<table" in result._repr_html_()
    assert result.mean("hit_tokens") == (0, 0)
    assert len(small(arrival_rate=8, requests=1).summary()) == len(table)


def test_progress_is_told_and_may_stop() -> None:
    seen: list[tuple[int, int]] = []
    small(arrival_rate=8, requests=100_000, threads=1, progress=lambda *x: seen.append(x))
    assert seen
    assert all(0 <= done <= total == 100_000 for done, total in seen)

    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small(arrival_rate=8, requests=1_000_000, progress=stop)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"arrival_rate": 40}, rs.errors.ValueRangeError, r"load 3\.\d+ \(decoding 1\.\d+ with 128 sequences, prompts"),
        ({"step_token_budget": 64, "output_tokens": 10}, rs.errors.ValueRangeError, "prompt tokens arrive per step"),
        ({"prefill": rs.PrefillPool(token_time=1e-3)}, rs.errors.ValueRangeError, "load 8 of the 1 prefill replicas"),
        ({"arrival_rate": None}, rs.errors.MissingInput, "expects arrival_rate"),
        ({"input_tokens": None}, rs.errors.MissingInput, "expects input_tokens"),
        ({"arrival_rate": 0}, rs.errors.ValueRangeError, "arrival_rate must be positive"),
        ({"arrival_rate": "8 s"}, rs.errors.UnitError, "arrival_rate"),
        ({"arrival_cv": -1}, rs.errors.ValueRangeError, "arrival_cv must be"),
        ({"output_cv": math.inf}, rs.errors.ValueRangeError, "output_cv must be"),
        ({"replicas": 1.5}, rs.errors.ValueRangeError, "replicas must be a whole number"),
        ({"max_running_sequences": 0}, rs.errors.ValueRangeError, "max_running_sequences"),
        ({"router": "least"}, rs.errors.UnknownName, "did you mean 'least_requests'"),
        ({"prompt_policy": "chunks"}, rs.errors.UnknownName, "did you mean 'chunked'"),
        ({"batch_size": 8}, rs.errors.IneffectiveInput, "closed loop"),
        ({"concurrency": 8}, rs.errors.IneffectiveInput, "closed loop"),
        ({"chips": 8}, rs.errors.IneffectiveInput, "chips has no effect with steps="),
        ({"percentiles": 1}, rs.errors.ValueRangeError, "percentiles must be between 0 and 1"),
        ({"percentiles": (0.5, 99)}, rs.errors.ValueRangeError, "percentiles must be between 0 and 1"),
        ({"percentiles": None}, rs.errors.InputTypeError, "percentiles"),
        ({"requests": 0}, rs.errors.ValueRangeError, "requests must be a whole number of at least 1"),
        ({"requests": 1e5}, rs.errors.InputTypeError, "requests must be a whole number"),
        ({"replications": 30_000}, rs.errors.ValueRangeError, "expected at most 20000, the number of requests"),
        ({"cache_room": 0}, rs.errors.ValueRangeError, "cache_room must be a positive number"),
        ({"steps": 0.012}, rs.errors.InputTypeError, "expected rs.StepTimes"),
        ({"steps": rs.StepTimes(0, 0)}, rs.errors.ValueRangeError, "expected a positive base or slope"),
        ({"steps": rs.StepTimes(1, -1)}, rs.errors.ValueRangeError, "steps.slope"),
        ({"steps": rs.StepTimes(1, 1, seats=0)}, rs.errors.ValueRangeError, "steps.seats"),
        ({"sessions": 3}, rs.errors.InputTypeError, "expected rs.Sessions"),
        ({"sessions": rs.Sessions(0.5)}, rs.errors.ValueRangeError, "sessions.turns"),
        ({"sessions": rs.Sessions(2.5, fixed_turns=True)}, rs.errors.ValueRangeError, "whole number"),
        ({"sessions": rs.Sessions(2, cache_tokens=5)}, rs.errors.InputTypeError, "cache_tokens must be a tuple"),
        ({"sessions": rs.Sessions(2, fetch_token_time=(1,))}, rs.errors.ValueRangeError, "one number per tier"),
        ({"prefill": 2}, rs.errors.InputTypeError, "expected rs.PrefillPool"),
        ({"prefill": rs.PrefillPool(0)}, rs.errors.ValueRangeError, "prefill.replicas"),
        ({"prefill": rs.PrefillPool(fixed_time=-1)}, rs.errors.ValueRangeError, "prefill.fixed_time"),
        ({"prefill": rs.PrefillPool(), "prompt_policy": "first"}, rs.errors.InputTypeError, "prefill= implies"),
    ],
)  # fmt: skip
def test_mistakes_are_told_before_any_work(changes: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        small(**{"arrival_rate": 8, **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arrival_rate": 3}, "arrival_rate=3: the trace gives it already"),
        ({"input_tokens": 3}, "input_tokens: the trace gives it already"),
        ({"replications": 2}, "expected 1 with a trace"),
        ({"warm_up": 2}, "all requests of a trace are measured"),
        ({"sessions": rs.Sessions(2)}, "a trace has its own turns"),
    ],
)
def test_a_trace_and_what_it_has(changes: dict[str, Any], words: str) -> None:
    trace = pd.DataFrame({"arrival": [0.0, 1.0], "input_tokens": 10, "output_tokens": 10})
    with pytest.raises(rs.RoofslateError, match=words):
        rs.simulate(steps=LINE, trace=trace, seed=1, **changes)
    alone = rs.simulate(steps=LINE, trace=trace, seed=1)
    assert len(alone.requests) == 2
    assert alone.percentile("queue", 0.5)[0] == 0
    with pytest.raises(rs.errors.UnknownName, match="did you mean 'request_latency'"):
        alone.percentile("latency", 0.5)
    with pytest.raises(rs.errors.UnknownName, match="did you mean 'hit_rate'"):
        alone.mean("hits_rate")


def test_an_overload_that_shows_in_the_run_is_told() -> None:
    """Sessions with too small a KV cache, and preemption that reads prompts again and again."""
    sessions = rs.Sessions(turns=10, pause=20, cache_tokens=(100,))
    with pytest.warns(rs.RoofslateWarning, match="the service is overloaded at arrival_rate"):
        small(arrival_rate=10, sessions=sessions, warm_up=0)
    with pytest.raises(rs.errors.ValueRangeError, match="prompts 4"):
        small(arrival_rate=10, sessions=rs.Sessions(turns=10, pause=20))


@pytest.mark.filterwarnings("error")
def test_a_steady_service_is_not_suspected() -> None:
    for seed in range(10):
        small(arrival_rate=21, prompt_policy="apart", output_cv=1, seed=seed)


def test_a_load_has_its_parts() -> None:
    service = Service(
        rate=10, input_mean=1000, output_mean=201, replicas=2, seats=100, batch_sizes=(0, 100), step_times=(0.01, 0.02),
        prompt_token_time=1e-5,
    )  # fmt: skip
    assert service.load() == pytest.approx((5 * 200 * 0.02 / 100, 5 * 0.01))
    assert service.step_time(50) == pytest.approx(0.015)
    running = service.running()
    assert running == pytest.approx(5 * 200 * service.step_time(running) / (1 - 0.05), rel=1e-5)


# ---------------------------------------------------------------------------------------------- pages of the KV cache

PAGED: dict[str, Any] = {
    "model": "Gemma-3-27B", "hardware": "H200", "chips": 1, "input_tokens": 7000, "output_tokens": 1200,
}  # fmt: skip


@pytest.mark.parametrize(
    "pages",
    [{}, {"cache_allocation": "paged", "kv_block_size": 16}, {"engine": "vLLM", "prefill_chunk": 2048}],
)
@pytest.mark.filterwarnings("error")  # of inputs without effect
def test_running_sequences_obey_the_pages(pages):
    limit = math.floor(rs.value("memory_limited_sequences", PAGED, **pages))
    rows = rs.simulate(
        PAGED, **pages, arrival_rate="20/s", queue_room=0, requests=2000, replications=1, seed=1
    ).requests
    served = rows[rows["request_latency"].notna()]
    start = (served["arrival"] + served["queue"]).to_numpy()
    end = (served["arrival"] + served["request_latency"]).to_numpy()
    times = np.concatenate([start, end])
    steps = np.concatenate([np.ones(len(start)), -np.ones(len(end))])
    assert np.cumsum(steps[np.lexsort((steps, times))]).max() == limit


@pytest.mark.parametrize("pages", [{"cache_allocation": "paged"}, {"engine": "vLLM"}])
def test_a_cache_counted_in_tokens_has_no_pages(pages):
    message = f"{next(iter(pages))}='[a-zA-Z]+' has no effect with cache_room="
    with pytest.raises(rs.errors.IneffectiveInput, match=message):
        rs.simulate(PAGED, **pages, arrival_rate="1/s", cache_room=1e6, requests=100, seed=1)
    rs.simulate(PAGED, cache_allocation="exact", arrival_rate="0.1/s", cache_room=1e6, requests=100, seed=1)


def test_described_sessions_have_fixed_turns():
    described = {**PAGED, "arrival_rate": 1.0, "turns": 3, "pause_time": 5, "turn_input_tokens": 500}
    _, fixed = read_sessions({**described, "turns_distribution": "fixed"})
    _, drawn = read_sessions(described)
    assert fixed is not None
    assert drawn is not None
    assert (fixed.fixed_turns, drawn.fixed_turns) == (True, False)


def test_a_model_close_to_saturation_is_not_refused() -> None:
    """The batch of its prompts swung between two: a load of 0.85 counted as 1.06."""
    service = {"model": "DeepSeek-V3", "hardware": "HGX H200", "chips": 8, "calibration": "serving"}
    result = rs.simulate(service, input_tokens=1000, output_tokens=1000, arrival_rate=15.5, requests=20_000, seed=1)
    mean, _ = result.mean("time_per_output_token")
    assert 0.09 < mean < 0.13


def test_prompts_that_share_a_step_share_its_fixed_time() -> None:
    """Counted for each of them, a load of 0.86 was 1.004 and refused."""
    service = {"model": "Llama 3.3 70B", "hardware": "HGX B200", "chips": 8, "prompt_policy": "first"}
    lengths = {"input_tokens": 200, "output_tokens": 1000, "max_running_sequences": 4096}
    result = rs.simulate(service, **lengths, arrival_rate=86.8, requests=20_000, seed=1)
    mean, _ = result.mean("time_per_output_token")
    assert 0.0055 < mean < 0.0065
