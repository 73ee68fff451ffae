// Chapter 7: activations saved for the backward pass, and the cost of saving fewer.
#pragma once
#include "roofslate/quantities/economics.hpp"

namespace roofslate::quantities
{
    struct backward_flops_per_parameter
    {
        static constexpr Spec spec =
            Spec("4", "FLOP/parameter/token", "backward FLOPs per parameter and token", "R5.1")
                .positive()
                .by_default(4);
    };
    struct training_flops_per_parameter
    {
        static constexpr Spec spec =
            Spec("6", "FLOP/parameter/token", "training FLOPs per parameter and token, forward plus backward", "R5.1");
        template <class T> static constexpr T formula(
            in<flops_per_parameter_token, T> two,
            in<backward_flops_per_parameter, T> four)
        { return two + four; }
    };
    struct trained_weights
    {
        static constexpr Spec spec =
            Spec(
                "\\tau_T",
                "1",
                "weights updated by training (all, LoRA adapters on frozen weights)",
                "LoRA, arXiv 2106.09685")
                .one_of("all", "adapters")
                .by_default(0);
    };
    struct base_flops_per_parameter
    {
        // A frozen weight passes its gradient on and gets none.
        static constexpr Spec spec = Spec(
            "c_b",
            "FLOP/parameter/token",
            "training FLOPs per base-model parameter and token, frozen or trained",
            "LoRA, arXiv 2106.09685");
        template <class T> static constexpr T formula(
            in<trained_weights, T> trained,
            in<training_flops_per_parameter, T> six,
            in<flops_per_parameter_token, T> two,
            in<backward_flops_per_parameter, T> four)
        { return choose(trained, six, two + four / 2.0); }
    };
    struct sequence_length
    { static constexpr Spec spec = Spec("L_T", "token/sequence", "training sequence length", "R5.1").positive(); };
    struct global_batch_size
    {
        static constexpr Spec spec =
            Spec("B_T", "sequence", "global batch size, sequences per training step", "R3.5").positive();
    };
    struct tokens_per_step
    {
        static constexpr Spec spec = Spec("n_T", "token", "tokens per training step", "R7.3").positive();
        template <class T> static constexpr T formula(in<global_batch_size, T> B, in<sequence_length, T> L)
        { return B * L; }
    };
    struct activation_policy
    {
        static constexpr Spec spec =
            Spec("\\pi_a", "1", "activations saved for the backward pass (checkpointing)", "Q7")
                .one_of("all", "selective", "block", "reversible");
    };
    struct activations_of_a_layer
    {
        static constexpr Spec spec =
            Spec(
                "20",
                "1",
                "activations per layer relative to hidden size, all intermediates",
                "scaling book, chapter 5")
                .positive()
                .by_default(20);
    };
    struct matrix_activations_of_a_layer
    {
        static constexpr Spec spec =
            Spec(
                "7",
                "1",
                "activations per layer relative to hidden size, large-matrix outputs",
                "scaling book, chapter 5")
                .positive()
                .by_default(7);
    };
    struct reversible_streams
    {
        static constexpr Spec spec =
            Spec("n_s", "1", "saved halves of a reversible layer, each one hidden size wide", "R7.3")
                .range(1)
                .by_default(1);
    };
    struct kept_activations
    {
        static constexpr Spec spec = Spec("c_a", "1", "saved activations per layer relative to hidden size", "Q7");
        template <class T> static constexpr T formula(
            in<activation_policy, T> policy,
            in<activations_of_a_layer, T> all,
            in<matrix_activations_of_a_layer, T> selective,
            in<reversible_streams, T> s,
            in<layers, T> n)
        { return choose(policy, all, selective, T(1.0), s / n); }
    };
    struct activation_bytes
    {
        static constexpr Spec spec = Spec("K_a", "byte", "saved activations of a training step, all layers", "R7.3");
        template <class T> static constexpr T formula(
            in<tokens_per_step, T> tokens,
            in<layers, T> n,
            in<hidden_size, T> d,
            in<activation_bytes_per_element, T> w,
            in<kept_activations, T> c)
        { return tokens * (n * d * w * c); }
    };
    struct repeated_forward
    {
        static constexpr Spec spec =
            Spec("\\rho_a", "1", "fraction of the forward pass recomputed in the backward pass", "Q7");
        template <class T> static constexpr T formula(in<activation_policy, T> policy)
        { return choose(policy, T(0.0), T(0.0), T(1.0)); }
    };
    struct recomputation_factor
    {
        static constexpr Spec spec =
            Spec("\\chi", "1", "ratio of training-step FLOPs with recomputation to without", "R7.3");
        template <class T> static constexpr T formula(
            in<repeated_forward, T> again,
            in<flops_per_parameter_token, T> two,
            in<base_flops_per_parameter, T> six)
        { return 1.0 + again * (two / six); }
    };

    using reversible = list<
        backward_flops_per_parameter,
        training_flops_per_parameter,
        trained_weights,
        base_flops_per_parameter,
        sequence_length,
        global_batch_size,
        tokens_per_step,
        activation_policy,
        activations_of_a_layer,
        matrix_activations_of_a_layer,
        reversible_streams,
        kept_activations,
        activation_bytes,
        repeated_forward,
        recomputation_factor>;
}
