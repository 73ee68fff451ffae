// Prefill and decode apart under load: a pool of replicas that prefill, the link between the pools, the bill of both.
#pragma once
#include "roofslate/quantities/latency.hpp"

namespace roofslate::quantities
{
    // --- the prefill pool: requests queue for a replica, which reads one prompt at a time ---

    struct prefill_replicas
    {
        static constexpr Spec spec =
            Spec("R_P", "1", "replicas in the prefill pool, behind one router", "Q6").range(1).by_default(1);
    };
    struct prefill_service_time
    {
        static constexpr Spec spec = Spec("S_P", "s", "service time per prompt on a prefill replica", "Q6");
        template <class T> static constexpr T formula(
            in<prefill_time, T> T_p,
            in<stage_pass_overhead, T> p_n,
            in<time_per_output_token_factor, T> f,
            in<single_sequence, T> one)
        { return (T_p * one + p_n) * f; }
    };
    struct prefill_service_cv
    {
        static constexpr Spec spec = Spec("c_P", "1", "coefficient of variation (CV) of prefill service time", "Q6");
        template <class T> static constexpr T formula(
            in<fresh_input_cv, T> c,
            in<prefill_time, T> T_p,
            in<time_per_output_token_factor, T> f,
            in<single_sequence, T> one,
            in<prefill_service_time, T> S)
        { return c * (T_p * one * f / S); }
    };
    struct max_prefill_rate
    {
        static constexpr Spec spec =
            Spec("\\Lambda_P", "sequence/s", "maximum arrival rate of the prefill pool, load 1", "Q6");
        template <class T> static constexpr T formula(
            in<prefill_replicas, T> R_P,
            in<prefill_service_time, T> S,
            in<single_sequence, T> one)
        { return R_P / S * one; }
    };
    struct prefill_pool_load
    {
        static constexpr Spec spec = Spec("\\varrho_P", "1", "prefill pool load, queue unbounded at 1 and above", "Q6");
        template <class T> static constexpr T formula(in<arrival_rate, T> rate, in<max_prefill_rate, T> most)
        { return rate / most; }
    };
    struct prefill_replica_rate
    {
        static constexpr Spec spec = Spec("\\lambda_P", "sequence/s", "request arrival rate per prefill replica", "Q6");
        template <class T> static constexpr T formula(in<arrival_rate, T> rate, in<prefill_replicas, T> R_P)
        { return rate / R_P; }
    };
    template <class T> constexpr T below_one(const T& load) { return max(min(load, 0.999), 1e-9); }
    struct prefill_wait_probability
    {
        static constexpr Spec spec = Spec("W_P", "1", "probability of waiting for a prefill replica", "Q6");
        template <class T> static constexpr T formula(
            in<prefill_replicas, T> R_P,
            in<prefill_pool_load, T> load,
            in<arrival_cv, T> c)
        {
            const T some = below_one<T>(T(load));
            const T met = routine<erlang_c>(R_P, T(load)) * (met_share<T>(some, c * c) / some);
            return select(load < 1.0, min(met, 1.0), T(1.0));
        }
    };
    struct prefill_wait_time
    {
        static constexpr Spec spec =
            Spec("T_P", "s", "mean prefill-replica wait per waiting request, inf if overloaded", "Q6");
        template <class T> static constexpr T formula(
            in<prefill_service_time, T> S,
            in<prefill_replicas, T> R_P,
            in<prefill_pool_load, T> load,
            in<arrival_cv, T> c,
            in<prefill_service_cv, T> c_P)
        {
            const T v = c * c, spare = 1.0 - met_share<T>(below_one<T>(T(load)), v);
            return select(load < 1.0, S / R_P / spare * ((v + c_P * c_P) / (v + 1.0)), T(infinite));
        }
    };
    struct mean_prefill_wait
    {
        static constexpr Spec spec = Spec("W_P T_P", "s", "mean wait for a prefill replica, inf if overloaded", "Q6");
        template <class T> static constexpr T formula(in<prefill_wait_probability, T> share, in<prefill_wait_time, T> w)
        { return share * w; }
    };
    // --- replacements of single-pool quantities if a prefill pool is given: queue, load, cost ---

    struct share_ahead_of_pools
    {
        static constexpr Spec spec =
            Spec("f_{aP}", "1", "probability of prompts ahead, in the prefill pool if disaggregated", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_queue_load, T> load,
            in<replica_arrival_variation, T> c,
            in<prefill_wait_probability, T> pool)
        { return choose(mode, prompts_ahead_share::formula<T>(load, c), pool); }
    };
    struct time_ahead_of_pools
    {
        static constexpr Spec spec =
            Spec("T_{aP}", "s", "mean wait behind prompts ahead, in the prefill pool if disaggregated", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<prompt_queue_load, T> load,
            in<prompts_ahead_share, T> meet,
            in<replica_arrival_rate, T> rate,
            in<replica_arrival_variation, T> c,
            in<fresh_input_cv, T> c_i,
            in<prompt_overhead_time, T> p_0,
            in<loaded_prompt_step_time, T> prompt,
            in<single_sequence, T> one,
            in<prefill_wait_time, T> pool)
        {
            const T own_wait = prompts_ahead_time::formula<T>(policy, load, meet, rate, c, c_i, p_0, prompt, one);
            return choose(mode, own_wait, pool);
        }
    };
    struct load_of_pools
    {
        static constexpr Spec spec =
            Spec("\\varrho_\\Sigma", "1", "load of decode replicas or prefill pool, the higher one", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<slot_load, T> work,
            in<token_budget_load, T> budget,
            in<prefill_pool_load, T> pool)
        {
            const T own_load = service_load::formula<T>(work, budget);
            return choose(mode, own_load, max(own_load, pool));
        }
    };
    struct limit_of_pools
    {
        static constexpr Spec spec =
            Spec("\\beta_\\Sigma", "1", "load bottleneck of decode replicas and prefill pool", "Q6")
                .one_of("decoding", "prompts", "token_budget", "prefill_pool");
        template <class T> static constexpr T formula(
            in<slot_load, T> work,
            in<decode_load, T> decode,
            in<prompt_load, T> prompts,
            in<token_budget_load, T> budget,
            in<load_of_pools, T> both)
        {
            const T own_limit = load_limit::formula<T>(work, decode, prompts, budget);
            return select(both > service_load::formula<T>(work, budget), T(3.0), own_limit);
        }
    };

    // --- the link between the pools ---

    struct kv_transfer_policy
    {
        static constexpr Spec spec =
            Spec("\\sigma_x", "1", "KV-cache transfer policy (layerwise, after_prefill)", "Q6")
                .one_of("layerwise", "after_prefill")
                .by_default(0);
    };
    struct exposed_kv_transfer_time
    {
        static constexpr Spec spec = Spec("T_{xe}", "s", "exposed KV-cache transfer time, not hidden by prefill", "Q6");
        // A layer is sent once it is read and the one before is sent: the last one is, or all are but the first one
        // read.
        template <class T> static constexpr T formula(
            in<kv_transfer_policy, T> policy,
            in<kv_transfer_time, T> T_x,
            in<prefill_latency, T> t_p,
            in<time_per_output_token_factor, T> f,
            in<layers, T> n)
        {
            const T sent = choose(policy, max(T_x - t_p * f * (1.0 - 1.0 / n), T_x / n), T_x);
            return select(T_x == T(0.0), T(0.0), sent);
        }
    };
    struct kv_link_demand
    {
        static constexpr Spec spec = Spec("u_x", "byte/s", "KV-cache send rate per prefill replica", "Q6");
        template <class T> static constexpr T formula(in<prompt_cache_bytes, T> S_x, in<prefill_replica_rate, T> rate)
        { return S_x * rate; }
    };
    struct kv_link_load
    {
        static constexpr Spec spec =
            Spec("\\varrho_x", "1", "link utilization of KV-cache transfers per prefill replica", "Q6");
        template <class T> static constexpr T formula(
            in<kv_transfer_time, T> T_x,
            in<prompt_batch, T> B_p,
            in<prefill_replica_rate, T> rate)
        { return T_x / B_p * rate; }
    };

    // --- both pools ---

    struct prefill_replica_ratio
    {
        static constexpr Spec spec =
            Spec("R_P/R", "1", "ratio of prefill-pool to decode replicas, 0 if aggregated", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<replica_arrival_rate, T> decode,
            in<prefill_replica_rate, T> prefill)
        { return choose(mode, T(0.0), decode / prefill); }
    };
    struct prefill_replica_price
    {
        static constexpr Spec spec =
            Spec("p_P", "USD/s", "price of a prefill replica, all chips", "Q6").range(0).otherwise<replica_price>();
    };
    struct prefill_replica_chips
    {
        static constexpr Spec spec = Spec("G_P", "chip", "chips per prefill replica", "Q6").range(1).otherwise<chips>();
    };
    struct pool_price
    {
        static constexpr Spec spec =
            Spec("p_\\Sigma", "USD/s", "price of decode replicas and prefill pool together", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prefill_replica_price, T> p_P,
            in<prefill_replicas, T> R_P,
            in<replica_price, T> p,
            in<replicas, T> R)
        { return p * R + choose(mode, T(0.0) * p_P, p_P * R_P); }
    };
    struct pool_chips
    {
        static constexpr Spec spec =
            Spec("G_\\Sigma", "chip", "chips of decode replicas and prefill pool together", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prefill_replica_chips, T> G_P,
            in<prefill_replicas, T> R_P,
            in<chips, T> G,
            in<replicas, T> R)
        { return G * R + choose(mode, T(0.0) * G_P, G_P * R_P); }
    };
    struct pool_cost_per_request
    {
        static constexpr Spec spec =
            Spec("c_\\Sigma", "USD/sequence", "cost per request, decode replicas and prefill pool", "Q6");
        template <class T> static constexpr T formula(
            in<pool_price, T> p,
            in<arrival_rate, T> rate,
            in<load_factor, T> share)
        { return p / rate / share; }
    };
    struct pool_cost_per_input_token
    {
        static constexpr Spec spec =
            Spec("c_{I\\Sigma}", "USD/token", "cost per uncached input token, prefill pool if disaggregated", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prefill_delay_time, T> mixed,
            in<prefill_time, T> separate,
            in<time_per_output_token_factor, T> f,
            in<replica_price, T> p,
            in<fresh_input_tokens, T> I,
            in<prefill_replica_price, T> p_P,
            in<prefill_replicas, T> R_P,
            in<arrival_rate, T> rate,
            in<load_factor, T> share)
        {
            const T own_cost = cost_per_input_token::formula<T>(mode, mixed, separate, f, p, I);
            return choose(mode, own_cost, p_P * R_P / rate / I / share);
        }
    };
    struct pool_tokens_per_second_per_chip
    {
        static constexpr Spec spec =
            Spec("R_\\Sigma", "token/s/chip", "output tokens per second per chip, prefill pool included", "Q6");
        template <class T> static constexpr T formula(
            in<arrival_rate, T> rate,
            in<output_tokens, T> O,
            in<pool_chips, T> G)
        { return rate * O / G; }
    };

    // --- attention and feed-forward layers apart: micro-batches go to and fro between instances of both ---

    struct attention_instance_time
    {
        static constexpr Spec spec =
            Spec("T_a", "s", "attention time per layer and micro-batch, separate feed-forward", "Q13").positive();
    };
    struct feed_forward_instance_time
    {
        static constexpr Spec spec =
            Spec("T_f", "s", "feed-forward time per layer and micro-batch, separate attention", "Q13").positive();
    };
    struct instance_transfer_time
    {
        static constexpr Spec spec =
            Spec("T_c", "s", "transfer time per micro-batch between separate instances, one way", "Q13")
                .range(0)
                .by_default(0);
    };
    struct slowest_instance_time
    {
        static constexpr Spec spec =
            Spec("T_m", "s", "time per layer of the slower attention or feed-forward instance", "Q13");
        template <class T> static constexpr T formula(
            in<attention_instance_time, T> T_a,
            in<feed_forward_instance_time, T> T_f)
        { return max(T_a, T_f); }
    };
    struct instance_balance
    {
        static constexpr Spec spec =
            Spec("(T_a + T_f)/2T_m", "1", "mean utilization of separate attention and feed-forward instances", "Q13");
        template <class T> static constexpr T formula(
            in<attention_instance_time, T> T_a,
            in<feed_forward_instance_time, T> T_f,
            in<slowest_instance_time, T> T_m)
        { return (T_a + T_f) / (2.0 * T_m); }
    };
    struct instance_microbatches
    {
        static constexpr Spec spec =
            Spec("m", "1", "minimum micro-batches to hide transfers between separate instances", "Q13").range(1);
        template <class T> static constexpr T formula(
            in<instance_transfer_time, T> T_c,
            in<slowest_instance_time, T> T_m)
        { return ceil(2.0 * (1.0 + T_c / T_m)); }
    };
    struct instance_step_time
    {
        // A layer of one micro-batch goes there and back, which bounds its pace where micro-batches are few.
        static constexpr Spec spec =
            Spec("t_{af}", "s", "decode step time, separate attention and feed-forward instances", "Q13");
        template <class T> static constexpr T formula(
            in<attention_instance_time, T> T_a,
            in<feed_forward_instance_time, T> T_f,
            in<instance_transfer_time, T> T_c,
            in<slowest_instance_time, T> T_m,
            in<instance_microbatches, T> m,
            in<layers, T> n)
        {
            const T round = T_a + T_f + 2.0 * T_c;
            return round + (m - 1.0) * T_m + (n - 1.0) * max(m * T_m, round);
        }
    };

    using pools = list<
        prefill_replicas,
        prefill_service_time,
        prefill_service_cv,
        max_prefill_rate,
        prefill_pool_load,
        prefill_replica_rate,
        prefill_wait_probability,
        prefill_wait_time,
        mean_prefill_wait,
        share_ahead_of_pools,
        time_ahead_of_pools,
        load_of_pools,
        limit_of_pools,
        kv_transfer_policy,
        exposed_kv_transfer_time,
        kv_link_demand,
        kv_link_load,
        prefill_replica_ratio,
        prefill_replica_price,
        prefill_replica_chips,
        pool_price,
        pool_chips,
        pool_cost_per_request,
        pool_cost_per_input_token,
        pool_tokens_per_second_per_chip,
        attention_instance_time,
        feed_forward_instance_time,
        instance_transfer_time,
        slowest_instance_time,
        instance_balance,
        instance_microbatches,
        instance_step_time>;
}
