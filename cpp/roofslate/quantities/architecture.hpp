// A model: its weights, and the KV cache per token.
#pragma once
#include "roofslate/quantities/hardware.hpp"

namespace roofslate::quantities
{
    // --- shape ---

    struct layers
    { static constexpr Spec spec = Spec("n", "1", "transformer layers", "R6.4").range(1); };
    struct hidden_size
    { static constexpr Spec spec = Spec("d", "1", "hidden size (residual-stream width)", "R2.1").range(1); };
    struct attention_heads
    { static constexpr Spec spec = Spec("n_h", "1", "attention heads (query heads) per layer", "R6.11").range(1); };
    struct kv_heads
    {
        static constexpr Spec spec =
            Spec("n_{kv}", "1", "KV heads per layer (grouped-query attention, GQA)", "R6.4")
                .range(1)
                .at_most<attention_heads>();
    };
    struct head_size
    { static constexpr Spec spec = Spec("d_h", "1", "head size, elements per attention head", "R6.4").range(1); };
    struct kv_latent_size
    {
        static constexpr Spec spec =
            Spec("d_c", "1", "latent KV size, rotary part included (MLA), 0 without latent KV", "R6.4")
                .range(0)
                .by_default(0);
    };
    struct intermediate_size
    {
        static constexpr Spec spec =
            Spec("d_f", "1", "intermediate size of a dense feed-forward layer", "R2.1").range(1);
    };
    struct vocabulary_size
    { static constexpr Spec spec = Spec("V", "1", "vocabulary size", "R6.4").range(1); };
    struct experts
    {
        static constexpr Spec spec =
            Spec("X", "1", "routed experts per layer, 1 for a dense model, 0 if unknown", "R2.1")
                .range(0)
                .by_default(0);
    };
    struct experts_per_token
    {
        static constexpr Spec spec =
            Spec("k", "1", "routed experts per token (top-k)", "R2.1").range(1).at_most<experts>();
    };
    struct shared_experts
    {
        static constexpr Spec spec = Spec("X_s", "1", "shared experts per layer, used by every token", "R2.1").range(0);
    };
    struct expert_intermediate_size
    { static constexpr Spec spec = Spec("d_e", "1", "intermediate size of an expert", "R2.1").range(1); };
    struct dense_layers
    {
        static constexpr Spec spec =
            Spec("n_d", "1", "dense layers, without routed experts", "R2.1").range(0).at_most<layers>();
    };
    struct matrices_per_expert
    {
        static constexpr Spec spec =
            Spec("3", "parameter", "weight matrices per expert (up, gate, down)", "R1.4").positive().by_default(3);
    };

    // --- stages that are not alike: whole layers, some of which attend to the whole context and take longer ---

    struct layers_per_stage
    {
        static constexpr Spec spec = Spec("n_P", "1", "layers per pipeline stage", "R3.1");
        template <class T> static constexpr T formula(in<layers, T> n, in<pipeline_stages, T> P) { return n / P; }
    };
    struct global_layer_period
    {
        static constexpr Spec spec =
            Spec("p_g", "1", "global-attention period, layers per global-attention layer", "R3.9")
                .range(1)
                .by_default(1);
    };
    struct global_layer_cost
    {
        static constexpr Spec spec =
            Spec("c_g", "1", "time of a global-attention layer relative to a sliding-window layer", "R3.9")
                .range(1)
                .by_default(1);
    };
    struct stage_balance
    {
        static constexpr Spec spec = Spec("b_P", "1", "stage balance, mean relative to maximum stage time", "R3.9");
        template <class T> static constexpr T formula(
            in<layers_per_stage, T> n,
            in<global_layer_period, T> p,
            in<global_layer_cost, T> c)
        {
            const T fullest = ceil(n); // whole layers, as many global ones as possible
            return n * (1.0 + (c - 1.0) / p) / (fullest + ceil(fullest / p) * (c - 1.0));
        }
    };
    // Share of a replica's memory and time that whole layers leave to it: all of a pool.
    template <class T> constexpr auto layer_balance(in<layout, T> l, in<stage_balance, T> balance)
    { return choose(l, T(1.0), balance); }

    // --- weights ---

    struct total_parameters
    { static constexpr Spec spec = Spec("N_t", "parameter", "total parameters", "R1.3").positive(); };
    struct active_parameters
    {
        static constexpr Spec spec =
            Spec("N_a", "parameter", "active parameters per token", "R1.2").positive().at_most<total_parameters>();
    };
    struct flops_per_parameter_token
    {
        static constexpr Spec spec =
            Spec("2", "FLOP/parameter/token", "forward FLOPs per parameter and token", "R5.1").positive().by_default(2);
    };
    struct sparsity
    {
        static constexpr Spec spec = Spec("s", "1", "sparsity, total-to-active parameter ratio", "R1.7");
        template <class T> static constexpr T formula(in<total_parameters, T> N_t, in<active_parameters, T> N_a)
        { return N_t / N_a; }
    };
    struct moe_layers
    {
        static constexpr Spec spec = Spec("n_e", "1", "mixture-of-experts (MoE) layers", "R2.1");
        template <class T> static constexpr T formula(in<layers, T> n, in<dense_layers, T> n_d) { return n - n_d; }
    };
    struct routed_parameters
    {
        static constexpr Spec spec = Spec("N_r", "parameter", "routed-expert parameters, all layers", "R1.4");
        template <class T> static constexpr T formula(
            in<moe_layers, T> n_e,
            in<experts, T> X,
            in<hidden_size, T> d,
            in<expert_intermediate_size, T> d_e,
            in<matrices_per_expert, T> three)
        { return n_e * X * (d * d_e * three); }
    };
    struct dense_parameters
    {
        static constexpr Spec spec =
            Spec("N_d", "parameter", "dense parameters, routed experts excluded", "R1.4")
                .range(0)
                .at_most<total_parameters>();
        template <class T> static constexpr T formula(
            in<experts, T> X,
            in<total_parameters, T> N_t,
            in<routed_parameters, T> N_r)
        { return select(X <= 1.0, N_t, N_t - N_r); }
    };

    // --- bytes ---

    struct bits_per_weight
    {
        static constexpr Spec spec = Spec("b_w", "1", "bits per weight, scales included", "definition");
        template <class T> static constexpr T formula(in<weight_format, T> f) { return bits_of<T>(f); }
    };
    struct bytes_per_weight_bit
    {
        static constexpr Spec spec =
            Spec("1/8", "byte/parameter", "bytes per weight bit", "definition").positive().by_default(0.125);
    };
    struct bytes_per_weight
    {
        static constexpr Spec spec = Spec("w", "byte/parameter", "bytes per weight", "definition").positive();
        template <class T> static constexpr T formula(in<bits_per_weight, T> b, in<bytes_per_weight_bit, T> eighth)
        { return b * eighth; }
    };
    // The weights outside the routed experts may have another format.
    struct dense_format
    {
        static constexpr Spec spec =
            one_of_formats<all_formats>(
                Spec("f_d", "1", "weight format outside routed experts (same, or another format)", "definition"),
                "same")
                .by_default(0);
    };
    struct dense_bytes_per_weight
    {
        static constexpr Spec spec =
            Spec("w_d", "byte/parameter", "bytes per weight outside routed experts", "definition");
        template <class T> static constexpr T formula(
            in<dense_format, T> f,
            in<bytes_per_weight, T> w,
            in<bytes_per_weight_bit, T> eighth)
        { return select(is<dense_format>(f, "same"), w, bits_of<T>(f, 1) * eighth); }
    };
    struct model_bytes
    {
        static constexpr Spec spec = Spec("w N_t", "byte", "model weight size, one copy", "R1.3");
        template <class T> static constexpr T formula(
            in<bytes_per_weight, T> w,
            in<total_parameters, T> N_t,
            in<dense_format, T> f,
            in<dense_parameters, T> N_d,
            in<dense_bytes_per_weight, T> w_d)
        { return select(is<dense_format>(f, "same"), w * N_t, N_d * w_d + (N_t - N_d) * w); }
    };

    struct kv_format
    { static constexpr Spec spec = one_of_formats<plain_formats>(Spec("f_{kv}", "1", "KV-cache format", "R6.4")); };
    struct kv_bits
    {
        static constexpr Spec spec = Spec("b_{kv}", "1", "bits per KV-cache element, scales included", "R6.4");
        template <class T> static constexpr T formula(in<kv_format, T> f) { return bits_of<T, plain_formats>(f); }
    };
    struct bytes_per_kv_bit
    {
        static constexpr Spec spec =
            Spec("1/8", "byte/token", "bytes per KV-cache bit", "definition").positive().by_default(0.125);
    };
    struct kv_elements_per_layer
    {
        static constexpr Spec spec = Spec("e_{kv}", "1", "KV-cache elements per token and layer", "R6.4");
        template <class T> static constexpr T formula(
            in<kv_latent_size, T> d_c,
            in<kv_heads, T> n_kv,
            in<head_size, T> d_h)
        { return select(d_c > T(0.0), d_c, 2.0 * n_kv * d_h); }
    };
    struct kv_bytes_per_token
    {
        static constexpr Spec spec = Spec("q", "byte/token", "KV cache per token, all layers", "R6.3").range(0);
        template <class T> static constexpr T formula(
            in<layers, T> n,
            in<kv_elements_per_layer, T> e,
            in<kv_bits, T> b,
            in<bytes_per_kv_bit, T> eighth)
        { return n * e * (b * eighth); }
    };

    using architecture = list<
        layers,
        hidden_size,
        attention_heads,
        kv_heads,
        head_size,
        kv_latent_size,
        intermediate_size,
        vocabulary_size,
        experts,
        experts_per_token,
        shared_experts,
        expert_intermediate_size,
        dense_layers,
        matrices_per_expert,
        layers_per_stage,
        global_layer_period,
        global_layer_cost,
        stage_balance,
        total_parameters,
        active_parameters,
        flops_per_parameter_token,
        sparsity,
        moe_layers,
        routed_parameters,
        dense_parameters,
        bits_per_weight,
        bytes_per_weight_bit,
        bytes_per_weight,
        dense_format,
        dense_bytes_per_weight,
        model_bytes,
        kv_format,
        kv_bits,
        bytes_per_kv_bit,
        kv_elements_per_layer,
        kv_bytes_per_token>;
}
