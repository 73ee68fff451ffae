"""The families of models that are known, by ``model_type``.

Each entry states the defaults of the family's classes that differ from Llama's. Values in the file take precedence.
"""

from __future__ import annotations

from dataclasses import replace

from roofslate.presets.configs.families import Family

__all__ = ["FAMILIES"]


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
    gate="query",
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


_KIMI_LINEAR = replace(_DEEPSEEK, state="kimi_delta", prediction=False, source="KimiLinearForCausalLM")


_NEOX = Family(
    bias_default=True,
    norm_vectors=2,
    matrices=2,
    ffn_bias="all",
    window="none",
    source="GPTNeoXForCausalLM",
)


_GPTJ = Family(
    bias="none",
    layer_norms=1,
    norm_vectors=2,
    matrices=2,
    ffn_bias="all",
    window="none",
    head_bias=True,
    source="GPTJForCausalLM",
)


_MAMBA = Family(tied=True, layer_norms=1, window="state", state="mamba1", source="MambaForCausalLM")


_ZAMBA = Family(
    tied=True,
    bias="none",
    ffn_bias="none",
    layer_norms=1,
    window="none",
    state="mamba1",
    words={"hybrid": "shared", "linear_attention": "state"},
    more="zamba",
    source="ZambaForCausalLM",
)


_INKLING = Family(
    key_norm="head",
    window_default=512,
    window_sizes={"num_key_value_heads": 16},
    words={"hybrid": "full", "hybrid_sliding": "window"},
    more="inkling",
    sizes={"convolution_kernel": 4, "d_rel": 16, "rel_extent": 1024},
    source="InklingForCausalLM",
)


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
        _GEMMA3,
        window_default=512,
        more="gemma4",
        sizes={**_GEMMA2.sizes, "vocabulary_size": 262_144},
        source="Gemma4ForCausalLM",
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
    "deepseek_v4": Family(window="none", sinks="all", more="deepseek_v4", source="DeepseekV4ForCausalLM"),
    "kimi_linear": _KIMI_LINEAR,
    "kimi_k3": replace(_KIMI_LINEAR, more="kimi_k3", source="KimiLinearForCausalLM of Kimi-K3"),
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
    "ernie4_5_moe": replace(_ERNIE, more="ernie4_5_moe", source="Ernie4_5_MoeForCausalLM"),
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
    "gemma3n": replace(
        _GEMMA3,
        window_default=512,
        more="gemma3n",
        sizes={"head_size": 256, "kv_heads": 2, "vocabulary_size": 262_400},
        source="Gemma3nForCausalLM",
    ),
    "longcat_flash": replace(_DEEPSEEK, prediction=False, branches=2, source="LongcatFlashForCausalLM"),
    "bailing_hybrid": replace(
        _DEEPSEEK, gate="heads", state="full_delta", prediction=False, source="BailingHybridForCausalLM"
    ),
    "bailing_moe": Family(
        bias="key qkv",
        bias_key="use_qkv_bias",
        key_norm="key head",
        ffn_bias="use_bias",
        window="none",
        source="BailingMoeForCausalLM",
    ),
    "glm5_next": replace(
        _DEEPSEEK, state="kimi_delta", prediction=False, more="glm5_next", source="Glm5NextForConditionalGeneration"
    ),
    "dots3_note": replace(
        _DEEPSEEK,
        gate="heads",
        window_default=512,
        window_sizes={
            "num_attention_heads": 64,
            "num_key_value_heads": 64,
            "q_lora_rank": 1024,
            "kv_lora_rank": 1024,
            "qk_nope_head_dim": 192,
            "v_head_dim": 128,
            "qk_rope_head_dim": 64,
        },
        prediction=False,
        more="dots3_note",
        source="Dots3NoteForCausalLM",
    ),
    "mistral_large4": replace(_DEEPSEEK, prediction=False, more="mistral_large4", source="MistralLarge4ForCausalLM"),
    "hy_v3": Family(key_norm="head", window="none", sizes={"head_size": 128}, source="HYV3ForCausalLM"),
    "hy_v4": replace(_DEEPSEEK, gate="matrix", sinks="all", prediction=False, more="hy_v4", source="HYV4ForCausalLM"),
    "laguna": Family(
        key_norm="head", gate="heads", more="laguna", sizes={"head_size": 128}, source="LagunaForCausalLM"
    ),
    "step3p5": Family(key_norm="head", gate="heads", shared=1, sizes={"head_size": 128}, source="Step3p5ForCausalLM"),
    "step3p7": Family(
        key_norm="head", gate="heads", shared=1, sizes={"head_size": 128}, source="Step3p7ForConditionalGeneration"
    ),
    "muse_glimmer": Family(gate="matrix", layer_norms=4, source="MuseGlimmerForConditionalGeneration"),
    "muse_spark": Family(gate="matrix", layer_norms=3, more="muse_spark", source="MuseSparkForConditionalGeneration"),
    "inkling": _INKLING,
    "inkling2": replace(
        _INKLING,
        key_norm="none",
        gate="matrix",
        window_default=1024,
        window_sizes={},
        more="inkling2",
        source="Inkling2ForCausalLM",
    ),
    "solar_open": Family(window="none", sizes={"head_size": 128}, source="SolarOpenForCausalLM"),
    "falcon_h1": Family(window="both", state="mamba2", source="FalconH1ForCausalLM"),
    "zamba": _ZAMBA,
    "zamba2": replace(_ZAMBA, state="mamba2", source="Zamba2ForCausalLM"),
    "mamba": _MAMBA,
    "falcon_mamba": replace(_MAMBA, source="FalconMambaForCausalLM"),
    "mamba2": replace(_MAMBA, tied=False, state="mamba2", source="Mamba2ForCausalLM"),
    "olmo_hybrid": replace(_OLMO2, state="delta", interval=4, source="OlmoHybridForCausalLM"),
    "lfm3": Family(
        tied=True,
        bias="none",
        ffn_bias="none",
        key_norm="head",
        gate="heads",
        layer_norms=4,
        window="none",
        state="convolution",
        more="lfm3",
        source="Lfm3ForCausalLM",
    ),
    "afmoe": Family(
        key_norm="head",
        gate="matrix",
        layer_norms=4,
        window="first of 4",
        window_default=1024,
        more="afmoe",
        sizes={"head_size": 128},
        source="AfmoeForCausalLM",
    ),
    "apertus": Family(key_norm="head", matrices=2, window="none", more="apertus", source="ApertusForCausalLM"),
    "nanochat": Family(norm_vectors=0, matrices=2, ffn_bias="none", window="none", source="NanoChatForCausalLM"),
    "gpt_neox": _NEOX,
    "persimmon": replace(_NEOX, bias="all", more="persimmon", source="PersimmonForCausalLM"),
    "gptj": _GPTJ,
    "codegen": replace(_GPTJ, source="CodeGenForCausalLM"),
    "gpt_neo": replace(_GPT2, bias="out", source="GPTNeoForCausalLM"),
    "opt": replace(_GPT2, more="opt", source="OPTForCausalLM"),
    "bloom": replace(_GPT2, positions=False, more="bloom", source="BloomForCausalLM"),
    "mpt": Family(tied=True, bias="none", matrices=2, ffn_bias="none", window="none", source="MptForCausalLM"),
    "stablelm": Family(
        bias="key qkv",
        bias_key="use_qkv_bias",
        norm_vectors=2,
        ffn_bias="none",
        window="none",
        source="StableLmForCausalLM",
    ),
    "axk1": replace(_DEEPSEEK, prediction=False, more="axk1", source="AXK1ForCausalLM"),
    "bitnet": Family(window="none", more="bitnet", source="BitNetForCausalLM"),
    "flex_olmo": replace(_OLMO2, source="FlexOlmoForCausalLM"),
    "jais2": Family(
        bias_default=True,
        norm_vectors=2,
        matrices=2,
        ffn_biased=True,
        window="none",
        source="Jais2ForCausalLM",
    ),
    "hyperclovax": replace(_GRANITE, more="hyperclovax", source="HyperCLOVAXForCausalLM"),
    "granite_swa": replace(_GRANITE, tied=True, window="all", sinks="all", source="GraniteSWAForCausalLM"),
    "granitemoe_swa": replace(_GRANITE, window="all", sinks="all", source="GraniteMoeSWAForCausalLM"),
    "kolibri1": Family(
        bias="none", key_norm="head", layer_norms=4, shared=1, sizes={"head_size": 128}, source="Kolibri1ForCausalLM"
    ),
    "mellum": Family(key_norm="head", sizes={"head_size": 128}, source="MellumForCausalLM"),
    "flint": Family(key_norm="head", sinks="all", shared=1, sizes={"head_size": 128}, source="FlintForCausalLM"),
    "cwm": Family(bias="none", sizes={"head_size": 128}, source="CwmForCausalLM"),
    "helium": Family(window="none", sizes={"head_size": 128}, source="HeliumForCausalLM"),
    "vaultgemma": replace(_GEMMA2, layer_norms=2, source="VaultGemmaForCausalLM"),
    "youtu": replace(_DEEPSEEK, tied=True, prediction=False, source="YoutuForCausalLM"),
    "minicpm3": replace(_DEEPSEEK, tied=True, prediction=False, source="MiniCPM3ForCausalLM"),
    "diffllama": replace(_LLAMA, more="diffllama", source="DiffLlamaForCausalLM"),
}


"""Families by ``model_type``, without suffixes that change no convention."""
