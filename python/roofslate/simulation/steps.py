"""Inputs of a simulated service: load, limits, step times."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import units
from roofslate._base.messages import shown, unknown
from roofslate.errors import IneffectiveInput, InputTypeError, MissingInput, UnitError, ValueRangeError
from roofslate.evaluation.evaluate import evaluate
from roofslate.evaluation.value import value
from roofslate.grid.read import Settled, WithScenario, changed
from roofslate.registry.registry import ancestors, entries, lookup
from roofslate.registry.values import number
from roofslate.units.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from roofslate.registry.values import Values

__all__ = [
    "CHOICES",
    "NUMBERS",
    "PrefillPool",
    "Service",
    "Sessions",
    "StepTimes",
    "abstract_steps",
    "read_service",
    "steps_of_graph",
]

_POLICIES = ("first", "chunked", "apart")
_ROUTERS = ("random", "round_robin", "least_requests", "session")
_MOST_SEQUENCES = 4096  # largest computed batch without a limit
_PAGES = ("cache_allocation", "engine", "kv_block_size", "kv_page_groups", "in_flight_tokens")
_LOADS = ("batch_size", "concurrency", "running_sequences")


@dataclass(frozen=True)
class StepTimes:
    """Step times of a replica, instead of a model and chips.

    Attributes
    ----------
    base, slope : float
        A step with B decoding sequences takes ``base + slope * B`` seconds.
    prompt_token_time : float
        Seconds per prompt token.
    prompt_fixed_time : float
        Seconds per prefill step, in addition to its tokens. With `prompt_policy` ``"first"`` and in a `PrefillPool`.
    seats : float
        Batch slots. `max_running_sequences` may lower their number.
    emitted : float
        Answer tokens per step, at least 1. Above 1 with speculation.
    """

    base: float
    slope: float
    prompt_token_time: float = 0.0
    prompt_fixed_time: float = 0.0
    seats: float = float("inf")
    emitted: float = 1.0


@dataclass(frozen=True)
class Sessions:
    """Requests in turns: each prompt repeats the conversation so far.

    ``input_tokens`` then counts the new tokens of a turn, and ``arrival_rate`` counts turns.

    Attributes
    ----------
    turns : float
        Mean turns per session, geometric. With `fixed_turns` the same for all, a whole number.
    pause : float
        Mean seconds from the end of an answer to the next turn, lognormal.
    pause_cv : float
        Coefficient of variation of the pauses.
    first_prompt : float
        Tokens before the first turn, such as a system prompt.
    cache_tokens : tuple of float
        Capacity for idle sessions in tokens, per replica and tier, the fastest first. The least recently used session
        moves down a tier, and is evicted from the last one.
    fetch_token_time : tuple of float
        Seconds to fetch a token from each tier.
    """

    turns: float
    pause: float = 0.0
    pause_cv: float = 0.0
    first_prompt: float = 0.0
    fixed_turns: bool = False
    cache_tokens: tuple[float, ...] = ()
    fetch_token_time: tuple[float, ...] = ()

    def context(self, new: float, answer: float) -> float:
        """Return the mean prompt length of a turn, earlier turns included, in tokens."""
        earlier = (self.turns - 1) / (2 if self.fixed_turns else 1)
        return self.first_prompt + new + (new + answer) * earlier


@dataclass(frozen=True)
class PrefillPool:
    """Replicas for prefill only: first come, first served, one prompt at a time each.

    Attributes
    ----------
    replicas : int
        Number of replicas.
    token_time, fixed_time : float, optional
        Seconds per prompt token, and per prompt in addition. By default computed for the model and its chips.
    transfer_time, transfer_token_time : float, optional
        Seconds until the KV cache of a prompt has reached the decoding replica: fixed, and per token. By default
        computed for the model and its chips.
    token_lag_time : float, optional
        Seconds per token of a prompt after its replica has moved on, as one group of chips computes its attention. By
        default computed for the model and its chips, and 0 if `token_time` is given.
    lag_time : float, optional
        Seconds of a prompt after its replica has moved on, in addition to its tokens: later pipeline stages. By default
        computed for the model and its chips, and 0 if `fixed_time` is given.
    """

    replicas: int = 1
    token_time: float | None = None
    fixed_time: float | None = None
    transfer_time: float | None = None
    transfer_token_time: float | None = None
    token_lag_time: float | None = None
    lag_time: float | None = None

    def times(self) -> dict[str, Any]:
        """Return the given prefill times, by field of a service."""
        lag = 0.0 if self.token_lag_time is None and self.token_time is not None else self.token_lag_time
        fixed_lag = 0.0 if self.lag_time is None and self.fixed_time is not None else self.lag_time
        token_times = {
            "prompt_token_time": self.token_time,
            "prompt_fixed_time": self.fixed_time,
            "prompt_lag_time": lag,
            "prompt_fixed_lag_time": fixed_lag,
        }
        return {name: float(x) for name, x in token_times.items() if x is not None}


@dataclass(frozen=True)
class Service:
    """All inputs of a simulation, in base units."""

    rate: float
    input_mean: float
    output_mean: float
    replicas: int = 1
    router: str = "least_requests"
    arrival_cv: float = 1.0
    input_cv: float = 0.0
    output_cv: float = 0.0
    policy: str = "chunked"
    token_budget: float = 8192.0
    seats: float = math.inf
    queue_room: float = math.inf
    cache_room: float = math.inf
    time_out: float = math.inf
    batch_sizes: tuple[float, ...] = (0.0, 1.0)
    step_times: tuple[float, ...] = (0.0, 0.0)
    prompt_token_time: float = 0.0
    prompt_fixed_time: float = 0.0
    prompt_lag_time: float = 0.0  # per token, after the replica has moved on: one group of chips attends
    prompt_fixed_lag_time: float = 0.0  # of prompts outside of mixed steps: later pipeline stages
    emitted: float = 1.0
    overhead: float = 0.0  # seconds before a request reaches the service
    read_share: float = 1.0  # of a prompt's tokens, the others being cached
    prefill: PrefillPool | None = None
    sessions: Sessions | None = None
    geometric: tuple[bool, bool] = (False, False)  # lengths of prompts, of answers

    def step_time(self, running: float) -> float:
        """Compute the time of a decode step, interpolated and extrapolated linearly."""
        x, y = np.asarray(self.batch_sizes), np.asarray(self.step_times)
        k = min(max(int(np.searchsorted(x, running)), 1), x.size - 1)
        return float(y[k - 1] + (y[k] - y[k - 1]) / (x[k] - x[k - 1]) * (running - x[k - 1]))

    @property
    def decoded(self) -> float:
        """The mean number of decode steps per answer."""
        first = 0 if self.policy == "apart" else 1
        return 1 - first + max(self.output_mean - 1, 0.0) / self.emitted

    def prompt_time(self, running: float) -> float:
        """Return the mean time of a prompt in the steps of so many decoding sequences."""
        if self.policy == "apart":
            return 0.0
        read = self.prompt_token_time * self.least_read
        if self.policy != "first" or not self.prompt_fixed_time:
            return read
        rate = self.rate / self.replicas
        came = rate * self.step_time(running) / max(1 - rate * read, 1e-3)  # in a step, which share the fixed time
        return read + self.prompt_fixed_time / max(min(came, self.token_budget / max(self.least_read, 1.0)), 1.0)

    @property
    def least_read(self) -> float:
        """The mean number of prompt tokens to prefill if the prefix cache never misses."""
        if self.sessions is None or self.sessions.cache_tokens:
            return self.input_mean * self.read_share
        return self.sessions.context(self.input_mean, self.output_mean)

    @property
    def most_running(self) -> float:
        """The most sequences a replica can decode together."""
        context = self.input_mean + self.output_mean * (1 + self.output_cv**2) / 2
        return max(min(self.seats, self.cache_room / context), 1.0)

    def load(self) -> tuple[float, float]:
        """Return the utilization of a replica by decoding at its limit, and by prompts."""
        rate, most = self.rate / self.replicas, self.most_running
        if math.isinf(most):
            x, y = self.batch_sizes, self.step_times
            a_step = (y[-1] - y[-2]) / (x[-1] - x[-2])
        else:
            a_step = self.step_time(most) / most
        return rate * self.decoded * a_step, rate * self.prompt_time(min(most, 1e6))

    def running(self) -> float:
        """Estimate the running sequences at which arrivals balance completions."""
        running = 1.0
        for _ in range(200):
            balanced = self.balanced(running)
            if abs(balanced - running) < 1e-6 * running:
                break
            running = balanced
        return running

    def balanced(self, running: float) -> float:
        """Return the sequences that arrivals would keep running at the step time of `running`."""
        rate = self.rate / self.replicas
        free = max(1 - rate * self.prompt_time(running), 1e-3)
        return min(rate * self.decoded * self.step_time(running) / free, self.most_running, 1e6)

    def check_load(self) -> None:
        """Raise an error if the queue would grow without limit."""
        if not (math.isinf(self.queue_room) and math.isinf(self.time_out)):
            return
        decoding, prompts = self.load()
        limit = f"{self.most_running:.0f} sequences" if self.most_running < math.inf else "any number of sequences"
        rate_text = f"arrival_rate={self.rate:.6g}/s: "
        if decoding + prompts >= 1:
            raise ValueRangeError(
                f"{rate_text}load {decoding + prompts:.3g} (decoding {decoding:.2g} with {limit}, prompts "
                f"{prompts:.2g}): "
                "the queue grows without limit. Expected a load below 1. Lower arrival_rate, add replicas, or give "
                "queue_room or time_out"
            )
        if self.policy == "chunked":
            running = self.running()
            budget_left = self.token_budget - running
            step = self.step_time(running) + self.prompt_token_time * max(budget_left, 0.0)
            arriving = self.rate / self.replicas * self.least_read * step
            if arriving >= budget_left:
                raise ValueRangeError(
                    f"{rate_text}{arriving:.4g} prompt tokens arrive per step, but its budget has room for "
                    f"{max(budget_left, 0):.4g}: "
                    f"the queue grows without limit. Expected a larger step_token_budget than {self.token_budget:g}, "
                    "a lower arrival_rate or more replicas"
                )
        if self.prefill is not None:
            one = self.prompt_fixed_time + self.prompt_token_time * self.least_read
            busy = self.rate * one / self.prefill.replicas
            if busy >= 1:
                raise ValueRangeError(
                    f"{rate_text}load {busy:.3g} of the {self.prefill.replicas} prefill replicas: the queue grows "
                    "without limit. Expected more replicas in PrefillPool"
                )


# Inputs of a service outside the graph: unit, default (None: none), minimum, True for whole numbers.
NUMBERS: dict[str, tuple[str, float | None, float, bool]] = {
    "arrival_rate": ("sequence/s", None, 0.0, False),
    "replicas": ("1", 1.0, 1.0, True),
    "arrival_cv": ("1", 1.0, 0.0, False),
    "input_cv": ("1", 0.0, 0.0, False),
    "output_cv": ("1", 0.0, 0.0, False),
    "step_token_budget": ("token", 8192.0, 1.0, False),
    "max_running_sequences": ("sequence", math.inf, 1.0, False),
    "queue_room": ("sequence", math.inf, 0.0, False),
    "input_tokens": ("token/sequence", None, 1.0, False),
    "output_tokens": ("token/sequence", None, 1.0, False),
}
CHOICES = {"router": ("least_requests", _ROUTERS), "prompt_policy": ("chunked", _POLICIES)}
_OF_GRAPH = ("input_tokens", "output_tokens")  # also inputs of the graph


def _number(name: str, given: Any) -> float:
    unit, _, least, must_be_whole = NUMBERS[name]
    if name in entries():
        x = number(given, lookup(name))
    else:
        try:
            x = units.to_base(given, unit)
        except (InputTypeError, ValueRangeError, UnitError) as error:
            raise type(error)(f"{name}: {error}") from None
    may_be_infinite = NUMBERS[name][1] == math.inf or name == "step_token_budget"
    if not x >= least or (math.isinf(x) and not may_be_infinite) or (must_be_whole and x != int(x)):
        kind = "a whole number" if must_be_whole else "a number"
        raise ValueRangeError(f"{name} must be {kind} of at least {least:g}, in {unit}, got {shown(given)}")
    return x


def read_service(inputs: Mapping[str, Any], *, is_traced: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the inputs into numbers and words of the service, and inputs of the graph."""
    for name in _LOADS:
        if name in inputs:
            raise IneffectiveInput(
                f"{name} describes a closed loop of clients, but rs.simulate() has open arrivals. Give "
                "arrival_rate instead."
            )
    read: dict[str, Any] = {}
    graph_inputs = changed(inputs, {})
    for name, (_, default, _, _) in NUMBERS.items():
        given = inputs.get(name)
        if name not in _OF_GRAPH:
            graph_inputs.pop(name, None)
        if given is not None:
            read[name] = _number(name, given)
        elif default is not None:
            read[name] = default
    for name, (word, words) in CHOICES.items():
        graph_inputs.pop(name, None)
        given = inputs.get(name, word)
        if given not in words:
            raise unknown(name, given, words)
        read[name] = given
    if not is_traced:
        if "arrival_rate" not in read:
            raise MissingInput("rs.simulate() expects arrival_rate (in sequence/s), or a trace. Give one of them.")
        if read["arrival_rate"] == 0:
            raise ValueRangeError("arrival_rate must be positive, got 0")
    for name in ("input_cv", "output_cv"):  # also inputs of the graph
        if name in inputs and any(name in ancestors(of) for of in ("round_time", "prefill_time")):
            graph_inputs = changed(
                graph_inputs, {name: inputs[name]}, exempt=True
            )  # may be ineffective if compute is below full utilization
    return read, graph_inputs


def abstract_steps(service: Service, steps: StepTimes, graph_inputs: Mapping[str, Any]) -> Service:
    """Return the service with the given step times."""
    ineffective = [name for name in graph_inputs if name not in (*_OF_GRAPH, "input_cv", "output_cv")]
    if ineffective:
        raise IneffectiveInput(f"{ineffective[0]} has no effect with steps=. Leave out one of them.")
    if not isinstance(steps, StepTimes):
        raise InputTypeError(f"steps: expected rs.StepTimes, got {shown(steps)}")
    for name, least in (("base", 0), ("slope", 0), ("prompt_token_time", 0), ("prompt_fixed_time", 0), ("emitted", 1)):
        x = getattr(steps, name)
        if not is_number(x) or not least <= x < math.inf:
            raise ValueRangeError(f"steps.{name} must be a number of at least {least}, got {shown(x)}")
    if not steps.base + steps.slope > 0:
        raise ValueRangeError("steps: expected a positive base or slope, got 0 for both")
    if not is_number(steps.seats) or not steps.seats >= 1:
        raise ValueRangeError(f"steps.seats must be a number of at least 1, got {shown(steps.seats)}")
    return replace(
        service,
        batch_sizes=(0.0, 1.0),
        step_times=(float(steps.base), float(steps.base + steps.slope)),
        prompt_token_time=float(steps.prompt_token_time),
        prompt_fixed_time=float(steps.prompt_fixed_time),
        emitted=float(steps.emitted),
        seats=min(service.seats, float(steps.seats)),
    )


def _batch_sizes(most: float) -> npt.NDArray[np.float64]:
    """Return the batch sizes at which steps are computed: all small ones, then 3% apart."""
    last = int(max(min(most, _MOST_SEQUENCES), 2))
    spaced = np.geomspace(1, last, max(int(math.log(last) / 0.03), 1)).round()
    return np.unique(np.concatenate([np.arange(1, min(16, last) + 1), spaced, [last]])).astype(float)


def _refuse_pages_of_tokens(service: Service, inputs: Mapping[str, Any]) -> None:
    """Raise an error for pages of a KV cache that is counted in tokens."""
    if math.isinf(service.cache_room):
        return
    if value("cache_allocation", Settled({k: x for k, x in inputs.items() if k in _PAGES})) == "paged":
        name = next(name for name in _PAGES if inputs.get(name) is not None)
        raise IneffectiveInput(
            f"{name}={shown(inputs[name])} has no effect with cache_room=, which counts tokens without pages. "
            "Leave out one of them."
        )


def _without_pages(inputs: Mapping[str, Any]) -> WithScenario:
    """Return the inputs of a step, without those that limit only the number of sequences."""
    return changed(inputs, {name: x for name, x in inputs.items() if name in _PAGES}, exempt=True)


def steps_of_graph(service: Service, inputs: Mapping[str, Any]) -> Service:
    """Return the service with the step times of its model on its chips."""
    if service.sessions is not None:
        tokens = service.sessions.context(service.input_mean, service.output_mean)
        inputs = changed(inputs, {"input_tokens": tokens})
    _refuse_pages_of_tokens(service, inputs)
    replica = evaluate(["memory_limited_sequences", "microbatches"], Settled(inputs))
    most, batches = (float(replica[name]) for name in ("memory_limited_sequences", "microbatches"))
    if most < 1:
        raise ValueRangeError(
            f"{most:.3g} sequences fit in the memory of a replica, rs.simulate() expects at least 1. Add chips, or "
            "shorten the context."
        )
    sizes = _batch_sizes(min(service.seats, most))
    seats = min(service.seats, math.floor(most) if math.isinf(service.cache_room) else math.inf)
    first = "prefill_time" if service.policy != "chunked" else "concurrent_prefill_time"
    outputs = ["round_time", first, "fresh_input_tokens", "emitted_length", "time_per_output_token_factor"]
    fixed = ["prompt_pass_overhead", "stage_pass_overhead", "prompt_lag_time"]
    if service.prefill is not None:
        outputs.append("exposed_kv_transfer_time")
        inputs = changed(inputs, {"serving_mode": "disaggregated"})
    given = changed(_without_pages(inputs), {"batch_size": sizes / batches})
    table = evaluate([*outputs, "request_overhead", *fixed], given)
    one = {name: float(np.ravel(table[name].values)[0]) for name in table.data_vars}
    factor = one["time_per_output_token_factor"]
    times = np.broadcast_to(table["round_time"].values, sizes.shape) * factor
    none = max(2 * times[0] - times[1], 0.5 * times[0])  # a step without decoding sequences
    service = replace(
        service,
        seats=seats,
        batch_sizes=(0.0, *sizes.tolist()),
        step_times=(float(none), *times.tolist()),
        emitted=one["emitted_length"],
        overhead=one["request_overhead"],
    )
    if service.sessions is None and one["fresh_input_tokens"] < service.input_mean:  # a given hit rate
        service = replace(service, read_share=one["fresh_input_tokens"] / service.input_mean)
    service = replace(service, prompt_lag_time=one["prompt_lag_time"] / one["fresh_input_tokens"])
    prompts = np.broadcast_to(table[first].values, sizes.shape) * factor
    if service.policy == "chunked":
        service = _with_prompts_of_batches(service, sizes, prompts / one["fresh_input_tokens"])
    else:
        service = replace(
            service,
            prompt_token_time=float(prompts[0]) / one["fresh_input_tokens"],
            prompt_fixed_time=one["stage_pass_overhead"] * factor,
            prompt_fixed_lag_time=(one["prompt_pass_overhead"] - one["stage_pass_overhead"]) * factor,
        )
    if service.prefill is None:
        return service
    mean = inputs["input_tokens"] if service.sessions is not None else service.input_mean
    pool = service.prefill
    if pool.transfer_time is None:
        pool = replace(pool, transfer_time=0.0)
    if pool.transfer_token_time is None:
        pool = replace(pool, transfer_token_time=one["exposed_kv_transfer_time"] / float(mean))
    return replace(service, prefill=pool)


def _with_prompts_of_batches(service: Service, sizes: Values, token_times: Values) -> Service:
    """Return the service with prompt tokens that take their time in its mean running batch."""
    low, high = 1.0, min(service.most_running, 1e6)
    for _ in range(60):  # repeated from one estimate to the next, it may swing between two
        middle = math.sqrt(low * high)
        service = replace(service, prompt_token_time=float(np.interp(middle, sizes, token_times)))
        low, high = (middle, high) if service.balanced(middle) > middle else (low, middle)
    return service
