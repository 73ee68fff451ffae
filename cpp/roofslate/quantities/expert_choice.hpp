// Question 8: how sparse a model to train. The routed law says what more experts gain; users and memory say what they
// cost nothing.
#pragma once
#include "roofslate/quantities/routing.hpp"

namespace roofslate::quantities
{
    struct sparsity_for_users
    {
        static constexpr Spec spec = Spec(
            "s_B",
            "1",
            "sparsity whose weights are fetched while the batch is multiplied: beyond it, users are too few",
            "Q8");
        template <class T> static constexpr T formula(in<pass_tokens, T> tokens, in<balance_tokens, T> A)
        { return tokens / A; }
    };
    struct sparsity_for_memory
    {
        static constexpr Spec spec = Spec("s_H", "1", "sparsity whose weights fill the memory of the replica", "Q8");
        template <class T> static constexpr T formula(
            in<replica_hbm_capacity, T> H,
            in<bytes_per_weight, T> w,
            in<active_parameters, T> N_a)
        { return H / (w * N_a); }
    };
    struct free_sparsity
    {
        static constexpr Spec spec = Spec(
            "s^*",
            "1",
            "largest sparsity that leaves the cost of a token as it is: the best experts count of a model all of whose "
            "weights are routed, one expert a token",
            "Q8");
        template <class T> static constexpr T formula(in<sparsity_for_users, T> s_B, in<sparsity_for_memory, T> s_H)
        { return max(min(s_B, s_H), 1.0); }
    };
    struct weight_cost_factor
    {
        static constexpr Spec spec =
            Spec("c(s)/c(1)", "1", "cost of a token over that of a pass that compute holds up, context left out", "Q8");
        template <class T> static constexpr T formula(in<sparsity, T> s, in<sparsity_for_users, T> s_B)
        { return max(s / s_B, 1.0); }
    };
    struct gain_per_cost
    {
        static constexpr Spec spec = Spec("\\bar N/(N_a c)", "1", "gain in dense size over the factor in cost", "Q8");
        template <class T> static constexpr T formula(in<dense_equivalent_gain, T> gain, in<weight_cost_factor, T> c)
        { return gain / c; }
    };

    using expert_choice =
        list<sparsity_for_users, sparsity_for_memory, free_sparsity, weight_cost_factor, gain_per_cost>;
}
