"""Layouts: partition of a model among a replica's chips, legality, and the default rule.

Heads and matrices must divide. Stages and experts need not: the fullest stage and the fullest chip hold up the others.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from roofslate.errors import ValueRangeError
from roofslate.presets.divisibility import Integers, Rule, at_most, divides, divisors, whole_numbers

__all__ = [
    "DIMENSIONS",
    "SIZES",
    "Dimension",
    "Search",
    "check_layout",
    "dimensions_searched",
    "layouts_by_rule",
    "legal_layouts",
    "training_layouts_by_rule",
]

# The partitioned sizes. An unknown size imposes no rule.
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
    "global_batch_size",
)

_STAGE = "the chips of a stage:"


Rules = Callable[["_Partial"], "Iterator[Rule]"]


class Search(enum.Enum):
    """Condition for `deploy` to search a dimension that the outputs depend on."""

    ALWAYS = enum.auto()
    GIVEN = enum.auto()  # only where the caller gives numbers for it
    NEVER = enum.auto()


@dataclass(frozen=True)
class Dimension:
    """One dimension of parallelism, the source for legal layouts, search, table and docs.

    Attributes
    ----------
    name : str
        The quantity.
    text : str
        A layout in words, with ``{}`` for the number.
    rules : callable
        Divisibility rules, given the dimensions before it.
    serving, training : Search
        When `deploy` searches it.
    in_stage : bool
        Whether it shares the chips of a stage with the others of this kind, which together make up the stage.
    needs : str
        In training it is searched only where outputs depend on this quantity; empty for any.
    """

    name: str
    text: str
    rules: Rules
    serving: Search = Search.ALWAYS
    training: Search = Search.ALWAYS
    in_stage: bool = False
    needs: str = ""


@dataclass(frozen=True)
class _Partial:
    """Layouts as far as they are chosen, and the sizes to share out."""

    name: str  # the dimension chosen last
    at: Mapping[str, Integers]
    sizes: Mapping[str, int]

    @property
    def part(self) -> Integers:
        return self.at[self.name]

    @property
    def stage(self) -> Integers:
        """Chips of a stage."""
        return self.at["chips"] // self.at["pipeline_stages"]

    @property
    def routed(self) -> bool:
        return self.sizes.get("experts", 1) > 1

    def of_stage(self) -> Rule:
        return divides(self.name, self.part, _STAGE, self.stage)

    def of_size(self, size_name: str, *, either: bool = False) -> Iterator[Rule]:
        """Require that the part divides a size, if the size is known."""
        if size_name in self.sizes:
            yield divides(self.name, self.part, size_name, np.asarray(self.sizes[size_name]), either=either)


def _no_rule(_: _Partial) -> Iterator[Rule]:
    return iter(())


def _of_stages(layouts: _Partial) -> Iterator[Rule]:
    part, sizes = layouts.part, layouts.sizes
    yield divides(layouts.name, part, "chips", layouts.at["chips"])
    if "layers" in sizes:  # stages need not be alike, but each has a layer
        layers = np.asarray(sizes["layers"])
        yield Rule(layouts.name, part, "leave a layer to each stage of", "layers", layers, part <= layers, at_most)
        if "model_chunks" in sizes:  # the embedding and the output head may be chunks too
            name, chunks, units = "pipeline_stages x model_chunks", part * sizes["model_chunks"], layers + 2
            words = "leave a unit to each chunk of", "layers, embedding and output head"
            yield Rule(name, chunks, *words, units, chunks <= units, at_most)


def _of_groups(layouts: _Partial) -> Iterator[Rule]:
    yield layouts.of_stage()


def _of_prompts(layouts: _Partial) -> Iterator[Rule]:
    groups = "attention_data_parallel"
    yield divides(layouts.name, layouts.part, groups, layouts.at[groups])


def _of_context(layouts: _Partial) -> Iterator[Rule]:
    yield layouts.of_stage()
    yield from layouts.of_size("sequence_length")


def _of_copies(layouts: _Partial) -> Iterator[Rule]:
    yield layouts.of_stage()
    yield from layouts.of_size("global_batch_size")


def _of_microbatches(layouts: _Partial) -> Iterator[Rule]:
    if "global_batch_size" in layouts.sizes:
        each = np.asarray(layouts.sizes["global_batch_size"]) // layouts.at["data_parallel"]
        yield divides(layouts.name, layouts.part, "the sequences of a copy of the model:", each)


def _of_tensors(layouts: _Partial) -> Iterator[Rule]:
    name, at, sizes, stage = layouts.name, layouts.at, layouts.sizes, layouts.stage
    yield layouts.of_stage()
    together = np.prod([at[each] for each in _IN_STAGE], axis=0)
    words = " x ".join(each for each in _IN_STAGE if each == name or (at[each] > 1).any())
    yield Rule(words, together, "make up", _STAGE, stage, together == stage, at_most)
    yield from layouts.of_size("attention_heads")
    if not sizes.get("kv_latent_size"):
        yield from layouts.of_size("kv_heads", either=True)
    if sizes.get("dense_layers") or not layouts.routed:
        yield from layouts.of_size("intermediate_size")


def _of_experts(layouts: _Partial) -> Iterator[Rule]:
    if not layouts.routed:
        return
    at, stage = layouts.at, layouts.stage
    yield layouts.of_stage()  # experts need not be shared out evenly
    if "global_batch_size" in layouts.sizes:  # to train, each chip has an expert
        experts = np.asarray(layouts.sizes["experts"])
        words = "leave an expert to each part of", "experts"
        yield Rule(layouts.name, layouts.part, *words, experts, layouts.part <= experts, at_most)
    available = np.maximum(stage // layouts.part // (at["data_parallel"] * at["context_parallel"]), 1)
    shared = np.minimum(available, at["tensor_parallel"])  # groups with separate batches have copies
    yield divides("the chips of an expert:", shared, "those that all its copies have:", available)
    width = "expert_intermediate_size"
    if width in layouts.sizes:
        yield divides("the chips of an expert:", shared, width, np.asarray(layouts.sizes[width]))


# In the order in which they are chosen: each divides the chips that earlier ones leave.
DIMENSIONS = {
    dimension.name: dimension
    for dimension in (
        Dimension("chips", "{} chips", _no_rule),
        Dimension("pipeline_stages", "{} stages", _of_stages),
        Dimension("attention_data_parallel", "{} groups", _of_groups, training=Search.NEVER, in_stage=True),
        Dimension("prefill_context_parallel", "prompts over {}", _of_prompts, Search.GIVEN, training=Search.NEVER),
        Dimension(
            "context_parallel", "context over {}", _of_context, Search.NEVER, training=Search.GIVEN, in_stage=True
        ),
        Dimension("data_parallel", "data over {}", _of_copies, serving=Search.NEVER, in_stage=True),
        Dimension(
            "microbatches", "{} micro-batches", _of_microbatches, serving=Search.NEVER, needs="global_batch_size"
        ),
        Dimension("tensor_parallel", "tensor over {}", _of_tensors, in_stage=True),
        Dimension("expert_parallel", "experts over {}", _of_experts),
    )
}
_IN_STAGE = tuple(dimension.name for dimension in DIMENSIONS.values() if dimension.in_stage)


def dimensions_searched(reached: Collection[str], given: Collection[str], *, training: bool) -> list[str]:
    """Return the dimensions that `deploy` searches: relevant to the outputs and the purpose."""
    names = []
    for dimension in DIMENSIONS.values():
        search = dimension.training if training else dimension.serving
        applies = search is Search.ALWAYS or (search is Search.GIVEN and dimension.name in given)
        if (
            applies
            and dimension.name in reached
            and not (training and dimension.needs and dimension.needs not in reached)
        ):
            names.append(dimension.name)
    return names


def check_layout(layout: Mapping[str, float], sizes: Mapping[str, Any]) -> None:
    """Refuse a layout in which something does not divide.

    Parameters
    ----------
    layout : mapping
        Some of `DIMENSIONS`; `chips` must be among them. Of the others that are left out, `tensor_parallel` and
        `expert_parallel` take the remaining chips, the others are 1.
    sizes : mapping
        Those of `SIZES` that are known, among whatever else: ``rs.models["DeepSeek-V3"].values``.

    Raises
    ------
    ValueRangeError
        It names the broken divisibility rule.

    Examples
    --------
    >>> from roofslate.presets.layouts import check_layout
    >>> check_layout({"chips": 72}, {"attention_heads": 128})
    Traceback (most recent call last):
    roofslate.errors.ValueRangeError: tensor_parallel 72 does not divide attention_heads 128; nearest: 64 or 128
    """
    legal_layouts({name: [x] for name, x in layout.items()}, sizes)


def legal_layouts(candidates: Mapping[str, Sequence[float] | None], sizes: Mapping[str, Any]) -> dict[str, Integers]:
    """All layouts in which everything divides, fewest chips first.

    Parameters
    ----------
    candidates : mapping
        For some of `DIMENSIONS` the numbers that may be taken, or None for all that divide; `chips` needs numbers. Of
        the others that are left out, `tensor_parallel` and `expert_parallel` take all that divide, the others 1.
    sizes : mapping
        Those of `SIZES` that are known, among whatever else: ``rs.models["DeepSeek-V3"].values``.

    Returns
    -------
    dict of numpy.ndarray
        By name of `DIMENSIONS`, a value for each layout.

    Raises
    ------
    ValueRangeError
        If there is none; it names the broken divisibility rule.

    Examples
    --------
    >>> from roofslate.presets.layouts import legal_layouts
    >>> found = legal_layouts({"chips": [64, 72], "attention_data_parallel": [1]}, {"attention_heads": 128})
    >>> set(found["chips"].tolist())
    {64}
    """
    known = {name: int(sizes[name]) for name in SIZES if name in sizes and float(sizes[name]).is_integer()}
    chosen = {name: whole_numbers(name, values) for name, values in candidates.items() if values is not None}
    every = divisors(chosen["chips"])
    free: dict[str, Integers] = dict.fromkeys((name for name in candidates if name not in chosen), every)
    if "microbatches" in free and "global_batch_size" in known:
        free["microbatches"] = divisors(np.array([known["global_batch_size"]]))
    free["expert_parallel"] = every if known.get("experts", 1) > 1 else every[:1]
    at: dict[str, Integers] = {"chips": chosen["chips"]}
    for name, dimension in itertools.islice(DIMENSIONS.items(), 1, None):
        if name == "tensor_parallel" and name not in chosen:
            stage = at["chips"] // at["pipeline_stages"]
            at[name] = np.maximum(stage // np.prod([at[each] for each in _IN_STAGE[:-1]], axis=0), 1)
        else:
            values = chosen.get(name, free.get(name, np.ones(1, np.int64)))
            each = np.tile(values, len(at["chips"]))
            at = {part: np.repeat(x, len(values)) for part, x in at.items()} | {name: each}
        legal = np.ones(len(at["chips"]), bool)
        for rule in dimension.rules(_Partial(name, at, known)):
            remaining = legal & rule.holds
            if not remaining.any():
                raise ValueRangeError(rule.complaint(legal))
            legal = remaining
        at = {part: x[legal] for part, x in at.items()}
    return at


def layouts_by_rule(
    chips: int, domain: int, sizes: Mapping[str, int], given: Mapping[str, int]
) -> list[dict[str, int]]:
    """Return the default serving layout, and alternatives in case weight copies do not fit.

    For a dense model, as many chips of a scale-up domain share each matrix as possible, the rest are stages. With
    routed experts, each chip of a group has at least one head of the KV cache, one chip if it is latent. The rest are
    groups that attend to separate sequences, and the experts are spread over all chips.

    Parameters
    ----------
    chips, domain : int
        Of the replica; as many of them as are joined at scale-up bandwidth.
    sizes : mapping
        Those of `SIZES` that are known.
    given : mapping
        Parts that are given, which stay: of ``tensor_parallel``, ``pipeline_stages``, ``attention_data_parallel``,
        ``expert_parallel``.

    Returns
    -------
    list of dict
        ``tensor_parallel``, ``pipeline_stages`` and ``attention_data_parallel`` of each; each but the first shares
        matrices among twice as many chips as the one before.

    Raises
    ------
    ValueRangeError
        If a given value is illegal, or no layout is legal.
    """
    tensor, stages, groups = (given.get(name) for name in _SERVING_PARTS)
    routed = sizes.get("experts", 1) > 1
    available = chips // ((tensor or 1) * (stages or 1) * (groups or 1))
    most = min(available, domain)
    if routed and groups is None:
        most = 1 if sizes.get("kv_latent_size") else min(most, sizes.get("kv_heads", most))
    legal = [
        n for n in divisors(np.array([max(available, 1)])).tolist() if n <= max(domain, 1) and _shares_heads(n, sizes)
    ]
    first = tensor or max(n for n in legal if n <= max(most, 1))
    tensors = [first, *(n for n in legal if tensor is None and n > first and n % first == 0 and routed)]
    layouts = []
    for each in tensors:
        remaining = max(available if tensor else available // each, 1)
        layout = {"tensor_parallel": each, "pipeline_stages": stages or 1, "attention_data_parallel": groups or 1}
        if groups is None and (routed or stages is not None):
            layout["attention_data_parallel"] = remaining
        elif stages is None:
            layout["pipeline_stages"] = remaining
        layouts.append(layout)
        if layout["pipeline_stages"] > sizes.get("layers", chips) and stages is None:
            raise ValueRangeError(
                f"{chips} chips of one replica make {layout['pipeline_stages']} stages of {sizes['layers']} layers: "
                "give fewer chips, and more replicas, or the layout"
            )
        check_layout({"chips": chips, **given, **layout}, sizes)
    return layouts


def training_layouts_by_rule(
    chips: int, domain: int, sizes: Mapping[str, int], given: Mapping[str, int]
) -> list[dict[str, int]]:
    """Return default layouts of a training run, by increasing chips per model copy.

    Up to eight chips of a scale-up domain share each matrix, and only then are there stages. As many chips of a domain
    as divide the experts share these out. All other chips hold copies of the model, whose micro-batches are of one
    sequence.

    Parameters
    ----------
    chips, domain : int
        Of the run; as many of them as are joined at scale-up bandwidth.
    sizes : mapping
        Those of `SIZES` that are known.
    given : mapping
        Parts that are given, which stay: of `DIMENSIONS`.

    Returns
    -------
    list of dict
        ``tensor_parallel``, ``pipeline_stages``, ``data_parallel``, ``expert_parallel``, and where the sequences of a
        step are known ``microbatches`` of each.

    Raises
    ------
    ValueRangeError
        If a given value is illegal, or no layout is legal.
    """
    shared = chips // given.get("context_parallel", 1)
    every = divisors(np.array([max(shared, 1)])).tolist()
    tensors = [n for n in every if n in _TRAINING_TENSORS and n <= max(domain, 1) and _shares_heads(n, sizes)]
    tensors = [given["tensor_parallel"]] if "tensor_parallel" in given else tensors
    stages = [n for n in every if n <= sizes.get("layers", chips)]
    stages = [given["pipeline_stages"]] if "pipeline_stages" in given else stages
    layouts, complaint = [], None
    for tensor, stage in [*((n, stages[0]) for n in tensors), *((tensors[-1], n) for n in stages[1:])]:
        copies = given.get("data_parallel", max(shared // (tensor * stage), 1))
        layout = {"tensor_parallel": tensor, "pipeline_stages": stage, "data_parallel": copies}
        if "global_batch_size" in sizes:
            layout["microbatches"] = max(sizes["global_batch_size"] // copies, 1)
        try:
            layouts.append(_with_experts({"chips": chips, **layout, **given}, min(domain, chips // stage), sizes))
        except ValueRangeError as error:
            complaint = complaint or error
    if not layouts and complaint is not None:
        raise complaint
    return layouts


def _with_experts(layout: dict[str, int], most: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return a legal layout with experts on as many chips as divide them, up to `most`."""
    if "expert_parallel" in layout or sizes.get("experts", 1) <= 1:
        check_layout(layout, sizes)
        return layout
    for chips in (n for n in range(max(most, 1), 0, -1) if sizes["experts"] % n == 0):
        with contextlib.suppress(ValueRangeError):
            check_layout({**layout, "expert_parallel": chips}, sizes)
            return {**layout, "expert_parallel": chips}
    check_layout(layout, sizes)  # names the illegal value
    return layout


_TRAINING_TENSORS = (1, 2, 4, 8)
_SERVING_PARTS = ("tensor_parallel", "pipeline_stages", "attention_data_parallel")


def _shares_heads(tensor: int, sizes: Mapping[str, int]) -> bool:
    """Return True if heads and matrices divide among so many chips."""
    heads = sizes.get("kv_heads", tensor)
    return (
        sizes.get("attention_heads", tensor) % tensor == 0
        and (bool(sizes.get("kv_latent_size")) or heads % tensor == 0 or tensor % heads == 0)
        and (
            (sizes.get("experts", 1) > 1 and not sizes.get("dense_layers"))
            or sizes.get("intermediate_size", tensor) % tensor == 0
        )
    )
