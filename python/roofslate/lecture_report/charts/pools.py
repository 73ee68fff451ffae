"""Chapter 1, beyond the lecture: separate pools for prefill and decode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.errors import ValueRangeError
from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.read import Settled
from roofslate.plotting.chart import chart, note, number, record

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

    Array = npt.NDArray[np.float64]

__all__ = ["together_or_apart"]

_LOADS = 160  # rates that are tried, up to the load at which queues have no end; half of them near none
_LEVELS = (0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.6, 2.5, 5.0, 10.0)
_POLICIES = {"first": 8192.0, "chunked": 2048.0}  # step_token_budget of each
_MOST = 1e3  # of a ratio, if shared chips cannot keep the promise
_WAITS = {"prefill_wait_probability": "prompts_ahead_share", "prefill_wait_time": "prompts_ahead_time"}
_LATE, _SLOW = "time_to_first_token_quantile", "time_per_output_token_quantile"


def _along(values: Any) -> Any:
    import xarray as xr

    return xr.DataArray(values, dims=("input_tokens", "load"))


def _reached(rates: Array, latencies: Array, promises: Array) -> Array:
    """Highest rate whose latency keeps each promise."""
    import numpy as np

    # The last rate that keeps it, not the first that breaks it: near no load at all percentiles are not reliable.
    keeps = latencies[:, np.newaxis, :] <= promises[:, :, np.newaxis]
    last = rates.shape[1] - 1 - np.argmax(keeps[:, :, ::-1], axis=2)
    beyond = np.minimum(last + 1, rates.shape[1] - 1)
    row = np.arange(len(rates))[:, np.newaxis]
    low, high = latencies[row, last], latencies[row, beyond]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(np.isfinite(high) & (high > low), (promises - low) / (high - low), 0.0)
    interpolated = rates[row, last] + np.clip(share, 0, 1) * (rates[row, beyond] - rates[row, last])
    return np.where(keeps.any(axis=2), interpolated, 0.0)


def _line(service: dict[str, float], rate: Array, decoded: float, prompt: Array) -> dict[str, Any]:
    """Inputs of a replica whose step takes a + b B, at each prompt and rate."""
    import numpy as np

    base, slope = service["decode_step_base"], service["decode_step_slope"]
    spare = 1 - rate * (prompt + decoded * slope)
    running = service["token_time_floor"] * rate * decoded / np.maximum(spare, 1e-3)
    running = np.clip(np.where(spare > 0, running, np.inf), 0.01, service["sequence_slots"])
    prompts = _along(np.broadcast_to(prompt, rate.shape))
    return service | {
        "arrival_rate": _along(rate),
        "running_estimate": _along(running),
        "running_token_time": _along(base + slope * running),
        "full_prompt_step_time": prompts,
        "loaded_prompt_step_time": prompts,
        "prompt_pass_overhead": 0.0,
        "prompt_lag_time": 0.0,
        "exposed_kv_transfer_time": 0.0,
    }


def _decode_load(service: dict[str, float], decoded: float) -> float:
    """Share of a replica's time that one request a second takes with all slots taken."""
    decoding = {name: service[name] for name in ("full_decode_token_time", "sequence_slots")}
    return number("decode_load", replica_arrival_rate=1.0, decoded_tokens=decoded, **decoding)


def _values(inputs: dict[str, Any], shape: tuple[int, ...]) -> tuple[Array, Array]:
    import numpy as np

    note([_LATE, _SLOW])
    latencies = evaluate([_LATE, _SLOW], Settled(inputs))
    late, slow = (np.broadcast_to(latencies[name].transpose(..., "load").values, shape) for name in (_LATE, _SLOW))
    return late, slow


def _together_or_apart(
    *,
    prompts: Any = (250, 32000),
    promises: Any = (1.15, 5.0),
    token_time: float = 40e-6,
    prompt_times: float = 3.0,
    further_time: float = 1.0,
    **inputs: Any,
) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    if len(prompts) != 2 or not 0 < prompts[0] < prompts[1]:
        raise ValueRangeError(f"prompts: expected the shortest and the longest, got {prompts!r}")
    if len(promises) != 2 or not 1 < promises[0] < promises[1]:
        raise ValueRangeError(f"promises: expected two factors above 1, the lower first, got {promises!r}")
    defaults = {
        "output_tokens": 500,
        "input_cv": 0.5,
        "output_cv": 0.5,
        "sequence_slots": 128,
        "decode_step_base": 0.012,
        "decode_step_slope": 1e-4,
        "latency_quantile": 0.99,
    }
    service = {name: number(name, **{name: x}) for name, x in {**defaults, **inputs}.items()}
    record(service)
    base, slope, slots = (service[name] for name in ("decode_step_base", "decode_step_slope", "sequence_slots"))
    service["token_time_floor"] = alone = number("token_time_floor", decode_step_base=base, decode_step_slope=slope)
    service["full_decode_token_time"] = base + slope * slots
    answer = service["output_tokens"]
    lengths = np.geomspace(prompts[0], prompts[1], 33)
    factors = np.geomspace(promises[0], promises[1], 41)
    work = (token_time * lengths)[:, np.newaxis]
    half = _LOADS // 2
    loads = np.concatenate([np.geomspace(1e-3, 0.03, half, endpoint=False), np.linspace(0.03, 0.998, _LOADS - half)])
    slow = np.broadcast_to(factors * alone, (len(lengths), len(factors)))
    late = np.broadcast_to(prompt_times * work + further_time, slow.shape)
    tokens = {"input_tokens": lengths}
    together = np.zeros(slow.shape)
    for policy, budget in _POLICIES.items():
        rate = loads / (work + _decode_load(service, answer - 1))
        steps = _line(service, rate, answer - 1, work)
        more = {"prompt_policy": policy, "step_token_budget": budget, "prompt_work_time": _along(0 * rate + work)}
        first, token = _values(steps | more | tokens, rate.shape)
        together = np.maximum(together, np.minimum(_reached(rate, first, late), _reached(rate, token, slow)))
    rate = np.broadcast_to(loads / _decode_load(service, answer), (len(lengths), _LOADS))
    pool = np.asarray(loads / work)
    queue = {"arrival_rate": _along(pool), "prefill_time": _along(0 * pool + work), "prompt_pass_overhead": 0.0}
    waits = evaluate(list(_WAITS), Settled(queue | {"input_cv": service["input_cv"]}))
    handed = {
        **{name: waits[quantity] for quantity, name in _WAITS.items()},
        "prompt_work_time": _along(0 * rate + work),
        "serving_mode": "disaggregated",
    }
    # Each pool by itself: the one that decodes at the TPOT, the other one with its step at half of the load
    steps = _line(service, rate, answer, 0 * work) | {"serving_mode": "disaggregated"}
    _, token = _values(steps | tokens | {"prompt_work_time": 0.0}, rate.shape)
    calm = _line(service, 0 * rate + rate[:, 3 * _LOADS // 4 : 3 * _LOADS // 4 + 1], answer, 0 * work)
    first, _ = _values(calm | handed | tokens, rate.shape)
    decode, prefill = _reached(rate, token, slow), _reached(pool, first, late)
    with np.errstate(divide="ignore", invalid="ignore"):
        separate = np.where((decode > 0) & (prefill > 0), 1 / (1 / decode + 1 / prefill), 0.0)
        ratio = np.minimum(np.where(separate > 0, separate / together, np.where(together > 0, 0.0, np.nan)), _MOST)
    index = pd.MultiIndex.from_product([lengths, factors], names=["input_tokens", "promise"])
    table = pd.DataFrame({"together": together.ravel(), "apart": separate.ravel(), "ratio": ratio.ravel()}, index=index)
    table.attrs["marks"] = {
        "unloaded": alone,
        "answer": answer,
        "tight": _at(table, 8000, 1.3),
        "loose": _at(table, 8000, 4.0),
    }
    table.attrs["units"] = {
        **dict.fromkeys(("promise", "ratio", "tight", "loose"), "1"),
        **dict.fromkeys(("together", "apart"), "sequence/s"),
        **dict.fromkeys(("input_tokens", "answer"), "token/sequence"),
        "unloaded": "s*sequence/token",
    }
    return table


def _at(table: pd.DataFrame, tokens: float, promise: float) -> float:
    """The ratio at the nearest point."""
    import numpy as np

    cells = table["ratio"].to_xarray()
    lengths, factors = (cells[dim].to_numpy() for dim in cells.dims)
    near = (np.argmin(abs(np.log(lengths / tokens))), np.argmin(abs(np.log(factors / promise))))
    return float(cells.to_numpy()[near])


@chart(
    "C38",
    _together_or_apart,
    title="Request rate of separate relative to shared pools, p99 promises",
    subject="Request rate of separate relative to shared pools",
    paragraph=(
        "On shared chips, prompts delay every decoding request. Take a promised time per token of 1.3 times the time "
        "without prompts, {unloaded}. With prompts of 8,000 tokens on separate chips, the same chips then serve "
        "{tight} times the requests. At a promise of 4 times the factor is {loose}, because two pools cannot lend "
        "each other time."
    ),
    inputs=(
        "token_time",
        "prompt_times",
        "further_time",
        "output_tokens",
        "input_cv",
        "output_cv",
        "sequence_slots",
        "decode_step_base",
        "decode_step_slope",
        "latency_quantile",
    ),
    chapter=1,
    size=(6.4, 4.2),
)
def together_or_apart(ax: Axes, table: pd.DataFrame) -> None:
    """Request rate of separate prefill and decode pools relative to shared chips.

    A step with B sequences takes ``decode_step_base + decode_step_slope * B``, a prompt token `token_time`, on every
    chip alike. Together is the better of prompts first and chunks of 2,048; percentiles keep both promises.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    prompts : tuple of float
        The shortest and the longest prompt, in tokens.
    promises : tuple of float
        The tightest and the loosest promise of the time per token, as multiples of the time without prompts.
    token_time : float
        Seconds that a prompt token takes.
    prompt_times, further_time : float
        The promise of the first token: so many times the prompt's own time, and so many seconds.
    **inputs
        ``output_tokens``, ``input_cv``, ``output_cv``, ``decode_step_base``, ``decode_step_slope``,
        ``sequence_slots``, ``latency_quantile``.

    Returns
    -------
    matplotlib.axes.Axes
    """
    import numpy as np
    from matplotlib.colors import BoundaryNorm

    cells = table["ratio"].to_xarray()
    lengths, factors = (cells[dim].to_numpy() for dim in cells.dims)
    ratio = cells.to_numpy()
    ax.set(xscale="log", yscale="log", xlim=(factors[0], factors[-1]), ylim=(lengths[0], lengths[-1]))
    ax.set(xlabel="promised p99 of the time per token, relative to no prompts", ylabel="prompt (tokens)")
    levels = np.array(_LEVELS)
    norm = BoundaryNorm([1e-9, *levels, _MOST], 256)
    ax.contourf(factors, lengths, np.clip(ratio, 1e-6, _MOST), [1e-9, *levels, _MOST], norm=norm, cmap="PuOr_r")
    shown = [x for x in levels if x != 1 and np.nanmin(ratio) < x < np.nanmax(ratio)]
    thin = ax.contour(factors, lengths, ratio, levels=shown, colors="white", linewidths=0.8)
    ax.clabel(thin, fmt=lambda x: f"{x:g}", fontsize=8, colors=style.INK)
    ax.contour(factors, lengths, ratio, levels=[1.0], colors=style.INK, linewidths=2.2)
    steps = [x for x in (1.2, 1.5, 2, 3, 4, 5, 6, 8) if factors[0] <= x <= factors[-1]]
    ax.set_xticks(steps, [f"{x:g}" for x in steps])
    ax.set_xticks([], minor=True)
    style.scale_ticks(ax.yaxis, "token")
    words: dict[str, Any] = {"transform": ax.transAxes, "fontsize": 9, "bbox": style.HALO}
    if (ratio > 1).any():
        ax.text(0.03, 0.95, "apart serves more", ha="left", va="top", **words)
    if (ratio < 1).any():
        ax.text(0.97, 0.95, "together serves more", ha="right", va="top", **words)
