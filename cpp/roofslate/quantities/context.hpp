// Chapter 6: what a token costs at a context and at a length of pass, and what prefill beside decoding changes.
#pragma once
#include "roofslate/quantities/requests.hpp"
#include "roofslate/quantities/scheduling.hpp"

namespace roofslate::quantities
{
    // --- against the cost of the arithmetic alone ---

    struct weight_fetch_ratio
    {
        static constexpr Spec spec =
            Spec(
                "\\omega",
                "1",
                "time to fetch the weights over the time of the arithmetic; 0: a batch without end",
                "R6.1")
                .range(0);
        template <class T> static constexpr T formula(
            in<expert_reads, T> which,
            in<experts, T> X,
            in<layout, T> l,
            in<dense_format, T> f,
            in<redundant_experts, T> R,
            in<balance_batch, T> B_0,
            in<batch_size, T> B,
            in<weight_fetch_time, T> t_w,
            in<compute_time, T> t_c)
        {
            const auto reads_all = (is<expert_reads>(which, "all") || X == T(0.0)) && stores_one_copy<T>(l, f, R);
            return select(reads_all, B_0 / B, t_w / t_c);
        }
    };
    struct memory_compute_ratio
    {
        static constexpr Spec spec = Spec(
            "t_\\mathrm{mem}/t_\\mathrm{comp}",
            "1",
            "time to fetch weights and cache over the time of the arithmetic",
            "R6.1");
        template <class T> static constexpr T formula(in<weight_fetch_ratio, T> w, in<kv_compute_ratio, T> r)
        { return w + r; }
    };
    struct compute_floor_ratio
    {
        static constexpr Spec spec =
            Spec("c/c_\\mathrm{comp}", "1", "cost of a token over that of its arithmetic alone", "R6.1");
        template <class T> static constexpr T formula(
            in<overlap, T> o,
            in<memory_compute_ratio, T> m,
            in<weight_fetch_ratio, T> w,
            in<kv_compute_ratio, T> r)
        { return choose(o, max(m, 1.0), r + max(w, 1.0), m + 1.0); }
    };
    struct kink_context
    {
        static constexpr Spec spec = Spec(
            "L_k",
            "token/sequence",
            "context from which on a token costs more: memory takes as long as compute; 0: from the first token",
            "R6.1");
        template <class T> static constexpr T formula(
            in<balance_context, T> L_0,
            in<weight_fetch_ratio, T> w,
            in<hidden_kv_bytes, T> Y,
            in<kv_bytes_per_token, T> q,
            in<kv_read_factor, T> k,
            in<windowed_kv_share, T> share,
            in<attention_window, T> window,
            in<selected_tokens, T> K,
            in<index_bytes_per_token, T> q_i,
            in<recurrent_state_bytes, T> S_0)
        { return context_at_ratio<T>(max(1.0 - w, 0.0), L_0, Y, q, k, share, window, K, q_i, S_0); }
    };

    // --- the length of a pass: decode has one new token a sequence, prefill many ---

    struct balance_pass_length
    {
        static constexpr Spec spec = Spec(
            "\\ell^*",
            "token/sequence",
            "new tokens of a sequence in a pass from which on compute takes longer than memory",
            "R6.5");
        template <class T> static constexpr T formula(in<pass_length, T> l, in<memory_compute_ratio, T> m)
        { return l * m; }
    };
    struct prefill_attention_factor
    {
        static constexpr Spec spec = Spec(
            "1 + L/(2 L_a)",
            "1",
            "arithmetic of a prompt of this context over that of its weights: on average a token attends to half of it",
            "Q11");
        template <class T> static constexpr T formula(in<attention_to_weight_flops, T> a) { return 1.0 + 0.5 * a; }
    };

    // --- prefill in chunks beside decoding: arithmetic that decoding leaves idle ---

    struct prefill_share
    {
        static constexpr Spec spec =
            Spec("\\phi", "1", "share of prompts in the new tokens of a pass that decodes too", "Q13").range(0, 1);
    };
    struct balancing_prefill_share
    {
        static constexpr Spec spec =
            Spec("\\phi^*", "1", "share of prompts that fills the arithmetic which decoding leaves idle", "Q13");
        template <class T> static constexpr T formula(in<memory_compute_ratio, T> m) { return max(1.0 - 1.0 / m, 0.0); }
    };
    struct free_prefill_tokens
    {
        static constexpr Spec spec =
            Spec("c^*", "token", "tokens of prompts that a pass can take along without getting longer", "Q13");
        template <class T> static constexpr T formula(in<pass_tokens, T> tokens, in<memory_compute_ratio, T> m)
        { return spend(tokens, max(m - 1.0, 0.0)); } // what does not fit takes nothing along
    };
    struct mixed_floor_ratio
    {
        static constexpr Spec spec = Spec(
            "c_\\phi/c_\\mathrm{comp}",
            "1",
            "cost of a token of a mixed pass over that of its arithmetic alone; memory beside compute, prefixes left "
            "out",
            "Q13");
        template <class T> static constexpr T formula(in<memory_compute_ratio, T> m, in<prefill_share, T> phi)
        { return max(m * (1.0 - phi), 1.0); }
    };

    // --- or apart from it, on chips of their own ---

    using context = list<
        weight_fetch_ratio,
        memory_compute_ratio,
        compute_floor_ratio,
        kink_context,
        balance_pass_length,
        prefill_attention_factor,
        prefill_share,
        balancing_prefill_share,
        free_prefill_tokens,
        mixed_floor_ratio>;
}
