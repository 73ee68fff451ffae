"""Layouts: how the chips of a replica share a model out, so that everything divides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate.errors import ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["PARTS", "SIZES", "check_layout", "legal_layouts"]


Integers = npt.NDArray[np.int64]


# In the order in which they are chosen: each divides what those before it leave.
PARTS = (
    "chips",
    "pipeline_stages",
    "attention_data_parallel",
    "context_parallel",
    "data_parallel",
    "microbatches",
    "tensor_parallel",
    "expert_parallel",
)


# What is shared out; one that is not known is not asked.
SIZES = (
    "layers",
    "model_chunks",
    "dense_layers",
    "attention_heads",
    "kv_heads",
    "kv_latent_size",
    "intermediate_size",
    "experts",
    "expert_intermediate_size",
    "sequence_length",
    "global_batch",
)


_IN_A_STAGE = ("attention_data_parallel", "context_parallel", "data_parallel", "tensor_parallel")


_STAGE = "the chips of a stage:"


@dataclass(frozen=True)
class _Rule:
    """What must hold of layouts, and how to say that it does not."""

    part: str
    parts: Integers
    verb: str
    whole: str
    wholes: Integers
    holds: npt.NDArray[np.bool_]

    def complaint(self, among: npt.NDArray[np.bool_]) -> str:
        """Why none of these layouts is legal."""
        parts, wholes = (_listed(np.broadcast_to(x, among.shape)[among]) for x in (self.parts, self.wholes))
        return f"{self.part} {parts} does not {self.verb} {self.whole} {wholes}"


def _listed(values: Integers) -> str:
    """Different values in words, the first few."""
    found = [str(x) for x in np.unique(values).tolist()]
    return ", ".join(found) if len(found) <= 6 else ", ".join([*found[:5], "...", found[-1]])


def _divides(part: str, parts: Integers, whole: str, wholes: Integers, *, either: bool = False) -> _Rule:
    """The part divides the whole; `either`: or the whole divides the part, each piece having copies."""
    holds = wholes % parts == 0
    if either:
        holds |= parts % wholes == 0
    return _Rule(part, parts, "divide, nor is a multiple of," if either else "divide", whole, wholes, holds)


def _rules(name: str, at: Mapping[str, Integers], sizes: Mapping[str, int]) -> Iterator[_Rule]:
    """The rules that a part must follow, those before it known."""
    part = at[name]

    def divides(whole: str, *, either: bool = False) -> Iterator[_Rule]:
        if whole in sizes:
            yield _divides(name, part, whole, np.asarray(sizes[whole]), either=either)

    routed = sizes.get("experts", 1) > 1
    if name == "pipeline_stages":
        yield _divides(name, part, "chips", at["chips"])
        yield from divides("layers")
        if "layers" in sizes and "model_chunks" in sizes:
            chunks = part * sizes["model_chunks"]
            yield _divides("pipeline_stages x model_chunks", chunks, "layers", np.asarray(sizes["layers"]))
        return
    stage = at["chips"] // at["pipeline_stages"]
    if name == "microbatches":
        if "global_batch" in sizes:
            each = np.asarray(sizes["global_batch"]) // at["data_parallel"]
            yield _divides(name, part, "the sequences of a copy of the model:", each)
    elif name in _IN_A_STAGE[:-1]:
        yield _divides(name, part, _STAGE, stage)
        if name == "context_parallel":
            yield from divides("sequence_length")
        if name == "data_parallel":
            yield from divides("global_batch")
    elif name == "tensor_parallel":
        yield _divides(name, part, _STAGE, stage)
        together = np.prod([at[each] for each in _IN_A_STAGE], axis=0)
        words = " x ".join(each for each in _IN_A_STAGE if each == name or (at[each] > 1).any())
        yield _Rule(words, together, "make up", _STAGE, stage, together == stage)
        yield from divides("attention_heads")
        if not sizes.get("kv_latent_size"):
            yield from divides("kv_heads", either=True)
        if sizes.get("dense_layers") or not routed:
            yield from divides("intermediate_size")
    elif routed:
        yield _divides(name, part, _STAGE, stage)
        yield from divides("experts")
        width = "expert_intermediate_size"
        if width in sizes:  # chips that are left share an expert, but for those that have batches of their own
            each = np.maximum(stage // part // (at["data_parallel"] * at["context_parallel"]), 1)
            yield _divides("the chips of an expert:", each, width, np.asarray(sizes[width]))


def check_layout(layout: Mapping[str, float], sizes: Mapping[str, Any]) -> None:
    """Refuse a layout in which something does not divide.

    Parameters
    ----------
    layout : mapping
        Some of `PARTS`; `chips` must be among them. Of the others that are left out, `tensor_parallel` and
        `expert_parallel` are what the rest leaves, the others 1.
    sizes : mapping
        Those of `SIZES` that are known, among whatever else: ``rs.models["DeepSeek-V3"].values``.

    Raises
    ------
    ValueRangeError
        It names what does not divide what.

    Examples
    --------
    >>> from roofslate.presets.layouts import check_layout
    >>> check_layout({"chips": 72}, {"attention_heads": 128})
    Traceback (most recent call last):
    roofslate.errors.ValueRangeError: tensor_parallel 72 does not divide attention_heads 128
    """
    legal_layouts({name: [x] for name, x in layout.items()}, sizes)


def legal_layouts(candidates: Mapping[str, Sequence[float] | None], sizes: Mapping[str, Any]) -> dict[str, Integers]:
    """All layouts in which everything divides, fewest chips first.

    Parameters
    ----------
    candidates : mapping
        For some of `PARTS` the numbers that may be taken, or None for all that divide; `chips` needs numbers. Of the
        others that are left out, `tensor_parallel` and `expert_parallel` take all that divide, the others 1.
    sizes : mapping
        Those of `SIZES` that are known, among whatever else: ``rs.models["DeepSeek-V3"].values``.

    Returns
    -------
    dict of numpy.ndarray
        By name of `PARTS`, a value for each layout.

    Raises
    ------
    ValueRangeError
        Where there is none: it names what does not divide what.

    Examples
    --------
    >>> from roofslate.presets.layouts import legal_layouts
    >>> groups = {"chips": [64, 72], "attention_data_parallel": None}
    >>> found = legal_layouts(groups, {"attention_heads": 128, "experts": 256, "expert_intermediate_size": 2048})
    >>> set(found["chips"].tolist())
    {64}
    """
    known = {name: int(sizes[name]) for name in SIZES if name in sizes and float(sizes[name]).is_integer()}
    taken = {name: _integers(name, values) for name, values in candidates.items() if values is not None}
    every = _divisors(taken["chips"])
    free: dict[str, Integers] = dict.fromkeys((name for name in candidates if name not in taken), every)
    if "microbatches" in free and "global_batch" in known:
        free["microbatches"] = _divisors(np.array([known["global_batch"]]))
    experts = known.get("experts", 1)
    free["expert_parallel"] = every[experts % every == 0]
    at: dict[str, Integers] = {"chips": taken["chips"]}
    for name in PARTS[1:]:
        if name == "tensor_parallel" and name not in taken:
            stage = at["chips"] // at["pipeline_stages"]
            at[name] = np.maximum(stage // np.prod([at[each] for each in _IN_A_STAGE[:-1]], axis=0), 1)
        else:
            values = taken.get(name, free.get(name, np.ones(1, np.int64)))
            each = np.tile(values, len(at["chips"]))
            at = {part: np.repeat(x, len(values)) for part, x in at.items()} | {name: each}
        legal = np.ones(len(at["chips"]), bool)
        for rule in _rules(name, at, known):
            left = legal & rule.holds
            if not left.any():
                raise ValueRangeError(rule.complaint(legal))
            legal = left
        at = {part: x[legal] for part, x in at.items()}
    return at


def _integers(name: str, values: Sequence[float]) -> Integers:
    numbers = np.atleast_1d(np.asarray(values, dtype=float))
    wrong = numbers[~((numbers >= 1) & (numbers % 1 == 0))]
    if wrong.size:
        raise ValueRangeError(f"{name} must be a whole number of at least 1 in a layout, got {wrong[0]:g}")
    return np.unique(numbers).astype(np.int64)


def _divisors(numbers: Integers) -> Integers:
    """All that divide one of the numbers."""
    found: Integers = np.arange(1, int(numbers.max()) + 1)
    divide: npt.NDArray[np.bool_] = (numbers[:, np.newaxis] % found == 0).any(axis=0)
    return found[divide]
