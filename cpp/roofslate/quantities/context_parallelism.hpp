// Context parallelism in prefill: groups of chips share a prompt's tokens, and pass KV caches or queries around a ring
// while they attend (arXiv 2411.01783).
#pragma once
#include "roofslate/quantities/attention.hpp"

namespace roofslate::quantities
{
    struct fresh_input_tokens;
    struct prefix_length;
    struct prefill_compute_efficiency;

    struct prefill_context_parallel
    {
        static constexpr Spec spec =
            Spec("G_{cp}", "1", "prefill context parallelism, chip groups splitting each prompt", "arXiv 2411.01783")
                .range(1)
                .at_most<attention_data_parallel>()
                .by_default(1);
    };
    struct kv_hop_time
    {
        static constexpr Spec spec = Spec(
            "t_{rk}",
            "s/token",
            "KV-cache transfer time to the next ring group, per token, all layers",
            "arXiv 2411.01783");
        template <class T> static constexpr T formula(
            in<kv_bytes_per_token, T> q,
            in<tensor_parallel, T> G_t,
            in<hop_bandwidth, T> u,
            in<link_efficiency, T> eta)
        { return q / (G_t * (u * eta)); }
    };
    struct query_hop_time
    {
        static constexpr Spec spec = Spec(
            "t_{rq}",
            "s/token",
            "query transfer time to the next ring group, per token, all layers",
            "arXiv 2411.01783");
        template <class T> static constexpr T formula(
            in<layers, T> n,
            in<attention_heads, T> n_h,
            in<head_size, T> d_h,
            in<activation_bytes_per_element, T> w,
            in<tensor_parallel, T> G_t,
            in<hop_bandwidth, T> u,
            in<link_efficiency, T> eta)
        { return n * n_h * (d_h * w) / (G_t * (u * eta)); }
    };
    struct ring_attention_time
    {
        static constexpr Spec spec = Spec(
            "t_{ra}",
            "s*sequence/token/token",
            "attention compute time per query-key pair in a group, global layers",
            "arXiv 2411.01783");
        template <class T> static constexpr T formula(
            in<flops_per_head_element, T> two,
            in<global_attention_layers, T> n_g,
            in<attention_heads, T> n_h,
            in<head_size, T> d_h,
            in<latent_rotary_size, T> d_r,
            in<tensor_parallel, T> G_t,
            in<attention_product_flops, T> F_a,
            in<prefill_compute_efficiency, T> eta)
        { return two * (n_g * (n_h * (2.0 * d_h - d_r))) / (G_t * (F_a * eta)); }
    };
    struct ring_payload
    {
        static constexpr Spec spec =
            Spec(
                "\\rho_r",
                "1",
                "data sent around the attention ring (fewest bytes, KV cache, queries)",
                "arXiv 2411.01783")
                .one_of("fewest_bytes", "caches", "queries")
                .by_default(0);
    };
    struct exposed_ring_time
    {
        // Queries come back as parts of outputs, after all hops.
        static constexpr Spec spec = Spec(
            "t_{rx}",
            "s/sequence",
            "exposed ring-exchange time of a prompt, not hidden by attention",
            "arXiv 2411.01783");
        template <class T> static constexpr T formula(
            in<prefill_context_parallel, T> G_c,
            in<communication, T> links,
            in<ring_payload, T> which,
            in<fresh_input_tokens, T> I,
            in<prefix_length, T> L_p,
            in<kv_hop_time, T> t_k,
            in<query_hop_time, T> t_q,
            in<ring_attention_time, T> t_a)
        {
            const T queries = I / G_c, keys = plus_optional(I, L_p) / G_c; // of one group
            const T busy = queries * keys * t_a;
            const T caches = max(keys * t_k - busy, 0.0), asked = max(queries * t_q - busy, 0.0) + queries * t_q;
            const T fewest = select(queries * t_q < keys * t_k, asked, caches);
            const T exposed = choose(which, fewest, caches, asked);
            return select(G_c == T(1.0) || is<communication>(links, "free"), T(0.0), (G_c - 1.0) * exposed);
        }
    };
    struct replica_ring_time
    {
        static constexpr Spec spec = Spec(
            "t_{rx} G_{cp}/G_d",
            "s/sequence",
            "replica time per prompt for the exposed ring exchange",
            "arXiv 2411.01783");
        template <class T> static constexpr T formula(
            in<exposed_ring_time, T> t,
            in<prefill_context_parallel, T> G_c,
            in<attention_data_parallel, T> G_d)
        { return spend(t, G_c / G_d); }
    };

    using context_parallelism = list<
        prefill_context_parallel,
        kv_hop_time,
        query_hop_time,
        ring_attention_time,
        ring_payload,
        exposed_ring_time,
        replica_ring_time>;
}
