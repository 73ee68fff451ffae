// Chapter 1: cost of a token, and throughput of a replica.
#pragma once
#include "roofslate/quantities/serving.hpp"

namespace roofslate::quantities
{
    struct round_passes
    {
        static constexpr Spec spec =
            Spec("r", "1", "round length in pass times, every batch in flight runs once", "R3.2");
        template <class T> static constexpr T formula(
            in<microbatches, T> n,
            in<pipeline_stages, T> P,
            in<layout, T> l,
            in<stage_balance, T> b_P)
        { return max(n / (P * layer_balance<T>(l, b_P)), 1.0); }
    };
    struct round_tokens
    {
        static constexpr Spec spec =
            Spec("n_\\mu B e", "token", "tokens generated per round, rejected drafts excluded", "R3.2");
        template <class T> static constexpr T formula(in<running_sequences, T> B, in<emitted_length, T> e)
        { return B * e; }
    };
    struct round_time
    {
        static constexpr Spec spec =
            Spec("t_r", "s", "round time, every batch in flight runs once, drafts included", "R3.2");
        template <class T> static constexpr T formula(
            in<pass_time, T> t,
            in<round_passes, T> r,
            in<drafting_factor, T> d)
        { return t * (r * d); }
    };
    struct cost_per_token
    {
        static constexpr Spec spec = Spec("c", "USD/token", "decode cost per generated token", "R1.5");
        template <class T> static constexpr T formula(
            in<round_time, T> t,
            in<replica_price, T> p,
            in<round_tokens, T> tokens)
        { return t * (p / tokens); }
    };
    struct replica_throughput
    {
        static constexpr Spec spec = Spec("R", "token/s", "replica throughput, generated tokens", "R1.14");
        template <class T> static constexpr T formula(in<round_tokens, T> tokens, in<round_time, T> t)
        { return tokens / t; }
    };

    struct compute_bound_throughput
    {
        static constexpr Spec spec =
            Spec("R_c", "token/s", "compute-bound replica throughput, memory reads excluded", "R1.15");
        template <class T> static constexpr T formula(
            in<microbatches, T> n,
            in<round_passes, T> r,
            in<stage_flops, T> C,
            in<flops_per_token, T> f)
        { return (n / r) * (C / f); }
    };

    // --- without batching ---

    struct lone_weight_fetch
    {
        static constexpr Spec spec =
            Spec("\\beta_1", "1", "ratio of weight-read to compute time at batch size 1", "R1.6");
        template <class T> static constexpr T formula(
            in<balance_tokens, T> A,
            in<pass_length, T> l,
            in<active_parameters, T> N_a,
            in<expert_reads, T> which,
            in<experts, T> X,
            in<experts_per_token, T> k,
            in<deployed_weight_bytes, T> all,
            in<active_dense_bytes, T> W_c,
            in<expert_bytes, T> W_X,
            in<expert_copies, T> copies,
            in<bytes_per_weight, T> w,
            in<layout, T> layout,
            in<placement_balance, T> balance)
        {
            const T coverage = coverage_of<T>(X, k, l / copies);
            return count(A / l)
                * (bytes_at_coverage<T>(which, X, all, W_c, W_X, layout, balance, coverage) / (w * N_a));
        }
    };
    struct batch_of_one_penalty
    {
        static constexpr Spec spec =
            Spec("c(1)/c(\\infty)", "1", "ratio of cost per token at batch size 1 to unlimited batch size", "R1.6");
        template <class T> static constexpr T formula(
            in<overlap, T> o,
            in<lone_weight_fetch, T> b,
            in<kv_compute_ratio, T> r)
        { return choose(o, max(b + r, 1.0) / max(r, 1.0), (r + max(b, 1.0)) / (r + 1.0), (b + r + 1.0) / (r + 1.0)); }
    };

    // --- the market ---

    struct monthly_tokens
    { static constexpr Spec spec = Spec("D_m", "token", "tokens served per month by a provider", "R1.14").positive(); };
    struct month
    {
        static constexpr Spec spec =
            Spec("30\\,\\mathrm{d}", "s", "length of a month", "R1.14").positive().by_default(2592000);
    };
    struct market_token_rate
    {
        static constexpr Spec spec = Spec("R_m", "token/s", "token rate of a provider, monthly mean", "R1.14");
        template <class T> static constexpr T formula(in<monthly_tokens, T> D, in<month, T> m) { return D / m; }
    };
    struct replicas_for_market
    {
        static constexpr Spec spec = Spec("R_m/R", "1", "replicas for the token rate of a provider", "R1.14");
        template <class T> static constexpr T formula(in<market_token_rate, T> R_m, in<replica_throughput, T> R)
        { return R_m / R; }
    };

    // --- fast and slow mode: a pass of B sequences that memory holds up takes W + k B, a token costs its time over B
    // ---

    struct fixed_pass_time
    {
        static constexpr Spec spec =
            Spec("W", "s", "batch-independent part of the pass time (weight reads)", "Q1")
                .range(0)
                .otherwise<latency_floor>();
    };
    struct kv_fetch_time_per_sequence
    {
        static constexpr Spec spec = Spec("r/M", "s/sequence", "KV-cache read time per sequence and pass", "R1.3");
        template <class T> static constexpr T formula(
            in<kv_read_bytes, T> r,
            in<stage_bandwidth, T> M,
            in<attention_bandwidth_share, T> s)
        { return r / (M * s); }
    };
    struct compute_time_per_sequence
    {
        static constexpr Spec spec =
            Spec("\\ell N_a/C", "s/sequence", "compute time per sequence and pass, attention excluded", "R1.2");
        template <class T> static constexpr T formula(
            in<pass_length, T> l,
            in<flops_per_token, T> f,
            in<stage_flops, T> C)
        { return l * (f / C); }
    };
    struct pass_time_per_sequence
    {
        static constexpr Spec spec =
            Spec("k", "s/sequence", "marginal pass time per additional sequence", "Q1").range(0);
        template <class T> static constexpr T formula(
            in<overlap, T> o,
            in<kv_fetch_time_per_sequence, T> k_kv,
            in<compute_time_per_sequence, T> k_c)
        { return choose(o, k_kv, k_kv, k_kv + k_c); }
    };
    struct batch_time_ratio_from_model
    {
        static constexpr Spec spec = Spec("k B/W", "1", "ratio of batch-dependent to fixed pass time", "Q1");
        template <class T> static constexpr T formula(
            in<pass_time_per_sequence, T> k,
            in<batch_size, T> B,
            in<fixed_pass_time, T> W)
        { return k * B / W; }
    };

    struct price_factor
    {
        static constexpr Spec spec =
            Spec("p", "1", "token price in another speed mode relative to the default", "R1.17").positive();
    };
    struct speed_factor
    {
        static constexpr Spec spec =
            Spec("v", "1", "token speed in another speed mode relative to the default", "R1.17").positive();
    };
    struct batch_time_ratio
    {
        static constexpr Spec spec =
            Spec("\\rho", "1", "ratio of batch-dependent to fixed time implied by price and speed", "Q1").range(0);
        template <class T> static constexpr T formula(in<speed_factor, T> v, in<price_factor, T> p)
        { return (v - 1.0) / (1.0 - 1.0 / p); }
    };
    struct batch_factor
    {
        static constexpr Spec spec =
            Spec("B_1/B_0", "1", "batch size in another speed mode relative to the default", "Q1");
        template <class T> static constexpr T formula(in<price_factor, T> p, in<speed_factor, T> v)
        { return 1.0 / (p * v); }
    };
    struct fastest_speed_factor
    {
        static constexpr Spec spec =
            Spec("v_\\infty", "1", "maximum speed relative to the default, unlimited price", "Q1");
        template <class T> static constexpr T formula(in<batch_time_ratio, T> r) { return 1.0 + r; }
    };
    struct lowest_price_factor
    {
        static constexpr Spec spec = Spec("p_0", "1", "minimum price relative to the default, unlimited latency", "Q1");
        template <class T> static constexpr T formula(in<batch_time_ratio, T> r, in<fastest_speed_factor, T> v_max)
        { return r / v_max; }
    };
    struct asked_speed_factor
    { static constexpr Spec spec = Spec("v_a", "1", "target speed relative to the default", "Q1").positive(); };
    struct price_factor_at_speed
    {
        static constexpr Spec spec =
            Spec("p(v_a)", "1", "price relative to the default at the target speed, inf if never", "Q1");
        template <class T> static constexpr T formula(
            in<asked_speed_factor, T> v,
            in<batch_time_ratio, T> r,
            in<fastest_speed_factor, T> v_max)
        { return select(v >= v_max, T(infinite), r / (v_max - v)); }
    };
    struct paid_price_factor
    { static constexpr Spec spec = Spec("p_a", "1", "price paid relative to the default", "Q1").positive(infinite); };
    struct speed_factor_at_price
    {
        static constexpr Spec spec =
            Spec("v(p_a)", "1", "speed relative to the default at the price paid, 0 if never", "Q1");
        template <class T> static constexpr T formula(in<batch_time_ratio, T> r, in<paid_price_factor, T> p)
        { return max(1.0 + r * (1.0 - 1.0 / p), 0.0); }
    };

    using economics = list<
        round_passes,
        round_tokens,
        round_time,
        cost_per_token,
        replica_throughput,
        compute_bound_throughput,
        lone_weight_fetch,
        batch_of_one_penalty,
        monthly_tokens,
        month,
        market_token_rate,
        replicas_for_market,
        fixed_pass_time,
        kv_fetch_time_per_sequence,
        compute_time_per_sequence,
        pass_time_per_sequence,
        batch_time_ratio_from_model,
        price_factor,
        speed_factor,
        batch_time_ratio,
        batch_factor,
        fastest_speed_factor,
        lowest_price_factor,
        asked_speed_factor,
        price_factor_at_speed,
        paid_price_factor,
        speed_factor_at_price>;
}
