// A training run on real machines: compute, traffic, waits and memory of a step, and time and cost of all steps. With
// ideal constants (efficiencies 1, times 0, unlimited links) a step takes its compute time and the bubble of chapter 4,
// and a run takes 6 N D divided by the compute of the chips.
#pragma once
#include "roofslate/quantities/pipeline.hpp"
#include "roofslate/quantities/requests.hpp"

namespace roofslate::quantities
{
    // --- layout ---

    struct dense_weight_copies
    {
        static constexpr Spec spec = Spec("G_P/G_t", "1", "chips with the same dense weights", "R3.8");
        template <class T> static constexpr T formula(in<chips_per_stage, T> G_P, in<tensor_parallel, T> G_t)
        { return G_P / G_t; }
    };
    struct data_parallel
    {
        static constexpr Spec spec = Spec("G_r", "1", "data parallelism (DP), model copies in training", "R3.8");
        template <class T> static constexpr T formula(in<dense_weight_copies, T> G_1, in<context_parallel, T> G_c)
        { return G_1 / G_c; }
    };
    struct microbatch_size
    {
        static constexpr Spec spec = Spec("B_\\mu", "sequence", "micro-batch size per model copy", "R3.5");
        template <class T> static constexpr T formula(
            in<tokens_per_step, T> tokens,
            in<sequence_length, T> L,
            in<microbatches, T> n,
            in<data_parallel, T> G_r)
        { return tokens / L / (n * G_r); }
    };
    struct sequence_parallel
    {
        static constexpr Spec spec =
            Spec("\\sigma_s", "1", "sequence parallelism in training (off, on)", "arXiv:2205.05198")
                .one_of("off", "on")
                .by_default(0);
    };
    struct sharded_state
    {
        static constexpr Spec spec =
            Spec("\\sigma_z", "1", "state sharded across data-parallel ranks (ZeRO 0 to 3)", "arXiv:1910.02054")
                .one_of("none", "optimizer", "gradients", "weights")
                .by_default(0);
    };

    // --- FLOPs of a token ---

    struct multi_token_prediction_layers
    {
        static constexpr Spec spec =
            Spec("n_p", "1", "multi-token prediction (MTP) layers", "arXiv:2412.19437").range(0).by_default(0);
    };
    struct multi_token_prediction_parameters
    {
        static constexpr Spec spec = Spec(
            "N_p",
            "parameter",
            "active parameters of the multi-token prediction (MTP) layers",
            "arXiv:2412.19437");
        template <class T> static constexpr T formula(
            in<multi_token_prediction_layers, T> n_p,
            in<active_parameters, T> N_a,
            in<output_head_parameters, T> N_h,
            in<layers, T> n,
            in<hidden_size, T> d,
            in<weights_per_table_element, T> one)
        { return spend(n_p, (N_a - N_h) / n + 2.0 * d * d * one + N_h); }
    };
    struct attention_mask
    {
        static constexpr Spec spec =
            Spec("\\mu_a", "1", "attention mask in training FLOPs (causal, full)", "R6.11")
                .one_of("causal", "full")
                .by_default(0);
    };
    // Mean over a sequence of length L of the tokens that each one meets, at most m of them.
    template <class T> constexpr T tokens_met(in<attention_mask, T> mask, in<sequence_length, T> L, const T& m)
    { return choose(mask, causal_mean<T>(L, m), m); }
    struct attention_training_flops
    {
        static constexpr Spec spec =
            Spec("f_{aT}", "FLOP/token", "attention FLOPs per trained token, forward plus backward", "R6.11");
        template <class T>
        static constexpr T formula(
            in<training_flops_per_parameter, T> six,
            in<flops_per_parameter_token, T> two,
            in<flops_per_head_element, T> two_a,
            in<attention_heads, T> n_h,
            in<head_size, T> d_h,
            in<latent_rotary_size, T> d_r,
            in<attention_mask, T> mask,
            in<sequence_length, T> L,
            in<global_attention_layers, T> n_g,
            in<multi_token_prediction_layers, T> n_p,
            in<selected_tokens, T> K,
            in<windowed_attention_layers, T> n_w,
            in<attention_window, T> w)
        {
            const T unwindowed = (n_g + n_p) * tokens_met<T>(mask, L, min(L, K));
            const T windowed = tokens_met<T>(mask, L, min(L, w));
            return attention_of_sequence<T>(six / two, two_a, n_h, d_h, d_r, unwindowed, n_w, windowed);
        }
    };
    struct matrix_training_flops
    {
        static constexpr Spec spec =
            Spec("6 (N_a + N_p)", "FLOP/token", "weight FLOPs per trained token, forward plus backward", "R5.1");
        template <class T> static constexpr T formula(
            in<base_flops_per_parameter, T> c_b,
            in<active_parameters, T> N_a,
            in<multi_token_prediction_parameters, T> N_p,
            in<trained_weights, T> trained,
            in<training_flops_per_parameter, T> six,
            in<adapter_parameters, T> N_L)
        {
            const T base = c_b * (N_a + N_p);
            return choose(trained, base, base + six * N_L);
        }
    };
    struct training_flops_per_token
    {
        static constexpr Spec spec =
            Spec("f_T", "FLOP/token", "model FLOPs per trained token, recomputation excluded", "R5.1");
        template <class T> static constexpr T formula(
            in<arithmetic, T> counted,
            in<matrix_training_flops, T> f,
            in<attention_training_flops, T> f_a)
        { return choose(counted, f, f + f_a); }
    };
    struct repeated_attention
    {
        static constexpr Spec spec =
            Spec("\\rho_s", "1", "extra attention forward passes recomputed in the backward pass", "arXiv:2205.05198")
                .range(0)
                .by_default(0);
    };
    struct executed_matrix_flops
    {
        static constexpr Spec spec =
            Spec("\\chi f_m", "FLOP/token", "weight FLOPs per trained token, recomputation included", "R7.3");
        template <class T> static constexpr T formula(in<matrix_training_flops, T> f, in<recomputation_factor, T> again)
        { return f * again; }
    };
    struct executed_routed_flops
    {
        static constexpr Spec spec =
            Spec("6 \\chi N_k", "FLOP/token", "routed-expert FLOPs per trained token, recomputation included", "R7.3");
        template <class T> static constexpr T formula(
            in<base_flops_per_parameter, T> c_b,
            in<active_routed_parameters, T> N_k,
            in<recomputation_factor, T> again)
        { return c_b * N_k * again; }
    };
    struct executed_attention_flops
    {
        static constexpr Spec spec =
            Spec("\\chi f_a", "FLOP/token", "attention FLOPs per trained token, recomputation included", "R7.3");
        template <class T>
        static constexpr T formula(
            in<arithmetic, T> counted,
            in<attention_training_flops, T> f_a,
            in<repeated_forward, T> again,
            in<repeated_attention, T> more,
            in<flops_per_parameter_token, T> two,
            in<training_flops_per_parameter, T> six)
        { return choose(counted, T(0.0), f_a * (1.0 + (again + more) * (two / six))); }
    };
    struct executed_training_flops
    {
        static constexpr Spec spec =
            Spec("f_x", "FLOP/token", "executed FLOPs per trained token, recomputation included", "R7.3");
        template <class T> static constexpr T formula(
            in<executed_matrix_flops, T> f,
            in<executed_attention_flops, T> f_a)
        { return f + f_a; }
    };
    struct recomputation_overhead
    {
        static constexpr Spec spec = Spec("f_x/f_T", "1", "ratio of executed to model FLOPs in training", "R7.3");
        template <class T> static constexpr T formula(
            in<executed_training_flops, T> executed,
            in<training_flops_per_token, T> counted)
        { return executed / counted; }
    };

    // --- busy time of a stage in a step ---

    struct attention_compute_efficiency
    {
        static constexpr Spec spec =
            Spec("\\eta_a", "1", "achieved fraction of BF16 peak compute in training attention", "Q12")
                .positive(1)
                .otherwise<compute_efficiency>();
    };
    struct grouped_product_share
    {
        static constexpr Spec spec =
            Spec("\\sigma_k", "1", "grouped-GEMM efficiency relative to other products in training", "calibration")
                .positive(1)
                .by_default(1)
                .ideal(1);
    };
    struct largest_format_gain
    {
        static constexpr Spec spec =
            Spec("g_f", "1", "maximum training speedup of a narrow format relative to BF16", "calibration")
                .range(1, infinite)
                .by_default(infinite)
                .ideal(infinite);
    };
    struct training_peak_flops
    {
        static constexpr Spec spec = Spec("F_T", "FLOP/s/chip", "peak compute of matrix products in training", "R1.2");
        template <class T> static constexpr T formula(
            in<peak_flops, T> F,
            in<largest_format_gain, T> g,
            in<peak_flops_bf16, T> F_16)
        { return min(F, g * F_16); }
    };
    struct output_head_format
    {
        static constexpr Spec spec =
            Spec("f_h", "1", "output-head format in training (same, BF16)", "arXiv:2209.05433")
                .one_of("same", "bf16")
                .by_default(0);
    };
    struct output_head_time
    {
        static constexpr Spec spec =
            Spec("t_{lT}", "s", "output-head compute time of a training step, spread across chips", "R5.1");
        template <class T> static constexpr T formula(
            in<tokens_per_step, T> tokens,
            in<chips, T> G,
            in<base_flops_per_parameter, T> c_b,
            in<output_head_parameters, T> N_h,
            in<multi_token_prediction_layers, T> n_p,
            in<recomputation_factor, T> again,
            in<output_head_format, T> f,
            in<training_peak_flops, T> F,
            in<peak_flops_bf16, T> F_16,
            in<compute_efficiency, T> eta)
        { return tokens * (c_b * N_h * ((1.0 + n_p) * again) / (choose(f, F, F_16) * eta) / G); }
    };
    struct training_compute_time
    {
        static constexpr Spec spec = Spec("t_{cT}", "s", "compute time of a training step", "R5.1");
        template <class T>
        static constexpr T formula(
            in<tokens_per_step, T> tokens,
            in<chips, T> G,
            in<executed_matrix_flops, T> f,
            in<expert_imbalance, T> mu,
            in<grouped_product_share, T> share,
            in<executed_routed_flops, T> f_k,
            in<training_peak_flops, T> F,
            in<compute_efficiency, T> eta,
            in<executed_attention_flops, T> f_a,
            in<peak_flops_bf16, T> F_16,
            in<attention_compute_efficiency, T> eta_a,
            in<output_head_format, T> f_h,
            in<output_head_time, T> t_l)
        {
            const T on_fullest = spend_beside(f, mu / share - 1.0, f_k);
            const T step = tokens * ((on_fullest / (F * eta) + f_a / (F_16 * eta_a)) / G);
            return choose(f_h, step, step + t_l * (1.0 - F_16 / F));
        }
    };
    // Work of a step in forward passes: forward, backward, recomputed.
    template <class T> constexpr auto training_passes(in<backward_forward_ratio, T> r, in<repeated_forward, T> again)
    { return 1.0 + r + again; }
    struct training_activation_time
    {
        static constexpr Spec spec = Spec("t_{aT}", "s", "activation transfer time of a training step", "calibration");
        template <class T> static constexpr T formula(
            in<tokens_per_step, T> tokens,
            in<activation_time_per_token, T> t,
            in<backward_forward_ratio, T> r,
            in<repeated_forward, T> again,
            in<pipeline_stages, T> P)
        { return tokens * (t * (training_passes<T>(r, again) / P)); }
    };
    struct kernels_per_local_expert
    {
        static constexpr Spec spec =
            Spec("n_{Ke}", "1", "training kernels per local expert and layer, forward pass", "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct captured_kernels
    {
        static constexpr Spec spec =
            Spec("o_K", "1", "fraction of training kernels launched from a recorded (CUDA) graph", "calibration")
                .range(0, 1)
                .by_default(0);
    };
    struct training_kernel_time
    {
        static constexpr Spec spec = Spec("t_{KT}", "s", "fixed kernel time of a training step", "calibration");
        // Casts to narrow formats are among the activation transfers: training frameworks fuse them with other kernels.
        template <class T> static constexpr T formula(
            in<microbatches, T> n,
            in<kernels_per_pass, T> n_K,
            in<kernels_per_local_expert, T> n_Ke,
            in<moe_layers, T> n_e,
            in<experts, T> E,
            in<expert_parallel, T> G_e,
            in<kernel_time, T> t,
            in<captured_kernels, T> captured,
            in<backward_forward_ratio, T> r,
            in<repeated_forward, T> again,
            in<pipeline_stages, T> P)
        {
            const T launches = spend_beside(n_K, n_Ke, n_e * (E / count(G_e)));
            return n * (spend(t * (1.0 - captured), launches) * (training_passes<T>(r, again) / P));
        }
    };
    struct tensor_collective_time
    {
        static constexpr Spec spec =
            Spec("t_{tT}", "s", "tensor-parallel collective time of a training step", "arXiv:1909.08053");
        template <class T>
        static constexpr T formula(
            in<tokens_per_step, T> tokens,
            in<dense_weight_copies, T> G_1,
            in<tensor_parallel, T> G_t,
            in<layers_per_stage, T> n,
            in<hidden_size, T> d,
            in<collective_bytes_per_element, T> w,
            in<repeated_forward, T> again,
            in<scale_up_domain, T> G_u,
            in<tensor_link_bandwidth, T> u,
            in<scale_out_bandwidth, T> u_o)
        {
            return tokens / G_1 * (n * d * w)
                * (2.0 * (2.0 + again) * all_reduce_time<T>(G_t, G_u, as<scale_up_bandwidth>(u), u_o));
        }
    };
    struct training_all_to_all_time
    {
        static constexpr Spec spec =
            Spec("t_{xT}", "s", "all-to-all time of a training step, forward plus backward", "R2.3");
        template <class T>
        static constexpr T formula(
            in<tokens_per_step, T> tokens,
            in<chips_per_stage, T> G_P,
            in<moe_layers, T> n_e,
            in<pipeline_stages, T> P,
            in<hidden_size, T> d,
            in<collective_bytes_per_element, T> w,
            in<repeated_forward, T> again,
            in<experts_per_token, T> k,
            in<expert_parallel, T> G_e,
            in<hierarchical_leaving_copies, T> R_o,
            in<scale_up_topology, T> which,
            in<mean_hops, T> hops,
            in<link_imbalance, T> uneven,
            in<expert_imbalance, T> mu,
            in<scale_up_bandwidth, T> u,
            in<scale_out_bandwidth, T> u_o)
        {
            const T sent = k * choose(which, 1.0 - 1.0 / count(G_e), T(1.0)) * (hops * uneven);
            return tokens / count(G_P) * (n_e / P * d * w) * (2.0 * (2.0 + again) * mu * max(sent / u, R_o / u_o));
        }
    };
    // Number of copies in a domain if they are `spacing` chips from one another.
    template <class T> constexpr T copies_in_domain(in<scale_up_domain, T> domain, const T& spacing)
    { return domain / min(spacing, domain); }
    struct dense_copy_link_bandwidth
    {
        static constexpr Spec spec = Spec(
            "u_{g1}",
            "byte/s/chip",
            "all-reduce link bandwidth among copies of dense weights",
            "JAX scaling book, chapter on sharding");
        template <class T> static constexpr T formula(
            in<scale_up_topology, T> which,
            in<scale_up_bandwidth, T> u,
            in<dense_weight_copies, T> G_1,
            in<tensor_parallel, T> G_t,
            in<chips_per_stage, T> G_P,
            in<scale_up_domain, T> G_u,
            in<torus_dimensions, T> d,
            in<torus_length, T> x,
            in<torus_width, T> y,
            in<torus_height, T> z,
            in<torus_wiring, T> wiring,
            in<other_groups, T> g,
            in<dragonfly_group, T> A,
            in<dragonfly_board, T> a,
            in<group_links, T> l_A,
            in<global_links, T> l_o,
            in<dragonfly_links, T> l)
        {
            const T below = torus_links<T>(count(G_t), x, y, z, wiring);
            const T links = torus_links<T>(count(G_P), x, y, z, wiring) - below;
            return sum_bandwidth<T>(which, u, count(G_1), count(G_t), links, G_u, d, g, A, a, l_A, l_o, l);
        }
    };
    struct context_collective_time
    {
        // Keys and values of all parts of a sequence are gathered forward and backward, their gradients added up.
        static constexpr Spec spec =
            Spec("t_{kT}", "s", "context-parallel key-value exchange time of a training step", "arXiv 2407.21783");
        template <class T>
        static constexpr T formula(
            in<context_parallel, T> G_c,
            in<tokens_per_step, T> tokens,
            in<data_parallel, T> G_r,
            in<layers_per_stage, T> n,
            in<kv_heads, T> n_kv,
            in<head_size, T> d_h,
            in<kv_latent_size, T> d_c,
            in<collective_bytes_per_element, T> w,
            in<repeated_forward, T> again,
            in<tensor_parallel, T> G_t,
            in<scale_up_domain, T> G_u,
            in<dense_copy_link_bandwidth, T> u_1,
            in<scale_out_bandwidth, T> u_o)
        {
            const T width = select(d_c > T(0.0), d_c, 2.0 * n_kv * d_h / min(count(G_t), T(n_kv)));
            // twice a gathering; the parts are neighbors among the copies of dense weights
            const T all_reduce =
                all_reduce_time<T>(G_c, copies_in_domain<T>(G_u, G_t), as<scale_up_bandwidth>(u_1), u_o);
            return select(G_c == T(1.0), T(0.0), tokens / G_r * (n * width * w) * ((1.5 + again / 2.0) * all_reduce));
        }
    };
    // A micro-batch passes P stages, so P - 1 hops; v chunks a stage, one round after the other, make it v P - 1, hops
    // from the last stage to the first included. In a V of two chunks it turns around on the last stage, which is no
    // hop; DualPipe's two directions have P - 1 each.
    // Forward hops of a micro-batch relative to the number of stages (arXiv:2104.04473).
    template <class T> constexpr auto stage_hops(
        in<pipeline_schedule, T> which,
        in<pipeline_stages, T> P,
        in<model_chunks, T> v)
    {
        const T once = 1.0 - 1.0 / P;
        return choose(which, once, once, once, once, select(P > T(1.0), v - 1.0 / P, T(0.0)), 2.0 * once, once);
    }
    struct stage_hop_time
    {
        static constexpr Spec spec = Spec("t_{hT}", "s", "stage-hop time of a training step, all model chunks", "R3.3");
        template <class T> static constexpr T formula(
            in<tokens_per_step, T> tokens,
            in<chips_per_stage, T> G_P,
            in<pipeline_schedule, T> which,
            in<pipeline_stages, T> P,
            in<model_chunks, T> v,
            in<hidden_size, T> d,
            in<collective_bytes_per_element, T> w,
            in<hop_bandwidth, T> u)
        { return tokens / count(G_P) * (2.0 * stage_hops<T>(which, P, v) * d * w) / u; }
    };
    struct link_overlap
    {
        static constexpr Spec spec =
            Spec("o_u", "1", "fraction of link time hidden by compute in training", "calibration")
                .range(0, 1)
                .by_default(0);
    };
    struct schedule_overlap
    {
        static constexpr Spec spec =
            Spec("o_s", "1", "fraction of hideable link time hidden by the pipeline schedule", "arXiv:2412.19437")
                .range(0, 1)
                .by_default(0);
    };
    struct stage_communication_time
    {
        static constexpr Spec spec =
            Spec("t_{uT}", "s", "exposed communication time of a stage per training step", "R3.8");
        template <class T> static constexpr T formula(
            in<layout, T> l,
            in<tensor_collective_time, T> t_t,
            in<context_collective_time, T> t_k,
            in<training_all_to_all_time, T> t_x,
            in<stage_hop_time, T> t_h,
            in<pipeline_schedule, T> which,
            in<schedule_overlap, T> o_s,
            in<link_overlap, T> o,
            in<link_efficiency, T> eta)
        {
            const T compute_share = 1.0 - o_s,
                    both = select(is<pipeline_schedule>(which, "dualpipe"), compute_share, T(1.0)),
                    hops = select(is<pipeline_schedule>(which, "interleaved"), compute_share, both);
            return choose(l, T(0.0), (plus_optional(t_t, t_k) + t_x * both + t_h * hops) * ((1.0 - o) / eta));
        }
    };
    struct training_bytes_per_weight
    {
        static constexpr Spec spec =
            Spec("w_T", "byte/parameter", "bytes per weight in training products", "arXiv:2104.04473")
                .positive()
                .by_default(2);
    };
    struct frozen_bytes_per_weight
    {
        static constexpr Spec spec =
            Spec(
                "w_f",
                "byte/parameter",
                "stored bytes per frozen weight, 0.516 for NF4 (QLoRA)",
                "QLoRA, arXiv 2305.14314")
                .positive()
                .otherwise<training_bytes_per_weight>();
    };
    struct dense_parameters_per_chip
    {
        static constexpr Spec spec =
            Spec("N_d/(P G_t)", "parameter/chip", "dense parameters per chip, fullest stage", "R3.6");
        template <class T> static constexpr T formula(
            in<dense_parameters, T> N_d,
            in<pipeline_stages, T> P,
            in<tensor_parallel, T> G_t,
            in<layers_per_stage, T> n)
        { return N_d / (P * G_t) * (ceil(n) / n); }
    };
    struct routed_parameters_per_chip
    {
        static constexpr Spec spec =
            Spec("(N_t - N_d)/(P G_e)", "parameter/chip", "routed-expert parameters per chip, fullest stage", "R3.6");
        template <class T> static constexpr T formula(
            in<total_parameters, T> N_t,
            in<dense_parameters, T> N_d,
            in<pipeline_stages, T> P,
            in<expert_parallel, T> G_e,
            in<layers_per_stage, T> n)
        { return (N_t - N_d) / (P * G_e) * (ceil(n) / n); }
    };
    struct dequantization_time
    {
        // A kernel reads the stored form and writes the one to multiply with.
        static constexpr Spec spec =
            Spec("t_{qT}", "s", "dequantization time of frozen weights per training step", "QLoRA, arXiv 2305.14314");
        template <class T>
        static constexpr T formula(
            in<trained_weights, T> trained,
            in<frozen_bytes_per_weight, T> w_f,
            in<training_bytes_per_weight, T> w,
            in<microbatches, T> n,
            in<repeated_forward, T> again,
            in<dense_parameters_per_chip, T> N_c,
            in<routed_parameters_per_chip, T> N_k,
            in<hbm_bandwidth, T> m,
            in<bandwidth_efficiency, T> eta)
        {
            const T once = (N_c + N_k) * (w_f + w) / (m * eta);
            return choose(trained, T(0.0), select(w_f == w, T(0.0), n * (2.0 + again) * once));
        }
    };
    struct output_head_place
    {
        static constexpr Spec spec =
            Spec("\\pi_h", "1", "output-head placement in training (spread, last stage)", "arXiv:2411.05288")
                .one_of("spread", "last_stage")
                .by_default(0);
    };
    struct stage_busy_time
    {
        static constexpr Spec spec = Spec("t_b", "s", "busy time of the slowest stage per training step", "R3.4");
        template <class T> static constexpr T formula(
            in<training_compute_time, T> t_c,
            in<training_activation_time, T> t_a,
            in<training_kernel_time, T> t_K,
            in<dequantization_time, T> t_q,
            in<stage_communication_time, T> t_u,
            in<stage_balance, T> b,
            in<output_head_place, T> placement,
            in<output_head_time, T> t_l,
            in<layers_per_stage, T> n,
            in<pipeline_stages, T> P)
        {
            // The last stage lacks the layers that the fullest ones have more: in their time it works with the head.
            const T around = t_a + plus_optional(t_K, t_q) + t_u, rest = t_c - t_l + around;
            const T beyond = max(P * (t_l - rest * ((ceil(n) - n) / n)), T(0.0));
            return choose(placement, (t_c + around) / b, rest / b + beyond);
        }
    };

    // --- weights, gradients and optimizer states ---

    struct gradient_bytes_per_weight
    {
        static constexpr Spec spec =
            Spec("w_g", "byte/parameter", "gradient bytes per weight", "arXiv:2104.04473").range(0).by_default(4);
    };
    struct optimizer_bytes_per_weight
    {
        static constexpr Spec spec =
            Spec("w_o", "byte/parameter", "optimizer-state bytes per weight", "arXiv:2104.04473")
                .range(0)
                .by_default(12);
    };
    struct trained_dense_parameters_per_chip
    {
        static constexpr Spec spec = Spec(
            "N_{Td}",
            "parameter/chip",
            "trained dense parameters per chip, fullest stage",
            "LoRA, arXiv 2106.09685");
        template <class T> static constexpr T formula(
            in<trained_weights, T> trained,
            in<dense_parameters_per_chip, T> N_c,
            in<adapter_parameters, T> N_L,
            in<pipeline_stages, T> P,
            in<tensor_parallel, T> G_t,
            in<layers_per_stage, T> n)
        { return choose(trained, N_c, N_L / (P * G_t) * (ceil(n) / n)); }
    };
    struct trained_routed_parameters_per_chip
    {
        static constexpr Spec spec = Spec(
            "N_{Tk}",
            "parameter/chip",
            "trained routed-expert parameters per chip, fullest stage",
            "LoRA, arXiv 2106.09685");
        template <class T> static constexpr T formula(
            in<trained_weights, T> trained,
            in<routed_parameters_per_chip, T> N_k)
        { return choose(trained, N_k, T(0.0)); }
    };
    struct frozen_bytes_per_chip
    {
        static constexpr Spec spec =
            Spec("S_f", "byte/chip", "frozen weights per chip, fullest stage", "LoRA, arXiv 2106.09685");
        template <class T> static constexpr T formula(
            in<trained_weights, T> trained,
            in<sharded_state, T> z,
            in<frozen_bytes_per_weight, T> w_f,
            in<dense_parameters_per_chip, T> N_c,
            in<dense_weight_copies, T> G_1,
            in<routed_parameters_per_chip, T> N_k,
            in<routed_copies, T> G_2)
        {
            const T shared = N_c / G_1 + N_k / G_2;
            return choose(trained, T(0.0), w_f * select(is<sharded_state>(z, "weights"), shared, N_c + N_k));
        }
    };
    // Copies of its weights and gradients that a chip keeps: DualPipe has two stages on each (arXiv:2412.19437).
    template <class T> constexpr auto weight_copies(in<pipeline_schedule, T> which, in<pipeline_stages, T> P)
    { return select(is<pipeline_schedule>(which, "dualpipe"), min(P, 2.0), T(1.0)); }
    struct optimizer_state_bytes
    {
        static constexpr Spec spec = Spec("O", "byte/chip", "optimizer state per chip", "arXiv:1910.02054");
        template <class T> static constexpr T formula(
            in<sharded_state, T> z,
            in<optimizer_bytes_per_weight, T> w,
            in<trained_dense_parameters_per_chip, T> N_c,
            in<dense_weight_copies, T> G_1,
            in<trained_routed_parameters_per_chip, T> N_k,
            in<routed_copies, T> G_2)
        { return w * select(is<sharded_state>(z, "none"), N_c + N_k, N_c / G_1 + N_k / G_2); }
    };
    struct training_state_bytes
    {
        static constexpr Spec spec =
            Spec("S_T", "byte/chip", "training state per chip (weights, gradients, optimizer)", "arXiv:1910.02054");
        template <class T> static constexpr T formula(
            in<sharded_state, T> z,
            in<training_bytes_per_weight, T> w,
            in<gradient_bytes_per_weight, T> g,
            in<pipeline_schedule, T> which,
            in<pipeline_stages, T> P,
            in<trained_dense_parameters_per_chip, T> N_c,
            in<dense_weight_copies, T> G_1,
            in<trained_routed_parameters_per_chip, T> N_k,
            in<routed_copies, T> G_2,
            in<optimizer_state_bytes, T> O,
            in<frozen_bytes_per_chip, T> S_f)
        {
            const T parameters = N_c + N_k, shared = N_c / G_1 + N_k / G_2;
            const T changed =
                choose(z, (w + g) * parameters, (w + g) * parameters, w * parameters + g * shared, (w + g) * shared);
            return weight_copies<T>(which, P) * plus_optional(changed, S_f) + O;
        }
    };
    struct routed_copy_link_bandwidth
    {
        static constexpr Spec spec = Spec(
            "u_{g2}",
            "byte/s/chip",
            "all-reduce link bandwidth among copies of routed experts",
            "JAX scaling book, chapter on sharding");
        template <class T> static constexpr T formula(
            in<scale_up_topology, T> which,
            in<scale_up_bandwidth, T> u,
            in<routed_copies, T> G_2,
            in<expert_parallel, T> G_e,
            in<chips_per_stage, T> G_P,
            in<scale_up_domain, T> G_u,
            in<torus_dimensions, T> d,
            in<torus_length, T> x,
            in<torus_width, T> y,
            in<torus_height, T> z,
            in<torus_wiring, T> wiring,
            in<other_groups, T> g,
            in<dragonfly_group, T> A,
            in<dragonfly_board, T> a,
            in<group_links, T> l_A,
            in<global_links, T> l_o,
            in<dragonfly_links, T> l)
        {
            const T below = torus_links<T>(count(G_e), x, y, z, wiring);
            const T links = torus_links<T>(count(G_P), x, y, z, wiring) - below;
            return sum_bandwidth<T>(which, u, count(G_2), count(G_e), links, G_u, d, g, A, a, l_A, l_o, l);
        }
    };
    struct gradient_collective_time
    {
        static constexpr Spec spec =
            Spec("t_{gT}", "s", "gradient and weight collective time of a training step", "arXiv:1910.02054");
        template <class T>
        static constexpr T formula(
            in<sharded_state, T> z,
            in<training_bytes_per_weight, T> w,
            in<gradient_bytes_per_weight, T> g,
            in<microbatches, T> n,
            in<trained_dense_parameters_per_chip, T> N_c,
            in<trained_routed_parameters_per_chip, T> N_k,
            in<trained_weights, T> trained,
            in<frozen_bytes_per_weight, T> w_f,
            in<dense_parameters_per_chip, T> N_d,
            in<routed_parameters_per_chip, T> N_r,
            in<dense_weight_copies, T> G_1,
            in<routed_copies, T> G_2,
            in<tensor_parallel, T> G_t,
            in<exchange_chips, T> G_x,
            in<scale_up_domain, T> G_u,
            in<dense_copy_link_bandwidth, T> u_1,
            in<routed_copy_link_bandwidth, T> u_2,
            in<scale_out_bandwidth, T> u_o)
        {
            const T common = named(
                "common",
                "t_1",
                all_reduce_time<T>(G_1, copies_in_domain<T>(G_u, G_t), as<scale_up_bandwidth>(u_1), u_o));
            const T routed =
                named("routed", "t_2", all_reduce_time<T>(G_2, T(G_u / G_x), as<scale_up_bandwidth>(u_2), u_o));
            const T changed = named(
                "changed",
                "t",
                choose(z, 2.0 * g, g + w, g + w, n * (g + 2.0 * w)) / 2.0 * (N_c * common + N_k * routed));
            const T fetched = n * w_f * (N_d * common + N_r * routed); // forward and backward, half an all-reduce each
            return choose(trained, changed, select(is<sharded_state>(z, "weights"), changed + fetched, changed));
        }
    };
    struct gradient_overlap
    {
        static constexpr Spec spec =
            Spec("o_g", "1", "fraction of gradient link time hidden by compute", "calibration")
                .range(0, 1)
                .otherwise<link_overlap>();
    };
    struct optimizer_transfers
    {
        static constexpr Spec spec =
            Spec("c_o", "1", "optimizer-state transfers through HBM per training step", "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct optimizer_time
    {
        static constexpr Spec spec = Spec("t_{oT}", "s", "optimizer time of a training step", "calibration");
        template <class T> static constexpr T formula(
            in<optimizer_transfers, T> c,
            in<optimizer_state_bytes, T> O,
            in<hbm_bandwidth, T> m,
            in<bandwidth_efficiency, T> eta)
        { return c * (O / (m * eta)); }
    };

    // --- a step ---

    struct training_step_time
    {
        static constexpr Spec spec =
            Spec("T_T", "s", "training step time (compute, links, bubble, gradients, optimizer)", "R3.4");
        template <class T> static constexpr T formula(
            in<stage_busy_time, T> t_b,
            in<training_bubble_overhead, T> phi,
            in<gradient_collective_time, T> t_g,
            in<gradient_overlap, T> o,
            in<link_efficiency, T> eta,
            in<optimizer_time, T> t_o)
        { return t_b * (1.0 + phi) + (t_g * ((1.0 - o) / eta) + t_o); }
    };
    struct trained_tokens_per_second
    {
        static constexpr Spec spec = Spec("R_T", "token/s", "training throughput in tokens", "R5.1");
        template <class T> static constexpr T formula(in<tokens_per_step, T> tokens, in<training_step_time, T> t)
        { return tokens / t; }
    };
    struct trained_tokens_per_second_per_chip
    {
        static constexpr Spec spec = Spec("R_T/G", "token/s/chip", "training throughput per chip in tokens", "R5.1");
        template <class T> static constexpr T formula(in<trained_tokens_per_second, T> R, in<chips, T> G)
        { return R / G; }
    };
    struct training_utilization
    {
        static constexpr Spec spec =
            Spec("u_T", "1", "model FLOPs utilization (MFU) of a training step", "R1.11")
                .positive(1)
                .advice(
                    "give training_utilization (0.3 to 0.5 is usual), or chips, global_batch_size and sequence_length");
        template <class T> static constexpr T formula(
            in<trained_tokens_per_second_per_chip, T> R,
            in<training_flops_per_token, T> f,
            in<peak_flops, T> F)
        { return R * (f / F); }
    };
    struct hardware_flops_utilization
    {
        static constexpr Spec spec = Spec("u_x", "1", "hardware FLOPs utilization (HFU) of a training step", "R1.11");
        template <class T> static constexpr T formula(
            in<trained_tokens_per_second_per_chip, T> R,
            in<executed_training_flops, T> f,
            in<peak_flops, T> F)
        { return R * (f / F); }
    };

    // --- memory of a first-stage chip, which holds the most micro-batches, without activations of the output head ---

    struct whole_activations_of_a_layer
    {
        static constexpr Spec spec =
            Spec("5", "1", "activations per layer not split by TP, relative to hidden size", "arXiv:2205.05198")
                .range(0)
                .by_default(5);
    };
    struct kept_score_bytes
    {
        static constexpr Spec spec =
            Spec(
                "w_s",
                "byte*sequence/token/token",
                "saved bytes per attention score, 0 if recomputed",
                "arXiv:2205.05198")
                .range(0)
                .by_default(0);
    };
    struct feed_forward_activations_of_a_layer
    {
        static constexpr Spec spec =
            Spec("8", "1", "feed-forward activations per layer relative to hidden size", "arXiv:2205.05198")
                .range(0)
                .by_default(8);
    };
    struct expert_activations_of_a_layer
    {
        // For each copy of a token sent to an expert: its input, the outputs of the matrices, the input of the last
        // one. Selective policies recompute the input of the last matrix; they do not repeat the exchange.
        static constexpr Spec spec =
            Spec("c_e", "1", "saved expert activations per layer relative to hidden size", "arXiv:2205.05198");
        template <class T> static constexpr T formula(
            in<activation_policy, T> policy,
            in<experts_per_token, T> k,
            in<expert_imbalance, T> mu,
            in<shared_experts, T> X_s,
            in<hidden_size, T> d,
            in<expert_intermediate_size, T> d_e,
            in<matrices_per_expert, T> three)
        {
            const T sent = k * mu, width = d_e / d, m = count(three);
            return choose(
                policy,
                sent * 2.0 + (sent + X_s) * (m * width),
                sent + (sent + X_s) * ((m - 1.0) * width),
                T(0.0),
                T(0.0));
        }
    };
    struct expert_activation_surplus
    {
        static constexpr Spec spec =
            Spec("c_e - 8", "1", "saved expert minus dense feed-forward activations, layer mean", "arXiv:2205.05198");
        template <class T> static constexpr T formula(
            in<experts, T> X,
            in<expert_activations_of_a_layer, T> c_e,
            in<activation_policy, T> policy,
            in<feed_forward_activations_of_a_layer, T> eight,
            in<moe_layers, T> n_e,
            in<layers, T> n_l)
        {
            const T other = choose(policy, eight, T(3.0), T(0.0), T(0.0));
            return select(X <= 1.0, T(0.0), (c_e - other) * (n_e / n_l));
        }
    };
    struct kept_score_bytes_per_token
    {
        static constexpr Spec spec =
            Spec("n_h L w_s", "byte/token", "saved attention scores per token and layer", "arXiv:2205.05198");
        template <class T> static constexpr T formula(
            in<attention_heads, T> n_h,
            in<sequence_length, T> L,
            in<kept_score_bytes, T> w_s,
            in<activation_policy, T> policy)
        { return n_h * (L * w_s) * select(is<activation_policy>(policy, "all"), T(1.0), T(0.0)); }
    };
    struct layer_activation_bytes
    {
        static constexpr Spec spec =
            Spec("a_1", "byte/chip", "saved activations per chip, layer, and micro-batch", "arXiv:2205.05198");
        template <class T>
        static constexpr T formula(
            in<tokens_per_step, T> tokens,
            in<microbatches, T> n,
            in<chips_per_stage, T> G_P,
            in<layout, T> l,
            in<tensor_parallel, T> G_t,
            in<hidden_size, T> d,
            in<activation_bytes_per_element, T> w,
            in<activation_policy, T> policy,
            in<kept_activations, T> saved,
            in<whole_activations_of_a_layer, T> five,
            in<sequence_parallel, T> divided,
            in<kept_score_bytes_per_token, T> scores,
            in<expert_activation_surplus, T> more)
        {
            // Two outputs of large matrices are summed across the group and so are whole; a layer's input is whole as
            // well.
            const T undivided = choose(policy, min(five, saved), min(T(2.0), saved), saved);
            return tokens / (n * G_P)
                * (d * w
                       * (undivided * choose(l, T(1.0), choose(divided, count(G_t), T(1.0)))
                          + (saved - undivided + more))
                   + scores);
        }
    };
    struct training_activation_bytes
    {
        static constexpr Spec spec =
            Spec("A_T", "byte/chip", "saved activations per chip, first stage", "arXiv:2205.05198");
        template <class T> static constexpr T formula(
            in<layer_activation_bytes, T> a,
            in<layers_per_stage, T> n,
            in<live_microbatches, T> live)
        { return a * (ceil(n) * live); }
    };
    struct training_memory
    {
        static constexpr Spec spec =
            Spec("h_T", "byte/chip", "training memory per chip, fullest stage (state, activations)", "R3.6");
        template <class T> static constexpr T formula(in<training_state_bytes, T> S, in<training_activation_bytes, T> A)
        { return S + A; }
    };
    struct training_memory_fits
    {
        static constexpr Spec spec =
            Spec("\\phi_T", "1", "training memory feasibility, fullest stage fits in HBM (no, yes)", "R3.6")
                .one_of("no", "yes");
        template <class T> static constexpr T formula(in<training_memory, T> used, in<hbm_capacity, T> h)
        { return select(used <= h, T(1.0), T(0.0)); }
    };

    using training_run = list<
        dense_weight_copies,
        data_parallel,
        microbatch_size,
        sequence_parallel,
        sharded_state,
        multi_token_prediction_layers,
        multi_token_prediction_parameters,
        attention_mask,
        attention_training_flops,
        matrix_training_flops,
        training_flops_per_token,
        repeated_attention,
        executed_matrix_flops,
        executed_routed_flops,
        executed_attention_flops,
        executed_training_flops,
        recomputation_overhead,
        attention_compute_efficiency,
        grouped_product_share,
        largest_format_gain,
        training_peak_flops,
        output_head_format,
        output_head_time,
        training_compute_time,
        training_activation_time,
        kernels_per_local_expert,
        captured_kernels,
        training_kernel_time,
        tensor_collective_time,
        training_all_to_all_time,
        dense_copy_link_bandwidth,
        context_collective_time,
        stage_hop_time,
        link_overlap,
        schedule_overlap,
        stage_communication_time,
        training_bytes_per_weight,
        frozen_bytes_per_weight,
        dense_parameters_per_chip,
        routed_parameters_per_chip,
        dequantization_time,
        output_head_place,
        stage_busy_time,
        gradient_bytes_per_weight,
        optimizer_bytes_per_weight,
        trained_dense_parameters_per_chip,
        trained_routed_parameters_per_chip,
        frozen_bytes_per_chip,
        optimizer_state_bytes,
        training_state_bytes,
        routed_copy_link_bandwidth,
        gradient_collective_time,
        gradient_overlap,
        optimizer_transfers,
        optimizer_time,
        training_step_time,
        trained_tokens_per_second,
        trained_tokens_per_second_per_chip,
        training_utilization,
        hardware_flops_utilization,
        whole_activations_of_a_layer,
        kept_score_bytes,
        feed_forward_activations_of_a_layer,
        expert_activations_of_a_layer,
        expert_activation_surplus,
        kept_score_bytes_per_token,
        layer_activation_bytes,
        training_activation_bytes,
        training_memory,
        training_memory_fits>;
}
