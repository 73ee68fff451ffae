// Slots of a service under load: how many are taken, and who waits for one. Decoding is processor sharing whose rate
// depends on the sequences that run; with a step of a + b B their number is negative binomial whatever the lengths
// (Kelly 1979; Cohen 1979).
#pragma once
#include "roofslate/language/distributions.hpp"
#include "roofslate/quantities/running.hpp"

namespace roofslate::quantities
{
    // --- time of prefill in the steps ---

    struct prompt_overhead_time
    {
        static constexpr Spec spec =
            Spec("p_0", "s/sequence", "fixed time per prompt in separate prefill steps, 0 if chunked", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<stage_pass_overhead, T> p_0,
            in<time_per_output_token_factor, T> f,
            in<replica_arrival_rate, T> rate,
            in<running_token_time, T> t,
            in<emitted_length, T> e,
            in<loaded_prompt_step_time, T> prompt,
            in<step_token_budget, T> C,
            in<fresh_input_tokens, T> I,
            in<single_sequence, T> one)
        { return fixed_prompt_time_of<T>(mode, policy, p_0, f, rate, T(t), e, T(prompt), C, I, one); }
    };
    struct prompt_time_share
    {
        static constexpr Spec spec = Spec("u", "1", "fraction of replica time in prefill", "Q6");
        template <class T> static constexpr T formula(
            in<replica_arrival_rate, T> rate,
            in<prompt_overhead_time, T> p_0,
            in<loaded_prompt_step_time, T> prompt)
        { return rate * (p_0 + prompt); }
    };
    struct prompt_work_variance
    {
        static constexpr Spec spec = Spec(
            "\\mathrm{Var}\\,P",
            "s*s/sequence/sequence",
            "variance of prefill time per prompt within steps",
            "Q6");
        template <class T> static constexpr T formula(in<loaded_prompt_step_time, T> prompt, in<fresh_input_cv, T> c)
        { return (c * prompt) * (c * prompt); }
    };

    // --- stability ---

    struct decode_load
    {
        static constexpr Spec spec = Spec("\\varrho_d", "1", "decode load of a replica, all slots taken", "Q6");
        template <class T> static constexpr T formula(
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<full_decode_token_time, T> t,
            in<sequence_slots, T> N)
        { return rate * D * (t / N); }
    };
    struct prompt_load
    {
        static constexpr Spec spec = Spec("\\varrho_p", "1", "prefill load of a replica, all slots taken", "Q6");
        template <class T> static constexpr T formula(
            in<replica_arrival_rate, T> rate,
            in<full_prompt_overhead_time, T> p_0,
            in<full_prompt_step_time, T> prompt)
        { return rate * (p_0 + prompt); }
    };
    struct token_budget_load
    {
        static constexpr Spec spec = Spec("\\varrho_C", "1", "token-budget load of chunked prefill, 0 otherwise", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<replica_arrival_rate, T> rate,
            in<running_estimate, T> B,
            in<running_token_time, T> t,
            in<emitted_length, T> e,
            in<pass_length, T> l,
            in<loaded_prompt_step_time, T> prompt,
            in<step_token_budget, T> C,
            in<fresh_input_tokens, T> I,
            in<single_sequence, T> one)
        {
            const T budget = count(C) - count(B) * count(l);
            const T chunked = select(budget > 0.0, rate * (count(I) / budget * (t * e / one) + prompt), T(infinite));
            return choose(mode, choose(policy, chunked, T(0.0)), T(0.0));
        }
    };
    struct slot_load
    {
        static constexpr Spec spec =
            Spec("\\varrho_N", "1", "decode plus prefill load of a replica, all slots taken", "Q6");
        template <class T> static constexpr T formula(in<decode_load, T> decode, in<prompt_load, T> prompts)
        { return decode + prompts; }
    };
    struct load_of_pools;
    struct service_load
    {
        static constexpr Spec spec =
            Spec("\\varrho", "1", "offered load relative to capacity, queues unbounded at 1 and above", "Q6")
                .replaced_by_where<load_of_pools, prefill_replicas>();
        template <class T> static constexpr T formula(in<slot_load, T> work, in<token_budget_load, T> budget)
        { return max(work, budget); }
    };
    struct limit_of_pools;
    struct load_limit
    {
        static constexpr Spec spec =
            Spec("\\beta_\\varrho", "1", "load bottleneck (decoding, prompts, token_budget, prefill_pool)", "Q6")
                .one_of("decoding", "prompts", "token_budget", "prefill_pool")
                .replaced_by_where<limit_of_pools, prefill_replicas>();
        template <class T> static constexpr T formula(
            in<slot_load, T> work,
            in<decode_load, T> decode,
            in<prompt_load, T> prompts,
            in<token_budget_load, T> budget)
        { return select(budget > work, T(2.0), select(prompts > decode, T(1.0), T(0.0))); }
    };

    // --- the sequences that run ---

    struct decode_odds
    {
        static constexpr Spec spec = Spec("r", "1", "negative binomial odds of running sequences", "Q6").range(0, 1);
        template <class T> static constexpr T formula(
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<decode_step_slope, T> b,
            in<prompt_time_share, T> u)
        { return min(rate * D * b / max(1.0 - u, 1e-6), 0.999999); }
    };
    struct unlimited_running_sequences
    {
        static constexpr Spec spec =
            Spec("B_\\infty", "sequence", "mean running sequences with unlimited slots, capped at the slots", "Q6");
        template <class T> static constexpr T formula(
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<decode_step_base, T> a,
            in<prompt_time_share, T> u,
            in<decode_odds, T> r,
            in<running_estimate, T> B,
            in<sequence_slots, T> N,
            in<single_sequence, T> one)
        {
            // Far from the estimate the step may bend away from its line.
            const T line = (rate * D * a / max(1.0 - u, 1e-6) + r * one) / (1.0 - r);
            return min(max(min(line, 1.1 * B), (B - one) / 1.1), N);
        }
    };
    struct slot_line_slope
    {
        static constexpr Spec spec =
            Spec("b_N", "s/token", "TPOT slope from mean running sequences to all slots taken", "Q6");
        template <class T> static constexpr T formula(
            in<decode_step_base, T> a,
            in<decode_step_slope, T> b,
            in<unlimited_running_sequences, T> B,
            in<full_decode_token_time, T> t,
            in<sequence_slots, T> N)
        {
            return select(
                N - B > 0.001 * N,
                max(min((t - (a + b * B)) / max(N - B, 0.001 * N), t / N), 1e-6 * (t / N)),
                b);
        }
    };
    struct slot_line_shape
    {
        static constexpr Spec spec =
            Spec("s + 1", "1", "negative binomial shape of running sequences, line to all slots", "Q6");
        template <class T> static constexpr T formula(
            in<full_decode_token_time, T> t,
            in<sequence_slots, T> N,
            in<slot_line_slope, T> b,
            in<single_sequence, T> one)
        { return max((t / b - N) / one, 0.0) + 1.0; }
    };
    struct slot_line_odds
    {
        static constexpr Spec spec =
            Spec("r_N", "1", "negative binomial odds of running sequences, line to all slots", "Q6").range(0, 1);
        template <class T> static constexpr T formula(
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<slot_line_slope, T> b,
            in<prompt_time_share, T> u)
        { return max(min(rate * D * b / max(1.0 - u, 1e-6), 0.999999), 1e-100); }
    };

    // --- bursts and pauses ---

    struct length_memory
    {
        static constexpr Spec spec =
            Spec("\\eta", "1", "fraction of a burst left as its outputs end, 1 if equally long", "Q6");
        template <class T> static constexpr T formula(in<output_cv, T> c)
        { return 2.0 - 2.0 * routine<normal_share>(sqrt(log(1.0 + c * c) / 2.0)); }
    };
    // Of the sequences that run, variance over mean that arrivals of this squared coefficient of variation bring (gamma
    // distributed times between them, exponential lengths); 1 for Poisson arrivals.
    template <class T> constexpr T burst_of(const T& variation, const T& mean)
    {
        const T c = max(variation, 0.01), some = max(mean, 0.01);
        const T z = 1.0 / (1.0 - pow(1.0 + c / some, -1.0 / c)) - some;
        return select(variation == T(1.0), T(1.0), max(1.0 + 2.0 * (z - 1.0), 0.05));
    }
    struct arrival_burst_factor
    {
        static constexpr Spec spec =
            Spec("z_a", "1", "variance-to-mean ratio of running sequences from arrival bursts", "Q6");
        template <class T> static constexpr T formula(
            in<replica_arrival_variation, T> variation,
            in<unlimited_running_sequences, T> B,
            in<length_memory, T> eta)
        { return max(1.0 + (burst_of<T>(T(variation), count(B)) - 1.0) * eta, 0.05); }
    };
    struct pooled_replicas
    {
        static constexpr Spec spec =
            Spec("R_p", "1", "replicas with pooled slots, all with least_requests routing", "Q6");
        template <class T> static constexpr T formula(in<router, T> which, in<replicas, T> R)
        { return choose(which, R, T(1.0)); }
    };
    struct pooled_arrival_variation
    {
        static constexpr Spec spec =
            Spec("c_p^2", "1", "squared coefficient of variation (CV) of slot-pool interarrival times", "Q6");
        template <class T> static constexpr T formula(
            in<router, T> which,
            in<arrival_cv, T> c,
            in<replica_arrival_variation, T> variation)
        { return choose(which, c * c, variation); }
    };
    struct peakedness
    {
        static constexpr Spec spec =
            Spec("z", "1", "peakedness of running sequences relative to Poisson arrivals", "Q6");
        template <class T> static constexpr T formula(
            in<pooled_arrival_variation, T> variation,
            in<unlimited_running_sequences, T> B,
            in<pooled_replicas, T> R,
            in<length_memory, T> eta,
            in<replica_arrival_rate, T> rate,
            in<prompt_work_variance, T> variance,
            in<prompt_time_share, T> u)
        {
            const T idle = max(1.0 - u, 0.01);
            const T jump = (burst_of<T>(T(variation), count(B) * R) + rate * rate * variance) / (idle * idle);
            return max(1.0 + (jump - 1.0) * eta, 0.05);
        }
    };

    // --- slots: who waits for one (Erlang's C for a batch whose service depends on who runs) ---

    // Steps that read a prompt where each has this room: a last one that is part full, and by chance a first one.
    template <class T> constexpr T steps_of(const T& tokens, const T& budget, in<fresh_input_cv, T> c)
    {
        const T full = tokens / budget;
        return select(c == T(0.0), max(ceil(full), 1.0), full + 0.5 + 0.5 * exp(-full));
    }
    struct prompt_room
    {
        static constexpr Spec spec = Spec("C - B", "token", "token budget left for prefill in a decode step", "Q6");
        template <class T> static constexpr T formula(
            in<step_token_budget, T> C,
            in<running_estimate, T> B,
            in<pass_length, T> l)
        { return max(C - B * l, 1e-3 * C); }
    };
    struct prompt_chunks
    {
        static constexpr Spec spec = Spec("n_C", "1", "prefill chunks per prompt of mean length", "Q6");
        template <class T> static constexpr T formula(
            in<fresh_input_tokens, T> I,
            in<prompt_room, T> budget,
            in<fresh_input_cv, T> c)
        { return steps_of<T>(count(I), count(budget), c); }
    };
    struct prompt_reading_time
    {
        static constexpr Spec spec =
            Spec("t_r", "s/sequence", "slot holding time per prompt in prefill, until its first token", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<prompt_overhead_time, T> p_0,
            in<loaded_prompt_step_time, T> prompt,
            in<prompt_chunks, T> n,
            in<running_token_time, T> t,
            in<emitted_length, T> e,
            in<prompt_lag_time, T> lag,
            in<pipeline_stages, T> P,
            in<single_sequence, T> one)
        {
            const T chunked = n * (t * e / one) + prompt;
            return choose(mode, plus_optional(choose(policy, chunked, p_0 * P + prompt), lag), 0.0 * prompt);
        }
    };
    struct decoding_slots
    {
        static constexpr Spec spec =
            Spec("N_d", "sequence", "batch slots left for decode, slots in prefill excluded", "Q6");
        template <class T> static constexpr T formula(
            in<sequence_slots, T> N,
            in<single_sequence, T> one,
            in<replica_arrival_rate, T> rate,
            in<prompt_reading_time, T> t)
        { return max(N - min(rate * t * one, N), one); }
    };
    struct slot_weight
    {
        static constexpr Spec spec =
            Spec("p_N", "1", "probability of all slots taken and an empty queue, unnormalized", "Q6");
        template <class T> static constexpr T formula(
            in<decoding_slots, T> N,
            in<slot_line_shape, T> shape,
            in<slot_line_odds, T> r,
            in<pooled_replicas, T> R,
            in<peakedness, T> z)
        { return routine<negative_binomial_share>(max(count(N) * R / z, 0.5), (shape - 1.0) * R / z + 1.0, T(r)); }
    };
    struct slot_below
    {
        static constexpr Spec spec = Spec("p_<", "1", "probability of a free slot, unnormalized", "Q6");
        template <class T> static constexpr T formula(
            in<decoding_slots, T> N,
            in<slot_line_shape, T> shape,
            in<slot_line_odds, T> r,
            in<pooled_replicas, T> R,
            in<peakedness, T> z)
        { return routine<negative_binomial_below>(max(count(N) * R / z, 0.5), (shape - 1.0) * R / z + 1.0, T(r)); }
    };
    struct slot_spare
    {
        static constexpr Spec spec =
            Spec("1 - \\varrho_N", "1", "spare fraction of decode time with all slots taken", "Q6");
        template <class T> static constexpr T formula(in<decode_load, T> decode, in<prompt_time_share, T> u)
        { return max(1.0 - decode / max(1.0 - u, 1e-6), 1e-9); }
    };
    // Share of the arrivals that find a busy server at this load: the load itself for Poisson arrivals, more for bursts
    // (GI/M/1). At a variation of 1 the product is 0 and has the slope of the other branch.
    template <class T> constexpr T met_share(const T& load, const T& variation)
    {
        const T some = min(max(load, 1e-300), 1.0), idle = 1.0 - some;
        const T slope = some * ((-log(some) - idle) / max(idle, 1e-12));
        return select(variation == T(1.0), load + (variation - 1.0) * slope, routine<arrival_wait>(load, variation));
    }
    struct slot_wait_probability
    {
        static constexpr Spec spec =
            Spec("W", "1", "probability of waiting for a slot under load, 1 at or above load 1", "Q6").range(0, 1);
        template <class T> static constexpr T formula(
            in<slot_weight, T> weight,
            in<slot_below, T> below,
            in<slot_spare, T> spare,
            in<slot_load, T> load,
            in<pooled_arrival_variation, T> variation,
            in<length_memory, T> eta)
        {
            // Arrivals in bursts find all slots taken more often than time averages say, beyond the effect of
            // peakedness.
            const T tail = weight / spare, some = max(min(load, 0.999), 1e-9);
            const T meet = pow(met_share<T>(some, T(variation)) / some, max(1.0 - eta, 0.0));
            return select(load < 1.0, min(tail / (below + tail) * meet, 1.0), T(1.0));
        }
    };
    struct mean_slots_taken
    {
        static constexpr Spec spec =
            Spec("B_N", "sequence", "mean running sequences, prompts sharing a step excluded", "Q6");
        template <class T> static constexpr T formula(
            in<decoding_slots, T> N,
            in<slot_line_shape, T> shape,
            in<slot_line_odds, T> r,
            in<arrival_burst_factor, T> z,
            in<slot_spare, T> spare,
            in<unlimited_running_sequences, T> unlimited,
            in<single_sequence, T> one)
        {
            const T n = max(N / one / z, 0.5), k = (shape - 1.0) / z + 1.0;
            const T weight = routine<negative_binomial_share>(n, k, T(r)),
                    below = routine<negative_binomial_below>(n, k, T(r)),
                    tail = max(weight / spare, 1e-300); // all slots where both vanish
            const T odds = r / (1.0 - r);
            const T limited = z * (max(k * odds * below - weight * n / (1.0 - r), 0.0) + n * tail) / (below + tail);
            const T free = shape * odds;
            return max(min(unlimited + (limited - free) * one, N), 0.0 * N);
        }
    };
    struct running_variance
    {
        static constexpr Spec spec =
            Spec("\\mathrm{Var}\\,B", "sequence*sequence", "variance of running sequences per replica", "Q6");
        template <class T> static constexpr T formula(
            in<decoding_slots, T> N,
            in<slot_line_shape, T> shape,
            in<slot_line_odds, T> r,
            in<pooled_replicas, T> R,
            in<peakedness, T> z,
            in<slot_weight, T> weight,
            in<slot_below, T> below,
            in<slot_spare, T> spare,
            in<single_sequence, T> one)
        {
            const T n = named("places", "n", max(count(N) * R / z, 0.5));
            const T k = named("shape_pooled", "k", (shape - 1.0) * R / z + 1.0);
            const T tail = named("tail", "w_N", max(weight / spare, 1e-300));
            const T odds = named("odds", "o", r / (1.0 - r)), all = below + tail;
            const T first = named("first", "m_1", below - weight * n / (k * r));
            const T second = first - weight * n * (n - 1.0) / (k * (k + 1.0)) * (1.0 - r) / (r * r);
            const T mean = named("mean", "m", (k * odds * max(first, 0.0) + n * tail) / all);
            const T pairs = (k * (k + 1.0) * (odds * odds) * max(second, 0.0) + n * (n - 1.0) * tail) / all;
            const T variance = max(pairs + mean - mean * mean, 0.0) * (z * z);
            return (variance / (R * R) + select(R > 1.0, T(0.25), T(0.0))) * (one * one);
        }
    };
    struct crowded_running_sequences
    {
        // Arrivals that wait for the same prompts start to decode together and slow each other, like a burst.
        static constexpr Spec spec =
            Spec("B_c", "sequence", "mean running sequences, joint decode starts included", "Q6");
        template <class T> static constexpr T formula(
            in<mean_slots_taken, T> B,
            in<sequence_slots, T> N,
            in<unlimited_running_sequences, T> unlimited,
            in<slot_line_odds, T> r,
            in<slot_wait_probability, T> waits,
            in<replica_arrival_rate, T> rate,
            in<replica_arrival_variation, T> variation,
            in<length_memory, T> eta,
            in<prompt_work_variance, T> variance,
            in<prompt_time_share, T> u,
            in<single_sequence, T> one)
        {
            const T idle = named("idle", "a", max(1.0 - u, 0.01));
            const T burst = named("burst", "b", burst_of<T>(T(variation), count(unlimited)));
            const T crowd = max((burst + rate * rate * variance) / (idle * idle) - burst, 0.0) * eta;
            const T more = named("more", "B_+", crowd * (r / (1.0 - r)) * (1.0 - waits) * one);
            return min(B + more / (1.0 + more / max(N - B, 1e-9 * N)), N);
        }
    };
    struct prompt_delay
    {
        // Prompts that arrive behind a request's own delay its second token, and prompts from its burst a later one.
        static constexpr Spec spec =
            Spec("E_p", "s/sequence", "decode delay per request from later prompts, beyond chance arrivals", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<replica_arrival_variation, T> variation,
            in<prompt_overhead_time, T> p_0,
            in<loaded_prompt_step_time, T> prompt,
            in<prompt_work_variance, T> variance,
            in<prompt_time_share, T> u,
            in<slot_wait_probability, T> waits,
            in<step_token_budget, T> C,
            in<fresh_input_tokens, T> I,
            in<crowded_running_sequences, T> B)
        {
            const T p = p_0 + prompt, idle = max(1.0 - u, 0.001);
            const T work_scv = select(p == T(0.0), T(0.0), variance / (p * p));
            const T ahead = u * u / idle * (1.0 + work_scv) / 2.0;
            const T extra_prompts = max(count(C) / count(I) - 1.0, 0.0) / 2.0;
            const T behind = choose(policy, u + ahead, u + min(2.0 * min(ahead, extra_prompts) * u, ahead));
            const T burst =
                select(variation == T(1.0), T(0.0), routine<arrivals_after>(count(B), variation) - count(B));
            return choose(mode, max(behind + burst, 0.0) * (1.0 - waits), T(0.0)) * p / idle;
        }
    };
    struct loaded_running_sequences
    {
        static constexpr Spec spec =
            Spec("B_\\lambda", "sequence", "mean running sequences per replica under load, inf if overloaded", "Q6");
        template <class T> static constexpr T formula(
            in<crowded_running_sequences, T> B,
            in<prompt_delay, T> delay,
            in<replica_arrival_rate, T> rate,
            in<sequence_slots, T> N,
            in<single_sequence, T> one,
            in<service_load, T> load)
        { return select(load < 1.0, B + rate * delay * one * (1.0 - B / N), T(infinite) * one); }
    };
    struct token_time_floor
    {
        static constexpr Spec spec = Spec(
            "a + b",
            "s*sequence/token",
            "time per output token (TPOT) of a lone sequence, linear step model",
            "Q6");
        template <class T> static constexpr T formula(
            in<decode_step_base, T> a,
            in<decode_step_slope, T> b,
            in<single_sequence, T> one)
        { return a + b * one; }
    };
    struct loaded_time_per_output_token
    {
        static constexpr Spec spec = Spec(
            "T_{o\\lambda}",
            "s*sequence/token",
            "mean time per output token (TPOT) under load, inf if overloaded",
            "Q6");
        template <class T> static constexpr T formula(
            in<loaded_running_sequences, T> B,
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<token_time_floor, T> alone)
        { return select(B > T(0.0), B / (rate * D), alone); }
    };

    using slots = list<
        prompt_overhead_time,
        prompt_time_share,
        prompt_work_variance,
        decode_load,
        prompt_load,
        token_budget_load,
        slot_load,
        service_load,
        load_limit,
        decode_odds,
        unlimited_running_sequences,
        slot_line_slope,
        slot_line_shape,
        slot_line_odds,
        length_memory,
        arrival_burst_factor,
        pooled_replicas,
        pooled_arrival_variation,
        peakedness,
        prompt_room,
        prompt_chunks,
        prompt_reading_time,
        decoding_slots,
        slot_weight,
        slot_below,
        slot_spare,
        slot_wait_probability,
        mean_slots_taken,
        running_variance,
        crowded_running_sequences,
        prompt_delay,
        loaded_running_sequences,
        token_time_floor,
        loaded_time_per_output_token>;
}
