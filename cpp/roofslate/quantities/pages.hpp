// Pages of the KV cache as engines reserve them: blocks of tokens, and groups of layers whose pages are equally large.
#pragma once
#include "roofslate/quantities/cache.hpp"

namespace roofslate::quantities
{
    // --- inputs of an engine ---

    struct cache_allocation
    {
        static constexpr Spec spec =
            Spec("\\alpha_p", "1", "KV-cache allocation per sequence (exact, paged)", "PagedAttention")
                .one_of("exact", "paged")
                .by_default(0);
    };
    struct kv_block_size
    {
        static constexpr Spec spec =
            Spec("b_p", "token/sequence", "KV-cache block size, tokens per block", "PagedAttention")
                .range(1)
                .by_default(16);
    };
    struct kv_page_groups
    {
        static constexpr Spec spec =
            Spec("\\gamma_p", "1", "pages of different layer types (equal with padding, separate pools)", "vLLM")
                .one_of("equal", "separate")
                .by_default(0);
    };
    struct prefill_chunk;
    struct in_flight_tokens
    {
        static constexpr Spec spec =
            Spec("L_f", "token/sequence", "tokens reserved ahead in sliding-window layers", "vLLM")
                .range(0, infinite)
                .otherwise<prefill_chunk>();
    };

    // --- layers by kind ---

    struct recurrent_layers
    {
        static constexpr Spec spec =
            Spec("n_s", "1", "layers with a recurrent state", "vLLM").range(0).at_most<layers>().by_default(0);
    };
    struct kv_layers
    {
        static constexpr Spec spec = Spec("n_q", "1", "layers with a KV cache", "vLLM").positive().at_most<layers>();
        template <class T> static constexpr T formula(in<layers, T> n, in<recurrent_layers, T> n_s) { return n - n_s; }
    };
    struct layer_state_bytes
    {
        static constexpr Spec spec = Spec("s_l", "byte/sequence", "recurrent state per layer", "vLLM").range(0);
        template <class T> static constexpr T formula(in<recurrent_layers, T> n_s, in<recurrent_state_bytes, T> S_0)
        { return select(n_s == T(0.0), T(0.0), S_0 / n_s); }
    };
    struct global_attention_layers;
    struct windowed_kv_layers
    {
        static constexpr Spec spec = Spec("n_{qw}", "1", "sliding-window layers with a KV cache", "vLLM").range(0);
        template <class T> static constexpr T formula(
            in<windowed_kv_share, T> share,
            in<kv_layers, T> n_q,
            in<global_attention_layers, T> n_g)
        { return select(share == T(0.0), T(0.0), max(n_q - n_g, 0.0)); }
    };

    // --- groups: the layers of one page ---

    // Whether pages are padded: layers of several kinds share one pool.
    template <class T> constexpr auto shares_pages(
        in<kv_page_groups, T> groups,
        in<windowed_kv_share, T> share,
        in<recurrent_layers, T> n_s)
    { return is<kv_page_groups>(groups, "equal") && (share > T(0.0) || n_s > T(0.0)); }
    // A kind without layers does not count.
    template <class T> constexpr T fewest_layers(const T& one, const T& other)
    { return select(other > T(0.0), min(one, other), one); }
    // Layers that groups have room for, relative to the layers of a kind.
    template <class T> constexpr T padding_of(const T& layers_of_kind, const T& layers_of_group)
    {
        return select(
            layers_of_kind > T(0.0),
            ceil(layers_of_kind / layers_of_group) * layers_of_group / layers_of_kind,
            T(1.0));
    }
    struct layers_per_page
    {
        static constexpr Spec spec = Spec("n_p", "1", "layers per page, fewest of any layer type", "vLLM").positive();
        template <class T> static constexpr T formula(
            in<kv_layers, T> n_q,
            in<windowed_kv_layers, T> n_w,
            in<recurrent_layers, T> n_s)
        {
            const T global = n_q - n_w;
            const T attention = select(global > T(0.0), fewest_layers<T>(global, n_w), n_w);
            return fewest_layers<T>(attention, n_s);
        }
    };
    struct global_page_padding
    {
        static constexpr Spec spec =
            Spec("\\pi_g", "1", "ratio of reserved to used pages, global-attention layers", "vLLM").range(1);
        template <class T> static constexpr T formula(
            in<kv_page_groups, T> groups,
            in<windowed_kv_share, T> share,
            in<recurrent_layers, T> n_s,
            in<kv_layers, T> n_q,
            in<windowed_kv_layers, T> n_w,
            in<layers_per_page, T> n_p)
        { return select(shares_pages<T>(groups, share, n_s), padding_of<T>(n_q - n_w, n_p), T(1.0)); }
    };
    struct windowed_page_padding
    {
        static constexpr Spec spec =
            Spec("\\pi_w", "1", "ratio of reserved to used pages, sliding-window layers", "vLLM").range(1);
        template <class T> static constexpr T formula(
            in<kv_page_groups, T> groups,
            in<windowed_kv_share, T> share,
            in<recurrent_layers, T> n_s,
            in<windowed_kv_layers, T> n_w,
            in<layers_per_page, T> n_p)
        { return select(shares_pages<T>(groups, share, n_s), padding_of<T>(n_w, n_p), T(1.0)); }
    };

    // --- blocks, larger with recurrent states: a page holds the state of a layer ---

    struct page_bytes_per_token
    {
        static constexpr Spec spec =
            Spec("e_p", "byte/token", "KV cache per token and global-attention layer", "vLLM").positive();
        template <class T> static constexpr T formula(
            in<kv_bytes_per_token, T> q,
            in<kv_stored_factor, T> k,
            in<windowed_kv_share, T> share,
            in<kv_layers, T> n_q,
            in<windowed_kv_layers, T> n_w)
        { return q * k * (1.0 - share) / (n_q - n_w); }
    };
    struct padded_block_size
    {
        static constexpr Spec spec =
            Spec("b", "token/sequence", "KV-cache block size, enlarged to fit a recurrent state", "vLLM").range(1);
        template <class T> static constexpr T formula(
            in<kv_page_groups, T> groups,
            in<kv_block_size, T> b,
            in<recurrent_layers, T> n_s,
            in<layer_state_bytes, T> s_l,
            in<page_bytes_per_token, T> e)
        { return select(is<kv_page_groups>(groups, "equal") && n_s > T(0.0), b * max(ceil(s_l / (e * b)), 1.0), T(b)); }
    };
    struct reserved_state_bytes
    {
        static constexpr Spec spec =
            Spec("S_p", "byte/sequence", "memory reserved per sequence for recurrent states", "vLLM");
        template <class T> static constexpr T formula(
            in<kv_page_groups, T> groups,
            in<recurrent_layers, T> n_s,
            in<layer_state_bytes, T> s_l,
            in<recurrent_state_bytes, T> S_0,
            in<layers_per_page, T> n_p,
            in<page_bytes_per_token, T> e,
            in<padded_block_size, T> b)
        {
            const T of_layers = choose(groups, ceil(n_s / n_p) * n_p * (e * b), n_s * s_l);
            return select(n_s > T(0.0), of_layers, T(S_0));
        }
    };

    // --- reserved bytes ---

    template <class T> constexpr T whole_blocks(const T& tokens, in<padded_block_size, T> b)
    { return b * ceil(tokens / b); }
    struct allocated_kv_bytes
    {
        static constexpr Spec spec =
            Spec("S_a", "byte/sequence", "memory reserved per sequence (KV cache, index, recurrent states)", "vLLM");
        template <class T> static constexpr T formula(
            in<cache_allocation, T> which,
            in<kv_stored_bytes, T> S,
            in<kv_bytes_per_token, T> q,
            in<kv_stored_factor, T> k,
            in<windowed_kv_share, T> share,
            in<context_length, T> L,
            in<attention_window, T> w,
            in<in_flight_tokens, T> ahead,
            in<padded_block_size, T> b,
            in<global_page_padding, T> of_global,
            in<windowed_page_padding, T> of_windowed,
            in<index_bytes_per_token, T> q_i,
            in<reserved_state_bytes, T> S_p)
        {
            const T context = whole_blocks<T>(L, b);
            const T windowed = select(share == T(0.0), T(0.0), whole_blocks<T>(min(L, w + ahead), b) * of_windowed);
            const T tokens = q * k * mean_of_layers<T>(share, context * of_global, windowed);
            return choose(which, T(S), spend_beside(tokens, q_i, context) + S_p);
        }
    };
    // The other way: the whole blocks of context that find room in so many bytes.
    template <class T> constexpr T context_in_pages(
        const T& bytes,
        in<kv_bytes_per_token, T> q,
        in<kv_stored_factor, T> k,
        in<windowed_kv_share, T> share,
        in<attention_window, T> w,
        in<in_flight_tokens, T> ahead,
        in<padded_block_size, T> b,
        in<global_page_padding, T> of_global,
        in<windowed_page_padding, T> of_windowed,
        in<index_bytes_per_token, T> q_i,
        in<reserved_state_bytes, T> S_p)
    {
        const T context = context_behind_window<T>(
            max(bytes - S_p, 0.0),
            q * k * share * of_windowed,
            q * k * (1.0 - share) * of_global + q_i,
            as<attention_window>(whole_blocks<T>(w + ahead, b)));
        return b * floor(context / b);
    }

    using pages = list<
        cache_allocation,
        kv_block_size,
        kv_page_groups,
        in_flight_tokens,
        recurrent_layers,
        layer_state_bytes,
        kv_layers,
        windowed_kv_layers,
        layers_per_page,
        global_page_padding,
        windowed_page_padding,
        page_bytes_per_token,
        padded_block_size,
        reserved_state_bytes,
        allocated_kv_bytes>;
}
