"""Names of serving frameworks: spellings in tables, and the measured name of each."""

from __future__ import annotations

import functools
import re

__all__ = ["framework_name"]

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
