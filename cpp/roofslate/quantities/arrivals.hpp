// A service under load: requests arrive at a rate, and sequences run until their answers are complete. Decoding is
// processor sharing whose rate depends on the sequences that run; with a step of a + b B their number is negative
// binomial whatever the lengths (Kelly 1979; Cohen 1979).
#pragma once
#include "roofslate/language/distributions.hpp"
#include "roofslate/quantities/requests.hpp"

namespace roofslate::quantities
{
    struct fresh_input_cv;
    struct prefill_replicas;

    // --- inputs ---

    struct replicas
    { static constexpr Spec spec = Spec("R", "1", "replicas behind one router", "Q6").range(1).by_default(1); };
    struct router
    {
        static constexpr Spec spec =
            Spec("\\rho_R", "1", "routing policy (least_requests, round_robin, random, session)", "Q6")
                .one_of("least_requests", "round_robin", "random", "session")
                .by_default(0);
    };
    struct arrival_cv
    {
        static constexpr Spec spec =
            Spec("c_a", "1", "coefficient of variation (CV) of interarrival times, 1 for Poisson", "Q6")
                .range(0)
                .by_default(1);
    };
    struct prompt_policy
    {
        static constexpr Spec spec =
            Spec("\\sigma_p", "1", "prefill policy (chunked into decode steps, first in separate steps)", "Q6")
                .one_of("chunked", "first")
                .by_default(0);
    };
    struct max_running_sequences
    {
        static constexpr Spec spec =
            Spec("n_s", "sequence", "maximum running sequences per engine (max_num_seqs)", "Q6")
                .range(1, infinite)
                .by_default(infinite);
    };

    // --- of one replica ---

    struct replica_arrival_rate
    {
        static constexpr Spec spec = Spec("\\lambda", "sequence/s", "request arrival rate per replica", "Q6");
        template <class T> static constexpr T formula(in<arrival_rate, T> a, in<replicas, T> R) { return a / R; }
    };
    struct replica_arrival_variation
    {
        static constexpr Spec spec =
            Spec("c_\\lambda^2", "1", "squared coefficient of variation (CV) of replica interarrival times", "Q6");
        template <class T> static constexpr T formula(in<router, T> which, in<arrival_cv, T> c, in<replicas, T> R)
        {
            const T by_chance = 1.0 + (c * c - 1.0) / R;
            return select(
                is<router>(which, "random"),
                by_chance,
                select(is<router>(which, "session"), by_chance, c * c / R));
        }
    };
    struct decoded_tokens
    {
        // The first token comes with the prompt, unless that is read elsewhere.
        static constexpr Spec spec =
            Spec("D", "token/sequence", "output tokens per request from decode, token from prefill excluded", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<output_tokens, T> O,
            in<sampled_length, T> one)
        { return choose(mode, max(O - one, 1e-6 * one), O); }
    };
    struct sequence_slots
    {
        static constexpr Spec spec =
            Spec("N", "sequence", "batch slots per replica, limited by memory and engine", "Q6").range(1);
        template <class T> static constexpr T formula(
            in<max_running_sequences, T> most,
            in<memory_limited_sequences, T> limit)
        { return min(most, limit); }
    };

    // --- the step as a line: a + b B near the sequences that run ---

    struct decode_token_time
    {
        static constexpr Spec spec =
            Spec("t", "s*sequence/token", "time per output token (TPOT) without prefill interference", "Q6");
        template <class T> static constexpr T formula(
            in<round_time, T> t,
            in<time_per_output_token_factor, T> f,
            in<emitted_length, T> e)
        { return t * (f / e); }
    };
    struct prompt_step_time
    {
        static constexpr Spec spec =
            Spec("c I", "s/sequence", "prefill time per prompt within replica steps, 0 if disaggregated", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<concurrent_prefill_time, T> chunked,
            in<prefill_time, T> alone,
            in<time_per_output_token_factor, T> f)
        { return choose(mode, choose(policy, chunked, alone) * f, T(0.0) * f * alone); }
    };
    struct prompt_lag_time
    {
        // Other groups and stages work on other prompts meanwhile: only the request loses time, not the replica.
        static constexpr Spec spec =
            Spec("T_g", "s/sequence", "prefill latency per prompt beyond its replica time", "Q6");
        template <class T> static constexpr T formula(
            in<prompt_work_time, T> work_time,
            in<prefill_time, T> of_replica,
            in<time_per_output_token_factor, T> f)
        { return max(work_time - of_replica, 0.0 * work_time) * f; }
    };
    struct full_batch
    {
        static constexpr Spec spec = Spec("N/n_\\mu", "sequence", "batch size with all slots taken", "Q6");
        template <class T> static constexpr T formula(in<sequence_slots, T> N, in<microbatches, T> n) { return N / n; }
    };
    struct full_decode_token_time
    {
        static constexpr Spec spec =
            Spec("t(N)", "s*sequence/token", "time per output token (TPOT) without prefill, all slots taken", "Q6")
                .value_of<decode_token_time>()
                .where<batch_size, full_batch>();
    };
    struct full_prompt_step_time
    {
        static constexpr Spec spec =
            Spec("c(N) I", "s/sequence", "prefill time per prompt within steps, all slots taken", "Q6")
                .value_of<prompt_step_time>()
                .where<batch_size, full_batch>();
    };
    struct lone_batch
    {
        static constexpr Spec spec = Spec("1/n_\\mu", "sequence", "batch size with one running sequence", "Q6");
        template <class T> static constexpr T formula(in<single_sequence, T> one, in<microbatches, T> n)
        { return one / n; }
    };
    struct lone_decode_token_time
    {
        static constexpr Spec spec =
            Spec("t(1)", "s*sequence/token", "time per output token (TPOT) without prefill, one running sequence", "Q6")
                .value_of<decode_token_time>()
                .where<batch_size, lone_batch>();
    };

    // Of a line through (B, t) and (wider, t_w): its slope, not steeper than through the origin and not quite level.
    template <class T> struct StepLine
    {
        T base, slope;
    };
    template <class T> constexpr T slope_of(const T& b, const T& t, const T& wider, const T& t_w)
    {
        const T slope = (t_w - t) / max(wider - b, 1e-9 * wider);
        return min(max(slope, 1e-6 * (t / wider)), t / b);
    }
    // Mean of the sequences that run where nobody waits for a slot; all slots where that has no end.
    template <class T> constexpr T running_of(
        in<sequence_slots, T> N,
        in<replica_arrival_rate, T> rate,
        in<decoded_tokens, T> D,
        const T& t,
        const T& slope,
        const T& at,
        const T& prompt,
        in<single_sequence, T> one)
    {
        const T busy = rate * prompt, work = rate * D;
        const T base = t - slope * at;
        const T spare = 1.0 - busy - work * slope;
        return select(spare > 0.0, max(min((base + slope * one) * work / spare, N), 0.01 * one), T(N));
    }
    struct first_running_estimate
    {
        static constexpr Spec spec =
            Spec("B_1", "sequence", "running sequences, first estimate, line from one to all slots", "Q6");
        template <class T> static constexpr T formula(
            in<sequence_slots, T> N,
            in<single_sequence, T> one,
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<lone_decode_token_time, T> t_1,
            in<full_decode_token_time, T> t_n,
            in<full_prompt_step_time, T> prompt)
        { return running_of<T>(N, rate, D, t_1, slope_of<T>(one, t_1, T(N), t_n), one, prompt, one); }
    };
    struct first_batch
    {
        static constexpr Spec spec = Spec("B_1/n_\\mu", "sequence", "batch size at the first estimate", "Q6");
        template <class T> static constexpr T formula(in<first_running_estimate, T> B, in<microbatches, T> n)
        { return B / n; }
    };
    struct first_wider_batch
    {
        static constexpr Spec spec =
            Spec("1.1 B_1/n_\\mu", "sequence", "batch size 10% above the first estimate", "Q6");
        template <class T> static constexpr T formula(in<first_batch, T> B) { return 1.1 * B; }
    };
    struct first_decode_token_time
    {
        static constexpr Spec spec =
            Spec("t(B_1)", "s*sequence/token", "time per output token (TPOT) at the first estimate", "Q6")
                .value_of<decode_token_time>()
                .where<batch_size, first_batch>();
    };
    struct first_wider_token_time
    {
        static constexpr Spec spec =
            Spec("t(1.1 B_1)", "s*sequence/token", "time per output token (TPOT) 10% above the first estimate", "Q6")
                .value_of<decode_token_time>()
                .where<batch_size, first_wider_batch>();
    };
    struct first_prompt_step_time
    {
        static constexpr Spec spec =
            Spec("c(B_1) I", "s/sequence", "prefill time per prompt within steps at the first estimate", "Q6")
                .value_of<prompt_step_time>()
                .where<batch_size, first_batch>();
    };
    struct running_estimate
    {
        static constexpr Spec spec =
            Spec("B_2", "sequence", "running sequences, second estimate, tangent at the first", "Q6");
        template <class T> static constexpr T formula(
            in<sequence_slots, T> N,
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<first_running_estimate, T> B,
            in<first_decode_token_time, T> t,
            in<first_wider_token_time, T> t_w,
            in<first_prompt_step_time, T> prompt,
            in<single_sequence, T> one)
        { return running_of<T>(N, rate, D, t, slope_of<T>(T(B), t, T(1.1 * B), t_w), B, prompt, one); }
    };
    struct running_batch
    {
        static constexpr Spec spec = Spec("B_2/n_\\mu", "sequence", "batch size at the second estimate", "Q6");
        template <class T> static constexpr T formula(in<running_estimate, T> B, in<microbatches, T> n)
        { return B / n; }
    };
    struct wider_running_batch
    {
        static constexpr Spec spec =
            Spec("1.1 B_2/n_\\mu", "sequence", "batch size 10% above the second estimate", "Q6");
        template <class T> static constexpr T formula(in<running_batch, T> B) { return 1.1 * B; }
    };
    struct running_token_time
    {
        static constexpr Spec spec =
            Spec("t(B_2)", "s*sequence/token", "time per output token (TPOT) at the second estimate", "Q6")
                .value_of<decode_token_time>()
                .where<batch_size, running_batch>();
    };
    struct wider_running_token_time
    {
        static constexpr Spec spec =
            Spec("t(1.1 B_2)", "s*sequence/token", "time per output token (TPOT) 10% above the second estimate", "Q6")
                .value_of<decode_token_time>()
                .where<batch_size, wider_running_batch>();
    };
    struct loaded_prompt_step_time
    {
        static constexpr Spec spec =
            Spec("c I(B_2)", "s/sequence", "prefill time per prompt within replica steps under load", "Q6")
                .value_of<prompt_step_time>()
                .where<batch_size, running_batch>();
    };
    struct decode_step_slope
    {
        static constexpr Spec spec =
            Spec("b", "s/token", "time per output token (TPOT) added per running sequence", "Q6").range(0);
        template <class T> static constexpr T formula(
            in<running_estimate, T> B,
            in<running_token_time, T> t,
            in<wider_running_token_time, T> t_w)
        { return slope_of<T>(T(B), T(t), T(1.1 * B), T(t_w)); }
    };
    struct decode_step_base
    {
        static constexpr Spec spec =
            Spec("a", "s*sequence/token", "time per output token (TPOT) extrapolated to zero running sequences", "Q6")
                .range(0);
        template <class T> static constexpr T formula(
            in<running_estimate, T> B,
            in<running_token_time, T> t,
            in<decode_step_slope, T> b)
        { return max(t - b * B, 0.0 * t); }
    };

    // --- time of prefill in the steps ---

    struct prompt_overhead_time
    {
        // The prompts of a step share its fixed time: x / (1 - e^-x) of them, if x arrive in a step.
        static constexpr Spec spec =
            Spec("p_0", "s/sequence", "fixed time per prompt in separate prefill steps, 0 if chunked", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<prompt_pass_overhead, T> p_0,
            in<time_per_output_token_factor, T> f,
            in<replica_arrival_rate, T> rate,
            in<running_token_time, T> t,
            in<emitted_length, T> e,
            in<loaded_prompt_step_time, T> prompt,
            in<step_token_budget, T> C,
            in<fresh_input_tokens, T> I,
            in<single_sequence, T> one)
        {
            const T alone = p_0 * f / one, step = t * e / one;
            const T most = max(count(C) / count(I), 1.0);
            const T few = rate * step / max(1.0 - rate * (prompt + alone), 0.05);
            const T some = min(max(few, 1e-6) / (1.0 - exp(-max(few, 1e-6))), most);
            const T x = max(rate * step / max(1.0 - rate * (prompt + alone / some), 0.05), 1e-6);
            const T first = alone / min(x / (1.0 - exp(-x)), most);
            return choose(mode, choose(policy, 0.0 * alone, first), 0.0 * alone);
        }
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
            in<prompt_overhead_time, T> p_0,
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
            in<sequence_slots, T> N,
            in<single_sequence, T> one)
        { return min((rate * D * a / max(1.0 - u, 1e-6) + r * one) / (1.0 - r), N); }
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
    template <class T> constexpr T burst_of(const T& variation, const T& running)
    {
        const T c = max(variation, 0.01), some = max(running, 0.01);
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
            in<single_sequence, T> one)
        {
            const T chunked = n * (t * e / one) + prompt;
            return choose(mode, plus_optional(choose(policy, chunked, p_0 + prompt), lag), 0.0 * prompt);
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
            const T n = max(count(N) * R / z, 0.5), k = (shape - 1.0) * R / z + 1.0, tail = max(weight / spare, 1e-300);
            const T odds = r / (1.0 - r), all = below + tail;
            const T first = below - weight * n / (k * r);
            const T second = first - weight * n * (n - 1.0) / (k * (k + 1.0)) * (1.0 - r) / (r * r);
            const T mean = (k * odds * max(first, 0.0) + n * tail) / all;
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
            const T idle = max(1.0 - u, 0.01), burst = burst_of<T>(T(variation), count(unlimited));
            const T crowd = max((burst + rate * rate * variance) / (idle * idle) - burst, 0.0) * eta;
            const T more = crowd * (r / (1.0 - r)) * (1.0 - waits) * one;
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

    using arrivals = list<
        replicas,
        router,
        arrival_cv,
        prompt_policy,
        max_running_sequences,
        replica_arrival_rate,
        replica_arrival_variation,
        decoded_tokens,
        sequence_slots,
        decode_token_time,
        prompt_step_time,
        prompt_lag_time,
        full_batch,
        full_decode_token_time,
        full_prompt_step_time,
        lone_batch,
        lone_decode_token_time,
        first_running_estimate,
        first_batch,
        first_wider_batch,
        first_decode_token_time,
        first_wider_token_time,
        first_prompt_step_time,
        running_estimate,
        running_batch,
        wider_running_batch,
        running_token_time,
        wider_running_token_time,
        loaded_prompt_step_time,
        decode_step_slope,
        decode_step_base,
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
