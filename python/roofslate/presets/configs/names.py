"""Names of families, in ``model_type`` and ``architectures`` of a config.json."""

from __future__ import annotations

import re

from roofslate.presets.configs.conventions import FAMILIES

__all__ = ["family_name", "strange_class"]


_OTHER_NAMES = {
    "kimi_k2": "deepseek_v3",
    "kimi_k25": "deepseek_v3",
    "deepseek": "deepseek_v2",
    "glm5": "glm_moe_dsa",
    "glm4v_moe": "glm4_moe",
    "minimax_m1": "minimax",
    "minimax_text_01": "minimax",
    "minimax_m3_vl": "minimax_m3",
    "mimo_v2_flash": "mimo_v2",
    "refinedweb": "falcon",
    "refinedwebmodel": "falcon",
    "lfm2_moe": "lfm2",
    "hunyuan_v1_dense": "hunyuan_v1",
    "hunyuan": "hunyuan_v1_moe",
    "deci": "nemotron_nas",
    "nemotron-nas": "nemotron_nas",
    "qwen2_vl": "qwen2",
    "qwen2_5_vl": "qwen2",
    "exaone_moe": "exaone4",
    "inkling_mm_model": "inkling",
    "gpt-sw3": "gpt2",
    "gemma4_unified": "gemma4",
    "gemma3n_vlm": "gemma3n",
    "qwen2_5_omni_thinker": "qwen2",
    "qwen3_omni_moe_thinker": "qwen3_moe",
    "qwen3_asr": "qwen3",
    "glm4v": "glm4",
    "glm46v": "glm4",
    "lfm2_vl": "lfm2",
    "lfm3_vl": "lfm3",
    "cosmos3_omni": "qwen3_vl",
    "bailing_moe_v2": "bailing_moe",
    "internlm3": "llama",
    "iquestcoder": "llama",
    "aria": "llama",
    "aria_text": "llama",
}


# Models with towers whose language model is this where their file does not say it.
_WRAPPERS = {"mistral3": "mistral", "llava": "llama", "ovis2": "qwen2"}


# Classes named differently from their model_type.
_CLASSES = {
    "decilm": "nemotron_nas",
    "rw": "falcon",
    "minimaxm3sparse": "minimax_m3",
    "hunyuanmoev1": "hunyuan_v1_moe",
    "hunyuandensev1": "hunyuan_v1",
    "step3p7flash": "step3p7",
    "hyv3": "hy_v3",
}


_ENDINGS = re.compile(r"(forcausallm|forconditionalgeneration|lmheadmodel|lmhead|model)$")


def _plain(name: str) -> str:
    return re.sub(r"[_.-]", "", name.casefold())


_BY_CLASS = {
    **{_plain(other): name for other, name in _OTHER_NAMES.items()},
    **{_plain(name): name for name in FAMILIES},
    **_CLASSES,
}


def _of_type(given: str) -> str:
    name = given.casefold().removesuffix("_text")
    return next((form for form in (name, _OTHER_NAMES.get(name, "")) if form in FAMILIES), "")


def _stem(given: str) -> str:
    return _ENDINGS.sub("", _plain(given))


def family_name(model_types: list[str], classes: list[str]) -> str:
    """Return the first family in `FAMILIES` that a type or class names, or an empty text."""
    of_types = (_of_type(given) for given in model_types)
    of_classes = (_BY_CLASS.get(_stem(given), "") for given in classes)
    of_wrappers = (_WRAPPERS.get(given.casefold(), "") for given in model_types)
    return next(filter(None, (*of_types, *of_classes, *of_wrappers)), "")


def strange_class(model_types: list[str], classes: list[str], family: str) -> str:
    """Return the first class named after neither a type nor the family, or an empty text."""
    types = {_plain(given.removesuffix("_text")) for given in model_types}
    return next((given for given in classes if _stem(given) not in types and _BY_CLASS.get(_stem(given)) != family), "")
