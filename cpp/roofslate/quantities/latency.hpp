// Percentiles of a service under load: parts that are independent, each with its mean and its quantile.
#pragma once
#include "roofslate/quantities/slots.hpp"

namespace roofslate::quantities
{
    struct latency_quantile
    {
        static constexpr Spec spec =
            Spec("q", "1", "latency percentile as a fraction (0.99 for p99)", "Q6")
                .range(0.01, 0.9999)
                .by_default(0.99);
    };

    // --- the first token, part by part ---

    struct current_step_time
    {
        static constexpr Spec spec = Spec("t(B)", "s", "step time at a request's arrival, prompts excluded", "Q6");
        template <class T> static constexpr T formula(
            in<decode_step_base, T> a,
            in<decode_step_slope, T> b,
            in<loaded_running_sequences, T> B,
            in<emitted_length, T> e)
        { return (a + b * B) * e; }
    };
    struct busy_share
    {
        static constexpr Spec spec = Spec("f_b", "1", "fraction of arrivals during a running step", "Q6").range(0, 1);
        template <class T> static constexpr T formula(
            in<decode_step_base, T> a,
            in<decode_step_slope, T> b,
            in<decode_odds, T> r,
            in<prompt_time_share, T> u,
            in<sequence_slots, T> N)
        {
            const T shape = count(N) * (a / (b * N)) + 1.0;
            return 1.0 - exp(shape * log(1.0 - r)) * max(1.0 - u, 0.0);
        }
    };
    struct prompt_queue_load
    {
        static constexpr Spec spec =
            Spec("\\varrho_q", "1", "prefill load, fraction of time with a prompt in prefill", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<replica_arrival_rate, T> rate,
            in<prompt_time_share, T> u,
            in<fresh_input_tokens, T> I,
            in<prompt_room, T> budget,
            in<current_step_time, T> t,
            in<single_sequence, T> one)
        {
            const T chunked = u + rate * (count(I) / count(budget)) * t / one;
            return min(choose(mode, choose(policy, chunked, T(u)), T(0.0)), 0.999);
        }
    };
    struct share_ahead_of_pools;
    struct prompts_ahead_share
    {
        static constexpr Spec spec =
            Spec("f_a", "1", "fraction of requests with prompts ahead", "Q6")
                .range(0, 1)
                .replaced_by_where<share_ahead_of_pools, prefill_replicas>();
        template <class T> static constexpr T formula(in<prompt_queue_load, T> load, in<replica_arrival_variation, T> c)
        { return met_share<T>(T(load), T(c)); }
    };
    struct time_ahead_of_pools;
    struct prompts_ahead_time
    {
        static constexpr Spec spec =
            Spec("T_a", "s", "mean prefill time of prompts ahead, if any", "Q6")
                .replaced_by_where<time_ahead_of_pools, prefill_replicas>();
        template <class T> static constexpr T formula(
            in<prompt_policy, T> policy,
            in<prompt_queue_load, T> load,
            in<prompts_ahead_share, T> meet,
            in<replica_arrival_rate, T> rate,
            in<replica_arrival_variation, T> c,
            in<fresh_input_cv, T> c_i,
            in<prompt_overhead_time, T> p_0,
            in<loaded_prompt_step_time, T> prompt,
            in<single_sequence, T> one)
        {
            const T p = p_0 + prompt;
            const T work = select(p == T(0.0), T(0.0), prompt / p), prompt_cv = c_i * work;
            const T spread = (c + choose(policy, c_i * c_i, prompt_cv * prompt_cv)) / (c + 1.0);
            // Prompts that wait share one step and its fixed cost.
            const T more = meet * choose(policy, T(1.0), work);
            return select(load == T(0.0), 0.0 * (p * one), load / rate * one / (1.0 - more) * spread);
        }
    };
    // Prefill time of a prompt so many times as long as the mean. In chunks its compute uses the time that memory reads
    // leave idle in the steps that it shares.
    template <class T> constexpr T reading_of(
        in<serving_mode, T> mode,
        in<prompt_policy, T> policy,
        const T& ratio,
        const T& steps,
        in<current_step_time, T> t,
        in<loaded_prompt_step_time, T> beside_steps,
        in<prompt_lag_time, T> lag,
        in<prompt_work_time, T> work,
        in<prompt_pass_overhead, T> p_0,
        in<time_per_output_token_factor, T> f,
        in<single_sequence, T> one)
    {
        const T alone = p_0 * f + work * (ratio * one * f);
        return choose(mode, choose(policy, steps * t + (beside_steps + lag) * (ratio * one), alone), alone);
    }
    struct own_prompt_time
    {
        static constexpr Spec spec = Spec("T_i", "s", "prefill time of a mean-length prompt from its first step", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<prompt_chunks, T> n,
            in<current_step_time, T> t,
            in<loaded_prompt_step_time, T> beside_steps,
            in<prompt_lag_time, T> lag,
            in<prompt_work_time, T> work,
            in<prompt_pass_overhead, T> p_0,
            in<time_per_output_token_factor, T> f,
            in<single_sequence, T> one)
        { return reading_of<T>(mode, policy, T(1.0), T(n), t, beside_steps, lag, work, p_0, f, one); }
    };
    struct input_length_ratio
    {
        static constexpr Spec spec = Spec("I_q/I", "1", "ratio of percentile to mean prompt length, lognormal", "Q6");
        template <class T> static constexpr T formula(in<fresh_input_cv, T> c, in<latency_quantile, T> q)
        {
            const T spread = log(1.0 + c * c);
            return exp(sqrt(spread) * routine<normal_quantile>(q) - spread / 2.0);
        }
    };
    struct own_prompt_time_quantile
    {
        static constexpr Spec spec =
            Spec("T_{iq}", "s", "prefill time of a percentile-length prompt from its first step", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<fresh_input_tokens, T> I,
            in<prompt_room, T> budget,
            in<fresh_input_cv, T> c,
            in<input_length_ratio, T> ratio,
            in<current_step_time, T> t,
            in<loaded_prompt_step_time, T> beside_steps,
            in<prompt_lag_time, T> lag,
            in<prompt_work_time, T> work,
            in<prompt_pass_overhead, T> p_0,
            in<time_per_output_token_factor, T> f,
            in<single_sequence, T> one)
        {
            const T steps = steps_of<T>(count(I) * ratio, count(budget), c);
            return reading_of<T>(mode, policy, T(ratio), steps, t, beside_steps, lag, work, p_0, f, one);
        }
    };
    struct first_decode_step_time
    {
        // If the prompt was read elsewhere, the first token takes a step of the sequences that it joins.
        static constexpr Spec spec =
            Spec("T_d", "s", "first decode step time after remote prefill, 0 if aggregated", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<current_step_time, T> t,
            in<decode_step_slope, T> b,
            in<arrival_burst_factor, T> z,
            in<emitted_length, T> e,
            in<single_sequence, T> one)
        { return choose(mode, 0.0 * t, t + b * (z * one) * e); }
    };
    struct step_time_spread
    {
        // All steps of a request's way to its first token have about the same sequences: one under way, half gone, and
        // those that read its prompt or make the token.
        static constexpr Spec spec =
            Spec("s_d", "s", "step time to first token, percentile minus mean running sequences", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<prompt_chunks, T> n,
            in<busy_share, T> busy,
            in<decode_step_slope, T> b,
            in<loaded_running_sequences, T> B,
            in<running_variance, T> variance,
            in<sequence_slots, T> N,
            in<emitted_length, T> e,
            in<single_sequence, T> one,
            in<latency_quantile, T> q)
        {
            const T some = max(B, 1e-6 * one);
            const T met = routine<gamma_quantile>(T(q), some, max(variance, 1e-9 * (some * some)));
            const T steps = choose(mode, choose(policy, T(n), T(0.0)), T(1.0)) + busy / 2.0;
            return steps * (b * min(met - B, max(N - B, 0.0 * N)) * e);
        }
    };
    // Prompts that came while a request waited and share its step.
    template <class T> constexpr T behind_of(
        in<serving_mode, T> mode,
        in<prompt_policy, T> policy,
        in<replica_arrival_rate, T> rate,
        in<replica_arrival_variation, T> variation,
        const T& waited,
        in<current_step_time, T> t,
        in<step_token_budget, T> C,
        in<prompt_room, T> budget,
        in<fresh_input_tokens, T> I,
        in<loaded_prompt_step_time, T> prompt,
        in<single_sequence, T> one)
    {
        const T tokens = count(I);
        const T alone =
            min(routine<arrivals_after>(rate * waited / one, variation), max(count(C) / tokens - 1.0, 0.0) / 2.0);
        const T chunked = min(routine<arrivals_after>(rate * t / one, variation), count(budget) / tokens / 2.0);
        return choose(mode, choose(policy, chunked, alone) * (prompt * one), 0.0 * (prompt * one));
    }
    struct prompts_behind_time
    {
        static constexpr Spec spec = Spec("T_b", "s", "mean prefill time of later prompts in the same step", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<replica_arrival_rate, T> rate,
            in<replica_arrival_variation, T> variation,
            in<busy_share, T> busy,
            in<prompts_ahead_share, T> meet,
            in<prompts_ahead_time, T> ahead,
            in<current_step_time, T> t,
            in<step_token_budget, T> C,
            in<prompt_room, T> budget,
            in<fresh_input_tokens, T> I,
            in<loaded_prompt_step_time, T> prompt,
            in<single_sequence, T> one)
        {
            const T waited = busy * t / 2.0 + meet * ahead;
            return behind_of<T>(mode, policy, rate, variation, waited, t, C, budget, I, prompt, one);
        }
    };
    struct rest_of_step_quantile
    {
        static constexpr Spec spec = Spec("T_{sq}", "s", "remaining time of the running step at the percentile", "Q6");
        template <class T> static constexpr T formula(
            in<busy_share, T> busy,
            in<current_step_time, T> t,
            in<latency_quantile, T> q)
        { return t * max(1.0 - (1.0 - q) / max(busy, 1e-9), 0.0); }
    };
    struct rest_of_step_mean
    {
        static constexpr Spec spec =
            Spec("m_{sq}", "s", "remaining time of the running step, mean below the percentile", "Q6");
        template <class T> static constexpr T formula(
            in<busy_share, T> busy,
            in<rest_of_step_quantile, T> residual,
            in<current_step_time, T> t)
        { return busy * residual * residual / (2.0 * t); }
    };
    struct prompts_ahead_variation
    {
        // Of the residual of a lognormal time at a random moment: 4/3 (1 + c^2) - 1. A sum of several is nearer to
        // exponential, with 1.
        static constexpr Spec spec =
            Spec("c_a^2", "1", "residual prefill time, squared coefficient of variation (CV)", "Q6");
        template <class T> static constexpr T formula(
            in<prompt_policy, T> policy,
            in<fresh_input_cv, T> c_i,
            in<prompt_overhead_time, T> p_0,
            in<loaded_prompt_step_time, T> prompt)
        {
            const T p = p_0 + prompt, prompt_cv = c_i * select(p == T(0.0), T(0.0), prompt / p);
            return max((1.0 + choose(policy, c_i * c_i, prompt_cv * prompt_cv)) * 4.0 / 3.0 - 1.0, 1.0);
        }
    };
    struct prompts_ahead_quantile
    {
        static constexpr Spec spec = Spec("T_{aq}", "s", "prefill time of prompts ahead at the percentile", "Q6");
        template <class T> static constexpr T formula(
            in<prompts_ahead_share, T> meet,
            in<prompts_ahead_time, T> ahead,
            in<prompts_ahead_variation, T> variation,
            in<latency_quantile, T> q)
        {
            const T of_those = max(1.0 - (1.0 - q) / max(meet, 1e-9), 1e-9);
            const T spread = log(1.0 + variation);
            const T lognormal = exp(sqrt(spread) * routine<normal_quantile>(of_those) - spread / 2.0);
            const T several = routine<wait_quantile>(T(meet), q);
            return ahead * select(meet > 1.0 - q, lognormal + meet * (several - lognormal), T(0.0));
        }
    };
    struct prompts_ahead_mean
    {
        static constexpr Spec spec =
            Spec("m_{aq}", "s", "prefill time of prompts ahead, mean below the percentile", "Q6");
        template <class T> static constexpr T formula(
            in<prompts_ahead_share, T> meet,
            in<prompts_ahead_time, T> ahead,
            in<prompts_ahead_variation, T> variation,
            in<prompts_ahead_quantile, T> ahead_q,
            in<latency_quantile, T> q)
        {
            const T beyond = (1.0 - q) * (ahead_q + ahead * (variation + meet * (1.0 - variation)));
            return select(meet > 1.0 - q, max(meet * ahead - beyond, 0.0 * ahead), 0.0 * ahead);
        }
    };
    struct prompts_behind_quantile
    {
        static constexpr Spec spec = Spec("T_{bb}", "s", "prefill time of later prompts at the percentile", "Q6");
        template <class T> static constexpr T formula(in<prompts_behind_time, T> behind, in<latency_quantile, T> q)
        { return behind * routine<wait_quantile>(T(1.0), q); }
    };

    // --- the wait for a slot ---

    struct slot_hold_time
    {
        static constexpr Spec spec = Spec("w", "s/sequence", "replica time per request, all slots taken", "Q6");
        template <class T> static constexpr T formula(
            in<decoded_tokens, T> D,
            in<full_decode_token_time, T> t,
            in<sequence_slots, T> N,
            in<prompt_overhead_time, T> p_0,
            in<full_prompt_step_time, T> prompt)
        { return D * (t / N) + (p_0 + prompt); }
    };
    struct slot_wait
    {
        // Kingman's mean of bursts and lengths, with exponents that meet heavy traffic at load 1 and 40 queues below.
        static constexpr Spec spec = Spec("T_w", "s", "mean slot wait of waiting requests, inf if overloaded", "Q6");
        template <class T> static constexpr T formula(
            in<slot_hold_time, T> w,
            in<prompt_work_variance, T> variance,
            in<decoded_tokens, T> D,
            in<full_decode_token_time, T> t,
            in<sequence_slots, T> N,
            in<single_sequence, T> one,
            in<output_cv, T> c_o,
            in<pooled_arrival_variation, T> c,
            in<pooled_replicas, T> R,
            in<slot_load, T> load)
        {
            const T decode = D * (t / N) * c_o;
            const T service_scv = (decode * decode + variance) / (w * w);
            const T h = (c + service_scv) / (c + 1.0), busy = min(load, 0.999);
            const T spread = 1.0 + (h - 1.0) * pow(max(busy, 1e-9), select(h > 1.0, T(2.3), 0.75 * c));
            const T wait = w * one / R / (1.0 - met_share<T>(busy, T(c))) * spread;
            return select(load < 1.0, wait, T(infinite));
        }
    };
    struct loaded_slot_wait
    {
        static constexpr Spec spec =
            Spec("T_{q\\lambda}", "s", "mean slot wait of all requests, inf if overloaded", "Q6");
        template <class T> static constexpr T formula(in<slot_wait_probability, T> waits, in<slot_wait, T> wait)
        { return waits * wait; }
    };
    struct loaded_request_throughput
    {
        static constexpr Spec spec =
            Spec("X_\\lambda", "sequence/s", "request throughput of a replica under load", "Q6");
        template <class T> static constexpr T formula(in<replica_arrival_rate, T> rate, in<service_load, T> load)
        { return rate / max(load, 1.0); }
    };
    struct max_arrival_rate
    {
        static constexpr Spec spec =
            Spec("\\Lambda_{max}", "sequence/s", "maximum arrival rate, all replicas at load 1", "Q6");
        template <class T> static constexpr T formula(
            in<arrival_rate, T> rate,
            in<service_load, T> load,
            in<replicas, T> R,
            in<slot_hold_time, T> w)
        { return select(load > 0.0, rate / load, R / w); }
    };
    struct replicas_for_load
    {
        static constexpr Spec spec = Spec("n_R", "1", "minimum replicas for a load below 1", "Q13");
        template <class T> static constexpr T formula(
            in<replicas, T> R,
            in<slot_load, T> work,
            in<token_budget_load, T> budget)
        { return floor(R * service_load::formula<T>(work, budget)) + 1.0; }
    };

    // --- to the first token ---

    struct exposed_kv_transfer_time;
    struct fixed_first_token_time
    {
        static constexpr Spec spec =
            Spec("T_{10}", "s", "mean time to first token (TTFT), waiting and other prompts excluded", "Q6");
        template <class T> static constexpr T formula(
            in<request_overhead, T> t_r,
            in<own_prompt_time, T> own_time,
            in<first_decode_step_time, T> step,
            in<exposed_kv_transfer_time, T> T_x,
            in<prefix_load_time, T> T_l,
            in<admission_steps, T> n_w,
            in<receive_interval, T> n_r,
            in<current_step_time, T> t)
        {
            const T passes = max(n_w - 0.5, 0.0) + (n_r - 1.0) / 2.0; // the remaining running step is a separate term
            return t_r + own_time + (step + plus_optional(T_x, T_l)) + spend(passes, t);
        }
    };
    struct loaded_first_token_time
    {
        static constexpr Spec spec =
            Spec("T_{1\\lambda}", "s", "mean time to first token (TTFT) under load, slot wait excluded", "Q6");
        template <class T> static constexpr T formula(
            in<busy_share, T> busy,
            in<current_step_time, T> t,
            in<prompts_ahead_share, T> meet,
            in<prompts_ahead_time, T> ahead,
            in<prompts_behind_time, T> behind,
            in<fixed_first_token_time, T> fixed,
            in<time_to_first_token_factor, T> f,
            in<service_load, T> load)
        {
            const T time = fixed + (busy * t / 2.0 + meet * ahead + behind);
            return select(load < 1.0, time * f, T(infinite));
        }
    };
    struct own_prompt_time_spread
    {
        static constexpr Spec spec =
            Spec("T_{iq} - T_i", "s", "prefill and first-token time, percentile minus mean", "Q6");
        template <class T> static constexpr T formula(
            in<own_prompt_time_quantile, T> own_q,
            in<own_prompt_time, T> own_time,
            in<step_time_spread, T> spread)
        { return own_q - own_time + spread; }
    };
    struct time_to_first_token_quantile
    {
        static constexpr Spec spec =
            Spec("T_{fq}", "s", "time to first token (TTFT) at the percentile, inf if overloaded", "Q6");
        template <class T> static constexpr T formula(
            in<latency_quantile, T> q,
            in<rest_of_step_quantile, T> residual,
            in<rest_of_step_mean, T> rest_m,
            in<prompts_ahead_quantile, T> ahead_q,
            in<prompts_ahead_mean, T> ahead_m,
            in<fixed_first_token_time, T> fixed,
            in<own_prompt_time_spread, T> own_spread,
            in<prompts_behind_time, T> behind,
            in<prompts_behind_quantile, T> behind_q,
            in<slot_wait_probability, T> waits,
            in<slot_wait, T> wait,
            in<time_to_first_token_factor, T> f,
            in<service_load, T> load)
        {
            const T seat = select(load < 1.0, wait, 0.0 * residual) / f,
                    seat_q = seat * routine<wait_quantile>(T(waits), q);
            const T behind_m = behind * routine<wait_below>(T(1.0), q);
            const T seat_m = seat * routine<wait_below>(T(waits), q);
            const T far = routine<signed_square>(residual - rest_m) + routine<signed_square>(ahead_q - ahead_m)
                + routine<signed_square>(own_spread) + routine<signed_square>(behind_q - behind_m)
                + routine<signed_square>(seat_q - seat_m);
            const T away = routine<signed_root>(far);
            return select(load < 1.0, (fixed + (rest_m + ahead_m + behind_m + seat_m) + away) * f, T(infinite));
        }
    };

    // --- between tokens ---

    struct prompt_token_delay
    {
        static constexpr Spec spec =
            Spec("E_p/D", "s*sequence/token", "mean delay per output token from prompts queued behind", "Q6");
        template <class T> static constexpr T formula(
            in<prompt_delay, T> delay,
            in<decoded_tokens, T> D,
            in<single_sequence, T> one)
        { return delay / D * one; }
    };
    struct token_time_excess
    {
        static constexpr Spec spec =
            Spec("m_o", "s*sequence/token", "mean TPOT added by other requests, prompts queued behind excluded", "Q6");
        template <class T> static constexpr T formula(
            in<loaded_time_per_output_token, T> t,
            in<prompt_token_delay, T> delay,
            in<token_time_floor, T> least)
        { return max(t - delay - least, 1e-9 * least); }
    };
    struct token_time_batch_variance
    {
        static constexpr Spec spec = Spec(
            "v_b",
            "s*s*sequence*sequence/token/token",
            "instantaneous TPOT variance from running sequences",
            "Q6");
        template <class T> static constexpr T formula(
            in<decode_step_slope, T> b,
            in<prompt_time_share, T> u,
            in<running_variance, T> variance)
        {
            const T slope = b / max(1.0 - u, 1e-6);
            return slope * slope * variance;
        }
    };
    struct token_time_prompt_variance
    {
        static constexpr Spec spec = Spec(
            "v_p",
            "s*s*sequence*sequence/token/token",
            "TPOT variance from other prompts, mean output length",
            "Q6");
        template <class T> static constexpr T formula(
            in<replica_arrival_rate, T> rate,
            in<prompt_overhead_time, T> p_0,
            in<loaded_prompt_step_time, T> prompt,
            in<prompt_work_variance, T> variance,
            in<prompt_time_share, T> u,
            in<token_time_excess, T> excess,
            in<token_time_floor, T> least,
            in<decoded_tokens, T> D,
            in<replica_arrival_variation, T> variation,
            in<slot_wait_probability, T> waits,
            in<single_sequence, T> one)
        {
            // Requests that wait for a slot come when one is free, not in bursts.
            const T idle = max(1.0 - u, 1e-6), p = p_0 + prompt, counts = 1.0 + (variation - 1.0) * (1.0 - waits);
            return rate * ((p * p * counts + variance) / (idle * idle)) * ((excess + least) / D * one);
        }
    };
    struct token_time_joint_variance
    {
        // Arrivals bring prompts and sequences: of a long answer the two have a correlation of sqrt(1/2).
        static constexpr Spec spec = Spec(
            "v_j",
            "s*s*sequence*sequence/token/token",
            "TPOT variance from running sequences, plus prompt covariance",
            "Q6");
        template <class T> static constexpr T formula(
            in<token_time_batch_variance, T> v_b,
            in<token_time_prompt_variance, T> v_p,
            in<token_time_floor, T> least,
            in<decode_odds, T> r)
        {
            const T hardly = 1e-36 * (least * least) * (least * least); // if one has no variance
            return v_b + sqrt(v_b * v_p * ((1.0 - r) * 2.0 / 3.0) + hardly);
        }
    };
    struct time_per_output_token_target
    {
        static constexpr Spec spec =
            Spec("\\hat T_o", "s*sequence/token", "target time per output token (TPOT), SLO", "Q6").positive();
    };
    // Share of answers within the target among answers of one length, given relative to the mean length.
    template <class T> constexpr T quick_share(
        const T& x,
        const T& length,
        in<token_time_excess, T> excess,
        in<prompt_token_delay, T> delay,
        in<token_time_joint_variance, T> v_j,
        in<token_time_prompt_variance, T> v_p,
        in<decode_odds, T> r)
    {
        const T mean_delay = delay / length;
        const T variance = v_j / (1.0 + (1.0 - r) / 3.0 * length) + v_p / length + mean_delay * mean_delay;
        return routine<gamma_share>(x, excess + mean_delay, variance);
    }
    struct quick_answer_share
    {
        // A request sees the others through a window as long as its answer; seven lengths represent all (Gauss and
        // Hermite).
        static constexpr Spec spec =
            Spec("f_o", "1", "fraction of requests within the TPOT target (SLO attainment)", "Q6").range(0, 1);
        template <class T> static constexpr T formula(
            in<time_per_output_token_target, T> target,
            in<token_time_floor, T> least,
            in<token_time_excess, T> excess,
            in<prompt_token_delay, T> delay,
            in<token_time_joint_variance, T> v_j,
            in<token_time_prompt_variance, T> v_p,
            in<decode_odds, T> r,
            in<output_cv, T> c)
        {
            const T x = target - least, spread = log(1.0 + c * c), s = sqrt(spread);
            const auto at = [&](double z, double weight) {
                return weight * quick_share<T>(x, exp(z * s - spread / 2.0), excess, delay, v_j, v_p, r);
            };
            return select(
                x > T(0.0),
                at(0.0, 0.45714285714285713)
                    + (at(-1.1544053947399682, 0.24012317860501271) + at(1.1544053947399682, 0.24012317860501271))
                    + (at(-2.3667594107345412, 0.03075712396758648) + at(2.3667594107345412, 0.03075712396758648))
                    + (at(-3.7504397177257420, 0.00054826885597222) + at(3.7504397177257420, 0.00054826885597222)),
                T(0.0));
        }
    };
    // The next guess at a quantile, along a line of normal quantiles over cube roots: both nearly straight.
    template <class T> constexpr T cube_root(const T& x) { return exp(log(max(x, 1e-12)) / 3.0); }
    template <class T> constexpr T normal_of(const T& share)
    { return routine<normal_quantile>(min(max(share, 1e-12), 1.0 - 1e-12)); }
    struct token_time_guess
    {
        static constexpr Spec spec =
            Spec("T_{o0}", "s*sequence/token", "TPOT percentile, first estimate from mean and variance", "Q6");
        template <class T> static constexpr T formula(
            in<latency_quantile, T> q,
            in<token_time_floor, T> least,
            in<token_time_excess, T> excess,
            in<prompt_token_delay, T> delay,
            in<token_time_joint_variance, T> v_j,
            in<token_time_prompt_variance, T> v_p,
            in<decode_odds, T> r,
            in<output_cv, T> c)
        {
            const T more = 1.0 + c * c, mean_delay = delay * more;
            const T variance = v_j / (1.0 + (1.0 - r) / 3.0) + v_p * more + mean_delay * mean_delay;
            return least + routine<gamma_quantile>(T(q), excess + mean_delay, variance);
        }
    };
    struct guessed_quick_share
    {
        static constexpr Spec spec =
            Spec("f_{o0}", "1", "fraction of requests within the first TPOT estimate", "Q6")
                .value_of<quick_answer_share>()
                .where<time_per_output_token_target, token_time_guess>();
    };
    struct second_token_time_guess
    {
        static constexpr Spec spec = Spec("T_{o1}", "s*sequence/token", "TPOT percentile, second estimate", "Q6");
        template <class T> static constexpr T formula(
            in<latency_quantile, T> q,
            in<token_time_floor, T> least,
            in<token_time_excess, T> excess,
            in<prompt_token_delay, T> delay,
            in<token_time_joint_variance, T> v_j,
            in<token_time_prompt_variance, T> v_p,
            in<token_time_guess, T> guess,
            in<guessed_quick_share, T> share)
        {
            const T m = excess + delay, v = (v_j + v_p + delay * delay) / (m * m) / 9.0;
            const T off = routine<normal_quantile>(q) - normal_of<T>(T(share));
            const T root = max(cube_root<T>((guess - least) / m) + off * sqrt(v), 1e-3);
            return least + m * (root * root * root);
        }
    };
    struct second_quick_share
    {
        static constexpr Spec spec =
            Spec("f_{o1}", "1", "fraction of requests within the second TPOT estimate", "Q6")
                .value_of<quick_answer_share>()
                .where<time_per_output_token_target, second_token_time_guess>();
    };
    // Line through two guesses above the floor, with their shares.
    template <class T> constexpr T through(
        in<latency_quantile, T> q,
        const T& first,
        const T& first_share,
        const T& second,
        const T& second_share)
    {
        const T h_1 = cube_root<T>(first / second), z_1 = normal_of<T>(first_share), z_2 = normal_of<T>(second_share);
        const T rise = (h_1 - 1.0) * (z_1 - z_2) / max((z_1 - z_2) * (z_1 - z_2), 1e-12);
        const T root = max(1.0 + min(max(rise, 0.0), 1.0) * (routine<normal_quantile>(q) - z_2), 0.1);
        return second * (root * root * root);
    }
    struct third_token_time_guess
    {
        static constexpr Spec spec = Spec("T_{o2}", "s*sequence/token", "TPOT percentile, third estimate", "Q6");
        template <class T> static constexpr T formula(
            in<latency_quantile, T> q,
            in<token_time_floor, T> least,
            in<token_time_guess, T> first,
            in<guessed_quick_share, T> first_share,
            in<second_token_time_guess, T> second,
            in<second_quick_share, T> second_share)
        { return least + through<T>(q, first - least, T(first_share), second - least, T(second_share)); }
    };
    struct third_quick_share
    {
        static constexpr Spec spec =
            Spec("f_{o2}", "1", "fraction of requests within the third TPOT estimate", "Q6")
                .value_of<quick_answer_share>()
                .where<time_per_output_token_target, third_token_time_guess>();
    };
    // With all slots taken, a prompt is read where an answer ends: their number varies as the lengths of answers do.
    struct full_token_time_excess
    {
        static constexpr Spec spec =
            Spec("e_N", "s*sequence/token", "TPOT with all slots taken in excess of a lone sequence", "Q6");
        template <class T> static constexpr T formula(
            in<token_time_floor, T> least,
            in<full_decode_token_time, T> t,
            in<sequence_slots, T> N,
            in<decoded_tokens, T> D,
            in<prompt_overhead_time, T> p_0,
            in<loaded_prompt_step_time, T> prompt)
        { return max(t + N * (p_0 + prompt) / D - least, 1e-9 * least); }
    };
    struct full_token_time_variance
    {
        static constexpr Spec spec = Spec(
            "v_N",
            "s*s*sequence*sequence/token/token",
            "TPOT variance with all slots taken, median output length",
            "Q6");
        template <class T> static constexpr T formula(
            in<full_token_time_excess, T> mean,
            in<sequence_slots, T> N,
            in<decoded_tokens, T> D,
            in<prompt_overhead_time, T> p_0,
            in<loaded_prompt_step_time, T> prompt,
            in<prompt_work_variance, T> variance,
            in<output_cv, T> c,
            in<single_sequence, T> one)
        {
            const T p = p_0 + prompt, work = (variance + (c * p) * (c * p)) * sqrt(1.0 + c * c);
            return N * one / (D * D) * work + 1e-6 * (mean * mean);
        }
    };
    struct full_token_time_quantile
    {
        static constexpr Spec spec =
            Spec("T_{Nq}", "s*sequence/token", "TPOT percentile with all slots taken, median output length", "Q6");
        template <class T> static constexpr T formula(
            in<latency_quantile, T> q,
            in<token_time_floor, T> least,
            in<full_token_time_excess, T> mean,
            in<full_token_time_variance, T> variance)
        { return least + routine<gamma_quantile>(T(q), T(mean), T(variance)); }
    };
    struct calm_gap_quantile
    {
        // Of a token, the others that run are distributed as all are of a moment.
        static constexpr Spec spec =
            Spec("T_{cq}", "s*sequence/token", "inter-token latency (ITL) percentile, other prompts excluded", "Q6");
        template <class T> static constexpr T formula(
            in<latency_quantile, T> q,
            in<token_time_floor, T> least,
            in<decode_step_slope, T> b,
            in<loaded_running_sequences, T> B,
            in<running_variance, T> variance,
            in<full_decode_token_time, T> full,
            in<single_sequence, T> one,
            in<service_load, T> load)
        {
            const T some = max(B, 1e-6 * one);
            const T concurrent = routine<gamma_quantile>(T(q), some, max(variance, 1e-9 * (some * some)));
            return select(load < 1.0, min(least + b * concurrent, max(full, least)), T(infinite));
        }
    };
    struct prompt_gap_limit
    {
        static constexpr Spec spec =
            Spec("m_C", "s", "maximum prefill time per step (token budget), inf if unlimited", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<loaded_prompt_step_time, T> prompt,
            in<fresh_input_tokens, T> I,
            in<prompt_room, T> budget,
            in<current_step_time, T> t,
            in<single_sequence, T> one)
        {
            const T endless = T(infinite) * t;
            return choose(mode, choose(policy, prompt * one * (count(budget) / count(I)), endless), endless);
        }
    };
    struct time_per_output_token_quantile
    {
        static constexpr Spec spec = Spec(
            "T_{oq}",
            "s*sequence/token",
            "time per output token (TPOT) at the percentile, inf if overloaded",
            "Q6");
        template <class T> static constexpr T formula(
            in<latency_quantile, T> q,
            in<token_time_floor, T> least,
            in<token_time_excess, T> excess,
            in<prompt_token_delay, T> delay,
            in<second_token_time_guess, T> second,
            in<second_quick_share, T> second_share,
            in<third_token_time_guess, T> third,
            in<third_quick_share, T> third_share,
            in<full_token_time_quantile, T> full,
            in<calm_gap_quantile, T> calm,
            in<prompt_gap_limit, T> most,
            in<sampled_length, T> single,
            in<service_load, T> load)
        {
            const T interpolated = named(
                "interpolated",
                "T_i",
                least + through<T>(q, second - least, T(second_share), third - least, T(third_share)));
            const T rare = least + (excess + delay) / (1.0 - q); // Markov: near no load hardly an answer is disturbed
            return select(load < 1.0, min(min(interpolated, full), min(calm + most / single, rare)), T(infinite));
        }
    };
    struct prompt_step_share
    {
        // Arrivals in bursts fall into fewer steps: the chance of none in a time that is exponential, put right for
        // Poisson arrivals in a time that is not. In chunks, a step that reads prompts lasts longer and meets more.
        static constexpr Spec spec = Spec("f_p", "1", "fraction of steps with prefill", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<replica_arrival_rate, T> rate,
            in<replica_arrival_variation, T> variation,
            in<prompt_time_share, T> u,
            in<current_step_time, T> t,
            in<single_sequence, T> one)
        {
            const T x = max(rate * t / one, 1e-12), c = max(variation, 0.01);
            const T bursts = (1.0 - pow(1.0 + c / x, -1.0 / c)) * (1.0 + x);
            const T some = (1.0 - exp(-x)) * select(variation == T(1.0), T(1.0), min(bursts, 1.0));
            return choose(mode, choose(policy, some * (1.0 + u) / (1.0 + some * u), some), T(0.0));
        }
    };
    struct prompt_step_work
    {
        static constexpr Spec spec = Spec("m_p", "s", "mean prefill time between two decode steps", "Q6");
        template <class T> static constexpr T formula(in<prompt_time_share, T> u, in<current_step_time, T> t)
        { return u * t / max(1.0 - u, 0.001); }
    };
    struct prompt_gap_work
    {
        // Running sequences meet more prompts than a step: prompts behind their own and prompts of their burst.
        static constexpr Spec spec = Spec("w_g", "s", "mean prefill time in an inter-token gap", "Q6");
        template <class T> static constexpr T formula(
            in<prompt_step_work, T> work,
            in<prompt_token_delay, T> delay,
            in<sampled_length, T> single)
        { return work + delay * single; }
    };
    struct prompt_gap_share
    {
        static constexpr Spec spec = Spec("f_g", "1", "fraction of inter-token gaps with prefill", "Q6");
        template <class T> static constexpr T formula(
            in<prompt_step_share, T> share,
            in<prompt_step_work, T> work,
            in<prompt_gap_work, T> met)
        { return select(work > 0.0 * met, min(share * (met / work), 1.0 - 1e-9), T(0.0)); }
    };
    struct prompt_gap_mean
    {
        static constexpr Spec spec = Spec("m_g", "s", "mean prefill time in an inter-token gap with prefill", "Q6");
        template <class T> static constexpr T formula(in<prompt_gap_share, T> share, in<prompt_gap_work, T> met)
        { return select(share > 0.0, met / max(share, 1e-12), 0.0 * met); }
    };
    struct prompt_gap_spread
    {
        // Prompts first: a busy period that starts with the arrivals of a step. In chunks: generations, each with the
        // arrivals of the step before.
        static constexpr Spec spec =
            Spec("s_g^2", "1", "log-variance of prefill time in a gap with prefill, lognormal", "Q6");
        template <class T> static constexpr T formula(
            in<prompt_policy, T> policy,
            in<prompt_time_share, T> u,
            in<replica_arrival_rate, T> rate,
            in<replica_arrival_variation, T> variation,
            in<prompt_overhead_time, T> p_0,
            in<loaded_prompt_step_time, T> prompt,
            in<prompt_work_variance, T> variance,
            in<prompt_step_work, T> work,
            in<prompt_gap_mean, T> mean,
            in<current_step_time, T> t,
            in<single_sequence, T> one)
        {
            const T idle = max(1.0 - u, 0.001), p = p_0 + prompt, x = rate * t / one;
            const T counts =
                select(variation == T(1.0), T(1.0), 1.0 + 2.0 * (routine<arrivals_after>(x, variation) - x));
            const T unchunked = (variance + p * p * counts) / (idle * idle);
            const T chunked = variance + p * p * (counts + rate * rate * variance) / (idle * (1.0 + u));
            const T square = rate * t * one / idle * choose(policy, chunked, unchunked) + work * work;
            const T all = max(work * mean, 1e-12 * (t * t));
            return log(max(select(mean > 0.0 * t, square / all, T(1.0)), 1.0 + 1e-6));
        }
    };
    // Expected full steps after one with more than x, if the time of prompts in a gap is lognormal: a sum of whole
    // steps, an integral for the second and later ones.
    template <class T> constexpr T full_steps_of(const T& x, const T& mean, const T& spread, const T& most)
    {
        const T s = sqrt(spread), half = x + 1.5 * most, d = (log(mean / half) - spread / 2.0) / s;
        const T later = mean / most * routine<normal_share>(d + s) - half / most * routine<normal_share>(d);
        return routine<normal_share>((log(mean / (x + most)) - spread / 2.0) / s) + max(later, 0.0);
    }
    // Time of prompts in a gap at the percentile, if a share of the gaps is full for prompts that take longer.
    template <class T> constexpr T gap_of(
        in<latency_quantile, T> q,
        in<prompt_gap_share, T> share,
        in<prompt_gap_mean, T> mean,
        in<prompt_gap_spread, T> spread,
        in<prompt_gap_limit, T> most,
        const T& full)
    {
        const T beyond = 1.0 - q - full;
        const T of_those = min(max(1.0 - beyond / max(share, 1e-12), 1e-9), 1.0 - 1e-9);
        const T work = min(mean * exp(sqrt(spread) * routine<normal_quantile>(of_those) - spread / 2.0), most);
        return select(beyond > 0.0, select(share > beyond, work, 0.0 * mean), T(most));
    }
    template <class T> constexpr T full_share_of(
        in<prompt_policy, T> policy,
        const T& x,
        in<prompt_gap_share, T> share,
        in<prompt_gap_mean, T> mean,
        in<prompt_gap_spread, T> spread,
        in<prompt_gap_limit, T> most,
        in<current_step_time, T> t)
    {
        const T some = max(mean, 1e-9 * t), limit = max(min(most, 1e6 * some), 1e-9 * t);
        return choose(policy, share * full_steps_of<T>(x, some, spread, limit), T(0.0));
    }
    struct prompt_gap_guess
    {
        static constexpr Spec spec =
            Spec("w_{g0}", "s", "prefill time in a gap at the percentile, first estimate", "Q6");
        template <class T> static constexpr T formula(
            in<latency_quantile, T> q,
            in<prompt_policy, T> policy,
            in<prompt_gap_share, T> share,
            in<prompt_gap_mean, T> mean,
            in<prompt_gap_spread, T> spread,
            in<prompt_gap_limit, T> most,
            in<current_step_time, T> t)
        {
            return gap_of<
                T>(q, share, mean, spread, most, full_share_of<T>(policy, 0.0 * t, share, mean, spread, most, t));
        }
    };
    struct full_gap_share
    {
        static constexpr Spec spec =
            Spec("f_C", "1", "fraction of gaps with a full step and prefill above the estimate", "Q6");
        template <class T> static constexpr T formula(
            in<prompt_policy, T> policy,
            in<prompt_gap_guess, T> guess,
            in<prompt_gap_share, T> share,
            in<prompt_gap_mean, T> mean,
            in<prompt_gap_spread, T> spread,
            in<prompt_gap_limit, T> most,
            in<current_step_time, T> t)
        { return full_share_of<T>(policy, T(guess), share, mean, spread, most, t); }
    };
    struct prompt_gap_quantile
    {
        static constexpr Spec spec = Spec("w_{gq}", "s", "prefill time in a gap at the percentile", "Q6");
        template <class T> static constexpr T formula(
            in<latency_quantile, T> q,
            in<prompt_gap_share, T> share,
            in<prompt_gap_mean, T> mean,
            in<prompt_gap_spread, T> spread,
            in<prompt_gap_limit, T> most,
            in<full_gap_share, T> full)
        { return gap_of<T>(q, share, mean, spread, most, T(full)); }
    };
    struct inter_token_latency_quantile
    {
        // Gaps, not means of answers: with prompts a high percentile is a step that reads one.
        static constexpr Spec spec =
            Spec("T_{gq}", "s*sequence/token", "inter-token latency (ITL) at the percentile, inf if overloaded", "Q6");
        template <class T> static constexpr T formula(
            in<latency_quantile, T> q,
            in<token_time_floor, T> least,
            in<decode_step_slope, T> b,
            in<loaded_running_sequences, T> B,
            in<calm_gap_quantile, T> calm,
            in<prompt_gap_work, T> met,
            in<prompt_gap_quantile, T> work,
            in<full_decode_token_time, T> full,
            in<sampled_length, T> single,
            in<service_load, T> load)
        {
            const T calm_m = min(least + b * B, max(full, least));
            const T below = select(work > 0.0 * met, min(max(met - (1.0 - q) * work, 0.0 * met), work), 0.0 * met);
            const T far = routine<signed_square>((work - below) / single) + routine<signed_square>(calm - calm_m);
            const T away = routine<signed_root>(far);
            return select(load < 1.0, calm_m + below / single + away, T(infinite));
        }
    };

    // --- the whole answer ---

    struct request_latency_quantile
    {
        // The first token, and the answer whose length is at the percentile: their distances from the mean add as of
        // independent parts.
        static constexpr Spec spec =
            Spec("T_{rq}", "s", "end-to-end request latency at the percentile, inf if overloaded", "Q6");
        template <class T> static constexpr T formula(
            in<latency_quantile, T> q,
            in<request_latency, T> mean,
            in<time_to_first_token, T> first,
            in<time_to_first_token_quantile, T> first_q,
            in<loaded_time_per_output_token, T> t,
            in<decoded_tokens, T> D,
            in<output_cv, T> c,
            in<service_load, T> load)
        {
            const T spread = log(1.0 + c * c);
            const T length = exp(sqrt(spread) * routine<normal_quantile>(q) - spread / 2.0);
            const T far = routine<signed_square>(first_q - first) + routine<signed_square>(t * D * (length - 1.0));
            const T away = routine<signed_root>(far);
            return select(load < 1.0, mean + away, T(infinite));
        }
    };

    // --- percentiles by name ---

    struct time_to_first_token_p50
    {
        static constexpr Spec spec =
            Spec("T_{f50}", "s", "time to first token (TTFT), median", "Q6")
                .value_of<time_to_first_token_quantile>()
                .where<latency_quantile>(0.5);
    };
    struct time_to_first_token_p90
    {
        static constexpr Spec spec =
            Spec("T_{f90}", "s", "time to first token (TTFT), 90th percentile", "Q6")
                .value_of<time_to_first_token_quantile>()
                .where<latency_quantile>(0.9);
    };
    struct time_to_first_token_p95
    {
        static constexpr Spec spec =
            Spec("T_{f95}", "s", "time to first token (TTFT), 95th percentile", "Q6")
                .value_of<time_to_first_token_quantile>()
                .where<latency_quantile>(0.95);
    };
    struct time_to_first_token_p99
    {
        static constexpr Spec spec =
            Spec("T_{f99}", "s", "time to first token (TTFT), 99th percentile", "Q6")
                .value_of<time_to_first_token_quantile>()
                .where<latency_quantile>(0.99);
    };
    struct time_per_output_token_p50
    {
        static constexpr Spec spec =
            Spec("T_{o50}", "s*sequence/token", "time per output token (TPOT) of a request, median", "Q6")
                .value_of<time_per_output_token_quantile>()
                .where<latency_quantile>(0.5);
    };
    struct time_per_output_token_p90
    {
        static constexpr Spec spec =
            Spec("T_{o90}", "s*sequence/token", "time per output token (TPOT) of a request, 90th percentile", "Q6")
                .value_of<time_per_output_token_quantile>()
                .where<latency_quantile>(0.9);
    };
    struct time_per_output_token_p95
    {
        static constexpr Spec spec =
            Spec("T_{o95}", "s*sequence/token", "time per output token (TPOT) of a request, 95th percentile", "Q6")
                .value_of<time_per_output_token_quantile>()
                .where<latency_quantile>(0.95);
    };
    struct time_per_output_token_p99
    {
        static constexpr Spec spec =
            Spec("T_{o99}", "s*sequence/token", "time per output token (TPOT) of a request, 99th percentile", "Q6")
                .value_of<time_per_output_token_quantile>()
                .where<latency_quantile>(0.99);
    };
    struct inter_token_latency_p50
    {
        static constexpr Spec spec =
            Spec("T_{g50}", "s*sequence/token", "inter-token latency (ITL), median", "Q6")
                .value_of<inter_token_latency_quantile>()
                .where<latency_quantile>(0.5);
    };
    struct inter_token_latency_p90
    {
        static constexpr Spec spec =
            Spec("T_{g90}", "s*sequence/token", "inter-token latency (ITL), 90th percentile", "Q6")
                .value_of<inter_token_latency_quantile>()
                .where<latency_quantile>(0.9);
    };
    struct inter_token_latency_p95
    {
        static constexpr Spec spec =
            Spec("T_{g95}", "s*sequence/token", "inter-token latency (ITL), 95th percentile", "Q6")
                .value_of<inter_token_latency_quantile>()
                .where<latency_quantile>(0.95);
    };
    struct inter_token_latency_p99
    {
        static constexpr Spec spec =
            Spec("T_{g99}", "s*sequence/token", "inter-token latency (ITL), 99th percentile", "Q6")
                .value_of<inter_token_latency_quantile>()
                .where<latency_quantile>(0.99);
    };
    struct request_latency_p50
    {
        static constexpr Spec spec =
            Spec("T_{r50}", "s", "end-to-end request latency, median", "Q6")
                .value_of<request_latency_quantile>()
                .where<latency_quantile>(0.5);
    };
    struct request_latency_p90
    {
        static constexpr Spec spec =
            Spec("T_{r90}", "s", "end-to-end request latency, 90th percentile", "Q6")
                .value_of<request_latency_quantile>()
                .where<latency_quantile>(0.9);
    };
    struct request_latency_p95
    {
        static constexpr Spec spec =
            Spec("T_{r95}", "s", "end-to-end request latency, 95th percentile", "Q6")
                .value_of<request_latency_quantile>()
                .where<latency_quantile>(0.95);
    };
    struct request_latency_p99
    {
        static constexpr Spec spec =
            Spec("T_{r99}", "s", "end-to-end request latency, 99th percentile", "Q6")
                .value_of<request_latency_quantile>()
                .where<latency_quantile>(0.99);
    };

    using latency = list<
        latency_quantile,
        current_step_time,
        busy_share,
        prompt_queue_load,
        prompts_ahead_share,
        prompts_ahead_time,
        own_prompt_time,
        input_length_ratio,
        own_prompt_time_quantile,
        first_decode_step_time,
        step_time_spread,
        prompts_behind_time,
        rest_of_step_quantile,
        rest_of_step_mean,
        prompts_ahead_variation,
        prompts_ahead_quantile,
        prompts_ahead_mean,
        prompts_behind_quantile,
        slot_hold_time,
        slot_wait,
        loaded_slot_wait,
        loaded_request_throughput,
        max_arrival_rate,
        replicas_for_load,
        fixed_first_token_time,
        loaded_first_token_time,
        own_prompt_time_spread,
        time_to_first_token_quantile,
        token_time_excess,
        prompt_token_delay,
        token_time_batch_variance,
        token_time_prompt_variance,
        token_time_joint_variance,
        time_per_output_token_target,
        quick_answer_share,
        token_time_guess,
        guessed_quick_share,
        second_token_time_guess,
        second_quick_share,
        third_token_time_guess,
        third_quick_share,
        full_token_time_excess,
        full_token_time_variance,
        full_token_time_quantile,
        calm_gap_quantile,
        prompt_gap_limit,
        time_per_output_token_quantile,
        prompt_step_share,
        prompt_step_work,
        prompt_gap_work,
        prompt_gap_share,
        prompt_gap_mean,
        prompt_gap_spread,
        prompt_gap_guess,
        full_gap_share,
        prompt_gap_quantile,
        inter_token_latency_quantile,
        request_latency_quantile,
        time_to_first_token_p50,
        time_to_first_token_p90,
        time_to_first_token_p95,
        time_to_first_token_p99,
        time_per_output_token_p50,
        time_per_output_token_p90,
        time_per_output_token_p95,
        time_per_output_token_p99,
        inter_token_latency_p50,
        inter_token_latency_p90,
        inter_token_latency_p95,
        inter_token_latency_p99,
        request_latency_p50,
        request_latency_p90,
        request_latency_p95,
        request_latency_p99>;
}
