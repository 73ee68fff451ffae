// Chapters 3 and 4: layers divided over racks. What crosses between them, what idles, and whose memory it saves.
#pragma once
#include "roofslate/quantities/racks.hpp"
#include "roofslate/quantities/reversible.hpp"

namespace roofslate::quantities
{
    // --- traffic: experts inside a stage against the hop to the next one ---

    struct all_to_all_hop_ratio
    {
        static constexpr Spec spec =
            Spec(
                "r_x",
                "1",
                "what a token moves for one expert over what it moves to the next stage: the lecture's 2, up and down",
                "R3.1")
                .positive();
        template <class T> static constexpr T formula(
            in<dispatch_bytes_per_element, T> there,
            in<combine_bytes_per_element, T> back,
            in<activation_bytes_per_element, T> hop)
        { return (there + back) / hop; }
    };
    struct pipeline_traffic_threshold
    {
        static constexpr Spec spec = Spec(
            "\\beta/r_x",
            "1",
            "experts of a token times layers of a stage from which on the hop is not the slower one",
            "R3.1");
        template <class T> static constexpr T formula(in<link_bandwidth_ratio, T> beta, in<all_to_all_hop_ratio, T> r)
        { return beta / r; }
    };
    struct pipeline_traffic_ratio
    {
        static constexpr Spec spec = Spec(
            "t_\\mathrm{up}/t_\\mathrm{out}",
            "1",
            "time of a stage's exchanges inside its rack over that of the hop to the next rack",
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
        static constexpr Spec spec = Spec("t_P", "s", "time that a stage works on a batch", "R3.2");
        template <class T> static constexpr T formula(in<pass_time, T> t, in<pipeline_stages, T> P) { return t / P; }
    };
    struct pipeline_utilization
    {
        static constexpr Spec spec =
            Spec("u_P", "1", "share of the time in which a stage works, hops left out", "R3.2");
        template <class T> static constexpr T formula(in<microbatches, T> n, in<pipeline_stages, T> P)
        { return min(n / P, 1.0); }
    };
    struct network_card_latency
    { static constexpr Spec spec = Spec("\\lambda_c", "s", "latency of a network card", "R3.3").range(0); };
    struct switch_latency
    { static constexpr Spec spec = Spec("\\lambda_s", "s", "latency of a network switch", "R3.3").range(0); };
    struct switches_per_hop
    {
        static constexpr Spec spec =
            Spec(
                "n_s",
                "1",
                "switches between two racks: one at the top of the rack, more through the data centre",
                "R3.3")
                .range(0);
    };
    struct path_latency
    {
        static constexpr Spec spec = Spec(
            "\\lambda_p",
            "s",
            "latency from a chip to one in another rack, card by card and switch by switch",
            "R3.3");
        template <class T> static constexpr T formula(
            in<network_card_latency, T> card,
            in<switches_per_hop, T> n,
            in<switch_latency, T> each)
        { return 2.0 * card + n * each; }
    };
    struct hop_latency
    {
        static constexpr Spec spec =
            Spec("t_h", "s", "time from the end of one stage to the start of the next", "R3.3")
                .range(0)
                .otherwise<path_latency>();
    };
    struct pipeline_latency
    {
        static constexpr Spec spec = Spec("T_P", "s", "time of a token through all stages and hops", "R3.3");
        template <class T> static constexpr T formula(
            in<pipeline_stages, T> P,
            in<stage_time, T> t,
            in<hop_latency, T> h)
        { return P * (t + h); }
    };
    struct full_pipeline_microbatches
    {
        static constexpr Spec spec =
            Spec("n_\\mathrm{full}", "1", "batches in flight from which on no stage waits, hops counted", "R3.3");
        template <class T> static constexpr T formula(
            in<pipeline_stages, T> P,
            in<hop_latency, T> h,
            in<stage_time, T> t)
        { return ceil(P * (1.0 + h / t)); }
    };
    struct hop_cache_growth
    {
        static constexpr Spec spec =
            Spec("n_\\mathrm{full}/P", "1", "caches in flight that hops ask for, over one batch a stage", "Q14");
        template <class T> static constexpr T formula(in<full_pipeline_microbatches, T> n, in<pipeline_stages, T> P)
        { return n / P; }
    };
    struct pipeline_round_time
    {
        static constexpr Spec spec = Spec("T_r", "s", "time between two tokens of a sequence, hops counted", "Q14");
        template <class T> static constexpr T formula(
            in<microbatches, T> n,
            in<stage_time, T> t,
            in<pipeline_latency, T> T_P)
        { return max(n * t, T_P); }
    };
    struct pipeline_utilization_with_hops
    {
        static constexpr Spec spec = Spec("u_h", "1", "share of the time in which a stage works, hops counted", "Q14");
        template <class T> static constexpr T formula(
            in<microbatches, T> n,
            in<stage_time, T> t,
            in<pipeline_round_time, T> T_r)
        { return n * t / T_r; }
    };

    // --- training: times are those of a stage's forward pass of a micro-batch ---

    struct pipeline_schedule
    {
        static constexpr Spec spec =
            Spec(
                "\\pi",
                "1",
                "order of the work: gpipe, all forwards first; 1f1b, one forward, one backward; zb_h1 and zb_h2, "
                "weight gradients where a stage would idle; interleaved, zb_v and dualpipe, several chunks of layers "
                "on a stage",
                "R3.4")
                .one_of("gpipe", "1f1b", "zb_h1", "zb_h2", "interleaved", "zb_v", "dualpipe")
                .by_default(0);
    };
    struct model_chunks
    {
        static constexpr Spec spec =
            Spec("v", "1", "chunks of layers that a stage has when its schedule is interleaved", "arXiv:2104.04473")
                .range(1)
                .by_default(1);
    };
    struct backward_forward_ratio
    {
        static constexpr Spec spec =
            Spec("\\rho_b", "1", "time of the backward pass over that of the forward pass", "R3.4").positive();
        template <class T> static constexpr T formula(
            in<trained_weights, T> trained,
            in<backward_flops_per_parameter, T> four,
            in<flops_per_parameter_token, T> two)
        { return choose(trained, four / two, four / 2.0 / two); }
    };
    struct weight_gradient_share
    {
        static constexpr Spec spec =
            Spec(
                "\\omega",
                "1",
                "share of the backward pass that gives gradients of weights, which no other stage waits for",
                "R3.4")
                .range(0, 1)
                .by_default(0.5);
    };
    struct deferrable_backward_share
    {
        static constexpr Spec spec =
            Spec("\\omega_T", "1", "share of the backward pass free to fill gaps, none with frozen weights", "R3.4");
        template <class T> static constexpr T formula(in<trained_weights, T> trained, in<weight_gradient_share, T> w)
        { return choose(trained, w, T(0.0)); }
    };
    struct pipeline_busy_time
    {
        static constexpr Spec spec = Spec(
            "n_\\mu(1 + \\rho_b)",
            "1",
            "time that a stage works in a step, in forward passes of a micro-batch",
            "R3.4");
        template <class T> static constexpr T formula(in<microbatches, T> n, in<backward_forward_ratio, T> r)
        { return n * (1.0 + r); }
    };
    struct live_microbatches
    {
        static constexpr Spec spec =
            Spec("n_a", "1", "micro-batches whose activations the first stage holds at once, at most", "R3.4");
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
        static constexpr Spec spec = Spec(
            "\\tau_0",
            "1",
            "idle time of the first stage when weight gradients fill gaps, in forward passes of a micro-batch; exact "
            "where these take as long as each half of a backward pass",
            "R3.4");
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
        static constexpr Spec spec = Spec(
            "\\tau_2",
            "1",
            "idle time of a stage when micro-batches enter at both ends of the pipeline, in forward passes of a "
            "micro-batch",
            "arXiv:2412.19437");
        template <class T> static constexpr T formula(
            in<pipeline_stages, T> P,
            in<backward_forward_ratio, T> r,
            in<deferrable_backward_share, T> w)
        { return max(P / 2.0 - 1.0, 0.0) * max(1.0 + r * (2.0 - 3.0 * w), 0.0); }
    };
    struct pipeline_idle_time
    {
        static constexpr Spec spec = Spec(
            "\\tau",
            "1",
            "idle time of the first stage between its first and its last work of a step, in forward passes of a "
            "micro-batch",
            "R3.4");
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
        static constexpr Spec spec = Spec(
            "T_\\mathrm{step}",
            "1",
            "time of a training step on the first stage, in forward passes of a micro-batch",
            "R3.4");
        template <class T> static constexpr T formula(in<pipeline_busy_time, T> busy, in<pipeline_idle_time, T> idle)
        { return busy + idle; }
    };
    struct training_bubble
    {
        static constexpr Spec spec =
            Spec("\\phi", "1", "share of a training step in which the first stage idles", "R3.4");
        template <class T> static constexpr T formula(in<pipeline_idle_time, T> idle, in<pipeline_step_time, T> step)
        { return idle / step; }
    };
    struct training_bubble_overhead
    {
        static constexpr Spec spec = Spec(
            "\\phi/(1 - \\phi)",
            "1",
            "idle time of the first stage in a training step over the time that it works",
            "R3.4");
        template <class T> static constexpr T formula(in<pipeline_idle_time, T> idle, in<pipeline_busy_time, T> busy)
        { return idle / busy; }
    };

    // --- memory of a chip ---

    struct weight_bytes_per_chip
    {
        static constexpr Spec spec = Spec("w N_t/G", "byte/chip", "weights on one chip", "R3.6");
        template <class T> static constexpr T formula(in<model_bytes, T> W, in<chips, T> G) { return W / G; }
    };
    struct kv_bytes_per_chip
    {
        static constexpr Spec spec =
            Spec("n_\\mu B L q/G", "byte/chip", "caches of all batches in flight on one chip", "R3.6");
        template <class T> static constexpr T formula(in<kv_bytes, T> K, in<microbatches, T> n, in<chips, T> G)
        { return K * (n / G); }
    };
    struct break_even_stages
    {
        static constexpr Spec spec = Spec(
            "P^*",
            "1",
            "stages from which on a chip holds more cache than weights, one batch in flight a stage; inf: never",
            "R3.6");
        template <class T> static constexpr T formula(in<model_bytes, T> W, in<kv_bytes, T> K) { return W / K; }
    };
    struct minimum_stages_for_weights
    {
        static constexpr Spec spec = Spec("P_w", "1", "racks that hold the weights alone", "R3.6");
        template <class T> static constexpr T formula(in<model_bytes, T> W, in<domain_capacity, T> H_u)
        { return ceil(W / H_u); }
    };
    struct minimum_pipeline_stages
    {
        static constexpr Spec spec = Spec(
            "P_\\mathrm{min}",
            "1",
            "stages, a rack each, that hold the weights and a batch in flight a stage; inf: one batch alone fills a "
            "rack",
            "R3.6");
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
