"""Verdicts on the causes of prices, from all relations, and contradictions between prices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from roofslate.price_lists import sentences
from roofslate.price_lists.intervals import Interval, bounded, exact, hull
from roofslate.price_lists.relations import Case, Excluded, Findings, hold_price, kinked, memory_bound, price_tiers
from roofslate.price_lists.result import Inference
from roofslate.price_lists.sentences import Obstacle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roofslate.presets.preset import Preset
    from roofslate.price_lists.result import Tier

__all__ = ["conclude"]

_LEVEL = 10.0  # largest ratio of price to cost if prices track costs
_DEAR = 2.0  # largest ratio to the cost of the cheapest tier
_PAIR = ("output_price", "input_price")
_STEP = ("long_context_threshold", "long_output_price")
_KEEPING = ("cache_storage_price", "cache_write_price", "long_cache_write_price")


def conclude(findings: Findings, devices: Mapping[str, Preset]) -> Inference:
    """Intersect the relations in each case the prices allow, and list the contradictions."""
    level = findings.relate("input_price_factor", "markup")
    ratio = findings.relate("decode_cost_ratio", "decode_cost_ratio")
    kink, bound = kinked(findings, ratio), memory_bound(findings, ratio)
    for quantity, case in (("balance_context_from_step", bound), ("balance_context_from_premium", kink)):
        if isinstance(case, Case) and case.balance_context and case.kv_bytes:
            findings.keep(quantity, "balance_context", case.balance_context)
            findings.keep("kv_bytes_from_balance_context", "kv_bytes_per_token", case.kv_bytes, quantity)
    cases = [case for case in (bound, kink) if isinstance(case, Case)]
    hold = hold_price(findings)
    tiers = price_tiers(findings, devices, hold)
    kv, fitting = _common_cache(cases, tiers, hold)
    if isinstance(kink, Excluded) and isinstance(bound, Excluded):
        reason = sentences.each([kink.obstacle, bound.obstacle])
        findings.exclude("kv_bytes_per_token", ("input_price", "output_price", *_STEP), reason)
        _no_case(findings, kink, bound, ratio)
    else:
        _cache(findings, cases, tiers, kv, fitting, kink=isinstance(kink, Case))
        _causes(findings, cases, kink, ratio)
    if hold is None:
        _no_hold_price(findings)
    else:
        _keeping(findings, kv, hold)
        _tier(findings, tiers, fitting)
    _level(findings, level)
    return Inference(
        findings.tariff,
        tuple(findings.verdicts),
        tuple(findings.relations),
        tuple(tiers),
        tuple(findings.contradictions),
        tuple(findings.assumptions),
    )


# KV cache per token


def _common_cache(
    cases: Sequence[Case], tiers: Sequence[Tier], hold: Interval | None
) -> tuple[Interval | None, list[str]]:
    """Intersect contexts and tiers, and return the KV cache per token and the feasible tiers."""
    caches = [case.kv_bytes for case in cases if case.kv_bytes]
    if not cases or len(caches) < len(cases):  # only a hold price bounds the size
        if hold and cases and len(tiers) == 1 and tiers[0].kv_bytes:
            return tiers[0].kv_bytes, [tiers[0].name]
        return None, []
    if hold is None:
        return hull(caches), []
    common = {}
    for tier in tiers:
        if tier.kv_bytes:
            low, _, high = tier.kv_bytes
            if parts := [part for x in caches if (part := x.within(low, high))]:
                common[tier.name] = hull(parts)
    return (hull(common.values()), list(common)) if common else (None, [])


def _cache(
    findings: Findings,
    cases: Sequence[Case],
    tiers: Sequence[Tier],
    kv: Interval | None,
    fitting: Sequence[str],
    *,
    kink: bool,
) -> None:
    """Conclude the KV cache per token, from long contexts and from the hold price."""
    what, stepped = "kv_bytes_per_token", findings.has("long_output_price")
    prices = ("input_price", "output_price", *_STEP)
    keeping = (*_KEEPING, "cache_read_price")
    by_tier = sentences.by_tier((tier.name, tier.kv_bytes) for tier in tiers if tier.kv_bytes)
    caches = [case.kv_bytes for case in cases if case.kv_bytes]
    by_context = len(caches) == len(cases)
    if kv is None and by_context:
        contexts = hull(caches)
        why = sentences.caches_apart(contexts, by_tier)
        price = "long_output_price" if stepped else "long_context_threshold"
        findings.contradict("KV cache per token", price, "hold_price", _apart(contexts, tiers), why)
        findings.exclude(what, (*prices, *keeping), why)
    elif kv is None or kv.low <= 0:
        lack = sentences.LACKS_STEP if stepped else sentences.LACKS_THRESHOLD_PRICE
        why = sentences.cache_lacks(lack, kv, by_tier)
        findings.leave_open(what, prices, why, kv)
    elif not by_context:
        findings.conclude(what, kv, keeping, sentences.KEPT_IN.format(fitting[0]))
    else:
        source = sentences.FROM_STEP if stepped else sentences.FROM_THRESHOLD
        why = sentences.cache_from(source, fitting, kink=kink)
        findings.conclude(what, kv, (*prices, *(keeping if fitting else ())), why)


def _apart(x: Interval, tiers: Sequence[Tier]) -> float:
    """Return the factor by which the nearest tier misses an interval."""
    caches = [tier.kv_bytes for tier in tiers if tier.kv_bytes]
    return min((max(k.low / x.high, x.low / k.high) for k in caches), default=math.inf)


# Causes of the prices


def _causes(findings: Findings, cases: Sequence[Case], kink: Case | Excluded, ratio: Interval) -> None:
    """Conclude the price ratio, balance context, kink and batch."""
    step = (*_PAIR, *_STEP)
    cost = hull([case.decode_cost for case in cases])
    findings.conclude("decode_cost_ratio", cost, _PAIR, sentences.PRICE_RATIO)
    utilization = bounded("decode_prefill_utilization", {"decode_cost_ratio": cost})
    findings.conclude("decode_prefill_utilization", utilization, _PAIR, sentences.UTILIZATION)
    threshold = findings.has("long_context_threshold")
    if threshold and isinstance(kink, Excluded) and kink.decode_cost is None and ratio.low > 1:
        _exclusion(findings, ratio)
    contexts = [case.balance_context for case in cases if case.balance_context]
    if len(contexts) == len(cases) and math.isfinite((context := hull(contexts)).high):
        findings.conclude("balance_context", context, step, sentences.SLOPE)
    else:
        findings.leave_open("balance_context", step, sentences.LACKS_THRESHOLD)
    if not threshold:
        findings.leave_open("kink_context", step, sentences.LACKS_THRESHOLD)
    elif isinstance(kink, Excluded):
        why = sentences.BINDS_FROM_FIRST.format(kink.obstacle.value)
        findings.conclude("kink_context", exact(0.0), step, why)
    else:
        start = findings.interval("kink_from_threshold")
        low = start.low if len(cases) == 1 else 0.0
        why = sentences.AT_THRESHOLD_OR_NONE if low == 0 else sentences.AT_THRESHOLD
        findings.conclude("kink_context", start._replace(low=low), step, why)
    batch = hull([case.batch for case in cases])
    _batch(findings, batch, step)
    _fast_mode(findings, cases, cost, batch)


def _batch(findings: Findings, batch: Interval, prices: Sequence[str]) -> None:
    """Conclude the batch, relative to the balance batch and in sequences."""
    finite = math.isfinite(batch.high)
    why = sentences.WEIGHTS_SHARE if finite else sentences.WEIGHTS_SHARE_OPEN
    findings.conclude("batch_over_balance_batch", batch, prices, why)
    if "total_parameters" not in findings.known:
        findings.leave_open("batch_size", prices, sentences.LACKS_PARAMETERS)
    elif finite:
        sequences = findings.interval("practical_batch", practical_margin=batch)
        findings.conclude("batch_size", sequences, prices, sentences.IN_SEQUENCES)
    else:
        findings.leave_open("batch_size", prices, sentences.NO_UPPER_BOUND)


def _no_case(findings: Findings, kink: Excluded, bound: Excluded, ratio: Interval) -> None:
    """Report the verdicts if the prices exclude both cost curves."""
    cheap = ratio.high < 1
    prices = _PAIR if cheap else (*_PAIR, *_STEP)
    why = Obstacle.BELOW_COST.value if cheap else sentences.each([kink.obstacle, bound.obstacle])
    for what in (
        "decode_cost_ratio",
        "decode_prefill_utilization",
        "balance_context",
        "kink_context",
        "batch_over_balance_batch",
        "batch_size",
    ):
        findings.exclude(what, prices, why)
    if cheap:
        findings.contradict("answers below cost", *_PAIR, 1 / ratio.high, sentences.answers_below_cost(ratio))
    elif kink.decode_cost is None and ratio.low > 1:
        _exclusion(findings, ratio)
    if Obstacle.NOT_DEARER in (kink.obstacle, bound.obstacle):
        factor = findings.known["output_price"].low / findings.known["long_output_price"].high
        findings.contradict("long answers", "long_output_price", "output_price", factor, sentences.LONGER_CACHE)


def _exclusion(findings: Findings, ratio: Interval) -> None:
    """Report that the kink at the threshold contradicts the price of answers."""
    most = max(1.0, findings.known["threshold_alignment"].high)
    relative = {"weight_fetch_ratio": exact(0.0), "balance_context": exact(1.0)}
    longer = bounded("context_from_prices", {"output_input_ratio": exact(ratio.nominal), **relative}).nominal
    why = sentences.exclusion(ratio, most, longer)
    findings.contradict("I11", "output_price", "long_context_threshold", ratio.low / most, why)


def _fast_mode(findings: Findings, cases: Sequence[Case], cost: Interval, batch: Interval) -> None:
    """Conclude the ratio of KV-cache to weight reads from a fast mode's price and speed."""
    pair = ("price_factor", "speed_factor")
    if not findings.has(*pair):
        return
    ratio = findings.relate("batch_time_ratio", "batch_time_ratio")
    findings.conclude("batch_time_ratio", ratio, pair, sentences.FAST_MODE)
    most = cost.high * batch.high - 1
    if all(case.balance_context for case in cases) and ratio.low > most > 0:
        why = sentences.fast_mode_apart(ratio.nominal, most)
        findings.contradict("fast mode", "speed_factor", "long_output_price", ratio.low / most, why)


# Hold price


def _no_hold_price(findings: Findings) -> None:
    contradictory = findings.has("cache_write_price", "long_cache_write_price")
    for what in ("hold_price", "storage_price_per_byte", "paying_hold_time", "tier_drain_time"):
        if contradictory:
            findings.exclude(what, _KEEPING, sentences.LONGER_IS_CHEAPER)
        else:
            findings.leave_open(what, _KEEPING, sentences.LACKS_HOLD)


def _keeping(findings: Findings, kv: Interval | None, hold: Interval) -> None:
    """Conclude the hold price per token and per byte, and the longest hold that pays."""
    if findings.has("cache_storage_price"):
        findings.conclude("hold_price", hold, _KEEPING, sentences.LISTED)
    else:
        findings.conclude("hold_price", hold, _KEEPING, sentences.LINE_OF_WRITES)
        write = findings.interval("implied_write_price")
        findings.conclude("implied_write_price", write, (*_KEEPING, "input_price"), sentences.WRITE_OF_LINE)
    if findings.has("cache_read_price"):
        pays = findings.relate("paying_hold_time", "hold_time", cache_storage_price=hold)
        prices = (*_KEEPING, "input_price", "cache_read_price")
        findings.conclude("paying_hold_time", pays, prices, sentences.SENDING_AGAIN)
    else:
        findings.leave_open("paying_hold_time", _KEEPING, sentences.LACKS_READ)
    if kv is None or kv.low <= 0:
        findings.leave_open("storage_price_per_byte", _KEEPING, sentences.LACKS_CACHE)
    else:
        price = bounded("storage_price_per_byte", {"cache_storage_price": hold, "kv_bytes_per_token": kv})
        findings.conclude("storage_price_per_byte", price, _KEEPING, sentences.PER_BYTE)


def _tier(findings: Findings, tiers: Sequence[Tier], fitting: Sequence[str]) -> None:
    """Conclude the drain time of the feasible tiers, and report a much cheaper tier."""
    fits = [tier for tier in tiers if tier.name in fitting]
    if not fits:
        findings.leave_open("tier_drain_time", _KEEPING, sentences.LACKS_FIT)
        return
    drains = [tier.drain_time for tier in fits]
    drain = Interval(min(drains), drains[0], max(drains))
    findings.conclude("tier_drain_time", drain, (*_KEEPING, "input_price"), sentences.worth_its_price(fitting))
    for k, time in enumerate(fits[0].hold_times):
        cheapest = min(tiers, key=lambda tier: tier.hold_costs[k])
        least, cost = cheapest.hold_costs[k], min(tier.hold_costs[k] for tier in fits)
        if cost > _DEAR * least:
            nearest = min(tiers, key=lambda tier: abs(math.log(tier.drain_time / time)))
            why = sentences.dear_tier(time, fitting, cheapest.name, least / cost, nearest.name)
            findings.contradict("tier", "hold_price", f"cheapest tier at {time:g} s", cost / least, why)


# Level of prices


def _level(findings: Findings, level: Interval) -> None:
    """Conclude the ratio of prompt price to compute cost, and the premium of long prompts."""
    findings.conclude("input_price_factor", level, ("input_price",), sentences.LEVEL)
    pair = ("input_price", "recompute_cost")
    if level.low > _LEVEL:
        findings.contradict("I38", *pair, level.low, sentences.far_above_cost(level))
    elif level.high < 1:
        findings.contradict("below cost", *pair, 1 / level.high, sentences.below_cost(level))
    if findings.has("long_input_price"):
        prices = ("long_input_price", "input_price", "long_context_threshold")
        width = findings.relate("hidden_size_from_premium", "hidden_size")
        if math.isfinite(width.high):
            findings.conclude("hidden_size", width, prices, sentences.WIDTH)
        else:
            findings.leave_open("hidden_size", prices, sentences.LONG_NOT_DEARER)
