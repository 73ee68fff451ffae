"""Flags of a written launch command, looked up in the documented list."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import did_you_mean, shown
from roofslate.deployment.launch_options import ENGINES, engine_options
from roofslate.deployment.shell_words import read_script
from roofslate.errors import InputTypeError, MissingInput, UnknownName, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roofslate.deployment.launch_options import EngineOptions, Option

__all__ = ["Launched", "read_commands"]

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_VLLM_IMAGE = re.compile(r"(^|/)vllm-openai(:[\w.-]+)?$")
_SPLITTING = re.compile(r"nixl|mooncake|p2p", re.IGNORECASE)  # connectors that send a KV cache from prefill to decode
_SIZES = {"k": 1e3, "m": 1e6, "g": 1e9, "K": 2**10, "M": 2**20, "G": 2**30}  # as the engines read them
_DEEPEST = 8
_LEVEL = re.compile(r"-O(\d)")  # vLLM's short form of --optimization-level


@dataclass
class Launched:
    """One program that a script starts.

    Attributes
    ----------
    options : EngineOptions
    program : str
    model : str
        Checkpoint, or empty.
    values : dict
        By documented name of a flag: int, float, text, list or dict as the flag takes them, True for one without a
        value, False for a negated one.
    config : dict
        Content of its configuration file.
    ignored : dict of str to str
        Words around the command that change nothing in the model.
    """

    options: EngineOptions
    program: str
    model: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)

    @property
    def role(self) -> str:
        """Role of the command: serve, prefill, decode, or split if only a connector says so."""
        mode = self.values.get("--disaggregation-mode")
        if mode in ("prefill", "decode"):
            return str(mode)
        transfer = self.values.get("--kv-transfer-config")
        if isinstance(transfer, dict) and _SPLITTING.search(str(transfer.get("kv_connector", ""))):
            return {"kv_producer": "prefill", "kv_consumer": "decode"}.get(str(transfer.get("kv_role")), "split")
        return "split" if "cache_transceiver_config" in self.config else "serve"

    def whole(self, flag: str, default: int = 1) -> int:
        """Value of a flag as a whole number of at least 1, or its default."""
        x = self.values.get(flag)
        if x is None:
            return default
        if not isinstance(x, int) or x < 1:
            raise ValueRangeError(f"{flag}: expected a whole number of at least 1, got {shown(x)}")
        return x


def read_commands(text: str, config: Any = None) -> list[Launched]:
    """Read the programs that a script starts.

    Parameters
    ----------
    text : str
    config : mapping or str, optional
        Content of the configuration file of TensorRT-LLM, unless the script writes it.

    Returns
    -------
    list of Launched

    Raises
    ------
    UnknownName
        For an unknown flag, naming the nearest, and for no engine.
    ValueRangeError
        For a value that a flag does not take.
    """
    script = read_script(text)
    started, unread = [], {}
    for words in script.commands:
        start = _program(words)
        if start is None:
            unread[words[0][:100]] = " ".join(words[1:])[:200]
            continue
        engine, program, before, arguments = start
        launched = _parsed(engine_options(engine), program, arguments)
        launched.ignored |= _around(before)
        _add_config(launched, script.files, config)
        started.append(launched)
    if not started:
        programs = [program for engine in ENGINES for program in engine_options(engine).programs]
        first = " ".join(script.commands[0])
        hint = did_you_mean(first[:30], programs)
        raise UnknownName(f"command: {shown(first)} starts no engine; known are {', '.join(programs)}{hint}")
    started[0].ignored |= unread
    return started


def _program(words: Sequence[str]) -> tuple[str, str, Sequence[str], Sequence[str]] | None:
    """Engine, program, words before it and its arguments."""
    for k, word in enumerate(words):
        name = word.rsplit("/", 1)[-1]
        after = words[k + 1] if k + 1 < len(words) else ""
        if name in ("vllm", "sglang") and after == "serve":
            return name, f"{name} serve", words[:k], words[k + 2 :]
        if name == "trtllm-serve":
            if after in ("disaggregated", "mm_embedding_serve", "disaggregated_mpi_worker"):
                return None
            return "trtllm", name, words[:k], words[k + (2 if after == "serve" else 1) :]
        if word == "-m" and (engine := _MODULES.get(after)):
            return engine, after, words[:k], words[k + 2 :]
        if k and _VLLM_IMAGE.search(word):
            return "vllm", "vllm serve", words[:k], words[k + 1 :]
    return None


_MODULES = {
    "vllm.entrypoints.openai.api_server": "vllm",
    "sglang.launch_server": "sglang",
    "dynamo.vllm": "dynamo",
    "dynamo.frontend": "dynamo",
}


def _around(before: Sequence[str]) -> dict[str, str]:
    """Variables and wrappers before a program."""
    ignored = {}
    wrapper = [word for word in before if not _ASSIGNMENT.fullmatch(word) and not word.startswith("python")]
    for word in before:
        if _ASSIGNMENT.fullmatch(word):
            name, _, value = word.partition("=")
            ignored[name] = value[:200]
    if wrapper:
        ignored[wrapper[0][:100]] = " ".join(wrapper[1:])[:200]
    return ignored


def _parsed(options: EngineOptions, program: str, arguments: Sequence[str]) -> Launched:
    """Flags of a program, by their documented names."""
    scope = program if options.key == "dynamo" else ""
    launched = Launched(options, program)
    positional: list[str] = []
    k = 0
    while k < len(arguments):
        word = arguments[k]
        k += 1
        if not _is_flag(word):
            positional.append(word)
            continue
        if level := _LEVEL.fullmatch(word):
            word = f"-O={level[1]}"
        written, equals, value = word.partition("=")
        base, _, path = written.partition(".")
        option, negated = options.find(base, scope)
        if not option.takes_value:
            if equals:
                raise ValueRangeError(f"{written} takes no value, got {shown(value)}")
            if option.kind == "maybe" and k < len(arguments) and not _is_flag(arguments[k]):
                launched.values[option.name] = arguments[k]
                k += 1
            else:
                launched.values[option.name] = not negated
            continue
        if not equals:
            if k >= len(arguments) or _is_flag(arguments[k]):
                raise MissingInput(f"{written}: a value must follow")
            value = arguments[k]
            k += 1
        if option.kind == "list":
            items = [value]
            while not equals and k < len(arguments) and not _is_flag(arguments[k]):
                items.append(arguments[k])
                k += 1
            launched.values[option.name] = items
        elif path:
            _set(launched.values.setdefault(option.name, {}), path.split("."), _json_or_text(value), written)
        else:
            launched.values[option.name] = _value(option, written, value, options)
    launched.model = _model_of(launched, positional)
    return launched


def _is_flag(word: str) -> bool:
    """Return True for a flag, False for a negative number."""
    return len(word) > 1 and word[0] == "-" and not re.fullmatch(r"-\d+(\.\d+)?", word)


def _model_of(launched: Launched, positional: Sequence[str]) -> str:
    """The checkpoint, by position or by its flag."""
    if launched.program == "dynamo.frontend":
        if positional:
            raise ValueRangeError(f"{launched.program} takes no {shown(positional[0])}; every option is a flag")
        return ""
    flag = "--model-path" if launched.options.key == "sglang" else "--model"
    named = launched.values.pop(flag, None)
    takes_position = launched.program in ("vllm serve", "trtllm-serve")
    if len(positional) > (1 if takes_position else 0):
        raise ValueRangeError(f"{launched.program}: {shown(positional[-1])} belongs to no flag")
    model = positional[0] if positional else named
    if not isinstance(model, str) or not model:
        how = f"{launched.program} MODEL" if takes_position else flag
        raise MissingInput(f"{launched.program}: the command names no model; give {how}")
    return model


def _value(option: Option, written: str, text: str, options: EngineOptions) -> Any:
    """Value of a flag as its kind."""
    if "$" in text and option.name not in options.settings:  # a variable that the model does not read
        return text
    if option.kind in ("int", "float"):
        number = _number(text)
        if number is None or (option.kind == "int" and number != int(number)):
            kind = "a whole number" if option.kind == "int" else "a number"
            raise ValueRangeError(f"{written}: expected {kind}, got {shown(text)}")
        return int(number) if option.kind == "int" else number
    if option.kind == "choice" and option.name in options.settings and text not in option.choices:
        known = ", ".join(option.choices)
        raise UnknownName(
            f"{written}: unknown value {shown(text)}{did_you_mean(text[:50], option.choices)}; known are {known}"
        )
    if option.kind == "json":
        value = _json_or_text(text)
        if option.name in options.settings and not isinstance(value, dict):
            raise ValueRangeError(f"{written}: expected an object in JSON, got {shown(text)}")
        return value
    return text


def _number(text: str) -> float | None:
    """A number, with the suffixes that engines read."""
    match = re.fullmatch(r"(-?\d{1,15}(?:\.\d{1,15})?)([kKmMgG]?)", text)
    return float(match[1]) * _SIZES.get(match[2], 1) if match else None


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _set(table: dict[str, Any], path: Sequence[str], value: Any, written: str) -> None:
    if len(path) > _DEEPEST or not isinstance(table, dict):
        raise ValueRangeError(f"{written}: a key of too many parts")
    for part in path[:-1]:
        table = table.setdefault(part.replace("-", "_"), {})
        if not isinstance(table, dict):
            raise ValueRangeError(f"{written}: {shown(part)} has a value already")
    table[path[-1].replace("-", "_")] = value


# -------------------------------------------------------------------------------------------------- configuration file


def _add_config(launched: Launched, files: Mapping[str, str], config: Any) -> None:
    """Read the configuration file of TensorRT-LLM, and refuse another engine's."""
    name = launched.values.pop("--config", None)
    if name is None:
        if config is not None and launched.options.key == "trtllm":
            launched.config = _read_config(launched.options, config)
        return
    if launched.options.key != "trtllm":
        raise ValueRangeError(f"--config {shown(name)}: the file is not read; give its options as flags")
    content = files.get(str(name), config)
    if content is None:
        raise MissingInput(f"--config {shown(name)}: the file is not read; give its content by config=")
    launched.config = _read_config(launched.options, content)


def _read_config(options: EngineOptions, content: Any) -> dict[str, Any]:
    """Content of a configuration file, its keys checked."""
    if isinstance(content, str):
        content = _parsed_config(content)
    if not isinstance(content, dict):
        raise InputTypeError(f"config: expected a mapping, got {shown(content)}")
    for key in content:
        if key not in options.config_keys:
            hint = did_you_mean(str(key)[:100], options.config_keys)
            raise UnknownName(f"config: {options.title} has no key {shown(key)}{hint}")
    return dict(content)


def _parsed_config(text: str) -> Any:
    if len(text) > 100_000:
        raise ValueRangeError(f"config: at most 100,000 characters, got {len(text):,}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if "&" in text or "*" in text:
        raise ValueRangeError("config: anchors and aliases of YAML are not read; write the values out")
    try:
        import yaml
    except ImportError as error:
        raise InputTypeError(
            "config: this YAML needs PyYAML: pip install pyyaml; or give the content as a mapping or as JSON"
        ) from error
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueRangeError(f"config: not readable as YAML: {shown(str(error))}") from None
