// Weights in memory: their formats and copies, and the part that a pass reads.
#pragma once
#include "roofslate/quantities/architecture.hpp"

namespace roofslate::quantities
{
    struct dense_peak_flops
    {
        static constexpr Spec spec =
            Spec("F_d", "FLOP/s/chip", "peak compute in the format of weights outside routed experts", "R1.8")
                .replaced_by_where<peak_flops, peak_flops>() // one peak for all formats
                .unless_given<peak_flops_bf16, peak_flops_fp8>();
        template <class T> static constexpr T formula(
            in<dense_format, T> f,
            in<peak_flops, T> F,
            in<peak_flops_bf16, T> F_16,
            in<peak_flops_fp8, T> F_8,
            in<peak_flops_int8, T> F_i8,
            in<peak_flops_fp4, T> F_4)
        { return select(is<dense_format>(f, "same"), T(F), by_peak<T>(f, 1, F_16, F_8, F_i8, F_4)); }
    };

    // --- active parameters, routed and dense ---

    struct active_routed_parameters
    {
        static constexpr Spec spec = Spec("N_k", "parameter", "active routed-expert parameters per token", "R1.4");
        template <class T> static constexpr T formula(
            in<total_parameters, T> N_t,
            in<dense_parameters, T> N_d,
            in<experts_per_token, T> k,
            in<experts, T> X)
        { return select(X <= 1.0, T(0.0), (N_t - N_d) * (k / X)); }
    };
    struct active_dense_parameters
    {
        static constexpr Spec spec =
            Spec("N_c", "parameter", "active dense parameters per token, routed experts excluded", "R1.4");
        template <class T> static constexpr T formula(in<active_parameters, T> N_a, in<active_routed_parameters, T> N_k)
        { return N_a - N_k; }
    };

    // --- where the experts are ---

    struct redundant_experts
    {
        static constexpr Spec spec =
            Spec("R_X", "1", "redundant experts per layer (copies against load imbalance)", "R2.2")
                .range(0)
                .by_default(0);
    };
    struct experts_per_chip
    {
        static constexpr Spec spec =
            Spec("X/G_e", "1/chip", "mean routed experts per chip and layer, redundant ones included", "R2.2");
        template <class T> static constexpr T formula(
            in<experts, T> X,
            in<redundant_experts, T> R,
            in<expert_parallel, T> G_e)
        { return plus_optional(X, R) / G_e; }
    };
    struct leftover_experts
    {
        static constexpr Spec spec =
            Spec("(X + R_X) \\;\\mathrm{mod}\\; G_e", "1", "routed experts left after an equal number a chip", "R2.2");
        template <class T> static constexpr T formula(
            in<experts, T> X,
            in<redundant_experts, T> R,
            in<expert_parallel, T> G_e,
            in<experts_per_chip, T> X_G)
        { return plus_optional(X, R) - floor(X_G) * G_e; }
    };
    struct max_experts_per_chip
    {
        static constexpr Spec spec =
            Spec("X_\\mathrm{max}", "1/chip", "maximum routed experts per chip and layer", "R2.2");
        template <class T> static constexpr T formula(in<experts_per_chip, T> X_G) { return ceil(X_G); }
    };
    struct placement_balance
    {
        static constexpr Spec spec = Spec("b_X", "1", "mean relative to maximum experts per chip", "R2.2");
        template <class T> static constexpr T formula(in<experts_per_chip, T> X_G, in<max_experts_per_chip, T> X_max)
        { return X_G / X_max; }
    };
    struct routed_copies
    {
        static constexpr Spec spec = Spec("G_P/G_e", "1", "chips with the same routed experts", "R3.8");
        template <class T> static constexpr T formula(in<chips_per_stage, T> G_P, in<expert_parallel, T> G_e)
        { return G_P / G_e; }
    };
    struct expert_tensor_parallel
    {
        static constexpr Spec spec =
            Spec("G_x", "1", "expert tensor parallelism, chips splitting each expert matrix", "R3.8").range(1);
        template <class T> static constexpr T formula(in<routed_copies, T> G_2, in<tensor_parallel, T> G_t)
        { return min(G_2, count(G_t)); }
    };

    // --- copies: in a pool each weight is stored once; else each group of chips that attends has its own ---

    struct dense_copies
    {
        static constexpr Spec spec = Spec("\\kappa_d", "1", "copies of the weights outside routed experts", "R3.6");
        template <class T> static constexpr T formula(in<layout, T> l, in<attention_data_parallel, T> G_d)
        { return choose(l, T(1.0), G_d); }
    };
    struct expert_copies
    {
        static constexpr Spec spec = Spec("\\kappa_x", "1", "copies of all routed experts", "R3.6");
        template <class T> static constexpr T formula(
            in<layout, T> l,
            in<routed_copies, T> G_2,
            in<expert_tensor_parallel, T> G_x)
        { return choose(l, T(1.0), G_2 / G_x); }
    };
    // Whether the model is stored as it is: one copy, one format.
    template <class T> constexpr auto stores_one_copy(
        in<layout, T> l,
        in<dense_format, T> f,
        in<redundant_experts, T> R)
    { return is<layout>(l, "pool") && is<dense_format>(f, "same") && R == T(0.0); }
    struct expert_bytes
    {
        static constexpr Spec spec = Spec("W_X", "byte", "routed-expert memory, all chips, copies included", "R3.6");
        template <class T> static constexpr T formula(
            in<total_parameters, T> N_t,
            in<dense_parameters, T> N_d,
            in<bytes_per_weight, T> w,
            in<expert_copies, T> copies,
            in<redundant_experts, T> R,
            in<experts, T> X)
        { return (N_t - N_d) * (w * copies) * select(X == T(0.0), T(1.0), spend_beside(T(1.0), R, 1.0 / X)); }
    };
    struct deployed_weight_bytes
    {
        static constexpr Spec spec = Spec("W_G", "byte", "weight memory, all chips, copies included", "R3.6");
        template <class T> static constexpr T formula(
            in<layout, T> l,
            in<dense_format, T> f,
            in<redundant_experts, T> R,
            in<model_bytes, T> W,
            in<dense_parameters, T> N_d,
            in<dense_bytes_per_weight, T> w_d,
            in<dense_copies, T> copies,
            in<expert_bytes, T> W_X)
        { return select(stores_one_copy<T>(l, f, R), W, N_d * (w_d * copies) + W_X); }
    };

    // --- weights read by a pass ---

    struct expert_reads
    {
        static constexpr Spec spec =
            Spec("\\epsilon", "1", "weights read per pass (expected for its tokens, all)", "R1.4")
                .one_of("expected", "all")
                .by_default(0);
    };
    // Share of the routed experts that so many tokens are expected to touch.
    template <class T> constexpr T coverage_of(in<experts, T> X, in<experts_per_token, T> k, const T& tokens)
    { return 1.0 - pow(1.0 - k / X, count(tokens)); }
    struct active_dense_bytes
    {
        static constexpr Spec spec =
            Spec("W_c", "byte", "active dense weight memory, all chips, copies included", "R1.4");
        template <class T> static constexpr T formula(
            in<active_dense_parameters, T> N_c,
            in<dense_bytes_per_weight, T> w_d,
            in<dense_copies, T> copies)
        { return N_c * (w_d * copies); }
    };
    // Bytes read at a coverage: all of them, too, if the number of experts is unknown.
    template <class T> constexpr T bytes_at_coverage(
        in<expert_reads, T> which,
        in<experts, T> X,
        in<deployed_weight_bytes, T> all,
        in<active_dense_bytes, T> W_c,
        in<expert_bytes, T> W_X,
        in<layout, T> l,
        in<placement_balance, T> balance,
        const T& coverage)
    {
        const T routed = W_X * coverage / choose(l, T(1.0), balance);
        const T touched = select(X == T(1.0), W_c, W_c + routed);
        return choose(which, select(X == T(0.0), all, touched), all);
    }

    using weights = list<
        dense_peak_flops,
        active_routed_parameters,
        active_dense_parameters,
        redundant_experts,
        experts_per_chip,
        leftover_experts,
        max_experts_per_chip,
        placement_balance,
        routed_copies,
        expert_tensor_parallel,
        dense_copies,
        expert_copies,
        expert_bytes,
        deployed_weight_bytes,
        expert_reads,
        active_dense_bytes>;
}
