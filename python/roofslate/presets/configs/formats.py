"""Checkpoint formats from ``quantization_config``, by weight part, and for the KV cache."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofslate.presets.configs.keys import Keys
from roofslate.registry.formats import formats

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Formats", "bits_in", "bits_of", "read_formats"]


_MATRICES = ("attention", "state_mixer", "dense_ffn", "routed_experts", "shared_experts")


# Words in the names of modules that identify the part, the first that occurs.
_MODULES = (
    ("lm_head", "output_head"),
    ("norm", ""),
    ("indexer", ""),
    ("bias", ""),
    ("conv", ""),
    ("mtp", ""),
    ("vision", ""),
    ("visual", ""),
    ("shared_expert", "shared_experts"),
    ("router", ""),
    ("gate", ""),
    ("expert", "routed_experts"),
    ("linear_attn", "state_mixer"),
    ("mixer", "state_mixer"),
    ("mamba", "state_mixer"),
    ("attn", "attention"),
    ("attention", "attention"),
    ("mlp", "dense_ffn"),
    ("ffn", "dense_ffn"),
    ("feed_forward", "dense_ffn"),
)


_FEED_FORWARD = ("routed_experts", "shared_experts", "dense_ffn", "output_head")


_BLOCK = re.compile(r"_proj|\(gate|gate_up|[\\()|]")


_Format = tuple[float, str]  # bits with scales, and the word


def _named(name: str) -> _Format:
    return formats()[name].bits, name


_BF16, _NVFP4, _MXFP4, _MXFP8 = map(_named, ("bf16", "nvfp4", "mxfp4", "mxfp8"))


# Names of formats in the files, the first word that occurs.
_ALGORITHMS = (
    ("NVFP4", "nvfp4"),
    ("MXFP4", "mxfp4"),
    ("MXFP8", "mxfp8"),
    ("W4A16", "int4"),
    ("W4A8", "int4"),
    ("INT4", "int4"),
    ("W8A8", "int8"),
    ("W8A16", "int8"),
    ("INT8", "int8"),
    ("FP8", "fp8"),
    ("FP4", "nvfp4"),
)


# Keys of quantization_config that say nothing of the bits of a weight, or that go with the method.
_HARMLESS = re.compile(
    r"producer|weight_block_size|activation_scheme|fmt|scale_fmt|format|quantization_status|version|backend|sym|desc_act"
    r"|damp.*|true_sequential|static_groups|zero_point|checkpoint_format|meta|model_.*|bnb_4bit_.*|llm_int8_.*|_load_in.*"
    r"|use_exllama|exllama_config|global_compression_ratio|sparsity_config|transform_config|quant_storage|pack_dtype"
    r"|dataset|tokenizer|nsamples|seqlen|iters|autoround_version|packing_format|act_.*|group_size|data_type|super_.*"
    r"|low_gpu_mem_usage|enable_.*|scale_dtype|gguf_file|fuse_max_seq_len|do_fuse|modules_to_fuse|lm_head|export"
    r"|actorder|quant_type_kwargs|include_input_output_embeddings|untie_embedding_weights|batch_size|cache_.*|rotation.*"
)


@dataclass(frozen=True)
class Formats:
    """Formats of a checkpoint.

    Attributes
    ----------
    weight : str
        Format of the routed experts, otherwise of most matrices.
    dense : str
        Format of most matrices outside of the routed experts.
    kv : str
        Format of the KV cache in the file, otherwise bf16.
    bits : Mapping of str to float
        Bits of a weight of each part that is not in 16 bits, scales included.
    plain : float
        Bits of a weight of the other parts.
    """

    weight: str
    dense: str
    kv: str
    bits: Mapping[str, float]
    plain: float = 16.0


def bits_of(name: str) -> float:
    """Bits of a weight in a format, scales included."""
    return formats()[name].bits


def bits_in(weight_format: str, parts: Mapping[str, int]) -> dict[str, float]:
    """Bits of a weight by part in a format.

    In 4 bits a model with experts keeps everything else in 16. A mixture of llama.cpp is a mean over all weights.
    """
    bits = _NVFP4[0] if weight_format == "fp4" else bits_of(weight_format)
    if weight_format == "bf16":
        return {}
    if weight_format.startswith(("Q", "IQ")):
        return dict.fromkeys(parts, bits)
    return dict.fromkeys(("routed_experts",) if bits < 8 and "routed_experts" in parts else _MATRICES, bits)


def read_formats(
    config: Keys,
    keys: Keys,
    parts: Mapping[str, int],
    modules: Mapping[str, int],
    *,
    dense_with_experts: bool,
    assumptions: list[str],
    not_read: list[str],
) -> Formats:
    """Formats that a config states, in its outer object or the inner one.

    Parameters
    ----------
    config, keys : Keys
    parts : Mapping of str to int
        Weights by part.
    modules : Mapping of str to int
        Matrices by part, and the number of ``layers``.
    dense_with_experts : bool
        Whether ``mlp`` names a dense part in a layer with experts, which counts as shared experts.
    assumptions, not_read : list of str
        Collect open questions of the file, and keys that were not understood.
    """
    names = ("quantization_config", "quantization")
    where = next(((table, name) for name in names for table in (config, keys) if name in table), None)
    dtype = next((word for table in (keys, config) if (word := table.text("torch_dtype") or table.text("dtype"))), "")
    plain = 32.0 if dtype == "float32" else 16.0
    experts = _EXPERT_TYPES.get(keys.text("expert_dtype"))
    if where is None:
        if not dtype:
            assumptions.append("torch_dtype: 16 bits a weight, as most checkpoints have")
        return _of_parts({"routed_experts": experts} if experts else {}, parts, "bf16", plain)
    table = where[0].inside(where[1])
    reader = _Table(table, parts, modules, dense_with_experts=dense_with_experts, not_read=not_read)
    formats_by_part = reader.formats()
    experts = reader.experts() or experts
    if experts:
        formats_by_part["routed_experts"] = experts
    formats_by_part = {
        part: form for part, form in formats_by_part.items() if form[0] < plain and (part in parts or part in _MATRICES)
    }
    scheme = (
        "" if table.is_list("kv_cache_scheme") else table.shown("kv_cache_scheme") + table.shown("kv_cache_quant_algo")
    )
    kv = "fp8" if "8" in scheme else "nvfp4" if "4" in scheme else "bf16"
    not_read += [
        f"{table.written(name)}: not understood, taken as without effect"
        for name in table.left()
        if not _HARMLESS.fullmatch(name)
    ]
    return _of_parts(formats_by_part, parts, kv, plain)


_EXPERT_TYPES = {"fp4": _MXFP4, "mxfp4": _MXFP4, "nvfp4": _NVFP4, "fp8": _named("fp8"), "int4": _named("int4-g32")}


def _of_parts(by_part: Mapping[str, _Format], parts: Mapping[str, int], kv: str, plain: float) -> Formats:
    """Formats of a checkpoint from the formats of its parts."""
    dense: Counter[str] = Counter()
    for part in _MATRICES:
        if part != "routed_experts":
            dense[by_part.get(part, _BF16)[1]] += parts.get(part, 0)
    most = dense.most_common(1)[0][0]
    weight = by_part.get("routed_experts", _BF16)[1] if parts.get("routed_experts") else most
    return Formats(weight, most, kv, {part: bits for part, (bits, _) in by_part.items()}, plain)


class _Table:
    """A quantization_config: which part has which format."""

    def __init__(
        self,
        table: Keys,
        parts: Mapping[str, int],
        modules: Mapping[str, int],
        *,
        dense_with_experts: bool,
        not_read: list[str],
    ) -> None:
        self.table, self.parts, self.modules, self.dense_with_experts, self.not_read = (
            table,
            parts,
            modules,
            dense_with_experts,
            not_read,
        )
        self.layers = modules["layers"]
        self.method = table.text("quant_method").casefold()
        self.algorithm = table.text("quant_algo").upper()

    def formats(self) -> dict[str, _Format]:
        """Format of each part that is not in 16 bits."""
        only = {"routed_experts"} if self.method == "mxfp4" else set(_MATRICES)
        listed = self._listed()
        if listed is not None:
            formats_by_part = listed
        else:
            grouped = self._grouped()
            base = self._base() if grouped is None else _BF16
            formats_by_part = dict.fromkeys(only, base) if grouped is None else grouped
        of_base = self.method == "fp8" and self.algorithm == "MIXED_PRECISION"  # the names are for the others
        unquantized = self._kept(self._patterns())
        unquantized = set() if of_base or listed is not None else unquantized
        formats_by_part = {part: form for part, form in formats_by_part.items() if part not in unquantized}
        return {**formats_by_part, **self._exceptions(formats_by_part)}

    def _patterns(self) -> tuple[list[str], float]:
        """Return the names of unquantized modules, and the number of layers that each represents."""
        table, names = self.table, ("ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers", "exclude")
        patterns = [str(entry) for key in names for entry in table.entries(key) or ()]
        skipped_key = "left_unquantized"
        if table.is_list(skipped_key):
            return [*patterns, *map(str, table.entries(skipped_key) or ())], 1
        sample = table.inside(skipped_key)
        first = [str(entry) for entry in sample.entries("first") or ()]
        return [*patterns, *first], max(1.0, sample.count("patterns", 0) / max(len(first), 1))

    def _part(self, name: str) -> str:
        if re.search(r"mixer\.[qkvo]_proj", name):
            return "attention"
        text = _BLOCK.sub("", name)
        part = next((part for word, part in _MODULES if word in text), "")
        if part == "state_mixer" and not self.parts.get("state_mixer"):
            part = "attention"
        if part == "dense_ffn" and not self.parts.get("dense_ffn") and "experts" not in text:
            part = "shared_experts" if self.dense_with_experts else "dense_ffn"
        return part

    def _kept(self, patterns: tuple[list[str], float]) -> set[str]:
        """Return parts with 16-bit modules in most layers. Patterns are read by words, not run."""
        hits: dict[str, float] = {}
        names, weight = patterns
        for pattern in names:
            numbered = re.search(r"layers\.\d", pattern)
            for part in [self._part(pattern)] if not _WHOLE_LAYER.search(pattern) else _MATRICES:
                if part:
                    share = 1 if _WHOLE_LAYER.search(pattern) else weight
                    hits[part] = hits.get(part, 0) + (share if numbered else self.layers)
        parts = {part for part, count in hits.items() if 2 * count >= self.layers}
        if "state_mixer" in parts and weight > 1:  # a sample of the patterns: attention follows
            parts.add("attention")
        if "attention" in parts and self.modules.get("states in attention"):
            parts.add("state_mixer")
        return parts | {"shared_experts"} if self.dense_with_experts and "dense_ffn" in parts else parts

    def _base(self) -> _Format:
        """Format of a quantized weight where one is given for all."""
        table, method = self.table, self.method
        if self.algorithm in ("NVFP4", "MXFP4", "MXFP8", "W4A16_NVFP4"):
            return _algorithm(self.algorithm) or _BF16
        if method in ("mxfp4", "mxfp8"):
            return _named(method)
        if method == "fp8" or self.algorithm.startswith("FP8") or "fp8" in method:
            return _blocked(table)
        if table.flag("load_in_4bit", False) or table.flag("load_in_8bit", False):
            width, group, kind = (4 if table.flag("load_in_4bit", False) else 8), 64, "int"
        else:
            width, kind = table.count("bits", 0, high=32) or table.count("w_bit", 0, high=32), "int"
            group = table.optional("group_size", low=-1) or 128
        points = method == "gptq" or (method == "awq" and table.flag("zero_point", True))
        form = _algorithm(self.algorithm) if not width else _width(width, group, kind, zero_points=points)
        if form is None:
            said = method or self.algorithm or "no method"
            self.not_read.append(f"quantization_config: {said} is not known, taken as 16 bits")
        return form or _BF16

    def _grouped(self) -> dict[str, _Format] | None:
        """Read formats by the groups of compressed-tensors, None if the method determines all."""
        table = self.table
        groups = table.inside("config_groups") if "config_groups" in table else Keys({})
        forms = [(self._group(groups.inside(name)), groups.inside(name)) for name in groups.names()]
        named = [(form, group) for form, group in forms if form is not None]
        if not named or self.method == "fp8" or self.algorithm not in ("", "MIXED_PRECISION"):
            return None
        if len({form for form, _ in named}) > 1:
            counted = self._counted()
            if counted is not None:
                return counted
        formats_by_part: dict[str, _Format] = {}
        for form, group in sorted(named, key=lambda pair: not self._classes(pair[1])):
            targets = [str(entry) for entry in group.entries("targets") or ()]
            parts = [part for target in targets if (part := self._part(target))]
            formats_by_part.update(dict.fromkeys(_MATRICES if self._classes(group) else parts, form))
        if len({form for form, group in named if self._classes(group)}) > 1:
            self.not_read.append(
                f"{table.written('config_groups')}: several formats for the same modules, the last taken"
            )
        return formats_by_part

    @staticmethod
    def _classes(group: Keys) -> bool:
        """Return True if a group is for all matrices: it names a class of modules, or nothing."""
        targets = [str(entry) for entry in group.entries("targets") or ()]
        return not targets or any(target == "Linear" for target in targets)

    @staticmethod
    def _group(group: Keys) -> _Format | None:
        weights = group.inside("weights")
        if "num_bits" not in weights:
            return None
        width, size = weights.count("num_bits", low=1, high=32), weights.optional("group_size", low=-1)
        kind = weights.text("type", "int")
        word = (group.text("format") + weights.text("scale_dtype")).upper()
        if width == 4 and kind == "float":
            return _MXFP4 if size == 32 or "MXFP4" in word else _NVFP4
        return _width(width, size or 0, kind)

    def _listed(self) -> dict[str, _Format] | None:
        """Read formats by a table of modules or by counts of them, None without both."""
        table = self.table
        if "quantized_layers" in table and self.method != "fp8":
            votes: dict[str, Counter[_Format]] = {}
            strange = []
            for name, entry in table.inside("quantized_layers").content().items():
                form = _algorithm(str(entry.get("quant_algo", "")).upper()) if isinstance(entry, dict) else None
                if form is None:
                    strange.append(name)
                elif part := self._part(name):
                    votes.setdefault(part, Counter())[form] += 1
            if strange:
                more = f" and {len(strange) - 1} more" if strange[1:] else ""
                first = f"{table.written('quantized_layers')}.{strange[0]}{more}"
                self.not_read.append(f"{first}: not understood, taken as 16 bits")
            return {part: forms.most_common(1)[0][0] for part, forms in votes.items()}
        table.content_of("quantized_layers")
        table.content_of("config_groups" if self.algorithm == "MIXED_PRECISION" else "")
        return self._counted() if self.algorithm == "MIXED_PRECISION" and self.method != "fp8" else None

    def _counted(self) -> dict[str, _Format] | None:
        """Assign formats by numbers of modules: to the parts whose matrices add up to them."""
        counts = self.table.inside("layers_by_quant_algo")
        numbers = {name: counts.count(name) for name in counts.names()}
        forms = {name: _algorithm(name.upper()) for name in numbers}
        if not numbers or None in forms.values():
            return None
        name, number = min(numbers.items(), key=lambda item: (forms[item[0]] or (0.0, ""))[0])
        parts = [part for part in _FEED_FORWARD if self.modules.get(part)]
        for chosen in (c for n in range(1, len(parts) + 1) for c in itertools.combinations(parts, n)):
            fused = [{self.modules[part], self.modules.get(f"{part} fused", self.modules[part])} for part in chosen]
            if any(sum(sizes) == number for sizes in itertools.product(*fused)):
                other_form = next((forms[other] for other in numbers if other != name), None)
                unquantized = self._kept(self._patterns())
                remaining = [part for part in _MATRICES if part not in chosen and part not in unquantized]
                chosen_forms = dict.fromkeys(chosen, forms[name]) | dict.fromkeys(
                    remaining if other_form else (), other_form
                )
                return {part: form for part, form in chosen_forms.items() if form is not None}
        self.not_read.append(
            f"{self.table.written('layers_by_quant_algo')}: no parts have so many modules, 16 bits taken"
        )
        return {}

    def experts(self) -> _Format | None:
        """Return the format of routed experts if only they differ from the base."""
        table, counts = self.table, self.table.inside("layers_by_quant_algo")
        few = self.method == "fp8" and any(0 < counts.count(name) <= self.layers for name in counts.names())
        return _NVFP4 if table.text("moe_quant_algo").upper() == "NVFP4" or (few and "NVFP4" in counts) else None

    def _exceptions(self, formats_by_part: Mapping[str, _Format]) -> dict[str, _Format]:
        """Formats of parts that a table of exceptions names in most of their layers."""
        votes: dict[str, Counter[_Format]] = {}
        for name, entry in self._tables():
            removed = name.startswith("-:")
            width = _bits_of(entry)
            part = self._part(name)
            if not part or (width is None and not removed):
                continue
            form = _BF16 if removed or width is None else _width(width, 128, "int")
            numbered = re.search(r"layers\.\d", name)
            votes.setdefault(part, Counter())[form] += 1 if numbered else self.layers
        return {
            part: forms.most_common(1)[0][0]
            for part, forms in votes.items()
            if 2 * forms.most_common(1)[0][1] >= self.layers and (part in formats_by_part or part in self.parts)
        }

    def _tables(self) -> Iterator[tuple[str, Any]]:
        for key in ("dynamic", "extra_config", "layer_quant_config"):
            yield from self.table.content_of(key).items()
        for name in [name for name in self.table.names() if "." in name]:
            yield name, self.table.content_of(name)


_WHOLE_LAYER = re.compile(r"layers\.\d+\.?\*?$")


def _bits_of(entry: Any) -> int | None:
    bits = entry.get("bits") if isinstance(entry, dict) else None
    return bits if isinstance(bits, int) and not isinstance(bits, bool) and 1 <= bits <= 32 else None


def _algorithm(word: str) -> _Format | None:
    return next((_named(form) for name, form in _ALGORITHMS if name in word), None)


def _blocked(table: Keys) -> _Format:
    sides = table.counts("weight_block_size") or []
    if not sides or not all(sides):
        return _named("fp8")
    scale = 8 if "ue8m0" in table.text("scale_fmt") else 32
    return _closest(8 + scale / (sides[0] * sides[-1]), "fp8")


def _width(width: int, group: int, kind: str, *, zero_points: bool = False) -> _Format:
    if width >= 16:
        return _BF16
    bits = width + ((16 + width * zero_points) / group if group > 0 else 0.0)
    return _closest(bits, "int4" if width <= 4 else "fp8" if kind == "float" else "int8")


def _closest(bits: float, family: str) -> _Format:
    """Name a format of a family by its bits, otherwise by the family."""
    names = (name for name, entry in formats().items() if name.startswith(family) and entry.bits == bits)
    return bits, next(names, family)
