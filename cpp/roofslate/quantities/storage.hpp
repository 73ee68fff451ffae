// Chapter 6: three ways to provide the KV cache of a token. Compute it again, keep it in HBM, or keep it in a slower
// tier of memory.
#pragma once
#include "roofslate/quantities/energy.hpp"

namespace roofslate::quantities
{
    struct hold_time
    { static constexpr Spec spec = Spec("T_h", "s", "KV-cache hold time, from one use to the next", "R6.8").range(0); };

    // --- compute it again ---

    struct recompute_attention_flops
    {
        static constexpr Spec spec =
            Spec("f_{ar}", "FLOP/token", "attention FLOPs per recomputed token, causal mean", "R6.8, R6.11");
        template <class T>
        static constexpr T formula(
            in<flops_per_head_element, T> two_a,
            in<attention_heads, T> n_h,
            in<head_size, T> d_h,
            in<latent_rotary_size, T> d_r,
            in<context_length, T> L,
            in<global_attention_layers, T> n_g,
            in<selected_tokens, T> K,
            in<windowed_attention_layers, T> n_w,
            in<windowed_tokens, T> seen)
        {
            const T unwindowed = n_g * causal_mean<T>(L, min(L, K));
            const T windowed = causal_mean<T>(L, seen);
            const T forward = attention_of_sequence<T>(T(1.0), two_a, n_h, d_h, d_r, unwindowed, n_w, windowed);
            return select(L == T(0.0), T(0.0), forward);  // an empty context has no mean
        }
    };
    struct recompute_chip_time
    {
        static constexpr Spec spec =
            Spec("t_r", "chip*s/token", "chip time to rebuild the KV cache, per token", "R6.8");
        template <class T> static constexpr T formula(
            in<flops_per_token, T> f,
            in<peak_flops, T> F,
            in<compute_efficiency, T> eta,
            in<arithmetic, T> counted,
            in<recompute_attention_flops, T> f_a,
            in<attention_product_flops, T> F_a)
        { return choose(counted, f / (F * eta), f / (F * eta) + f_a / (F_a * eta)); }
    };
    struct recompute_cost
    {
        static constexpr Spec spec =
            Spec("c_r", "USD/token", "compute cost to rebuild the KV cache, per token", "R6.8");
        template <class T> static constexpr T formula(in<recompute_chip_time, T> t, in<chip_price, T> p)
        { return t * p; }
    };

    // --- keep it in HBM, on chips that do nothing else with this memory ---

    struct hbm_rent
    {
        static constexpr Spec spec = Spec("p/h", "USD/byte/s", "HBM price per stored byte and time", "R6.8");
        template <class T> static constexpr T formula(in<chip_price, T> p, in<hbm_capacity, T> h) { return p / h; }
    };
    struct hbm_hold_cost
    {
        static constexpr Spec spec =
            Spec("c_h", "USD/token", "HBM storage cost per token, KV cache held until reuse", "R6.8");
        template <class T> static constexpr T formula(
            in<hold_time, T> T_h,
            in<stored_kv_bytes_per_token, T> q,
            in<hbm_rent, T> r)
        { return T_h * (q * r); }
    };
    struct recompute_hold_time
    {
        static constexpr Spec spec =
            Spec("T_r", "s", "hold time at which HBM storage costs as much as recomputation", "R6.8");
        template <class T> static constexpr T formula(
            in<recompute_chip_time, T> t,
            in<hbm_capacity, T> h,
            in<stored_kv_bytes_per_token, T> q)
        { return t * (h / q); }
    };

    // --- keep it in a tier: a device with a capacity, a bandwidth and a price ---

    struct tier_capacity
    { static constexpr Spec spec = Spec("k_i", "byte", "storage-tier capacity per device", "R6.10").positive(); };
    struct tier_bandwidth
    {
        static constexpr Spec spec =
            Spec("m_i", "byte/s", "storage-tier read bandwidth per device", "R6.10").positive();
    };
    struct tier_purchase_price
    { static constexpr Spec spec = Spec("K_i", "USD", "storage-tier purchase price per device", "R6.10").range(0); };
    struct tier_price
    {
        static constexpr Spec spec = Spec("d_i", "USD/s", "storage-tier price per device and time", "R6.8").range(0);
        template <class T> static constexpr T formula(
            in<tier_purchase_price, T> K,
            in<depreciation_time, T> T_K,
            in<annuity_factor, T> a)
        { return capital_cost_rate::formula<T>(as<replica_capital_cost>(K), T_K, a); }
    };
    struct tier_drain_time
    {
        static constexpr Spec spec =
            Spec("k_i/m_i", "s", "drain time of a storage tier, capacity / read bandwidth", "R6.9");
        template <class T> static constexpr T formula(in<tier_capacity, T> k, in<tier_bandwidth, T> m) { return k / m; }
    };
    struct tier_rent
    {
        static constexpr Spec spec =
            Spec("d_i/k_i", "USD/byte/s", "storage-tier price per stored byte and time", "R6.8");
        template <class T> static constexpr T formula(in<tier_price, T> d, in<tier_capacity, T> k) { return d / k; }
    };
    struct tier_retrieve_price
    {
        static constexpr Spec spec = Spec("d_i/m_i", "USD/byte", "storage-tier price per retrieved byte", "R6.8");
        template <class T> static constexpr T formula(in<tier_price, T> d, in<tier_bandwidth, T> m) { return d / m; }
    };
    struct tier_hold_cost
    {
        static constexpr Spec spec =
            Spec("q T_h d_i/k_i", "USD/token", "storage-tier cost per token, KV cache held until reuse", "R6.8");
        template <class T> static constexpr T formula(
            in<hold_time, T> T_h,
            in<stored_kv_bytes_per_token, T> q,
            in<tier_rent, T> r)
        { return T_h * (q * r); }
    };
    struct tier_retrieve_cost
    {
        static constexpr Spec spec =
            Spec("q d_i/m_i", "USD/token", "storage-tier cost per token to retrieve its KV cache once", "R6.8");
        template <class T> static constexpr T formula(in<stored_kv_bytes_per_token, T> q, in<tier_retrieve_price, T> r)
        { return q * r; }
    };
    struct tier_cost
    {
        static constexpr Spec spec =
            Spec("c_i", "USD/token", "storage-tier cost per reused token, holding plus retrieval", "R6.9");
        template <class T> static constexpr T formula(in<tier_hold_cost, T> hold, in<tier_retrieve_cost, T> retrieve)
        { return hold + retrieve; }
    };
    struct tier_recompute_hold_time
    {
        static constexpr Spec spec =
            Spec("T_{ri}", "s", "hold time above which recomputation is cheaper than the tier", "R6.8");
        template <class T> static constexpr T formula(
            in<recompute_cost, T> c_r,
            in<tier_retrieve_cost, T> retrieve,
            in<stored_kv_bytes_per_token, T> q,
            in<tier_rent, T> r)
        { return max(c_r - retrieve, 0.0) / (q * r); }
    };

    // --- occupancy of a device: equal shares of its space-time and reading time, if it is held for a drain time ---

    struct held_share
    {
        static constexpr Spec spec =
            Spec("\\phi_k", "1", "fraction of device capacity held for one user", "R6.9").range(0, 1);
    };
    struct tier_retrieval_time
    {
        static constexpr Spec spec =
            Spec("\\phi_k k_i/m_i", "s", "time to retrieve the held fraction of a device", "R6.9");
        template <class T> static constexpr T formula(in<held_share, T> phi, in<tier_drain_time, T> T_d)
        { return phi * T_d; }
    };
    struct held_capacity_time
    {
        static constexpr Spec spec =
            Spec("\\phi_k T_h", "s", "hold time weighted by the held capacity fraction", "R6.9");
        template <class T> static constexpr T formula(in<held_share, T> phi, in<hold_time, T> T_h) { return phi * T_h; }
    };

    // --- when to move on: Gray's five-minute rule between a tier and a slower one ---

    struct slower_tier_capacity
    { static constexpr Spec spec = Spec("k_j", "byte", "slower-tier capacity per device", "R6.9").positive(); };
    struct slower_tier_bandwidth
    { static constexpr Spec spec = Spec("m_j", "byte/s", "slower-tier read bandwidth per device", "R6.9").positive(); };
    struct slower_tier_purchase_price
    { static constexpr Spec spec = Spec("K_j", "USD", "slower-tier purchase price per device", "R6.10").range(0); };
    struct slower_tier_price
    {
        static constexpr Spec spec = Spec("d_j", "USD/s", "slower-tier price per device and time", "R6.9").range(0);
        template <class T> static constexpr T formula(
            in<slower_tier_purchase_price, T> K,
            in<depreciation_time, T> T_K,
            in<annuity_factor, T> a)
        { return tier_price::formula<T>(as<tier_purchase_price>(K), T_K, a); }
    };
    struct slower_tier_rent
    {
        static constexpr Spec spec =
            Spec("d_j/k_j", "USD/byte/s", "slower-tier price per stored byte and time", "R6.9");
        template <class T> static constexpr T formula(in<slower_tier_price, T> d, in<slower_tier_capacity, T> k)
        { return tier_rent::formula<T>(as<tier_price>(d), as<tier_capacity>(k)); }
    };
    struct slower_tier_retrieve_price
    {
        static constexpr Spec spec = Spec("d_j/m_j", "USD/byte", "slower-tier price per retrieved byte", "R6.9");
        template <class T> static constexpr T formula(in<slower_tier_price, T> d, in<slower_tier_bandwidth, T> m)
        { return tier_retrieve_price::formula<T>(as<tier_price>(d), as<tier_bandwidth>(m)); }
    };
    struct tier_switch_time
    {
        static constexpr Spec spec =
            Spec("T_{ij}", "s", "hold time above which the slower tier is cheaper, inf if never", "R6.9");
        template <class T> static constexpr T formula(
            in<tier_retrieve_price, T> r_i,
            in<slower_tier_retrieve_price, T> r_j,
            in<tier_rent, T> h_i,
            in<slower_tier_rent, T> h_j)
        { return select(h_j < h_i, max(r_j - r_i, 0.0) / (h_i - h_j), T(infinite)); }
    };

    using storage = list<
        hold_time,
        recompute_attention_flops,
        recompute_chip_time,
        recompute_cost,
        hbm_rent,
        hbm_hold_cost,
        recompute_hold_time,
        tier_capacity,
        tier_bandwidth,
        tier_purchase_price,
        tier_price,
        tier_drain_time,
        tier_rent,
        tier_retrieve_price,
        tier_hold_cost,
        tier_retrieve_cost,
        tier_cost,
        tier_recompute_hold_time,
        held_share,
        tier_retrieval_time,
        held_capacity_time,
        slower_tier_capacity,
        slower_tier_bandwidth,
        slower_tier_purchase_price,
        slower_tier_price,
        slower_tier_rent,
        slower_tier_retrieve_price,
        tier_switch_time>;
}
