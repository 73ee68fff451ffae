"""Mixture-of-experts layer in NumPy: router, experts, sum, residual, capacity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from roofslate.errors import InputTypeError, ValueRangeError
from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.read import Settled
from roofslate.simulation.checks import natural

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Layer", "Output", "exchange", "expert", "forward", "imbalance", "load", "random_layer"]

Floats = npt.NDArray[np.floating[Any]]


class Layer(NamedTuple):
    """Weights of a mixture-of-experts layer.

    Attributes
    ----------
    router : numpy.ndarray
        Of shape (hidden_size, experts). Scores of a token are its product with `router`, plus `bias`.
    bias : numpy.ndarray
        Of shape (experts,). A larger value makes an expert more popular.
    up, down : numpy.ndarray
        Projections of the experts, of shapes (experts, hidden_size, expert_intermediate_size) and back.
    """

    router: Floats
    bias: Floats
    up: Floats
    down: Floats


class Output(NamedTuple):
    """Output of a layer for a batch of tokens, with the routed copies.

    Attributes
    ----------
    tokens : numpy.ndarray
        Of shape (tokens, hidden_size): the input plus the weighted sum of the experts.
    chosen : numpy.ndarray
        Of shape (tokens, experts_per_token): experts of each token, best first.
    weights : numpy.ndarray
        Of the shape of `chosen`: softmax of the chosen scores, so each row sums to 1.
    processed : numpy.ndarray
        Of the shape of `chosen`: False for a copy that its full expert dropped.
    experts : int
        Number of experts in the layer.
    capacity : int or None
        Copies per expert, None for no limit.
    """

    tokens: Floats
    chosen: npt.NDArray[np.intp]
    weights: Floats
    processed: npt.NDArray[np.bool_]
    experts: int
    capacity: int | None


def random_layer(
    *,
    hidden_size: int = 64,
    expert_intermediate_size: int = 128,
    experts: int = 16,
    router_skew: float = 0.0,
    seed: int,
) -> Layer:
    """Draw a layer with normally distributed weights that preserve the norm of a token.

    Parameters
    ----------
    hidden_size, expert_intermediate_size, experts : int
    router_skew : float
        Standard deviation of the router's biases relative to its scores. With 0 all experts are equally popular.
    seed : int
        The same seed gives the same layer.

    Returns
    -------
    Layer

    Raises
    ------
    ValueRangeError
        For a size below 1 or a negative skew.
    """
    width, inner = natural(hidden_size, "hidden_size"), natural(expert_intermediate_size, "expert_intermediate_size")
    count = natural(experts, "experts")
    if not (math.isfinite(router_skew) and router_skew >= 0):
        raise ValueRangeError(f"router_skew must be finite and at least 0, got {router_skew!r}")
    draw = np.random.default_rng(natural(seed, "seed", least=0))
    return Layer(
        router=draw.standard_normal((width, count)) / np.sqrt(width),
        bias=router_skew * draw.standard_normal(count),
        up=draw.standard_normal((count, width, inner)) / np.sqrt(width),
        down=draw.standard_normal((count, inner, width)) / np.sqrt(inner),
    )


def expert(layer: Layer, tokens: npt.ArrayLike, number: int) -> Floats:
    """Run one expert: up-projection, ReLU, down-projection.

    Parameters
    ----------
    layer : Layer
    tokens : array_like
        Of shape (tokens, hidden_size).
    number : int
        Number of the expert, from 0.

    Returns
    -------
    numpy.ndarray
        Of the shape of `tokens`.
    """
    x = _states(layer, tokens)
    if not 0 <= natural(number, "number", least=0) < len(layer.bias):
        raise ValueRangeError(f"number must be from 0 to {len(layer.bias) - 1}, got {number!r}")
    hidden = np.maximum(x @ layer.up[number], 0)
    return np.asarray(hidden @ layer.down[number])


def forward(
    layer: Layer, tokens: npt.ArrayLike, *, experts_per_token: int = 2, capacity_factor: float | None = None
) -> Output:
    """Run a layer: the weighted sum of each token's experts, plus the token.

    y = x + sum_e softmax(s)_e f_e(x) for the k chosen experts e, with scores s = x R + b and the softmax of the
    chosen ones. An expert accepts at most C = ceil(capacity_factor T k/X) of the T k copies. First choices precede
    second ones, earlier tokens precede later ones. A dropped copy adds nothing, and its token keeps the residual
    (Lepikhin et al. 2020, arXiv:2006.16668; Fedus et al. 2021, arXiv:2101.03961).

    Parameters
    ----------
    layer : Layer
    tokens : array_like
        Of shape (tokens, hidden_size).
    experts_per_token : int
    capacity_factor : float, optional
        Capacity relative to the mean load of an expert. By default no limit. With a limit the output depends on the
        order of the tokens.

    Returns
    -------
    Output

    Raises
    ------
    InputTypeError
        For tokens of another width.
    ValueRangeError
        For more experts per token than experts, or a factor that is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from roofslate import moe
    >>> layer = moe.random_layer(experts=8, seed=1)
    >>> output = moe.forward(layer, np.random.default_rng(1).standard_normal((100, 64)), capacity_factor=1)
    >>> int(output.processed.sum()), int((~output.processed).sum())
    (184, 16)
    """
    x = _states(layer, tokens)
    scores = _scores(layer, x)
    chosen = _chosen(scores, experts_per_token)
    capacity = _capacity(capacity_factor, chosen, len(layer.bias))
    selected = np.take_along_axis(scores, chosen, axis=1)
    weights = np.exp(selected - selected[:, :1])
    weights /= weights.sum(axis=1, keepdims=True)
    processed = _processed(chosen, len(layer.bias), capacity)
    outputs = x.copy()
    for number in range(len(layer.bias)):
        rows, slots = np.nonzero((chosen == number) & processed)
        outputs[rows] += weights[rows, slots, None] * expert(layer, x[rows], number)
    return Output(outputs, chosen, weights, processed, len(layer.bias), capacity)


def load(output: Output, *, chips: int = 1) -> pd.DataFrame:
    """Count the copies of each expert: routed, processed and dropped.

    Parameters
    ----------
    output : Output
        From `forward`.
    chips : int
        Chips to place the experts on, in order and as evenly as possible.

    Returns
    -------
    pandas.DataFrame
        Index `expert`. Columns `chip`, `routed`, `processed`, `dropped`. The routed copies sum to the product of tokens
        and experts per token.
    """
    import pandas as pd

    routed = np.bincount(output.chosen.ravel(), minlength=output.experts)
    processed = np.bincount(output.chosen[output.processed], minlength=output.experts)
    columns = {"chip": _chips_of(output.experts, chips), "routed": routed, "processed": processed}
    table = pd.DataFrame(columns, index=pd.RangeIndex(output.experts, name="expert"))
    return table.assign(dropped=table["routed"] - table["processed"])


def exchange(
    output: Output,
    *,
    chips: int,
    dispatch_bytes_per_element: float = 2.0,
    combine_bytes_per_element: float = 2.0,
) -> pd.DataFrame:
    """Count the all-to-all bytes between tokens and experts, per chip.

    Chips hold tokens and experts in order. Every processed copy counts, as in `all_to_all_bytes_per_layer`, and `local`
    counts the copies that stay on their chip.

    Parameters
    ----------
    output : Output
        From `forward`.
    chips : int
    dispatch_bytes_per_element, combine_bytes_per_element : float
        In bytes, by default for bf16.

    Returns
    -------
    pandas.DataFrame
        Index `chip`. Columns `sent` and `received` (copies), `local` (copies sent to the chip itself), `dispatch_bytes`
        and `combine_bytes` (of the copies sent, and of their results), `contacted` (mean chips reached per token).
    """
    import pandas as pd

    count, width = len(output.tokens), output.tokens.shape[1]
    chip_of = _chips_of(output.experts, chips)
    home = np.broadcast_to(_chips_of(count, chips)[:, None], output.chosen.shape)
    target = chip_of[output.chosen]
    copies, goals = home[output.processed], target[output.processed]
    reached = np.zeros((count, chips), dtype=bool)
    rows = np.broadcast_to(np.arange(count)[:, None], output.chosen.shape)[output.processed]
    reached[rows, goals] = True
    table = pd.DataFrame(
        {
            "sent": np.bincount(copies, minlength=chips),
            "received": np.bincount(goals, minlength=chips),
            "local": np.bincount(copies[copies == goals], minlength=chips),
        },
        index=pd.RangeIndex(chips, name="chip"),
    )
    table["dispatch_bytes"] = table["sent"] * (width * dispatch_bytes_per_element)
    table["combine_bytes"] = table["sent"] * (width * combine_bytes_per_element)
    table["contacted"] = pd.Series(reached.sum(axis=1)).groupby(_chips_of(count, chips)).mean()
    table.attrs["units"] = {
        **dict.fromkeys(["sent", "received", "local"], "1"),
        **dict.fromkeys(["dispatch_bytes", "combine_bytes"], "byte"),
        "contacted": "chip",
    }
    return table


def imbalance(
    *,
    tokens: int = 4096,
    experts: int = 64,
    experts_per_token: int = 8,
    chips: int = 8,
    router_skew: float = 0.3,
    layers: int = 16,
    hidden_size: int = 32,
    seed: int,
) -> pd.DataFrame:
    """Compare the load of simulated routers with `expert_imbalance`.

    Parameters
    ----------
    tokens, experts, experts_per_token, chips : int
    router_skew : float
        As in `random_layer`.
    layers : int
        Number of routers to draw, each with a new batch.
    hidden_size : int
    seed : int

    Returns
    -------
    pandas.DataFrame
        Index `layer`. Columns `popularity_cv` (coefficient of variation of the experts' popularity, sampling noise
        removed), `imbalance` (maximum relative to mean copies per chip) and `expected_imbalance` (`expert_imbalance` at
        that popularity). The quantity is a mean over routers, so compare means.

    Examples
    --------
    >>> from roofslate import moe
    >>> moe.imbalance(layers=8, seed=1)[["imbalance", "expected_imbalance"]].mean().round(2).tolist()
    [1.21, 1.27]
    """
    import pandas as pd

    count, copies = natural(tokens, "tokens"), natural(experts_per_token, "experts_per_token")
    draw = np.random.default_rng(natural(seed, "seed", least=0))
    chip_of = _chips_of(natural(experts, "experts"), chips)
    rows = []
    for _ in range(natural(layers, "layers")):
        layer = random_layer(
            hidden_size=hidden_size,
            expert_intermediate_size=1,
            experts=experts,
            router_skew=router_skew,
            seed=int(draw.integers(2**31)),
        )
        chosen = _chosen(_scores(layer, draw.standard_normal((count, hidden_size))), copies)
        relative = np.bincount(chosen.ravel(), minlength=experts) * (experts / (count * copies))
        # A token chooses an expert at most once, so the variance is as in a binomial draw of k out of X.
        chance = (experts - copies) / (count * copies)
        rows.append(
            (max(relative.var() - chance, 0.0) ** 0.5, np.bincount(chip_of, relative, chips).max() * chips / experts)
        )
    table = pd.DataFrame(rows, columns=["popularity_cv", "imbalance"], index=pd.RangeIndex(len(rows), name="layer"))
    inputs = {"experts": experts, "experts_per_token": copies, "expert_parallel": chips, "routed_tokens": count}
    predicted: Any = evaluate(
        "expert_imbalance", Settled(inputs), expert_popularity_cv=table["popularity_cv"].to_numpy()
    )
    table["expected_imbalance"] = predicted.to_numpy()
    return table


def _states(layer: Layer, tokens: npt.ArrayLike) -> Floats:
    x = np.asarray(tokens, dtype=float)
    width = len(layer.router)
    if x.ndim != 2 or x.shape[1] != width:
        raise InputTypeError(f"tokens: expected an array of shape (tokens, {width}), got {x.shape}")
    return x


def _scores(layer: Layer, x: Floats) -> Floats:
    return np.asarray(x @ layer.router + layer.bias)


def _chosen(scores: Floats, experts_per_token: int) -> npt.NDArray[np.intp]:
    """Return the experts with the largest scores, best first."""
    count, experts = natural(experts_per_token, "experts_per_token"), scores.shape[1]
    if count > experts:
        raise ValueRangeError(f"experts_per_token must be at most experts, {experts}, got {experts_per_token!r}")
    return np.argsort(-scores, axis=1, kind="stable")[:, :count]


def _capacity(factor: float | None, chosen: npt.NDArray[np.intp], experts: int) -> int | None:
    if factor is None:
        return None
    if isinstance(factor, bool) or not isinstance(factor, (int, float, np.integer, np.floating)):
        raise InputTypeError(f"capacity_factor: expected a number, got {factor!r}")
    if not (math.isfinite(factor) and factor > 0):
        raise ValueRangeError(f"capacity_factor must be finite and positive, got {factor!r}")
    return math.ceil(factor * chosen.size / experts)


def _processed(chosen: npt.NDArray[np.intp], experts: int, capacity: int | None) -> npt.NDArray[np.bool_]:
    """Mark the copies within the capacity of their expert."""
    if capacity is None:
        return np.ones(chosen.shape, dtype=bool)
    copies = chosen.T.ravel()  # first choices of all tokens, then second ones
    order = np.argsort(copies, kind="stable")
    starts = np.searchsorted(copies[order], np.arange(experts))
    position = np.empty_like(copies)
    position[order] = np.arange(copies.size) - starts[copies[order]]
    return (position < capacity).reshape(chosen.T.shape).T


def _chips_of(count: int, chips: int) -> npt.NDArray[np.intp]:
    """Return the chip of each of `count` items in order."""
    size = natural(chips, "chips")
    if size > count:
        raise ValueRangeError(f"chips must be at most {count}, one per expert and token, got {chips!r}")
    return np.arange(count) * size // count
