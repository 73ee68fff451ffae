"""Charts of the lecture, drawn by ``rs.charts.<name>(ax=None, **inputs)``.

``.data(**inputs)`` gives the numbers. Without inputs a chart is the lecture's picture. The core evaluates every
number in it.
"""

from __future__ import annotations

from typing import NoReturn

from roofslate._base.messages import unknown
from roofslate.errors import UnknownName
from roofslate.lecture_report.charts.attention import attention_flops
from roofslate.lecture_report.charts.between_racks import moe_stack, two_racks
from roofslate.lecture_report.charts.bit_flips import avalanche
from roofslate.lecture_report.charts.context import cost_vs_context, cost_vs_pass_length
from roofslate.lecture_report.charts.drain import device_occupancy, drain_times
from roofslate.lecture_report.charts.economics import cost_vs_batch, fast_mode
from roofslate.lecture_report.charts.generations import hardware_generations
from roofslate.lecture_report.charts.hardware import machine_balance, roofline
from roofslate.lecture_report.charts.hosting import rent_own_or_call
from roofslate.lecture_report.charts.lifetime import lifetime_surface
from roofslate.lecture_report.charts.overtraining import overtraining, overtraining_tornado
from roofslate.lecture_report.charts.pipeline import pipeline_inference, pipeline_latency, training_bubble
from roofslate.lecture_report.charts.pools import together_or_apart
from roofslate.lecture_report.charts.pricing import price_map
from roofslate.lecture_report.charts.queueing import dispatch_vs_rate, waiting_vs_load
from roofslate.lecture_report.charts.rack_diagrams import moe_layer, rack
from roofslate.lecture_report.charts.rack_limits import rack_limits
from roofslate.lecture_report.charts.racks import cable_density, scale_up_domains
from roofslate.lecture_report.charts.reversible import activation_memory, feistel, revnet
from roofslate.lecture_report.charts.routing import imbalance_vs_tokens, routed_scaling
from roofslate.lecture_report.charts.scheduling import train_schedule
from roofslate.lecture_report.charts.service import (
    day_cost,
    hit_rate_vs_capacity,
    latency_vs_rate,
    replicas_vs_promise,
)
from roofslate.lecture_report.charts.serving import decode_tensor, latency_vs_batch
from roofslate.lecture_report.charts.session import chat_session
from roofslate.lecture_report.charts.small_batches import coverage_vs_batch, energy_vs_batch, speculation_vs_batch
from roofslate.lecture_report.charts.stages import hop_path, memory_vs_stages, stage_imbalance
from roofslate.lecture_report.charts.storage import retrieve_or_hold, tier_cost
from roofslate.lecture_report.charts.techniques import cache_techniques
from roofslate.lecture_report.charts.training import compute_buckets, equal_cost
from roofslate.plotting.chart import Chart

__all__ = [
    "Chart",
    "activation_memory",
    "all",
    "attention_flops",
    "avalanche",
    "cable_density",
    "cache_techniques",
    "chat_session",
    "compute_buckets",
    "cost_vs_batch",
    "cost_vs_context",
    "cost_vs_pass_length",
    "coverage_vs_batch",
    "day_cost",
    "decode_tensor",
    "device_occupancy",
    "dispatch_vs_rate",
    "drain_times",
    "energy_vs_batch",
    "equal_cost",
    "fast_mode",
    "feistel",
    "find",
    "hardware_generations",
    "hit_rate_vs_capacity",
    "hop_path",
    "imbalance_vs_tokens",
    "latency_vs_batch",
    "latency_vs_rate",
    "lifetime_surface",
    "machine_balance",
    "memory_vs_stages",
    "moe_layer",
    "moe_stack",
    "overtraining",
    "overtraining_tornado",
    "pipeline_inference",
    "pipeline_latency",
    "price_map",
    "rack",
    "rack_limits",
    "rent_own_or_call",
    "replicas_vs_promise",
    "retrieve_or_hold",
    "revnet",
    "roofline",
    "routed_scaling",
    "scale_up_domains",
    "speculation_vs_batch",
    "stage_imbalance",
    "tier_cost",
    "together_or_apart",
    "train_schedule",
    "training_bubble",
    "two_racks",
    "waiting_vs_load",
]


class UnknownChart(UnknownName, AttributeError):  # noqa: N818
    """A chart that does not exist."""


def all() -> tuple[Chart, ...]:  # noqa: A001
    """List all charts in the order of their numbers."""
    listed = [x for x in globals().values() if isinstance(x, Chart)]
    return tuple(sorted(listed, key=lambda chart: int(chart.number[1:])))


def find(name: str) -> Chart:
    """Find a chart by its name or number.

    Parameters
    ----------
    name : str
        Such as ``"latency_vs_batch"`` or ``"C2"``.

    Returns
    -------
    Chart

    Raises
    ------
    UnknownName
        With the nearest names.
    """
    for chart in all():
        if name in (chart.name, chart.number):
            return chart
    raise unknown("chart", name, [chart.name for chart in all()])


def __getattr__(name: str) -> NoReturn:
    if name.startswith("_"):
        raise AttributeError(f"module 'roofslate.charts' has no attribute {name!r}")
    raise UnknownChart(str(unknown("chart", name, [chart.name for chart in all()])))


def __dir__() -> list[str]:
    return __all__
