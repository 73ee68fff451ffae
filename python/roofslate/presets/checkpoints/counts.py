"""Weights and bytes of a checkpoint by part, compared with its config."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from roofslate.errors import PresetError
from roofslate.presets.checkpoints.gguf import BLOCKS
from roofslate.presets.checkpoints.metadata import FILE_TYPES
from roofslate.presets.checkpoints.parts import block_of, hugging_face_part, llama_cpp_part
from roofslate.presets.checkpoints.safetensors import BITS
from roofslate.presets.configs import Formats, Layer, bits_of
from roofslate.presets.configs.shape import PARTS, Shape, Stored
from roofslate.registry.formats import formats, word_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roofslate.presets.checkpoints.tensors import Header, Tensor

__all__ = ["counted"]


_FAR = 0.01  # of the weights, that file and config may differ by; beyond it one of them is of another model
_INTEGERS = {"U8", "I8", "I32", "U32"}  # which hold weights of fewer bits
_FLOATS = {"BF16", "F16", "F32"}


# Tensors that belong to a quantized matrix: scales, zero points, order and shape.
_SCALES = re.compile(
    r"(?P<base>.+?)(\.weight)?[._](weight_scale(_inv|_2)?|weight_(global_scale|zero_point|g_idx|shape)|scales?|scale_inv"
    r"|(input|output)(_global)?_scale|qzeros|g_idx|biases|absmax|quant_map|nested_absmax|nested_quant_map|quant_state\..*)"
)
_MATRIX = re.compile(r"(?P<base>.+?)(\.(weight|qweight|weight_packed)|_blocks)")
_CACHE_SCALE = re.compile(r".*\.[qkv]_scale")


_NUMBER = re.compile(r"\.\d+(?=\.)")


# Tensors of layers for multi-token prediction that repeat the tables.
_COPY = re.compile(r".*(embed_tokens|shared_head[._]head|lm_head|nextn\.embed).*")
_PREDICTION = re.compile(r"(.*\.)?(mtp|nextn)[._].*")


@dataclass
class _Counts:
    """Weights and bytes by part, and weights that predict further tokens."""

    weights: Counter[str]
    size: Counter[str]
    kinds: dict[str, Counter[str]]  # bytes of each part by kind
    stored: dict[str, list[int]]  # tensors, weights and bytes by kind
    prediction: int = 0


def counted(shape: Shape, header: Header, *, strict: bool | None) -> Shape:
    """Replace the weights that a config describes by the file's.

    Parameters
    ----------
    shape : Shape
        The described model.
    header : Header
    strict : bool or None
        As in `Model.from_safetensors`.

    Returns
    -------
    Shape
        With weights and bits by part as stored. A difference of up to 1% is a warning.

    Raises
    ------
    PresetError
        For a difference of more than 1%, if `strict` is not false, and for a file without weights.
    """
    gguf = "general.architecture" in header.metadata
    counts = _count(shape, header.tensors, gguf=gguf)
    total, described = counts.weights.total(), sum(shape.parts.values())
    if not total:
        raise PresetError(f"{header.path}: has no weights of a language model")
    not_read = list(shape.not_read)
    if total != described:
        said = _difference(shape, counts.weights, total, described, gguf=gguf)
        if abs(total - described) > _FAR * described and strict is not False:
            raise PresetError(
                f"{header.path}: {said}. They are not of one model, or the format is not as the config says. "
                "With strict=False the file's count is taken"
            )
        not_read.append(f"{said}; the file's count is taken")
    return replace(
        shape,
        parts={part: counts.weights[part] for part in PARTS if counts.weights[part]},
        layers=_scaled(shape, counts.weights["routed_experts"]),
        prediction=counts.prediction if counts.prediction or shape.prediction is None else 0,
        formats=_formats(shape, counts, header),
        stored=tuple(Stored(kind, *numbers) for kind, numbers in counts.stored.items()),
        not_read=tuple(not_read),
        assumptions=(*shape.assumptions, *not_read[len(shape.not_read) :]),
    )


def _count(shape: Shape, tensors: tuple[Tensor, ...], *, gguf: bool) -> _Counts:
    layers, forms = int(shape.sizes["layers"]), _forms(tensors, gguf=gguf)
    counts = _Counts(Counter(), Counter(), {}, {})
    for tensor in tensors:
        form = forms[_plain(tensor.name)]
        weights = _weights_of(tensor, form, shape) if form.part and not form.scale else 0
        row = counts.stored.setdefault(tensor.kind, [0, 0, 0])
        row[0] += 1
        row[2] += tensor.size
        if shape.tied and form.part == "output_head":  # a copy of the input table
            continue
        row[1] += weights
        if form.predicts or (block_of(tensor.name) or 0) >= layers:
            counts.prediction += 0 if form.copy else weights
        elif form.part:
            counts.weights[form.part] += weights
            counts.size[form.part] += tensor.size
            counts.kinds.setdefault(form.part, Counter())[tensor.kind] += 0 if form.scale else tensor.size
    return counts


@dataclass(frozen=True)
class _Form:
    """Names that differ only in numbers, with their part and role."""

    part: str
    scale: bool
    packed: bool
    predicts: bool
    copy: bool


def _plain(name: str) -> str:
    """A name without the numbers of layers and experts: there are few."""
    return _NUMBER.sub(".0", name)


def _forms(tensors: tuple[Tensor, ...], *, gguf: bool) -> dict[str, _Form]:
    names = {_plain(tensor.name) for tensor in tensors}
    part_of = llama_cpp_part if gguf else hugging_face_part
    matrices = {name: result["base"] for name in names if (result := _MATRIX.fullmatch(name))}
    bases = {*matrices.values()}
    scales = {name: result["base"] for name in names if (result := _SCALES.fullmatch(name)) and result["base"] in bases}
    scaled = {*scales.values()}
    return {
        name: _Form(
            part_of(name),
            name in scales or _CACHE_SCALE.fullmatch(name) is not None,
            matrices.get(name) in scaled,
            _PREDICTION.fullmatch(name) is not None,
            _COPY.fullmatch(name) is not None,
        )
        for name in names
    }


def _weights_of(tensor: Tensor, form: _Form, shape: Shape) -> int:
    """Weights of a tensor: an integer of a quantized matrix holds several."""
    if tensor.kind not in _INTEGERS or not form.packed:
        return tensor.elements
    width = BITS[tensor.kind]
    bits = int(shape.formats.bits.get(form.part, shape.formats.plain))
    return tensor.elements * width // bits if 1 <= bits < width else tensor.elements


def _difference(shape: Shape, weights: Counter[str], total: int, described: int, *, gguf: bool) -> str:
    """Say how file and config differ, and in which part most."""
    source = "its metadata" if gguf else "its config.json"
    part = max(PARTS, key=lambda part: abs(weights[part] - shape.parts.get(part, 0)))
    most = f"{part}: {weights[part]:,} and {shape.parts.get(part, 0):,}"
    change = f"{(total - described) / described:+.2%}" if described else "nothing described"
    return f"its tensors hold {total:,} weights, {source} describes {described:,} ({change}; most in {most})"


def _scaled(shape: Shape, routed: int) -> tuple[Layer, ...]:
    """Layers with the file's number of routed-expert weights."""
    described = shape.parts.get("routed_experts", 0)
    if routed == described or not described:
        return shape.layers
    layers = []
    for layer in shape.layers:
        parameters = Counter(layer.parameters)
        parameters["routed_experts"] = parameters["routed_experts"] * routed // described
        layers.append(replace(layer, parameters=parameters))
    return tuple(layers)


def _formats(shape: Shape, counts: _Counts, header: Header) -> Formats:
    """Bits of each part as stored, and the nearest names."""
    bits = {part: counts.size[part] * 8 / n for part, n in counts.weights.items() if n}
    routed = "routed_experts" if counts.weights["routed_experts"] else ""
    other_names = [part for part in ("attention", "dense_ffn", "shared_experts", "state_mixer") if counts.weights[part]]
    main = max(other_names, key=lambda part: counts.weights[part], default="input_table")
    names = _names(header)
    dense = _word(shape.formats.dense, bits.get(main, 16.0), counts.kinds.get(main, Counter()), names)
    weight = _word(shape.formats.weight, bits[routed], counts.kinds[routed], names) if routed else dense
    return replace(shape.formats, weight=weight, dense=dense, bits=bits)


def _names(header: Header) -> str:
    """The mixture that a GGUF file was made as, if it has a name among the number formats."""
    from_number = header.metadata.get("general.file_type")
    word = FILE_TYPES.get(from_number, "") if isinstance(from_number, int) else ""
    return word if word in formats() else ""


def _word(said: str, bits: float, kinds: Mapping[str, int], mixture: str) -> str:
    """Choose the number format of a part: the config's if its bits fit, or the nearest."""
    kind = max(kinds, key=lambda kind: kinds[kind], default="BF16")
    if kind in _FLOATS:
        return "bf16"
    if kind.startswith("F8"):
        return said if said.startswith("fp8") else "fp8"
    if mixture and abs(bits_of(mixture) - bits) < 0.2 * bits:
        return mixture
    if abs(bits_of(said) - bits) < 0.1 * bits:
        return said
    name = word_in(kind, [*formats()])
    if name in formats():
        return name
    ggml = any(kind == known[0] for known in BLOCKS.values())
    near = [name for name in formats() if name.startswith(("Q", "IQ")) == ggml]
    return min(near, key=lambda name: abs(bits_of(name) - bits))
