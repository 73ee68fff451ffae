"""`rs.simulate`: a service under load, request by request."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import _core
from roofslate._base.messages import shown, warn
from roofslate._base.progress import Progress
from roofslate._base.threads import thread_count
from roofslate.errors import InputTypeError, MissingInput, RoofslateWarning, ValueRangeError
from roofslate.grid.read import with_scenario
from roofslate.simulation.outcome import STATUS, Simulation, check_percentiles
from roofslate.simulation.scenario import check_sessions, read_policy, read_pool, read_sessions, with_presets
from roofslate.simulation.steps import (
    PrefillPool,
    Service,
    Sessions,
    StepTimes,
    abstract_steps,
    read_service,
    steps_of_graph,
)
from roofslate.simulation.traces import check_trace, read_trace
from roofslate.units.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from roofslate._base.progress import ProgressWish

__all__ = ["PrefillPool", "Sessions", "Simulation", "StepTimes", "run_steps", "simulate"]

_COLUMNS = (
    *("arrival", "queue", "time_to_first_token", "time_per_output_token", "request_latency"),
    *("input_tokens", "output_tokens", "hit_tokens", "preemptions", "replica"),
)
_LATENCIES = ("time_to_first_token", "request_latency")  # measured from the submission by the client


def simulate(
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    requests: int = 200_000,
    seed: int,
    trace: pd.DataFrame | str | os.PathLike[str] | None = None,
    steps: StepTimes | None = None,
    sessions: Sessions | None = None,
    prefill: PrefillPool | None = None,
    cache_room: float | None = None,
    time_out: float | None = None,
    replications: int | None = None,
    warm_up: int | None = None,
    percentiles: Sequence[float] = (0.5, 0.9, 0.95, 0.99),
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Any,
) -> Simulation:
    """Simulate requests to a service with continuous batching, one by one.

    Step times are computed for the model and its chips, as `evaluate` computes them, or from `steps`.

    Parameters
    ----------
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    requests : int
        Number of measured requests, over all replications.
    seed : int
        Of the random numbers. The same seed gives the same bits on any number of threads.
    trace : pandas.DataFrame or path, optional
        Recorded requests instead of an arrival rate and lengths: columns ``arrival`` (s), ``input_tokens``,
        ``output_tokens`` and ``session`` (optional). A path is read by `read_trace`.
    steps : StepTimes, optional
        Step times instead of a model and chips.
    sessions : Sessions, optional
        Requests in turns, with a prefix cache. By default as the inputs describe them by ``turns``, with ``pause_time``
        and the KV-cache tiers of a replica.
    prefill : PrefillPool, optional
        Replicas for prefill only. By default as many as `prefill_replicas`, if given.
    cache_room : float, optional
        KV-cache capacity of a replica, in tokens. A request waits until its prompt fits. If answers outgrow the
        capacity, the youngest sequence is preempted and recomputed later. Without it, the batch slots are limited by
        memory at mean lengths.
    time_out : float, optional
        Seconds after which a request that has not started is canceled.
    replications : int, optional
        Independent runs that share the requests. By default 16, or fewer for few requests.
    warm_up : int, optional
        Unmeasured requests at the start of each replication. By default at least 10%, more at high load.
    percentiles : sequence of float
        Percentiles of the summary, as fractions.
    threads, progress
        As for `evaluate`. A thread runs one replication at a time.
    **inputs
        Of the service: ``arrival_rate``, ``replicas`` (1), ``router`` (``"random"``, ``"round_robin"``,
        ``"least_requests"``, ``"session"``), ``arrival_cv`` (1: Poisson), ``input_cv``, ``output_cv`` (0: equal
        lengths, otherwise lognormal), ``prompt_policy`` (``"first"``, ``"chunked"``, ``"apart"``),
        ``step_token_budget`` (8192), ``max_running_sequences`` (inf), ``queue_room`` (inf). All others as for `value`,
        presets such as `workload` included. ``serving_mode="disaggregated"`` implies the policy ``"apart"``.

    Returns
    -------
    Simulation
        With the table ``requests``, ``summary()``, ``mean()`` and ``percentile()``.

    Raises
    ------
    ValueRangeError
        Also if the load is 1 or more and neither `queue_room` nor `time_out` limits the queue, or if a trace is not
        sorted by arrival.
    MissingInput, UnknownName, UnitError, InputTypeError, IneffectiveInput
        Before any work is done.

    Warns
    -----
    RoofslateWarning
        If waits grow throughout the run. The load may be below 1 and the service overloaded, as after misses
        of a prefix cache.

    Notes
    -----
    A decode step takes ``t(B)`` and generates a token for each of B running sequences. ``first``: prompts have separate
    steps of at most `step_token_budget` tokens, during which decoding pauses. A longer prompt has a step to itself.
    ``chunked``: each step also processes prompt tokens, up to the budget. The end of a prompt generates the first
    token. ``apart``: a request joins after its prefill, and its first step generates the first token. The time per
    output token of a request is ``(end - first token) / (output_tokens - 1)``. The inter-token latency is the gap
    between two deliveries of a sequence, weighted by tokens, in bins 0.2% wide.

    Examples
    --------
    >>> import roofslate as rs
    >>> line = rs.StepTimes(base=0.012, slope=0.0001, prompt_token_time=40e-6)
    >>> result = rs.simulate(
    ...     steps=line, arrival_rate="8/s", input_tokens="1k", output_tokens=200, max_running_sequences=128,
    ...     requests=20_000, seed=1,
    ... )
    >>> value, error = result.percentile("time_to_first_token", 0.99)
    >>> 0.2 < value < 0.23 and error < 0.05 * value
    True
    """
    inputs = with_scenario(scenario, inputs)
    shares = check_percentiles(percentiles)
    recorded = None
    if trace is not None:
        recorded = read_trace(trace) if isinstance(trace, (str, os.PathLike)) else check_trace(trace)
        inputs = _with_lengths(inputs, recorded)
    if steps is None:
        inputs, prefill = read_pool(read_policy(with_presets(inputs)), prefill)
        if sessions is None and recorded is None:
            inputs, sessions = read_sessions(inputs)
    service = _service(inputs, recorded, steps, sessions, prefill, {"cache_room": cache_room, "time_out": time_out})
    if recorded is None:
        service.check_load()
    result = _simulated(
        service,
        recorded,
        requests=_whole("requests", requests, 1),
        seed=_whole("seed", seed, 0),
        replications=replications,
        warm_up=warm_up,
        percentiles=shares,
        threads=threads,
        progress=progress,
    )
    if recorded is None and math.isinf(service.queue_room) and math.isinf(service.time_out):
        _warn_of_growth(result.requests)
    return result


def _warn_of_growth(rows: pd.DataFrame) -> None:
    """Warn if waits grow in all replications, which a steady service shows once in thousands."""
    runs = int(rows["replication"].iloc[-1]) + 1
    waits = rows["time_to_first_token"].to_numpy()
    size = len(rows) // runs // 4
    if runs < 4 or size < 50:
        return
    ends = np.searchsorted(rows["replication"].to_numpy(), np.arange(1, runs + 1))
    starts = np.concatenate([[0], ends[:-1]])
    grows = [
        np.nanmean(waits[end - size : end]) > 1.5 * np.nanmean(waits[start : start + size])
        for start, end in zip(starts, ends, strict=True)
    ]
    if all(grows):
        warn(
            "waits grow from the first quarter of each replication to the last: the service is overloaded at "
            "arrival_rate. Longer runs will show longer waits. Add replicas, or give queue_room or time_out",
            RoofslateWarning,
        )


def _whole(name: str, given: Any, least: int) -> int:
    if not isinstance(given, (int, np.integer)) or isinstance(given, bool):
        raise InputTypeError(f"{name} must be a whole number of at least {least}, got {shown(given)}")
    if not least <= given < 2**63:
        raise ValueRangeError(f"{name} must be a whole number of at least {least}, got {shown(given)}")
    return int(given)


def _with_lengths(inputs: dict[str, Any], recorded: pd.DataFrame) -> dict[str, Any]:
    """Return the inputs with the mean lengths of a trace, for step times."""
    for name in ("arrival_rate", "arrival_cv", "input_cv", "output_cv"):
        if inputs.get(name) is not None:
            raise InputTypeError(f"{name}={shown(inputs[name])}: the trace gives it already. Leave out one of them.")
    means = {name: float(recorded[name].mean()) for name in ("input_tokens", "output_tokens")}
    given = {name: x for name, x in inputs.items() if name in means}
    if given:
        raise InputTypeError(f"{next(iter(given))}: the trace gives it already. Leave out one of them.")
    return with_scenario(inputs, means)


def _service(
    inputs: Mapping[str, Any],
    recorded: pd.DataFrame | None,
    steps: StepTimes | None,
    sessions: Sessions | None,
    prefill: PrefillPool | None,
    limits: Mapping[str, Any],
) -> Service:
    read, graph_inputs = read_service(inputs, is_traced=recorded is not None)
    for name in ("input_tokens", "output_tokens"):
        if name not in read:
            raise MissingInput(f"rs.simulate() expects {name} (in token/sequence), or a trace. Give one of them.")
    if sessions is not None and not isinstance(sessions, Sessions):
        raise InputTypeError(f"sessions: expected rs.Sessions, got {shown(sessions)}")
    if prefill is not None and not isinstance(prefill, PrefillPool):
        raise InputTypeError(f"prefill: expected rs.PrefillPool, got {shown(prefill)}")
    cache_room, patience = (_limit(name, x) for name, x in limits.items())
    rate = float(read.get("arrival_rate", 1.0))
    if recorded is not None:
        span = float(recorded["arrival"].iloc[-1] - recorded["arrival"].iloc[0])
        rate = len(recorded) / span if span > 0 else 1.0
    if prefill is not None and inputs.get("prompt_policy", "apart") != "apart":
        raise InputTypeError(
            f"prompt_policy={read['prompt_policy']!r}: prefill= implies prompt_policy='apart'. Leave out one of them."
        )
    if sessions is not None:
        check_sessions(sessions, recorded is not None)
    service = Service(
        rate=rate,
        input_mean=read["input_tokens"],
        output_mean=read["output_tokens"],
        replicas=int(read["replicas"]),
        router=read["router"],
        arrival_cv=read["arrival_cv"],
        input_cv=read["input_cv"],
        output_cv=read["output_cv"],
        policy="apart" if prefill is not None else read["prompt_policy"],
        token_budget=read["step_token_budget"],
        seats=math.floor(read["max_running_sequences"]) if read["max_running_sequences"] < math.inf else math.inf,
        queue_room=read["queue_room"],
        prefill=prefill,
        sessions=sessions,
        cache_room=cache_room,
        time_out=patience,
    )
    service = steps_of_graph(service, graph_inputs) if steps is None else abstract_steps(service, steps, graph_inputs)
    if prefill is not None:
        _check_pool(prefill)
        return replace(service, **prefill.times())
    return service


def _limit(name: str, given: Any) -> float:
    if given is None:
        return math.inf
    if not is_number(given) or not given > 0:
        raise ValueRangeError(f"{name} must be a positive number, got {shown(given)}")
    return float(given)


def _check_pool(pool: PrefillPool) -> None:
    _whole("prefill.replicas", pool.replicas, 1)
    for name in ("token_time", "fixed_time", "transfer_time", "transfer_token_time", "token_lag_time", "lag_time"):
        x = getattr(pool, name)
        if x is not None and (not is_number(x) or not 0 <= x < math.inf):
            raise ValueRangeError(f"prefill.{name} must be a number of at least 0, got {shown(x)}")


def _core_service(service: Service) -> dict[str, Any]:
    pool, sessions = service.prefill, service.sessions
    result: dict[str, Any] = {
        "batch_sizes": service.batch_sizes,
        "step_times": service.step_times,
        "prompt_token_time": service.prompt_token_time,
        "prompt_fixed_time": service.prompt_fixed_time,
        "prompt_lag_time": service.prompt_lag_time,
        "prompt_fixed_lag_time": service.prompt_fixed_lag_time,
        "emitted": service.emitted,
        "seats": service.seats,
        "token_budget": service.token_budget,
        "queue_room": service.queue_room,
        "cache_room": service.cache_room,
        "time_out": service.time_out,
        "policy": service.policy,
        "replicas": service.replicas,
        "router": service.router,
    }
    if pool is not None:
        transfers = {name: getattr(pool, name) or 0.0 for name in ("transfer_time", "transfer_token_time")}
        result |= {"prefill_replicas": int(pool.replicas), **transfers}
    if sessions is not None:
        result["cache_tiers"] = [float(x) for x in sessions.cache_tokens]
        result["tier_token_time"] = [float(x) for x in sessions.fetch_token_time]
    return result


def _core_load(service: Service, recorded: pd.DataFrame | None) -> dict[str, Any]:
    if recorded is not None:
        load = {
            "trace_arrival": recorded["arrival"].to_numpy(),
            "trace_input": np.maximum((recorded["input_tokens"].to_numpy() * service.read_share).round(), 1),
            "trace_output": recorded["output_tokens"].to_numpy().round(),
        }
        if "session" in recorded.columns:
            load["trace_session"] = recorded["session"].to_numpy().astype(np.int64)
        if "shared_tokens" in recorded.columns:
            load["trace_shared"] = recorded["shared_tokens"].to_numpy()
        return load
    sessions = service.sessions
    turns: dict[str, Any] = {}
    if sessions is not None:
        turns = {
            "turns": float(sessions.turns),
            "turns_fixed": bool(sessions.fixed_turns),
            "first_prompt": float(sessions.first_prompt),
            "pause": float(sessions.pause),
            "pause_cv": float(sessions.pause_cv),
        }
    return {
        "rate": service.rate,
        "arrival_cv": service.arrival_cv,
        "input_mean": service.input_mean * service.read_share,
        "input_cv": service.input_cv,
        "input_geometric": service.geometric[0],
        "output_mean": service.output_mean,
        "output_cv": service.output_cv,
        "output_geometric": service.geometric[1],
        **turns,
    }


def _settling(service: Service, requests: int) -> int:
    """Return the requests until steady state, by relaxation of the sequences and of the queue."""
    free = max(1 - sum(service.load()), 0.02)
    present = service.replicas * service.running()
    alive = 0.0  # arrivals during the first sessions
    if service.sessions is not None:
        alive = 4 * service.rate * service.sessions.turns * service.sessions.pause
    return math.ceil(min(max(0.1 * requests, 5 * present + 20 * service.replicas / free**2, alive), 1e7))


def _runs(service: Service, requests: int) -> int:
    """Return the default number of replications: 16, or fewer for long warm-ups, at least 4."""
    most = max(min(16, requests // 5000), 1)
    return min(most, max(requests // _settling(service, 0), 4))


def _simulated(
    service: Service,
    recorded: pd.DataFrame | None,
    *,
    requests: int,
    seed: int,
    replications: int | None,
    warm_up: int | None,
    percentiles: tuple[float, ...],
    threads: int | None,
    progress: ProgressWish,
    drain: bool = False,
) -> Simulation:
    import pandas as pd

    if recorded is not None:
        requests, runs, before = len(recorded), 1, 0
        if replications not in (None, 1):
            raise ValueRangeError(f"replications={shown(replications)}: expected 1 with a trace. Leave it out.")
        if warm_up not in (None, 0):
            raise ValueRangeError(f"warm_up={shown(warm_up)}: all requests of a trace are measured. Leave it out.")
    else:
        runs = _runs(service, requests) if replications is None else _whole("replications", replications, 1)
        if runs > requests:
            raise ValueRangeError(f"replications={runs}: expected at most {requests}, the number of requests")
        before = _settling(service, requests // runs) if warm_up is None else _whole("warm_up", warm_up, 0)
    count = thread_count(threads)
    with Progress(progress, "request") as bar:
        result = _core.simulate_service(
            _core_service(service),
            _core_load(service, recorded),
            requests,
            runs,
            before,
            drain,
            seed,
            count,
            bar.callback,
        )
    table = pd.DataFrame({name: result[name] for name in _COLUMNS}, copy=False)
    table["status"] = pd.Categorical.from_codes(result["status"], pd.Index(STATUS))
    table["waited"] = result["waited"].astype(bool)
    sizes = np.full(runs, requests // runs) + (np.arange(runs) < requests % runs)
    table["replication"] = np.repeat(np.arange(runs, dtype=np.int32), sizes)
    if service.overhead:
        for name in _LATENCIES:
            table[name] += service.overhead
    totals = {name.removeprefix("total_"): x for name, x in result.items() if name.startswith("total_")}
    load = math.nan if recorded is not None else sum(service.load())
    return Simulation(table, seed, load, percentiles, totals, result["gap_histograms"])


def run_steps(
    *,
    base: float,
    slope: float,
    arrival_rate: float,
    output_tokens: float,
    input_tokens: float = 1.0,
    prompt_token_time: float = 0.0,
    prompt_fixed_time: float = 0.0,
    seats: float = math.inf,
    token_budget: float = 8192.0,
    prompt_policy: str = "chunked",
    replicas: int = 1,
    router: str = "least_requests",
    arrival_cv: float = 1.0,
    input_cv: float = 0.0,
    output_cv: float = 0.0,
    geometric: tuple[bool, bool] = (False, False),
    queue_room: float = math.inf,
    requests: int = 200_000,
    seed: int = 0,
    replications: int | None = None,
    warm_up: int | None = None,
    drain: bool = False,
    percentiles: Sequence[float] = (0.5, 0.9, 0.99),
    threads: int | None = None,
) -> dict[str, float]:
    """Simulate a service given by plain numbers, unchecked, for tests of closed forms.

    A step takes ``base + slope * B``. With `geometric`, lengths of prompts or answers are 1, 2, 3, ... with a constant
    probability of ending at each. `drain` stops arrivals after the last measured request.

    Returns
    -------
    dict
        As in `Simulation.summary`: ``"time_to_first_token_p99"`` and ``"time_to_first_token_p99_error"``. Also
        ``"time_per_decoded_token_mean"``, the ratio of running sequences to decoded tokens per second, ``"load"`` and
        ``"in_system_mean"``, the requests in the service between the first and the last event.
    """
    service = Service(
        rate=arrival_rate,
        input_mean=input_tokens,
        output_mean=output_tokens,
        replicas=replicas,
        router=router,
        arrival_cv=arrival_cv,
        input_cv=input_cv,
        output_cv=output_cv,
        policy=prompt_policy,
        token_budget=token_budget,
        seats=seats,
        queue_room=queue_room,
        step_times=(base, base + slope),
        prompt_token_time=prompt_token_time,
        prompt_fixed_time=prompt_fixed_time,
        geometric=geometric,
    )
    result = _simulated(
        service,
        None,
        requests=requests,
        seed=seed,
        replications=replications,
        warm_up=warm_up,
        percentiles=check_percentiles(percentiles),
        threads=threads,
        progress=False,
        drain=drain,
    )
    statistics: dict[str, float] = {"load": result.load}
    for name, row in result.summary().iterrows():
        statistics |= {f"{name}_{label}": float(x) for label, x in row.items() if not math.isnan(x)}
    mean, error = result.mean("time_per_decoded_token")
    statistics |= {"time_per_decoded_token_mean": mean, "time_per_decoded_token_mean_error": error}
    statistics["in_system_mean"] = float(result.totals["time_in_system"].sum() / result.totals["end"].sum())
    return statistics
