// Chapter 1: the roofline of one forward pass, and where its two clocks meet.
#pragma once
#include "roofslate/quantities/cache.hpp"

namespace roofslate::quantities
{
    // --- the work ---

    struct batch_size
    {
        static constexpr Spec spec =
            Spec("B", "sequence", "sequences that get new tokens in one pass of the cell", "R1.1").positive();
    };
    struct pass_length
    {
        static constexpr Spec spec =
            Spec("\\ell", "token/sequence", "new tokens of a sequence in one pass; 1 is decode", "R6.5")
                .range(1)
                .by_default(1);
    };
    struct clients
    {
        static constexpr Spec spec =
            Spec(
                "n_c",
                "sequence",
                "requests that are in the deployment at any time: who has an answer asks again",
                "R1.1")
                .positive();
    };
    struct overlap
    {
        static constexpr Spec spec =
            Spec(
                "o",
                "1",
                "what runs at the same time as what: board, all memory beside compute; serial_kv, the cache after the "
                "rest; none",
                "R1.1")
                .one_of("board", "serial_kv", "none")
                .by_default(0);
    };
    struct expert_reads
    {
        static constexpr Spec spec =
            Spec(
                "\\epsilon",
                "1",
                "weights that a pass fetches: all, or those of the experts that it is expected to touch",
                "R1.4")
                .one_of("all", "expected")
                .by_default(0);
    };
    struct pass_tokens
    {
        static constexpr Spec spec = Spec("B\\ell", "token", "new tokens of one pass", "R6.5");
        template <class T> static constexpr T formula(in<batch_size, T> B, in<pass_length, T> l) { return B * l; }
    };

    // --- compute ---

    struct flops_per_token
    {
        static constexpr Spec spec =
            Spec("2 N_a", "FLOP/token", "arithmetic of a new token, attention left out", "R1.2");
        template <class T> static constexpr T formula(
            in<flops_per_parameter_token, T> two,
            in<active_parameters, T> N_a)
        { return two * N_a; }
    };
    struct compute_time
    {
        static constexpr Spec spec =
            Spec("t_\\mathrm{comp}", "s", "time to multiply every new token with the active weights", "R1.2");
        template <class T> static constexpr T formula(
            in<pass_tokens, T> tokens,
            in<flops_per_token, T> f,
            in<cell_flops, T> C)
        { return tokens * (f / C); }
    };

    // --- memory ---

    struct expert_coverage
    {
        static constexpr Spec spec = Spec("\\gamma", "1", "share of the routed experts that a pass touches", "R1.4");
        template <class T> static constexpr T formula(
            in<experts, T> X,
            in<experts_per_token, T> k,
            in<pass_tokens, T> tokens)
        { return 1.0 - pow(1.0 - k / X, count(tokens)); }
    };
    struct touched_parameters
    {
        static constexpr Spec spec = Spec("N_\\gamma", "parameter", "weights that a pass touches", "R1.4");
        template <class T> static constexpr T formula(
            in<dense_parameters, T> N_d,
            in<total_parameters, T> N_t,
            in<expert_coverage, T> g)
        { return N_d + (N_t - N_d) * g; }
    };
    struct fetched_parameters
    {
        static constexpr Spec spec = Spec("N_f", "parameter", "weights that a pass fetches", "R1.4");
        template <class T> static constexpr T formula(
            in<expert_reads, T> which,
            in<total_parameters, T> N_t,
            in<touched_parameters, T> N_g)
        { return choose(which, N_t, N_g); }
    };
    struct weight_fetch_time
    {
        static constexpr Spec spec = Spec("t_w", "s", "time to fetch the weights", "R1.3");
        template <class T> static constexpr T formula(
            in<fetched_parameters, T> N_f,
            in<weight_bytes, T> w,
            in<cell_bandwidth, T> M)
        { return N_f * (w / M); }
    };
    struct kv_bytes
    {
        static constexpr Spec spec = Spec("B S", "byte", "memory that the caches of the batch take", "R1.3");
        template <class T> static constexpr T formula(in<batch_size, T> B, in<kv_stored_bytes, T> S) { return B * S; }
    };
    struct kv_fetch_time
    {
        static constexpr Spec spec = Spec("t_{kv}", "s", "time to fetch what a pass reads of the caches", "R1.3");
        template <class T> static constexpr T formula(
            in<batch_size, T> B,
            in<kv_read_bytes, T> r,
            in<cell_bandwidth, T> M)
        { return B * r / M; }
    };
    struct memory_time
    {
        static constexpr Spec spec =
            Spec("t_\\mathrm{mem}", "s", "time to fetch weights and cache through the one memory port", "R1.1");
        template <class T> static constexpr T formula(in<weight_fetch_time, T> t_w, in<kv_fetch_time, T> t_kv)
        { return t_w + t_kv; }
    };

    // --- both ---

    struct pass_time
    {
        static constexpr Spec spec = Spec("t", "s", "least time of one forward pass", "R1.1");
        template <class T> static constexpr T formula(
            in<overlap, T> o,
            in<compute_time, T> t_c,
            in<weight_fetch_time, T> t_w,
            in<kv_fetch_time, T> t_kv,
            in<memory_time, T> t_m)
        { return choose(o, max(t_m, t_c), t_kv + max(t_w, t_c), t_m + t_c); }
    };
    struct binding_term
    {
        static constexpr Spec spec =
            Spec("\\beta", "1", "what takes longest: compute, or of the memory's time the larger part", "R1.1")
                .one_of("compute", "weight_fetch", "kv_fetch");
        template <class T> static constexpr T formula(
            in<compute_time, T> t_c,
            in<weight_fetch_time, T> t_w,
            in<kv_fetch_time, T> t_kv,
            in<memory_time, T> t_m)
        { return select(t_c >= t_m, T(0.0), select(t_w >= t_kv, T(1.0), T(2.0))); }
    };
    struct latency_floor
    {
        static constexpr Spec spec =
            Spec("t_\\mathrm{min}", "s", "time to read all weights once: no pass that needs them is faster", "R1.4");
        template <class T> static constexpr T formula(in<model_bytes, T> W, in<cell_bandwidth, T> M) { return W / M; }
    };
    struct compute_utilization
    {
        static constexpr Spec spec = Spec("u", "1", "share of the pass in which the arithmetic is busy", "R1.11");
        template <class T> static constexpr T formula(in<compute_time, T> t_c, in<pass_time, T> t) { return t_c / t; }
    };
    struct model_flops_utilization
    {
        static constexpr Spec spec =
            Spec("u_F", "1", "arithmetic that the model needs over what the chips could do in the time", "R1.11");
        template <class T> static constexpr T formula(
            in<flops_per_token, T> f,
            in<pass_tokens, T> tokens,
            in<chips_per_stage, T> G_P,
            in<peak_flops, T> F,
            in<pass_time, T> t)
        { return tokens * (f / (G_P * F)) / t; }
    };
    struct hbm_used
    {
        static constexpr Spec spec =
            Spec("h_u", "byte/chip", "weights and the caches of all batches in flight, on one chip", "R3.6");
        template <class T> static constexpr T formula(
            in<model_bytes, T> W,
            in<kv_bytes, T> K,
            in<microbatches, T> n,
            in<chips, T> G)
        { return (W + n * K) / G; }
    };
    struct kv_room
    {
        static constexpr Spec spec = Spec("H - w N_t", "byte", "memory that the weights leave to caches", "R3.6");
        template <class T> static constexpr T formula(in<cell_capacity, T> H, in<model_bytes, T> W)
        { return max(H - W, 0.0); }
    };

    // --- balances ---

    struct weight_balance
    {
        static constexpr Spec spec =
            Spec("A", "token", "tokens that hide the fetch of one weight: the lecture's 300", "R1.7");
        template <class T> static constexpr T formula(
            in<ridge_point, T> r,
            in<weight_bytes, T> w,
            in<flops_per_parameter_token, T> two)
        { return r * w / two; }
    };
    struct balance_batch
    {
        static constexpr Spec spec =
            Spec("B_0", "sequence", "batch at which compute takes as long as the fetch of the weights", "R1.7");
        template <class T> static constexpr T formula(in<weight_balance, T> A, in<sparsity, T> s, in<pass_length, T> l)
        { return A * s / l; }
    };
    struct hidden_kv_bytes
    {
        static constexpr Spec spec =
            Spec("Y", "byte/sequence", "cache that is fetched in the time of a sequence's arithmetic", "Q4");
        template <class T> static constexpr T formula(
            in<flops_per_token, T> f,
            in<pass_length, T> l,
            in<ridge_point, T> r)
        { return f * l / r; }
    };
    struct balance_context
    {
        static constexpr Spec spec =
            Spec(
                "L_0",
                "token/sequence",
                "context beyond which fetching a sequence's cache takes longer than its arithmetic; inf: never",
                "R1.10")
                .positive(infinite);
        template <class T> static constexpr T formula(
            in<hidden_kv_bytes, T> Y,
            in<kv_bytes_per_token, T> q,
            in<kv_read_factor, T> k,
            in<windowed_kv_share, T> share,
            in<attention_window, T> w,
            in<selected_tokens, T> K,
            in<index_bytes_per_token, T> q_i,
            in<fixed_cache_bytes, T> S_0)
        {
            return select(
                reads_all_alike<T>(share, K, q_i, S_0),
                context_reaching<T>(Y, q * k),
                context_reading<T>(Y, q, k, share, w, K, q_i, S_0));
        }
    };
    // The context at which fetching a sequence's cache takes so many times its arithmetic.
    template <class T> constexpr T context_at_ratio(
        const T& ratio,
        in<balance_context, T> L_0,
        in<hidden_kv_bytes, T> Y,
        in<kv_bytes_per_token, T> q,
        in<kv_read_factor, T> k,
        in<windowed_kv_share, T> share,
        in<attention_window, T> w,
        in<selected_tokens, T> K,
        in<index_bytes_per_token, T> q_i,
        in<fixed_cache_bytes, T> S_0)
    {
        return select(
            reads_all_alike<T>(share, K, q_i, S_0),
            L_0 * ratio,
            context_reading<T>(Y * ratio, q, k, share, w, K, q_i, S_0));
    }
    struct kv_compute_ratio
    {
        static constexpr Spec spec = Spec(
            "t_{kv}/t_\\mathrm{comp}",
            "1",
            "time to fetch a sequence's cache over the time of its arithmetic",
            "R6.1");
        template <class T> static constexpr T formula(
            in<windowed_kv_share, T> share,
            in<selected_tokens, T> K,
            in<index_bytes_per_token, T> q_i,
            in<fixed_cache_bytes, T> S_0,
            in<context_length, T> L,
            in<balance_context, T> L_0,
            in<kv_read_bytes, T> r,
            in<hidden_kv_bytes, T> Y)
        { return select(reads_all_alike<T>(share, K, q_i, S_0), L / L_0, r / Y); }
    };
    struct balance_batch_at_context
    {
        static constexpr Spec spec = Spec(
            "B^*",
            "sequence",
            "batch at which compute takes as long as the fetch of weights and cache; inf: never",
            "R1.9");
        template <class T> static constexpr T formula(in<balance_batch, T> B_0, in<kv_compute_ratio, T> r)
        { return select(r < 1.0, B_0 / (1.0 - r), T(infinite)); }
    };
    struct kv_overtaking_context
    {
        static constexpr Spec spec = Spec(
            "L_w",
            "token/sequence",
            "context from which on a pass fetches more cache than weights; inf: never",
            "R1.10");
        template <class T> static constexpr T formula(
            in<fetched_parameters, T> N_f,
            in<weight_bytes, T> w,
            in<batch_size, T> B,
            in<kv_bytes_per_token, T> q,
            in<kv_read_factor, T> k,
            in<windowed_kv_share, T> share,
            in<attention_window, T> window,
            in<selected_tokens, T> K,
            in<index_bytes_per_token, T> q_i,
            in<fixed_cache_bytes, T> S_0)
        {
            return select(
                reads_all_alike<T>(share, K, q_i, S_0),
                N_f * (w / (B * q * k)),
                context_reading<T>(N_f * (w / B), q, k, share, window, K, q_i, S_0));
        }
    };
    struct large_batch_utilization
    {
        static constexpr Spec spec = Spec(
            "u_\\infty",
            "1",
            "share of the pass in which the arithmetic is busy when the batch is large",
            "R1.11");
        template <class T> static constexpr T formula(
            in<windowed_kv_share, T> share,
            in<selected_tokens, T> K,
            in<index_bytes_per_token, T> q_i,
            in<fixed_cache_bytes, T> S_0,
            in<context_length, T> L,
            in<balance_context, T> L_0,
            in<kv_compute_ratio, T> r)
        { return min(select(reads_all_alike<T>(share, K, q_i, S_0), L_0 / L, 1.0 / r), 1.0); }
    };
    struct practical_margin
    {
        static constexpr Spec spec =
            Spec("\\mu", "1", "batch that is run over the balance batch; in practice 2 to 3", "R1.7").positive();
    };
    struct practical_batch
    {
        static constexpr Spec spec = Spec("\\mu B_0", "sequence", "batch that is run in practice", "R1.7");
        template <class T> static constexpr T formula(in<practical_margin, T> m, in<balance_batch, T> B_0)
        { return m * B_0; }
    };

    using serving = list<
        batch_size,
        pass_length,
        clients,
        overlap,
        expert_reads,
        pass_tokens,
        flops_per_token,
        compute_time,
        expert_coverage,
        touched_parameters,
        fetched_parameters,
        weight_fetch_time,
        kv_bytes,
        kv_fetch_time,
        memory_time,
        pass_time,
        binding_term,
        latency_floor,
        compute_utilization,
        model_flops_utilization,
        hbm_used,
        kv_room,
        weight_balance,
        balance_batch,
        hidden_kv_bytes,
        balance_context,
        kv_compute_ratio,
        balance_batch_at_context,
        kv_overtaking_context,
        large_batch_utilization,
        practical_margin,
        practical_batch>;
}
