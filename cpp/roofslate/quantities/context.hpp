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
            in<balance_batch, T> B_0,
            in<batch_size, T> B,
            in<weight_fetch_time, T> t_w,
            in<compute_time, T> t_c)
        {
            const auto reads_all = (is<expert_reads>(which, "all") || X == T(0.0)) && stores_all_alike<T>(l, f);
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
            in<fixed_cache_bytes, T> S_0)
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
    struct prefix_length
    {
        static constexpr Spec spec =
            Spec("L_p", "token/sequence", "tokens of a sequence that are in the cache when its prefill starts", "R6.6")
                .range(0);
    };
    struct prefilled_sequences
    {
        static constexpr Spec spec =
            Spec("B_p", "sequence", "sequences that a pass prefills a part of", "R6.6").range(0);
    };
    struct prefix_bytes
    {
        static constexpr Spec spec = Spec(
            "B_p L_p q",
            "byte",
            "cache that a prefill reads: that of the prefixes, since new scores stay on the chip",
            "R6.6");
        template <class T> static constexpr T formula(
            in<prefilled_sequences, T> B,
            in<kv_bytes_per_token, T> q,
            in<prefix_length, T> L)
        { return B * q * L; }
    };
    struct prefix_fetch_time
    {
        static constexpr Spec spec = Spec("t_p", "s", "time to fetch the cache of the prefixes", "R6.6");
        template <class T> static constexpr T formula(in<prefix_bytes, T> K, in<cell_bandwidth, T> M) { return K / M; }
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
        { return tokens * max(m - 1.0, 0.0); }
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
    struct mixed_compute_time
    {
        static constexpr Spec spec = Spec("t_c/(1 - \\phi)", "s", "time of the arithmetic of a mixed pass", "Q13");
        template <class T> static constexpr T formula(in<compute_time, T> t_c, in<prefill_share, T> phi)
        { return t_c / (1.0 - phi); }
    };
    struct mixed_pass_time
    {
        static constexpr Spec spec = Spec("t_\\phi", "s", "least time of a pass that decodes and prefills", "Q13");
        template <class T> static constexpr T formula(
            in<overlap, T> o,
            in<mixed_compute_time, T> t_c,
            in<weight_fetch_time, T> t_w,
            in<kv_fetch_time, T> t_kv,
            in<memory_time, T> t_m,
            in<prefix_fetch_time, T> t_p)
        {
            return roofline_time::formula<T>(
                o,
                as<compute_time>(t_c),
                t_w,
                as<kv_fetch_time>(t_kv + t_p),
                as<memory_time>(t_m + t_p));
        }
    };
    struct mixed_compute_utilization
    {
        static constexpr Spec spec =
            Spec("u_\\phi", "1", "share of a mixed pass in which the arithmetic is busy", "Q13");
        template <class T> static constexpr T formula(in<mixed_compute_time, T> t_c, in<mixed_pass_time, T> t)
        { return t_c / t; }
    };

    // --- or apart from it, on chips of their own ---

    struct prefill_decode_replicas
    {
        static constexpr Spec spec =
            Spec("G_p/G_d", "1", "replicas that prefill over replicas that decode, so that neither waits", "Q13");
        template <class T> static constexpr T formula(
            in<prefill_time, T> T_p,
            in<pass_tokens, T> tokens,
            in<response_length, T> L_r,
            in<pass_time, T> t)
        { return T_p * (tokens / (L_r * t)); }
    };

    using context = list<
        weight_fetch_ratio,
        memory_compute_ratio,
        compute_floor_ratio,
        kink_context,
        balance_pass_length,
        prefix_length,
        prefilled_sequences,
        prefix_bytes,
        prefix_fetch_time,
        prefill_attention_factor,
        prefill_share,
        balancing_prefill_share,
        free_prefill_tokens,
        mixed_floor_ratio,
        mixed_compute_time,
        mixed_pass_time,
        mixed_compute_utilization,
        prefill_decode_replicas>;
}
