// Sequences: how many ask, how many memory holds, how many a pass advances.
#pragma once
#include "roofslate/quantities/offloading.hpp"
#include "roofslate/quantities/speculation.hpp"

namespace roofslate::quantities
{
    // --- memory: how many sequences find room ---

    struct kv_cache_memory_share
    {
        static constexpr Spec spec =
            Spec("\\eta_h", "1", "share of the memory left by the weights that caches may fill", "Q12")
                .positive(1)
                .by_default(1);
    };
    struct kv_cache_capacity
    {
        static constexpr Spec spec = Spec("H - w N_t", "byte", "memory that the weights leave to caches", "R3.6");
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
            Spec("C_h", "byte", "HBM of a replica kept for prefixes, not for running sequences", "definition")
                .range(0)
                .by_default(0);
    };
    // What caches of their own may take of the memory, each stored so many times.
    template <class T> constexpr auto room_for_caches(
        in<kv_cache_memory_share, T> eta,
        in<kv_cache_capacity, T> room,
        in<kv_cache_copies, T> copies)
    { return (eta / copies) * room; }
    struct memory_limited_sequences
    {
        static constexpr Spec spec =
            Spec("B_G", "sequence", "sequences whose caches find room in all chips beside the weights", "R6.13");
        template <class T> static constexpr T formula(
            in<kv_cache_memory_share, T> eta,
            in<kv_cache_capacity, T> room,
            in<kv_cache_copies, T> copies,
            in<hbm_prefix_cache, T> C_h,
            in<resident_kv_bytes, T> S)
        {
            const T all = room_for_caches<T>(eta, room, copies);
            return select(C_h == T(0.0), all, max(all - C_h, 0.0)) / S;
        }
    };

    // --- batch and clients: one of the two is given ---

    struct batch_size;
    struct concurrency;
    struct pass_tokens;
    struct arrival_rate;
    struct session_rate;
    struct admission
    {
        static constexpr Spec spec =
            Spec(
                "\\alpha_m",
                "1",
                "clients that are answered at a time: as many as memory holds, or all of them; all where batch_size or "
                "pass_tokens is given, which is taken at its word",
                "R6.13")
                .one_of("by_memory", "all")
                .by_default(0)
                .implied_by_any<batch_size, pass_tokens>(1);
    };
    struct loaded_running_sequences;
    struct running_sequences
    {
        static constexpr Spec spec =
            Spec(
                "B_r",
                "sequence",
                "sequences that are being answered: all clients, or as many as memory holds; 0 where it holds not even "
                "one",
                "R6.13")
                .replaced_by_where<loaded_running_sequences, arrival_rate, session_rate>()
                .unless_given<batch_size, pass_tokens>();
        template <class T> static constexpr T formula(
            in<admission, T> which,
            in<concurrency, T> n_c,
            in<memory_limited_sequences, T> most)
        {
            const T room = select(count(most) < T(1.0), T(0.0), most); // clients of whom none fits still are clients
            return choose(which, min(n_c, room), n_c);
        }
    };
    struct admitted_batch
    {
        static constexpr Spec spec =
            Spec("B_a", "sequence", "sequences that are being answered over the batches in flight", "R3.2");
        template <class T> static constexpr T formula(in<running_sequences, T> B_r, in<microbatches, T> n)
        { return B_r / n; }
    };
    struct batch_size
    {
        static constexpr Spec spec =
            Spec("B", "sequence", "sequences that get new tokens in one pass of the cell", "R1.1")
                .positive()
                .otherwise<admitted_batch>();
    };
    struct sequences_in_flight
    {
        static constexpr Spec spec = Spec("n_\\mu B", "sequence", "sequences of all batches in flight", "R3.2");
        template <class T> static constexpr T formula(in<microbatches, T> n, in<batch_size, T> B) { return n * B; }
    };
    struct concurrency
    {
        static constexpr Spec spec =
            Spec(
                "n_c",
                "sequence",
                "requests that are in the deployment at any time: who has an answer asks again",
                "R1.1")
                .positive()
                .otherwise<sequences_in_flight>();
    };
    struct pass_tokens
    {
        static constexpr Spec spec = Spec("B\\ell", "token", "new tokens of one pass", "R6.5");
        template <class T> static constexpr T formula(in<batch_size, T> B, in<pass_length, T> l) { return B * l; }
    };

    // --- what memory holds ---

    struct kv_bytes
    {
        static constexpr Spec spec =
            Spec("B \\kappa_c S", "byte", "memory that the caches of the batch take, copies counted", "R1.3");
        template <class T> static constexpr T formula(
            in<batch_size, T> B,
            in<resident_kv_bytes, T> S,
            in<kv_cache_copies, T> copies)
        { return B * S * copies; }
    };
    struct hbm_used
    {
        static constexpr Spec spec =
            Spec("h_u", "byte/chip", "weights and the caches of all batches in flight, on one chip", "R3.6");
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
            Spec(
                "\\phi_B",
                "1",
                "whether weights and caches find room: a sequence at least, and a batch that is given",
                "R3.6")
                .one_of("no", "yes");
        template <class T> static constexpr T formula(
            in<admission, T> which,
            in<running_sequences, T> B_r,
            in<memory_limited_sequences, T> most,
            in<hbm_used, T> used,
            in<hbm_capacity, T> h)
        {
            const T all = select(used <= h && count(most) >= T(1.0), T(1.0), T(0.0));
            return choose(which, select(B_r > T(0.0), T(1.0), T(0.0)), all);
        }
    };

    // --- the least that a deployment must hold ---

    struct min_group_batch
    {
        static constexpr Spec spec =
            Spec("B_1", "sequence", "sequences of a batch that a group of chips has at least", "definition")
                .positive()
                .by_default(1);
    };
    struct min_concurrency
    {
        static constexpr Spec spec =
            Spec("n_1", "sequence", "clients with which no group of chips is idle in any batch in flight", "R3.2");
        template <class T> static constexpr T formula(
            in<attention_data_parallel, T> G_d,
            in<microbatches, T> n,
            in<min_group_batch, T> B_1)
        { return G_d * n * B_1; }
    };
    struct min_deployed_bytes
    {
        static constexpr Spec spec = Spec(
            "W_1",
            "byte",
            "memory of all chips that the weights and the caches of the least clients ask for, each as large as the "
            "fullest needs it",
            "R3.6");
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
