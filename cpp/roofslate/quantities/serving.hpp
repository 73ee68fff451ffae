// Chapter 1: the roofline of one forward pass, balance points of compute and memory, and overheads of real machines.
#pragma once
#include "roofslate/quantities/overheads.hpp"

namespace roofslate::quantities
{
    struct overlap
    {
        static constexpr Spec spec =
            Spec("o", "1", "overlap of reads and compute (board all, serial_kv weights, none)", "R1.1")
                .one_of("board", "serial_kv", "none")
                .by_default(0);
    };

    // --- compute ---

    struct flops_per_token
    {
        static constexpr Spec spec =
            Spec("2 N_a", "FLOP/token", "FLOPs per token, LoRA adapters included, attention excluded", "R1.2");
        template <class T> static constexpr T formula(
            in<flops_per_parameter_token, T> two,
            in<active_parameters, T> N_a,
            in<lora_adapters, T> n,
            in<adapter_parameters, T> N_L)
        { return two * plus_optional(N_a, adapted_with<T>(n, N_L)); }
    };
    struct arithmetic
    {
        static constexpr Spec spec =
            Spec("\\epsilon_a", "1", "counted compute (weights only, full with attention)", "R6.11")
                .one_of("weights", "full")
                .by_default(0);
    };
    struct global_attention_layers
    {
        static constexpr Spec spec =
            Spec("n_g", "1", "global attention layers, attending to the full context", "R6.11")
                .range(0)
                .at_most<layers>();
        template <class T> static constexpr T formula(in<layers, T> n, in<windowed_attention_layers, T> n_w)
        { return n - n_w; }
    };
    struct latent_rotary_size
    {
        static constexpr Spec spec =
            Spec("d_r", "1", "rotary part of the latent KV size (qk_rope_head_dim), scores only", "R6.11")
                .range(0)
                .at_most<kv_latent_size>()
                .by_default(0);
    };
    struct head_elements
    {
        static constexpr Spec spec =
            Spec("e_h", "1", "score plus value elements per query head and context token, decode", "R6.11");
        template <class T> static constexpr T formula(
            in<kv_latent_size, T> d_c,
            in<latent_rotary_size, T> d_r,
            in<head_size, T> d_h)
        { return select(d_c > T(0.0), 2.0 * d_c - d_r, 2.0 * d_h); }
    };
    struct flops_per_head_element
    {
        static constexpr Spec spec =
            Spec("2", "FLOP*sequence/token/token", "FLOPs per attention head element, a multiply plus an add", "R6.11")
                .positive()
                .by_default(2);
    };
    struct attention_flops_per_context_token
    {
        static constexpr Spec spec = Spec(
            "f_L",
            "FLOP*sequence/token/token",
            "attention FLOPs per new token and context token, global layers",
            "R6.11");
        template <class T> static constexpr T formula(
            in<flops_per_head_element, T> two,
            in<global_attention_layers, T> n_g,
            in<attention_heads, T> n_h,
            in<head_elements, T> e_h)
        { return two * (n_g * n_h * e_h); }
    };
    struct attention_flops_per_token
    {
        static constexpr Spec spec =
            Spec("f_a", "FLOP/token", "attention FLOPs per new token, limited by selection and window", "R6.11");
        template <class T> static constexpr T formula(
            in<attention_flops_per_context_token, T> f_L,
            in<context_length, T> L,
            in<selected_tokens, T> K,
            in<windowed_attention_layers, T> n_w,
            in<flops_per_head_element, T> two,
            in<attention_heads, T> n_h,
            in<head_elements, T> e_h,
            in<windowed_tokens, T> windowed)
        { return spend_beside(f_L * min(L, K), n_w, two * (n_h * e_h) * windowed); }
    };
    struct index_flops_per_context_token
    {
        static constexpr Spec spec =
            Spec(
                "f_i",
                "FLOP*sequence/token/token",
                "index FLOPs per new token and context token in FP8, all layers",
                "R6.14")
                .range(0)
                .by_default(0);
    };
    struct attention_chip_time_per_token
    {
        static constexpr Spec spec =
            Spec("t_a G", "s*chip/token", "attention compute time per token on one chip, index included", "R6.11");
        template <class T> static constexpr T formula(
            in<attention_flops_per_token, T> f_a,
            in<attention_product_flops, T> F_a,
            in<index_flops_per_context_token, T> f_i,
            in<context_length, T> L,
            in<peak_flops_fp8, T> F_8)
        { return spend_beside(f_a / F_a, f_i, L / F_8); }
    };
    struct dense_chip_time_per_token
    {
        static constexpr Spec spec =
            Spec("t_d G", "s*chip/token", "dense compute time per token on one chip, LoRA adapters included", "R1.2");
        template <class T> static constexpr T formula(
            in<flops_per_parameter_token, T> two,
            in<active_dense_parameters, T> N_c,
            in<lora_adapters, T> n,
            in<adapter_parameters, T> N_L,
            in<dense_product_flops, T> F_d)
        { return two * (plus_optional(N_c, adapted_with<T>(n, N_L)) / F_d); }
    };
    struct expert_chip_time_per_token
    {
        static constexpr Spec spec =
            Spec("t_k G", "s*chip/token", "routed-expert compute time per token on one chip", "R1.2");
        template <class T> static constexpr T formula(
            in<flops_per_parameter_token, T> two,
            in<active_routed_parameters, T> N_k,
            in<expert_product_flops, T> F_x)
        { return two * (N_k / F_x); }
    };
    struct compute_time
    {
        static constexpr Spec spec = Spec("t_\\mathrm{comp}", "s", "compute time of a forward pass", "R1.2");
        template <class T>
        static constexpr T formula(
            in<pass_tokens, T> tokens,
            in<dense_format, T> format,
            in<flops_per_token, T> f,
            in<stage_flops, T> C,
            in<dense_chip_time_per_token, T> dense,
            in<expert_chip_time_per_token, T> routed,
            in<chips_per_stage, T> G_P,
            in<compute_efficiency, T> eta,
            in<expert_imbalance, T> mu,
            in<arithmetic, T> which,
            in<attention_chip_time_per_token, T> attention,
            in<kernel_shares, T> reach)
        {
            const auto alike = is<dense_format>(format, "same") && mu == T(1.0) && is<kernel_shares>(reach, "ideal");
            const T products = select(alike, f / C, (dense + routed * mu) / (G_P * eta));
            return tokens * choose(which, products, products + attention / (G_P * eta));
        }
    };

    // --- memory ---

    struct expert_coverage
    {
        static constexpr Spec spec =
            Spec("\\gamma", "1", "fraction of routed experts activated per pass, fullest chip", "R1.4");
        // It grows with the tokens, so that the least of two batches has the least of their coverages: each power stays
        // on its own axes.
        template <class T> static constexpr T formula(
            in<experts, T> X,
            in<experts_per_token, T> k,
            in<admission, T> which,
            in<concurrency, T> n_c,
            in<memory_limited_sequences, T> most,
            in<pass_length, T> l,
            in<microbatches, T> n,
            in<expert_copies, T> copies,
            in<routed_tokens, T> tokens,
            in<expert_imbalance, T> mu)
        {
            const T each = l * mu / (n * copies);
            return choose(
                which,
                min(coverage_of<T>(X, k, n_c * each), coverage_of<T>(X, k, most * each)),
                coverage_of<T>(X, k, tokens * mu));
        }
    };
    struct pass_adapters
    {
        static constexpr Spec spec =
            Spec("n_{Lp}", "1", "mean distinct LoRA adapters per pass in one attention DP group", "Punica");
        template <class T> static constexpr T formula(
            in<lora_adapters, T> n,
            in<lora_zipf_exponent, T> s,
            in<batch_size, T> B,
            in<dense_copies, T> copies)
        { return select(n == T(0.0), T(0.0), routine<zipf_distinct>(n, s, count(B) / copies)); }
    };
    struct fetched_adapter_bytes
    {
        static constexpr Spec spec =
            Spec("W_{Lf}", "byte", "LoRA adapter weights read per pass, copies included", "Punica");
        template <class T> static constexpr T formula(
            in<pass_adapters, T> n,
            in<adapter_bytes, T> W_L,
            in<dense_copies, T> copies)
        { return spend(n, W_L * copies); }
    };
    struct fetched_weight_bytes
    {
        static constexpr Spec spec = Spec("W_f", "byte", "weights read per pass, adapters and copies included", "R1.4");
        template <class T> static constexpr T formula(
            in<expert_reads, T> which,
            in<experts, T> X,
            in<deployed_weight_bytes, T> all,
            in<active_dense_bytes, T> W_c,
            in<expert_bytes, T> W_X,
            in<layout, T> l,
            in<placement_balance, T> balance,
            in<expert_coverage, T> coverage,
            in<fetched_adapter_bytes, T> W_L)
        { return plus_optional(bytes_at_coverage<T>(which, X, all, W_c, W_X, l, balance, coverage), W_L); }
    };
    struct fetched_expert_bytes
    {
        static constexpr Spec spec =
            Spec("W_{fx}", "byte", "routed-expert weights read per pass, copies included", "R1.4");
        template <class T> static constexpr T formula(
            in<expert_reads, T> which,
            in<experts, T> X,
            in<expert_bytes, T> W_X,
            in<layout, T> l,
            in<placement_balance, T> balance,
            in<expert_coverage, T> coverage)
        {
            const T touched = W_X * coverage / choose(l, T(1.0), balance);
            return select(X <= 1.0, T(0.0), choose(which, touched, W_X));
        }
    };
    struct weight_fetch_time
    {
        static constexpr Spec spec = Spec("t_w", "s", "weight-read time of a forward pass", "R1.3");
        template <class T> static constexpr T formula(
            in<fetched_weight_bytes, T> W,
            in<stage_bandwidth, T> M,
            in<kernel_shares, T> which,
            in<fetched_expert_bytes, T> W_x,
            in<dense_bandwidth_share, T> s_d,
            in<expert_bandwidth_share, T> s_x)
        { return choose(which, W / M, ((W - W_x) / s_d + W_x / s_x) / M); }
    };
    struct kv_fetch_time
    {
        static constexpr Spec spec =
            Spec("t_{kv}", "s", "KV-cache read time of a pass, all copies, inf if no sequence fits", "R1.3");
        template <class T> static constexpr T formula(
            in<admission, T> which,
            in<batch_size, T> B,
            in<kv_read_bytes, T> r,
            in<kv_cache_copies, T> copies,
            in<stage_bandwidth, T> M,
            in<attention_bandwidth_share, T> s)
        {
            const T time = B * r * copies / (M * s);
            return choose(which, select(B == T(0.0), T(infinite), time), time);
        }
    };
    struct memory_time
    {
        static constexpr Spec spec =
            Spec("t_\\mathrm{mem}", "s", "memory time of a pass, weight plus KV-cache reads", "R1.1");
        template <class T> static constexpr T formula(in<weight_fetch_time, T> t_w, in<kv_fetch_time, T> t_kv)
        { return t_w + t_kv; }
    };

    struct streamed_adapter_bytes
    {
        static constexpr Spec spec =
            Spec("W_{Ls}", "byte", "LoRA adapter weights per pass not resident in HBM, copies included", "S-LoRA");
        template <class T> static constexpr T formula(
            in<lora_adapters, T> n,
            in<resident_adapters, T> K,
            in<pass_adapters, T> n_p,
            in<adapter_bytes, T> W_L,
            in<dense_copies, T> copies)
        { return select(n == T(0.0) || K == T(infinite), T(0.0), max(n_p - K, 0.0) * (W_L * copies)); }
    };
    struct host_fetch_time
    {
        static constexpr Spec spec =
            Spec("t_h", "s", "host-read time of a pass (offloaded weights, adapters, KV cache)", "FlexGen");
        template <class T> static constexpr T formula(
            in<offloaded_weight_fraction, T> phi_w,
            in<fetched_weight_bytes, T> W,
            in<fetched_adapter_bytes, T> W_L,
            in<streamed_adapter_bytes, T> W_s,
            in<offloaded_kv_fraction, T> phi_kv,
            in<batch_size, T> B,
            in<kv_read_bytes, T> r,
            in<kv_cache_copies, T> copies,
            in<stage_host_bandwidth, T> M_h)
        {
            const T streamed = select(W_s == T(0.0), T(0.0), W_s / M_h);
            return plus_optional(
                plus_optional(spend(phi_w, (W - W_L) / M_h), streamed),
                spend(phi_kv, B * r * copies / M_h));
        }
    };

    // --- both ---

    struct roofline_time
    {
        static constexpr Spec spec = Spec("t_r", "s", "roofline time of a pass, compute and memory only", "R1.1");
        template <class T> static constexpr T formula(
            in<overlap, T> o,
            in<compute_time, T> t_c,
            in<weight_fetch_time, T> t_w,
            in<kv_fetch_time, T> t_kv,
            in<memory_time, T> t_m)
        { return choose(o, max(t_m, t_c), t_kv + max(t_w, t_c), t_m + t_c); }
    };

    // --- overheads of a real machine ---

    struct link_wait_time
    {
        static constexpr Spec spec = Spec("t_u", "s", "exposed communication time of a pass", "R3.8");
        template <class T> static constexpr T formula(
            in<communication, T> which,
            in<pass_tokens, T> tokens,
            in<link_time_per_token, T> t_u,
            in<roofline_time, T> t,
            in<activation_time_per_token, T> t_a)
        {
            const T beyond = max(tokens * t_u - spend_beside(t, t_a, tokens), 0.0);
            return choose(which, T(0.0), tokens * t_u, select(tokens < T(infinite), beyond, T(0.0)));
        }
    };
    struct host_wait_time
    {
        static constexpr Spec spec =
            Spec("t_{hx}", "s", "exposed host-read time of a pass, beyond compute and memory", "FlexGen");
        template <class T> static constexpr T formula(in<host_fetch_time, T> t_h, in<roofline_time, T> t)
        { return select(t_h == T(0.0), T(0.0), max(t_h - t, 0.0)); }
    };
    struct pass_overhead
    {
        static constexpr Spec spec =
            Spec("t_o", "s", "pass overhead (kernels, latency, links, activations, scheduling, host)", "R1.1");
        template <class T> static constexpr T formula(
            in<kernel_overhead, T> t_K,
            in<collective_latency, T> t_l,
            in<link_wait_time, T> t_u,
            in<activation_time_per_token, T> t_a,
            in<pass_tokens, T> tokens,
            in<sequence_time, T> each,
            in<batch_size, T> B,
            in<attention_data_parallel, T> G_d,
            in<host_wait_time, T> t_h)
        { return plus_optional(t_K + t_l + (t_u + spend(t_a, tokens) + spend(each, B / G_d)), t_h); }
    };
    struct launch_wait_time
    {
        // The host launches the kernels of an unrecorded pass one by one, ahead of the chip where it is faster. Prompts
        // add their launches in full: a wait that they used would be taken off for each, and is there once a pass.
        static constexpr Spec spec =
            Spec("t_L", "s", "idle time of a pass on kernel launches by its host, 0 from a graph", "calibration");
        template <class T> static constexpr T formula(
            in<max_graph_batch_size, T> N,
            in<batch_size, T> B,
            in<attention_data_parallel, T> G_d,
            in<eager_kernel_factor, T> f,
            in<kernel_overhead, T> t_K,
            in<roofline_time, T> t,
            in<pass_overhead, T> t_o)
        {
            const T waited = select(B / G_d <= N, T(0.0), max(f * t_K - t - t_o, 0.0));
            return select(t_K == T(0.0), T(0.0), select(N == T(infinite), T(0.0), waited));
        }
    };
    struct pass_time
    {
        static constexpr Spec spec = Spec("t", "s", "forward-pass time", "R1.1");
        template <class T>
        static constexpr T formula(in<roofline_time, T> t, in<pass_overhead, T> t_o, in<launch_wait_time, T> t_L)
        { return plus_optional(plus_optional(t, t_o), t_L); }
    };
    struct bottleneck
    {
        static constexpr Spec spec =
            Spec("\\beta", "1", "bottleneck of a pass (compute, weight reads, KV reads, host link)", "R1.1")
                .one_of("compute", "weight_fetch", "kv_fetch", "host_link");
        template <class T> static constexpr T formula(
            in<compute_time, T> t_c,
            in<weight_fetch_time, T> t_w,
            in<kv_fetch_time, T> t_kv,
            in<memory_time, T> t_m,
            in<host_fetch_time, T> t_h)
        {
            const T of_memory = select(t_w >= t_kv, T(1.0), T(2.0));
            return select(t_h > max(t_c, t_m), T(3.0), select(t_c >= t_m, T(0.0), of_memory));
        }
    };
    struct latency_floor
    {
        static constexpr Spec spec =
            Spec("t_\\mathrm{min}", "s", "latency floor, time to read all weights once", "R1.4");
        template <class T> static constexpr T formula(in<deployed_weight_bytes, T> W, in<stage_bandwidth, T> M)
        { return W / M; }
    };
    struct compute_utilization
    {
        static constexpr Spec spec = Spec("u", "1", "compute utilization of a pass", "R1.11");
        template <class T> static constexpr T formula(in<compute_time, T> t_c, in<pass_time, T> t) { return t_c / t; }
    };
    struct model_flops_utilization
    {
        static constexpr Spec spec = Spec("u_F", "1", "model FLOPs utilization (MFU) of a forward pass", "R1.11");
        template <class T> static constexpr T formula(
            in<flops_per_token, T> f,
            in<pass_tokens, T> tokens,
            in<chips_per_stage, T> G_P,
            in<peak_flops, T> F,
            in<pass_time, T> t)
        { return tokens * (f / (G_P * F)) / t; }
    };

    // --- balances ---

    struct balance_tokens
    {
        static constexpr Spec spec =
            Spec("A", "token", "tokens per pass at which compute time equals weight-read time", "R1.7");
        template <class T> static constexpr T formula(
            in<ridge_point, T> r,
            in<bytes_per_weight, T> w,
            in<flops_per_parameter_token, T> two)
        { return r * w / two; }
    };
    struct balance_batch
    {
        static constexpr Spec spec =
            Spec("B_0", "sequence", "balance batch size, compute time equal to weight-read time", "R1.7");
        template <class T> static constexpr T formula(in<balance_tokens, T> A, in<sparsity, T> s, in<pass_length, T> l)
        { return A * s / l; }
    };
    struct hidden_kv_bytes
    {
        static constexpr Spec spec =
            Spec("Y", "byte/sequence", "KV cache per sequence read within its compute time", "Q4");
        template <class T> static constexpr T formula(
            in<flops_per_token, T> f,
            in<pass_length, T> l,
            in<ridge_point, T> r)
        { return f * l / r; }
    };
    struct balance_context
    {
        static constexpr Spec spec =
            Spec("L_0", "token/sequence", "balance context, KV-cache read time equal to compute, inf if never", "R1.10")
                .positive(infinite);
        template <class T> static constexpr T formula(
            in<hidden_kv_bytes, T> Y,
            in<kv_bytes_per_token, T> q,
            in<kv_read_factor, T> k,
            in<windowed_kv_share, T> share,
            in<attention_window, T> w,
            in<selected_tokens, T> K,
            in<index_bytes_per_token, T> q_i,
            in<recurrent_state_bytes, T> S_0)
        {
            return select(
                reads_all_alike<T>(share, K, q_i, S_0),
                context_reaching<T>(Y, q * k),
                context_reading<T>(Y, q, k, share, w, K, q_i, S_0));
        }
    };
    // Context length at which KV-cache reads of a sequence take `ratio` times its compute time.
    template <class T> constexpr T context_at_ratio(
        const T& ratio,
        in<balance_context, T> L_0,
        in<hidden_kv_bytes, T> Y,
        in<kv_bytes_per_token, T> q,
        in<kv_read_factor, T> k,
        in<windowed_kv_share, T> share,
        in<attention_window, T> w,
        in<selected_tokens, T> K,
        in<index_bytes_per_token, T> q_i,
        in<recurrent_state_bytes, T> S_0)
    {
        return select(
            reads_all_alike<T>(share, K, q_i, S_0),
            L_0 * ratio,
            context_reading<T>(Y * ratio, q, k, share, w, K, q_i, S_0));
    }
    struct kv_compute_ratio
    {
        static constexpr Spec spec =
            Spec("t_{kv}/t_\\mathrm{comp}", "1", "ratio of KV-cache read time to compute time, per sequence", "R6.1");
        template <class T> static constexpr T formula(
            in<windowed_kv_share, T> share,
            in<selected_tokens, T> K,
            in<index_bytes_per_token, T> q_i,
            in<recurrent_state_bytes, T> S_0,
            in<context_length, T> L,
            in<balance_context, T> L_0,
            in<kv_read_bytes, T> r,
            in<hidden_kv_bytes, T> Y)
        { return select(reads_all_alike<T>(share, K, q_i, S_0), L / L_0, r / Y); }
    };
    struct balance_batch_at_context
    {
        static constexpr Spec spec =
            Spec("B^*", "sequence", "balance batch size with KV-cache reads included, inf if never", "R1.9");
        template <class T> static constexpr T formula(in<balance_batch, T> B_0, in<kv_compute_ratio, T> r)
        { return select(r < 1.0, B_0 / (1.0 - r), T(infinite)); }
    };
    struct kv_overtaking_context
    {
        static constexpr Spec spec =
            Spec("L_w", "token/sequence", "context at which KV-cache reads equal weight reads, inf if never", "R1.10");
        template <class T> static constexpr T formula(
            in<fetched_weight_bytes, T> W,
            in<batch_size, T> B,
            in<kv_bytes_per_token, T> q,
            in<kv_read_factor, T> k,
            in<windowed_kv_share, T> share,
            in<attention_window, T> window,
            in<selected_tokens, T> K,
            in<index_bytes_per_token, T> q_i,
            in<recurrent_state_bytes, T> S_0)
        {
            return select(
                reads_all_alike<T>(share, K, q_i, S_0),
                W / (B * q * k),
                context_reading<T>(W / B, q, k, share, window, K, q_i, S_0));
        }
    };
    struct large_batch_utilization
    {
        static constexpr Spec spec =
            Spec("u_\\infty", "1", "compute utilization of a pass, unlimited batch size", "R1.11");
        template <class T> static constexpr T formula(
            in<windowed_kv_share, T> share,
            in<selected_tokens, T> K,
            in<index_bytes_per_token, T> q_i,
            in<recurrent_state_bytes, T> S_0,
            in<context_length, T> L,
            in<balance_context, T> L_0,
            in<kv_compute_ratio, T> r)
        { return min(select(reads_all_alike<T>(share, K, q_i, S_0), L_0 / L, 1.0 / r), 1.0); }
    };
    struct practical_margin
    {
        static constexpr Spec spec =
            Spec("\\mu", "1", "ratio of practical to balance batch size, usually 2 to 3", "R1.7").positive();
    };
    struct practical_batch
    {
        static constexpr Spec spec =
            Spec("\\mu B_0", "sequence", "practical batch size, a multiple of the balance batch size", "R1.7");
        template <class T> static constexpr T formula(in<practical_margin, T> m, in<balance_batch, T> B_0)
        { return m * B_0; }
    };

    using serving = list<
        overlap,
        flops_per_token,
        arithmetic,
        global_attention_layers,
        latent_rotary_size,
        head_elements,
        flops_per_head_element,
        attention_flops_per_context_token,
        attention_flops_per_token,
        index_flops_per_context_token,
        attention_chip_time_per_token,
        dense_chip_time_per_token,
        expert_chip_time_per_token,
        compute_time,
        expert_coverage,
        pass_adapters,
        fetched_adapter_bytes,
        fetched_weight_bytes,
        fetched_expert_bytes,
        weight_fetch_time,
        kv_fetch_time,
        memory_time,
        streamed_adapter_bytes,
        host_fetch_time,
        roofline_time,
        link_wait_time,
        host_wait_time,
        pass_overhead,
        launch_wait_time,
        pass_time,
        bottleneck,
        latency_floor,
        compute_utilization,
        model_flops_utilization,
        balance_tokens,
        balance_batch,
        hidden_kv_bytes,
        balance_context,
        kv_compute_ratio,
        balance_batch_at_context,
        kv_overtaking_context,
        large_batch_utilization,
        practical_margin,
        practical_batch>;
}
