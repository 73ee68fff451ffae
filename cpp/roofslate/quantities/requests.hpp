// Latency and cost of requests: prefill between decode passes, queueing for memory, cost per token.
#pragma once
#include "roofslate/quantities/attention.hpp"
#include "roofslate/quantities/context_parallelism.hpp"
#include "roofslate/quantities/economics.hpp"
#include "roofslate/quantities/scheduling.hpp"

namespace roofslate::quantities
{
    // --- serving mode ---

    struct serving_mode
    {
        static constexpr Spec spec =
            Spec("\\sigma_m", "1", "serving mode (aggregated, disaggregated prefill and decode)", "Q13")
                .one_of("aggregated", "disaggregated")
                .by_default(0);
    };
    struct prompt_policy
    {
        static constexpr Spec spec =
            Spec("\\sigma_p", "1", "prefill policy (chunked into decode steps, first in separate steps)", "Q6")
                .one_of("chunked", "first")
                .by_default(0);
    };
    struct prefill_graphs
    {
        static constexpr Spec spec =
            Spec(
                "\\gamma_p",
                "1",
                "recorded (CUDA) graphs in prefill (none, piecewise without attention)",
                "launch option")
                .one_of("none", "piecewise")
                .by_default(0);
    };

    // --- prefill: tokens in the prefix cache are not prefilled again ---

    struct session_hit_rate;
    struct prefix_hit_rate
    {
        static constexpr Spec spec =
            Spec("h", "1", "prefix cache hit rate, fraction of input tokens", "R6.6")
                .range(0, 1)
                .otherwise<session_hit_rate>();
    };
    struct prefix_length
    {
        static constexpr Spec spec =
            Spec("L_p", "token/sequence", "cached prefix per request, already in the KV cache before prefill", "R6.6")
                .range(0)
                .at_most<input_tokens>();
        template <class T> static constexpr T formula(in<prefix_hit_rate, T> h, in<input_tokens, T> I)
        { return spend(h, I); }
    };
    struct fresh_input_tokens
    {
        static constexpr Spec spec =
            Spec("I_f", "token/sequence", "uncached input tokens, prefilled after the cached prefix", "R6.6");
        template <class T> static constexpr T formula(in<input_tokens, T> I, in<prefix_length, T> L_p)
        { return I - L_p; }
    };
    struct prefill_chunk
    {
        static constexpr Spec spec =
            Spec("I_c", "token/sequence", "prefill chunk, input tokens per pass, inf if unchunked", "Q13")
                .positive(infinite)
                .by_default(infinite);
    };
    struct prompt_passes
    {
        static constexpr Spec spec = Spec("n_p", "1", "prefill passes per prompt", "Q13");
        template <class T> static constexpr T formula(in<fresh_input_tokens, T> I, in<prefill_chunk, T> most)
        { return select(most == T(infinite), T(1.0), max(ceil(I / most), 1.0)); }
    };
    struct prefix_bytes
    {
        static constexpr Spec spec =
            Spec("r(earlier)", "byte/sequence", "mean KV cache of earlier tokens read per prefill pass", "R6.6");
        template <class T> static constexpr T formula(
            in<prefix_length, T> L_p,
            in<fresh_input_tokens, T> I,
            in<prompt_passes, T> n,
            in<kv_bytes_per_token, T> q,
            in<kv_read_factor, T> k,
            in<windowed_kv_share, T> share,
            in<attention_window, T> w,
            in<selected_tokens, T> K,
            in<index_bytes_per_token, T> q_i,
            in<recurrent_state_bytes, T> S_0)
        {
            // mean of the passes
            const T earlier = named("earlier", "L", plus_optional(L_p, select(n == T(1.0), T(0.0), (I - I / n) / 2.0)));
            const T tokens = named("tokens", "\\bar{L}", mean_of_layers<T>(share, min(earlier, K), min(earlier, w)));
            return select(earlier == T(0.0), T(0.0), cache_bytes<T>(q * k * tokens, q_i, earlier, S_0, k));
        }
    };
    struct prefix_fetch_time
    {
        static constexpr Spec spec =
            Spec("t_p", "s/sequence", "KV-cache read time of earlier tokens in prefill, all copies", "R6.6");
        template <class T> static constexpr T formula(
            in<prefix_bytes, T> r,
            in<prompt_passes, T> n,
            in<kv_cache_copies, T> copies,
            in<stage_bandwidth, T> M,
            in<attention_bandwidth_share, T> s)
        { return spend(r, n * copies / (M * s)); }
    };

    struct prefill_compute_efficiency
    {
        static constexpr Spec spec =
            Spec("\\eta_p", "1", "achieved fraction of peak compute in prefill", "Q12")
                .positive(1)
                .otherwise<compute_efficiency>();
    };
    struct weights_per_table_element
    {
        static constexpr Spec spec =
            Spec("1", "parameter", "weights per pair of residual element and vocabulary token", "definition")
                .positive()
                .by_default(1);
    };
    struct output_head_parameters
    {
        static constexpr Spec spec = Spec("N_h", "parameter", "output head parameters", "R1.4");
        template <class T> static constexpr T formula(
            in<vocabulary_size, T> V,
            in<hidden_size, T> d,
            in<weights_per_table_element, T> one)
        { return V * d * one; }
    };
    struct input_cv
    {
        static constexpr Spec spec =
            Spec("c_I", "1", "coefficient of variation (CV) of input tokens, lognormal", "Q6").range(0).by_default(0);
    };
    struct prompt_attended_tokens
    {
        static constexpr Spec spec =
            Spec("L_a", "token/sequence", "mean tokens attended to per uncached input token, global layers", "R6.6");
        template <class T> static constexpr T formula(
            in<fresh_input_tokens, T> I,
            in<prefix_length, T> L_p,
            in<selected_tokens, T> K,
            in<input_cv, T> c)
        { return min(plus_optional(I * ((1.0 + c * c) / 2.0), L_p), K); }
    };
    struct prefill_dense_time
    {
        static constexpr Spec spec = Spec(
            "t_{pc}",
            "s*chip/sequence",
            "prefill compute time per prompt on one chip, all but routed experts",
            "R6.6");
        template <class T> static constexpr T formula(
            in<fresh_input_tokens, T> I,
            in<prompt_attended_tokens, T> L_a,
            in<prefill_compute_efficiency, T> eta,
            in<flops_per_parameter_token, T> two,
            in<dense_chip_time_per_token, T> dense,
            in<output_head_parameters, T> N_h,
            in<dense_product_flops, T> F_d,
            in<arithmetic, T> counted,
            in<flops_per_head_element, T> two_a,
            in<global_attention_layers, T> n_g,
            in<attention_heads, T> n_h,
            in<head_size, T> d_h,
            in<latent_rotary_size, T> d_r,
            in<attention_product_flops, T> F_a)
        {
            return I / eta
                * choose(
                       counted,
                       dense,
                       dense - two * (N_h / F_d) + two_a * (n_g * n_h * (2.0 * d_h - d_r)) * (L_a / F_a));
        }
    };
    struct prompt_batch
    {
        static constexpr Spec spec =
            Spec("B_p", "sequence", "prompts per prefill pass", "Q13").positive().by_default(1);
    };
    struct prompt_expert_imbalance
    {
        static constexpr Spec spec =
            Spec("\\mu_p", "1", "expert load imbalance in prefill, maximum relative to mean", "R2.2").range(1);
        template <class T> static constexpr T formula(
            in<expert_popularity_cv, T> c,
            in<expert_placement, T> placement,
            in<expert_statistics_drift, T> d,
            in<experts, T> X,
            in<experts_per_token, T> k,
            in<expert_parallel, T> G_e,
            in<hottest_chip_load, T> hottest,
            in<prompt_batch, T> B_p,
            in<fresh_input_tokens, T> I,
            in<prompt_passes, T> n,
            in<expert_copies, T> copies)
        {
            const T tokens = named("tokens", "T", B_p * (I / n) / copies);
            const T variance = named(
                "variance",
                "v",
                expert_load_variance::formula<T>(placement, c, d, X, k, G_e, as<routed_tokens>(tokens)));
            return expert_imbalance::formula<T>(c, X, G_e, as<expert_load_variance>(variance), hottest);
        }
    };
    struct prompt_expert_time
    {
        static constexpr Spec spec =
            Spec("t_{pk}", "s*chip/sequence", "prefill compute time per prompt on one chip, routed experts", "R6.6");
        template <class T> static constexpr T formula(
            in<fresh_input_tokens, T> I,
            in<prefill_compute_efficiency, T> eta,
            in<expert_chip_time_per_token, T> routed,
            in<prompt_expert_imbalance, T> mu)
        { return I / eta * routed * mu; }
    };
    struct prompt_compute_time
    {
        static constexpr Spec spec =
            Spec("t_{pa}", "s/sequence", "prefill compute time per prompt, all chips of a stage", "R6.6");
        template <class T> static constexpr T formula(
            in<prefill_dense_time, T> t_c,
            in<prompt_expert_time, T> t_k,
            in<chips_per_stage, T> G_P)
        { return (t_c + t_k) / G_P; }
    };
    struct prompt_transfer_time
    {
        static constexpr Spec spec =
            Spec("t_{pu}", "s/sequence", "exposed link and activation time per prompt, prefill", "R3.8");
        template <class T> static constexpr T formula(
            in<communication, T> o,
            in<fresh_input_tokens, T> I,
            in<link_time_per_token, T> t_u,
            in<prompt_compute_time, T> t_c,
            in<activation_time_per_token, T> t_a)
        { return choose(o, spend(t_a, I), I * (t_u + t_a), max(I * t_u - t_c, I * t_a)); }
    };
    struct prefill_time
    {
        static constexpr Spec spec =
            Spec("T_p", "s/sequence", "prefill time per prompt, inverse of replica prefill throughput", "Q13");
        template <class T> static constexpr T formula(
            in<prompt_compute_time, T> t_c,
            in<prompt_transfer_time, T> t_u,
            in<prefix_fetch_time, T> t_p,
            in<replica_ring_time, T> t_r,
            in<serving_mode, T> mode,
            in<prompt_passes, T> n,
            in<prompt_batch, T> B_p,
            in<offloaded_weight_time, T> t_h,
            in<pipeline_stages, T> P)
        {
            const T time = t_c + plus_optional(plus_optional(t_u, t_p), t_r);
            // without decode in the same pass, only prefill waits for offloaded weights
            return select(t_h == T(0.0), time, choose(mode, time, max(time, n * t_h / B_p))) / P;
        }
    };
    // Clients in lockstep send together, and again when all of their outputs have ended together.
    struct lockstep_share
    {
        static constexpr Spec spec =
            Spec("\\lambda_l", "1", "fraction of clients in lockstep (equal lengths, prefill first)", "Q13")
                .range(0, 1)
                .by_default(0);
    };
    struct step_token_budget
    {
        static constexpr Spec spec =
            Spec("C", "token", "token budget per step (max_num_batched_tokens, chunked_prefill_size)", "Q6")
                .positive(infinite)
                .by_default(8192);
    };
    struct single_sequence
    {
        static constexpr Spec spec =
            Spec("1", "sequence", "one sequence, conversion constant", "definition").positive().by_default(1);
    };
    struct prompts_per_prefill_step
    {
        static constexpr Spec spec = Spec("n_m", "sequence", "prompts per prefill step of clients in lockstep", "Q13");
        template <class T> static constexpr T formula(
            in<running_sequences, T> B,
            in<attention_data_parallel, T> G_d,
            in<step_token_budget, T> C,
            in<fresh_input_tokens, T> I,
            in<single_sequence, T> one)
        { return max(min(floor(C / (G_d * I)), B / G_d), one); }
    };

    struct prompts_per_pass
    {
        static constexpr Spec spec =
            Spec("n_i", "sequence", "prompts per mixed batch, at least the prompts per prefill pass", "Q13");
        template <class T> static constexpr T formula(
            in<prompt_batch, T> B_p,
            in<batch_size, T> B,
            in<emitted_length, T> e,
            in<output_tokens, T> O,
            in<lockstep_share, T> s,
            in<prompts_per_prefill_step, T> n_m)
        {
            const T n = max(B * (e / O), B_p);
            return select(s == T(0.0), n, n + s * (max(n_m, n) - n));
        }
    };
    struct prompt_launch_time
    {
        static constexpr Spec spec =
            Spec("t_{Kp}", "s", "extra kernel time of a prefill pass relative to decode", "calibration");
        template <class T> static constexpr T formula(
            in<prefill_graphs, T> graphs,
            in<eager_kernel_factor, T> f,
            in<kernel_overhead, T> t_K,
            in<layers, T> n,
            in<kernel_time, T> t)
        {
            // Pieces between the attention of two layers are recorded. Attention and the write to the KV cache are not.
            return (f - 1.0) * choose(graphs, t_K, spend(t, 2.0 * n));
        }
    };
    struct concurrent_prefill_time
    {
        static constexpr Spec spec =
            Spec("T_{pr}", "s/sequence", "prefill time per prompt in mixed batches, inf if no sequence fits", "Q13");
        template <class T>
        static constexpr T formula(
            in<overlap, T> o,
            in<compute_time, T> t_c,
            in<weight_fetch_time, T> t_w,
            in<kv_fetch_time, T> t_kv,
            in<memory_time, T> t_m,
            in<roofline_time, T> t,
            in<host_wait_time, T> t_h,
            in<prompts_per_pass, T> n,
            in<prompt_launch_time, T> launches,
            in<prompt_compute_time, T> t_p,
            in<prompt_transfer_time, T> t_u,
            in<prefix_fetch_time, T> t_x,
            in<replica_ring_time, T> t_r,
            in<pipeline_stages, T> P)
        {
            const T with_prompts = roofline_time::formula<T>(o, as<compute_time>(t_c + n * t_p), t_w, t_kv, t_m);
            const T longer = select(t_h == T(0.0), with_prompts - t, max(with_prompts - t - t_h, 0.0));
            const T added = ((longer + launches) / n + plus_optional(plus_optional(t_u, t_x), t_r)) / P;
            return select(t_kv < T(infinite), added, T(infinite));
        }
    };

    struct prompt_work_time
    {
        static constexpr Spec spec =
            Spec("t_{pw}", "s/sequence", "prefill time per prompt on its attention chips, without fixed time", "R6.6");
        template <class T> static constexpr T formula(
            in<prefill_dense_time, T> t_c,
            in<tensor_parallel, T> G_t,
            in<prefill_context_parallel, T> G_c,
            in<attention_data_parallel, T> G_d,
            in<prompt_expert_time, T> t_k,
            in<chips_per_stage, T> G_P,
            in<prompt_transfer_time, T> t_u,
            in<prefix_fetch_time, T> t_x,
            in<exposed_ring_time, T> t_r)
        {
            const T groups = select(G_c == T(1.0), G_c, min(G_c, G_d)); // no more than there are
            return t_c / (G_t * groups) + t_k / G_P + plus_optional(plus_optional(t_u, t_x), t_r);
        }
    };
    struct prompt_adapter_time
    {
        static constexpr Spec spec =
            Spec("t_{pL}", "s", "LoRA adapter read time per prefill pass, one adapter per prompt", "Punica");
        template <class T> static constexpr T formula(
            in<lora_adapters, T> n,
            in<prompt_batch, T> B_p,
            in<adapter_bytes, T> W_L,
            in<dense_copies, T> copies,
            in<stage_bandwidth, T> M)
        { return select(n == T(0.0), T(0.0), count(B_p) * copies * W_L / M); }
    };
    struct prompt_pass_overhead
    {
        static constexpr Spec spec =
            Spec("p_n", "s", "fixed time of prefill passes (weights, kernels, latencies, host)", "R6.6");
        template <class T> static constexpr T formula(
            in<prompt_passes, T> n,
            in<latency_floor, T> t_w,
            in<prompt_adapter_time, T> t_L,
            in<kernel_overhead, T> t_K,
            in<prompt_launch_time, T> launches,
            in<collective_latency, T> t_l,
            in<offloaded_weight_time, T> t_h,
            in<prompt_batch, T> B_p,
            in<prompt_work_time, T> work)
        {
            const T fixed = n * (plus_optional(t_w, t_L) + (t_K + launches + t_l));
            return select(t_h == T(0.0), fixed, max(n * t_h - B_p * work, fixed));
        }
    };
    struct stage_pass_overhead
    {
        // The stages work on different prompts: the first one begins the next pass while the others end this one.
        static constexpr Spec spec = Spec("p_{nP}", "s", "fixed time of prefill passes per pipeline stage", "R6.6");
        template <class T> static constexpr T formula(in<prompt_pass_overhead, T> p_n, in<pipeline_stages, T> P)
        { return p_n / P; }
    };
    struct prefill_delay_time
    {
        static constexpr Spec spec =
            Spec("T_d", "s/sequence", "delay of decode per prompt, by mixed batches or prefill passes", "Q13");
        template <class T> static constexpr T formula(
            in<prompt_policy, T> policy,
            in<concurrent_prefill_time, T> mixed,
            in<prefill_time, T> alone,
            in<stage_pass_overhead, T> fixed,
            in<prompts_per_pass, T> n)
        { return choose(policy, mixed, alone + fixed / n); }
    };

    // --- latency and throughput ---

    struct prefill_interference
    {
        static constexpr Spec spec =
            Spec("T_i", "s*sequence/token", "prefill interference, added time per output token", "Q13");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<running_sequences, T> B,
            in<prefill_delay_time, T> T_p,
            in<output_tokens, T> O,
            in<lockstep_share, T> s,
            in<prompts_per_prefill_step, T> n_m,
            in<attention_data_parallel, T> G_d)
        {
            // in lockstep a sequence waits for the prompts after its own, half of them on average
            const T before = 0.5 + 0.5 * min(n_m * G_d / B, 1.0);
            const T added = spend(B, T_p / O);
            return choose(mode, select(s == T(0.0), added, added * (1.0 - s * before)), T(0.0));
        }
    };
    struct time_per_output_token_factor
    {
        static constexpr Spec spec =
            Spec("f_o", "1", "ratio of measured to modeled time per output token (TPOT)", "calibration")
                .positive()
                .by_default(1)
                .ideal(1);
    };
    struct loaded_time_per_output_token;
    struct time_per_output_token
    {
        static constexpr Spec spec =
            Spec("T_o", "s*sequence/token", "mean time per output token (TPOT) after the first", "R1.1")
                .replaced_by_where<loaded_time_per_output_token, arrival_rate, session_rate>()
                .unless_given<batch_size, pass_tokens>();
        template <class T> static constexpr T formula(
            in<round_time, T> t,
            in<emitted_length, T> e,
            in<prefill_interference, T> T_i,
            in<time_per_output_token_factor, T> f)
        { return (t / e + T_i) * f; }
    };
    struct request_overhead
    {
        static constexpr Spec spec =
            Spec("\\tau_r", "s", "overhead per request (client, network, scheduler)", "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct prefill_latency
    {
        static constexpr Spec spec = Spec("t_p", "s", "prefill latency, start of prefill to first token", "R6.6");
        template <class T> static constexpr T formula(
            in<prompt_batch, T> B_p,
            in<prompt_work_time, T> work,
            in<prompt_pass_overhead, T> passes)
        { return B_p * work + passes; }
    };
    struct arrival_burst
    {
        static constexpr Spec spec =
            Spec("\\beta_a", "1", "queued prompts ahead of a request at one running sequence", "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct arrival_exponent
    {
        static constexpr Spec spec =
            Spec("\\gamma_a", "1", "exponent of queued prompts, 1/2 random, 1 simultaneous arrivals", "calibration")
                .range(0, 1)
                .by_default(0.5);
    };
    struct lockstep_queued_prompts
    {
        static constexpr Spec spec =
            Spec("n_l", "1", "mean queued prompts ahead of a request, clients in lockstep", "Q13");
        template <class T> static constexpr T formula(
            in<running_sequences, T> B,
            in<prompts_per_prefill_step, T> n_m,
            in<attention_data_parallel, T> G_d,
            in<single_sequence, T> one)
        {
            // half of the group, in whole steps of n_m prompts
            return max((B / G_d + n_m) / (2.0 * one) - 1.0, 0.0);
        }
    };
    struct queued_prompts
    {
        static constexpr Spec spec =
            Spec("\\beta_a B_r^{\\gamma_a}", "1", "mean queued prompts ahead of a request", "calibration");
        template <class T> static constexpr T formula(
            in<arrival_burst, T> b,
            in<running_sequences, T> B,
            in<arrival_exponent, T> g,
            in<lockstep_share, T> s,
            in<lockstep_queued_prompts, T> n_l)
        {
            const T random = b * pow(max(count(B), 1.0), g);
            return select(s == T(0.0), random, random + s * (n_l - random));
        }
    };
    struct admission_steps
    {
        static constexpr Spec spec =
            Spec("n_w", "1", "passes before the first token, prefill passes excluded", "calibration")
                .range(0)
                .by_default(0.5);
    };
    struct receive_interval
    {
        static constexpr Spec spec =
            Spec("n_r", "1", "passes between scheduler checks for new requests (launch option)", "launch option")
                .range(1)
                .by_default(1);
    };
    struct time_to_first_token_factor
    {
        static constexpr Spec spec =
            Spec("f_f", "1", "ratio of measured to modeled time to first token (TTFT)", "calibration")
                .positive()
                .by_default(1)
                .ideal(1);
    };
    struct prompt_cache_bytes
    {
        static constexpr Spec spec = Spec("S_x", "byte/sequence", "KV cache per prompt, one copy", "Q13");
        template <class T> static constexpr T formula(
            in<kv_bytes_per_token, T> q,
            in<kv_stored_factor, T> k,
            in<windowed_kv_share, T> share,
            in<input_tokens, T> I,
            in<attention_window, T> w,
            in<index_bytes_per_token, T> q_i,
            in<recurrent_state_bytes, T> S_0)
        { return cache_bytes<T>(q * k * mean_of_layers<T>(share, I, min(I, w)), q_i, I, S_0, k); }
    };
    struct kv_transfer_time
    {
        static constexpr Spec spec =
            Spec("T_x", "s", "KV-cache transfer time from prefill to decode, 0 if aggregated", "Q13");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prompt_batch, T> B_p,
            in<communication, T> links,
            in<prompt_cache_bytes, T> S_x,
            in<attention_data_parallel, T> G_d,
            in<chips, T> G,
            in<scale_out_bandwidth, T> u_o)
        {
            const T time = B_p * S_x / (G / G_d * u_o);
            return select(is<serving_mode>(mode, "aggregated") || is<communication>(links, "free"), T(0.0), time);
        }
    };
    struct loaded_first_token_time;
    struct loaded_slot_wait;
    struct exposed_load_time;
    struct prefix_load_time
    {
        static constexpr Spec spec =
            Spec("T_l", "s", "mean load time of cached prefixes and adapters before prefill", "definition")
                .range(0)
                .otherwise<exposed_load_time>();
    };
    struct first_token_service_time
    {
        static constexpr Spec spec =
            Spec("T_1", "s", "time to first token (TTFT) after admission, prompts ahead included", "R6.6")
                .replaced_by_where<loaded_first_token_time, arrival_rate, session_rate>()
                .unless_given<batch_size, pass_tokens>();
        template <class T>
        static constexpr T formula(
            in<request_overhead, T> t_r,
            in<prefill_latency, T> t_p,
            in<queued_prompts, T> n,
            in<admission_steps, T> n_w,
            in<receive_interval, T> n_r,
            in<time_per_output_token, T> T_o,
            in<emitted_length, T> e,
            in<kv_transfer_time, T> T_x,
            in<prefix_load_time, T> T_l,
            in<time_to_first_token_factor, T> f,
            in<lockstep_share, T> s,
            in<lockstep_queued_prompts, T> n_l,
            in<prompts_per_prefill_step, T> n_m,
            in<single_sequence, T> one,
            in<prompt_pass_overhead, T> t_n)
        {
            const T passes = e * (n_w + (n_r - 1.0) / 2.0); // a request comes anywhere in the interval
            const T alone = t_p * (1.0 + n), shared = t_n * (1.0 - one / n_m) * (1.0 + n_l);
            const T prompts = select(s == T(0.0), alone, alone - s * shared);
            return (t_r + prompts + spend(passes, T_o) + plus_optional(T_x, T_l)) * f;
        }
    };
    struct service_time
    {
        static constexpr Spec spec = Spec("T_s", "s", "request latency after admission, queueing excluded", "R6.6");
        template <class T> static constexpr T formula(
            in<first_token_service_time, T> T_1,
            in<output_tokens, T> O,
            in<emitted_length, T> e,
            in<time_per_output_token, T> T_o)
        { return T_1 + spend(max(O - e, 0.0), T_o); }
    };
    struct queue_time
    {
        static constexpr Spec spec =
            Spec("T_q", "s", "queueing delay for memory or a batch slot", "R6.13")
                .replaced_by_where<loaded_slot_wait, arrival_rate, session_rate>()
                .unless_given<batch_size, pass_tokens>();
        template <class T> static constexpr T formula(
            in<concurrency, T> n,
            in<running_sequences, T> B,
            in<service_time, T> T_s)
        { return (n / B - 1.0) * T_s; }
    };
    struct time_to_first_token
    {
        static constexpr Spec spec = Spec("T_f", "s", "mean time to first token (TTFT), queueing included", "R6.6");
        template <class T> static constexpr T formula(in<first_token_service_time, T> T_1, in<queue_time, T> T_q)
        { return T_1 + T_q; }
    };
    struct request_latency
    {
        static constexpr Spec spec = Spec("T_r", "s", "end-to-end request latency, queueing included", "R6.6");
        template <class T> static constexpr T formula(in<queue_time, T> T_q, in<service_time, T> T_s)
        { return T_q + T_s; }
    };
    struct loaded_request_throughput;
    struct request_throughput
    {
        static constexpr Spec spec =
            Spec("B_r/T_s", "sequence/s", "request throughput per replica", "R1.14")
                .replaced_by_where<loaded_request_throughput, arrival_rate, session_rate>()
                .unless_given<batch_size, pass_tokens>();
        template <class T> static constexpr T formula(in<running_sequences, T> B, in<service_time, T> T_s)
        { return B / T_s; }
    };
    struct tokens_per_second_per_user
    {
        static constexpr Spec spec =
            Spec("1/T_o", "token/s/sequence", "output tokens per second per user (interactivity)", "R1.14");
        template <class T> static constexpr T formula(in<time_per_output_token, T> T_o) { return 1.0 / T_o; }
    };
    struct prefill_replicas;
    struct prefill_replica_ratio;
    struct prefill_load
    {
        static constexpr Spec spec =
            Spec("\\rho_p", "1", "prefill replicas per decode replica, 0 if aggregated", "Q13")
                .replaced_by_where<prefill_replica_ratio, prefill_replicas>();
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<request_throughput, T> rate,
            in<prefill_time, T> T_p)
        { return choose(mode, T(0.0), rate * T_p); }
    };
    struct pool_tokens_per_second_per_chip;
    struct tokens_per_second_per_chip
    {
        static constexpr Spec spec =
            Spec("R_G", "token/s/chip", "output tokens per second per chip, prefill chips included", "R1.14")
                .replaced_by_where<pool_tokens_per_second_per_chip, prefill_replicas>();
        template <class T> static constexpr T formula(
            in<request_throughput, T> rate,
            in<output_tokens, T> O,
            in<chips, T> G,
            in<prefill_load, T> rho)
        { return rate * (O / G) / (1.0 + rho); }
    };
    // --- cost ---

    struct pool_cost_per_input_token;
    struct cost_per_input_token
    {
        static constexpr Spec spec =
            Spec("c_I", "USD/token", "prefill cost per uncached input token", "R6.8")
                .replaced_by_where<pool_cost_per_input_token, prefill_replicas>();
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<prefill_delay_time, T> mixed,
            in<prefill_time, T> separate,
            in<time_per_output_token_factor, T> f,
            in<replica_price, T> p,
            in<fresh_input_tokens, T> I)
        { return choose(mode, mixed, separate) * (f * p / I); }
    };
    struct load_factor
    {
        static constexpr Spec spec =
            Spec("\\lambda_f", "1", "fraction of paid chip time under this load", "Q13").positive(1).by_default(1);
    };
    struct pool_cost_per_request;
    struct cost_per_request
    {
        static constexpr Spec spec =
            Spec("c_R", "USD/sequence", "cost per request, prefill included", "R1.5")
                .replaced_by_where<pool_cost_per_request, prefill_replicas>();
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<replica_price, T> p,
            in<request_throughput, T> rate,
            in<prefill_time, T> T_p,
            in<load_factor, T> share)
        { return choose(mode, p / rate, p * (1.0 / rate + T_p)) / share; }
    };
    struct cost_per_output_token
    {
        static constexpr Spec spec = Spec("c_O", "USD/token", "cost per output token, prompts included", "R1.5");
        template <class T> static constexpr T formula(in<cost_per_request, T> c, in<output_tokens, T> O)
        { return c / O; }
    };
    struct blended_cost_per_token
    {
        static constexpr Spec spec = Spec("c_B", "USD/token", "blended cost per token, input and output", "R1.5");
        template <class T> static constexpr T formula(
            in<cost_per_request, T> c,
            in<input_tokens, T> I,
            in<output_tokens, T> O)
        { return c / (I + O); }
    };

    using requests = list<
        serving_mode,
        prompt_policy,
        prefill_graphs,
        prefix_hit_rate,
        prefix_length,
        fresh_input_tokens,
        prefill_chunk,
        prompt_passes,
        prefix_bytes,
        prefix_fetch_time,
        prefill_compute_efficiency,
        weights_per_table_element,
        output_head_parameters,
        input_cv,
        prompt_attended_tokens,
        prefill_dense_time,
        prompt_batch,
        prompt_expert_imbalance,
        prompt_expert_time,
        prompt_compute_time,
        prompt_transfer_time,
        prefill_time,
        lockstep_share,
        step_token_budget,
        single_sequence,
        prompts_per_prefill_step,
        prompts_per_pass,
        prompt_launch_time,
        concurrent_prefill_time,
        prompt_work_time,
        prompt_adapter_time,
        prompt_pass_overhead,
        stage_pass_overhead,
        prefill_delay_time,
        prefill_interference,
        time_per_output_token_factor,
        time_per_output_token,
        request_overhead,
        prefill_latency,
        arrival_burst,
        arrival_exponent,
        lockstep_queued_prompts,
        queued_prompts,
        admission_steps,
        receive_interval,
        time_to_first_token_factor,
        prompt_cache_bytes,
        kv_transfer_time,
        prefix_load_time,
        first_token_service_time,
        service_time,
        queue_time,
        time_to_first_token,
        request_latency,
        request_throughput,
        tokens_per_second_per_user,
        prefill_load,
        tokens_per_second_per_chip,
        cost_per_input_token,
        load_factor,
        cost_per_request,
        cost_per_output_token,
        blended_cost_per_token>;
}
