// What a client sees and what a request costs: prompts between the answers, the wait for room, the bill.
#pragma once
#include "roofslate/quantities/attention.hpp"
#include "roofslate/quantities/economics.hpp"

namespace roofslate::quantities
{
    // --- what is asked for ---

    struct serving_mode
    {
        static constexpr Spec spec =
            Spec(
                "\\sigma_m",
                "1",
                "where prompts are read: aggregated, on the chips that decode; disaggregated, on others",
                "Q13")
                .one_of("aggregated", "disaggregated")
                .by_default(0);
    };

    // --- prompts ---

    struct prefill_compute_efficiency
    {
        static constexpr Spec spec =
            Spec("\\eta_p", "1", "share of the peak arithmetic that is reached while prompts are read", "Q12")
                .positive(1)
                .otherwise<compute_efficiency>();
    };
    struct weights_per_table_element
    {
        static constexpr Spec spec =
            Spec(
                "1",
                "parameter",
                "weights for each pair of residual element and token of the vocabulary",
                "definition")
                .positive()
                .by_default(1);
    };
    struct head_parameters
    {
        static constexpr Spec spec = Spec("N_h", "parameter", "weights of the output head", "R1.4");
        template <class T> static constexpr T formula(
            in<vocabulary_size, T> V,
            in<hidden_size, T> d,
            in<weights_per_table_element, T> one)
        { return V * d * one; }
    };
    struct prompt_common_time
    {
        static constexpr Spec spec = Spec(
            "t_{pc}",
            "s*chip/sequence",
            "time of one chip for the arithmetic of a prompt outside of the routed experts; the head works on its last "
            "token alone",
            "R6.6");
        template <class T> static constexpr T formula(
            in<input_tokens, T> I,
            in<prefill_compute_efficiency, T> eta,
            in<flops_per_parameter_token, T> two,
            in<common_parameters, T> N_c,
            in<head_parameters, T> N_h,
            in<dense_peak_flops, T> F_d,
            in<arithmetic, T> counted,
            in<flops_per_head_element, T> two_a,
            in<global_attention_layers, T> n_g,
            in<attention_heads, T> n_h,
            in<head_size, T> d_h,
            in<latent_rotary_size, T> d_r,
            in<selected_tokens, T> K,
            in<peak_flops_bf16, T> F_16)
        {
            const T products = two * ((N_c - N_h) / F_d);
            return I / eta
                * choose(
                       counted,
                       products,
                       products + two_a * (n_g * n_h * (2.0 * d_h - d_r)) * (min(I / 2.0, K) / F_16));
        }
    };
    struct prompt_expert_time
    {
        static constexpr Spec spec = Spec(
            "t_{pk}",
            "s*chip/sequence",
            "time of one chip for the arithmetic of a prompt in the routed experts",
            "R6.6");
        template <class T> static constexpr T formula(
            in<input_tokens, T> I,
            in<prefill_compute_efficiency, T> eta,
            in<flops_per_parameter_token, T> two,
            in<visited_parameters, T> N_k,
            in<peak_flops, T> F)
        { return I / eta * (two * (N_k / F)); }
    };
    struct prompt_batch
    {
        static constexpr Spec spec =
            Spec("B_p", "sequence", "prompts that a pass reads together", "Q13").positive().by_default(1);
    };
    struct prompt_compute_time
    {
        static constexpr Spec spec =
            Spec("t_{pa}", "s/sequence", "time of the arithmetic of a prompt on all chips of a stage", "R6.6");
        template <class T> static constexpr T formula(
            in<prompt_common_time, T> t_c,
            in<prompt_expert_time, T> t_k,
            in<chips_per_stage, T> G_P)
        { return (t_c + t_k) / G_P; }
    };
    struct prompt_transfer_time
    {
        static constexpr Spec spec = Spec(
            "t_{pu}",
            "s/sequence",
            "time that a prompt takes on links and for activations beside its arithmetic",
            "R3.8");
        template <class T> static constexpr T formula(
            in<communication, T> o,
            in<input_tokens, T> I,
            in<link_time_per_token, T> t_u,
            in<prompt_compute_time, T> t_c,
            in<activation_time_per_token, T> t_a)
        { return choose(o, spend(t_a, I), I * (t_u + t_a), max(I * t_u - t_c, I * t_a)); }
    };
    struct prefill_time
    {
        static constexpr Spec spec = Spec("T_p", "s/sequence", "time in which a replica prefills one prompt", "Q13");
        template <class T> static constexpr T formula(
            in<prompt_compute_time, T> t_c,
            in<prompt_transfer_time, T> t_u,
            in<pipeline_stages, T> P)
        { return (t_c + t_u) / P; }
    };
    struct prompts_per_pass
    {
        static constexpr Spec spec = Spec(
            "n_i",
            "sequence",
            "prompts that a pass with prompts reads: those that come together, or as many as answers end in a pass",
            "Q13");
        template <class T> static constexpr T formula(
            in<prompt_batch, T> B_p,
            in<batch_size, T> B,
            in<emitted_length, T> e,
            in<output_tokens, T> O)
        { return max(B * (e / O), B_p); }
    };
    struct prompt_kernel_factor
    {
        static constexpr Spec spec =
            Spec(
                "f_K",
                "1",
                "time of a kernel in a pass that reads prompts over that in a pass that decodes, whose kernels engines "
                "replay from a recorded graph",
                "calibration")
                .range(1)
                .by_default(1)
                .ideal(1);
    };
    struct concurrent_prefill_time
    {
        static constexpr Spec spec = Spec(
            "T_{pr}",
            "s/sequence",
            "time that a prompt adds to passes that decode: its arithmetic uses what memory leaves idle in one of them",
            "Q13");
        template <class T>
        static constexpr T formula(
            in<overlap, T> o,
            in<compute_time, T> t_c,
            in<weight_fetch_time, T> t_w,
            in<kv_fetch_time, T> t_kv,
            in<memory_time, T> t_m,
            in<roofline_time, T> t,
            in<prompts_per_pass, T> n,
            in<kernel_overhead, T> t_K,
            in<prompt_kernel_factor, T> f,
            in<prompt_compute_time, T> t_p,
            in<prompt_transfer_time, T> t_u,
            in<pipeline_stages, T> P)
        {
            const T kernels = (f - 1.0) * t_K;
            const T with_prompts = roofline_time::formula<T>(o, as<compute_time>(t_c + n * t_p), t_w, t_kv, t_m);
            return ((with_prompts - t + kernels) / n + t_u) / P;
        }
    };

    // --- what a client sees ---

    struct prefill_interference
    {
        static constexpr Spec spec = Spec(
            "T_i",
            "s*sequence/token",
            "time that the prompts of others take between two tokens of an answer: for each answer that ends a prompt "
            "begins",
            "Q13");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<running_sequences, T> B,
            in<concurrent_prefill_time, T> T_p,
            in<output_tokens, T> O)
        { return choose(mode, B * (T_p / O), T(0.0)); }
    };
    struct token_time_factor
    {
        static constexpr Spec spec =
            Spec(
                "f_o",
                "1",
                "time between two tokens over what the terms add up to: what a few runs of one's own say",
                "calibration")
                .positive()
                .by_default(1)
                .ideal(1);
    };
    struct time_per_output_token
    {
        static constexpr Spec spec = Spec("T_o", "s*sequence/token", "time between two tokens of an answer", "R1.1");
        template <class T> static constexpr T formula(
            in<round_time, T> t,
            in<emitted_length, T> e,
            in<prefill_interference, T> T_i,
            in<token_time_factor, T> f)
        { return (t / e + T_i) * f; }
    };
    struct request_overhead
    {
        static constexpr Spec spec =
            Spec("\\tau_r", "s", "time that client, network and scheduler add to every request", "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct prefill_chunk
    {
        static constexpr Spec spec =
            Spec("I_c", "token/sequence", "tokens of a prompt that one pass reads; inf: all", "Q13")
                .positive(infinite)
                .by_default(infinite);
    };
    struct prompt_passes
    {
        static constexpr Spec spec = Spec("n_p", "1", "passes that read a prompt", "Q13");
        template <class T> static constexpr T formula(in<input_tokens, T> I, in<prefill_chunk, T> most)
        { return max(ceil(I / most), 1.0); }
    };
    struct prompt_time
    {
        static constexpr Spec spec = Spec(
            "t_p",
            "s",
            "time from the start of a prompt to its first token: arithmetic of the chips that attend for it, links, "
            "activations, and in each pass the weights, kernels and latencies",
            "R6.6");
        template <class T>
        static constexpr T formula(
            in<prompt_batch, T> B_p,
            in<prompt_common_time, T> t_c,
            in<tensor_parallel, T> G_t,
            in<prompt_expert_time, T> t_k,
            in<chips_per_stage, T> G_P,
            in<prompt_transfer_time, T> t_u,
            in<prompt_passes, T> n,
            in<latency_floor, T> t_w,
            in<kernel_overhead, T> t_K,
            in<prompt_kernel_factor, T> f,
            in<collective_latency, T> t_l)
        { return B_p * (t_c / G_t + t_k / G_P + t_u) + n * (t_w + (t_K * f + t_l)); }
    };
    struct arrival_burst
    {
        static constexpr Spec spec =
            Spec("\\beta_a", "1", "prompts ahead of one's own where one sequence is being answered", "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct arrival_exponent
    {
        static constexpr Spec spec =
            Spec(
                "\\gamma_a",
                "1",
                "how the prompts ahead grow with the sequences: 1/2 where requests come together by chance, 1 where "
                "all come at once",
                "calibration")
                .range(0, 1)
                .by_default(0.5);
    };
    struct prompts_ahead
    {
        static constexpr Spec spec =
            Spec("\\beta_a B_r^{\\gamma_a}", "1", "prompts that are read before one's own, in the mean", "calibration");
        template <class T> static constexpr T formula(
            in<arrival_burst, T> b,
            in<running_sequences, T> B,
            in<arrival_exponent, T> g)
        { return b * pow(max(count(B), 1.0), g); }
    };
    struct queue_time
    {
        static constexpr Spec spec = Spec(
            "T_q",
            "s",
            "wait for room in memory: the others' answers, as often as clients outnumber the room",
            "R6.13");
        template <class T> static constexpr T formula(
            in<clients, T> n,
            in<running_sequences, T> B,
            in<output_tokens, T> O,
            in<time_per_output_token, T> T_o)
        { return (n / B - 1.0) * (O * T_o); }
    };
    struct admission_steps
    {
        static constexpr Spec spec =
            Spec(
                "n_w",
                "1",
                "passes that pass between a request and its first token besides those that read prompts: the rest of "
                "the one under way, and those in which engines take requests in and give tokens out",
                "calibration")
                .range(0)
                .by_default(0.5);
    };
    struct first_token_time_factor
    {
        static constexpr Spec spec =
            Spec(
                "f_f",
                "1",
                "time to the first token over what the terms add up to: what a few runs of one's own say",
                "calibration")
                .positive()
                .by_default(1)
                .ideal(1);
    };
    struct time_to_first_token
    {
        static constexpr Spec spec = Spec(
            "T_f",
            "s",
            "time from a request to its first token: overhead, passes until it is taken in, prompts ahead and one's "
            "own, the wait for room",
            "R6.6");
        template <class T>
        static constexpr T formula(
            in<request_overhead, T> t_r,
            in<prompt_time, T> t_p,
            in<prompts_ahead, T> n,
            in<admission_steps, T> n_w,
            in<time_per_output_token, T> T_o,
            in<emitted_length, T> e,
            in<queue_time, T> T_q,
            in<first_token_time_factor, T> f)
        { return (t_r + t_p * (1.0 + n) + T_o * (e * n_w) + T_q) * f; }
    };
    struct request_time
    {
        static constexpr Spec spec = Spec("T_r", "s", "time from a request to the end of its answer", "R6.6");
        template <class T> static constexpr T formula(
            in<time_to_first_token, T> T_f,
            in<output_tokens, T> O,
            in<emitted_length, T> e,
            in<time_per_output_token, T> T_o)
        { return T_f + (O - e) * T_o; }
    };
    struct request_rate
    {
        static constexpr Spec spec =
            Spec("n_c/T_r", "sequence/s", "requests that the deployment answers in a second", "R1.14");
        template <class T> static constexpr T formula(in<clients, T> n, in<request_time, T> T_r) { return n / T_r; }
    };
    struct tokens_per_second_per_user
    {
        static constexpr Spec spec =
            Spec("1/T_o", "token/s/sequence", "tokens that a client gets in a second", "R1.14");
        template <class T> static constexpr T formula(in<time_per_output_token, T> T_o) { return 1.0 / T_o; }
    };
    struct tokens_per_second_per_chip
    {
        static constexpr Spec spec =
            Spec("B_r/(G T_o)", "token/s/chip", "tokens of answers that a chip makes in a second", "R1.14");
        template <class T> static constexpr T formula(
            in<running_sequences, T> B,
            in<chips, T> G,
            in<time_per_output_token, T> T_o)
        { return B / G / T_o; }
    };

    // --- what it costs ---

    struct prefill_load
    {
        static constexpr Spec spec = Spec(
            "\\rho_p",
            "1",
            "time that the prompts of a second take: the share of the chips' time, or apart the replicas that prefill "
            "for one that decodes",
            "Q13");
        template <class T> static constexpr T formula(
            in<running_sequences, T> B,
            in<prefill_time, T> T_p,
            in<output_tokens, T> O,
            in<time_per_output_token, T> T_o)
        { return B * (T_p / O) / T_o; }
    };
    struct cost_per_input_token
    {
        static constexpr Spec spec = Spec(
            "c_I",
            "USD/token",
            "price of the chips for the time of a prompt, over its tokens: on chips that decode what it adds to their "
            "passes, apart all of it",
            "R6.8");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<concurrent_prefill_time, T> beside,
            in<prefill_time, T> apart,
            in<token_time_factor, T> f,
            in<cell_price, T> p,
            in<input_tokens, T> I)
        { return choose(mode, beside, apart) * (f * p / I); }
    };
    struct cost_per_output_token
    {
        static constexpr Spec spec = Spec(
            "c_O",
            "USD/token",
            "price of the chips for a pass, over the tokens that it makes: prompts left out",
            "R1.5");
        template <class T> static constexpr T formula(in<cost_per_token, T> c, in<token_time_factor, T> f)
        { return c * f; }
    };

    using requests = list<
        serving_mode,
        prefill_compute_efficiency,
        weights_per_table_element,
        head_parameters,
        prompt_common_time,
        prompt_expert_time,
        prompt_batch,
        prompt_compute_time,
        prompt_transfer_time,
        prefill_time,
        prompts_per_pass,
        prompt_kernel_factor,
        concurrent_prefill_time,
        prefill_interference,
        token_time_factor,
        time_per_output_token,
        request_overhead,
        prefill_chunk,
        prompt_passes,
        prompt_time,
        arrival_burst,
        arrival_exponent,
        prompts_ahead,
        queue_time,
        admission_steps,
        first_token_time_factor,
        time_to_first_token,
        request_time,
        request_rate,
        tokens_per_second_per_user,
        tokens_per_second_per_chip,
        prefill_load,
        cost_per_input_token,
        cost_per_output_token>;
}
