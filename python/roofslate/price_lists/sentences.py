"""Wording of `infer`: the reason of each verdict and contradiction."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from roofslate import units

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roofslate.price_lists.intervals import Interval

__all__ = ["Obstacle", "between"]


class Obstacle(Enum):
    """A reason that excludes a cost curve by context."""

    BELOW_COST = "output tokens cost less than their compute, at the markup of prompts"
    NOT_DEARER = "output tokens do not cost more above the threshold"
    WEIGHTS_HIDDEN = "weight reads take less time than compute"
    WEIGHTS_BIND = "weight reads take more time than compute"
    NO_TIME_FOR_WEIGHTS = "KV-cache reads of short contexts leave no time for weight reads"
    DEARER_BELOW_KINK = "below the kink an output token costs as much as an input token"
    STEEPER_THAN_PRICE = "above the kink the cost rises faster than the price"


def between(x: Interval, unit: str) -> str:
    low, high = (units.format(end, unit, 3) for end in (x.low, x.high))
    return low if low == high else f"{low} to {high}"


def each(obstacles: Iterable[Obstacle]) -> str:
    return "; and ".join(dict.fromkeys(obstacle.value for obstacle in obstacles))


def by_tier(caches: Iterable[tuple[str, Interval]]) -> str:
    return "; ".join(f"{name} {between(x, 'byte/token')}" for name, x in caches)


# KV cache per token

KEPT_IN = "the hold price of a token in {}, at the markup of prompts"
FROM_THRESHOLD = "the threshold, above which KV-cache and weight reads take longer than compute"
FROM_STEP = "the step of the output price at the threshold, divided by the contexts it covers"
LACKS_THRESHOLD_PRICE = "a price above a context threshold"
LACKS_STEP = "a larger step"


def caches_apart(contexts: Interval, by_tier: str) -> str:
    return f"long contexts imply {between(contexts, 'byte/token')}, the hold price implies by tier: {by_tier}"


def cache_lacks(lack: str, upper: Interval | None, by_tier: str) -> str:
    bound = f"at most {units.format(upper.high, 'byte/token', 3)}; " if upper else ""
    return f"{bound}lacks {lack}" + (f"; the hold price implies by tier: {by_tier}" if by_tier else "")


def cache_from(source: str, fitting: Iterable[str], *, kink: bool) -> str:
    tiers = " or ".join(fitting)
    keeping = f", and the hold price of a token in {tiers}" if tiers else ""
    return source + keeping + ("" if kink else "; no kink")


# Causes of the prices

PRICE_RATIO = "ratio of output to input price, up to their markups"
UTILIZATION = "the inverse: compute waits for memory"
SLOPE = "slope of the cost: one compute time per balance context"
LACKS_THRESHOLD = "lacks a price above a context threshold"
BINDS_FROM_FIRST = "memory-bound from the first token: {}"
AT_THRESHOLD = "the threshold"
AT_THRESHOLD_OR_NONE = "the threshold, or none at all"
WEIGHTS_SHARE = "weight reads fill the memory time left by KV-cache reads"
WEIGHTS_SHARE_OPEN = WEIGHTS_SHARE + "; no upper bound"
LACKS_PARAMETERS = "lacks total_parameters"
IN_SEQUENCES = "the same in sequences, for the assumed weights"
NO_UPPER_BOUND = "no upper bound"
LONGER_CACHE = f"{Obstacle.NOT_DEARER.value}, and a longer context takes more time to read"
FAST_MODE = "ratio of KV-cache to weight-read time, if the fast mode is a smaller batch"


def answers_below_cost(ratio: Interval) -> str:
    return f"{between(ratio, '1')} of the cost of an input token, but compute costs the same for both"


def exclusion(ratio: Interval, most: float, longer: float) -> str:
    return (
        f"below a kink at the threshold decoding is compute-bound and costs 1 to {most:.3g} times a prompt, "
        f"not {between(ratio, '1')}; {ratio.nominal:.3g} times needs a batch of B_0/{ratio.nominal:.3g}, which has "
        f"no kink, or contexts of {longer:.3g} L_0"
    )


def fast_mode_apart(ratio: float, most: float) -> str:
    return (
        f"the fast mode implies KV-cache reads of {ratio:.3g} times the weight reads, long contexts at most "
        f"{most:.3g} times"
    )


# Hold price

LACKS_HOLD = "lacks a write price with another hold time, or a storage price"
LONGER_IS_CHEAPER = "a longer hold costs less"
CHEAPER_TO_KEEP_LONGER = "the price falls with hold time"
LISTED = "listed"
LINE_OF_WRITES = "the line through both write prices"
WRITE_OF_LINE = "the line at a hold time of 0"
SENDING_AGAIN = "after it, resending the prompt is cheaper"
LACKS_READ = "lacks a cached-input price"
LACKS_CACHE = "lacks the KV cache per token"
PER_BYTE = "hold price per byte of KV cache"
LACKS_FIT = "lacks a KV cache per token that agrees with a tier"


def worth_its_price(fitting: Iterable[str]) -> str:
    return f"{' or '.join(fitting)}: KV cache matches the price, at the markup of prompts"


def dear_tier(time: float, fitting: Iterable[str], cheapest: str, share: float, nearest: str) -> str:
    return (
        f"a hold of {units.format(time, 's')} is priced like {' or '.join(fitting)}, but "
        f"{cheapest} costs {share:.2g} of it; the drain-time rule selects {nearest}"
    )


# Level of prices

LEVEL = "ratio of prompt price to the rental cost of its compute"
WIDTH = "the width at which attention explains the long-prompt premium"
LONG_NOT_DEARER = "long prompts cost no more per token"


def far_above_cost(level: Interval) -> str:
    return f"prompts cost {between(level, '1')} times their compute: only price ratios may track costs"


def below_cost(level: Interval) -> str:
    return f"prompts cost {level.high:.2g} of their compute: a smaller model, or cheaper chips"
