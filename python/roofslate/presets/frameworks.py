"""Serving frameworks: spellings of their names, and defaults for prompts."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from roofslate._base.toml import read_data

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LAUNCH_OPTIONS", "PREFILL", "framework_name", "prefill_choices"]

LAUNCH_OPTIONS = Path(__file__).with_name("data") / "launch_options.toml"
PREFILL = MappingProxyType({"prompt_policy": "chunked", "prefill_graphs": "none"})  # unless a framework differs

_WRITTEN = {
    "trtllm": ("trtllm", "tensorrtllm", "trt", "tensorrt", "trtllmserve"),
    "sglang": ("sglang", "sgl"),
    "vllm": ("vllm",),
    "FasterTransformer": ("fastertransformer",),
    "Megatron Bridge": ("megatronbridge",),
    "Megatron-LM": ("megatronlm", "megatron"),
    "LLM Foundry": ("llmfoundry",),
}

_OWN = {written: name for name, every in _WRITTEN.items() for written in every}
_BESIDE = re.compile(r"^(nvidia|ai|dynamo)+|v?\d+(\.[\w.]*)?$")  # a router to the engine, and its version


@functools.lru_cache(maxsize=256)
def framework_name(name: str) -> str:
    """Own name of a framework.

    Parameters
    ----------
    name : str
        As a table writes it: ``"TensorRT-LLM"``, ``"dynamo-sglang"``, ``"vLLM 0.9"``.

    Returns
    -------
    str
        ``"trtllm"``, ``"sglang"``, ``"vllm"``; a name that is not known as it is.

    Examples
    --------
    >>> framework_name("TensorRT-LLM"), framework_name("dynamo-sglang"), framework_name("mine")
    ('trtllm', 'sglang', 'mine')
    """
    bare = re.sub(r"[\s_/-]+", "", name.casefold())
    return _OWN.get(_BESIDE.sub("", bare), name)


@functools.lru_cache(maxsize=256)
def prefill_choices(framework: str, version: str | None, *, latent: bool) -> Mapping[str, str]:
    """Schedule and launches of prompts by default in a framework.

    Parameters
    ----------
    framework : str
        Its own name.
    version : str or None
        None, and a text that begins with no number, is older than any.
    latent : bool
        Whether the model has latent attention.

    Returns
    -------
    mapping of str to str
        `prompt_policy` and `prefill_graphs`.
    """
    choices = dict(PREFILL)
    release = _release(version)
    for entry in _defaults():
        if entry["framework"] == framework and entry.get("latent", latent) == latent:
            since = _release(entry.get("since"))
            if since is None or (release is not None and release >= since):
                choices[entry["name"]] = entry["value"]
    return MappingProxyType(choices)


@functools.cache
def _defaults() -> tuple[Mapping[str, Any], ...]:
    return tuple(read_data(LAUNCH_OPTIONS)["default"])


def _release(version: str | None) -> tuple[int, ...] | None:
    """Return the numbers of a version, or None without any."""
    begin = re.match(r"v?(\d+(?:\.\d+)*)", version or "")
    return tuple(map(int, begin[1].split("."))) if begin else None
