// Memory of a sequence and reads of a pass: the KV cache. Techniques that shrink it enter here, so that every time,
// cost and capacity includes them. Without them both are q L.
#pragma once
#include "roofslate/quantities/kernels.hpp"

namespace roofslate::quantities
{
    // --- the context ---

    struct turn_prompt_tokens;
    struct input_tokens
    {
        static constexpr Spec spec =
            Spec("I", "token/sequence", "input tokens per request (prompt length)", "R6.6")
                .positive()
                .otherwise<turn_prompt_tokens>();
    };
    struct output_tokens
    { static constexpr Spec spec = Spec("O", "token/sequence", "output tokens per request", "Q6").positive(); };
    struct output_cv
    {
        static constexpr Spec spec =
            Spec("c_O", "1", "coefficient of variation (CV) of output tokens, lognormal", "Q6").range(0).by_default(0);
    };
    struct mean_context_length
    {
        // A sequence that runs is one of the long ones: lengths weigh by themselves.
        static constexpr Spec spec =
            Spec("I + O (1 + c_O^2)/2", "token/sequence", "mean context length of running sequences", "R6.6");
        template <class T> static constexpr T formula(in<input_tokens, T> I, in<output_tokens, T> O, in<output_cv, T> c)
        { return I + O * ((1.0 + c * c) / 2.0); }
    };
    struct context_length
    {
        static constexpr Spec spec =
            Spec("L", "token/sequence", "context length, tokens attended to by each new token", "R1.1")
                .range(0)
                .otherwise<mean_context_length>();
    };

    // --- techniques ---

    struct kv_compression
    {
        static constexpr Spec spec =
            Spec("\\kappa_b", "1", "KV-cache compression, element size relative to its format", "Q4")
                .positive()
                .by_default(1);
    };
    struct kept_token_share
    {
        static constexpr Spec spec =
            Spec("\\kappa_t", "1", "fraction of tokens kept in the KV cache after eviction", "Q4")
                .positive(1)
                .by_default(1);
    };
    struct kept_head_share
    {
        static constexpr Spec spec =
            Spec("\\kappa_h", "1", "fraction of KV heads left after head sharing", "Q4").positive(1).by_default(1);
    };
    struct stored_layer_share
    {
        static constexpr Spec spec =
            Spec("\\kappa_n", "1", "fraction of layers with a stored KV cache, layer sharing", "Q4")
                .positive(1)
                .by_default(1);
    };
    struct shared_layer_reads
    {
        static constexpr Spec spec =
            Spec("\\kappa_r", "1", "reads of a KV cache shared by layers (each layer, once)", "Q4")
                .one_of("each", "once")
                .by_default(0);
    };
    struct windowed_attention_layers
    {
        static constexpr Spec spec =
            Spec("n_w", "1", "sliding-window attention layers", "Q4").range(0).at_most<layers>().by_default(0);
    };
    struct windowed_kv_share
    {
        static constexpr Spec spec =
            Spec("\\omega", "1", "fraction of the KV cache per token in sliding-window layers", "Q4").range(0, 1);
        template <class T> static constexpr T formula(in<windowed_attention_layers, T> n_w, in<layers, T> n)
        { return select(n_w == T(0.0), T(0.0), n_w / n); }
    };
    struct attention_window
    {
        static constexpr Spec spec =
            Spec("w_a", "token/sequence", "attention window of sliding-window layers", "Q4")
                .range(0, infinite)
                .by_default(infinite);
    };
    struct selected_tokens
    {
        static constexpr Spec spec =
            Spec("K_s", "token/sequence", "tokens selected by the sparse-attention index, per new token", "R6.14")
                .positive(infinite)
                .by_default(infinite);
    };
    struct index_bytes_per_token
    {
        static constexpr Spec spec =
            Spec("q_i", "byte/token", "sparse-attention index per context token, all layers", "R6.14")
                .range(0)
                .by_default(0);
    };
    struct recurrent_state_bytes
    {
        static constexpr Spec spec =
            Spec("S_0", "byte/sequence", "recurrent state per sequence, independent of context length", "R6.4")
                .range(0)
                .by_default(0);
    };
    struct kv_stored_factor
    {
        static constexpr Spec spec =
            Spec("\\kappa_s", "1", "stored KV cache relative to the plain KV cache, per token", "Q4");
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
            Spec("\\kappa_q", "1", "KV-cache reads relative to the plain KV cache, per attended token", "Q4");
        template <class T> static constexpr T formula(
            in<shared_layer_reads, T> r,
            in<kv_compression, T> b,
            in<kept_token_share, T> t,
            in<kept_head_share, T> h,
            in<stored_layer_share, T> n)
        { return b * t * (h * choose(r, T(1.0), n)); }
    };

    // --- bytes read and bytes stored ---

    struct windowed_tokens
    {
        static constexpr Spec spec =
            Spec("\\min(L, w_a)", "token/sequence", "tokens attended to in sliding-window layers", "Q4");
        template <class T> static constexpr T formula(in<context_length, T> L, in<attention_window, T> w)
        { return min(L, w); }
    };
    // Mean number of tokens per layer, with another number in sliding-window layers.
    template <class T> constexpr T mean_of_layers(in<windowed_kv_share, T> share, const T& tokens, const T& windowed)
    { return spend_beside((1.0 - share) * tokens, share, windowed); }
    // Bytes of the tokens of a KV cache, of an index of the whole context, and of states.
    template <class T> constexpr T cache_bytes(
        const T& tokens,
        in<index_bytes_per_token, T> q_i,
        const T& context,
        in<recurrent_state_bytes, T> S_0,
        const T& states)
    { return spend_beside(spend_beside(tokens, q_i, context), S_0, states); }
    struct attended_tokens
    {
        static constexpr Spec spec =
            Spec("L_r", "token/sequence", "context tokens read per new token, mean across layers", "Q4");
        template <class T> static constexpr T formula(
            in<windowed_kv_share, T> share,
            in<context_length, T> L,
            in<selected_tokens, T> K,
            in<windowed_tokens, T> windowed)
        { return mean_of_layers<T>(share, min(L, K), windowed); }
    };
    struct kv_read_bytes
    {
        static constexpr Spec spec =
            Spec("r", "byte/sequence", "KV-cache reads per sequence and pass, index and states included", "Q4");
        template <class T> static constexpr T formula(
            in<kv_bytes_per_token, T> q,
            in<kv_read_factor, T> k,
            in<attended_tokens, T> L_r,
            in<index_bytes_per_token, T> q_i,
            in<context_length, T> L,
            in<recurrent_state_bytes, T> S_0)
        { return cache_bytes<T>(q * k * L_r, q_i, L, S_0, k); }
    };
    struct kv_stored_bytes
    {
        static constexpr Spec spec =
            Spec("S", "byte/sequence", "KV-cache size per sequence, index and states included", "Q4");
        template <class T> static constexpr T formula(
            in<kv_bytes_per_token, T> q,
            in<kv_stored_factor, T> k,
            in<windowed_kv_share, T> share,
            in<context_length, T> L,
            in<windowed_tokens, T> windowed,
            in<index_bytes_per_token, T> q_i,
            in<recurrent_state_bytes, T> S_0)
        { return cache_bytes<T>(q * k * mean_of_layers<T>(share, L, windowed), q_i, L, S_0, k); }
    };
    struct stored_kv_bytes_per_token
    {
        static constexpr Spec spec =
            Spec("q_s", "byte/token", "KV-cache size per context token, index and states included", "Q4");
        template <class T> static constexpr T formula(
            in<kv_bytes_per_token, T> q,
            in<kv_stored_factor, T> k,
            in<windowed_kv_share, T> share,
            in<context_length, T> L,
            in<attention_window, T> w,
            in<index_bytes_per_token, T> q_i,
            in<recurrent_state_bytes, T> S_0)
        { return cache_bytes<T>(q * k * spend_beside(1.0 - share, share, min(w / L, 1.0)), q_i, 1.0, S_0, k / L); }
    };
    struct kv_read_gain
    {
        static constexpr Spec spec =
            Spec("q L/r", "1", "ratio of plain KV-cache size to KV-cache reads per pass", "R6.14");
        template <class T> static constexpr T formula(
            in<kv_bytes_per_token, T> q,
            in<context_length, T> L,
            in<kv_read_bytes, T> r)
        { return q * L / r; }
    };
    struct kv_stored_gain
    {
        static constexpr Spec spec = Spec("q/q_s", "1", "ratio of plain to stored KV-cache size", "Q4");
        template <class T> static constexpr T formula(in<kv_bytes_per_token, T> q, in<stored_kv_bytes_per_token, T> q_s)
        { return q / q_s; }
    };
    struct kv_cache_copies
    {
        static constexpr Spec spec =
            Spec("\\kappa_c", "1", "KV-cache copies among the chips of an attention group", "R3.8");
        template <class T> static constexpr T formula(
            in<layout, T> l,
            in<tensor_parallel, T> G_t,
            in<context_parallel, T> G_c,
            in<kv_latent_size, T> d_c,
            in<kv_heads, T> n_kv)
        { return choose(l, T(1.0), max(count(G_t) / (select(d_c > T(0.0), T(1.0), n_kv) * G_c), 1.0)); }
    };

    // --- the other way: the context that is read in so many bytes ---

    // True if stored bytes are q L: no window, no index, no states.
    template <class T> constexpr auto stores_all_alike(
        in<windowed_kv_share, T> share,
        in<index_bytes_per_token, T> q_i,
        in<recurrent_state_bytes, T> S_0)
    { return share == T(0.0) && q_i == T(0.0) && S_0 == T(0.0); }
    // True if read bytes are q L: no selection either.
    template <class T> constexpr auto reads_all_alike(
        in<windowed_kv_share, T> share,
        in<selected_tokens, T> K,
        in<index_bytes_per_token, T> q_i,
        in<recurrent_state_bytes, T> S_0)
    { return stores_all_alike<T>(share, q_i, S_0) && K == T(infinite); }
    // Context at which a line of this slope reaches a value.
    template <class T> constexpr T context_reaching(const T& value, const T& slope)
    { return select(slope > T(0.0), value / slope, select(value > T(0.0), T(infinite), T(0.0))); }
    // Context of so many bytes, which grow slower after the window: they are the lesser of two lines.
    template <class T> constexpr T context_behind_window(
        const T& bytes,
        const T& windowed,
        const T& after_window,
        in<attention_window, T> w)
    {
        const T window = select(windowed > T(0.0), windowed * w, T(0.0));
        return max(
            context_reaching<T>(bytes, windowed + after_window),
            context_reaching<T>(bytes - window, after_window));
    }
    template <class T> constexpr T context_storing(
        const T& bytes,
        in<kv_bytes_per_token, T> q,
        in<kv_stored_factor, T> k,
        in<windowed_kv_share, T> share,
        in<attention_window, T> w,
        in<index_bytes_per_token, T> q_i,
        in<recurrent_state_bytes, T> S_0)
    { return context_behind_window<T>(max(bytes - k * S_0, 0.0), q * k * share, q * k * (1.0 - share) + q_i, w); }
    // Reads grow slower after the selection, too: they are the least of four lines, so the context is the largest of
    // the four.
    template <class T> constexpr T context_reading(
        const T& bytes,
        in<kv_bytes_per_token, T> q,
        in<kv_read_factor, T> k,
        in<windowed_kv_share, T> share,
        in<attention_window, T> w,
        in<selected_tokens, T> K,
        in<index_bytes_per_token, T> q_i,
        in<recurrent_state_bytes, T> S_0)
    {
        const T windowed = q * k * share, selected = q * k * (1.0 - share);
        const T variable_bytes = max(bytes - k * S_0, 0.0);
        const T selection = select(selected > T(0.0), selected * K, T(0.0));
        return max(
            context_behind_window<T>(variable_bytes, windowed, selected + q_i, w),
            context_behind_window<T>(variable_bytes - selection, windowed, q_i, w));
    }

    using cache = list<
        input_tokens,
        output_tokens,
        output_cv,
        mean_context_length,
        context_length,
        kv_compression,
        kept_token_share,
        kept_head_share,
        stored_layer_share,
        shared_layer_reads,
        windowed_attention_layers,
        windowed_kv_share,
        attention_window,
        selected_tokens,
        index_bytes_per_token,
        recurrent_state_bytes,
        kv_stored_factor,
        kv_read_factor,
        windowed_tokens,
        attended_tokens,
        kv_read_bytes,
        kv_stored_bytes,
        stored_kv_bytes_per_token,
        kv_read_gain,
        kv_stored_gain,
        kv_cache_copies>;
}
