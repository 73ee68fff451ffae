// Overheads of a real machine in a pass: kernel launches, links, activations, scheduling. Ideal constants remove each
// term.
#pragma once
#include "roofslate/quantities/exchange.hpp"

namespace roofslate::quantities
{
    // --- kernels ---

    struct kernels_per_pass
    {
        // Counted on the kernels of a layer in serving engines: ten with grouped heads and one feed-forward layer.
        static constexpr Spec spec = Spec("n_K", "1", "sequential kernels per pass, BF16 products", "counted");
        template <class T> static constexpr T formula(
            in<layers, T> n,
            in<kv_latent_size, T> d_c,
            in<selected_tokens, T> K,
            in<moe_layers, T> n_e,
            in<shared_experts, T> X_s)
        {
            const T latent = select(d_c > T(0.0), T(6.0), T(0.0)), index = select(K < T(infinite), T(5.0), T(0.0)),
                    shared = select(X_s > T(0.0), T(2.0), T(0.0));
            return n * (10.0 + latent + index) + n_e * (5.0 + shared);
        }
    };
    struct reference_kernel_time
    {
        static constexpr Spec spec =
            Spec("\\tau_{K0}", "s", "fixed time per kernel on the reference chip", "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct reference_peak_flops
    {
        static constexpr Spec spec =
            Spec("F_0", "FLOP/s/chip", "peak dense BF16 compute of the reference chip for kernel time", "definition")
                .positive()
                .by_default(1e15);
    };
    struct kernel_time_exponent
    {
        static constexpr Spec spec =
            Spec("\\gamma_K", "1", "exponent of kernel time in inverse peak compute (0 to 1)", "calibration")
                .range(0, 1)
                .by_default(0);
    };
    struct kernel_time
    {
        // With measured kernels the chip's table says it; a reference time is further time.
        static constexpr Spec spec = Spec("\\tau_K", "s", "fixed time per kernel", "calibration");
        template <class T> static constexpr T formula(
            in<reference_kernel_time, T> t,
            in<reference_peak_flops, T> F_0,
            in<peak_flops_bf16, T> F_16,
            in<kernel_time_exponent, T> g,
            in<kernel_shares, T> which,
            in<small_product_time, T> small,
            in<kernel_time_factor, T> factor,
            in<release_slowdown, T> slowdown)
        { return spend(choose(which, t, t + factor * small), pow(F_0 / F_16, g)) * slowdown; }
    };
    struct kernel_overhead
    {
        // If products outside the routed experts run in a narrower format, a kernel before each of a layer's four
        // (queries with keys and values, output, up, down) quantizes its activations.
        static constexpr Spec spec =
            Spec("t_K", "s", "fixed kernel time of a pass, activation quantization included", "calibration");
        template <class T> static constexpr T formula(
            in<kernels_per_pass, T> n,
            in<kernel_time, T> t,
            in<layers, T> n_l,
            in<dense_peak_flops, T> F_d,
            in<peak_flops_bf16, T> F_16)
        { return spend(t, n + select(F_d > F_16, 4.0 * n_l, T(0.0))); }
    };
    struct eager_kernel_factor
    {
        static constexpr Spec spec =
            Spec("f_K", "1", "ratio of kernel time in eager mode to recorded (CUDA) graphs", "calibration")
                .range(1)
                .by_default(1)
                .ideal(1);
    };
    struct max_graph_batch_size
    {
        static constexpr Spec spec =
            Spec("N_G", "sequence", "largest batch per attention group from recorded (CUDA) graphs", "launch option")
                .range(0, infinite)
                .by_default(infinite);
    };

    // --- links ---

    struct collective_step_latency
    {
        static constexpr Spec spec =
            Spec("\\lambda_s", "s", "collective latency per doubling of chips", "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    // Ratio of all-reduce time among n chips to eight chips; 0 for one chip.
    template <class T> constexpr T growth_from_eight(const T& n, in<all_reduce_exponent, T> g)
    { return select(n > T(1.0), pow(n / 8.0, g), T(0.0)); }
    struct tensor_all_reduce_steps
    {
        static constexpr Spec spec =
            Spec("n_{rt}", "1", "sequential messages in a small all-reduce among tensor-parallel chips", "R2.6")
                .range(0);
        template <class T> static constexpr T formula(
            in<tensor_parallel, T> n,
            in<scale_up_topology, T> which,
            in<scale_up_domain, T> G_u,
            in<torus_length, T> x,
            in<torus_width, T> y,
            in<torus_height, T> z,
            in<torus_wiring, T> wiring)
        { return all_reduce_steps<T>(count(n), which, G_u, x, y, z, wiring); }
    };
    struct stage_all_reduce_steps
    {
        static constexpr Spec spec =
            Spec("n_{rP}", "1", "sequential messages in a small all-reduce among stage chips", "R2.6").range(0);
        template <class T> static constexpr T formula(
            in<chips_per_stage, T> n,
            in<scale_up_topology, T> which,
            in<scale_up_domain, T> G_u,
            in<torus_length, T> x,
            in<torus_width, T> y,
            in<torus_height, T> z,
            in<torus_wiring, T> wiring)
        { return all_reduce_steps<T>(count(n), which, G_u, x, y, z, wiring); }
    };
    struct collective_latency
    {
        static constexpr Spec spec =
            Spec("t_\\lambda", "s", "collective latency of a pass, all layers and stages", "R3.8");
        template <class T> static constexpr T formula(
            in<collective_step_latency, T> l,
            in<layers, T> n,
            in<tensor_all_reduce_steps, T> n_t,
            in<stage_all_reduce_steps, T> n_P,
            in<tensor_parallel, T> G_t,
            in<chips_per_stage, T> G_P,
            in<pipeline_stages, T> P,
            in<kernel_shares, T> which,
            in<small_all_reduce_time, T> t_8,
            in<all_reduce_exponent, T> g,
            in<release_slowdown, T> slowdown)
        {
            const T stepped = spend(l, n * (n_t + n_P) + (P - 1.0));
            const T reduced = n * t_8 * (growth_from_eight<T>(count(G_t), g) + growth_from_eight<T>(count(G_P), g));
            return choose(which, stepped, stepped + reduced) * slowdown;
        }
    };
    struct collective_bytes_per_element
    {
        static constexpr Spec spec =
            Spec("w_u", "byte/token/chip", "bytes per activation element in collectives", "definition")
                .positive()
                .by_default(2);
    };
    // Time per byte to add up among n chips: inside the domain each passes on all but its part, twice; meanwhile
    // the domains add up part by part. The topology says how much of its links it has inside.
    template <class T> constexpr T all_reduce_time(
        const T& n,
        const T& domain,
        in<scale_up_bandwidth, T> u,
        in<scale_out_bandwidth, T> u_o)
    {
        const T inside = count(min(n, domain)), domains = ceil(n / domain);
        return 2.0 * max((1.0 - 1.0 / inside) / u, (1.0 - 1.0 / domains) / (inside * u_o));
    }
    struct attention_link_time
    {
        static constexpr Spec spec =
            Spec("t_{ua}", "s/token", "attention all-reduce time per token, all layers", "R3.8");
        template <class T>
        static constexpr T formula(
            in<layers, T> n,
            in<hidden_size, T> d,
            in<collective_bytes_per_element, T> w,
            in<link_efficiency, T> eta,
            in<tensor_parallel, T> G_t,
            in<attention_data_parallel, T> G_d,
            in<scale_up_domain, T> G_u,
            in<tensor_link_bandwidth, T> u,
            in<scale_out_bandwidth, T> u_o)
        { return n * d * (w / eta) * (all_reduce_time<T>(G_t, G_u, as<scale_up_bandwidth>(u), u_o) / G_d); }
    };
    struct feed_forward_link_time
    {
        // If groups attend separately, sending tokens only to their experts may move fewer bytes than all tokens to all
        // chips.
        static constexpr Spec spec =
            Spec("t_{ue}", "s/token", "feed-forward collective time per token (all-reduce or all-to-all)", "R3.8");
        template <class T>
        static constexpr T formula(
            in<layers, T> n,
            in<hidden_size, T> d,
            in<collective_bytes_per_element, T> w,
            in<link_efficiency, T> eta,
            in<chips_per_stage, T> G_P,
            in<attention_data_parallel, T> G_d,
            in<experts, T> X,
            in<all_to_all_time_per_token, T> t_x,
            in<scale_up_domain, T> G_u,
            in<stage_link_bandwidth, T> u,
            in<scale_out_bandwidth, T> u_o)
        {
            const T all = n * d * (w / eta) * all_reduce_time<T>(G_P, G_u, as<scale_up_bandwidth>(u), u_o);
            return select(G_d > T(1.0) && X > T(1.0), min(t_x, all), all);
        }
    };
    struct hop_bandwidth
    {
        static constexpr Spec spec =
            Spec("u_1", "byte/s/chip", "link bandwidth per chip to the next stage or group", "R3.8");
        template <class T> static constexpr T formula(
            in<chips, T> G,
            in<scale_up_domain, T> G_u,
            in<scale_up_bandwidth, T> u,
            in<stage_link_share, T> phi,
            in<scale_out_bandwidth, T> u_o)
        { return select(G <= G_u, u * phi, u_o); }
    };
    struct link_time_per_token
    {
        static constexpr Spec spec =
            Spec("t_u/\\mathrm{token}", "s/token", "collective time per token, all layers and stage hops", "R3.8");
        template <class T> static constexpr T formula(
            in<attention_link_time, T> t_a,
            in<feed_forward_link_time, T> t_e,
            in<hidden_size, T> d,
            in<collective_bytes_per_element, T> w,
            in<link_efficiency, T> eta,
            in<pipeline_stages, T> P,
            in<chips_per_stage, T> G_P,
            in<hop_bandwidth, T> u)
        {
            const T hops = spend(P - 1.0, d * (w / eta) / (count(G_P) * u));
            return plus_optional(t_a + t_e, hops);
        }
    };
    struct communication
    {
        static constexpr Spec spec =
            Spec("o_u", "1", "communication model (free, exposed, overlapped half-batches)", "Q13")
                .one_of("free", "exposed", "overlapped")
                .by_default(0);
    };

    // --- activations and sampling ---

    struct activation_bytes_per_element
    {
        static constexpr Spec spec =
            Spec("w_x", "byte/token", "bytes per residual-stream element", "R7.3").positive().by_default(2);
    };
    struct activation_transfers
    {
        static constexpr Spec spec =
            Spec("c_a", "1", "residual-stream transfers through HBM per layer (and routed expert)", "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct expert_activation_transfers
    {
        static constexpr Spec spec =
            Spec("c_k", "1", "residual-stream transfers through HBM per routed expert", "calibration")
                .range(0)
                .otherwise<activation_transfers>();
    };
    struct activation_time_per_token
    {
        static constexpr Spec spec =
            Spec("t_a/\\mathrm{token}", "s/token", "activation transfer time per token, all layers", "calibration");
        template <class T> static constexpr T formula(
            in<activation_transfers, T> c,
            in<expert_activation_transfers, T> c_k,
            in<hidden_size, T> d,
            in<activation_bytes_per_element, T> w,
            in<layers, T> n,
            in<moe_layers, T> n_e,
            in<experts_per_token, T> k,
            in<stage_bandwidth, T> M)
        {
            const T transfers = spend_beside(spend(c, n), c_k, n_e * k);
            return select(transfers == T(0.0), T(0.0), d * w * transfers / M);
        }
    };
    struct sequence_time
    {
        static constexpr Spec spec =
            Spec("\\tau_s", "s/sequence", "scheduling and sampling time per sequence and pass", "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };

    using overheads = list<
        kernels_per_pass,
        reference_kernel_time,
        reference_peak_flops,
        kernel_time_exponent,
        kernel_time,
        kernel_overhead,
        eager_kernel_factor,
        max_graph_batch_size,
        collective_step_latency,
        tensor_all_reduce_steps,
        stage_all_reduce_steps,
        collective_latency,
        collective_bytes_per_element,
        attention_link_time,
        feed_forward_link_time,
        hop_bandwidth,
        link_time_per_token,
        communication,
        activation_bytes_per_element,
        activation_transfers,
        expert_activation_transfers,
        activation_time_per_token,
        sequence_time>;
}
