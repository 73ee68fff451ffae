"""Models read from their config.json: a preset that also knows its weights by part and its cache by layer."""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import units
from roofslate._base.messages import shown
from roofslate.errors import PartlyRead, PresetError, ValueRangeError
from roofslate.presets.configs import Cache, Shape, bits_in, bits_of, read_shape
from roofslate.presets.preset import Fact, Preset
from roofslate.registry.registry import lookup
from roofslate.registry.values import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    import pandas as pd

__all__ = ["Model"]


@dataclass(frozen=True, repr=False, eq=False)
class Model(Preset):
    """A model preset that was read from a config.json.

    It goes wherever a preset goes. ``active_parameters`` is the matrix work of a decoded token; the sums that model
    cards use are attributes under their own names.

    Attributes
    ----------
    shape : Shape
        The layers, formats and sizes that the file describes.
    """

    shape: Shape = field(kw_only=True)

    @classmethod
    def from_config(
        cls,
        config: Any,
        /,
        *,
        name: str | None = None,
        weight_format: str | None = None,
        kv_format: str | None = None,
        strict: bool = False,
        source: str | None = None,
        date: str = "",
    ) -> Model:
        """Read a Hugging Face config.json, offline.

        Parameters
        ----------
        config : path-like or Mapping
            The file, a folder that has one, or its content.
        name : str, optional
            Otherwise the name of the file or of its folder.
        weight_format, kv_format : str, optional
            Names of `number_formats`, in place of the formats that the file states. With 4 bits a model with experts
            keeps everything but them in 16 bits.
        strict : bool
            Refuse a file with anything that was not understood: an unknown architecture, a key that may bear weights.
            Otherwise a warning names it and says what was assumed, and `validate` refuses the model.
        source, date : str
            Where the file comes from and when, for `explain`.

        Returns
        -------
        Model

        Raises
        ------
        PresetError
            Where the file cannot be read or a key that matters is missing or not as it should be; the message names
            the key, or the line. With `strict` also where something was not understood.

        Warns
        -----
        PartlyRead
            Where something was not understood, naming the key.

        Examples
        --------
        >>> import roofslate as rs
        >>> model = rs.Model.from_config(
        ...     {
        ...         "model_type": "qwen3",
        ...         "num_hidden_layers": 28,
        ...         "hidden_size": 1024,
        ...         "intermediate_size": 3072,
        ...         "num_attention_heads": 16,
        ...         "num_key_value_heads": 8,
        ...         "head_dim": 128,
        ...         "vocab_size": 151936,
        ...         "tie_word_embeddings": True,
        ...     }
        ... )
        >>> model.total_parameters, model.cache_bytes(4096, kv_format="bf16")
        (596049920.0, 469762048.0)
        """
        shape = read_shape(config)
        if shape.doubts:
            who = name or shape.name or shape.family or "config.json"
            said = f"{who} was not fully read: {'; '.join(_first(shape.doubts))}"
            if strict:
                raise PresetError(said)
            warnings.warn(PartlyRead(f"{said}. Compare its parameters with the model's card"), stacklevel=2)
        formats = shape.formats
        if weight_format is not None:
            word = _checked("weight_format", weight_format)
            bits = bits_in(word, shape.parts)
            dense = word if any(part in bits for part in shape.parts if part != "routed_experts") else "bf16"
            formats = replace(formats, weight=word, dense=dense, bits=bits)
        if kv_format is not None:
            formats = replace(formats, kv=_checked("kv_format", kv_format))
        shape = replace(shape, formats=formats, name=name or shape.name or shape.family or "config.json")
        said = source or f"{shape.name}, config.json"
        facts = {
            quantity: Fact(value, lookup(quantity).unit, _written(value), said, date, read=True)
            for quantity, value in _values(shape).items()
        }
        sums: dict[str, float | str] = {"family": shape.family or "unknown", **_sums(shape)}
        assumed = _assumed(shape)
        for key, lines in (("not_read", shape.doubts), ("assumed", assumed)):
            if lines:
                sums[key] = "; ".join(_first(lines))
        return cls(shape.name, "model", facts, attributes=sums, note=_note(shape), origin="config.json", shape=shape)

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (dict(self.facts), self.aliases, dict(self.attributes), self.note, self.origin)
        return functools.partial(Model, shape=self.shape), (self.name, self.kind, *arguments)

    @property
    def parts(self) -> Mapping[str, int]:
        """Weights by part; a table that is both input and output stands under ``input_table``."""
        return self.shape.parts

    @property
    def unknown(self) -> tuple[str, ...]:
        """Keys of the file that were not understood; they have no part in any number."""
        return self.shape.unknown

    @property
    def doubts(self) -> tuple[str, ...]:
        """What was not understood, a key each, and what was assumed; empty where the file was fully read."""
        return self.shape.doubts

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the file leaves open, and what was taken for it."""
        return self.shape.assumptions

    def stored_bytes(self, weight_format: str | None = None) -> float:
        """Size of the checkpoint, without layers for multi-token prediction: byte.

        Parameters
        ----------
        weight_format : str, optional
            As in `from_config`; otherwise that of the model.

        Returns
        -------
        float
            Scales of quantized weights included.
        """
        bits, plain = self.shape.formats.bits, self.shape.formats.plain
        if weight_format is not None:
            bits, plain = bits_in(_checked("weight_format", weight_format), self.parts), bits_of("bf16")
        return sum(count * bits.get(part, plain) for part, count in self.parts.items()) / 8

    def cache_bytes(self, context_length: Any, *, kv_format: str | None = None) -> Any:
        """Keys and values of one sequence, windows applied: byte.

        Parameters
        ----------
        context_length : float, str or array-like
            Tokens of the sequence.
        kv_format : str, optional
            Otherwise that of the model.

        Returns
        -------
        float or numpy.ndarray
            The keys of an index and the states that do not grow are apart, in `cache_table`.
        """
        tokens = _tokens(context_length)
        found = self._element_bytes(kv_format) * sum(
            count * cache.at(tokens) for cache, count in self._caches().items()
        )
        return found if tokens.ndim else float(found)

    def cache_table(self, context_length: Any = 4096, *, kv_format: str | None = None) -> pd.DataFrame:
        """Table of the cache of one sequence, one row a kind of layer.

        Parameters
        ----------
        context_length : float or str
            Tokens of the sequence.
        kv_format : str, optional
            Otherwise that of the model. States are counted in 16 bits.

        Returns
        -------
        pandas.DataFrame
            Columns layers, window (0: none), bytes_per_added_token, cache_bytes, index_bytes, state_bytes.
        """
        import pandas as pd

        tokens, size = _tokens(context_length), self._element_bytes(kv_format)
        rows = [
            {
                "kind": cache.kind,
                "layers": count,
                "window": cache.window,
                "bytes_per_added_token": size * count * cache.growth,
                "cache_bytes": size * count * float(cache.at(tokens)),
                "index_bytes": size * count * cache.index * float(tokens),
                "state_bytes": bits_of("bf16") / 8 * count * cache.state,
            }
            for cache, count in self._caches().items()
        ]
        return pd.DataFrame(rows).set_index("kind")

    def parameter_table(self, tokens: float = 1) -> pd.DataFrame:
        """Table of the weights, one row a part.

        Parameters
        ----------
        tokens : float
            New tokens of one pass, for the experts that it touches.

        Returns
        -------
        pandas.DataFrame
            Columns total, active (those that a token is multiplied with), touched (those that a pass is expected to
            fetch) and bytes, in the formats of the model.
        """
        import pandas as pd

        count = float(_tokens(tokens))
        shape, formats = self.shape, self.shape.formats
        table = pd.DataFrame({"total": pd.Series(dict(shape.parts), dtype="int64")})
        table["active"] = table["total"]
        for part in _IDLE:
            if part in table.index and not (part == "input_table" and shape.tied):
                table.loc[part, "active"] = 0
        table["touched"] = table["active"].astype(float)
        if "routed_experts" in table.index:
            experts = [layer for layer in shape.layers if layer.experts]
            table.loc["routed_experts", "active"] = _visited(shape)
            table.loc["routed_experts", "touched"] = sum(
                layer.parameters["routed_experts"] * (1 - (1 - layer.visited / layer.experts) ** count)
                for layer in experts
            )
        bits = pd.Series({part: formats.bits.get(part, formats.plain) for part in table.index})
        table["bytes"] = table["total"] * bits / 8
        table.index.name = "part"
        return table

    def _caches(self) -> Counter[Cache]:
        """Layers by what they cache, those that cache nothing left out."""
        return Counter(layer.cache for layer in self.shape.layers if layer.cache.kind != "none")

    def _element_bytes(self, kv_format: str | None) -> float:
        return bits_of(_checked("kv_format", kv_format or self.shape.formats.kv)) / 8

    def _rows(self) -> list[tuple[str, str, str]]:
        own = [(name, str(fact), "config.json") for name, fact in self.facts.items()]
        parts = [(part, f"{count:,}", "part") for part, count in self.parts.items()]
        assumed = [("assumed", line, "") for line in _assumed(self.shape)]
        return [*own, *parts, *assumed, *(("not read", line, "") for line in self.doubts)]


def _assumed(shape: Shape) -> tuple[str, ...]:
    """What the file leaves open and was understood."""
    doubts = set(shape.doubts)
    return tuple(line for line in shape.assumptions if line not in doubts)


_MOST_NAMED = 8  # of what was not read, in a warning


def _first(doubts: tuple[str, ...]) -> list[str]:
    """The first of many, and how many more there are."""
    more = len(doubts) - _MOST_NAMED
    first = [line if len(line) <= 200 else f"{line[:197]}..." for line in doubts[:_MOST_NAMED]]
    return [*first, f"and {more} more"] if more > 0 else first


_IDLE = ("input_table", "vision", "audio")


def _checked(quantity: str, word: str) -> str:
    """The word of a format that may be written in another way."""
    q = lookup(quantity)
    return q.choices[int(number(word, q))]


def _tokens(context_length: Any) -> npt.NDArray[np.float64]:
    if isinstance(context_length, str):
        context_length = units.to_base(context_length, lookup("context_length").unit)
    tokens = np.asarray(context_length, dtype=float)
    if not np.all(np.isfinite(tokens) & (tokens >= 0)):
        raise ValueRangeError(f"tokens must be finite and not negative, got {shown(context_length)}")
    return tokens


def _visited(shape: Shape) -> int:
    """Weights of the routed experts that a token is multiplied with."""
    return sum(
        round(layer.parameters["routed_experts"] // layer.experts * layer.visited)
        for layer in shape.layers
        if layer.experts
    )


def _sums(shape: Shape) -> dict[str, float]:
    """The sums of weights that model cards use, each under its name."""
    parts = Counter(shape.parts)
    total = sum(parts.values())
    language = total - parts["vision"] - parts["audio"]
    active = language - parts["routed_experts"] + _visited(shape)
    tables = parts["input_table"] + parts["output_head"]
    sums = {
        "active_with_input_embedding": active,
        "active_without_tables": active - tables,
        "language_parameters": language,
        "vision_parameters": parts["vision"],
        "audio_parameters": parts["audio"],
        "input_embedding_parameters": parts["input_table"],
        "total_if_untied": total + parts["input_table"] * shape.tied,
    }
    if shape.prediction is not None:
        sums["multi_token_prediction_parameters"] = shape.prediction
        sums["total_with_multi_token_prediction"] = total + shape.prediction
    if shape.context_limit is not None:
        sums["context_limit"] = shape.context_limit
    sums["state_bytes"] = 2 * sum(layer.cache.state for layer in shape.layers)
    return {name: float(count) for name, count in sums.items()}


def _values(shape: Shape) -> dict[str, float | str]:
    """What the preset supplies."""
    sums, caches = _sums(shape), [layer.cache for layer in shape.layers]
    active = sums["active_with_input_embedding"] - (0 if shape.tied else shape.parts["input_table"])
    values: dict[str, float | str] = {
        "total_parameters": float(sum(shape.parts.values())),
        "active_parameters": active,
        **{name: float(size) for name, size in shape.sizes.items()},
    }
    size = bits_of(shape.formats.kv) / 8
    growth = sum(cache.growth for cache in caches)
    sizes = shape.sizes
    plain = sizes.get("kv_latent_size") or 2 * sizes.get("kv_heads", 0) * sizes.get("head_size", 0)
    windowed = [cache for cache in caches if cache.window]
    windows = {cache.window for cache in windowed}
    if not growth or len(windows) == 1:  # windows of several lengths are left out beside caches that grow
        inside = sum(cache.elements for cache in windowed)
        if inside:
            values["windowed_kv_share"] = inside / (inside + growth)
            values["attention_window"] = float(max(windows))
        growth += inside
    if growth != plain * len(caches) or not growth:
        values["kv_bytes_per_token"] = size * growth
    index = sum(cache.index for cache in caches)
    if index:
        values["index_bytes_per_token"] = size * index
    values |= _stored_formats(shape)
    values["kv_format"] = shape.formats.kv
    states = [cache for cache in caches if cache.state]
    if states:
        values["recurrent_layers"] = float(len(states))
        values["layer_state_bytes"] = 2.0 * max(cache.state for cache in states)
    holding = sum(1 for cache in caches if cache.elements)
    if holding not in (0, len(caches) - len(states)):
        values["kv_layers"] = float(holding)
    return values


def _stored_formats(shape: Shape) -> dict[str, float | str]:
    """Formats and bytes of the routed experts and of the other weights."""
    parts, formats = shape.parts, shape.formats
    routed = parts.get("routed_experts", 0)
    values: dict[str, float | str] = {"weight_format": formats.weight}
    plain = bits_of("bf16")
    dense = sum(n * formats.bits.get(part, plain) for part, n in parts.items() if part != "routed_experts")
    mean = dense / (sum(parts.values()) - routed)
    bits = formats.bits.get("routed_experts", plain) if routed else mean
    if routed and bits != bits_of(formats.weight):
        values["bits_per_weight"] = bits
    if mean != bits or (not routed and bits != bits_of(formats.weight)):
        values["dense_format"] = formats.dense
        if mean != bits_of(formats.dense):
            values["dense_bytes_per_weight"] = mean / 8
    return values


def _note(shape: Shape) -> str:
    """What a reader of the cache's number should know."""
    size = bits_of(shape.formats.kv) / 8
    windowed = [layer.cache for layer in shape.layers if layer.cache.window]
    if not windowed:
        return ""
    held = units.format(size * sum(cache.elements * cache.window for cache in windowed), "byte")
    if not any(layer.cache.growth for layer in shape.layers):
        return f"every layer with attention sees a window: a sequence holds {held} at most"
    return f"{len(windowed)} layers see a window, and the windows hold {held} a sequence"


def _written(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.0f}" if value.is_integer() else repr(value)
