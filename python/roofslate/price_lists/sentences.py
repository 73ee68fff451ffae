"""Words of `infer`: the reason of each verdict and contradiction."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from roofslate import units

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roofslate.price_lists.intervals import Interval

__all__ = ["Obstacle", "between"]


class Obstacle(Enum):
    """Reasons that exclude a course of the cost over the context."""

    BELOW_COST = "an answer is sold for less than its arithmetic, at the markup of prompts"
    NOT_DEARER = "answers do not get dearer beyond the threshold"
    WEIGHTS_HIDDEN = "the weights are fetched in less time than the arithmetic takes"
    WEIGHTS_BIND = "the weights are fetched in more time than the arithmetic takes"
    NO_TIME_FOR_WEIGHTS = "the cache of short contexts leaves no time to the weights"
    DEARER_BELOW_KINK = "up to the kink a token of an answer costs what one of a prompt does"
    STEEPER_THAN_PRICE = "beyond the kink the cost rises faster than the price"


def between(x: Interval, unit: str) -> str:
    low, high = (units.format(end, unit, 3) for end in (x.low, x.high))
    return low if low == high else f"{low} to {high}"


def each(obstacles: Iterable[Obstacle]) -> str:
    return "; and ".join(dict.fromkeys(obstacle.value for obstacle in obstacles))


def by_tier(caches: Iterable[tuple[str, Interval]]) -> str:
    return "; ".join(f"{name} {between(x, 'byte/token')}" for name, x in caches)


# Cache of a token

KEPT_IN = "what keeping a token costs in {}, marked up like a prompt"
FROM_THRESHOLD = "the threshold, from which on fetching the cache and the weights takes longer than the arithmetic"
FROM_STEP = "the step of answers beyond the threshold over the contexts that it is paid for"
LACKS_THRESHOLD_PRICE = "a price beyond a threshold of the context"
LACKS_STEP = "a larger step"


def caches_apart(contexts: Interval, by_tier: str) -> str:
    return f"long contexts tell {between(contexts, 'byte/token')}, keeping a token tells by tier: {by_tier}"


def cache_lacks(lack: str, upper: Interval | None, by_tier: str) -> str:
    bound = f"at most {units.format(upper.high, 'byte/token', 3)}; " if upper else ""
    return f"{bound}lacks {lack}" + (f"; keeping a token tells by tier: {by_tier}" if by_tier else "")


def cache_from(source: str, fitting: Iterable[str], *, kink: bool) -> str:
    tiers = " or ".join(fitting)
    keeping = f", and the price of keeping a token in {tiers}" if tiers else ""
    return source + keeping + ("" if kink else "; there is no kink")


# Causes of the prices

PRICE_RATIO = "output over input, up to how they are marked up"
UTILIZATION = "the inverse: arithmetic waits for memory"
SLOPE = "the slope of the cost: one arithmetic more each"
LACKS_THRESHOLD = "lacks a price beyond a threshold of the context"
BINDS_FROM_FIRST = "memory binds from the first token: {}"
AT_THRESHOLD = "the threshold"
AT_THRESHOLD_OR_NONE = "the threshold, or none at all"
WEIGHTS_SHARE = "weights share the time of memory that the cache leaves"
WEIGHTS_SHARE_OPEN = WEIGHTS_SHARE + "; no upper bound"
LACKS_PARAMETERS = "lacks total_parameters"
IN_SEQUENCES = "the same in sequences, for the weights that are assumed"
NO_UPPER_BOUND = "no upper bound"
LONGER_CACHE = f"{Obstacle.NOT_DEARER.value}, and a longer cache takes more time"
FAST_MODE = "time of the cache over that of the weights, if a smaller batch is what is faster"


def answers_below_cost(ratio: Interval) -> str:
    return f"{between(ratio, '1')} of the cost of a prompt, and arithmetic alone takes as much as there"


def exclusion(ratio: Interval, most: float, longer: float) -> str:
    return (
        f"below a kink at the threshold decoding is bound by arithmetic and costs 1 to {most:.3g} times a prompt, "
        f"not {between(ratio, '1')}; {ratio.nominal:.3g} times needs a batch of B_0/{ratio.nominal:.3g}, at which "
        f"there is no kink, or contexts of {longer:.3g} L_0"
    )


def fast_mode_apart(ratio: float, most: float) -> str:
    return (
        f"the cache takes {ratio:.3g} times the time of the weights by the fast mode, at most "
        f"{most:.3g} times by long contexts"
    )


# Keeping a token

LACKS_HOLD = "lacks a second price of a write, for a longer time, or a price of storage"
LONGER_IS_CHEAPER = "a longer hold costs less"
CHEAPER_TO_KEEP_LONGER = "the longer a token is kept, the less it costs"
LISTED = "listed"
LINE_OF_WRITES = "the line through both prices of a write"
WRITE_OF_LINE = "what that line leaves for a hold of no time"
SENDING_AGAIN = "beyond it sending the prompt again is cheaper"
LACKS_READ = "lacks a price of reading the cache"
LACKS_CACHE = "lacks the cache of a token"
PER_BYTE = "the price of keeping over the cache that is kept"
LACKS_FIT = "lacks a cache of a token that fits a tier"


def worth_its_price(fitting: Iterable[str]) -> str:
    return f"{' or '.join(fitting)}: there the cache is worth its price, marked up like a prompt"


def dear_tier(time: float, fitting: Iterable[str], cheapest: str, share: float, nearest: str) -> str:
    return (
        f"keeping a token for {units.format(time, 's')} is priced as {' or '.join(fitting)}, and "
        f"{cheapest} would do it for {share:.2g} of that; by the rule of drain times it is {nearest}"
    )


# Level of prices

LEVEL = "price of a prompt over the rent of its arithmetic"
WIDTH = "the width with which attention makes long prompts dearer"
LONG_NOT_DEARER = "long prompts are not dearer"


def far_above_cost(level: Interval) -> str:
    return f"prompts cost {between(level, '1')} times their arithmetic: only ratios of prices can track costs"


def below_cost(level: Interval) -> str:
    return f"prompts are sold for {level.high:.2g} of their arithmetic: a smaller model, or cheaper chips"
