// Chapter 6: long contexts. What attention multiplies, what its sparse kinds read, and what techniques leave of the
// cache.
#pragma once
#include "roofslate/quantities/economics.hpp"

namespace roofslate::quantities
{
    // --- arithmetic: each new token meets each token of its context ---

    struct global_attention_layers
    {
        static constexpr Spec spec =
            Spec("n_g", "1", "layers in which a new token attends to the whole context", "R6.11")
                .range(0)
                .at_most<layers>()
                .otherwise<layers>();
    };
    struct latent_rotary_size
    {
        static constexpr Spec spec =
            Spec("d_r", "1", "elements of the latent vector that enter the score but not the value", "R6.11")
                .range(0)
                .at_most<kv_latent_size>()
                .by_default(0);
    };
    struct head_elements
    {
        static constexpr Spec spec = Spec(
            "e_h",
            "1",
            "elements that a query head of a decoded token multiplies for each token of its context, score and value "
            "together",
            "R6.11");
        template <class T> static constexpr T formula(
            in<kv_latent_size, T> d_c,
            in<latent_rotary_size, T> d_r,
            in<head_size, T> d_h)
        { return select(d_c > T(0.0), 2.0 * d_c - d_r, 2.0 * d_h); }
    };
    struct flops_per_head_element
    {
        static constexpr Spec spec =
            Spec(
                "2",
                "FLOP*sequence/token/token",
                "a multiply and an add for each element of a head, new token and token of its context",
                "R6.11")
                .positive()
                .by_default(2);
    };
    struct attention_flops_per_context_token
    {
        static constexpr Spec spec = Spec(
            "f_L",
            "FLOP*sequence/token/token",
            "arithmetic of attention that a new token spends on each token of its context",
            "R6.11");
        template <class T> static constexpr T formula(
            in<flops_per_head_element, T> two,
            in<global_attention_layers, T> n_g,
            in<attention_heads, T> n_h,
            in<head_elements, T> e_h)
        { return two * (n_g * n_h * e_h); }
    };
    struct attention_flops_per_token
    {
        static constexpr Spec spec = Spec("f_L L", "FLOP/token", "arithmetic of attention of a new token", "R6.11");
        template <class T> static constexpr T formula(
            in<attention_flops_per_context_token, T> f_L,
            in<context_length, T> L)
        { return f_L * L; }
    };
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
            in<cell_flops, T> C)
        { return tokens * (f_a / C); }
    };
    struct compute_time_with_attention
    {
        static constexpr Spec spec =
            Spec("t_\\mathrm{comp} + t_a", "s", "time of all arithmetic, that of attention included", "R6.11");
        template <class T> static constexpr T formula(in<compute_time, T> t_c, in<attention_time, T> t_a)
        { return t_c + t_a; }
    };
    struct attention_intensity
    {
        static constexpr Spec spec =
            Spec("i_a", "FLOP/byte", "arithmetic of attention for each byte of the cache", "R6.11");
        template <class T> static constexpr T formula(
            in<attention_flops_per_context_token, T> f_L,
            in<pass_length, T> l,
            in<kv_bytes_per_token, T> q)
        { return f_L * l / q; }
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

    // --- techniques: what is read of the cache, and what is stored; without them both are q L ---

    struct kv_compression
    {
        static constexpr Spec spec =
            Spec("\\kappa_b", "1", "bytes of a cached element, scales included, over those of its format", "Q4")
                .positive()
                .by_default(1);
    };
    struct kept_token_share
    {
        static constexpr Spec spec =
            Spec("\\kappa_t", "1", "share of the tokens that are not evicted", "Q4").positive(1).by_default(1);
    };
    struct kept_head_share
    {
        static constexpr Spec spec =
            Spec("\\kappa_h", "1", "share of the key-value heads that is left when heads share", "Q4")
                .positive(1)
                .by_default(1);
    };
    struct stored_layer_share
    {
        static constexpr Spec spec =
            Spec("\\kappa_n", "1", "share of the layers that store a cache of their own when layers share", "Q4")
                .positive(1)
                .by_default(1);
    };
    struct shared_layer_reads
    {
        static constexpr Spec spec =
            Spec("\\kappa_r", "1", "how often a cache that layers share is fetched: for each of them, or once", "Q4")
                .one_of("each", "once")
                .by_default(0);
    };
    struct global_layer_share
    {
        static constexpr Spec spec =
            Spec("g", "1", "share of the cache in layers that see more than the window", "Q4")
                .range(0, 1)
                .by_default(1);
    };
    struct attention_window
    {
        static constexpr Spec spec =
            Spec("w_a", "token/sequence", "last tokens that the other layers see", "Q4")
                .range(0, infinite)
                .by_default(infinite);
    };
    struct selected_tokens
    {
        static constexpr Spec spec =
            Spec("K_s", "token/sequence", "tokens that an index selects for a new token; inf: all", "R6.14")
                .positive(infinite)
                .by_default(infinite);
    };
    struct index_bytes_per_token
    {
        static constexpr Spec spec =
            Spec(
                "q_i",
                "byte/token",
                "what the index reads of every token of the context, all layers together",
                "R6.14")
                .range(0)
                .by_default(0);
    };

    struct kv_stored_factor
    {
        static constexpr Spec spec =
            Spec("\\kappa_s", "1", "bytes stored for a token that stays over those of the plain cache", "Q4");
        template <class T> static constexpr T formula(
            in<kv_compression, T> b,
            in<kept_token_share, T> t,
            in<kept_head_share, T> h,
            in<stored_layer_share, T> n)
        { return b * t * (h * n); }
    };
    struct kv_read_factor
    {
        static constexpr Spec spec =
            Spec("\\kappa_q", "1", "bytes read of a token that is attended to over those of the plain cache", "Q4");
        template <class T> static constexpr T formula(
            in<shared_layer_reads, T> r,
            in<kv_compression, T> b,
            in<kept_token_share, T> t,
            in<kept_head_share, T> h,
            in<stored_layer_share, T> n)
        { return b * t * (h * choose(r, T(1.0), n)); }
    };
    struct windowed_tokens
    {
        static constexpr Spec spec = Spec(
            "(1-g)\\min(L, w_a)",
            "token/sequence",
            "tokens that layers with a window see, times their share",
            "Q4");
        template <class T> static constexpr T formula(
            in<global_layer_share, T> g,
            in<context_length, T> L,
            in<attention_window, T> w)
        { return (1.0 - g) * min(L, w); }
    };
    struct attended_tokens
    {
        static constexpr Spec spec =
            Spec("L_r", "token/sequence", "tokens whose cache a new token reads, mean of the layers", "Q4");
        template <class T> static constexpr T formula(
            in<global_layer_share, T> g,
            in<context_length, T> L,
            in<selected_tokens, T> K,
            in<windowed_tokens, T> windowed)
        { return g * min(L, K) + windowed; }
    };
    struct kv_read_bytes
    {
        static constexpr Spec spec =
            Spec("r", "byte/sequence", "what a pass reads of a sequence's cache and index", "Q4");
        template <class T> static constexpr T formula(
            in<kv_bytes_per_token, T> q,
            in<kv_read_factor, T> k,
            in<attended_tokens, T> L_r,
            in<index_bytes_per_token, T> q_i,
            in<context_length, T> L)
        { return q * k * L_r + q_i * L; }
    };
    struct kv_stored_bytes
    {
        static constexpr Spec spec = Spec(
            "S",
            "byte/sequence",
            "memory that a sequence's cache and index take: reading less of it does not shrink it",
            "Q4");
        template <class T> static constexpr T formula(
            in<kv_bytes_per_token, T> q,
            in<kv_stored_factor, T> k,
            in<global_layer_share, T> g,
            in<context_length, T> L,
            in<windowed_tokens, T> windowed,
            in<index_bytes_per_token, T> q_i)
        { return q * k * (g * L + windowed) + q_i * L; }
    };
    struct read_kv_bytes_per_token
    {
        static constexpr Spec spec = Spec(
            "q_r",
            "byte/token",
            "what is read, spread over the whole context: to be given as kv_bytes_per_token where time counts",
            "Q4");
        template <class T> static constexpr T formula(in<kv_read_bytes, T> r, in<context_length, T> L) { return r / L; }
    };
    struct stored_kv_bytes_per_token
    {
        static constexpr Spec spec = Spec(
            "q_s",
            "byte/token",
            "what is stored, spread over the whole context: to be given as kv_bytes_per_token where capacity counts",
            "Q4");
        template <class T> static constexpr T formula(in<kv_stored_bytes, T> S, in<context_length, T> L)
        { return S / L; }
    };
    struct kv_read_gain
    {
        static constexpr Spec spec =
            Spec("q L/r", "1", "bytes of the plain cache over the bytes that are read", "R6.14");
        template <class T> static constexpr T formula(in<kv_bytes_per_token, T> q, in<read_kv_bytes_per_token, T> q_r)
        { return q / q_r; }
    };
    struct kv_stored_gain
    {
        static constexpr Spec spec =
            Spec("q L/S", "1", "bytes of the plain cache over the bytes that are stored", "Q4");
        template <class T> static constexpr T formula(in<kv_bytes_per_token, T> q, in<stored_kv_bytes_per_token, T> q_s)
        { return q / q_s; }
    };
    struct capacity_batch
    {
        static constexpr Spec spec =
            Spec("B_H", "sequence", "sequences of each batch in flight whose caches fit beside the weights", "R6.13");
        template <class T> static constexpr T formula(
            in<kv_room, T> room,
            in<microbatches, T> n,
            in<kv_stored_bytes, T> S)
        { return room / (n * S); }
    };

    // --- what the techniques change: the chapter's balances, with r in the place of q L ---

    // Where a line of this slope reaches a value.
    template <class T> constexpr T context_reaching(const T& value, const T& slope)
    { return select(slope > T(0.0), value / slope, select(value > T(0.0), T(infinite), T(0.0))); }
    struct reduced_balance_context
    {
        // What is read grows with the context, slower after the window and after the selection: the least of four
        // lines, so that the context that reads Y is the largest of theirs.
        static constexpr Spec spec = Spec(
            "L_{0r}",
            "token/sequence",
            "context beyond which fetching what is read takes longer than the arithmetic; inf: never",
            "Q4");
        template <class T> static constexpr T formula(
            in<hidden_kv_bytes, T> Y,
            in<kv_bytes_per_token, T> q,
            in<kv_read_factor, T> k,
            in<global_layer_share, T> g,
            in<attention_window, T> w,
            in<selected_tokens, T> K,
            in<index_bytes_per_token, T> q_i)
        {
            const T windowed = q * k * (1.0 - g), selected = q * k * g;
            const T window = select(windowed > T(0.0), windowed * w, T(0.0)),
                    selection = select(selected > T(0.0), selected * K, T(0.0));
            const T before =
                max(context_reaching<T>(Y, windowed + selected + q_i), context_reaching<T>(Y - window, selected + q_i));
            return max(
                before,
                max(context_reaching<T>(Y - selection, windowed + q_i),
                    context_reaching<T>(Y - window - selection, q_i)));
        }
    };
    struct reduced_balance_batch
    {
        static constexpr Spec spec = Spec(
            "B^*_r",
            "sequence",
            "batch at which compute takes as long as the fetch of the weights and of what is read; inf: never",
            "Q4");
        template <class T> static constexpr T formula(
            in<kv_read_bytes, T> r,
            in<hidden_kv_bytes, T> Y,
            in<balance_batch, T> B_0)
        { return select(r < Y, B_0 / (1.0 - r / Y), T(infinite)); }
    };
    struct reduced_kv_fetch_time
    {
        static constexpr Spec spec = Spec("t_r", "s", "time to fetch what is read of the caches", "Q4");
        template <class T> static constexpr T formula(
            in<batch_size, T> B,
            in<kv_read_bytes, T> r,
            in<cell_bandwidth, T> M)
        { return B * (r / M); }
    };
    struct reduced_pass_time
    {
        static constexpr Spec spec =
            Spec("t_\\kappa", "s", "least time of a pass that reads what the technique asks for", "Q4");
        template <class T> static constexpr T formula(
            in<overlap, T> o,
            in<compute_time, T> t_c,
            in<weight_fetch_time, T> t_w,
            in<reduced_kv_fetch_time, T> t_r)
        { return pass_time::formula<T>(o, t_c, t_w, as<kv_fetch_time>(t_r), as<memory_time>(t_w + t_r)); }
    };
    struct reduced_cost_per_token
    {
        static constexpr Spec spec = Spec("c_\\kappa", "USD/token", "cost of a token with the technique", "Q4");
        template <class T> static constexpr T formula(
            in<reduced_pass_time, T> t,
            in<cell_price, T> p,
            in<round_passes, T> r,
            in<round_tokens, T> tokens)
        { return cost_per_token::formula<T>(as<pass_time>(t), p, r, tokens); }
    };

    using attention = list<
        global_attention_layers,
        latent_rotary_size,
        head_elements,
        flops_per_head_element,
        attention_flops_per_context_token,
        attention_flops_per_token,
        attention_balance_context,
        attention_to_weight_flops,
        balance_context_per_width,
        attention_balance_context_from_width,
        attention_time,
        compute_time_with_attention,
        attention_intensity,
        attention_compute_to_fetch,
        selected_blocks,
        summary_length,
        best_block_length,
        block_length,
        block_attended_tokens,
        kv_compression,
        kept_token_share,
        kept_head_share,
        stored_layer_share,
        shared_layer_reads,
        global_layer_share,
        attention_window,
        selected_tokens,
        index_bytes_per_token,
        kv_stored_factor,
        kv_read_factor,
        windowed_tokens,
        attended_tokens,
        kv_read_bytes,
        kv_stored_bytes,
        read_kv_bytes_per_token,
        stored_kv_bytes_per_token,
        kv_read_gain,
        kv_stored_gain,
        capacity_batch,
        reduced_balance_context,
        reduced_balance_batch,
        reduced_kv_fetch_time,
        reduced_pass_time,
        reduced_cost_per_token>;
}
