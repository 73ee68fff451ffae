// Chapters 3 and 4: layers divided among racks. Traffic between them, idle time, and memory per chip.
#pragma once
#include "roofslate/quantities/racks.hpp"
#include "roofslate/quantities/reversible.hpp"

namespace roofslate::quantities
{
    // --- traffic: experts inside a stage against the hop to the next one ---

    struct all_to_all_hop_ratio
    {
        static constexpr Spec spec =
            Spec("r_x", "1", "ratio of all-to-all traffic per expert to stage-hop traffic", "R3.1").positive();
        template <class T> static constexpr T formula(
            in<dispatch_bytes_per_element, T> dispatch,
            in<combine_bytes_per_element, T> back,
            in<activation_bytes_per_element, T> hop)
        { return (dispatch + back) / hop; }
    };
    struct pipeline_traffic_threshold
    {
        static constexpr Spec spec =
            Spec("\\beta/r_x", "1", "top-k times layers per stage at equal all-to-all and hop time", "R3.1");
        template <class T> static constexpr T formula(in<link_bandwidth_ratio, T> beta, in<all_to_all_hop_ratio, T> r)
        { return beta / r; }
    };
    struct pipeline_traffic_ratio
    {
        static constexpr Spec spec = Spec(
            "t_\\mathrm{up}/t_\\mathrm{out}",
            "1",
            "ratio of all-to-all time in a stage to stage-hop time",
            "R3.1");
        template <class T> static constexpr T formula(
            in<experts_per_token, T> k,
            in<layers_per_stage, T> n,
            in<pipeline_traffic_threshold, T> least)
        { return k * n / least; }
    };

    // --- inference: batches in flight, one behind the other ---

    struct stage_time
    {
        static constexpr Spec spec = Spec("t_P", "s", "pipeline-stage time per batch", "R3.2");
        template <class T> static constexpr T formula(in<pass_time, T> t, in<pipeline_stages, T> P) { return t / P; }
    };
    struct pipeline_utilization
    {
        static constexpr Spec spec = Spec("u_P", "1", "pipeline-stage utilization, hops excluded", "R3.2");
        template <class T> static constexpr T formula(in<microbatches, T> n, in<pipeline_stages, T> P)
        { return min(n / P, 1.0); }
    };
    struct network_card_latency
    { static constexpr Spec spec = Spec("\\lambda_c", "s", "network-card latency", "R3.3").range(0); };
    struct switch_latency
    { static constexpr Spec spec = Spec("\\lambda_s", "s", "network-switch latency", "R3.3").range(0); };
    struct switches_per_hop
    { static constexpr Spec spec = Spec("n_s", "1", "network switches between two racks", "R3.3").range(0); };
    struct path_latency
    {
        static constexpr Spec spec =
            Spec("\\lambda_p", "s", "network latency between chips in different racks", "R3.3");
        template <class T> static constexpr T formula(
            in<network_card_latency, T> card,
            in<switches_per_hop, T> n,
            in<switch_latency, T> each)
        { return 2.0 * card + n * each; }
    };
    struct hop_latency
    {
        static constexpr Spec spec =
            Spec("t_h", "s", "stage-hop latency, from one stage to the next", "R3.3")
                .range(0)
                .otherwise<path_latency>();
    };
    struct pipeline_latency
    {
        static constexpr Spec spec = Spec("T_P", "s", "pipeline latency of a token, all stages and hops", "R3.3");
        template <class T> static constexpr T formula(
            in<pipeline_stages, T> P,
            in<stage_time, T> t,
            in<hop_latency, T> h)
        { return P * (t + h); }
    };
    struct full_pipeline_microbatches
    {
        static constexpr Spec spec =
            Spec("n_\\mathrm{full}", "1", "minimum micro-batches with no stage waiting, hops included", "R3.3");
        template <class T> static constexpr T formula(
            in<pipeline_stages, T> P,
            in<hop_latency, T> h,
            in<stage_time, T> t)
        { return ceil(P * (1.0 + h / t)); }
    };
    struct hop_cache_growth
    {
        static constexpr Spec spec =
            Spec("n_\\mathrm{full}/P", "1", "KV-cache growth from hops, micro-batches in flight per stage", "Q14");
        template <class T> static constexpr T formula(in<full_pipeline_microbatches, T> n, in<pipeline_stages, T> P)
        { return n / P; }
    };
    struct pipeline_round_time
    {
        static constexpr Spec spec = Spec("T_r", "s", "time between two tokens of a sequence, hops included", "Q14");
        template <class T> static constexpr T formula(
            in<microbatches, T> n,
            in<stage_time, T> t,
            in<pipeline_latency, T> T_P)
        { return max(n * t, T_P); }
    };
    struct pipeline_utilization_with_hops
    {
        static constexpr Spec spec = Spec("u_h", "1", "pipeline-stage utilization, hops included", "Q14");
        template <class T> static constexpr T formula(
            in<microbatches, T> n,
            in<stage_time, T> t,
            in<pipeline_round_time, T> T_r)
        { return n * t / T_r; }
    };

    // --- training: the unit of time is a stage's forward pass of a micro-batch ---

    struct pipeline_schedule
    {
        static constexpr Spec spec =
            Spec("\\pi", "1", "pipeline schedule (GPipe, 1F1B, zero bubble, interleaved, DualPipe)", "R3.4")
                .one_of("gpipe", "1f1b", "zb_h1", "zb_h2", "interleaved", "zb_v", "dualpipe")
                .by_default(0);
    };
    struct model_chunks
    {
        static constexpr Spec spec =
            Spec("v", "1", "virtual pipeline stages per stage, interleaved schedule", "arXiv:2104.04473")
                .range(1)
                .by_default(1);
    };
    struct backward_forward_ratio
    {
        static constexpr Spec spec =
            Spec("\\rho_b", "1", "ratio of backward-pass to forward-pass time", "R3.4").positive();
        template <class T> static constexpr T formula(
            in<trained_weights, T> trained,
            in<backward_flops_per_parameter, T> four,
            in<flops_per_parameter_token, T> two)
        { return choose(trained, four / two, four / 2.0 / two); }
    };
    struct weight_gradient_share
    {
        static constexpr Spec spec =
            Spec("\\omega", "1", "weight-gradient fraction of the backward pass", "R3.4").range(0, 1).by_default(0.5);
    };
    struct deferrable_backward_share
    {
        static constexpr Spec spec =
            Spec("\\omega_T", "1", "deferrable fraction of the backward pass, 0 with frozen weights", "R3.4");
        template <class T> static constexpr T formula(in<trained_weights, T> trained, in<weight_gradient_share, T> w)
        { return choose(trained, w, T(0.0)); }
    };
    struct pipeline_busy_time
    {
        static constexpr Spec spec =
            Spec("n_\\mu(1 + \\rho_b)", "1", "stage busy time per training step in micro-batch forward passes", "R3.4");
        template <class T> static constexpr T formula(in<microbatches, T> n, in<backward_forward_ratio, T> r)
        { return n * (1.0 + r); }
    };
    struct live_microbatches
    {
        static constexpr Spec spec =
            Spec("n_a", "1", "maximum micro-batches with live activations on the first stage", "R3.4");
        template <class T> static constexpr T formula(
            in<pipeline_schedule, T> which,
            in<microbatches, T> n,
            in<pipeline_stages, T> P,
            in<model_chunks, T> v)
        {
            return choose(
                which,
                n,
                min(n, P),
                min(n, P),
                min(n, 2.0 * P - 1.0),
                min(n, P + (P - 1.0) / v),
                min(n, P),
                min(n, select(P > T(1.0), P + 1.0, P)));
        }
    };
    // Qi et al., arXiv:2401.10241, with fewer micro-batches than a schedule asks for counted too: each forward pass
    // that the stage is ahead leaves a weight gradient to fill a gap with. In a V of two chunks half the memory puts it
    // as far ahead.
    struct zero_bubble_idle_time
    {
        static constexpr Spec spec =
            Spec("\\tau_0", "1", "first-stage idle time, zero-bubble schedules, in forward passes", "R3.4");
        template <class T> static constexpr T formula(
            in<pipeline_schedule, T> which,
            in<pipeline_stages, T> P,
            in<microbatches, T> n,
            in<backward_forward_ratio, T> r,
            in<deferrable_backward_share, T> w,
            in<live_microbatches, T> n_a)
        {
            const T ahead = select(is<pipeline_schedule>(which, "zb_v"), min(n, 2.0 * P - 1.0), n_a) - 1.0;
            return max((P - 1.0) * (1.0 + r * (1.0 - w)) - ahead * (r * w), 0.0);
        }
    };
    struct two_way_idle_time
    {
        // DualPipe feeds both ends of the pipeline: DeepSeek-V3, arXiv:2412.19437, table 2, a forward and a backward
        // pass side by side taking as long as both.
        static constexpr Spec spec =
            Spec("\\tau_2", "1", "stage idle time, bidirectional pipeline, in forward passes", "arXiv:2412.19437");
        template <class T> static constexpr T formula(
            in<pipeline_stages, T> P,
            in<backward_forward_ratio, T> r,
            in<deferrable_backward_share, T> w)
        { return max(P / 2.0 - 1.0, 0.0) * max(1.0 + r * (2.0 - 3.0 * w), 0.0); }
    };
    struct pipeline_idle_time
    {
        static constexpr Spec spec =
            Spec("\\tau", "1", "first-stage idle time per training step in forward passes", "R3.4");
        // With fewer micro-batches than stages each round but the last waits for the first one to come around.
        template <class T> static constexpr T formula(
            in<pipeline_schedule, T> which,
            in<pipeline_stages, T> P,
            in<backward_forward_ratio, T> r,
            in<model_chunks, T> v,
            in<microbatches, T> n,
            in<zero_bubble_idle_time, T> filled,
            in<two_way_idle_time, T> two_way)
        {
            const T plain = (P - 1.0) * (1.0 + r), waits = (v - 1.0) * max(P - n, 0.0) * (1.0 + r);
            return choose(which, plain, plain, filled, filled, (plain + waits) / v, filled, two_way);
        }
    };
    struct pipeline_step_time
    {
        static constexpr Spec spec =
            Spec("T_\\mathrm{step}", "1", "first-stage training-step time in micro-batch forward passes", "R3.4");
        template <class T> static constexpr T formula(in<pipeline_busy_time, T> busy, in<pipeline_idle_time, T> idle)
        { return busy + idle; }
    };
    struct training_bubble
    {
        static constexpr Spec spec =
            Spec("\\phi", "1", "pipeline bubble, idle fraction of the first stage in a step", "R3.4");
        template <class T> static constexpr T formula(in<pipeline_idle_time, T> idle, in<pipeline_step_time, T> step)
        { return idle / step; }
    };
    struct training_bubble_overhead
    {
        static constexpr Spec spec =
            Spec("\\phi/(1 - \\phi)", "1", "ratio of first-stage idle to busy time in a training step", "R3.4");
        template <class T> static constexpr T formula(in<pipeline_idle_time, T> idle, in<pipeline_busy_time, T> busy)
        { return idle / busy; }
    };

    // --- memory of a chip ---

    struct weight_bytes_per_chip
    {
        static constexpr Spec spec =
            Spec("w N_t/G", "byte/chip", "weight memory per chip, one copy spread evenly", "R3.6");
        template <class T> static constexpr T formula(in<model_bytes, T> W, in<chips, T> G) { return W / G; }
    };
    struct kv_bytes_per_chip
    {
        static constexpr Spec spec =
            Spec("n_\\mu B L q/G", "byte/chip", "KV-cache memory per chip, all batches in flight", "R3.6");
        template <class T> static constexpr T formula(in<kv_bytes, T> K, in<microbatches, T> n, in<chips, T> G)
        { return K * (n / G); }
    };
    struct break_even_stages
    {
        static constexpr Spec spec =
            Spec("P^*", "1", "pipeline stages at which KV cache equals weights, inf if never", "R3.6");
        template <class T> static constexpr T formula(in<model_bytes, T> W, in<kv_bytes, T> K) { return W / K; }
    };
    struct minimum_stages_for_weights
    {
        static constexpr Spec spec =
            Spec("P_w", "1", "minimum pipeline stages to fit the weights, one rack per stage", "R3.6");
        template <class T> static constexpr T formula(in<model_bytes, T> W, in<domain_capacity, T> H_u)
        { return ceil(W / H_u); }
    };
    struct minimum_pipeline_stages
    {
        static constexpr Spec spec =
            Spec("P_\\mathrm{min}", "1", "minimum pipeline stages to fit weights and KV cache, inf if never", "R3.6");
        template <class T> static constexpr T formula(
            in<model_bytes, T> W,
            in<domain_capacity, T> H_u,
            in<kv_bytes, T> K)
        { return select(K < H_u, ceil(W / (H_u - K)), T(infinite)); }
    };

    using pipeline = list<
        all_to_all_hop_ratio,
        pipeline_traffic_threshold,
        pipeline_traffic_ratio,
        stage_time,
        pipeline_utilization,
        network_card_latency,
        switch_latency,
        switches_per_hop,
        path_latency,
        hop_latency,
        pipeline_latency,
        full_pipeline_microbatches,
        hop_cache_growth,
        pipeline_round_time,
        pipeline_utilization_with_hops,
        pipeline_schedule,
        model_chunks,
        backward_forward_ratio,
        weight_gradient_share,
        deferrable_backward_share,
        pipeline_busy_time,
        live_microbatches,
        zero_bubble_idle_time,
        two_way_idle_time,
        pipeline_idle_time,
        pipeline_step_time,
        training_bubble,
        training_bubble_overhead,
        weight_bytes_per_chip,
        kv_bytes_per_chip,
        break_even_stages,
        minimum_stages_for_weights,
        minimum_pipeline_stages>;
}
