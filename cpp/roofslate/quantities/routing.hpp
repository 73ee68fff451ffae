// Chapter 1: the gain from sparsity. The scaling law of routed models of Clark et al. 2022, "Unified Scaling Laws for
// Routed Language Models" (arXiv 2202.01169, equation 1): one expert a token, `experts` experts a layer,
// `active_parameters` the dense size they grow from.
#pragma once
#include "roofslate/quantities/economics.hpp"

namespace roofslate::quantities
{
    // --- the fit; the defaults describe S-BASE routing ---

    struct routing_size_exponent
    {
        static constexpr Spec spec =
            Spec("a", "1", "model-size exponent of the routed scaling law", "arXiv 2202.01169 Table 3")
                .by_default(-0.082);
    };
    struct routing_experts_exponent
    {
        static constexpr Spec spec =
            Spec("b", "1", "expert-count exponent of the routed scaling law", "arXiv 2202.01169 Table 3")
                .by_default(-0.108);
    };
    struct routing_interaction
    {
        static constexpr Spec spec =
            Spec(
                "c_{ab}",
                "1",
                "interaction of model size and expert count, routed scaling law",
                "arXiv 2202.01169 Table 3")
                .by_default(0.009);
    };
    struct routing_intercept
    {
        static constexpr Spec spec =
            Spec("d_0", "1", "log10 loss at unit size and unit experts, routed scaling law", "arXiv 2202.01169 Table 3")
                .by_default(1.104);
    };
    struct routing_first_experts
    {
        static constexpr Spec spec =
            Spec(
                "E_s",
                "1",
                "saturated expert count of a single expert, routed scaling law",
                "arXiv 2202.01169 Table 3")
                .positive()
                .by_default(1.847);
    };
    struct routing_most_experts
    {
        static constexpr Spec spec =
            Spec(
                "E_m",
                "1",
                "saturated expert count of unlimited experts, routed scaling law",
                "arXiv 2202.01169 Table 3")
                .positive()
                .by_default(314.478);
    };
    struct routing_unit_size
    {
        static constexpr Spec spec =
            Spec("N_u", "parameter", "model-size unit of the routed scaling law", "arXiv 2202.01169")
                .positive()
                .by_default(1);
    };

    // --- the law ---

    struct saturated_experts
    {
        static constexpr Spec spec = Spec("\\hat E", "1", "saturated expert count, routed scaling law", "R1.16");
        template <class T> static constexpr T formula(
            in<experts, T> X,
            in<routing_first_experts, T> E_s,
            in<routing_most_experts, T> E_m)
        { return 1.0 / (1.0 / (X - 1.0 + 1.0 / (1.0 / E_s - 1.0 / E_m)) + 1.0 / E_m); }
    };
    struct routed_size_exponent
    {
        static constexpr Spec spec =
            Spec("\\alpha", "1", "effective model-size exponent at the given expert count", "R1.16");
        template <class T> static constexpr T formula(
            in<routing_size_exponent, T> a,
            in<routing_interaction, T> c,
            in<saturated_experts, T> E)
        { return a + c * (log(E) / log(T(10.0))); }
    };
    struct dense_size_exponent
    {
        static constexpr Spec spec = Spec("\\alpha_1", "1", "effective model-size exponent of a dense model", "R1.16");
        template <class T> static constexpr T formula(
            in<routing_size_exponent, T> a,
            in<routing_interaction, T> c,
            in<routing_first_experts, T> E_s)
        { return a + c * (log(E_s) / log(T(10.0))); }
    };
    struct routed_loss
    {
        static constexpr Spec spec =
            Spec("\\mathcal L", "1", "validation loss of a routed model in nats per token", "R1.16");
        template <class T> static constexpr T formula(
            in<routing_intercept, T> d,
            in<saturated_experts, T> E,
            in<routing_experts_exponent, T> b,
            in<active_parameters, T> N,
            in<routing_unit_size, T> one,
            in<routed_size_exponent, T> alpha)
        { return pow(T(10.0), d) * pow(E, b) * pow(N / one, alpha); }
    };
    struct dense_equivalent_gain
    {
        static constexpr Spec spec =
            Spec("\\bar N/N_a", "1", "ratio of equal-loss dense size to active parameters", "R1.16");
        template <class T> static constexpr T formula(
            in<saturated_experts, T> E,
            in<routing_first_experts, T> E_s,
            in<routing_experts_exponent, T> b,
            in<active_parameters, T> N,
            in<routing_unit_size, T> one,
            in<routed_size_exponent, T> alpha,
            in<dense_size_exponent, T> alpha_1)
        { return pow(E / E_s, b / alpha_1) * pow(N / one, alpha / alpha_1 - 1.0); }
    };
    struct effective_dense_parameters
    {
        static constexpr Spec spec = Spec("\\bar N", "parameter", "equal-loss dense model size", "R1.16");
        template <class T> static constexpr T formula(in<active_parameters, T> N, in<dense_equivalent_gain, T> gain)
        { return N * gain; }
    };

    // --- and back ---

    struct routing_cutoff_parameters
    {
        static constexpr Spec spec =
            Spec("N_\\mathrm{cut}", "parameter", "active parameters at which more experts stop reducing loss", "R1.16");
        template <class T> static constexpr T formula(
            in<routing_unit_size, T> one,
            in<routing_experts_exponent, T> b,
            in<routing_interaction, T> c)
        { return one * pow(T(10.0), -b / c); }
    };
    struct matched_dense_parameters
    {
        static constexpr Spec spec =
            Spec("N_D", "parameter", "size of the dense model to match in loss", "R1.16").positive();
    };
    struct matching_saturated_experts
    {
        static constexpr Spec spec =
            Spec("\\hat E_D", "1", "saturated expert count matching a dense model, inf if never", "R1.16");
        template <class T> static constexpr T formula(
            in<routing_first_experts, T> E_s,
            in<routing_experts_exponent, T> b,
            in<routing_interaction, T> c,
            in<active_parameters, T> N,
            in<matched_dense_parameters, T> N_D,
            in<routing_unit_size, T> one,
            in<dense_size_exponent, T> alpha_1,
            in<routing_cutoff_parameters, T> N_cut)
        {
            return select(
                N >= N_cut,
                T(infinite),
                E_s * exp(log(N_D / N) * alpha_1 / (b + c * (log(N / one) / log(T(10.0))))));
        }
    };
    struct matching_experts
    {
        static constexpr Spec spec =
            Spec("E_D", "1", "fewest routed experts matching a dense model's loss, inf if never", "R1.16");
        template <class T> static constexpr T formula(
            in<matching_saturated_experts, T> E,
            in<routing_first_experts, T> E_s,
            in<routing_most_experts, T> E_m)
        {
            return select(
                E >= E_m,
                T(infinite),
                max(1.0 + (1.0 / (1.0 / E - 1.0 / E_m) - 1.0 / (1.0 / E_s - 1.0 / E_m)), 1.0));
        }
    };

    using routing = list<
        routing_size_exponent,
        routing_experts_exponent,
        routing_interaction,
        routing_intercept,
        routing_first_experts,
        routing_most_experts,
        routing_unit_size,
        saturated_experts,
        routed_size_exponent,
        dense_size_exponent,
        routed_loss,
        dense_equivalent_gain,
        effective_dense_parameters,
        routing_cutoff_parameters,
        matched_dense_parameters,
        matching_saturated_experts,
        matching_experts>;
}
