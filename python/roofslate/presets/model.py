"""Models read from files: presets with weights by part and KV cache by layer."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import units
from roofslate._base.messages import shown, warn
from roofslate.errors import PartlyRead, PresetError, ValueRangeError
from roofslate.presets.checkpoints.counts import counted
from roofslate.presets.checkpoints.gguf import read_gguf
from roofslate.presets.checkpoints.locate import checkpoint_at, source_of
from roofslate.presets.checkpoints.metadata import config_of
from roofslate.presets.checkpoints.safetensors import read_safetensors
from roofslate.presets.configs import KVCache, Shape, bits_in, bits_of, read_shape
from roofslate.presets.model_values import sums_of, values_of, visited_weights, window_note
from roofslate.presets.preset import Fact, Preset, is_name
from roofslate.registry.registry import lookup
from roofslate.registry.values import number

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import numpy.typing as npt
    import pandas as pd

__all__ = ["Model"]


@dataclass(frozen=True, repr=False, eq=False)
class Model(Preset):
    """A model preset that was read from a config.json, or from the header of a checkpoint.

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
        strict: bool | None = None,
        source: str | None = None,
        date: str = "",
    ) -> Model:
        """Read a Hugging Face config.json, offline.

        Parameters
        ----------
        config : path-like or Mapping
            The file, a folder that has one, its content, or the id of a model in the local Hugging Face hub.
        name : str, optional
            Otherwise the name of the file or of its folder.
        weight_format, kv_format : str, optional
            Names of `number_formats`, in place of the formats that the file states. With 4 bits a model with experts
            keeps everything but them in 16 bits.
        strict : bool, optional
            True refuses a file with anything that was not understood. The default refuses keys that may bear weights,
            and warns of the rest, such as an unknown architecture. False warns of everything. A warning lists the
            assumptions, and `validate` refuses the model.
        source, date : str
            Where the file comes from and when, for `explain`.

        Returns
        -------
        Model

        Raises
        ------
        PresetError
            Where the file cannot be read or a key that matters is missing or not as it should be; the message names
            the key, or the line. Depending on `strict` also where something was not understood.

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
        location, default_name = source_of(config)
        shape = _with_formats(read_shape(location), weight_format, kv_format)
        default_name = name or default_name or shape.name
        said = source or f"{default_name or shape.family or 'config.json'}, config.json"
        return cls._of(shape, default_name, strict, (said, date, "config.json"))

    @classmethod
    def from_gguf(
        cls,
        path: str | os.PathLike[str],
        /,
        *,
        name: str | None = None,
        kv_format: str | None = None,
        strict: bool | None = None,
        source: str | None = None,
        date: str = "",
    ) -> Model:
        """Read the header of a GGUF file, offline. No weight is loaded.

        Weights are counted from the tensors, and their bytes by part. The metadata give the sizes.

        Parameters
        ----------
        path : path-like
            The file; any one of a model that is split into ``name-00001-of-00004.gguf`` and so on.
        name : str, optional
            Otherwise ``general.name`` of the file, or its file name.
        kv_format : str, optional
            Name of a `number_formats` entry, otherwise bf16.
        strict : bool, optional
            As in `from_config`. The default also refuses a count that differs from the metadata by more than 1%.
        source, date : str
            Where the file comes from and when, for `explain`.

        Returns
        -------
        Model

        Raises
        ------
        PresetError
            For a file that cannot be read, is incomplete, exceeds the limits or contradicts itself.

        Warns
        -----
        PartlyRead
            Where something was not understood, or the counts differ by up to 1%.

        See Also
        --------
        Model.stored_table : Tensors, weights and bytes by kind of tensor.
        """
        header = read_gguf(checkpoint_at(path))
        config, unknown_keys = config_of(header)
        shape = read_shape(config)
        lines = tuple(f"{key}: not understood, the weights follow from the tensors" for key in unknown_keys)
        shape = replace(shape, assumptions=(*shape.assumptions, *lines))
        shape = counted(_with_formats(shape, None, kv_format), header, strict=strict)
        said = header.metadata.get("general.name")
        default_name = said if isinstance(said, str) and is_name(said) else header.path.stem
        return cls._of(
            shape, name or default_name, strict, (source or f"{header.path.name}, header", date, "GGUF header")
        )

    @classmethod
    def from_safetensors(
        cls,
        path: str | os.PathLike[str],
        /,
        config: Any = None,
        *,
        name: str | None = None,
        weight_format: str | None = None,
        kv_format: str | None = None,
        strict: bool | None = None,
        source: str | None = None,
        date: str = "",
    ) -> Model:
        """Read headers of safetensors files and their config.json, offline. No weight is loaded.

        Weights are counted from the tensors, and their bytes by part, scales included. The config gives the sizes.

        Parameters
        ----------
        path : path-like
            A folder, a file, one of ``model-00001-of-00004.safetensors``, their index, or the id of a model in the
            local Hugging Face hub.
        config : path-like or Mapping, optional
            As in `from_config`; otherwise the config.json in their folder.
        name : str, optional
            Otherwise the name of the folder.
        weight_format, kv_format : str, optional
            As in `from_config`. Packed integers are counted as weights of this format.
        strict : bool, optional
            As in `from_config`. The default also refuses a count that differs from the config by more than 1%.
        source, date : str
            Where the files come from and when, for `explain`.

        Returns
        -------
        Model

        Raises
        ------
        PresetError
            For files that cannot be read, are missing, incomplete, exceed the limits or contradict themselves.

        Warns
        -----
        PartlyRead
            Where something was not understood, or the counts differ by up to 1%.

        See Also
        --------
        Model.stored_table : Tensors, weights and bytes by kind of tensor.
        """
        location = checkpoint_at(path)
        header = read_safetensors(location)
        folder = location if location.is_dir() else location.parent
        if config is None and not (folder / "config.json").exists():
            raise PresetError(f"{shown(str(folder))} has no config.json: give config=, tensors do not count heads")
        described, default_name = source_of(folder if config is None else config)
        shape = _with_formats(read_shape(described), weight_format, kv_format)
        shape = counted(shape, header, strict=strict)
        default_name = default_name or shape.name or folder.name
        said = source or f"{name or default_name}, config.json and headers"
        return cls._of(shape, name or default_name, strict, (said, date, "safetensors headers"))

    @classmethod
    def _of(cls, shape: Shape, name: str, strict: bool | None, source: tuple[str, str, str]) -> Model:
        """Make a model of a shape, or refuse a partly read one."""
        shape = replace(shape, name=name or shape.family or "config.json")
        if shape.not_read:
            said = f"{shape.name} was not fully read: {'; '.join(_first(shape.not_read))}"
            if strict:
                raise PresetError(said)
            if strict is None and shape.unknown:
                raise PresetError(
                    f"{said}. A key with weights may be among them: pass strict=False to read the model so"
                )
            warn(f"{said}. Compare its parameters with the model's card", PartlyRead)
        text, date, origin = source
        facts = {
            quantity: Fact(value, lookup(quantity).unit, _written(value), text, date, read=True)
            for quantity, value in values_of(shape).items()
        }
        sums: dict[str, float | str] = {"family": shape.family or "unknown", **sums_of(shape)}
        if shape.stored:
            sums["checkpoint_bytes"] = float(sum(row.size for row in shape.stored))
        for key, lines in (("not_read", shape.not_read), ("assumed", _assumed(shape))):
            if lines:
                sums[key] = "; ".join(_first(lines))
        return cls(shape.name, "model", facts, attributes=sums, note=window_note(shape), origin=origin, shape=shape)

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (dict(self.facts), self.aliases, dict(self.attributes), self.note, self.origin)
        return functools.partial(Model, shape=self.shape), (self.name, self.kind, *arguments)

    @property
    def parts(self) -> Mapping[str, int]:
        """Weights by part. A table that is both input and output is ``input_table``."""
        return self.shape.parts

    @property
    def unknown(self) -> tuple[str, ...]:
        """Keys of the file that were not understood. They affect no number."""
        return self.shape.unknown

    @property
    def not_read(self) -> tuple[str, ...]:
        """Keys that were not understood and assumptions, empty for a file fully read."""
        return self.shape.not_read

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Open questions of the file, and the assumptions made."""
        return self.shape.assumptions

    def stored_bytes(self, weight_format: str | None = None) -> float:
        """Size of the checkpoint, without layers for multi-token prediction: byte.

        Parameters
        ----------
        weight_format : str, optional
            As in `from_config`, by default the model's format.

        Returns
        -------
        float
            Scales of quantized weights included.
        """
        bits, plain = self.shape.formats.bits, self.shape.formats.plain
        if weight_format is not None:
            bits, plain = bits_in(_checked("weight_format", weight_format), self.parts), bits_of("bf16")
        return sum(count * bits.get(part, plain) for part, count in self.parts.items()) / 8

    def stored_table(self) -> pd.DataFrame:
        """Table of the tensors in the files, one row a kind of element.

        Returns
        -------
        pandas.DataFrame
            Columns tensors, weights and bytes. Layers for multi-token prediction, scales and buffers are included.

        Raises
        ------
        PresetError
            For a model whose files were not read.
        """
        import pandas as pd

        if not self.shape.stored:
            raise PresetError(
                f"{self.name!r} was read from a config.json: Model.from_safetensors and Model.from_gguf read tensors"
            )
        rows = [(row.kind, row.tensors, row.weights, row.size) for row in self.shape.stored]
        return pd.DataFrame(rows, columns=["kind", "tensors", "weights", "bytes"]).set_index("kind")

    def cache_bytes(self, context_length: Any, *, kv_format: str | None = None) -> Any:
        """Keys and values of one sequence, windows applied: byte.

        Parameters
        ----------
        context_length : float, str or array-like
            Tokens of the sequence.
        kv_format : str, optional
            By default the model's format.

        Returns
        -------
        float or numpy.ndarray
            The keys of an index and the states that do not grow are apart, in `cache_table`.
        """
        tokens = _tokens(context_length)
        size = self._element_bytes(kv_format) * sum(count * cache.at(tokens) for cache, count in self._caches().items())
        return size if tokens.ndim else float(size)

    def cache_table(self, context_length: Any = 4096, *, kv_format: str | None = None) -> pd.DataFrame:
        """Tabulate the KV cache of one sequence, one row a kind of layer.

        Parameters
        ----------
        context_length : float or str
            Tokens of the sequence.
        kv_format : str, optional
            By default the model's format. States are counted in 16 bits.

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
            table.loc["routed_experts", "active"] = visited_weights(shape)
            table.loc["routed_experts", "touched"] = sum(
                layer.parameters["routed_experts"] * (1 - (1 - layer.visited / layer.experts) ** count)
                for layer in experts
            )
        bits = pd.Series({part: formats.bits.get(part, formats.plain) for part in table.index})
        table["bytes"] = table["total"] * bits / 8
        table.index.name = "part"
        return table

    def _caches(self) -> Counter[KVCache]:
        """Group layers by their KV cache, without layers that have none."""
        return Counter(layer.kv_cache for layer in self.shape.layers if layer.kv_cache.kind != "none")

    def _element_bytes(self, kv_format: str | None) -> float:
        return bits_of(_checked("kv_format", kv_format or self.shape.formats.kv)) / 8

    def _rows(self) -> list[tuple[str, str, str]]:
        facts = [(name, str(fact), self.origin) for name, fact in self.facts.items()]
        parts = [(part, f"{count:,}", "part") for part, count in self.parts.items()]
        assumed = [("assumed", line, "") for line in _assumed(self.shape)]
        return [*facts, *parts, *assumed, *(("not read", line, "") for line in self.not_read)]


def _assumed(shape: Shape) -> tuple[str, ...]:
    """Return open questions of a file that was otherwise understood."""
    not_read = set(shape.not_read)
    return tuple(line for line in shape.assumptions if line not in not_read)


_MOST_NAMED = 8  # of unread keys, in a warning


def _first(not_read: tuple[str, ...]) -> list[str]:
    """The first of many, and how many more there are."""
    more = len(not_read) - _MOST_NAMED
    first = [line if len(line) <= 200 else f"{line[:197]}..." for line in not_read[:_MOST_NAMED]]
    return [*first, f"and {more} more"] if more > 0 else first


def _with_formats(shape: Shape, weight_format: str | None, kv_format: str | None) -> Shape:
    """Replace formats of the file by keywords of the call."""
    formats = shape.formats
    if weight_format is not None:
        word = _checked("weight_format", weight_format)
        bits = bits_in(word, shape.parts)
        dense = word if any(part in bits for part in shape.parts if part != "routed_experts") else "bf16"
        formats = replace(formats, weight=word, dense=dense, bits=bits)
    if kv_format is not None:
        formats = replace(formats, kv=_checked("kv_format", kv_format))
    return replace(shape, formats=formats)


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


def _written(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.0f}" if value.is_integer() else repr(value)
