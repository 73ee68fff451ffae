// Sequences: concurrent ones, the number that fits in memory, and the batch of a pass.
#pragma once
#include "roofslate/quantities/offloading.hpp"
#include "roofslate/quantities/speculation.hpp"

namespace roofslate::quantities
{
    // --- memory: the number of sequences that fit ---

    struct kv_cache_memory_share
    {
        static constexpr Spec spec =
            Spec("\\eta_h", "1", "KV-cache memory fraction of the HBM left by the weights", "Q12")
                .positive(1)
                .by_default(1);
    };
    struct kv_cache_capacity
    {
        static constexpr Spec spec =
            Spec("H - w N_t", "byte", "KV-cache capacity of a replica, HBM left by the weights", "R3.6");
        template <class T> static constexpr T formula(
            in<replica_hbm_capacity, T> H,
            in<layout, T> l,
            in<stage_balance, T> b_P,
            in<resident_weight_bytes, T> W)
        { return max(H * layer_balance<T>(l, b_P) - W, 0.0); }
    };
    struct hbm_prefix_cache
    {
        static constexpr Spec spec =
            Spec("C_h", "byte", "HBM reserved for the prefix cache, per replica", "definition").range(0).by_default(0);
    };
    // Memory for the KV caches of running sequences, divided by the copies of each.
    template <class T> constexpr auto room_for_caches(
        in<kv_cache_memory_share, T> eta,
        in<kv_cache_capacity, T> capacity,
        in<kv_cache_copies, T> copies)
    { return (eta / copies) * capacity; }
    struct memory_limited_sequences
    {
        static constexpr Spec spec =
            Spec("B_G", "sequence", "memory-limited sequences, all batches in flight", "R6.13");
        template <class T> static constexpr T formula(
            in<kv_cache_memory_share, T> eta,
            in<kv_cache_capacity, T> capacity,
            in<kv_cache_copies, T> copies,
            in<hbm_prefix_cache, T> C_h,
            in<resident_kv_bytes, T> S)
        {
            const T all = room_for_caches<T>(eta, capacity, copies);
            return select(C_h == T(0.0), all, max(all - C_h, 0.0)) / S;
        }
    };

    // --- batch size and concurrency: one of the two is given ---

    struct batch_size;
    struct concurrency;
    struct pass_tokens;
    struct arrival_rate;
    struct session_rate;
    struct admission
    {
        static constexpr Spec spec =
            Spec("\\alpha_m", "1", "admission of concurrent requests (by memory, all)", "R6.13")
                .one_of("by_memory", "all")
                .by_default(0)
                .implied_by_any<batch_size, pass_tokens>(1);
    };
    struct loaded_running_sequences;
    struct running_sequences
    {
        static constexpr Spec spec =
            Spec("B_r", "sequence", "running sequences, all batches in flight", "R6.13")
                .replaced_by_where<loaded_running_sequences, arrival_rate, session_rate>()
                .unless_given<batch_size, pass_tokens>();
        template <class T> static constexpr T formula(
            in<admission, T> which,
            in<concurrency, T> n_c,
            in<memory_limited_sequences, T> most)
        {
            const T limit = select(count(most) < T(1.0), T(0.0), most); // 0 if not even one fits
            return choose(which, min(n_c, limit), n_c);
        }
    };
    struct admitted_batch
    {
        static constexpr Spec spec = Spec("B_a", "sequence", "running sequences per batch in flight", "R3.2");
        template <class T> static constexpr T formula(in<running_sequences, T> B_r, in<microbatches, T> n)
        { return B_r / n; }
    };
    struct batch_size
    {
        static constexpr Spec spec =
            Spec("B", "sequence", "batch size, sequences per forward pass", "R1.1")
                .positive()
                .otherwise<admitted_batch>();
    };
    struct sequences_in_flight
    {
        static constexpr Spec spec = Spec("n_\\mu B", "sequence", "batch size times batches in flight", "R3.2");
        template <class T> static constexpr T formula(in<microbatches, T> n, in<batch_size, T> B) { return n * B; }
    };
    struct concurrency
    {
        static constexpr Spec spec =
            Spec("n_c", "sequence", "concurrent requests, closed loop", "R1.1")
                .positive()
                .otherwise<sequences_in_flight>();
    };
    struct pass_tokens
    {
        static constexpr Spec spec = Spec("B\\ell", "token", "new tokens per forward pass", "R6.5");
        template <class T> static constexpr T formula(in<batch_size, T> B, in<pass_length, T> l) { return B * l; }
    };

    // --- memory in use ---

    struct kv_bytes
    {
        static constexpr Spec spec = Spec("B \\kappa_c S", "byte", "KV-cache size of a batch, copies included", "R1.3");
        template <class T> static constexpr T formula(
            in<batch_size, T> B,
            in<resident_kv_bytes, T> S,
            in<kv_cache_copies, T> copies)
        { return B * S * copies; }
    };
    struct hbm_used
    {
        static constexpr Spec spec =
            Spec("h_u", "byte/chip", "HBM used per chip (weights, KV cache, cached prefixes)", "R3.6");
        template <class T> static constexpr T formula(
            in<resident_weight_bytes, T> W,
            in<kv_bytes, T> K,
            in<hbm_prefix_cache, T> C_h,
            in<kv_cache_copies, T> copies,
            in<microbatches, T> n,
            in<chips, T> G,
            in<layout, T> l,
            in<stage_balance, T> b_P)
        { return (W + spend_beside(n * K, C_h, copies)) / (G * layer_balance<T>(l, b_P)); }
    };

    // A batch that follows from the memory fills it to the last bit and fits: the question is whether there is one.
    struct memory_fits
    {
        static constexpr Spec spec =
            Spec("\\phi_B", "1", "memory feasibility, weights and KV cache fit in HBM (no, yes)", "R3.6")
                .one_of("no", "yes");
        template <class T> static constexpr T formula(
            in<admission, T> which,
            in<memory_limited_sequences, T> most,
            in<hbm_used, T> used,
            in<hbm_capacity, T> h)
        {
            const T all = select(used <= h && count(most) >= T(1.0), T(1.0), T(0.0));
            return choose(which, select(count(most) >= T(1.0), T(1.0), T(0.0)), all);
        }
    };

    // --- the least that a deployment must hold ---

    struct min_group_batch
    {
        static constexpr Spec spec =
            Spec("B_1", "sequence", "minimum batch size per attention group", "definition").positive().by_default(1);
    };
    struct min_concurrency
    {
        static constexpr Spec spec = Spec("n_1", "sequence", "minimum concurrency, no attention group idle", "R3.2");
        template <class T> static constexpr T formula(
            in<attention_data_parallel, T> G_d,
            in<microbatches, T> n,
            in<min_group_batch, T> B_1)
        { return G_d * n * B_1; }
    };
    struct min_deployed_bytes
    {
        static constexpr Spec spec =
            Spec("W_1", "byte", "replica HBM needed for weights and KV cache at minimum concurrency", "R3.6");
        template <class T> static constexpr T formula(
            in<resident_weight_bytes, T> W,
            in<kv_cache_copies, T> copies,
            in<resident_kv_bytes, T> S,
            in<min_concurrency, T> n_1,
            in<hbm_prefix_cache, T> C_h,
            in<kv_cache_memory_share, T> eta,
            in<layout, T> l,
            in<stage_balance, T> b_P)
        { return (W + spend_beside(copies * S * n_1, C_h, copies) / eta) / layer_balance<T>(l, b_P); }
    };

    using sequences = list<
        kv_cache_memory_share,
        hbm_prefix_cache,
        memory_limited_sequences,
        admission,
        running_sequences,
        admitted_batch,
        batch_size,
        sequences_in_flight,
        concurrency,
        pass_tokens,
        kv_bytes,
        hbm_used,
        memory_fits,
        kv_cache_capacity,
        min_group_batch,
        min_concurrency,
        min_deployed_bytes>;
}
