// Chapter 6: long contexts. What attention multiplies, what its sparse kinds read, and what techniques leave of the
// cache.
#pragma once
#include "roofslate/quantities/economics.hpp"

namespace roofslate::quantities
{
    // --- arithmetic: each new token meets each token of its context ---

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
        static constexpr Spec spec = Spec(
            "L_a",
            "token/sequence",
            "context at which attention multiplies as much as the weights; inf: never",
            "R6.11");
        template <class T> static constexpr T formula(
            in<flops_per_token, T> f,
            in<attention_flops_per_context_token, T> f_L)
        { return f / f_L; }
    };
    struct attention_to_weight_flops
    {
        static constexpr Spec spec = Spec("L/L_a", "1", "arithmetic of attention over that of the weights", "R6.11");
        template <class T> static constexpr T formula(in<context_length, T> L, in<attention_balance_context, T> L_a)
        { return L / L_a; }
    };
    struct balance_context_per_width
    {
        static constexpr Spec spec =
            Spec(
                "8",
                "token/sequence",
                "context at which attention multiplies as much as 16 d^2 weights a layer, for each element of the "
                "residual stream",
                "scaling book, chapter 4")
                .positive()
                .by_default(8);
    };
    struct attention_balance_context_from_width
    {
        static constexpr Spec spec = Spec(
            "8 d",
            "token/sequence",
            "context at which attention multiplies as much as the weights of a dense model with 16 d^2 of them in a "
            "layer",
            "R6.11");
        template <class T> static constexpr T formula(in<balance_context_per_width, T> eight, in<hidden_size, T> d)
        { return eight * d; }
    };
    struct attention_time
    {
        static constexpr Spec spec = Spec("t_a", "s", "time of the arithmetic of attention", "R6.11");
        template <class T> static constexpr T formula(
            in<pass_tokens, T> tokens,
            in<attention_flops_per_token, T> f_a,
            in<stage_flops, T> C)
        { return tokens * (f_a / C); }
    };
    struct attention_intensity
    {
        static constexpr Spec spec =
            Spec("i_a", "FLOP/byte", "arithmetic of attention for each byte of the cache", "R6.11");
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
            Spec("i_a/(F/m)", "1", "time of the arithmetic of attention over the time to fetch the cache", "R6.11");
        template <class T> static constexpr T formula(in<attention_intensity, T> i, in<ridge_point, T> r)
        { return i / r; }
    };

    // --- sparse attention in two levels: a summary of every block is read, then the blocks that it selects ---

    struct selected_blocks
    { static constexpr Spec spec = Spec("n_b", "1", "blocks that a new token reads in full", "R6.14").positive(); };
    struct summary_length
    {
        static constexpr Spec spec =
            Spec("\\sigma", "token/sequence", "entries that summarize a block", "R6.14").positive().by_default(1);
    };
    struct best_block_length
    {
        static constexpr Spec spec =
            Spec("m^*", "token/sequence", "block at which summaries and selected blocks together are least", "R6.14");
        template <class T> static constexpr T formula(
            in<context_length, T> L,
            in<summary_length, T> s,
            in<selected_blocks, T> n)
        { return max(sqrt(L * (s / n)), s); }
    };
    struct block_length
    {
        static constexpr Spec spec =
            Spec("m_b", "token/sequence", "tokens of a block", "R6.14").positive().otherwise<best_block_length>();
    };
    struct block_attended_tokens
    {
        static constexpr Spec spec = Spec(
            "L_b",
            "token/sequence",
            "entries that a new token reads: the summaries and the blocks that it selects",
            "R6.14");
        template <class T> static constexpr T formula(
            in<context_length, T> L,
            in<block_length, T> m,
            in<summary_length, T> s,
            in<selected_blocks, T> n)
        { return min(L * (s / m) + n * m, L); }
    };

    struct memory_limited_batch
    {
        static constexpr Spec spec =
            Spec("B_H", "sequence", "sequences of each batch in flight whose caches fit beside the weights", "R6.13");
        template <class T> static constexpr T formula(
            in<kv_cache_capacity, T> room,
            in<microbatches, T> n,
            in<resident_kv_bytes, T> S)
        { return room / (n * S); }
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
