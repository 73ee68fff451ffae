"""Relations between prices and causes, inverted on intervals.

The forward model:

- Prefill is compute-bound and costs ``recompute_cost``. All items of a list have the same markup, up to a factor
  `relative_markup` and rounding.
- An output token costs ``compute_floor_ratio`` times as much, ``max(1, w + L / L_0)`` at the context L: 1 below the
  kink, if there is one, then linear with the KV-cache reads. A tier's price covers the mean over traffic, a power law
  in the context.
- If there is a kink, the second price tier starts at it, within `threshold_alignment`.
- Holding a token costs the rent of its bytes in one memory tier.

The result covers each case the prices allow: the cost has a kink (``w < 1``), or decoding is memory-bound from the
first token (``w >= 1``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from roofslate.evaluation.value import value
from roofslate.grid.read import Settled
from roofslate.price_lists.intervals import Interval, above, bounded, exact, hull
from roofslate.price_lists.result import Assumption, Contradiction, Relation, Tier, Verdict
from roofslate.price_lists.sentences import CHEAPER_TO_KEEP_LONGER, Obstacle
from roofslate.registry.registry import ancestors, lookup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from roofslate.presets.preset import Preset
    from roofslate.price_lists.reading import Tariff

__all__ = ["ROUNDING", "Case", "Excluded", "Findings", "hold_price", "kinked", "memory_bound", "price_tiers"]

ROUNDING = 0.02  # of a list price
_SLICES = 8  # of the exponent's range, along which both mean contexts fall
_HOLD_TIME = 3600.0  # for costs of tiers if the list has no write time
_UNKNOWN = exact(math.nan)
_CHIP = {"tier_capacity": "hbm_capacity", "tier_bandwidth": "hbm_bandwidth", "tier_price": "chip_price"}
_UNITS = {"hold_price": "USD/token/s", "batch_over_balance_batch": "1"}  # of verdicts that are no quantities


@dataclass
class Findings:
    """State of the inference: initial ranges, and findings in order.

    Attributes
    ----------
    tariff : Tariff
    known : dict
        Prices with rounding, and the scenario.
    assumptions, relations, verdicts, contradictions : list
    """

    tariff: Tariff
    known: Mapping[str, Interval]
    assumptions: list[Assumption]
    relations: list[Relation] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    contradictions: list[Contradiction] = field(default_factory=list)

    @classmethod
    def start(
        cls, tariff: Tariff, rounding: float, scenario: Mapping[str, Interval], assumptions: Iterable[Assumption]
    ) -> Findings:
        """Start from a price list with rounded prices, in a scenario."""
        known = dict(scenario)
        for name, x in tariff.values.items():
            listed = lookup(name).unit in ("USD/token", "USD/token/s")
            known[name] = Interval(x / (1 + rounding), x, x * (1 + rounding)) if listed else exact(x)
        source = "relative rounding error of a list price"
        rounded = Assumption("rounding", 0.0, 0.0, rounding, "1", source, rounding != ROUNDING)
        return cls(tariff, known, [*assumptions, rounded])

    def has(self, *names: str) -> bool:
        """Return True if the list has all these prices."""
        return all(name in self.tariff.values for name in names)

    def interval(self, quantity: str, **given: Interval) -> Interval:
        """Bound a quantity over all known ranges."""
        inputs = ancestors(quantity)
        return bounded(quantity, {name: x for name, x in {**self.known, **given}.items() if name in inputs})

    def relate(self, quantity: str, of: str, **given: Interval) -> Interval:
        """Bound a quantity, and record it as a relation."""
        x = self.interval(quantity, **given)
        self.keep(quantity, of, x)
        return x

    def keep(self, quantity: str, of: str, x: Interval, by: str | None = None) -> None:
        """Record a relation with the prices of its quantity, or of the quantity `by` they enter."""
        q = lookup(quantity)
        prices = tuple(name for name in self.tariff.values if name in ancestors(by or quantity))
        self.relations.append(Relation(quantity, of, q.formula, q.source, *x, q.unit, prices))

    def conclude(self, what: str, x: Interval, prices: Iterable[str], why: str) -> None:
        """Add a verdict with an interval."""
        self._add(what, x, "interval", prices, why)

    def leave_open(self, what: str, prices: Iterable[str], why: str, x: Interval | None = None) -> None:
        """Add the verdict "not determined", with bounds `x` if known."""
        self._add(what, x or _UNKNOWN, "not determined", prices, why)

    def exclude(self, what: str, prices: Iterable[str], why: str) -> None:
        """Add the verdict that prices contradict each other."""
        self._add(what, _UNKNOWN, "contradiction", prices, why)

    def _add(self, what: str, x: Interval, verdict: str, prices: Iterable[str], why: str) -> None:
        unit = _UNITS.get(what) or lookup(what).unit
        listed = tuple(name for name in prices if self.has(name))
        self.verdicts.append(Verdict(what, *x, unit, verdict, listed, why))

    def contradict(self, name: str, one: str, other: str, factor: float, why: str) -> None:
        self.contradictions.append(Contradiction(name, one, other, factor, why))


@dataclass(frozen=True)
class Case:
    """A cost curve by context that the prices allow, and its causes."""

    decode_cost: Interval
    batch: Interval  # relative to the balance batch
    balance_context: Interval | None = None
    kv_bytes: Interval | None = None


@dataclass(frozen=True)
class Excluded:
    """A cost curve by context that the prices exclude."""

    obstacle: Obstacle
    decode_cost: Interval | None = None


# Both cost curves


def memory_bound(findings: Findings, ratio: Interval) -> Case | Excluded:
    """Assume memory-bound decoding from the first token: a cost linear in the context."""
    weights = findings.known["weight_fetch_ratio"].within(1, math.inf)
    cost = ratio.within(1, math.inf)
    if cost is None:
        return Excluded(Obstacle.BELOW_COST)
    if weights is None:
        return Excluded(Obstacle.WEIGHTS_HIDDEN)
    least, most = 1 / min(weights.high, cost.high), 1 / weights.low
    if not findings.has("long_output_price"):
        return Case(cost, Interval(least, 1 / cost.nominal, most))
    step = findings.interval("decode_cost_step", relative_markup=_markup(findings, cost))
    if step.high <= 0:
        return Excluded(Obstacle.NOT_DEARER, cost)
    step = above(step, 0.0)
    slices = list(_traffic(findings))
    context = hull([bounded("balance_context_from_step", {**means, "decode_cost_step": step}) for means in slices])
    short = hull([means["mean_short_context"] for means in slices])
    inputs = {"output_input_ratio": cost, "context_length": short, "balance_context": context}
    batch = bounded("batch_from_prices", {**inputs, "balance_batch": exact(1.0)}).within(least, most)
    if batch is None:
        return Excluded(Obstacle.NO_TIME_FOR_WEIGHTS, cost)
    return Case(cost, batch, context, findings.interval("kv_bytes_from_balance_context", balance_context=context))


def kinked(findings: Findings, ratio: Interval) -> Case | Excluded:
    """Assume compute-bound decoding up to a kink, at which the second tier starts."""
    weights = findings.known["weight_fetch_ratio"].within(0, 1)
    if not findings.has("long_context_threshold"):
        cost = ratio.within(1, math.inf)
        return Case(cost, Interval(1, math.inf, math.inf)) if cost else Excluded(Obstacle.BELOW_COST)
    alignment = findings.known["threshold_alignment"]
    kink = findings.relate("kink_from_threshold", "kink_context")
    at_kink = {"long_context_threshold": kink, "weight_fetch_ratio": weights or exact(1.0)}
    most = findings.relate("kv_bytes_from_kink", "kv_bytes_per_token", **at_kink)
    if weights is None:
        return Excluded(Obstacle.WEIGHTS_BIND)
    cost = ratio.within(1, max(1.0, alignment.high))
    if cost is None:
        return Excluded(Obstacle.DEARER_BELOW_KINK)
    if not findings.has("long_output_price"):
        return Case(cost, Interval(1, math.inf, math.inf), kv_bytes=most)
    beyond = findings.interval("long_decode_cost_ratio", relative_markup=_markup(findings, cost))
    if beyond.high <= 1:
        return Excluded(Obstacle.NOT_DEARER, cost)
    # A threshold below the kink leaves low-cost contexts above it.
    low = min(kink.low, findings.known["long_context_threshold"].low) if alignment.low < 1 else kink.low
    dear = {"kink_from_threshold": kink._replace(low=low), "long_decode_cost_ratio": above(beyond, 1.0)}
    contexts = [bounded("balance_context_from_premium", {**means, **dear}) for means in _traffic(findings)]
    possible = [x for context in contexts if (x := context.within(kink.low, math.inf))]
    if not possible:
        return Excluded(Obstacle.STEEPER_THAN_PRICE, cost)
    context = hull(possible)
    kv = findings.interval("kv_bytes_from_balance_context", balance_context=context).within(most.low, most.high)
    if kv is None:
        return Excluded(Obstacle.STEEPER_THAN_PRICE, cost)
    inputs = {"output_input_ratio": exact(1.0), "context_length": kink, "balance_context": context}
    batch = bounded("batch_from_prices", {**inputs, "balance_batch": exact(1.0)})
    return Case(cost, Interval(*(max(x, 1) for x in batch)), context, kv)


def _markup(findings: Findings, cost: Interval) -> Interval:
    """Return the markups of an answer at which its price equals this cost."""
    ratio, markup = findings.interval("output_input_ratio"), findings.known["relative_markup"]
    return markup.within(ratio.low / cost.high, ratio.high / cost.low) or markup


def _traffic(findings: Findings) -> Iterator[dict[str, Interval]]:
    """Yield mean contexts below and above the threshold, for slices of the exponent."""
    known = findings.known
    gamma, threshold = known["traffic_exponent"], known["long_context_threshold"].nominal
    shortest, longest = known["shortest_context"], known["longest_context"]

    def mean(side: str, exponent: float, end: float) -> float:
        ends = {"shortest_context": end} if side == "short" else {"longest_context": max(end, threshold)}
        inputs: Any = {"traffic_exponent": exponent, "long_context_threshold": threshold, **ends}
        return float(value(f"mean_{side}_context", Settled(inputs), context_distribution="power_law"))

    middle = [mean("short", gamma.nominal, shortest.nominal), mean("long", gamma.nominal, longest.nominal)]
    count = _SLICES if gamma.low < gamma.high else 1
    step = (gamma.high - gamma.low) / count
    for k in range(count):
        low, high = gamma.low + k * step, gamma.low + (k + 1) * step
        short = Interval(mean("short", high, shortest.low), middle[0], mean("short", low, shortest.high))
        long = Interval(mean("long", high, longest.low), middle[1], mean("long", low, longest.high))
        yield {"mean_short_context": short, "mean_long_context": long}


# Hold price


def hold_price(findings: Findings) -> Interval | None:
    """Bound the hold price per second: listed, or from two write prices."""
    if findings.has("cache_storage_price"):
        return findings.known["cache_storage_price"]
    if not findings.has("cache_write_price", "long_cache_write_price"):
        return None
    findings.relate("implied_write_price", "write_price")
    hold = findings.relate("implied_storage_price", "hold_price")
    if hold.high <= 0:
        prices = ("long_cache_write_price", "cache_write_price")
        findings.contradict("hold price", *prices, math.inf, CHEAPER_TO_KEEP_LONGER)
        return None
    return above(hold, 0.0)


def price_tiers(findings: Findings, devices: Mapping[str, Preset], hold: Interval | None) -> list[Tier]:
    """Return the tiers with their costs, and the KV cache implied by hold and read prices."""
    prices = findings.tariff.values
    times = [prices[n] for n in ("cache_write_time", "long_cache_write_time") if n in prices] or [_HOLD_TIME]
    keeping = findings.interval("hold_cost_from_prices", cache_storage_price=hold) if hold else None
    reading = findings.interval("read_cost_from_prices") if findings.has("cache_read_price") else None
    tiers = []
    for name, preset in devices.items():
        device = {n: exact(float(x)) for n, x in preset.values.items()}
        if name == "HBM":
            device = {n: findings.known[source] for n, source in _CHIP.items()}
        kv, most = None, math.inf
        if keeping:
            space = {n: device[n] for n in ("tier_price", "tier_capacity")}
            kv = bounded("kv_bytes_from_hold_price", {**space, "hold_cost_from_prices": keeping})
        if reading:
            speed = {n: device[n] for n in ("tier_price", "tier_bandwidth")}
            most = bounded("kv_bytes_from_read_price", {**speed, "read_cost_from_prices": reading}).high
        middles: Any = {n: x.nominal for n, x in device.items()}
        costs = [float(value("tier_cost", Settled(middles), kv_bytes_per_token=1.0, hold_time=t)) for t in times]
        drain = float(value("tier_drain_time", Settled(middles)))
        tiers.append(Tier(name, drain, kv.within(0, most) if kv else None, most, times, costs))
    return tiers
