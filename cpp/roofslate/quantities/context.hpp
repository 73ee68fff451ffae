// Chapter 6: cost of a token by context and by length of pass, and the effect of prefill mixed with decoding.
#pragma once
#include "roofslate/quantities/requests.hpp"
#include "roofslate/quantities/scheduling.hpp"

namespace roofslate::quantities
{
    // --- relative to compute-only cost ---

    struct weight_fetch_ratio
    {
        static constexpr Spec spec =
            Spec("\\omega", "1", "ratio of weight-read to compute time, 0 at unlimited batch size", "R6.1").range(0);
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
            "ratio of memory-read time (weights, KV cache) to compute time",
            "R6.1");
        template <class T> static constexpr T formula(in<weight_fetch_ratio, T> w, in<kv_compute_ratio, T> r)
        { return w + r; }
    };
    struct compute_floor_ratio
    {
        static constexpr Spec spec =
            Spec("c/c_\\mathrm{comp}", "1", "cost per token relative to compute-only cost", "R6.1");
        template <class T> static constexpr T formula(
            in<overlap, T> o,
            in<memory_compute_ratio, T> m,
            in<weight_fetch_ratio, T> w,
            in<kv_compute_ratio, T> r)
        { return choose(o, max(m, 1.0), r + max(w, 1.0), m + 1.0); }
    };
    struct kink_context
    {
        static constexpr Spec spec =
            Spec("L_k", "token/sequence", "context length at which memory-read time reaches compute time", "R6.1");
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
            "tokens per sequence and pass at which compute equals memory time",
            "R6.5");
        template <class T> static constexpr T formula(in<pass_length, T> l, in<memory_compute_ratio, T> m)
        { return l * m; }
    };
    struct prefill_attention_factor
    {
        static constexpr Spec spec =
            Spec("1 + L/(2 L_a)", "1", "ratio of prefill FLOPs with causal attention to weight FLOPs", "Q11");
        template <class T> static constexpr T formula(in<attention_to_weight_flops, T> a) { return 1.0 + 0.5 * a; }
    };

    // --- chunked prefill in passes that decode: compute that decoding leaves idle ---

    struct prefill_share
    {
        static constexpr Spec spec =
            Spec("\\phi", "1", "prefill fraction of new tokens in a mixed prefill-decode pass", "Q13").range(0, 1);
    };
    struct balancing_prefill_share
    {
        static constexpr Spec spec =
            Spec("\\phi^*", "1", "prefill fraction of a mixed pass at which compute equals memory time", "Q13");
        template <class T> static constexpr T formula(in<memory_compute_ratio, T> m) { return max(1.0 - 1.0 / m, 0.0); }
    };
    struct free_prefill_tokens
    {
        static constexpr Spec spec =
            Spec("c^*", "token", "prefill tokens absorbed by a decode pass at no extra time", "Q13");
        template <class T> static constexpr T formula(in<pass_tokens, T> tokens, in<memory_compute_ratio, T> m)
        { return spend(tokens, max(m - 1.0, 0.0)); } // a pass that does not fit absorbs none
    };
    struct mixed_floor_ratio
    {
        static constexpr Spec spec = Spec(
            "c_\\phi/c_\\mathrm{comp}",
            "1",
            "mixed-pass cost per token relative to compute-only, full overlap",
            "Q13");
        template <class T> static constexpr T formula(in<memory_compute_ratio, T> m, in<prefill_share, T> phi)
        { return max(m * (1.0 - phi), 1.0); }
    };

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
