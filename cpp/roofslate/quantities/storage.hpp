// Chapter 6: three ways to have a token's cache. Compute it again, keep it in HBM, or keep it in a slower tier of
// memory.
#pragma once
#include "roofslate/quantities/energy.hpp"

namespace roofslate::quantities
{
    struct hold_time
    {
        static constexpr Spec spec =
            Spec("T_h", "s", "time from one use of a token's cache to the next", "R6.8").range(0);
    };

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
            Spec("t_r", "chip*s/token", "chip time to recompute the KV cache of a token", "R6.8");
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
        static constexpr Spec spec = Spec(
            "c_r",
            "USD/token",
            "price of the arithmetic that computes the cache of a token: also the least cost of prefill",
            "R6.8");
        template <class T> static constexpr T formula(in<recompute_chip_time, T> t, in<chip_price, T> p)
        { return t * p; }
    };

    // --- keep it in HBM, on chips that do nothing else with this memory ---

    struct hbm_rent
    {
        static constexpr Spec spec =
            Spec("p/h", "USD/byte/s", "price of the chip for each byte of its memory and second", "R6.8");
        template <class T> static constexpr T formula(in<chip_price, T> p, in<hbm_capacity, T> h) { return p / h; }
    };
    struct hbm_hold_cost
    {
        static constexpr Spec spec =
            Spec("c_h", "USD/token", "price of keeping a token's cache in HBM until it is used again", "R6.8");
        template <class T> static constexpr T formula(
            in<hold_time, T> T_h,
            in<stored_kv_bytes_per_token, T> q,
            in<hbm_rent, T> r)
        { return T_h * (q * r); }
    };
    struct recompute_hold_time
    {
        static constexpr Spec spec = Spec(
            "T_r",
            "s",
            "time for which keeping a token's cache in HBM costs what computing it again costs",
            "R6.8");
        template <class T> static constexpr T formula(
            in<recompute_chip_time, T> t,
            in<hbm_capacity, T> h,
            in<stored_kv_bytes_per_token, T> q)
        { return t * (h / q); }
    };

    // --- keep it in a tier: a device with a capacity, a bandwidth and a price ---

    struct tier_capacity
    { static constexpr Spec spec = Spec("k_i", "byte", "capacity of a device of the tier", "R6.10").positive(); };
    struct tier_bandwidth
    {
        static constexpr Spec spec =
            Spec("m_i", "byte/s", "bandwidth at which a device of the tier is read", "R6.10").positive();
    };
    struct tier_purchase_price
    { static constexpr Spec spec = Spec("K_i", "USD", "purchase price of a device of the tier", "R6.10").range(0); };
    struct tier_price
    {
        static constexpr Spec spec =
            Spec("d_i", "USD/s", "price of a device of the tier for a second", "R6.8").range(0);
        template <class T> static constexpr T formula(
            in<tier_purchase_price, T> K,
            in<depreciation_time, T> T_K,
            in<annuity_factor, T> a)
        { return capital_cost_rate::formula<T>(as<replica_capital_cost>(K), T_K, a); }
    };
    struct tier_drain_time
    {
        static constexpr Spec spec = Spec(
            "k_i/m_i",
            "s",
            "time to read a device of the tier once: the hold time at which holding and retrieving cost the same",
            "R6.9");
        template <class T> static constexpr T formula(in<tier_capacity, T> k, in<tier_bandwidth, T> m) { return k / m; }
    };
    struct tier_rent
    {
        static constexpr Spec spec =
            Spec("d_i/k_i", "USD/byte/s", "price of a byte held in the tier for a second", "R6.8");
        template <class T> static constexpr T formula(in<tier_price, T> d, in<tier_capacity, T> k) { return d / k; }
    };
    struct tier_retrieve_price
    {
        static constexpr Spec spec =
            Spec("d_i/m_i", "USD/byte", "price of the time in which the tier is read for a byte", "R6.8");
        template <class T> static constexpr T formula(in<tier_price, T> d, in<tier_bandwidth, T> m) { return d / m; }
    };
    struct tier_hold_cost
    {
        static constexpr Spec spec = Spec(
            "q T_h d_i/k_i",
            "USD/token",
            "price of keeping a token's cache in the tier until it is used again",
            "R6.8");
        template <class T> static constexpr T formula(
            in<hold_time, T> T_h,
            in<stored_kv_bytes_per_token, T> q,
            in<tier_rent, T> r)
        { return T_h * (q * r); }
    };
    struct tier_retrieve_cost
    {
        static constexpr Spec spec =
            Spec("q d_i/m_i", "USD/token", "price of reading a token's cache from the tier once", "R6.8");
        template <class T> static constexpr T formula(in<stored_kv_bytes_per_token, T> q, in<tier_retrieve_price, T> r)
        { return q * r; }
    };
    struct tier_cost
    {
        static constexpr Spec spec = Spec(
            "c_i",
            "USD/token",
            "price of having a token's cache once more from the tier: holding and retrieving",
            "R6.9");
        template <class T> static constexpr T formula(in<tier_hold_cost, T> hold, in<tier_retrieve_cost, T> retrieve)
        { return hold + retrieve; }
    };
    struct tier_recompute_hold_time
    {
        static constexpr Spec spec = Spec(
            "T_{ri}",
            "s",
            "hold time from which on computing a token's cache again is cheaper than the tier; 0: it always is",
            "R6.8");
        template <class T> static constexpr T formula(
            in<recompute_cost, T> c_r,
            in<tier_retrieve_cost, T> retrieve,
            in<stored_kv_bytes_per_token, T> q,
            in<tier_rent, T> r)
        { return max(c_r - retrieve, 0.0) / (q * r); }
    };

    // --- what a device is busy with: equal shares of its space-time and of its reading time, if it is held for a drain
    // time ---

    struct held_share
    {
        static constexpr Spec spec =
            Spec("\\phi_k", "1", "share of a device's capacity that is held for one user", "R6.9").range(0, 1);
    };
    struct tier_retrieval_time
    {
        static constexpr Spec spec = Spec("\\phi_k k_i/m_i", "s", "time to read this share of a device", "R6.9");
        template <class T> static constexpr T formula(in<held_share, T> phi, in<tier_drain_time, T> T_d)
        { return phi * T_d; }
    };
    struct held_capacity_time
    {
        static constexpr Spec spec =
            Spec("\\phi_k T_h", "s", "time for which the share keeps the whole capacity busy", "R6.9");
        template <class T> static constexpr T formula(in<held_share, T> phi, in<hold_time, T> T_h) { return phi * T_h; }
    };

    // --- when to move on: Gray's five-minute rule between a tier and a slower one ---

    struct slower_tier_capacity
    { static constexpr Spec spec = Spec("k_j", "byte", "capacity of a device of the slower tier", "R6.9").positive(); };
    struct slower_tier_bandwidth
    {
        static constexpr Spec spec =
            Spec("m_j", "byte/s", "bandwidth at which a device of the slower tier is read", "R6.9").positive();
    };
    struct slower_tier_purchase_price
    {
        static constexpr Spec spec =
            Spec("K_j", "USD", "purchase price of a device of the slower tier", "R6.10").range(0);
    };
    struct slower_tier_price
    {
        static constexpr Spec spec =
            Spec("d_j", "USD/s", "price of a device of the slower tier for a second", "R6.9").range(0);
        template <class T> static constexpr T formula(
            in<slower_tier_purchase_price, T> K,
            in<depreciation_time, T> T_K,
            in<annuity_factor, T> a)
        { return tier_price::formula<T>(as<tier_purchase_price>(K), T_K, a); }
    };
    struct slower_tier_rent
    {
        static constexpr Spec spec =
            Spec("d_j/k_j", "USD/byte/s", "price of a byte held in the slower tier for a second", "R6.9");
        template <class T> static constexpr T formula(in<slower_tier_price, T> d, in<slower_tier_capacity, T> k)
        { return tier_rent::formula<T>(as<tier_price>(d), as<tier_capacity>(k)); }
    };
    struct slower_tier_retrieve_price
    {
        static constexpr Spec spec =
            Spec("d_j/m_j", "USD/byte", "price of the time in which the slower tier is read for a byte", "R6.9");
        template <class T> static constexpr T formula(in<slower_tier_price, T> d, in<slower_tier_bandwidth, T> m)
        { return tier_retrieve_price::formula<T>(as<tier_price>(d), as<tier_bandwidth>(m)); }
    };
    struct tier_switch_time
    {
        static constexpr Spec spec =
            Spec("T_{ij}", "s", "hold time from which on the slower tier is cheaper; inf: never", "R6.9");
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
