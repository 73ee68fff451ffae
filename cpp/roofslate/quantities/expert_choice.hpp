// Question 8: the sparsity of a model to train. The routed scaling law gives the gain from more experts. Batch size and
// memory give the sparsity up to which they add no cost.
#pragma once
#include "roofslate/quantities/routing.hpp"

namespace roofslate::quantities
{
    struct sparsity_for_users
    {
        static constexpr Spec spec = Spec("s_B", "1", "sparsity at which weight reads take as long as compute", "Q8");
        template <class T> static constexpr T formula(in<pass_tokens, T> tokens, in<balance_tokens, T> A)
        { return tokens / A; }
    };
    struct sparsity_for_memory
    {
        static constexpr Spec spec = Spec("s_H", "1", "sparsity at which weights fill the replica HBM", "Q8");
        template <class T> static constexpr T formula(
            in<replica_hbm_capacity, T> H,
            in<bytes_per_weight, T> w,
            in<active_parameters, T> N_a)
        { return H / (w * N_a); }
    };
    struct free_sparsity
    {
        static constexpr Spec spec = Spec("s^*", "1", "maximum sparsity at no extra cost per token", "Q8");
        template <class T> static constexpr T formula(in<sparsity_for_users, T> s_B, in<sparsity_for_memory, T> s_H)
        { return max(min(s_B, s_H), 1.0); }
    };
    struct weight_cost_factor
    {
        static constexpr Spec spec =
            Spec("c(s)/c(1)", "1", "cost per token relative to a compute-bound pass, context excluded", "Q8");
        template <class T> static constexpr T formula(in<sparsity, T> s, in<sparsity_for_users, T> s_B)
        { return max(s / s_B, 1.0); }
    };
    struct gain_per_cost
    {
        static constexpr Spec spec =
            Spec("\\bar N/(N_a c)", "1", "ratio of dense-equivalent gain to cost factor", "Q8");
        template <class T> static constexpr T formula(in<dense_equivalent_gain, T> gain, in<weight_cost_factor, T> c)
        { return gain / c; }
    };

    using expert_choice =
        list<sparsity_for_users, sparsity_for_memory, free_sparsity, weight_cost_factor, gain_per_cost>;
}
