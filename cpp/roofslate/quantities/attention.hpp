// Chapter 6: long contexts. FLOPs of attention, reads of its sparse kinds, and the batch that memory limits.
#pragma once
#include "roofslate/quantities/economics.hpp"

namespace roofslate::quantities
{
    // --- compute: each new token meets each token of its context ---

    // Causal mean of attended tokens in a sequence of length L, at most m each.
    template <class T> constexpr T causal_mean(const T& L, const T& m) { return m * (1.0 - m / L / 2.0); }
    // Attention of a token, so many times its forward pass.
    template <class T> constexpr T attention_of_sequence(
        const T& passes,
        in<flops_per_head_element, T> two_a,
        in<attention_heads, T> n_h,
        in<head_size, T> d_h,
        in<latent_rotary_size, T> d_r,
        const T& unwindowed,
        in<windowed_attention_layers, T> n_w,
        const T& windowed)
    { return passes * (two_a * (n_h * (2.0 * d_h - d_r))) * (unwindowed + n_w * windowed); }
    struct attention_balance_context
    {
        static constexpr Spec spec =
            Spec("L_a", "token/sequence", "context length at which attention FLOPs equal weight FLOPs", "R6.11");
        template <class T> static constexpr T formula(
            in<flops_per_token, T> f,
            in<attention_flops_per_context_token, T> f_L)
        { return f / f_L; }
    };
    struct attention_to_weight_flops
    {
        static constexpr Spec spec =
            Spec("L/L_a", "1", "ratio of attention FLOPs to weight FLOPs per new token", "R6.11");
        template <class T> static constexpr T formula(in<context_length, T> L, in<attention_balance_context, T> L_a)
        { return L / L_a; }
    };
    struct balance_context_per_width
    {
        static constexpr Spec spec =
            Spec(
                "8",
                "token/sequence",
                "attention balance context per hidden unit, dense model",
                "scaling book, chapter 4")
                .positive()
                .by_default(8);
    };
    struct attention_balance_context_from_width
    {
        static constexpr Spec spec =
            Spec("8 d", "token/sequence", "attention balance context from hidden size, dense model", "R6.11");
        template <class T> static constexpr T formula(in<balance_context_per_width, T> eight, in<hidden_size, T> d)
        { return eight * d; }
    };
    struct attention_time
    {
        static constexpr Spec spec = Spec("t_a", "s", "attention compute time of a pass", "R6.11");
        template <class T> static constexpr T formula(
            in<pass_tokens, T> tokens,
            in<attention_flops_per_token, T> f_a,
            in<stage_flops, T> C)
        { return tokens * (f_a / C); }
    };
    struct attention_intensity
    {
        static constexpr Spec spec =
            Spec("i_a", "FLOP/byte", "arithmetic intensity of attention, KV-cache reads", "R6.11");
        template <class T> static constexpr T formula(
            in<attention_flops_per_context_token, T> f_L,
            in<pass_length, T> l,
            in<kv_bytes_per_token, T> q,
            in<kv_read_factor, T> k,
            in<windowed_kv_share, T> share)
        { return f_L * l / (q * k * (1.0 - share)); }
    };
    struct attention_compute_to_fetch
    {
        static constexpr Spec spec =
            Spec("i_a/(F/m)", "1", "ratio of attention compute time to KV-cache read time", "R6.11");
        template <class T> static constexpr T formula(in<attention_intensity, T> i, in<ridge_point, T> r)
        { return i / r; }
    };

    // --- sparse attention in two levels: a summary of every block is read, then the blocks that it selects ---

    struct selected_blocks
    {
        static constexpr Spec spec =
            Spec("n_b", "1", "selected blocks per new token, block-sparse attention", "R6.14").positive();
    };
    struct summary_length
    {
        static constexpr Spec spec =
            Spec("\\sigma", "token/sequence", "summary entries per block, block-sparse attention", "R6.14")
                .positive()
                .by_default(1);
    };
    struct best_block_length
    {
        static constexpr Spec spec =
            Spec("m^*", "token/sequence", "block length minimizing entries read, block-sparse attention", "R6.14");
        template <class T> static constexpr T formula(
            in<context_length, T> L,
            in<summary_length, T> s,
            in<selected_blocks, T> n)
        { return max(sqrt(L * (s / n)), s); }
    };
    struct block_length
    {
        static constexpr Spec spec =
            Spec("m_b", "token/sequence", "tokens per block, block-sparse attention", "R6.14")
                .positive()
                .otherwise<best_block_length>();
    };
    struct block_attended_tokens
    {
        static constexpr Spec spec =
            Spec("L_b", "token/sequence", "entries read per new token, block-sparse attention", "R6.14");
        template <class T> static constexpr T formula(
            in<context_length, T> L,
            in<block_length, T> m,
            in<summary_length, T> s,
            in<selected_blocks, T> n)
        { return min(L * (s / m) + n * m, L); }
    };

    struct memory_limited_batch
    {
        static constexpr Spec spec = Spec("B_H", "sequence", "memory-limited batch size, per batch in flight", "R6.13");
        template <class T> static constexpr T formula(
            in<kv_cache_capacity, T> capacity,
            in<microbatches, T> n,
            in<resident_kv_bytes, T> S)
        { return capacity / (n * S); }
    };

    using attention = list<
        attention_balance_context,
        attention_to_weight_flops,
        balance_context_per_width,
        attention_balance_context_from_width,
        attention_time,
        attention_intensity,
        attention_compute_to_fetch,
        selected_blocks,
        summary_length,
        best_block_length,
        block_length,
        block_attended_tokens,
        memory_limited_batch>;
}
