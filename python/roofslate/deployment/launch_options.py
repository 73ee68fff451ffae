"""Launch options of one version of each engine, and the inputs that they set."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import did_you_mean, shown, unknown
from roofslate._base.toml import read_data
from roofslate.errors import InputTypeError, UnknownName
from roofslate.presets.frameworks import framework_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["ENGINES", "EngineOptions", "Option", "Setting", "engine_options"]

ENGINES = ("vllm", "sglang", "trtllm", "dynamo")
_FOLDER = Path(__file__).with_name("data")
_WITHOUT_VALUE = ("flag", "switch")
# Presets of their pages: the usual one, and one for latent attention.
_PAGES = {
    "vllm": ("vLLM", "vLLM MLA"),
    "dynamo": ("vLLM", "vLLM MLA"),
    "trtllm": ("TensorRT-LLM", "TensorRT-LLM DeepSeek"),
    "sglang": ("SGLang", "SGLang FlashMLA"),
}


@dataclass(frozen=True)
class Option:
    """One flag of an engine.

    Attributes
    ----------
    names : tuple of str
        All spellings, the documented one first.
    kind : str
        ``switch`` (--x and --no-x), ``flag`` (no value), ``maybe`` (value optional), ``int``, ``float``, ``text``,
        ``choice``, ``list`` or ``json``.
    choices : tuple of str
        Words that it accepts, if they are listed.
    default : object
        Value where the flag is absent, or None.
    program : str
        Program that takes it, or empty for all of the engine.
    source, date : str
        List that has the flag.
    """

    names: tuple[str, ...]
    kind: str
    choices: tuple[str, ...]
    default: Any
    program: str
    source: str
    date: str

    @property
    def name(self) -> str:
        """The documented spelling."""
        return self.names[0]

    @property
    def takes_value(self) -> bool:
        """Return True if a value must follow."""
        return self.kind not in (*_WITHOUT_VALUE, "maybe")


@dataclass(frozen=True)
class Setting:
    """The input of the model behind a flag, or behind a key of a configuration file.

    Attributes
    ----------
    flag : str
        Flag, or dotted key.
    quantity : str
    how : str
        How its value follows from the quantity: as a ``number``, ``per group`` of chips, as a ``word``.
    why : str
        Meaning of the flag, in words.
    words : mapping of str to str
        By choice of the quantity, the word of the engine.
    read_as : mapping of str to str
        Further words of the engine, and the choice that each means.
    """

    flag: str
    quantity: str
    how: str
    why: str
    words: Mapping[str, str]
    read_as: Mapping[str, str]

    def choice_of(self, word: str) -> str | None:
        """Choice that a word of the engine means, or None."""
        return self.read_as.get(word) or next((ours for ours, theirs in self.words.items() if theirs == word), None)


@dataclass(frozen=True)
class ChipDefaults:
    """Values of absent flags that an engine chooses by the chip.

    Attributes
    ----------
    least_memory : float
        Memory of the chip in bytes, at least.
    on, not_on : tuple of str
        Chips that it is for, all if empty, and chips that it leaves out.
    least_tensor_parallel : int
        Chips of a stage, at least.
    flags : mapping of str to int
        By flag.
    """

    least_memory: float
    on: tuple[str, ...]
    not_on: tuple[str, ...]
    least_tensor_parallel: int
    flags: Mapping[str, int]

    def fits(self, chip: str, memory: float, tensor_parallel: int) -> bool:
        """Return True if a chip with so many bytes of memory, in a stage of so many, has them."""
        name = chip.casefold()
        on, off = ([word.casefold() in name for word in words] for words in (self.on, self.not_on))
        enough = memory >= self.least_memory and tensor_parallel >= self.least_tensor_parallel
        return enough and (any(on) or not on) and not any(off)


@dataclass(frozen=True)
class EngineOptions:
    """All launch options of one version of an engine.

    Attributes
    ----------
    key : str
        ``vllm``, ``sglang``, ``trtllm`` or ``dynamo``.
    engine, version : str
        Name and version, as documents write them.
    programs : tuple of str
        Programs that start it.
    vendors : tuple of str
        Makers of the chips that it is built for.
    plugins : bool
        Whether other chips have plugins or builds.
    abbreviations : bool
        Whether a unique beginning of a flag is enough.
    dashes : bool
        Whether ``_`` in a flag is read as ``-``.
    options : tuple of Option
    settings : mapping of str to Setting
        By flag or key.
    config_keys : frozenset of str
        Documented keys of the configuration file.
    chip_defaults : tuple of ChipDefaults
        The first that fits a chip counts.
    """

    key: str
    engine: str
    version: str
    programs: tuple[str, ...]
    vendors: tuple[str, ...]
    plugins: bool
    abbreviations: bool
    dashes: bool
    options: tuple[Option, ...]
    settings: Mapping[str, Setting]
    config_keys: frozenset[str]
    chip_defaults: tuple[ChipDefaults, ...] = ()

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.engine} {self.version}"

    def pages(self, *, latent: bool) -> str:
        """Name the preset of the engine's pages."""
        return _PAGES[self.key][latent]

    def spellings(self, program: str = "") -> Mapping[str, Option]:
        """Options of a program by each spelling."""
        return _spellings(self.key, program)

    def defaults_on(self, chip: str, memory: float, tensor_parallel: int = 1) -> Mapping[str, int]:
        """Return values of absent flags by chip, bytes of memory and chips of a stage."""
        fitting = (row.flags for row in self.chip_defaults if row.fits(chip, memory, tensor_parallel))
        return next(fitting, {})

    def find(self, written: str, program: str = "") -> tuple[Option, bool]:
        """Find a flag in the documented list.

        Parameters
        ----------
        written : str
            As a command has it, without a value.
        program : str
            Program that takes it.

        Returns
        -------
        option : Option
        negated : bool
            Whether it was written as ``--no-...``.

        Raises
        ------
        UnknownName
            For a flag that is not in the list, with the nearest.
        """
        known = self.spellings(program)
        name = f"--{written[2:].replace('_', '-')}" if self.dashes and written.startswith("--") else written
        if name in known:
            return known[name], False
        if name.startswith("--no-") and _is_switch(known.get(f"--{name[5:]}")):
            return known[f"--{name[5:]}"], True
        if self.abbreviations and name.startswith("--") and len(name) > 3:
            begun = {known[each].name: each for each in known if each.startswith(name)}
            if len(begun) == 1:
                return known[next(iter(begun.values()))], False
            if begun:
                raise UnknownName(f"{shown(written)} begins several flags of {self.title}: {', '.join(sorted(begun))}")
        hint = did_you_mean(name[:100], known)
        raise UnknownName(f"{self.title} has no flag {shown(written)}{hint}")


def _is_switch(option: Option | None) -> bool:
    return option is not None and option.kind == "switch"


def engine_options(engine: str) -> EngineOptions:
    """Launch options of an engine.

    Parameters
    ----------
    engine : str
        ``"vllm"``, ``"sglang"``, ``"trtllm"`` or ``"dynamo"``, or the engine's name: ``"TensorRT-LLM"``.

    Returns
    -------
    EngineOptions

    Raises
    ------
    UnknownName
        For another engine.
    InputTypeError
        For anything but a text.
    """
    if not isinstance(engine, str):
        raise InputTypeError(f"engine: expected one of {', '.join(ENGINES)}, got {shown(engine)}")
    key = engine.strip().casefold()
    key = key if key in ENGINES else framework_name(engine[:100])
    if key not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    return _read(key)


@functools.cache
def _read(key: str) -> EngineOptions:
    data = read_data(_FOLDER / f"{key}.toml")
    base = _read(data["engine_flags"]) if "engine_flags" in data else None
    options = [
        Option(
            tuple(flag["names"]),
            flag["kind"],
            tuple(flag.get("choices", ())),
            flag.get("default"),
            group.get("program", ""),
            group["source"],
            group["date"],
        )
        for group in data["group"]
        for flag in group["flags"]
    ]
    settings = {entry["flag"]: Setting(**{"words": {}, "read_as": {}, **entry}) for entry in data["sets"]}
    by_chip = tuple(
        ChipDefaults(
            2**30 * row["least_memory_gib"],
            tuple(row.get("on", ())),
            tuple(row.get("not_on", ())),
            row.get("least_tensor_parallel", 1),
            row["flags"],
        )
        for row in data.get("chip_defaults", {}).get("rows", ())
    )
    if base is not None:
        worker = data["programs"][0]
        worker_names = {option.name for option in options if option.program == worker}
        options += [_of_program(option, worker) for option in base.options if option.name not in worker_names]
        settings = {**base.settings, **settings}
        by_chip = by_chip or base.chip_defaults
    return EngineOptions(
        key,
        data["engine"],
        data["version"],
        tuple(data["programs"]),
        tuple(data["vendors"]),
        data["plugins"],
        data["abbreviations"],
        data["dashes"],
        tuple(options),
        settings,
        frozenset(data.get("config", {}).get("keys", ())),
        by_chip,
    )


def _of_program(option: Option, program: str) -> Option:
    return Option(option.names, option.kind, option.choices, option.default, program, option.source, option.date)


@functools.cache
def _spellings(key: str, program: str) -> Mapping[str, Option]:
    return dict(_pairs(option for option in _read(key).options if option.program in ("", program)))


def _pairs(options: Iterable[Option]) -> Iterable[tuple[str, Option]]:
    for option in options:
        for name in option.names:
            yield name, option
