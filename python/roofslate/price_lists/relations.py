"""How `infer` reasons: the relations between prices and causes, run backwards on intervals.

The forward model, which the relations run backwards:

- Prompts are bound by arithmetic and cost ``recompute_cost``. All items of a list are marked up alike, but for a factor
  `relative_markup`, and rounded.
- A token of an answer costs ``compute_floor_ratio`` times as much, ``max(1, w + L / L_0)`` at the context L: 1 up to
  the kink, if there is one, then the slope of the cache. A tier's price covers the mean over its traffic, a power law
  of the context.
- The second tier starts at the kink, within `threshold_alignment`, where there is a kink.
- Keeping a token costs the rent of the bytes that it takes in one of the tiers of memory.

Two cases exclude each other, and each that the prices allow adds to the answer: the cost has a kink (``w < 1``), or
memory binds from the first token on (``w >= 1``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate.evaluation.value import value
from roofslate.folds.bounds import bounds
from roofslate.price_lists.result import Assumption, Contradiction, Inference, Interval, Relation, Tier, Verdict
from roofslate.registry.registry import ancestors, lookup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from roofslate.presets.preset import Preset
    from roofslate.price_lists.reading import Tariff

__all__ = ["ROUNDING", "Reasoning", "exact", "ranged"]

ROUNDING = 0.02  # of a list price
_LEVEL = 10.0  # times its cost that a price may be if prices track costs
_SLICES = 8  # of the range of the exponent, along which both mean contexts fall
_UNITS = {"hold_price": "USD/token/s", "batch_over_balance_batch": "1"}  # of what is no quantity itself
_CHEAP = "an answer is sold for less than its arithmetic, at the markup of prompts"
_NOT_DEARER = "answers do not get dearer beyond the threshold"

_CAUSES = (
    "decode_cost_ratio",
    "decode_prefill_utilization",
    "balance_context",
    "kink_context",
    "batch_over_balance_batch",
    "batch_size",
)

_CHIP = {"tier_capacity": "hbm_capacity", "tier_bandwidth": "hbm_bandwidth", "tier_price": "chip_price"}


def exact(x: float) -> Interval:
    return Interval(x, x, x)


def ranged(low: float, high: float) -> Interval:
    """An interval whose middle is that of the logarithm, where there is one; of one without end it is the lower end."""
    if math.isinf(high):
        return Interval(low, low, high)
    return Interval(low, math.sqrt(low * high) if low > 0 else (low + high) / 2, high)


def _above(x: Interval, least: float) -> Interval:
    """An interval that reaches beyond a number, cut off right above it: what rounding hides is as good as nothing."""
    start = least + 1e-9 * (x.high - least)
    return Interval(max(x.low, start), max(x.nominal, start), x.high)


def _hull(parts: Iterable[Interval | None]) -> Interval | None:
    found = [part for part in parts if part is not None]
    if not found:
        return None
    nominal = found[0].nominal
    return Interval(min(p.low for p in found), nominal, max(p.high for p in found))


@dataclass
class _Case:
    """One of two ways in which the cost may run over the context, and what prices leave of it."""

    decode_cost: Interval | None = None
    balance_context: Interval | None = None
    kv_bytes: Interval | None = None
    batch: Interval | None = None  # over the balance batch
    against: str = ""  # why it can't be


def _bounded(quantity: str, given: Mapping[str, Interval], **words: str) -> Interval:
    """Bounds of a quantity over ranges, by the engine, and its value in their middles."""
    ends: Any = {name: x.low if x.low == x.high else (x.low, x.high) for name, x in given.items()}
    middles: Any = {name: x.nominal for name, x in given.items()}
    low, high = bounds(quantity, **ends, **words)
    return Interval(low, float(value(quantity, **middles, **words)), high)


class Reasoning:
    """The relations between prices and causes, each evaluated by the engine on ranges."""

    def __init__(
        self,
        tariff: Tariff,
        rounding: float,
        devices: Mapping[str, Preset],
        scenario: Mapping[str, Interval],
        assumptions: list[Assumption],
    ) -> None:
        self.tariff, self.devices, self.assumptions = tariff, devices, assumptions
        self.assumptions.append(
            Assumption(
                "rounding", 0.0, 0.0, rounding, "1", "share by which a list price may be off", rounding != ROUNDING
            )
        )
        self.known = dict(scenario)
        for name, x in tariff.values.items():
            listed = lookup(name).unit in ("USD/token", "USD/token/s")
            self.known[name] = Interval(x / (1 + rounding), x, x * (1 + rounding)) if listed else exact(x)
        self.relations: list[Relation] = []
        self.contradictions: list[Contradiction] = []
        self.verdicts: list[Verdict] = []

    def interval(self, quantity: str, **given: Interval) -> Interval:
        """A quantity over all that is known."""
        above = ancestors(quantity)
        return _bounded(quantity, {name: x for name, x in {**self.known, **given}.items() if name in above})

    def relate(self, quantity: str, of: str, **given: Interval) -> Interval:
        """The same, kept in the table of relations."""
        found = self.interval(quantity, **given)
        q = lookup(quantity)
        prices = tuple(n for n in self.tariff.values if n in ancestors(quantity))
        self.relations.append(Relation(quantity, of, q.formula, q.source, *found, q.unit, prices))
        return found

    def has(self, *names: str) -> bool:
        """Whether the list has all these prices."""
        return all(name in self.tariff.values for name in names)

    def markup(self, cost: Interval) -> Interval:
        """The markups of an answer with which its price makes this cost."""
        ratio, markup = self.interval("output_input_ratio_from_prices"), self.known["relative_markup"]
        return markup.within(ratio.low / cost.high, ratio.high / cost.low) or markup

    # --- the two cases

    def traffic(self) -> Iterator[dict[str, Interval]]:
        """Mean contexts on both sides of the threshold, for slices of the exponent: both fall with it."""
        gamma, threshold = self.known["traffic_exponent"], self.known["long_context_threshold"].nominal
        shortest, longest = self.known["shortest_context"], self.known["longest_context"]

        def mean(side: str, exponent: float, end: float) -> float:
            ends = {"shortest_context": end} if side == "short" else {"longest_context": max(end, threshold)}
            inputs: Any = {"traffic_exponent": exponent, "long_context_threshold": threshold, **ends}
            return float(value(f"mean_{side}_context", context_distribution="power_law", **inputs))

        middle = [mean("short", gamma.nominal, shortest.nominal), mean("long", gamma.nominal, longest.nominal)]
        count = _SLICES if gamma.low < gamma.high else 1
        step = (gamma.high - gamma.low) / count
        for k in range(count):
            low, high = gamma.low + k * step, gamma.low + (k + 1) * step
            yield {
                "mean_short_context": Interval(
                    mean("short", high, shortest.low), middle[0], mean("short", low, shortest.high)
                ),
                "mean_long_context": Interval(
                    mean("long", high, longest.low), middle[1], mean("long", low, longest.high)
                ),
            }

    def memory_bound(self, ratio: Interval) -> _Case:
        """Memory binds from the first token on: the cost is a line in the context."""
        weights = self.known["weight_fetch_ratio"].within(1, math.inf)
        cost = ratio.within(1, math.inf)
        if weights is None or cost is None:
            return _Case(against="the weights are fetched in less time than the arithmetic takes" if cost else _CHEAP)
        least, most = 1 / min(weights.high, cost.high), 1 / weights.low
        if not self.has("long_output_price"):
            return _Case(cost, batch=Interval(least, 1 / cost.nominal, most))
        step = self.interval("decode_cost_step", relative_markup=self.markup(cost))
        if step.high <= 0:
            return _Case(cost, against=_NOT_DEARER)
        step = _above(step, 0.0)
        slices = list(self.traffic())
        context = _hull(_bounded("balance_context_from_step", {**means, "decode_cost_step": step}) for means in slices)
        short = _hull(means["mean_short_context"] for means in slices)
        assert context is not None
        assert short is not None
        found = {"output_input_ratio": cost, "context_length": short, "balance_context": context}
        batch = _bounded("batch_from_prices", {**found, "balance_batch": exact(1.0)}).within(least, most)
        if batch is None:
            return _Case(cost, against="the cache of short contexts leaves no time to the weights")
        kv = self.interval("kv_bytes_from_balance_context", balance_context=context)
        return _Case(cost, context, kv, batch)

    def kinked(self, ratio: Interval) -> _Case:
        """Arithmetic binds up to a kink, at which the second tier starts."""
        weights = self.known["weight_fetch_ratio"].within(0, 1)
        if not self.has("long_context_threshold"):
            cost = ratio.within(1, math.inf)
            return _Case(cost, batch=Interval(1, math.inf, math.inf)) if cost else _Case(against=_CHEAP)
        alignment = self.known["threshold_alignment"]
        kink = self.relate("kink_from_threshold", "kink_context")
        asked = {"long_context_threshold": kink, "weight_fetch_ratio": weights or exact(1.0)}
        most = self.relate("kv_bytes_from_kink", "kv_bytes_per_token", **asked)
        if weights is None:
            return _Case(against="the weights are fetched in more time than the arithmetic takes")
        cost = ratio.within(1, max(1.0, alignment.high))
        if cost is None:
            return _Case(against="up to the kink a token of an answer costs what one of a prompt does")
        if not self.has("long_output_price"):
            return _Case(cost, None, most, Interval(1, math.inf, math.inf))
        beyond = self.interval("long_decode_cost_ratio", relative_markup=self.markup(cost))
        if beyond.high <= 1:
            return _Case(cost, against=_NOT_DEARER)
        beyond = _above(beyond, 1.0)
        # a threshold below the kink has cheap contexts beyond it
        start = (
            Interval(min(kink.low, self.known["long_context_threshold"].low), kink.nominal, kink.high)
            if alignment.low < 1
            else kink
        )
        asked = {"kink_from_threshold": start, "long_decode_cost_ratio": beyond}
        found = (_bounded("balance_context_from_premium", {**means, **asked}) for means in self.traffic())
        context = _hull(x.within(kink.low, math.inf) for x in found)
        kv = self.interval("kv_bytes_from_balance_context", balance_context=context) if context else None
        kv = kv.within(most.low, most.high) if kv else None
        if context is None or kv is None:
            return _Case(cost, against="beyond the kink the cost rises faster than the price")
        asked = {"output_input_ratio": exact(1.0), "context_length": kink, "balance_context": context}
        batch = _bounded("batch_from_prices", {**asked, "balance_batch": exact(1.0)}).within(1, math.inf)
        return _Case(cost, context, kv, batch)

    # --- what a token that is kept tells

    def hold_price(self) -> Interval | None:
        """Price of keeping a token for a second: listed, or from two prices of a write."""
        if self.has("cache_storage_price"):
            return self.known["cache_storage_price"]
        if not self.has("cache_write_price", "long_cache_write_price"):
            return None
        self.relate("implied_write_price", "write_price")
        found = self.relate("implied_storage_price", "hold_price")
        if found.high <= 0:
            why = "the longer a token is kept, the less it costs"
            self.contradictions.append(
                Contradiction("hold price", "long_cache_write_price", "cache_write_price", math.inf, why)
            )
            return None
        return _above(found, 0.0)

    def read_tiers(self, hold: Interval | None) -> list[Tier]:
        """Each tier: the cache that the prices of keeping and reading would pay for there, and what it takes."""
        times = [self.tariff.values[n] for n in ("cache_write_time", "long_cache_write_time") if self.has(n)] or [
            3600.0
        ]
        kept = self.interval("hold_cost_from_prices", cache_storage_price=hold) if hold else None
        read = self.interval("read_cost_from_prices") if self.has("cache_read_price") else None
        found = []
        for name, preset in self.devices.items():
            device = {n: exact(float(x)) for n, x in preset.values.items()}
            if name == "HBM":
                device = {n: self.known[source] for n, source in _CHIP.items()}
            given = {n: device[n] for n in ("tier_price", "tier_capacity")}
            worth = _bounded("kv_bytes_from_hold_price", {**given, "hold_cost_from_prices": kept}) if kept else None
            given = {n: device[n] for n in ("tier_price", "tier_bandwidth")}
            most = (
                _bounded("kv_bytes_from_read_price", {**given, "read_cost_from_prices": read}).high
                if read
                else math.inf
            )
            middles: Any = {n: x.nominal for n, x in device.items()}
            costs = [value("tier_cost", kv_bytes_per_token=1.0, hold_time=t, **middles) for t in times]
            drain = float(value("tier_drain_time", **middles))
            found.append(
                Tier(name, drain, worth.within(0, most) if worth else None, most, times, [float(c) for c in costs])
            )
        return found

    # --- all of it

    def conclude(self) -> Inference:
        """Intersect what the relations tell, in each case that is left, and say what contradicts what."""
        level = self.relate("input_price_factor", "markup")
        ratio = self.relate("decode_cost_ratio", "decode_cost_ratio")
        kinked, bound = self.kinked(ratio), self.memory_bound(ratio)
        cases = [case for case in (bound, kinked) if not case.against]
        for quantity, x in (("balance_context_from_step", bound), ("balance_context_from_premium", kinked)):
            if x.balance_context:
                self._keep(quantity, "balance_context", x.balance_context)
                self._keep("kv_bytes_from_balance_context", "kv_bytes_per_token", x.kv_bytes, quantity)
        hold = self.hold_price()
        tiers = self.read_tiers(hold)
        kv, fitting = self._kv_bytes(cases, tiers, hold)
        self._verdict("kv_bytes_per_token", kv, *self._why_kv(cases, kinked, bound, kv, fitting, tiers))
        if cases:
            self._causes(cases, kinked, ratio)
        else:
            self._no_case(kinked, bound, ratio)
        self._keeping(kv, fitting, tiers, hold)
        self._level(level)
        return Inference(
            self.tariff,
            tuple(self.verdicts),
            tuple(self.relations),
            tuple(tiers),
            tuple(self.contradictions),
            tuple(self.assumptions),
        )

    def _keep(self, quantity: str, of: str, x: Interval | None, by: str | None = None) -> None:
        """Keep in the table what a case has found by a relation."""
        if x is not None:
            q = lookup(quantity)
            prices = tuple(n for n in self.tariff.values if n in ancestors(by or quantity))
            self.relations.append(Relation(quantity, of, q.formula, q.source, *x, q.unit, prices))

    def _verdict(self, what: str, x: Interval | None, verdict: str, prices: Iterable[str], why: str) -> None:
        unit = _UNITS.get(what) or lookup(what).unit
        listed = tuple(n for n in prices if self.has(n))
        self.verdicts.append(Verdict(what, *(x or exact(math.nan)), unit, verdict, listed, why))

    def _kv_bytes(
        self, cases: list[_Case], tiers: list[Tier], hold: Interval | None
    ) -> tuple[Interval | None, list[str]]:
        """The cache of a token on which all agree, and the tiers in which it may be kept."""
        told = [case.kv_bytes for case in cases]
        if not told or None in told:
            alone = tiers[0] if hold and told and len(tiers) == 1 else None
            return (alone.kv_bytes, [alone.name]) if alone and alone.kv_bytes else (None, [])
        if hold is None:
            return _hull(told), []
        parts = {
            t.name: _hull(x.within(t.kv_bytes.low, t.kv_bytes.high) for x in told if x) for t in tiers if t.kv_bytes
        }
        return _hull(parts.values()), [name for name, part in parts.items() if part]

    def _why_kv(
        self,
        cases: list[_Case],
        kinked: _Case,
        bound: _Case,
        kv: Interval | None,
        fitting: list[str],
        tiers: list[Tier],
    ) -> tuple[str, tuple[str, ...], str]:
        prices = ("input_price", "output_price", "long_context_threshold", "long_output_price")
        keeping = ("cache_storage_price", "cache_write_price", "long_cache_write_price", "cache_read_price")
        kept = "; ".join(f"{t.name} {_between(t.kv_bytes, 'byte/token')}" for t in tiers if t.kv_bytes)
        if not cases:
            return "contradiction", prices, _why_neither(kinked, bound)
        told = [case.kv_bytes for case in cases]
        if kv is None and None not in told:
            long = _hull(told)
            assert long is not None
            why = f"long contexts tell {_between(long, 'byte/token')}, keeping a token tells by tier: {kept}"
            one = "long_output_price" if self.has("long_output_price") else "long_context_threshold"
            self.contradictions.append(Contradiction("cache of a token", one, "hold_price", _apart(long, tiers), why))
            return "contradiction", (*prices, *keeping), why
        if kv is None or kv.low <= 0:
            lack = "a price beyond a threshold of the context" if not self.has("long_output_price") else "a larger step"
            bounded = f"at most {units.format(kv.high, 'byte/token', 3)}; " if kv else ""
            told_by = f"; keeping a token tells by tier: {kept}" if kept else ""
            return "not determined", prices, f"{bounded}lacks {lack}{told_by}"
        if None in told:
            return "interval", keeping, f"what keeping a token costs in {fitting[0]}, marked up like a prompt"
        words = "the threshold, from which on fetching the cache and the weights takes longer than the arithmetic"
        if self.has("long_output_price"):
            words = "the step of answers beyond the threshold over the contexts that it is paid for"
        if fitting:
            words += f", and the price of keeping a token in {' or '.join(fitting)}"
        if kinked.against:
            words += "; there is no kink"
        return "interval", (*prices, *(keeping if fitting else ())), words

    def _causes(self, cases: list[_Case], kinked: _Case, ratio: Interval) -> None:
        """Price ratio, balance context, kink and batch."""
        pair = ("output_price", "input_price")
        step = (*pair, "long_context_threshold", "long_output_price")
        cost = _hull(case.decode_cost for case in cases)
        assert cost is not None
        self._verdict("decode_cost_ratio", cost, "interval", pair, "output over input, up to how they are marked up")
        used = _bounded("decode_prefill_utilization", {"decode_cost_ratio": cost})
        self._verdict("decode_prefill_utilization", used, "interval", pair, "the inverse: arithmetic waits for memory")
        threshold = self.has("long_context_threshold")
        if threshold and kinked.against and kinked.decode_cost is None and ratio.low > 1:
            self._exclusion(ratio)
        context = _hull(case.balance_context for case in cases) if all(c.balance_context for c in cases) else None
        lack = "lacks a price beyond a threshold of the context"
        if context and math.isfinite(context.high):
            self._verdict(
                "balance_context", context, "interval", step, "the slope of the cost: one arithmetic more each"
            )
        else:
            self._verdict("balance_context", None, "not determined", step, lack)
        if not threshold:
            self._verdict("kink_context", None, "not determined", step, lack)
        elif kinked.against:
            self._verdict(
                "kink_context", exact(0.0), "interval", step, f"memory binds from the first token: {kinked.against}"
            )
        else:
            kink = self.interval("kink_from_threshold")
            low = kink.low if len(cases) == 1 else 0.0
            self._verdict(
                "kink_context",
                kink._replace(low=low),
                "interval",
                step,
                "the threshold, or none at all" if low == 0 else "the threshold",
            )
        batch = _hull(case.batch for case in cases)
        assert batch is not None
        why = "weights share the time of memory that the cache leaves" + (
            "; no upper bound" if math.isinf(batch.high) else ""
        )
        self._verdict("batch_over_balance_batch", batch, "interval", step, why)
        if "total_parameters" not in self.known:
            self._verdict("batch_size", None, "not determined", step, "lacks total_parameters")
        elif math.isfinite(batch.high):
            found = self.interval("practical_batch", practical_margin=batch)
            self._verdict(
                "batch_size", found, "interval", step, "the same in sequences, for the weights that are assumed"
            )
        else:
            self._verdict("batch_size", None, "not determined", step, "no upper bound")
        self._fast_mode(cases, cost, batch)

    def _no_case(self, kinked: _Case, bound: _Case, ratio: Interval) -> None:
        """The same where the prices allow no way in which the cost may run."""
        cheap, pair = ratio.high < 1, ("output_price", "input_price")
        step = () if cheap else ("long_context_threshold", "long_output_price")
        why = _CHEAP if cheap else _why_neither(kinked, bound)
        for what in _CAUSES:
            self._verdict(what, None, "contradiction", (*pair, *step), why)
        if cheap:
            why = f"{_between(ratio, '1')} of the cost of a prompt, and arithmetic alone takes as much as there"
            self.contradictions.append(
                Contradiction("answers below cost", "output_price", "input_price", 1 / ratio.high, why)
            )
        elif kinked.decode_cost is None and ratio.low > 1:
            self._exclusion(ratio)
        if _NOT_DEARER in (kinked.against, bound.against):
            factor = self.known["output_price"].low / self.known["long_output_price"].high
            why = f"{_NOT_DEARER}, and a longer cache takes more time"
            self.contradictions.append(Contradiction("long answers", "long_output_price", "output_price", factor, why))

    def _exclusion(self, ratio: Interval) -> None:
        """The kink at the threshold and the price of answers exclude each other."""
        most = max(1.0, self.known["threshold_alignment"].high)
        base = {
            "output_input_ratio": exact(ratio.nominal),
            "weight_fetch_ratio": exact(0.0),
            "balance_context": exact(1.0),
        }
        longer = _bounded("context_from_prices", base).nominal
        why = (
            f"below a kink at the threshold decoding is bound by arithmetic and costs 1 to {most:.3g} times a prompt, "
            f"not {_between(ratio, '1')}; {ratio.nominal:.3g} times needs a batch of B_0/{ratio.nominal:.3g}, at which "
            f"there is no kink, or contexts of {longer:.3g} L_0"
        )
        self.contradictions.append(
            Contradiction("I11", "output_price", "long_context_threshold", ratio.low / most, why)
        )

    def _fast_mode(self, cases: list[_Case], cost: Interval, batch: Interval) -> None:
        """What a published price and speed of a fast mode tell of weights and cache."""
        if not self.has("price_factor", "speed_factor"):
            return
        pair = ("price_factor", "speed_factor")
        found = self.relate("batch_time_ratio_from_tariff", "batch_time_ratio")
        self._verdict(
            "batch_time_ratio",
            found,
            "interval",
            pair,
            "time of the cache over that of the weights, if a smaller batch is what is faster",
        )
        most = cost.high * batch.high - 1
        if all(case.balance_context for case in cases) and found.low > most > 0:
            why = (
                f"the cache takes {found.nominal:.3g} times the time of the weights by the fast mode, at most "
                f"{most:.3g} times by long contexts"
            )
            self.contradictions.append(
                Contradiction("fast mode", "speed_factor", "long_output_price", found.low / most, why)
            )

    def _keeping(self, kv: Interval | None, fitting: list[str], tiers: list[Tier], hold: Interval | None) -> None:
        """Price of keeping a token, per byte, for how long it pays, and in what."""
        prices = ("cache_storage_price", "cache_write_price", "long_cache_write_price")
        lack = "lacks a second price of a write, for a longer time, or a price of storage"
        if hold is None:
            verdict = "contradiction" if self.has("cache_write_price", "long_cache_write_price") else "not determined"
            for what in ("hold_price", "storage_price_per_byte", "paying_hold_time", "tier_drain_time"):
                self._verdict(
                    what, None, verdict, prices, lack if verdict == "not determined" else "a longer hold costs less"
                )
            return
        listed = self.has("cache_storage_price")
        self._verdict(
            "hold_price", hold, "interval", prices, "listed" if listed else "the line through both prices of a write"
        )
        if not listed:
            written = self.interval("implied_write_price")
            self._verdict(
                "implied_write_price",
                written,
                "interval",
                (*prices, "input_price"),
                "what that line leaves for a hold of no time",
            )
        if self.has("cache_read_price"):
            pays = self.relate("paying_hold_time", "hold_time", cache_storage_price=hold)
            self._verdict(
                "paying_hold_time",
                pays,
                "interval",
                (*prices, "input_price", "cache_read_price"),
                "beyond it sending the prompt again is cheaper",
            )
        else:
            self._verdict("paying_hold_time", None, "not determined", prices, "lacks a price of reading the cache")
        if kv is None or kv.low <= 0:
            self._verdict("storage_price_per_byte", None, "not determined", prices, "lacks the cache of a token")
        else:
            found = _bounded("storage_price_per_byte", {"cache_storage_price": hold, "kv_bytes_per_token": kv})
            self._verdict(
                "storage_price_per_byte", found, "interval", prices, "the price of keeping over the cache that is kept"
            )
        fits = [t for t in tiers if t.name in fitting]
        if not fits:
            self._verdict(
                "tier_drain_time", None, "not determined", prices, "lacks a cache of a token that fits a tier"
            )
            return
        drains = [t.drain_time for t in fits]
        words = f"{' or '.join(fitting)}: there the cache is worth its price, marked up like a prompt"
        self._verdict(
            "tier_drain_time",
            Interval(min(drains), drains[0], max(drains)),
            "interval",
            (*prices, "input_price"),
            words,
        )
        for k, time in enumerate(fits[0].hold_times):
            cheapest, best = min(tiers, key=lambda t: t.hold_costs[k]), min(t.hold_costs[k] for t in fits)
            if best > 2 * cheapest.hold_costs[k]:
                nearest = min(tiers, key=lambda t: abs(math.log(t.drain_time / time)))
                why = (
                    f"keeping a token for {units.format(time, 's')} is priced as {' or '.join(fitting)}, and "
                    f"{cheapest.name} would do it for {cheapest.hold_costs[k] / best:.2g} of that; by the rule of "
                    f"drain times it is {nearest.name}"
                )
                self.contradictions.append(
                    Contradiction(
                        "tier", "hold_price", f"cheapest tier at {time:g} s", best / cheapest.hold_costs[k], why
                    )
                )

    def _level(self, level: Interval) -> None:
        """Whether the price of a prompt is near the cost of its arithmetic, and what makes long prompts dearer."""
        self._verdict(
            "input_price_factor",
            level,
            "interval",
            ("input_price",),
            "price of a prompt over the rent of its arithmetic",
        )
        if level.low > _LEVEL:
            why = f"prompts cost {_between(level, '1')} times their arithmetic: only ratios of prices can track costs"
            self.contradictions.append(Contradiction("I38", "input_price", "recompute_cost", level.low, why))
        elif level.high < 1:
            why = f"prompts are sold for {level.high:.2g} of their arithmetic: a smaller model, or cheaper chips"
            self.contradictions.append(
                Contradiction("below cost", "input_price", "recompute_cost", 1 / level.high, why)
            )
        pair = ("long_input_price", "input_price", "long_context_threshold")
        if self.has("long_input_price"):
            width = self.relate("hidden_size_from_premium", "hidden_size")
            found = width if math.isfinite(width.high) else None
            words = (
                "the width with which attention makes long prompts dearer" if found else "long prompts are not dearer"
            )
            self._verdict("hidden_size", found, "interval" if found else "not determined", pair, words)


def _why_neither(kinked: _Case, bound: _Case) -> str:
    return "; and ".join(dict.fromkeys((kinked.against, bound.against)))


def _between(x: Interval, unit: str) -> str:
    low, high = (units.format(end, unit, 3) for end in (x.low, x.high))
    return low if low == high else f"{low} to {high}"


def _apart(x: Interval, tiers: list[Tier]) -> float:
    """By which factor the nearest tier misses an interval."""
    kept = [t.kv_bytes for t in tiers if t.kv_bytes]
    return min((max(k.low / x.high, x.low / k.high) for k in kept), default=math.inf)
