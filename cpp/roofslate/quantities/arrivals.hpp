// A service under load: requests arrive at a rate, and sequences run until their answers are complete.
#pragma once
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

    // --- the step, by the sequences in a batch ---

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
    // Fixed time of separate prefill steps, for each prompt. Of the prompts that came in the time of a decode step and
    // of the prefill before it, x on average, those within the token budget share a step.
    template <class T>
    constexpr T fixed_prompt_time_of(
        in<serving_mode, T> mode,
        in<prompt_policy, T> policy,
        in<stage_pass_overhead, T> p_0,
        in<time_per_output_token_factor, T> f,
        in<replica_arrival_rate, T> rate,
        const T& t,
        in<emitted_length, T> e,
        const T& prompt,
        in<step_token_budget, T> C,
        in<fresh_input_tokens, T> I,
        in<single_sequence, T> one)
    {
        const T alone = p_0 * f / one, step = t * e / one, spare = max(1.0 - rate * prompt, 1e-6);
        const T most = rate * (step + alone) / spare;
        const T fewer = rate * (step + alone * (1.0 - exp(-most))) / spare;
        const T x = max(rate * (step + alone * (1.0 - exp(-fewer))) / spare, 1e-6);
        const T separate = alone * max((1.0 - exp(-x)) / x, 1.0 / max(count(C) / count(I), 1.0));
        return choose(mode, choose(policy, 0.0 * alone, separate), 0.0 * alone);
    }
    struct prompt_busy_time
    {
        static constexpr Spec spec =
            Spec("p", "s/sequence", "replica time per prompt, fixed time included, 0 if disaggregated", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<stage_pass_overhead, T> p_0,
            in<time_per_output_token_factor, T> f,
            in<replica_arrival_rate, T> rate,
            in<decode_token_time, T> t,
            in<emitted_length, T> e,
            in<prompt_step_time, T> prompt,
            in<step_token_budget, T> C,
            in<fresh_input_tokens, T> I,
            in<single_sequence, T> one)
        { return prompt + fixed_prompt_time_of<T>(mode, policy, p_0, f, rate, T(t), e, T(prompt), C, I, one); }
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
    struct full_prompt_overhead_time
    {
        static constexpr Spec spec =
            Spec("p_{0N}", "s/sequence", "fixed time per prompt in separate prefill steps, all slots taken", "Q6");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_policy, T> policy,
            in<stage_pass_overhead, T> p_0,
            in<time_per_output_token_factor, T> f,
            in<replica_arrival_rate, T> rate,
            in<full_decode_token_time, T> t,
            in<emitted_length, T> e,
            in<full_prompt_step_time, T> prompt,
            in<step_token_budget, T> C,
            in<fresh_input_tokens, T> I,
            in<single_sequence, T> one)
        { return fixed_prompt_time_of<T>(mode, policy, p_0, f, rate, T(t), e, T(prompt), C, I, one); }
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

    using arrivals = list<
        replicas,
        router,
        arrival_cv,
        max_running_sequences,
        replica_arrival_rate,
        replica_arrival_variation,
        decoded_tokens,
        sequence_slots,
        decode_token_time,
        prompt_step_time,
        prompt_busy_time,
        prompt_lag_time,
        full_batch,
        full_decode_token_time,
        full_prompt_step_time,
        full_prompt_overhead_time,
        lone_batch,
        lone_decode_token_time>;
}
