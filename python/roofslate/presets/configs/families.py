"""What a config.json leaves to the code of its family: which projections have a bias, which layers a window.

Each entry states the defaults of the family's classes where they differ from those of Llama; what a file says itself is
read from the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FAMILIES", "Family", "family_name"]


@dataclass(frozen=True)
class Family:
    """Conventions of the classes behind a ``model_type``.

    Attributes
    ----------
    tied : bool
        Whether one table is both input embedding and output head where the file does not say so.
    bias : str
        Projections of attention that have a bias: ``"none"``, ``"qkv"``, ``"all"``, or those of ``"qkv"`` or all if a
        key of the file says so: ``"key qkv"``, ``"key all"``.
    bias_key : str
        That key.
    bias_default : bool
        Its value where it is missing.
    key_norm : str
        Norms on queries and keys: ``"none"``, ``"head"``, ``"projection"``, ``"key head"`` if ``use_qk_norm`` says so.
    layer_norms : int
        Norms of a layer.
    norm_vectors : int
        Vectors of a norm: 1, 2 with a bias, 0 without weights.
    matrices : int
        Matrices of a feed-forward layer: 3 with a gate.
    ffn_bias : str
        ``"none"``, ``"all"``, or a key of the file.
    ffn_biased : bool
        Its value where it is missing.
    window : str
        Layers with the file's ``sliding_window`` where it does not list them: ``"all"``, ``"first of 2"`` and the like
        for all but the last of so many, ``"late"`` for those from ``max_window_layers`` on and ``"switched"`` for all,
        both only if ``use_sliding_window`` says so, ``"none"``.
    window_default : int
        The window where the file has no such key; 0: no window. A null says that there is none.
    interval : int
        Every so many layers attend fully where the file does not say which, in models with layers of a state.
    state : str
        What the layers without attention are.
    gated_query : bool
        Whether the query projection is twice as wide, for a gate on the output.
    sinks : str
        Layers with one more score a head: ``"none"``, ``"all"``, ``"window"``.
    shared : int
        Shared experts where the file says nothing.
    shared_gate : bool
        Whether a gate weighs the shared experts.
    router_bias, expert_bias : bool
        Whether router and experts have biases.
    positions : bool
        Whether positions have a table.
    head_bias : bool
        Whether the output head has a bias.
    prediction : bool
        Whether a layer for multi-token prediction is one more layer behind a projection of state and token.
    sizes : Mapping of str to int
        Sizes that its published files leave out.
    source : str
        Class that the conventions were read from.
    """

    tied: bool = False
    bias: str = "key all"
    bias_key: str = "attention_bias"
    bias_default: bool = False
    key_norm: str = "none"
    layer_norms: int = 2
    norm_vectors: int = 1
    matrices: int = 3
    ffn_bias: str = "mlp_bias"
    ffn_biased: bool = False
    window: str = "all"
    window_default: int = 0
    interval: int = 0
    state: str = ""
    gated_query: bool = False
    sinks: str = "none"
    shared: int = 0
    shared_gate: bool = False
    router_bias: bool = False
    expert_bias: bool = False
    positions: bool = False
    head_bias: bool = False
    prediction: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)
    source: str = ""


_LLAMA = Family(window="none", source="LlamaForCausalLM")


_MISTRAL = Family(bias="none", ffn_bias="none", window_default=4096, source="MistralForCausalLM")


_QWEN2 = Family(bias="qkv", window="late", prediction=True, source="Qwen2ForCausalLM")


_QWEN3 = Family(key_norm="head", window="late", sizes={"head_size": 128}, source="Qwen3ForCausalLM")


_QWEN3_MOE = replace(_QWEN3, window="switched", sizes={}, source="Qwen3MoeForCausalLM")


_QWEN3_NEXT = replace(
    _QWEN3,
    window="none",
    interval=4,
    state="delta",
    gated_query=True,
    shared_gate=True,
    sizes={"head_size": 256},
    source="Qwen3NextForCausalLM",
)


_QWEN3_5 = replace(_QWEN3_NEXT, prediction=True, source="Qwen3_5ForCausalLM")


_GEMMA2 = Family(
    tied=True,
    layer_norms=4,
    ffn_bias="none",
    window="first of 2",
    window_default=4096,
    sizes={"head_size": 256, "vocabulary_size": 256_000, "attention_heads": 8, "kv_heads": 4},
    source="Gemma2ForCausalLM",
)


_GEMMA3 = replace(
    _GEMMA2,
    key_norm="head",
    window="first of 6",
    sizes={**_GEMMA2.sizes, "vocabulary_size": 262_208},
    source="Gemma3ForCausalLM",
)


_DEEPSEEK = Family(window="none", prediction=True, source="DeepseekV3ForCausalLM")


_GRANITE = Family(window="none", source="GraniteForCausalLM")


_OLMO2 = Family(key_norm="projection", window="none", source="Olmo2ForCausalLM")


_MINIMAX = Family(bias="none", ffn_bias="none", window="none", state="lightning", source="MiniMaxForCausalLM")


_GPT2 = Family(
    tied=True,
    bias="all",
    norm_vectors=2,
    matrices=2,
    ffn_bias="all",
    window="none",
    positions=True,
    source="GPT2LMHeadModel",
)


_ERNIE = Family(tied=True, bias_key="use_bias", ffn_bias="use_bias", window="none", source="Ernie4_5ForCausalLM")


_GLM = Family(bias="key qkv", window="none", sizes={"head_size": 128}, source="GlmForCausalLM")


FAMILIES = {
    "llama": _LLAMA,
    "llama4": replace(_LLAMA, shared=1, source="Llama4ForCausalLM"),
    "mistral": _MISTRAL,
    "ministral": replace(_MISTRAL, source="MinistralForCausalLM"),
    "ministral3": replace(_MISTRAL, window_default=0, source="Ministral3ForCausalLM"),
    "mistral4": replace(_DEEPSEEK, prediction=False, source="Mistral4ForCausalLM"),
    "mixtral": replace(_MISTRAL, window_default=0, source="MixtralForCausalLM"),
    "qwen2": _QWEN2,
    "qwen2_moe": replace(_QWEN2, window="switched", shared_gate=True, prediction=False, source="Qwen2MoeForCausalLM"),
    "mimo": replace(_QWEN2, source="MiMoForCausalLM, a Qwen2ForCausalLM"),
    "qwen3": _QWEN3,
    "qwen3_moe": _QWEN3_MOE,
    "qwen3_vl": _QWEN3,
    "qwen3_vl_moe": replace(_QWEN3_MOE, window="none", source="Qwen3VLMoeForConditionalGeneration"),
    "qwen3_next": _QWEN3_NEXT,
    "qwen3_5": _QWEN3_5,
    "qwen3_5_moe": replace(_QWEN3_5, source="Qwen3_5MoeForCausalLM"),
    "gemma": Family(tied=True, ffn_bias="none", window="none", sizes={"head_size": 256}, source="GemmaForCausalLM"),
    "gemma2": _GEMMA2,
    "gemma3": _GEMMA3,
    "gemma4": replace(
        _GEMMA3, window_default=512, sizes={**_GEMMA2.sizes, "vocabulary_size": 262_144}, source="Gemma4ForCausalLM"
    ),
    "phi": Family(
        bias="all",
        layer_norms=1,
        norm_vectors=2,
        matrices=2,
        ffn_bias="all",
        window="none",
        head_bias=True,
        source="PhiForCausalLM",
    ),
    "phi3": Family(bias="none", ffn_bias="none", source="Phi3ForCausalLM"),
    "phimoe": Family(norm_vectors=2, ffn_bias="none", source="PhimoeForCausalLM"),
    "falcon": Family(
        tied=True,
        bias_key="bias",
        norm_vectors=2,
        matrices=2,
        ffn_bias="bias",
        window="none",
        source="FalconForCausalLM",
    ),
    "gpt2": _GPT2,
    "gpt_bigcode": replace(_GPT2, source="GPTBigCodeForCausalLM"),
    "starcoder2": Family(
        tied=True,
        bias_key="use_bias",
        bias_default=True,
        norm_vectors=2,
        matrices=2,
        ffn_bias="use_bias",
        ffn_biased=True,
        source="Starcoder2ForCausalLM",
    ),
    "olmo": Family(norm_vectors=0, window="none", source="OlmoForCausalLM"),
    "olmo2": _OLMO2,
    "olmo3": replace(_OLMO2, window="first of 4", window_default=4096, source="Olmo3ForCausalLM"),
    "olmoe": replace(_OLMO2, source="OlmoeForCausalLM"),
    "glm": _GLM,
    "glm4": replace(_GLM, layer_norms=4, source="Glm4ForCausalLM"),
    "glm4_moe": replace(_GLM, key_norm="key head", prediction=True, sizes={}, source="Glm4MoeForCausalLM"),
    "glm4_moe_lite": replace(_DEEPSEEK, source="Glm4MoeLiteForCausalLM"),
    "glm_moe_dsa": replace(_DEEPSEEK, source="GlmMoeDsaForCausalLM"),
    "minimax": _MINIMAX,
    "minimax_m2": replace(
        _MINIMAX, key_norm="projection", state="", sizes={"head_size": 128}, source="MiniMaxM2ForCausalLM"
    ),
    "minimax_m3": replace(
        _MINIMAX, key_norm="head", state="", sizes={"head_size": 128}, source="MiniMaxM3SparseForConditionalGeneration"
    ),
    "mimo_v2": replace(
        _GLM,
        window="first of 6",
        window_default=128,
        sinks="window",
        sizes={"head_size": 192},
        source="MiMoV2FlashForCausalLM",
    ),
    "deepseek_v2": replace(_DEEPSEEK, prediction=False, source="DeepseekV2ForCausalLM"),
    "deepseek_v3": _DEEPSEEK,
    "deepseek_v32": replace(_DEEPSEEK, source="DeepseekV32ForCausalLM"),
    "deepseek_v4": Family(window="none", sinks="all", source="DeepseekV4ForCausalLM"),
    "kimi_linear": replace(_DEEPSEEK, state="kimi_delta", prediction=False, source="KimiLinearForCausalLM"),
    "nemotron": Family(norm_vectors=2, matrices=2, window="none", source="NemotronForCausalLM"),
    "nemotron_h": Family(
        bias="none",
        layer_norms=1,
        matrices=2,
        window="none",
        state="mamba2",
        sizes={"head_size": 128},
        source="NemotronHForCausalLM",
    ),
    "nemotron_nas": replace(_LLAMA, source="DeciLMForCausalLM"),
    "granite": _GRANITE,
    "granitemoe": replace(_GRANITE, source="GraniteMoeForCausalLM"),
    "granitemoeshared": replace(_GRANITE, source="GraniteMoeSharedForCausalLM"),
    "granitemoehybrid": replace(_GRANITE, state="mamba2", source="GraniteMoeHybridForCausalLM"),
    "bamba": replace(_GRANITE, state="mamba2", source="BambaForCausalLM"),
    "jamba": Family(bias="none", ffn_bias="none", window="none", state="mamba", source="JambaForCausalLM"),
    "lfm2": Family(
        tied=True,
        bias="none",
        ffn_bias="none",
        key_norm="head",
        window="none",
        state="convolution",
        source="Lfm2ForCausalLM",
    ),
    "gpt_oss": Family(
        bias_default=True,
        window="first of 2",
        window_default=128,
        sinks="all",
        router_bias=True,
        expert_bias=True,
        sizes={"head_size": 64},
        source="GptOssForCausalLM",
    ),
    "ernie4_5": replace(_ERNIE, sizes={"head_size": 128}),
    "ernie4_5_moe": replace(_ERNIE, source="Ernie4_5_MoeForCausalLM"),
    "hunyuan_v1": Family(key_norm="head", window="none", source="HunYuanDenseV1ForCausalLM"),
    "hunyuan_v1_moe": Family(key_norm="head", window="none", shared=1, source="HunYuanMoEV1ForCausalLM"),
    "cohere": Family(tied=True, layer_norms=1, key_norm="key projection", window="none", source="CohereForCausalLM"),
    "cohere2": Family(tied=True, layer_norms=1, window="first of 4", window_default=4096, source="Cohere2ForCausalLM"),
    "dots1": Family(key_norm="head", window="late", source="Dots1ForCausalLM"),
    "exaone4": Family(
        bias="none",
        ffn_bias="none",
        key_norm="head",
        window="first of 4",
        window_default=4096,
        source="Exaone4ForCausalLM",
    ),
    "seed_oss": Family(
        bias="key qkv", bias_default=True, window="none", sizes={"head_size": 128}, source="SeedOssForCausalLM"
    ),
    "smollm3": Family(tied=True, window="none", source="SmolLM3ForCausalLM"),
    "arcee": Family(matrices=2, window="none", source="ArceeForCausalLM"),
}


"""Families by ``model_type``, without the suffixes of parts and versions that change no convention."""


_OTHER_NAMES = {
    "kimi_k2": "deepseek_v3",
    "kimi_k25": "deepseek_v3",
    "kimi_k3": "kimi_linear",
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
}


# Families of files whose model_type is private, by the start of the class in "architectures".
_CLASSES = {
    "DeepseekV32": "deepseek_v32",
    "DeepseekV3": "deepseek_v3",
    "DeepseekV4": "deepseek_v4",
    "DeepseekV2": "deepseek_v2",
    "KimiLinear": "kimi_linear",
    "KimiK2": "deepseek_v3",
    "KimiK3": "kimi_linear",
    "GlmMoeDsa": "glm_moe_dsa",
    "Glm4MoeLite": "glm4_moe_lite",
    "Glm4Moe": "glm4_moe",
    "MiniMaxM1": "minimax",
    "MiniMaxText01": "minimax",
    "MiniMaxM2": "minimax_m2",
    "MiniMaxM3": "minimax_m3",
    "MiMoV2": "mimo_v2",
    "MiMo": "mimo",
    "NemotronH": "nemotron_h",
    "DeciLM": "nemotron_nas",
    "Qwen3_5Moe": "qwen3_5_moe",
    "Qwen3_5": "qwen3_5",
    "Qwen3Next": "qwen3_next",
    "Qwen3VLMoe": "qwen3_vl_moe",
    "Qwen3VL": "qwen3_vl",
    "Qwen3Moe": "qwen3_moe",
    "Qwen3": "qwen3",
    "Qwen2Moe": "qwen2_moe",
    "Qwen2": "qwen2",
    "Llama4": "llama4",
    "Llama": "llama",
    "Mixtral": "mixtral",
    "Mistral": "mistral",
    "Gemma4": "gemma4",
    "Gemma3": "gemma3",
    "Gemma2": "gemma2",
    "GraniteMoeHybrid": "granitemoehybrid",
    "GptOss": "gpt_oss",
    "Falcon": "falcon",
    "RW": "falcon",
}


def family_name(model_types: list[str], classes: list[str]) -> str:
    """Name of the family in `FAMILIES`, the first that one of the types or classes names; empty where none does."""
    for given in model_types:
        name = given.casefold().removesuffix("_text")
        for form in (name, _OTHER_NAMES.get(name, "")):
            if form in FAMILIES:
                return form
    return next((name for given in classes for start, name in _CLASSES.items() if given.startswith(start)), "")
